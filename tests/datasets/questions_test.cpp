#include "datasets/questions.h"

#include <gmock/gmock.h>

#include <set>

#include "core/error.h"
#include "datasets/catalog.h"
#include "datasets/synthetic/recall.h"
#include "datasets/synthetic/text.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using ::testing::HasSubstr;

using File = paretoken::testing::TemporaryFile;

bool met(Expect kind, const std::string& text, std::string_view answer) {
    return is_met({.kind = kind, .text = text}, answer);
}

TEST(Expectation, ExactIgnoresWhiteSpaceAroundTheAnswerAndNothingElse) {
    EXPECT_TRUE(met(Expect::exact, "Paris", " \nParis\n"));
    EXPECT_FALSE(met(Expect::exact, "Paris", "Paris."));
    EXPECT_FALSE(met(Expect::exact, "Paris", "paris"));
    EXPECT_TRUE(met(Expect::exact, "", " "));
}

TEST(Expectation, ContainsAndRegexLookAnywhereInTheAnswer) {
    EXPECT_TRUE(met(Expect::contains, "Paris", "It is Paris, of course."));
    EXPECT_FALSE(met(Expect::contains, "Paris", "It is London."));
    EXPECT_TRUE(met(Expect::regex, "[Pp]aris|PARIS", "It is paris."));
    EXPECT_FALSE(met(Expect::regex, "^Paris$", "It is Paris."));
}

TEST(Expectation, NumberIsTheLastOneOfTheAnswerHoweverItIsWritten) {
    EXPECT_TRUE(met(Expect::number, "1234.5", "First 7, then 1,234.50."));
    EXPECT_TRUE(met(Expect::number, "-3", "The result is -3."));
    EXPECT_FALSE(met(Expect::number, "-3", "10-3"));
    EXPECT_TRUE(met(Expect::number, "618034", "618034"));
    EXPECT_FALSE(met(Expect::number, "618034", "6180345"));
    EXPECT_FALSE(met(Expect::number, "618034", "618034 or 618035"));
    EXPECT_FALSE(met(Expect::number, "0", "none"));
}

