#include "cli/words/composition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include "cli/words/groups.h"
#include "core/error.h"
#include "core/result/slo.h"
#include "core/spec.h"

namespace paretoken::cli {
namespace {

/// The parts of one translation, while they are replaced.
struct Composing {
    Parts& parts;
    const Origin& origin;
    Translation& out;

    bool is(Tool tool) const { return origin.tool == tool; }
    bool whole(Tool tool) const { return origin.whole && origin.tool == tool; }
    void note(std::string text) const { out.notes.push_back(std::move(text)); }
    void absent(std::string text) const { out.absent.push_back(std::move(text)); }
};

double number(std::string_view option, const std::string& text) {
    return naming(std::string(option), [&] { return parse_number(text); });
}

std::string text_of_number(double value) {
    return fmt::format("{:.10g}", value);
}

std::string with_scheme(const std::string& url) {
    return url.find("://") == std::string::npos && !url.starts_with("sim:") ? "http://" + url : url;
}

// ---- the server

/// A value of another tool's option.
struct ForeignValue {
    std::string_view name;
    std::string_view ours;  ///< empty: there is none
    std::string_view why = {};
};

const ForeignValue* row_named(std::span<const ForeignValue> rows, std::string_view name) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const ForeignValue& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

constexpr std::string_view kText = "only endpoints that generate text are measured";
constexpr std::string_view kNative =
    "its own protocol is not sent; give the server's OpenAI-compatible address and leave this out";
constexpr std::array kBackends = {
    ForeignValue{"openai", "completions"},
    ForeignValue{"vllm", "completions"},
    ForeignValue{"sglang", "completions",
                 "/generate of SGLang is not sent; the same server's /v1/completions is"},
    ForeignValue{"sglang-native", "completions",
                 "/generate of SGLang is not sent; the same server's /v1/completions is"},
    ForeignValue{"sglang-oai", "completions"},
    ForeignValue{"lmdeploy", "completions"},
    ForeignValue{"deepspeed-mii", "completions"},
    ForeignValue{"scalellm", "completions"},
    ForeignValue{"llama.cpp", "completions"},
    ForeignValue{"openai-chat", "chat"},
    ForeignValue{"openai-responses", "responses"},
    ForeignValue{"vllm-chat", "chat"},
    ForeignValue{"sglang-oai-chat", "chat"},
    ForeignValue{"lmdeploy-chat", "chat"},
    ForeignValue{"openai_http", "chat"},
    ForeignValue{"chat_completions", "chat"},
    ForeignValue{"/v1/chat/completions", "chat"},
    ForeignValue{"text_completions", "completions"},
    ForeignValue{"/v1/completions", "completions"},
    ForeignValue{"/v1/responses", "responses"},
    ForeignValue{"openai-audio", "", kText},
    ForeignValue{"openai-embeddings", "", kText},
    ForeignValue{"openai-embeddings-chat", "", kText},
    ForeignValue{"openai-embeddings-clip", "", kText},
    ForeignValue{"openai-embeddings-vlm2vec", "", kText},
    ForeignValue{"infinity-embeddings", "", kText},
    ForeignValue{"vllm-pooling", "", kText},
    ForeignValue{"vllm-rerank", "", kText},
    ForeignValue{"embeddings", "", kText},
    ForeignValue{"rankings", "", kText},
    ForeignValue{"/v1/embeddings", "", kText},
    ForeignValue{"/pooling", "", kText},
    ForeignValue{"audio_transcriptions", "", kText},
    ForeignValue{"/v1/audio/transcriptions", "", kText},
    ForeignValue{"/v1/audio/translations", "", kText},
    ForeignValue{"openai_websocket", "", kText},
    ForeignValue{"vllm_python", "", "a server is measured, not a Python process"},
    ForeignValue{"tgi", "", kNative},
    ForeignValue{"huggingface_generate", "", kNative},
    ForeignValue{"tensorrt-llm", "", kNative},
    ForeignValue{"trt", "", kNative},
    ForeignValue{"truss", "", kNative},
    ForeignValue{"gserver", "", kNative},
};

constexpr std::array kProtocols = {"chat", "completions", "responses", "messages"};

void set_protocol(const Composing& now, const std::string& name) {
    if (std::find(kProtocols.begin(), kProtocols.end(), name) != kProtocols.end())
        return now.parts.set("endpoint_type", name);
    const ForeignValue* const row = row_named(kBackends, name);
    if (row == nullptr || row->ours.empty())
        return now.absent(fmt::format("--backend {}: {}", name, row == nullptr ? kNative : row->why));
    now.parts.set_if_absent("endpoint_type", std::string(row->ours));
    if (!row->why.empty()) now.note(fmt::format("--backend {}: {}", name, row->why));
}

/// Sets a field of the JSON body, or else a field of the plan that means it.
void set_body_field(const Composing& now, const std::string& name, const std::string& value) {
    if (name == "ignore_eos" && (value == "true" || value == "false" || value == "True" || value == "False"))
        return now.parts.set("ignore_eos", value == "true" || value == "True" ? "true" : "false");
    if (name == "temperature") return now.parts.set("temperature", value);
    if (name == "max_tokens" || name == "max_completion_tokens") return now.parts.set("osl", value);
    now.parts.set("extra_body", with_json_field(now.parts.value("extra_body"), name, value));
}

/// The fields of GuideLLM's backend.
void set_backend(const Composing& now, const Group& group) {
    for (const auto& [key, value] : group) {
        if (key == "kind" || key == "type") {
            if (!group.contains("request_format")) set_protocol(now, value);
        } else if (key == "target") {
            now.parts.set_if_absent("url", value);
        } else if (key == "model") {
            now.parts.set_if_absent("model", value);
        } else if (key == "api_key") {
            now.parts.set("api_key", value);
        } else if (key == "request_format" || key == "request_type") {
            set_protocol(now, value);
        } else if (key == "timeout") {
            now.parts.set_if_absent("timeout", value);
        } else if (key == "verify") {
            if (value == "false") now.parts.set("insecure", "true");
        } else if (key == "max_tokens") {
            now.parts.set_if_absent("osl", value);
        } else if (key == "stream") {
            if (value == "false")
                now.absent(
                    "--backend stream=false: every answer is read as a stream, because the times of "
                    "tokens are what is measured");
        } else if (key.starts_with("extras.body.")) {
            set_body_field(now, key.substr(12), value);
        } else if (key.starts_with("extras.headers.")) {
            now.parts.add("header", fmt::format("{}: {}", key.substr(15), value));
        } else if (key == "validate_backend" || key == "follow_redirects" || key == "timeout_connect") {
            now.out.unneeded.push_back("--backend " + key);
        } else {
            now.absent(fmt::format("--backend {}: it has no counterpart", key));
        }
    }
}

void compose_server(const Composing& now) {
    Parts& parts = now.parts;
    for (const char* const part : {"backend_args", "backend"}) {
        const auto text = parts.take(part);
        if (!text) continue;
        const auto group =
            text->find('=') != std::string::npos || text->starts_with('{') ? group_of(*text) : std::nullopt;
        if (group)
            set_backend(now, *group);
        else
            set_protocol(now, *text);
    }
    if (const auto type = parts.take("request_type")) set_protocol(now, *type);
    const auto host = parts.take("host");
    const auto port = parts.take("port");
    if (!parts.has("url") && (host || port || now.origin.whole)) {
        std::string address(now.origin.tool ? row_of(*now.origin.tool).address : "http://127.0.0.1:8000");
        const auto colon = address.rfind(':');
        const std::string usual_port = address.substr(colon + 1);
        std::string name = host.value_or(address.substr(0, colon));
        if (name == "0.0.0.0") name = "127.0.0.1";
        parts.set("url", fmt::format("{}:{}", with_scheme(name), port.value_or(usual_port)));
    }
    if (parts.has("url")) parts.set("url", with_scheme(parts.value("url")));
    const std::string path = parts.value("endpoint");
    if (!path.empty() && !parts.has("endpoint_type")) {
        if (path.ends_with("/chat/completions"))
            parts.set("endpoint_type", "chat");
        else if (path.ends_with("/completions"))
            parts.set("endpoint_type", "completions");
        else if (path.ends_with("/responses"))
            parts.set("endpoint_type", "responses");
    }
    constexpr std::array kPaths = {std::pair{"chat", "/v1/chat/completions"},
                                   std::pair{"completions", "/v1/completions"},
                                   std::pair{"responses", "/v1/responses"}};
    for (const auto& [protocol, own] : kPaths)  // the path that the protocol has anyway
        if (path == own && parts.value("endpoint_type") == protocol) parts.take("endpoint");
    for (const char* const other : {"/embeddings", "/rerank", "/pooling", "/audio/transcriptions", "/score"})
        if (path.ends_with(other)) now.absent(fmt::format("--endpoint {}: {}", path, kText));
    for (const std::string& header : parts.take_all("headers")) {
        const auto end = header.find_first_of(":=");
        const std::string name = header.substr(0, end);
        std::string value = end == std::string::npos ? "" : header.substr(end + 1);
        value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
        parts.add("header", fmt::format("{}: {}", name, value));
    }
    const Texts adapters = parts.take_all("adapters");
    if (!adapters.empty()) {
        std::string mix;
        for (const std::string& name : adapters)
            mix += fmt::format("{}{}{}", mix.empty() ? "" : ",", name, adapters.size() > 1 ? "=1" : "");
        parts.set("model", mix);
    }
}

// ---- the load

/// Sets rates or numbers of requests in flight. Several are the levels of a sweep.
void set_levels(const Composing& now, std::string_view field, const std::vector<std::string>& values) {
    if (values.size() > 1) now.out.several = true;
    now.parts.set(field, fmt::format("{}", fmt::join(values, ",")));
}

void set_constant_rate(const Composing& now, const std::vector<std::string>& rates) {
    if (rates.size() == 1 && now.out.command != "sweep")
        return now.parts.set("arrivals", fmt::format("constant:rate={}", rates.front()));
    now.note("a sweep varies the rate of Poisson arrivals, not of requests at equal distances");
    set_levels(now, "request_rate", rates);
}

/// GuideLLM's profile (or rate type), with its rates.
void set_profile(const Composing& now, const std::string& kind, std::vector<std::string> rates) {
    Parts& parts = now.parts;
    if (kind == "synchronous") return parts.set("concurrency", "1");
    if (kind == "replay") {
        if (rates.size() == 1 && rates.front() != "1")
            return parts.set("arrivals", fmt::format("trace:scale={}", rates.front()));
        return parts.set("arrivals", "trace");
    }
    if (kind == "sweep") {
        now.out.several = true;
        const std::string count =
            rates.empty() ? "10" : text_of_number(std::floor(number("--rate", rates.front())));
        return parts.set("request_rate", "auto:" + count);
    }
    if (kind == "throughput") {
        if (!rates.empty()) return parts.set("concurrency", rates.front());
        if (parts.has("num_prompts")) return parts.set("request_rate", "inf");
        now.note("profile throughput keeps 512 requests in flight, as guidellm does");
        return parts.set("concurrency", "512");
    }
    if (rates.empty()) throw UsageError(fmt::format("profile '{}': --rate is missing", kind));
    if (kind == "concurrent") return set_levels(now, "concurrency", rates);
    if (kind == "constant" || kind == "async") return set_constant_rate(now, rates);
    if (kind == "poisson") return set_levels(now, "request_rate", rates);
    now.absent(
        fmt::format("profile {}: known are synchronous, concurrent, throughput, constant, poisson, sweep "
                    "and replay; the highest load within limits is found by `paretoken sweep --search slo "
                    "--slo ttft_p95:800`",
                    kind));
}

void compose_profile(const Composing& now) {
    Parts& parts = now.parts;
    const auto profile = parts.take("profile");
    const auto rate = parts.take("rate");
    const auto rampup = parts.take("rampup");
    if (profile) {
        const auto group = profile->find('=') != std::string::npos || profile->starts_with('{')
                               ? group_of(*profile).value_or(Group{})
                               : Group{{"kind", *profile}};
        std::vector<std::string> rates = rate ? list_of(*rate) : std::vector<std::string>{};
        for (const char* const key : {"rate", "streams", "sweep_size", "time_scale"})
            if (const auto found = group.find(key); found != group.end()) rates = list_of(found->second);
        const auto cap = group.find("max_concurrency");
        const auto kind = group.find("kind");
        set_profile(now, kind == group.end() ? "" : kind->second,
                    cap != group.end() && rates.empty() ? std::vector{cap->second} : rates);
        if (cap != group.end()) parts.set_if_absent("concurrency", cap->second);
    } else if (rate) {
        set_levels(now, "request_rate", list_of(*rate));
    } else if (now.whole(Tool::guidellm) && !parts.has("request_rate") && !parts.has("concurrency")) {
        now.note("guidellm sweeps ten rates unless a profile is given; so does --request-rate auto:10");
        set_profile(now, "sweep", {});
    }
    if (rampup) {
        if (parts.has("concurrency") && !parts.has("request_rate"))
            parts.set("ramp_up", *rampup);
        else if (number("--rampup", *rampup) > 0)
            now.absent("--rampup: in an open loop give --arrivals ramp:from=R,to=R,over=60s");
    }
}

void compose_constraints(const Composing& now) {
    Parts& parts = now.parts;
    for (const std::string& text : parts.take_all("constraint")) {
        const Group group = group_of(text).value_or(Group{});
        const auto value = [&](const char* key) {
            const auto found = group.find(key);
            return found == group.end() ? std::string() : found->second;
        };
        const std::string kind = value("kind");
        if (kind == "max_requests")
            parts.set_if_absent("num_prompts", value("count"));
        else if (kind == "max_duration")
            parts.set_if_absent("duration", value("seconds"));
        else if (kind == "max_error_rate" || kind == "max_global_error_rate")
            parts.add("error_rate", value("rate"));
        else if (kind == "over_saturation")
            now.note(
                "over-saturation ends a run by itself (--stop diverging, which is on for constant rates)");
        else
            now.absent(
                fmt::format("--constraint {}: a share of failures ends a run with --stop errors=5%", kind));
    }
    for (const std::string& rate : parts.take_all("error_rate"))
        parts.add("stop", fmt::format("errors={}%", text_of_number(100 * number("error rate", rate))));
    for (const char* const field : {"num_prompts", "duration"})
        if (const auto values = list_of(parts.value(field)); values.size() > 1) {
            parts.set(field, values.front());
            now.note(fmt::format("every level has the same end: {}, the first of the list", values.front()));
        }
    const auto warmup = parts.take("warmup");
    if (!warmup) return;
    const double amount = number("--warmup", *warmup);
    if (amount <= 0) return;
    if (amount >= 1 && !parts.has("duration"))
        parts.set("num_warmups", text_of_number(amount));
    else if (parts.has("duration"))
        parts.set(
            "warmup_duration",
            text_of_number(amount < 1 ? amount * seconds(parse_duration(parts.value("duration"))) : amount) +
                "s");
    else if (parts.has("num_prompts"))
        parts.set("num_warmups",
                  text_of_number(std::ceil(amount * number("--max-requests", parts.value("num_prompts")))));
}

/// vLLM's rate that rises from request to request. Ours rises over a time, which is as long as theirs takes.
void compose_ramp(const Composing& now) {
    Parts& parts = now.parts;
    const auto shape = parts.take("ramp_shape");
    const auto from = parts.take("ramp_from");
    const auto to = parts.take("ramp_to");
    if (!shape && !from && !to) return;
    if (!from || !to)
        throw UsageError(
            "a ramp needs both --ramp-up-start-rps and --ramp-up-end-rps (or --arrivals "
            "ramp:from=R,to=R,over=60s)");
    const double a = number("--ramp-up-start-rps", *from);
    const double b = number("--ramp-up-end-rps", *to);
    const double n = parts.has("num_prompts") ? number("--num-prompts", parts.value("num_prompts")) : 1000;
    if (!(a > 0 && b > 0)) throw UsageError("the rates of a ramp must be above 0");
    const bool exponential = shape.value_or("linear") == "exponential";
    const double steepness = std::log(b / a);
    double over = n / a;
    if (a != b) over = exponential ? n * (1 / a - 1 / b) / steepness : n * steepness / (b - a);
    parts.take("request_rate");
    parts.set("arrivals",
              fmt::format("ramp:from={},to={},over={}s,shape={}", *from, *to,
                          text_of_number(std::max(1.0, std::round(over))), shape.value_or("linear")));
    now.note("the rate rises over the time that vllm takes for all its requests");
}

void compose_load(const Composing& now) {
    Parts& parts = now.parts;
    compose_constraints(now);
    compose_profile(now);
    compose_ramp(now);
    const auto pattern = parts.take("pattern");
    const auto users = parts.take("users");
    const auto user_rate = parts.take("user_rate");
    if (user_rate) parts.set("arrivals", fmt::format("users:n={},rate={}", users.value_or("1"), *user_rate));
    if (pattern == "constant" && parts.has("request_rate")) {
        set_constant_rate(now, list_of(*parts.take("request_rate")));
    } else if (pattern && *pattern != "poisson" && *pattern != "gamma" && *pattern != "concurrency_burst" &&
               *pattern != "constant") {
        now.absent(fmt::format("--arrival-pattern {}: see --arrivals for those that are known", *pattern));
    }
    // aiperf sends at equal distances unless the pattern says otherwise; only a whole line of it means that.
    for (const char* const axis : {"concurrency", "request_rate"}) {
        const auto levels = list_of(parts.value(axis));
        if (levels.size() > 1) now.out.several = true;
    }
    if (parts.value("request_rate") == "inf" && parts.has("concurrency")) parts.take("request_rate");
    const bool has_load = parts.has("concurrency") || parts.has("request_rate") || parts.has("arrivals");
    if ((now.whole(Tool::vllm) || now.whole(Tool::sglang)) && !has_load) {
        parts.set("request_rate", "inf");
        now.note(
            fmt::format("{} sends all requests at once unless a rate or a concurrency is given; so does "
                        "--request-rate inf",
                        row_of(*now.origin.tool).title));
    }
    const auto share = parts.take("cancel_share");
    const auto after = parts.take("cancel_after");
    if (share && number("--request-cancellation-rate", *share) > 0)
        parts.set(
            "cancel",
            fmt::format("p={},after={}s", text_of_number(number("--request-cancellation-rate", *share) / 100),
                        text_of_number(number("--request-cancellation-delay", after.value_or("0")))));
}

// ---- the requests

constexpr std::string_view kPictures = "requests with images, audio or video are not sent";
constexpr std::string_view kDownload =
    "nothing is downloaded; save its rows as JSON lines with \"prompt\" and give --dataset-path FILE";
constexpr std::array kDatasets = {
    ForeignValue{"random", "synthetic"},
    ForeignValue{"random-ids", "synthetic"},
    ForeignValue{
        "sonnet", "",
        "its prompts are lines of a poem; give --dataset synthetic with --isl, --osl and --text FILE"},
    ForeignValue{"prefix_repetition", "shared_prefix"},
    ForeignValue{"generated-shared-prefix", "shared_prefix"},
    ForeignValue{"timed_trace", "mooncake"},
    ForeignValue{"mooncake-conversation", "mooncake"},
    ForeignValue{"mooncake-toolagent", "mooncake"},
    ForeignValue{"mooncake-synthetic", "mooncake"},
    ForeignValue{"mooncake_trace", "mooncake"},
    ForeignValue{"single_turn", "custom"},
    ForeignValue{"multi_turn", "",
                 "give JSON lines with \"messages\", and the same \"conversation\" for the turns of one"},
    ForeignValue{"random_pool", "", "give one file of JSON lines with --dataset custom"},
    ForeignValue{"hf", "", kDownload},
    ForeignValue{"spec_bench", "", kDownload},
    ForeignValue{"speed_bench", "", kDownload},
    ForeignValue{"mmmu", "", kPictures},
    ForeignValue{"image", "", kPictures},
    ForeignValue{"random-mm", "", kPictures},
    ForeignValue{"custom_image", "", kPictures},
    ForeignValue{"custom_audio", "", kPictures},
    ForeignValue{"custom_mm", "", kPictures},
    ForeignValue{"random-rerank", "", "only endpoints that generate text are measured"},
};

bool is_file(std::string_view text) {
    if (text.starts_with('/') || text.starts_with('.') || text.starts_with('~')) return true;
    constexpr std::array kEndings = {".json", ".jsonl", ".csv", ".txt", ".parquet"};
    return std::any_of(kEndings.begin(), kEndings.end(),
                       [&](const char* ending) { return text.ends_with(ending); });
}

/// A length inside the spec of a dataset, in which ";" stands for ",".
std::string inside_spec(std::string length) {
    std::replace(length.begin(), length.end(), ',', ';');
    return length;
}

/// A length with a spread: "800", or "normal:mean=800,stddev=80" with limits if they are given.
std::string length_of(const std::string& mean, const std::string& deviation, const std::string& least = {},
                      const std::string& most = {}) {
    const bool spread = !deviation.empty() && number("a standard deviation", deviation) > 0;
    if (!spread && !least.empty() && !most.empty()) return fmt::format("uniform:min={},max={}", least, most);
    if (!spread) return mean;
    std::string text = fmt::format("normal:mean={},stddev={}", mean, deviation);
    if (!least.empty()) text += ",min=" + least;
    if (!most.empty()) text += ",max=" + most;
    return text;
}

/// GuideLLM's synthetic data, and the file or the trace that a group names.
void set_data(const Composing& now, const Group& group) {
    Parts& parts = now.parts;
    const auto value = [&](std::string_view key) {
        const auto found = group.find(key);
        return found == group.end() ? std::string() : found->second;
    };
    const std::string kind = value("kind");
    if (kind == "synthetic_image" || kind == "synthetic_video" || kind == "synthetic_audio")
        return now.absent(fmt::format("--data kind={}: {}", kind, kPictures));
    std::string file = value("path").empty() ? value("source") : value("path");
    if (file.empty()) file = value("data_files");
    if (!file.empty()) {
        if (!is_file(file)) return now.absent(fmt::format("--data {}: {}", file, kDownload));
        if (kind == "mooncake" || kind == "trace_synthetic") parts.set_if_absent("dataset", "mooncake");
        return parts.set_if_absent("dataset_path", file);
    }
    if (value("prompt_tokens").empty())
        return now.absent(fmt::format("--data kind={}: it names no file", kind));
    const std::string isl = length_of(value("prompt_tokens"), value("prompt_tokens_stdev"),
                                      value("prompt_tokens_min"), value("prompt_tokens_max"));
    if (!value("output_tokens").empty())
        parts.set_if_absent("osl", length_of(value("output_tokens"), value("output_tokens_stdev"),
                                             value("output_tokens_min"), value("output_tokens_max")));
    const std::string turns = value("turns");
    if (!turns.empty() && turns != "1") {
        parts.set("turns", turns);
        if (!value("first_prompt_tokens").empty()) parts.set("first", value("first_prompt_tokens"));
    }
    if (!value("prefix_tokens").empty()) {
        parts.set("prefix", value("prefix_tokens"));
        if (!value("prefix_count").empty()) parts.set("prefixes", value("prefix_count"));
    }
    parts.set_if_absent("isl", isl);
}

void compose_guidellm_data(const Composing& now) {
    bool any = false;
    for (const std::string& text : now.parts.take_all("data")) {
        if (any) {
            now.absent(
                fmt::format("--data {}: a run has one dataset; further ones are classes (--class)", text));
            continue;
        }
        any = true;
        if (is_file(text) && text.find('=') == std::string::npos)
            now.parts.set_if_absent("dataset_path", text);
        else if (const auto group = group_of(text);
                 group && text.find('=') + text.find('{') != 2 * std::string::npos)
            set_data(now, *group);
        else
            now.absent(fmt::format("--data {}: {}", text, kDownload));
    }
}

/// AIPerf's "256|10,128|5:60;512,64:40" as pairs of lengths with shares.
void compose_pairs(const Composing& now) {
    const auto text = now.parts.take("pairs");
    if (!text) return;
    std::string pairs;
    bool spread = false;
    std::string rest = *text;
    std::replace(rest.begin(), rest.end(), ' ', ';');
    for (std::size_t begin = 0; begin < rest.size();) {
        const std::size_t end = std::min(rest.find(';', begin), rest.size());
        const std::string one = rest.substr(begin, end - begin);
        begin = end + 1;
        if (one.empty()) continue;
        const auto comma = one.find(',');
        const auto colon = one.find(':');
        if (comma == std::string::npos || colon == std::string::npos || colon < comma)
            throw UsageError(fmt::format("--sequence-distribution '{}': expected ISL,OSL:PERCENT;…", *text));
        const auto mean = [&](std::string length) {
            spread = spread || length.find('|') != std::string::npos;
            return length.substr(0, length.find('|'));
        };
        pairs += fmt::format("{}{}/{}={}", pairs.empty() ? "" : ";", mean(one.substr(0, comma)),
                             mean(one.substr(comma + 1, colon - comma - 1)),
                             text_of_number(number("--sequence-distribution", one.substr(colon + 1)) / 100));
    }
    now.parts.set("isl", "pairs:" + pairs);
    if (spread)
        now.note("--sequence-distribution: the pairs keep their means; their deviations are left out");
}

/// SGLang draws lengths from ratio · L to L; its ratio is 0 unless it is given.
void compose_sglang_lengths(const Composing& now, std::string_view dataset) {
    Parts& parts = now.parts;
    const auto given = parts.take("sglang_ratio");
    const bool drawn = dataset == "random" || dataset == "random-ids";
    if (!given && !(now.whole(Tool::sglang) && drawn)) return;
    const double ratio = given ? number("--random-range-ratio", *given) : 0;
    if (!(ratio >= 0 && ratio <= 1))
        throw UsageError(fmt::format("the range ratio of sglang is from 0 to 1, not {}", *given));
    const auto range = [&](const char* field) {
        const auto length = parse_spec(parts.value(field));
        if (!length.fields.empty() || ratio == 1) return;
        const double most = number(option_of(*plan_field_named(field)), length.name);
        parts.set(field,
                  fmt::format("uniform:min={},max={}",
                              text_of_number(std::max(1.0, std::floor(most * ratio))), text_of_number(most)));
    };
    range("isl");
    range("osl");
    if (ratio < 1)
        now.note(fmt::format("sglang draws each length L uniformly from {}{}",
                             ratio > 0 ? text_of_number(ratio) + " L" : "1",
                             given ? " to L" : " to L unless --random-range-ratio is given"));
}

/// vLLM's ratio may be JSON: '{"input": 0.1, "output": 0.3}'.
void compose_vllm_ratio(const Composing& now) {
    const std::string ratio = now.parts.value("range_ratio");
    if (!ratio.starts_with('{')) return;
    const Group group = group_of(ratio).value_or(Group{});
    now.parts.take("range_ratio");
    for (const auto& [key, field] : {std::pair{"input", "isl"}, std::pair{"output", "osl"}})
        if (const auto own = group.find(key); own != group.end())
            now.parts.set(field, fmt::format("{}:ratio={}", now.parts.value(field), own->second));
}

/// Prompts that begin alike: a length, and the number of different beginnings.
void compose_prefix(const Composing& now) {
    Parts& parts = now.parts;
    const auto prefix = parts.take("prefix");
    const auto prefixes = parts.take("prefixes");
    const auto suffix = parts.take("suffix");
    const auto per_prefix = parts.take("per_prefix");
    if (!prefix || *prefix == "0") return;
    std::string unique = suffix.value_or(parts.has("isl") ? parts.value("isl") : "512");
    if (const std::string ratio = parts.value("range_ratio");
        !ratio.empty() && ratio != "0" && ratio != "0.0") {
        unique += ":ratio=" + ratio;
        if (parts.has("osl")) parts.set("osl", parts.value("osl") + ":ratio=" + ratio);
    }
    parts.take("range_ratio");
    parts.take("isl");
    if (parts.has("turns")) {
        now.absent(
            "prompts that share prefixes have one turn; conversations are --dataset multi_turn:turns=N");
        parts.take("turns");
    }
    parts.set("dataset", fmt::format("shared_prefix:groups={},levels={},unique={}", prefixes.value_or("1"),
                                     *prefix, inside_spec(unique)));
    if (per_prefix && prefixes)
        parts.set("num_prompts", text_of_number(number("--gsp-num-groups", *prefixes) *
                                                number("--gsp-prompts-per-group", *per_prefix)));
}

void compose_conversations(const Composing& now) {
    Parts& parts = now.parts;
    const auto turns = parts.take("turns");
    const auto deviation = parts.take("turns_stddev");
    const auto first = parts.take("first");
    const auto sessions = parts.take("sessions");
    const auto delay = parts.take("delay");
    const auto delay_deviation = parts.take("delay_stddev");
    if (sessions && (turns || !parts.has("num_prompts"))) parts.set("num_prompts", *sessions);
    if (!turns || *turns == "1") return;
    const std::string length = inside_spec(parts.take("isl").value_or("512"));
    parts.set("dataset", fmt::format("multi_turn:turns={},first={},next={}",
                                     inside_spec(length_of(*turns, deviation.value_or(""))),
                                     first.value_or(length), length));
    if (!delay || number("a delay", *delay) <= 0) return;
    const bool spread = delay_deviation && number("a deviation", *delay_deviation) > 0;
    parts.set("think_time",
              spread ? fmt::format("normal:mean={}ms,stddev={}ms", *delay, *delay_deviation) : *delay + "ms");
}

void set_dataset(const Composing& now, const std::string& name) {
    Parts& parts = now.parts;
    const ForeignValue* const row = row_named(kDatasets, name);
    if (row == nullptr) return parts.set("dataset", name);
    if (row->ours.empty()) parts.take("dataset_path");
    if (row->ours.empty()) return now.absent(fmt::format("dataset {}: {}", name, row->why));
    if (row->ours == "shared_prefix") {
        const bool repetition = name == "prefix_repetition";
        parts.set_if_absent("prefix", repetition ? "256" : "2048");
        parts.set_if_absent("suffix", repetition ? "256" : "128");
        parts.set_if_absent("prefixes", repetition ? "10" : "64");
        parts.set_if_absent("osl", repetition ? "128" : "256");
        if (!repetition) parts.set_if_absent("per_prefix", "16");
        return;
    }
    if (row->ours == "mooncake" && !parts.has("dataset_path"))
        return now.absent(
            fmt::format("dataset {}: give the file of the trace with --dataset-path FILE", name));
    if (row->ours != "synthetic") return parts.set("dataset", std::string(row->ours));
    if (!now.origin.whole) return;
    parts.set_if_absent("isl", "1024");
    parts.set_if_absent("osl", now.is(Tool::sglang) ? "1024" : "128");
}

/// The dataset that a whole line means if it names none.
std::string usual_dataset(const Composing& now) {
    if (now.parts.has("dataset_path") || now.parts.has("data")) return {};
    if (now.whole(Tool::vllm)) return "random";
    if (!now.whole(Tool::sglang)) return {};
    return now.parts.has("isl") ? "random" : "sharegpt";
}

void compose_requests(const Composing& now) {
    Parts& parts = now.parts;
    compose_guidellm_data(now);
    if (const auto columns = parts.take("columns"))
        now.note(
            "columns of a file have the names that `paretoken dataset describe` lists (\"prompt\", "
            "\"messages\"); other names need `paretoken dataset convert`");
    const auto isl_deviation = parts.take("isl_stddev");
    const auto osl_deviation = parts.take("osl_stddev");
    if (now.whole(Tool::aiperf) && !parts.has("dataset_path") && !parts.has("pairs"))
        parts.set_if_absent("isl", "550");
    if (isl_deviation)
        parts.set("isl", length_of(parts.has("isl") ? parts.value("isl") : "550", *isl_deviation));
    if (osl_deviation && parts.has("osl")) parts.set("osl", length_of(parts.value("osl"), *osl_deviation));
    compose_pairs(now);
    std::string dataset = parts.value("dataset");
    const auto kind = parts.take("file_kind");
    if (kind) dataset = *kind;
    if (const auto name = parts.take("public_dataset"); name && !parts.has("dataset_path"))
        now.absent(fmt::format("--public-dataset {}: {}", *name, kDownload));
    if (dataset.empty()) {
        dataset = usual_dataset(now);
        if (dataset == "random" && now.is(Tool::sglang))
            now.note(
                "sglang reads ShareGPT unless --dataset-name random is given, and ignores the lengths then; "
                "the lengths are used here");
    }
    if (dataset == "sharegpt" && !parts.has("dataset_path"))
        now.absent(
            "dataset sharegpt: nothing is downloaded; give ShareGPT's file with --dataset-path FILE, or "
            "--dataset-name random");
    if (!dataset.empty()) {
        parts.take("dataset");
        set_dataset(now, dataset);
    }
    compose_sglang_lengths(now, dataset);
    compose_vllm_ratio(now);
    compose_prefix(now);
    compose_conversations(now);
    const bool replay = parts.take("replay").has_value();
    const auto scale = parts.take("time_scale");
    if (replay && !parts.has("dataset") && !kind) parts.set("dataset", "mooncake");
    if (scale && *scale != "1" && *scale != "1.0")
        parts.set("arrivals", fmt::format("trace:scale={}", *scale));
    else if (replay)
        parts.set_if_absent("arrivals", "trace");
    const auto block = parts.take("block");
    const auto unit = parts.take("time_unit");
    if (parts.value("dataset") == "mooncake") {
        std::string fields = block ? "block=" + *block : "";
        if (unit && number("--timed-trace-sec-multiplier", *unit) == 1)
            fields += fields.empty() ? "unit=s" : ",unit=s";
        if (!fields.empty()) parts.set("dataset", "mooncake:" + fields);
    }
    parts.take("entries");
    if (parts.value("num_prompts") == "-1") parts.set("num_prompts", "all");
    if ((now.whole(Tool::vllm) || now.whole(Tool::sglang)) && !parts.has("num_prompts") &&
        !parts.has("duration") && !parts.has("arrivals"))
        parts.set("num_prompts", "1000");
}

void compose_sampling(const Composing& now) {
    Parts& parts = now.parts;
    for (const char* const name : {"top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty",
                                   "repetition_penalty", "logprobs"})
        if (const auto value = parts.take(name)) set_body_field(now, name, *value);
    for (const std::string& input : parts.take_all("extra_inputs")) {
        if (input.starts_with('{')) {
            parts.set("extra_body", with_json_object(parts.value("extra_body"), input));
            continue;
        }
        const auto colon = input.find(':');
        set_body_field(now, input.substr(0, colon),
                       colon == std::string::npos ? "" : input.substr(colon + 1));
    }
    if (now.whole(Tool::vllm) && !parts.has("ignore_eos")) {
        parts.set("ignore_eos", "false");
        now.note("without --ignore-eos, vllm lets answers end early; so does --no-ignore-eos");
    }
}

// ---- the result

constexpr std::array kNamesInGoodput = {
    std::pair{"request_latency", "e2e"},
    std::pair{"time_to_first_token", "ttft"},
    std::pair{"inter_token_latency", "tpot"},
    std::pair{"output_token_throughput_per_user", "interactivity"},
};

void compose_result(const Composing& now) {
    Parts& parts = now.parts;
    const auto name = parts.take("result_name");
    const auto file = parts.take("result_file");
    for (const std::string& output : parts.take_all("outputs")) {
        const Group group = group_of(output).value_or(Group{});
        if (const auto path = group.find("path"); path != group.end() && !parts.has("out"))
            parts.set("out", std::filesystem::path(path->second).replace_extension());
    }
    if (file && !parts.has("out"))
        parts.set("out", std::filesystem::path(*file).has_extension()
                             ? std::filesystem::path(*file).replace_extension().string()
                             : *file);
    if (name) {
        const std::string stem = std::filesystem::path(*name).replace_extension();
        parts.set("out", (std::filesystem::path(parts.value("out")) / stem).string());
    }
    if (const std::string out = parts.value("out"); out == "." || out == "./") {
        parts.take("out");
        now.note("each result has a directory of its own; without --out it is runs/TIME");
    }
    if (const auto label = parts.take("label")) parts.add("metadata", "label=" + *label);
    Texts slos = parts.take_all("aiperf_goodput");
    for (const std::string& text : slos)
        for (std::string slo : slo_texts_in(text)) {
            for (const auto& [theirs, ours] : kNamesInGoodput)
                if (slo.starts_with(fmt::format("{}:", theirs)))
                    slo.replace(0, std::string_view(theirs).size(), ours);
            parts.add("goodput", slo);
        }
    if (const auto seed = group_of(parts.value("seed")); seed && seed->contains("value"))
        parts.set("seed", seed->find("value")->second);
}

}  // namespace

std::optional<std::string> Parts::take(std::string_view name) {
    const auto found = texts.find(name);
    if (found == texts.end() || found->second.empty()) return std::nullopt;
    std::string last = std::move(found->second.back());
    texts.erase(found);
    return last;
}

Texts Parts::take_all(std::string_view name) {
    const auto found = texts.find(name);
    if (found == texts.end()) return {};
    Texts all = std::move(found->second);
    texts.erase(found);
    return all;
}

std::string Parts::value(std::string_view name) const {
    const auto found = texts.find(name);
    return found == texts.end() || found->second.empty() ? std::string() : found->second.back();
}

void Parts::set(std::string_view name, std::string value) {
    texts[std::string(name)] = {std::move(value)};
}

void Parts::set_if_absent(std::string_view name, std::string value) {
    if (!has(name)) set(name, std::move(value));
}

void Parts::add(std::string_view name, std::string value) {
    texts[std::string(name)].push_back(std::move(value));
}

void compose(Parts& parts, const Origin& origin, Translation& translation) {
    const Composing now{parts, origin, translation};
    compose_server(now);
    compose_requests(now);
    compose_load(now);
    compose_sampling(now);
    compose_result(now);
    for (const PlanField& field : plan_fields()) {
        const std::string value = field.type == FieldType::duration ? parts.value(field.name) : "";
        if (!value.empty() && std::isdigit(static_cast<unsigned char>(value.back())) != 0)
            parts.set(field.name, value + "s");
    }
    if (translation.several) translation.command = "sweep";
}

bool is_foreign_value(std::string_view part, std::string_view value) {
    if (part == "backend") return row_named(kBackends, value) != nullptr;
    if (part == "dataset") return row_named(kDatasets, value) != nullptr && value != "multi_turn";
    return true;
}

}  // namespace paretoken::cli
