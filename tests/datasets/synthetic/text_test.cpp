#include "datasets/synthetic/text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <string>

namespace paretoken::datasets {
namespace {

std::string first_word(std::string_view text) {
    return std::string(text.substr(0, text.find(' ')));
}
std::size_t words_in(std::string_view text) {
    return text.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
}

/// Tokenizes by cutting every word (with its blank) into pieces of at most `longest` bytes; a line end is a
/// piece.
std::vector<std::string> cut(std::string_view text, std::size_t longest) {
    std::vector<std::string> pieces;
    for (const char byte : text) {
        const bool starts = byte == ' ' || byte == '\n' || pieces.empty() || pieces.back() == "\n" ||
                            pieces.back().size() >= longest;
        if (starts) pieces.emplace_back();
        pieces.back() += byte;
    }
    return pieces;
}

Calibration tokenizer(std::size_t longest) {
    return *calibration_from_pieces(cut(calibration_text(), longest));
}

TEST(Vocabulary, IsManyDifferentShortWords) {
    const std::set<std::string_view> words(vocabulary().begin(), vocabulary().end());
    EXPECT_EQ(words.size(), vocabulary().size());
    EXPECT_GE(words.size(), 600u);
    for (const std::string_view word : words) {
        EXPECT_TRUE(word.size() >= 2 && word.size() <= 7) << word;
        EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string_view::npos) << word;
    }
}

TEST(TextWriter, HitsTheWantedTokensExactlyWithAnyTokenizer) {
    for (const std::size_t longest : {8, 6, 5, 4, 3}) {
        Calibration calibration = tokenizer(longest);
        calibration.overhead_tokens = 9;
        const TextWriter writer(calibration);
        for (std::int64_t tokens : {12, 13, 50, 51, 512, 513, 4000}) {
            for (std::uint64_t i = 0; i < 20; ++i) {
                const std::string text = writer.prompt(tokens, i, Random(derived_seed(1, "text", i)));
                EXPECT_EQ(static_cast<std::int64_t>(cut(text, longest).size()) + 9, tokens)
                    << longest << ": " << text;
            }
        }
    }
}

TEST(TextWriter, ComesAsNearAsWordsOfTwoTokensCan) {
    Calibration calibration = uncalibrated();
    for (double& tokens : calibration.word_tokens) tokens = 2;
    for (double& tokens : calibration.opening_word_tokens) tokens = 2;
    const TextWriter writer(calibration);
    EXPECT_EQ(words_in(writer.prompt(20, 0, Random(1))), 10u);
    EXPECT_EQ(words_in(writer.prompt(21, 0, Random(1))), 11u);
}

TEST(TextWriter, HitsTheMeanWhenOnlyThatIsKnown) {
    const auto calibration = calibration_from_counts(std::vector<CountSample>{{100, 150}, {200, 280}});
    const TextWriter writer(*calibration);
    EXPECT_EQ(words_in(writer.prompt(20 + 130, 3, Random(1))), 100u);
}

TEST(TextWriter, WritesAtLeastOneWord) {
    Calibration calibration = uncalibrated();
    calibration.overhead_tokens = 30;
    EXPECT_EQ(words_in(TextWriter(calibration).prompt(1, 0, Random(1))), 1u);
    EXPECT_EQ(words_in(TextWriter(uncalibrated()).prompt(1, 0, Random(1))), 1u);
}

TEST(TextWriter, NeighboursNeverBeginWithTheSameWord) {
    for (const std::size_t longest : {8, 5, 2}) {
        const TextWriter writer(tokenizer(longest));
        EXPECT_GE(writer.openings(), 64u);
        std::set<std::string> beginnings;
        for (std::uint64_t i = 0; i < writer.openings(); ++i) {
            beginnings.insert(first_word(writer.prompt(100, 1000 + i, Random(7))));
        }
        EXPECT_EQ(beginnings.size(), writer.openings());
    }
}

TEST(TextWriter, ExpectsOfItsTextsWhatItWasAskedFor) {
    const TextWriter writer(tokenizer(4));
    for (std::int64_t tokens : {10, 100, 1000}) {
        EXPECT_EQ(writer.expected_tokens(writer.prompt(tokens, 5, Random(2))), static_cast<double>(tokens));
    }
    EXPECT_EQ(writer.expected_tokens(""), 0);
}

TEST(TextWriter, DrawsEachWordOnItsOwnHoweverLongTheTextIs) {
    const TextWriter writer(uncalibrated());
    EXPECT_EQ(writer.prompt(6, 1, Random(1)), "of long govern slow sleep fill");
    Random random(5);
    std::string expected(vocabulary()[3]);
    std::string appended;
    for (int i = 0; i < 1000; ++i) {
        const std::string_view word = vocabulary()[random.below(vocabulary().size())];
        expected.append(" ").append(word);
        appended.append(appended.empty() ? "" : " ").append(word);
    }
    EXPECT_EQ(writer.prompt(1001, 3, Random(5)), expected);
    std::string text;
    writer.append(text, 1000, Random(5));
    EXPECT_EQ(text, appended);
}

TEST(TextWriter, WritesSoManyWords) {
    EXPECT_EQ(words_in(TextWriter(uncalibrated()).of_words(64, 0, Random(1))), 64u);
}

TEST(Calibration, CountsTheTokensOfEachWordWithAndWithoutItsBlank) {
    const Calibration calibration = tokenizer(4);
    EXPECT_EQ(calibration.source, "/tokenize");
    for (std::size_t i = 0; i < vocabulary().size(); ++i) {
        const double bytes = static_cast<double>(vocabulary()[i].size());
        EXPECT_EQ(calibration.word_tokens[i], std::ceil((bytes + 1) / 4)) << vocabulary()[i];
        if (i >= opening_words()) continue;
        EXPECT_EQ(calibration.opening_word_tokens[i], std::ceil(bytes / 4)) << vocabulary()[i];
    }
}

TEST(Calibration, ToleratesABosAndTheBlankThatSentencePieceBeginsWith) {
    auto pieces = cut(calibration_text(), 8);
    const Calibration plain = *calibration_from_pieces(pieces);
    pieces.front().insert(0, " ");
    EXPECT_EQ(calibration_from_pieces(pieces), plain);
    pieces.insert(pieces.begin(), "<s>");
    EXPECT_EQ(calibration_from_pieces(pieces), plain);
}

TEST(Calibration, PiecesThatAreNotTheTextGiveNothing) {
    auto pieces = cut(calibration_text(), 8);
    pieces[100] = "nonsense";
    EXPECT_EQ(calibration_from_pieces(pieces), std::nullopt);
    pieces = cut(calibration_text(), 8);
    pieces.pop_back();
    EXPECT_EQ(calibration_from_pieces(pieces), std::nullopt);
    EXPECT_EQ(calibration_from_pieces({}), std::nullopt);
}

TEST(Calibration, AWordThatShareItsTokenWithANeighbourIsStillUsable) {
    auto pieces = cut(calibration_text(), 8);
    pieces[10] += pieces[11];
    pieces.erase(pieces.begin() + 11);
    ASSERT_TRUE(calibration_from_pieces(pieces));
    EXPECT_FALSE(TextWriter(*calibration_from_pieces(pieces)).prompt(50, 0, Random(1)).empty());
}

TEST(Calibration, FromCountsFitsOverheadAndTokensPerWord) {
    const auto exact = calibration_from_counts(std::vector<CountSample>{{10, 41}, {100, 131}, {300, 331}});
    ASSERT_TRUE(exact);
    EXPECT_NEAR(exact->overhead_tokens, 31, 1e-9);
    EXPECT_EQ(exact->word_tokens.front(), 1);
    EXPECT_EQ(exact->source, "usage");
    const auto dear = calibration_from_counts(std::vector<CountSample>{{10, 35}, {30, 65}, {20, 50}});
    EXPECT_NEAR(dear->overhead_tokens, 20, 1e-9);
    EXPECT_NEAR(dear->word_tokens.back(), 1.5, 1e-9);
}

TEST(Calibration, FromCountsRefusesWhatMakesNoSense) {
    EXPECT_EQ(calibration_from_counts({}), std::nullopt);
    EXPECT_EQ(calibration_from_counts(std::vector<CountSample>{{10, 41}, {10, 42}}), std::nullopt);
    EXPECT_EQ(calibration_from_counts(std::vector<CountSample>{{10, 41}, {100, 20}}), std::nullopt);
}

TEST(Calibration, OverheadIsWhatTheServerCountsMore) {
    EXPECT_EQ(overhead_from({}), std::nullopt);
    EXPECT_EQ(overhead_from(std::vector<OverheadSample>{{100, 131}, {200, 231}}), 31);
}

}  // namespace
}  // namespace paretoken::datasets
