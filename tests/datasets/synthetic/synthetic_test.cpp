#include "datasets/synthetic/synthetic.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "datasets/synthetic/text.h"

namespace paretoken::datasets {
namespace {

using ::testing::HasSubstr;

DatasetOptions options_of(std::string_view spec, PromptForm form = PromptForm::text, std::string salt = "s") {
    return {.spec = parse_spec(spec), .seed = 7, .salt = std::move(salt), .form = form};
}

const std::string& text_of(const Request& request) {
    return std::get<std::string>(request.prompt);
}
const TokenIds& ids_of(const Request& request) {
    return std::get<TokenIds>(request.prompt);
}

TEST(Synthetic, GivesPromptsAndAnswersOfTheWantedLength) {
    const auto dataset = make_dataset(options_of("synthetic:isl=64,osl=16"));
    const Request request = dataset->request(5);
    EXPECT_EQ(request.index, 5u);
    EXPECT_EQ(request.wanted_input_tokens, 64);
    EXPECT_EQ(request.wanted_output_tokens, 16);
    EXPECT_EQ(TextWriter(uncalibrated()).expected_tokens(text_of(request)), 64);
    EXPECT_EQ(dataset->mean_input_tokens(), 64);
    EXPECT_EQ(dataset->mean_output_tokens(), 16);
    EXPECT_EQ(dataset->size(), std::nullopt);
}

TEST(Synthetic, ARequestIsAFunctionOfSeedSaltAndIndex) {
    const auto one = make_dataset(options_of("synthetic:isl=uniform:min=10;max=99,osl=8"));
    const auto two = make_dataset(options_of("synthetic:isl=uniform:min=10;max=99,osl=8"));
    for (std::uint64_t i : {9, 0, 4}) {
        EXPECT_EQ(text_of(one->request(i)), text_of(two->request(i)));
        EXPECT_EQ(one->request(i).id, two->request(i).id);
    }
    EXPECT_NE(text_of(one->request(0)), text_of(one->request(1)));
}

TEST(Synthetic, ASaltChangesEveryPromptAndNoLength) {
    for (const PromptForm form : {PromptForm::text, PromptForm::token_ids}) {
        const auto one =
            make_dataset(options_of("synthetic:isl=lognormal:mean=200;cv=1,osl=64:ratio=.5", form, "a"));
        const auto two =
            make_dataset(options_of("synthetic:isl=lognormal:mean=200;cv=1,osl=64:ratio=.5", form, "b"));
        for (std::uint64_t i = 0; i < 100; ++i) {
            const Request a = one->request(i), b = two->request(i);
            EXPECT_NE(a.prompt, b.prompt);
            EXPECT_NE(a.id, b.id);
            EXPECT_EQ(a.wanted_input_tokens, b.wanted_input_tokens);
            EXPECT_EQ(a.wanted_output_tokens, b.wanted_output_tokens);
            if (form == PromptForm::token_ids) continue;
            const TextWriter writer(uncalibrated());
            EXPECT_EQ(writer.expected_tokens(text_of(a)), writer.expected_tokens(text_of(b)));
        }
    }
}

TEST(Synthetic, NeighboursDifferFromTheFirstTokenOn) {
    const auto texts = make_dataset(options_of("synthetic:isl=64,osl=16"));
    const auto ids = make_dataset(options_of("synthetic:isl=64,osl=16", PromptForm::token_ids));
    std::set<std::string> words;
    std::set<std::int32_t> first_ids;
    for (std::uint64_t i = 0; i < 256; ++i) {
        const std::string text = text_of(texts->request(i));
        words.insert(text.substr(0, text.find(' ')));
        first_ids.insert(ids_of(ids->request(i)).front());
    }
    EXPECT_EQ(words.size(), 256u);
    EXPECT_EQ(first_ids.size(), 256u);
}

TEST(Synthetic, TokenIdsAreExactInNumberAndInTheSafeRange) {
    DatasetOptions options = options_of("synthetic:isl=500,osl=16", PromptForm::token_ids);
    options.vocabulary = 5000;
    options.calibration = uncalibrated();
    options.calibration->overhead_tokens = 30;  // tokens of a template, which token ids do not have
    const Request request = make_dataset(options)->request(3);
    EXPECT_EQ(ids_of(request).size(), 500u);
    const auto [low, high] = std::minmax_element(ids_of(request).begin(), ids_of(request).end());
    EXPECT_GE(*low, 1000);
    EXPECT_LT(*high, 5000);
}

TEST(Synthetic, SafeTokenIdsLeaveOutBothEndsOfAVocabulary) {
    EXPECT_EQ(safe_token_ids(128'256), (IdRange{1000, 8000}));
    EXPECT_EQ(safe_token_ids(std::nullopt), (IdRange{1000, 8000}));
    EXPECT_EQ(safe_token_ids(4096), (IdRange{1000, 4080}));
    EXPECT_EQ(safe_token_ids(256), (IdRange{128, 240}));
    EXPECT_EQ(safe_token_ids(2), (IdRange{1, 2}));
}

TEST(Synthetic, RefusesPairsByTheNameOfTheirOption) {
    for (const char* isl : {"pairs:16/4=0", "pairs:16/4=1e308;8/4=1e308", "pairs:16=1"}) {
        try {
            make_dataset(options_of(fmt::format("synthetic:isl={}", isl)));
            FAIL() << isl;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), ::testing::StartsWith("--isl length 'pairs:"));
        }
    }
}

TEST(Synthetic, ARatioThatNoLengthTakesIsRefused) {
    EXPECT_NO_THROW(make_dataset(options_of("synthetic:isl=100,osl=uniform:min=1;max=9,ratio=0.5")));
    EXPECT_THROW(
        make_dataset(options_of("synthetic:isl=lognormal:mean=9;cv=1,osl=uniform:min=1;max=9,ratio=0.5")),
        UsageError);
}

TEST(Synthetic, ARatioAppliesToBothPlainLengths) {
    const auto dataset = make_dataset(options_of("synthetic:isl=100,osl=10,ratio=0.5"));
    std::set<std::int64_t> inputs, outputs;
    for (std::uint64_t i = 0; i < 300; ++i) {
        inputs.insert(*dataset->request(i).wanted_input_tokens);
        outputs.insert(*dataset->request(i).wanted_output_tokens);
    }
    EXPECT_EQ(*inputs.begin() >= 50 && *inputs.rbegin() <= 150 && inputs.size() > 50, true);
    EXPECT_EQ(*outputs.begin(), 5);
    EXPECT_EQ(*outputs.rbegin(), 15);
    EXPECT_EQ(dataset->description(), "synthetic:isl=100:ratio=0.5,osl=10:ratio=0.5");
}

TEST(Catalog, RefusesWhatItDoesNotKnowAndNamesWhatItDoes) {
    try {
        make_dataset(options_of("sharegtp"));
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("sharegtp"), HasSubstr("synthetic"), HasSubstr("custom")));
    }
    EXPECT_THROW(make_dataset(options_of("synthetic:islands=5")), UsageError);
    EXPECT_THROW(make_dataset(options_of("synthetic:isl=many")), UsageError);
}

TEST(Catalog, EveryRowHasATitleAndFields) {
    for (const CatalogRow& row : catalog()) {
        EXPECT_FALSE(row.name.empty() || row.title.empty() || row.fields.empty());
        EXPECT_NE(row.make, nullptr);
    }
}

}  // namespace
}  // namespace paretoken::datasets
