#include "simulator/engine/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/random.h"

namespace paretoken::sim {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> pieces_of(std::string_view text) {
    std::vector<std::string> pieces;
    while (!text.empty()) {
        const std::size_t length = first_piece(text);
        pieces.emplace_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return pieces;
}

TEST(Tokenizer, WordsTakeTheirSpaceAndPunctuationStandsAlone) {
    EXPECT_THAT(pieces_of("Hello there, you!"), ElementsAre("Hello", " there", ",", " you", "!"));
    EXPECT_THAT(pieces_of("a (b)"), ElementsAre("a", " (", "b", ")"));
}

TEST(Tokenizer, LongWordsAreSplit) {
    EXPECT_THAT(pieces_of(" internationalization"), ElementsAre(" internat", "ionaliza", "tion"));
}

TEST(Tokenizer, RunsOfWhiteSpaceAreOnePieceButForTheSpaceOfTheNextWord) {
    EXPECT_THAT(pieces_of("a    b\n\n\tc  "), ElementsAre("a", "   ", " b", "\n\n", "\t", "c", "  "));
}

TEST(Tokenizer, CharactersAreNeverCut) {
    for (const std::string& piece :
         pieces_of("xäöüäöüäöü 日本語のテキスト 🙂🙂🙂🙂🙂")) {
        EXPECT_NE(static_cast<unsigned char>(piece[0]) & 0xC0U, 0x80U) << piece;
    }
}

TEST(Tokenizer, PiecesJoinedAreTheTextWhateverTheBytes) {
    Random random(1);
    for (int round = 0; round < 500; ++round) {
        std::string text;
        for (std::uint64_t i = random.below(60); i > 0; --i) {
            text += random.below(2) == 0 ? static_cast<char>(random()) : " ab,\n\xc3\xa9"[random.below(7)];
        }
        std::string joined;
        const auto pieces = pieces_of(text);
        for (const std::string& piece : pieces) {
            ASSERT_FALSE(piece.empty());
            joined += piece;
        }
        EXPECT_EQ(joined, text);
        EXPECT_EQ(count_tokens(text), static_cast<std::int64_t>(pieces.size()));
    }
}

TEST(Tokenizer, AnAnswerOfNWordsCountsAsNTokens) {
    for (const std::uint64_t seed : {0U, 1U, 77U}) {
        std::string answer;
        for (std::int64_t k = 0; k < 300; ++k) answer += answer_word(seed, k);
        EXPECT_EQ(count_tokens(answer), 300);
        EXPECT_NE(answer[0], ' ');
    }
}

TEST(Tokenizer, AnswersAreAFunctionOfTheSeed) {
    int same = 0;
    for (std::int64_t k = 0; k < 100; ++k) {
        EXPECT_EQ(answer_word(5, k), answer_word(5, k));
        same += answer_word(5, k) == answer_word(6, k) ? 1 : 0;
    }
    EXPECT_LT(same, 20);
}

TEST(Tokenizer, IdsLieInTheVocabulary) {
    Random random(2);
    for (int i = 0; i < 1000; ++i) {
        const std::int32_t id = token_id_of(std::to_string(random()), 1000);
        EXPECT_GE(id, 256);
        EXPECT_LT(id, 1000);
    }
    EXPECT_EQ(token_id_of(" the", 128256), token_id_of(" the", 128256));
    EXPECT_NE(token_id_of(" the", 128256), token_id_of(" of", 128256));
}

TEST(Tokenizer, TheWordOfAnIdHasThatIdAndIsOnePiece) {
    for (const std::int64_t id : {0, 1, 9, 10, 255, 256, 4999, 128255}) {
        const std::string word = word_of_id(id);
        EXPECT_EQ(first_piece(word), word.size());
        EXPECT_EQ(token_id_of(word, 128256), id);
        EXPECT_EQ(token_id_of(std::string_view(word).substr(1), 128256), id) << "at the start of a text too";
    }
    for (const std::string_view piece : {" t5000", " t007", "t", "t1x", "  t1"})
        EXPECT_GE(token_id_of(piece, 5000), 256) << piece << " is no id's word";
}

TEST(PieceMemory, GivesThePieceThatHadTheIdLast) {
    PieceMemory memory(5000);
    EXPECT_EQ(memory.piece_of(77), " t77");
    memory.remember(77, "one");
    memory.remember(77, "two");
    EXPECT_EQ(memory.piece_of(77), "two");
}

TEST(PieceMemory, KnowsTheWordsOfAnswers) {
    const PieceMemory memory(128256);
    for (std::int64_t k = 0; k < 200; ++k) {
        const std::string_view word = answer_word(4, k);
        EXPECT_EQ(memory.piece_of(token_id_of(word, 128256)), word);
    }
}

}  // namespace
}  // namespace paretoken::sim
