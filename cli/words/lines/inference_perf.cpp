// The load of inference-perf, whose options are the fields of its configuration: --load.stages '[{"rate":
// 1}]'.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "cli/words/reading.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

Group fields_of(const std::vector<std::string>& words) {
    Group fields;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with("--"))
            throw UsageError(
                fmt::format("inference-perf: '{}' is no option; expected --load.stages JSON", words[i]));
        const std::string name = words[i].substr(2, words[i].find('=') - 2);
        const std::string value = value_after(words, i);
        if (words[i].find('=') == std::string::npos) ++i;
        if (value == "null") continue;
        const auto inner = value.starts_with('{') ? group_of(value) : std::nullopt;
        if (!inner) fields[name] = value;
        if (inner)
            for (const auto& [key, text] : *inner) fields[name + "." + key] = text;
    }
    return fields;
}

/// A length from "data.input_distribution"; empty if it is not given.
std::string distribution(Fields& fields, const std::string& prefix) {
    const std::string type = fields.value(prefix + ".type");
    const std::string mean = fields.value(prefix + ".mean");
    const std::string least = fields.value(prefix + ".min");
    const std::string most = fields.value(prefix + ".max");
    const std::string deviation = fields.value(prefix + ".std_dev");
    for (const char* const other : {".total_count", ".variance", ".skew"}) (void)fields.value(prefix + other);
    if (mean.empty()) return least.empty() || most.empty() ? "" : length_of("", "", least, most);
    if (least == most && !least.empty()) return least;
    return type == "fixed" ? mean : length_of(mean, type == "uniform" ? "" : deviation, least, most);
}

/// The stages, one for each level.
void set_stages(const Composing& now, const std::string& text, const std::string& type) {
    const auto stages = nlohmann::json::parse(text, nullptr, false);
    if (!stages.is_array())
        return now.absent(fmt::format("load.stages '{}': expected a list of stages", text));
    std::vector<std::string> rates;
    std::vector<std::string> slots;
    Texts counts;
    Texts durations;
    for (const auto& stage : stages) {
        const auto text_at = [&](const char* key) {
            const bool there = stage.is_object() && stage.contains(key) && stage[key].is_number();
            return there ? text_of_number(stage[key].get<double>()) : std::string();
        };
        const auto add = [](std::vector<std::string>& list, std::string value) {
            if (!value.empty()) list.push_back(std::move(value));
        };
        add(rates, text_at("rate"));
        add(slots, text_at("concurrency_level"));
        add(counts, text_at("num_requests"));
        add(durations, text_at("duration"));
    }
    if (!slots.empty())
        set_levels(now, "concurrency", slots);
    else if (!rates.empty())
        set_levels(now, "request_rate", rates);
    if (type == "constant" && slots.empty()) now.parts.set("pattern", "constant");
    if (!durations.empty() && slots.empty()) now.parts.set("duration", durations.front() + "s");
    if (!counts.empty()) now.parts.set("num_prompts", counts.front());
    const auto differ = [](const Texts& texts) {
        return std::ranges::adjacent_find(texts, std::not_equal_to<>()) != texts.end();
    };
    if (differ(durations))
        now.note(fmt::format("every level lasts {} s, as the first stage does", durations.front()));
    if (differ(counts))
        now.note(fmt::format("every level sends {} requests, as the first stage does", counts.front()));
}

/// A trace that gives the lengths, and with load.type trace_replay the times too.
void set_trace(const Composing& now, Fields& fields, bool replays) {
    for (const char* const of : {"load.trace.", "data.trace."}) {
        const std::string file = fields.value(std::string(of) + "file");
        const std::string format = fields.value(std::string(of) + "format");
        if (file.empty()) continue;
        now.parts.set("dataset_path", file);
        if (format == "AzurePublicDataset")
            now.parts.set("dataset", "azure");
        else
            now.absent(
                fmt::format("{}format {}: `paretoken dataset convert` reads other traces", of, format));
    }
    if (replays && now.parts.has("dataset_path")) now.parts.set("arrivals", "trace");
}

