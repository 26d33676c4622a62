// The parts of lines of genai-bench, llmperf, evalscope perf, inference-benchmarker and perf_analyzer.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "core/error.h"
#include "core/text/letter_case.h"

namespace paretoken::cli {
namespace {

/// The levels that an option named, each time it was given or with commas or blanks between them.
void set_given_levels(const Composing& now, std::string_view part, std::string_view field) {
    const Texts levels = now.parts.take_list(part);
    if (!levels.empty()) set_levels(now, field, levels);
}

void only_chat_of(const Composing& now, std::string_view part, std::initializer_list<const char*> known) {
    const auto name = now.parts.take(part);
    if (!name) return;
    if (std::ranges::find(known, *name) == known.end())
        now.absent(fmt::format(
            "--{} {}: {}",
            part == "llm_api" ? "llm-api"
            : part == "api"   ? "api"
                              : "api-backend",
            *name, is_to_fill_in(*name) ? kValueNeeded : "only OpenAI's and Anthropic's protocols are sent"));
    now.parts.set_if_absent("endpoint_type", "chat");
}

/// genai-bench's "D(100,1000)", "N(480,240)/(300,150)" and "U(50,100)/(200,250)" as lengths.
void set_traffic(const Composing& now, const std::string& text) {
    std::vector<std::string> numbers(1);
    for (const char c : text) {
        if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.')
            numbers.back() += c;
        else if (!numbers.back().empty())
            numbers.emplace_back();
    }
    if (numbers.back().empty()) numbers.pop_back();
    const char kind = text.empty() ? ' ' : text.front();
    if (kind == 'D' && numbers.size() == 2) {
        now.parts.set("isl", numbers[0]);
        return now.parts.set("osl", numbers[1]);
    }
    if (kind == 'N' && numbers.size() == 4) {
        now.parts.set("isl", length_of(numbers[0], numbers[1]));
        return now.parts.set("osl", length_of(numbers[2], numbers[3]));
    }
    if (kind == 'U' && numbers.size() == 4) {
        const auto at_least_one = [](const std::string& number) { return number == "0" ? "1" : number; };
        now.parts.set("isl", length_of("", "", at_least_one(numbers[0]), numbers[1]));
        return now.parts.set("osl", length_of("", "", at_least_one(numbers[2]), numbers[3]));
    }
    if (text == "dataset") return;
    now.absent(fmt::format("--traffic-scenario {}: lengths are --isl and --osl", text));
}

void compose_genai_bench(const Composing& now) {
    Parts& parts = now.parts;
    only_chat_of(now, "api_backend", {"openai", "vllm", "sglang", "together"});
    if (const auto task = parts.take("task"); task && *task != "text-to-text")
        now.absent(fmt::format("--task {}: {}", *task, kText));
    set_given_levels(now, "levels", "concurrency");
    if (now.origin.whole && !parts.has("concurrency")) set_levels(now, "concurrency", {"1..256"});
    if (parts.value("concurrency") == "1..256") now.out.several = true;
    if (const auto minutes = parts.take("minutes"))
        parts.set("duration", text_of_number(60 * number("--max-time-per-run", *minutes)) + "s");
    const Texts scenarios = parts.take_all("traffic");
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
        if (i == 0)
            set_traffic(now, scenarios[i]);
        else
            now.absent(
                fmt::format("--traffic-scenario {}: a sweep has one kind of lengths; make a sweep for each",
                            scenarios[i]));
    }
    if (scenarios.empty() && now.origin.whole && !parts.has("dataset_path")) {
        set_traffic(now, "N(480,240)/(300,150)");
        now.note("genai-bench measures five kinds of lengths by itself; this is the first of them");
    }
    if (const auto prefix = parts.take("prefix_inside")) {
        parts.set("prefix", *prefix);  // it counts as a part of the input
        const std::string isl = parts.take("isl").value_or("512");
        const bool constant = std::ranges::all_of(isl, [](unsigned char c) { return std::isdigit(c); });
        parts.set("suffix", constant ? text_of_number(std::max(
                                           1.0, number("--isl", isl) - number("--prefix-len", *prefix)))
                                     : isl);
    }
    const auto gpu = parts.take("gpu_type");
    const auto count = parts.take("gpu_count");
    if (!gpu) return;
    const std::string name = lower_case(*gpu);
    parts.set("gpu", count && *count != "1" ? fmt::format("{}x{}", name, *count) : name);
}

void compose_llmperf(const Composing& now) {
    Parts& parts = now.parts;
    if (parts.value("llm_api") == "anthropic") {
        parts.take("llm_api");
        parts.set("endpoint_type", "messages");
        parts.set_if_absent("url", "https://api.anthropic.com");
        parts.set("api_key_env", "ANTHROPIC_API_KEY");
        parts.take("api_key");
    }
    only_chat_of(now, "llm_api", {"openai"});
    if (const auto metadata = parts.take("llmperf_metadata"))
        for (const std::string& one : list_of(*metadata)) parts.add("metadata", one);
    if (!now.whole(Tool::llmperf)) return;
    for (const auto& [field, value] :
         {std::pair{"isl", "550"}, std::pair{"isl_stddev", "150"}, std::pair{"osl", "150"},
          std::pair{"osl_stddev", "80"}, std::pair{"concurrency", "10"}, std::pair{"duration", "90s"},
          std::pair{"num_prompts", "10"}})
        parts.set_if_absent(field, value);
    if (!parts.has("url"))
        now.note("llmperf takes the address from OPENAI_API_BASE; give it as the URL here");
}

void compose_evalscope(const Composing& now) {
    Parts& parts = now.parts;
    const auto api = parts.take("api");
    if (api && *api != "openai" && *api != "openai_responses" && *api != "responses")
        now.absent(fmt::format("--api {}: only OpenAI's and Anthropic's protocols are sent", *api));
    set_given_levels(now, "levels", "concurrency");
    const Texts counts = parts.take_all("counts");
    if (!counts.empty()) parts.set("num_prompts", counts.front());
    if (counts.size() > 1)
        now.note(
            fmt::format("every level has the same number of requests: {}, the first of the list", counts[0]));
    std::vector<std::string> rates;
    for (const std::string& rate : parts.take_all("rates"))
        if (rate != "-1") rates.push_back(rate);
    if (!rates.empty()) set_levels(now, "request_rate", rates);
    const auto dataset = parts.take("evalscope_dataset").value_or("openqa");
    const auto least = parts.take("isl_least");
    const auto most = parts.take("isl_most");
    const auto fewest = parts.take("min_tokens");
    const Texts longest = parts.take_all("osl");
    if (longest.size() == 2) parts.set("osl", length_of("", "", longest[0], longest[1]));
    if (longest.size() == 1) parts.set("osl", longest.front());
    if (fewest && longest.size() == 1 && *fewest == longest.front()) parts.set("ignore_eos", "true");
    if (dataset.starts_with("random")) {
        if (most) parts.set("isl", least && *least != *most ? length_of("", "", *least, *most) : *most);
        return;
    }
    if (!now.whole(Tool::evalscope)) return;
    if (parts.has("dataset_path")) return;
    const std::string file = dataset + ".jsonl";
    now.need_file("--dataset " + dataset, "save its rows as JSON lines with \"prompt\" in " + file, file);
}

/// "num_tokens=200,max_tokens=220,min_tokens=180,variance=10" as a length.
std::string benchmarker_length(const std::string& options) {
    Fields fields(group_of(options).value_or(Group{}));
    const std::string variance = fields.value("variance");
    return length_of(fields.value("num_tokens"),
                     variance.empty() ? "" : text_of_number(std::sqrt(number("variance", variance))),
                     fields.value("min_tokens"), fields.value("max_tokens"));
}

void compose_benchmarker(const Composing& now) {
    Parts& parts = now.parts;
    const auto vus = parts.take("vus");
    const std::string kind = parts.take("kind").value_or("sweep");
    const std::string count = parts.take("num_rates").value_or("10");
    if (kind == "throughput") {
        parts.set("concurrency", vus.value_or("128"));
    } else if (kind == "rate") {
        parts.set_if_absent("concurrency", vus.value_or("128"));
        set_given_levels(now, "rates", "request_rate");
        parts.set("pattern", "constant");
    } else if (now.whole(Tool::inference_benchmarker)) {
        parts.set("request_rate", "auto:" + count);
        parts.set("pattern", "constant");
        now.out.several = true;
    }
    parts.take("rates");
    const auto traffic = parts.take("traffic_profile").value_or("fixed-length");
    const auto prompt = parts.take("prompt_options");
    const auto answer = parts.take("decode_options");
    if (traffic != "fixed-length" && !prompt)
        now.note(fmt::format("profile {} asks with texts of its own; here prompts have 200 tokens", traffic));
    if (prompt || now.whole(Tool::inference_benchmarker))
        parts.set("isl", prompt ? benchmarker_length(*prompt) : "200");
    if (answer || now.whole(Tool::inference_benchmarker))
        parts.set("osl", answer ? benchmarker_length(*answer) : "800");
}

/// perf_analyzer's "1:64:8" and "4" as levels. Without a step it is 1.
void set_range(const Composing& now, const char* part, const char* field) {
    const auto range = now.parts.take(part);
    if (!range) return;
    const auto first = range->find(':');
    if (first == std::string::npos) return now.parts.set(field, *range);
    const auto second = range->find(':', first + 1);
    const std::string step = second == std::string::npos ? "1" : range->substr(second + 1);
    now.parts.set(field, fmt::format("{}..{}:{}", range->substr(0, first),
                                     range->substr(first + 1, second - first - 1), step));
    now.out.several = true;
}

/// The options of perf_analyzer, also of the tools that start it. These send Triton's own protocol, too,
/// which they mean by a backend without an endpoint's type.
void compose_perf_analyzer(const Composing& now) {
    Parts& parts = now.parts;
    const bool names_backend = parts.take("triton_backend") && !parts.has("backend");
    const auto given = parts.take("service_kind");
    const bool means_triton = now.is(Tool::perf_analyzer) || names_backend;
    const std::string kind = given.value_or(means_triton ? "triton" : "openai");
    if (kind != "openai")
        now.absent(
            fmt::format("--service-kind {}: only OpenAI's and Anthropic's protocols are sent; give the "
                        "server's OpenAI-compatible address with --service-kind openai",
                        kind));
    else if (given)
        now.out.unneeded.emplace_back("--service-kind");
    set_range(now, "concurrency_range", "concurrency");
    set_range(now, "rate_range", "request_rate");
    const std::string data = parts.value("dataset_path");
    if (data == "random" || data == "zero") parts.take("dataset_path");
    if (now.is(Tool::perf_analyzer) && data.ends_with(".json")) parts.set("file_kind", "inputs_json");
    if ((now.is(Tool::perf_analyzer) || given) && parts.has("request_rate") && !parts.has("pattern"))
        parts.set("pattern", "constant");
}

}  // namespace

void compose_other_tools(const Composing& now) {
    if (!now.origin.tool) return;
    switch (*now.origin.tool) {
        case Tool::genai_bench:
            return compose_genai_bench(now);
        case Tool::llmperf:
            return compose_llmperf(now);
        case Tool::evalscope:
            return compose_evalscope(now);
        case Tool::inference_benchmarker:
            return compose_benchmarker(now);
        case Tool::perf_analyzer:
        case Tool::aiperf:
            return compose_perf_analyzer(now);
        case Tool::vllm:
        case Tool::sglang:
        case Tool::guidellm:
        case Tool::inference_perf:
            return;
    }
}

}  // namespace paretoken::cli
