#include "reports/analysis/micro/llama_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "cards/json_value.h"
#include "core/error.h"
#include "core/statistics.h"

namespace paretoken::reports {
namespace {

using cards::JsonCursor;

std::uint64_t tokens_at(const JsonCursor& test, const std::string& key) {
    const auto value = test.find(key);
    return value ? static_cast<std::uint64_t>(value->not_negative()) : 0;
}

/// "llama-bench/pp:512/tg:0/depth:0/batch:2048"
std::string name_of_test(const JsonCursor& test) {
    return fmt::format("llama-bench/pp:{}/tg:{}/depth:{}/batch:{}", tokens_at(test, "n_prompt"),
                       tokens_at(test, "n_gen"), tokens_at(test, "n_depth"), tokens_at(test, "n_batch"));
}

MicroRow row_of_test(const JsonCursor& test) {
    MicroRow row{.name = name_of_test(test), .device = "llama.cpp"};
    std::vector<double> times_s;
    for (const JsonCursor& sample : test.at("samples_ns", "the time of each repetition").elements())
        times_s.push_back(sample.positive() / 1e9);
    std::ranges::sort(times_s);
    if (times_s.empty()) return row;
    row.median_s = percentile(times_s, .5);
    if (times_s.size() < 3) return row;  // the spread is not known
    row.p10_s = percentile(times_s, .1);
    row.p25_s = percentile(times_s, .25);
    row.p75_s = percentile(times_s, .75);
    row.p90_s = percentile(times_s, .9);
    return row;
}

/// Adds a test, and what all tests share from the first one.
void add_test(MicroFile& file, const JsonCursor& test) {
    if (file.rows.empty()) {
        const auto text = [&](const char* key) {
            const auto found = test.find(key);
            return found && found->is_string() ? found->string() : std::string();
        };
        const std::string gpu = text("gpu_info");
        file.devices = {{.id = "llama.cpp", .name = gpu.empty() ? text("cpu_info") : gpu}};
        file.date = text("test_time");
        file.context["preset"] = text("model_type");
        if (const auto threads = test.find("n_threads"))
            file.context["threads"] = fmt::format("{}", threads->not_negative());
    }
    file.rows.push_back(row_of_test(test));
}

}  // namespace

bool is_llama_bench_result(std::string_view text) {
    return text.find("\"samples_ns\"") != text.npos && text.find("\"n_gen\"") != text.npos &&
           text.find("\"paretoken_schema\"") == text.npos;
}

MicroFile llama_bench_rows(std::string_view text, const std::string& where) {
    MicroFile file{.where = where};
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin != text.npos && text[begin] == '[') {
        const cards::JsonValue value = cards::parse_json_value(text, where);
        for (const JsonCursor& test : JsonCursor(value, where).elements()) add_test(file, test);
    } else {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            const std::string_view line = text.substr(at, end - at);
            at = end + 1;
            if (line.find_first_not_of(" \t\r") == line.npos) continue;
            const cards::JsonValue value = cards::parse_json_value(line, where);
            add_test(file, JsonCursor(value, where));
        }
    }
    if (file.rows.empty()) throw UsageError(fmt::format("{}: it holds no test of llama-bench", where));
    return file;
}

}  // namespace paretoken::reports