void set_data_of(const Composing& now, Fields& fields) {
    Parts& parts = now.parts;
    const std::string type = fields.value("data.type");
    if (const std::string path = fields.value("data.path"); !path.empty()) parts.set("dataset_path", path);
    const std::string isl = distribution(fields, "data.input_distribution");
    const std::string osl = distribution(fields, "data.output_distribution");
    const auto either = [&](const char* name, const char* before) {
        const std::string value = fields.value(std::string("data.shared_prefix.") + name);
        return value.empty() ? fields.value(std::string("data.shared_prefix.") + before) : value;
    };
    if (type == "shared_prefix") {
        parts.set("prefixes", either("num_unique_system_prompts", "num_groups"));
        parts.set("prefix", fields.value("data.shared_prefix.system_prompt_len"));
        parts.set("suffix", fields.value("data.shared_prefix.question_len"));
        parts.set("osl", fields.value("data.shared_prefix.output_len"));
        (void)either("num_users_per_system_prompt", "num_prompts_per_group");
    } else if (type == "shareGPT") {
        parts.set("dataset", "sharegpt");
    } else if (type == "random" || type == "synthetic" || type == "mock" || type.empty()) {
        if (!isl.empty()) parts.set("isl", isl);
        if (!osl.empty()) parts.set("osl", osl);
    } else {
        now.absent(fmt::format("data.type {}: give a file with --dataset-path FILE", type));
    }
}

void set_server_of(const Composing& now, Fields& fields) {
    Parts& parts = now.parts;
    for (const auto& [key, part] :
         {std::pair{"server.base_url", "url"}, std::pair{"server.model_name", "model"},
          std::pair{"server.api_key", "api_key"}, std::pair{"server.ignore_eos", "ignore_eos"},
          std::pair{"load.base_seed", "seed"}, std::pair{"load.request_timeout", "timeout"},
          std::pair{"storage.local_storage.path", "out"}})
        if (const std::string value = fields.value(key); !value.empty()) parts.set(part, value);
    if (const std::string url = parts.value("url"); url.find("0.0.0.0") != std::string::npos) {
        std::string reachable = url;
        parts.set("url", reachable.replace(url.find("0.0.0.0"), 7, "127.0.0.1"));
    }
    const std::string api = fields.value("api.type");
    parts.set("endpoint_type", api == "chat" ? "chat" : "completions");
    if (fields.value("api.streaming") != "true") now.note(std::string(kStreams));
}

/// Whether a field says nothing of the load.
bool is_of_records(const std::string& key) {
    constexpr std::array kPrefixes = {"report.",
                                      "metrics",
                                      "tokenizer.",
                                      "storage.",
                                      "api.slo",
                                      "server.type",
                                      "load.interval",
                                      "load.num_workers",
                                      "load.worker_max",
                                      "load.request_ret",
                                      "load.stage_teardown",
                                      "api.session",
                                      "api.response_format",
                                      "data.use_chat_template"};
    return std::ranges::any_of(kPrefixes, [&](const char* prefix) { return key.starts_with(prefix); });
}

}  // namespace

Translation translated_inference_perf(const std::vector<std::string>& words) {
    if (std::ranges::any_of(
            words, [](const std::string& word) { return word == "-c" || name_in(word) == "--config-file"; }))
        throw UsageError(
            "inference-perf: its configuration file cannot be read; give its options instead, as in "
            "--load.stages '[{\"rate\": 1, \"duration\": 30}]'");
    Translation out{.command = "run"};
    Parts parts;
    const Origin origin{.tool = Tool::inference_perf, .whole = true};
    const Composing now{parts, origin, out};
    Fields fields(fields_of(words));
    set_server_of(now, fields);
    set_data_of(now, fields);
    const std::string type = fields.value("load.type");
    set_trace(now, fields, type == "trace_replay");
    if (const std::string stages = fields.value("load.stages"); !stages.empty())
        set_stages(now, stages, type);
    if (const std::string count = fields.value("load.sweep.num_stages"); !count.empty()) {
        parts.set("request_rate", "auto:" + count);
        out.several = true;
    }
    if (const std::string time = fields.value("load.sweep.stage_duration"); !time.empty())
        parts.set("duration", time + "s");
    for (const std::string& key : fields.unread()) {
        const std::string value = fields.value(key);
        if (key.starts_with("api.headers."))
            parts.add("header", fmt::format("{}: {}", key.substr(12), value));
        else if (key.starts_with("load.sweep."))
            now.note(fmt::format("{} {} is left out: the rates of the levels are chosen here", key, value));
        else if (is_of_records(key) || value.empty())
            out.unneeded.push_back("--" + key.substr(0, key.find('.', key.find('.') + 1)));
        else if (key == "load.lora_traffic_split")
            now.absent("load.lora_traffic_split: adapters are drawn by their shares: --model A=.5,B=.5");
        else
            now.absent(fmt::format("{}: it has no counterpart", key));
    }
    return composed(std::move(parts), origin, std::move(out));
}

}  // namespace paretoken::cli
