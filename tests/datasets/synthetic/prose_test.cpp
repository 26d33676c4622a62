#include "datasets/synthetic/prose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <algorithm>
#include <memory>
#include <set>

#include "core/error.h"
#include "core/spec.h"
#include "datasets/catalog.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using paretoken::testing::TemporaryFile;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Returns "w0 w1 w2 …", in lines of ten.
std::string numbered_words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "w" + std::to_string(i) + (i % 10 == 9 ? "\r\n\r\n" : " \t");
    return text;
}

std::shared_ptr<const Prose> prose_of(int words) {
    const TemporaryFile file(numbered_words(words));
    return std::make_shared<const Prose>(file.path());
}

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (c == ' ') {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    return words;
}

std::string prompt_of(const DatasetOptions& options, std::uint64_t index) {
    return std::get<std::string>(make_dataset(options)->request(index).prompt);
}

DatasetOptions synthetic(std::string_view isl, std::shared_ptr<const Prose> prose) {
    return {.spec = {"synthetic", {{"isl", std::string(isl)}}}, .prose = std::move(prose)};
}

TEST(Prose, IsTheWordsOfAFileWithOneBlankBetweenThem) {
    const auto prose = prose_of(1000);
    EXPECT_EQ(prose->words(), 1000U);
    std::string text;
    prose->append(text, 3, 9);
    EXPECT_EQ(text, "w9 w10 w11");
    prose->append(text, 1, 1009);
    EXPECT_EQ(text, "w9 w10 w11 w9");
    prose->append(text, 0, 5);
    EXPECT_EQ(text, "w9 w10 w11 w9");
}

TEST(Prose, BeginsAgainBehindItsLastWord) {
    std::string text;
    prose_of(1000)->append(text, 2003, 998);
    const auto words = words_of(text);
    ASSERT_EQ(words.size(), 2003U);
    EXPECT_EQ(words[1], "w999");
    EXPECT_EQ(words[2], "w0");
    EXPECT_EQ(words.back(), "w0");
}

TEST(Prose, HasAContentThatFollowsTheBytesOfItsFile) {
    EXPECT_EQ(prose_of(1000)->content(), prose_of(1000)->content());
    EXPECT_NE(prose_of(1000)->content(), prose_of(1001)->content());
}

TEST(Prose, ThatIsTooShortOrNoTextIsNamed) {
    const TemporaryFile few(numbered_words(999));
    const TemporaryFile binary("\xff\xfe" + numbered_words(2000));
    EXPECT_THAT([&] { Prose prose(few.path()); }, ThrowsMessage<UsageError>(HasSubstr("has 999 words")));
    EXPECT_THAT([&] { Prose prose(binary.path()); }, ThrowsMessage<UsageError>(HasSubstr("not UTF-8")));
    const TemporaryFile large("x");
    std::filesystem::resize_file(large.path(), (std::uintmax_t{1} << 30) + 1);
    EXPECT_THAT([&] { Prose prose(large.path()); },
                ThrowsMessage<UsageError>(HasSubstr("longer than 1 GiB")));
    EXPECT_THAT([] { Prose prose("/"); }, ThrowsMessage<UsageError>(HasSubstr("directory")));
    EXPECT_THAT([] { Prose prose("/nowhere/book.txt"); },
                ThrowsMessage<UsageError>(HasSubstr("--text: cannot read '/nowhere/book.txt'")));
}

TEST(SyntheticProse, IsCutFromTheTextBehindAFewRandomWords) {
    const auto prose = prose_of(3000);
    std::set<std::string> beginnings;
    for (std::uint64_t i = 0; i < 50; ++i) {
        const auto words = words_of(prompt_of(synthetic("100", prose), i));
        ASSERT_EQ(words.size(), 100U) << "a token per word, where nothing else is known";
        int number = std::stoi(words[4].substr(1));
        for (std::size_t w = 5; w < words.size(); ++w)
            EXPECT_EQ(words[w], "w" + std::to_string(++number % 3000));
        beginnings.insert(words[0] + words[1] + words[2] + words[3]);
    }
    EXPECT_EQ(beginnings.size(), 50U);
}

TEST(SyntheticProse, HasFewerWordsWhereAWordOfTheTextHasMoreTokens) {
    DatasetOptions options = synthetic("100", prose_of(3000));
    options.calibration = uncalibrated();
    options.calibration->prose_word_tokens = 1.5;
    options.calibration->overhead_tokens = 6;
    const auto words = words_of(prompt_of(options, 3));
    EXPECT_EQ(words.size(), 4U + 60U) << "6 tokens around it, 4 of random words, 90 of the text";
}