std::string refusal(std::string_view rows) {
    const File file(rows);
    try {
        (void)questions_of(file.path());
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Questions, OfAFileHaveALimitForAnswersOnlyWhereARowNamesNone) {
    const auto longest_answers = [](std::string_view rows) {
        const File file(rows);
        const Questions questions = questions_of(file.path());
        const auto dataset = make_dataset({.spec = questions.dataset, .path = questions.path});
        std::vector<std::int64_t> tokens;
        for (std::uint64_t i = 0; i < *dataset->size(); ++i)
            tokens.push_back(*dataset->request(i).wanted_output_tokens);
        return tokens;
    };
    constexpr std::string_view kShort =
        "{\"prompt\": \"1 + 1?\", \"output_tokens\": 8, \"expect\": {\"number\": 2}}\n";
    EXPECT_THAT(longest_answers(kShort), ::testing::ElementsAre(8));
    EXPECT_THAT(
        longest_answers(std::string(kShort) + "{\"prompt\": \"1 + 2?\", \"expect\": {\"number\": 3}}\n"),
        ::testing::ElementsAre(8, 256));
}

TEST(Questions, OfAFileHoldWhatIsAskedAndWhatIsExpected) {
    const File file(
        "{\"prompt\": \"Capital of France?\", \"expect\": {\"contains\": \"Paris\"}}\n"
        "\n"
        "{\"messages\": [{\"role\": \"user\", \"content\": \"2+2?\"}], \"expect\": {\"number\": 4}}\n");
    const Questions questions = questions_of(file.path());
    EXPECT_EQ(questions.expected,
              (std::vector<Expectation>{{Expect::contains, "Paris"}, {Expect::number, "4"}}));
    const auto dataset = make_dataset({.spec = questions.dataset, .path = questions.path});
    EXPECT_EQ(dataset->size(), 2u);
    EXPECT_EQ(dataset->request(0).prompt, Prompt("Capital of France?"));
    EXPECT_EQ(dataset->request(1).prompt, Prompt(Messages{{"user", "2+2?"}}));
    EXPECT_THAT(questions.name, HasSubstr(dataset->content())) << "another content is another probe";
}

TEST(Questions, ThatNothingCanAnswerAreRefusedWithTheirLine) {
    const std::string good = "{\"prompt\": \"x\", \"expect\": {\"exact\": \"y\"}}\n";
    EXPECT_EQ(refusal(good), "accepted");
    EXPECT_THAT(refusal(good + R"({"prompt": "x"})"), HasSubstr(":2: \"expect\" must be an object"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": "y"})"), HasSubstr(":1: \"expect\" must be an object"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": {"like": "y"}})"),
                HasSubstr("exact, regex, contains, number"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": {"exact": "y", "number": 1}})"), HasSubstr(":1:"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": {"regex": "(y"}})"),
                HasSubstr("not a regular expression"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": {"number": "many"}})"), HasSubstr("is not a number"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": {"number": "inf"}})"), HasSubstr("is not a number"));
    EXPECT_THAT(refusal(R"({"prompt": "x", "expect": {"number": "nan"}})"), HasSubstr("is not a number"));
    for (const char* const nothing :
         {R"({"expect": {"exact": "y"}})", R"({"prompt": "", "expect": {"exact": "y"}})",
          R"({"prompt": "x", "output_tokens": 0, "expect": {"exact": "y"}})"})
        EXPECT_THAT(refusal(nothing), HasSubstr(":1: a question needs a prompt")) << nothing;
    EXPECT_THAT(refusal(R"({"prompt": "x", "conversation": "c", "expect": {"exact": "y"}})"),
                HasSubstr("conversation"));
    EXPECT_THROW(questions_of("no/such/file.jsonl"), UsageError);
    EXPECT_THROW(questions_of("recall:ctx=4"), UsageError);
    EXPECT_THROW(questions_of("recall:n=0"), UsageError);
    EXPECT_THROW(questions_of("recall:depth=1"), UsageError);
}

TEST(Recall, HidesTheNumberThatItAsksForOnceInATextOfTheWantedLength) {
    const Questions questions = questions_of("recall:ctx=2k,n=25");
    ASSERT_EQ(questions.expected.size(), 25u);
    const auto dataset = make_dataset({.spec = questions.dataset});
    const TextWriter writer(uncalibrated());
    std::set<std::string> texts;
    std::set<bool> halves;
    for (std::uint64_t i = 0; i < 25; ++i) {
        const Request request = dataset->request(i);
        const std::string text = std::get<std::string>(request.prompt);
        const std::string& value = questions.expected[i].text;
        const auto at = text.find(value);
        ASSERT_NE(at, std::string::npos);
        EXPECT_EQ(text.find(value, at + 1), std::string::npos);
        EXPECT_EQ(text.find(recall_question(i).asked), text.rfind(recall_question(i).asked, at))
            << "one place gives the number, the question is the other";
        EXPECT_THAT(text.substr(text.rfind("What is")), HasSubstr(recall_question(i).asked));
        // The writer knows the tokens of words; a sentence with a name and a number takes 16 tokens
        // more.
        const double sentences = 2000. / 64;
        EXPECT_NEAR(writer.expected_tokens(text) + 16 * sentences, 2000, 100);
        texts.insert(text);
        halves.insert(at > text.size() / 2);
    }
    EXPECT_EQ(texts.size(), 25u);
    EXPECT_EQ(halves.size(), 2u) << "numbers stand early and late";
    EXPECT_EQ(dataset->request(25).prompt, dataset->request(0).prompt);
}

TEST(Recall, AsksTheSameWhateverTheRunsSeedAndSaltAre) {
    const Questions questions = questions_of("recall:ctx=256,n=3");
    EXPECT_EQ(questions.name, "recall:ctx=256,n=3");
    const auto one = make_dataset({.spec = questions.dataset, .seed = 1, .salt = "a"});
    const auto other = make_dataset({.spec = questions.dataset, .seed = 2, .salt = "b"});
    EXPECT_EQ(one->request(2).prompt, other->request(2).prompt);
}

}  // namespace
}  // namespace paretoken::datasets
