// Damaged files of other load generators. Each sample is damaged in many places, one after another: a value
// becomes another type, a huge or a negative number, or is left out. An import either refuses the file by
// its name, or gives figures that can be true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/run_directory.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr int kDamagesOfASample = 60;
constexpr std::array<const char*, 12> kValues = {"null", "true",  "-1", "0",  "1e308",     "-1e308",
                                                 "1e19", "\"x\"", "[]", "{}", "[1,\"2\"]", ""};

/// The text with one value of its JSON replaced by `value`, or left out if that is empty. Other text is cut.
std::string damaged_json(const std::string& text, std::size_t choice, const std::string& value) {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return text.substr(0, choice % text.size());  // YAML, and Python's Infinity
    std::vector<std::string> places;
    const Json flat = json.flatten();
    for (const auto& [place, unused] : flat.items()) places.push_back(place);
    const Json::json_pointer place(places[choice % places.size()]);
    Json& parent = json.at(place.parent_pointer());
    if (!value.empty())
        json.at(place) = Json::parse(value);
    else if (parent.is_array())
        parent.erase(static_cast<std::size_t>(std::stoul(place.back())));
    else
        parent.erase(place.back());
    return json.dump();
}

/// The same for one of the lines of a file with a JSON object on each line.
std::string damaged(const std::string& text, bool has_lines, std::size_t choice, const std::string& value) {
    if (!has_lines) return damaged_json(text, choice, value);
    std::vector<std::string> lines(1);
    for (const char c : text) {
        if (c != '\n')
            lines.back() += c;
        else if (!lines.back().empty())
            lines.emplace_back();
    }
    if (lines.back().empty()) lines.pop_back();
    std::string& line = lines[choice / 1000 % lines.size()];
    line = damaged_json(line, choice, value);
    std::string whole;
    for (const std::string& one : lines) whole += one + "\n";
    return whole;
}

void expect_possible(const RunResult& run, const std::string& text) {
    const std::size_t told = run.reported ? run.reported->figures.size() : 0;
    EXPECT_GT(run.counts.requests + run.counts.cancelled + told, 0U) << text;
    for (const MetricSummary& metric : run.metrics) {
        EXPECT_TRUE(std::isfinite(metric.mean.value_or(0))) << metric.key << "\n" << text;
        EXPECT_GE(metric.min.value_or(0), 0) << metric.key << "\n" << text;
    }
}

class DamagedSample : public ::testing::TestWithParam<const char*> {};

TEST_P(DamagedSample, is_refused_by_its_name_or_gives_figures_that_can_be_true) {
    const fs::path sample =
        fs::path(paths::source_dir()) / "tests/reports/files/interop/samples" / GetParam();
    Random random(7);
    for (const fs::path& file : foreign_files(sample)) {
        const std::string text = read_file(file);
        for (int i = 0; i < kDamagesOfASample; ++i) {
            const TemporaryDirectory directory;
            const fs::path copy = directory.path() / file.filename();
            const std::string value = kValues[random.below(kValues.size())];
            const std::string bad =
                damaged(text, file.extension() == ".jsonl", random.below(1'000'000), value);
            write_file_atomically(copy, bad);
            if (foreign_format_of(copy) == nullptr) continue;
            try {
                for (const fs::path& run : import_runs(copy, directory.path() / "out"))
                    expect_possible(read_run_directory(run), bad);
            } catch (const UsageError& error) {
                EXPECT_THAT(error.what(), HasSubstr(file.filename().string())) << bad;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedSample,
                         ::testing::Values("vllm-bench", "sglang-bench", "aiperf", "guidellm",
                                           "inference-perf", "genai-bench", "llmperf", "endpoints",
                                           "llama-bench", "summaries"),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

/// The message with which an import of this file is refused.
std::string refusal_of(const std::string& text) {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / "result.json", text);
    return message_of<UsageError>(
        [&] { import_runs(directory.path() / "result.json", directory.path() / "out"); });
}

/// A detailed result of vLLM with two requests, whose starts and gaps are these JSON values.
std::string vllm_result(const std::string& start, const std::string& gap) {
    return R"({"model_id":"m","completed":2,"request_throughput":1,"num_prompts":2,"start_times":[5,)" +
           start + R"(],"ttfts":[0.1,0.1],"itls":[[0.1],[)" + gap + R"(]],"output_lens":[2,2]})";
}

TEST(DamagedFile, with_a_start_that_is_no_time_is_refused_with_the_key) {
    for (const char* const start : {"null", "[]", "\"x\"", "1e19"})
        EXPECT_THAT(refusal_of(vllm_result(start, "0.1")), HasSubstr("\"start_times\" is not a time"));
}

TEST(DamagedFile, with_a_time_of_years_is_refused_with_the_request_and_needs_no_memory_for_it) {
    EXPECT_THAT(refusal_of(vllm_result("6", "1e12")), HasSubstr("request 1 ends more than 31 days"));
    EXPECT_THAT(refusal_of(vllm_result("3e8", "0.1")), HasSubstr("request 1 was sent more than 31 days"));
}

TEST(DamagedFile, whose_first_token_comes_after_the_end_is_refused) {
    EXPECT_THAT(
        refusal_of(
            R"({"_time_unit":"s","aggregated_metrics":{"num_concurrency":1},"individual_request_metrics":)"
            R"([{"error_code":null,"num_input_tokens":9,"num_output_tokens":4,"ttft":58.0,)"
            R"("e2e_latency":0.2,"tpot":0.1}]})"),
        HasSubstr("request 0 has its first token 58 s after it was sent, and its end after 0.2 s"));
}

TEST(DamagedFile, with_a_gap_below_zero_or_a_length_that_is_no_count_is_refused) {
    EXPECT_THAT(refusal_of(vllm_result("6", "-0.5")), HasSubstr("a time between two chunks is -0.5 s"));
    for (const char* const length : {"\"5\"", "1e12", "-3"}) {
        std::string text = vllm_result("6", "0.1");
        text.replace(text.rfind("2]"), 1, length);
        EXPECT_THAT(refusal_of(text), HasSubstr("\"output_lens\" holds")) << length;
    }
}

TEST(DamagedFile, of_aiperf_with_a_request_twice_or_an_end_before_its_start_is_refused_with_the_line) {
    const auto line = [](const std::string& id, const std::string& end) {
        return R"({"metadata":{"x_request_id":")" + id + R"(","request_start_ns":1795248162746168070,)" +
               R"("request_end_ns":)" + end + R"(},"metrics":{"request_latency":{"value":9,"unit":"ms"}}})" +
               "\n";
    };
    const auto refusal = [](const std::string& text) {
        const TemporaryDirectory directory;
        const fs::path file = directory.path() / "profile_export.jsonl";
        write_file_atomically(file, text);
        return message_of<UsageError>([&] { import_runs(file, directory.path() / "out"); });
    };
    EXPECT_THAT(refusal(line("a", "1795248162755168070") + line("a", "1795248162755168070")),
                HasSubstr("the request a is in the file twice"));
    EXPECT_THAT(refusal(line("a", "1795248162746168000")), HasSubstr("is before \"request_start_ns\""));
}

TEST(ForeignFile, of_vllm_counts_a_request_with_an_error_as_failed) {
    std::string text = vllm_result("6", "0.1");
    text.insert(text.size() - 1, R"(,"errors":["","the stream broke"])");
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / "result.json", text);
    const auto runs = import_runs(directory.path() / "result.json", directory.path() / "out");
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(read_run_directory(runs.front()).counts.failed, 1U);
}

}  // namespace
}  // namespace paretoken::reports