TEST(SyntheticProse, BeginsOtherwiseWithAnotherSaltAndIsTheSameWithTheSame) {
    DatasetOptions options = synthetic("50", prose_of(3000));
    const std::string one = prompt_of(options, 7);
    EXPECT_EQ(one, prompt_of(options, 7));
    options.salt = "another";
    EXPECT_NE(one.substr(0, 8), prompt_of(options, 7).substr(0, 8));
    EXPECT_EQ(words_of(prompt_of(options, 7)).size(), 50U);
}

TEST(SyntheticProse, OfFewTokensIsRandomWords) {
    const auto prose = prose_of(1000);
    for (const std::string_view tokens : {"1", "3", "4"})
        EXPECT_EQ(words_of(prompt_of(synthetic(tokens, prose), 2)).size(), std::stoul(std::string(tokens)));
}

TEST(SyntheticProse, RefusesPromptsThatAreLongerThanTheText) {
    const auto prose = prose_of(1000);
    EXPECT_NO_THROW(make_dataset(synthetic("1000", prose)));
    EXPECT_THAT([&] { make_dataset(synthetic("uniform:min=10;max=1500", prose)); },
                ThrowsMessage<UsageError>(HasSubstr("1000 words, too few for a prompt of 1")));
}

TEST(Prose, MustHoldTheLongestPromptOfEveryDatasetThatMakesPrompts) {
    const auto prose = prose_of(1000);
    const TemporaryFile rows(
        "{\"prompt_tokens\": 900, \"completion_tokens\": 5, \"at\": 0}\n"
        "{\"prompt_tokens\": 1100, \"completion_tokens\": 5, \"at\": 1}\n");
    const auto refusal = [&](std::string_view spec, bool live_replies = true) -> std::string {
        try {
            make_dataset({.spec = parse_spec(spec),
                          .path = spec == "log" ? rows.path() : "",
                          .prose = prose,
                          .live_replies = live_replies});
        } catch (const UsageError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(refusal("multi_turn:turns=4,first=400,next=200,osl=50"), "accepted");
    EXPECT_THAT(refusal("multi_turn:turns=4,first=400,next=201,osl=50"), HasSubstr("prompt of 1003 tokens"));
    EXPECT_THAT(refusal("multi_turn:turns=4,first=400,next=200,osl=50", false),
                HasSubstr("prompt of 1150 tokens"))
        << "recorded replies are cut from the text, too";
    EXPECT_EQ(refusal("shared_prefix:levels=600;200,unique=200"), "accepted");
    EXPECT_THAT(refusal("shared_prefix:levels=600;200,unique=uniform:min=10;max=300"),
                HasSubstr("too few for a prompt of 1"));
    EXPECT_EQ(refusal("prefix_cycle:prefix=900,suffix=100"), "accepted");
    EXPECT_THAT(refusal("prefix_cycle:prefix=901,suffix=100"), HasSubstr("prompt of 1001 tokens"));
    EXPECT_THAT(refusal("prefix_arms:prefixes=256;1000,suffix=64"), HasSubstr("prompt of 1064 tokens"));
    EXPECT_THAT(refusal("log"), ::testing::AllOf(HasSubstr(rows.path() + ":2: "), HasSubstr("--text"),
                                                 HasSubstr("prompt of 1100 tokens")));
    EXPECT_NO_THROW(make_dataset(
        {.spec = parse_spec("prefix_cycle:prefix=9000"), .form = PromptForm::token_ids, .prose = prose}))
        << "token ids are cut from no text";
}

TEST(MultiTurnProse, CutsItsMessagesFromTheText) {
    const auto dataset = make_dataset({.spec = parse_spec("multi_turn:turns=2,first=40,next=20,osl=8"),
                                       .prose = prose_of(3000),
                                       .live_replies = false});
    const Request opening = dataset->request(0);
    const auto messages =
        std::get<Messages>(dataset->follow_up(0, 1, {.prompt = opening.prompt, .reply = ""}).prompt);
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(words_of(messages[1].content).size(), 8U);
    const auto next = words_of(messages[2].content);
    ASSERT_EQ(next.size(), 20U);
    for (const std::string& word : next) EXPECT_EQ(word.front(), 'w');
}

}  // namespace
}  // namespace paretoken::datasets
