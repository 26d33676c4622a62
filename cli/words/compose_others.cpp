// The parts of lines of genai-bench, llmperf, evalscope perf, inference-benchmarker and perf_analyzer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
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
    // It asks for answers of the whole length, but not where prompts are rows, or of OpenAI's own service.
    const std::string backend = parts.value("api_backend");
    const Texts named = parts.texts.contains("traffic") ? parts.texts.find("traffic")->second : Texts{};
    const bool has_lengths = named.empty() ? !parts.has("dataset_path") : named.front() != "dataset";
    if (now.origin.whole && has_lengths &&
        (backend == "vllm" || backend == "sglang" || backend == "together"))
        parts.set("ignore_eos", "true");
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
    auto prefix = parts.take("prefix_inside");
    if (const auto ratio = parts.take("prefix_ratio")) {
        const std::string isl = parts.value("isl");
        if (isl.empty() || isl.find(':') != std::string::npos)
            now.absent("--prefix-ratio: a shared prefix has one length: --dataset shared_prefix:levels=…");
        else
            prefix = text_of_number(std::floor(number("--prefix-ratio", *ratio) * number("a length", isl)));
    }
    if (prefix) {
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

/// The protocol of evalscope's --api. A model that it loads itself is served by a server here.
void set_evalscope_api(const Composing& now) {
    Parts& parts = now.parts;
    const std::string api = parts.take("api").value_or("openai");
    const std::string model = parts.value("model").empty() ? "MODEL" : parts.value("model");
    Texts& urls = parts.texts["urls"];
    const auto end_with = [&](std::string_view path) {  // in place of the path of the chats
        constexpr std::string_view kChats = "/chat/completions";
        for (std::string& url : urls)
            if (url.ends_with(kChats)) url.replace(url.size() - kChats.size(), kChats.size(), path);
    };
    if (api == "local_vllm") {
        urls.clear();
        parts.set("server_cmd", fmt::format("vllm serve {} --port {{port}}", model));
        now.note("the other tool starts the model itself; here --server-cmd starts a server for it");
    } else if (api == "openai_responses" || api == "openai_response" || api == "responses") {
        parts.set("endpoint_type", "responses");
        end_with("/responses");
    } else if (api.find("embedding") != std::string::npos || api.find("rerank") != std::string::npos) {
        now.absent(fmt::format("--api {}: {}", api, kText));
    } else if (api != "openai") {
        now.absent(fmt::format("--api {}: {}", api,
                               api == "local"
                                   ? "a server is measured: --server-cmd 'vllm serve MODEL --port {port}'"
                                   : "only OpenAI's and Anthropic's protocols are sent"));
    }
    if (parts.take("token_ids")) {
        parts.set("endpoint_type", "completions");
        end_with("/completions");
    }
    if (urls.empty()) parts.texts.erase("urls");
}

/// evalscope's levels, and the number of requests, which may differ from level to level.
void set_evalscope_load(const Composing& now) {
    Parts& parts = now.parts;
    Texts levels = parts.take_list("levels");
    Texts rates = parts.take_list("rates");
    std::erase(rates, "-1");
    const bool is_open = parts.take("open_loop").has_value();
    if (is_open)
        levels.clear();
    else if (levels.empty() && now.whole(Tool::evalscope))
        levels = {"1"};  // also beside a rate
    if (!levels.empty()) set_levels(now, "concurrency", levels);
    if (!rates.empty()) set_levels(now, "request_rate", rates);
    Texts counts = parts.take_list("counts");
    if (counts.empty() && now.whole(Tool::evalscope)) counts = {"1000"};
    if (std::ranges::adjacent_find(counts, std::not_equal_to<>()) != counts.end())
        return now.note(
            fmt::format("evalscope sends {} requests at its levels; without --num-prompts, a sweep "
                        "sends at each as many as it needs",
                        fmt::join(counts, ", ")));
    if (!counts.empty()) parts.set("num_prompts", counts.front());
}

/// One prompt of the reader's, which is sent again and again: a file of one row.
void set_one_prompt(const Composing& now, const std::string& prompt) {
    const std::string file = "prompt.jsonl";
    const std::string row =
        prompt.starts_with('@')
            ? fmt::format("jq -Rs '{{prompt: .}}' {}", prompt.substr(1))
            : fmt::format("jq -n --arg prompt {} '{{prompt: $prompt}}'", shell_line({prompt}));
    now.absent(fmt::format("--prompt: a prompt of one's own is a row of a file: {} > {}", row, file));
    now.parts.set("dataset_path", file);
    now.out.file = file;
}

void set_evalscope_dataset(const Composing& now) {
    Parts& parts = now.parts;
    const auto dataset = parts.take("evalscope_dataset").value_or("openqa");
    const auto least = parts.take("isl_least").value_or("0");
    const auto most = parts.take("isl_most");
    const auto fewest_turns = parts.take("turns_least").value_or("1");
    const auto most_turns = parts.take("turns_most");
    const bool whole = now.whole(Tool::evalscope);
    if (const auto prompt = parts.take("one_prompt")) return set_one_prompt(now, *prompt);
    if (dataset.starts_with("random_vl") || dataset == "flickr8k" || dataset == "kontext_bench")
        return now.absent(fmt::format("--dataset {}: {}", dataset, kPictures));
    if (dataset.find("embedding") != std::string::npos || dataset.find("rerank") != std::string::npos)
        return now.absent(fmt::format("--dataset {}: {}", dataset, kText));
    if (dataset.starts_with("random")) {
        if (parts.take("dataset_path")) now.out.unneeded.emplace_back("--dataset-path (prompts are random)");
        const std::string longest = most.value_or(whole ? "131072" : "");
        if (!longest.empty())
            parts.set("isl",
                      least == longest ? longest : length_of("", "", least == "0" ? "1" : least, longest));
        if (dataset != "random_multi_turn") return;
        if (!most_turns) return now.absent("--dataset random_multi_turn: --max-turns is missing");
        parts.set("turns",
                  fewest_turns == *most_turns ? *most_turns : length_of("", "", fewest_turns, *most_turns));
        if (const auto conversations = parts.take("num_prompts")) parts.set("sessions", *conversations);
        return;
    }
    const std::string path = parts.value("dataset_path");
    const bool is_json = path.ends_with(".json") || path.ends_with(".jsonl");
    if (!path.empty() && !is_json && (dataset == "line_by_line" || dataset == "custom")) {
        const std::string file = path.substr(0, path.rfind('.')) + ".jsonl";
        now.absent(fmt::format("--dataset {}: rows are JSON lines here: jq -Rc '{{prompt: .}}' {} > {}",
                               dataset, path, file));
        parts.set("dataset_path", file);
        now.out.file = file;
    } else if (dataset.ends_with("multi_turn")) {
        now.absent(
            fmt::format("--dataset {}: conversations of a file are --dataset sharegpt:turns=N", dataset));
    } else if (path.empty() && whole) {
        const std::string file = dataset + ".jsonl";
        now.need_file("--dataset " + dataset, "save its rows as JSON lines with \"prompt\" in " + file, file);
    }
}

void compose_evalscope(const Composing& now) {
    Parts& parts = now.parts;
    set_evalscope_api(now);
    set_evalscope_load(now);
    set_evalscope_dataset(now);
    const auto fewest = parts.take("min_tokens");
    Texts longest = parts.take_list("osl");
    if (longest.empty() && now.whole(Tool::evalscope)) longest = {"2048"};
    if (longest.size() == 2) parts.set("osl", length_of("", "", longest[0], longest[1]));
    if (longest.size() == 1) parts.set("osl", longest.front());
    if (fewest && longest.size() == 1 && *fewest == longest.front())
        parts.set("ignore_eos", "true");
    else if (fewest)
        parts.add("extra_inputs", "min_tokens:" + *fewest);
    for (const auto& [part, field] :
         {std::pair{"stop_texts", "stop"}, std::pair{"stop_tokens", "stop_token_ids"}})
        if (const Texts texts = parts.take_all(part); !texts.empty())
            parts.set("extra_body",
                      with_json_field(parts.value("extra_body"), field, nlohmann::json(texts).dump()));
}

/// "num_tokens=200,max_tokens=220,min_tokens=180,variance=10" as a length. The tool draws lengths with its
/// "variance" as the standard deviation.
std::string benchmarker_length(const std::string& options) {
    Fields fields(group_of(options).value_or(Group{}));
    return length_of(fields.value("num_tokens"), fields.value("variance"), fields.value("min_tokens"),
                     fields.value("max_tokens"));
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
