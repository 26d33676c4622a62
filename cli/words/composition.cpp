#include "cli/words/composition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "core/error.h"
#include "core/result/slo.h"
#include "core/spec.h"

namespace paretoken::cli {
namespace {

/// Whether a whole line of a tool lets answers end before the length that it asks for.
bool ends_early(const Composing& now) {
    if (!now.origin.tool || !now.origin.whole || now.parts.has("ignore_eos")) return false;
    switch (*now.origin.tool) {
        case Tool::vllm:  // its random prompts get answers of the asked length
            return now.origin.form == Form::old_vllm ||
                   (now.origin.form == Form::usual && !now.out.has_random_prompts);
        case Tool::aiperf:
        case Tool::genai_bench:  // where it does not ask for the whole length
        case Tool::llmperf:
        case Tool::evalscope:
        case Tool::perf_analyzer:
            return true;
        case Tool::sglang:
        case Tool::guidellm:
        case Tool::inference_benchmarker:
        case Tool::inference_perf:
            return false;
    }
    return false;
}

void compose_sampling(const Composing& now) {
    Parts& parts = now.parts;
    for (const char* const name : {"top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty",
                                   "repetition_penalty", "logprobs", "n"})
        if (const auto value = parts.take(name)) set_body_field(now, name, *value);
    for (const std::string& input : parts.take_all("extra_inputs")) {
        if (input.starts_with('{')) {
            for (const auto& [name, value] : fields_of(input)) set_body_field(now, name, value);
            continue;
        }
        const auto colon = input.find(':');
        set_body_field(now, input.substr(0, colon),
                       colon == std::string::npos ? "" : input.substr(colon + 1));
    }
    if (const auto kwargs = parts.take("template_kwargs"))
        parts.set("extra_body", with_json_field(parts.value("extra_body"), "chat_template_kwargs", *kwargs));
    if (parts.take("exact_lengths")) parts.set("ignore_eos", "true");
    if (parts.take("end_early")) parts.set("ignore_eos", "false");
    if (parts.take("reuse") == "never") parts.set("no_keepalive", "true");
    if (ends_early(now)) {
        parts.set("ignore_eos", "false");
        now.note(fmt::format("answers may end early with {}; so they may with --no-ignore-eos",
                             row_of(*now.origin.tool).title));
    }
    constexpr std::array kGreedy = {Tool::sglang, Tool::genai_bench, Tool::evalscope};
    const bool is_greedy = std::ranges::any_of(kGreedy, [&](Tool tool) { return now.whole(tool); });
    const bool is_old = now.origin.form == Form::old_vllm || now.origin.form == Form::inferencex;
    if (is_greedy || is_old) parts.set_if_absent("temperature", "0");
    const bool is_trace = parts.value("dataset").starts_with("mooncake");  // which has no further requests
    if (now.whole(Tool::sglang) && !now.origin.starts_server() && !is_trace)
        parts.set_if_absent("num_warmups", "1");
}

/// What a line says of the way in which results are kept.
void compose_records(const Composing& now) {
    Parts& parts = now.parts;
    if (parts.take("otel")) {
        now.option("--push", "otlp");
        now.note("the address of the collector belongs into the variable OTEL_EXPORTER_OTLP_ENDPOINT");
    }
    if (!parts.take_all("trackers").empty())
        now.note(
            "results are not sent to MLflow or W&B by themselves; `paretoken export` writes files for them");
    if (!parts.take_all("network_latency").empty())
        now.note("the round trip of the network is part of the times, and nothing is subtracted from them");
    if (!parts.take_all("warmup_load").empty())
        now.note("warm-ups are sent as the measured requests are; their number is --num-warmups");
    if (!parts.take_all("agent_warmup_time").empty())
        now.note("with --start-inside, one primer turn of each agent warms the cache");
    if (!parts.take_all("prefill_ramp").empty())
        now.note("the largest number of prefills does not rise; --ramp-up lets the load rise");
    const bool has_groups = parts.value("dataset").starts_with("shared_prefix");
    if (parts.take("ordered")) {
        if (has_groups)
            now.note("the order is left out: requests with shared prefixes come in a random order");
        else
            now.out.unneeded.emplace_back("the order of the rows");
    }
    if (parts.take("routing_key"))
        now.note(
            "the key of the router is left out: requests with shared prefixes do not say which they have");
    if (const auto samples = parts.take("samples"); samples && *samples != "-1")
        now.note(fmt::format(
            "--data-samples {} is left out: rows are sent in turn, and made prompts are all different",
            *samples));
    if (parts.take("corpus")) now.note("prompts are random words, unless --text FILE gives a text");
}

constexpr std::array kNamesInGoodput = {
    std::pair{"request_latency", "e2e"},
    std::pair{"time_to_first_token", "ttft"},
    std::pair{"inter_token_latency", "tpot"},
    std::pair{"output_token_throughput_per_user", "interactivity"},
};

/// Returns a path without the ending of a file of results. What a shell is to replace stays whole.
std::string without_ending(std::string path) {
    constexpr std::array<std::string_view, 7> kEndings = {".jsonl", ".json", ".csv", ".html",
                                                          ".yaml",  ".yml",  ".txt"};
    const auto* const ending =
        std::ranges::find_if(kEndings, [&](std::string_view one) { return path.ends_with(one); });
    if (ending != kEndings.end() && path.size() > ending->size()) path.resize(path.size() - ending->size());
    return path;
}

void compose_result(const Composing& now) {
    Parts& parts = now.parts;
    const auto name = parts.take("result_name");
    const auto file = parts.take("result_file");
    for (std::string& output : parts.take_all("outputs")) {
        Group group = group_of(output).value_or(Group{});
        // "html,benchmark.json": formats of one result
        const Texts formats = group.empty() ? list_of(output) : Texts();
        if (const auto path = std::ranges::find_if(formats, is_file); path != formats.end()) output = *path;
        constexpr std::array kFormats = {"json", "yaml", "csv", "html", "console", "plot"};
        const bool is_format = std::ranges::any_of(formats, [&](const std::string& format) {
            return std::ranges::find(kFormats, format) != kFormats.end();
        });
        if (!file && group.empty() && !is_format) group.emplace("path", output);
        if (const auto path = group.find("path"); path != group.end() && !parts.has("out"))
            parts.set("out", without_ending(path->second));
    }
    if (file && !parts.has("out")) parts.set("out", without_ending(*file));
    if (name) parts.set("out", (std::filesystem::path(parts.value("out")) / without_ending(*name)).string());
    if (const std::string out = parts.value("out"); out == "." || out == "./" || out == "/dev/null") {
        parts.take("out");
        now.note("each result has a directory of its own; without --out it is runs/TIME");
    }
    if (const auto label = parts.take("label")) parts.add("metadata", "label=" + *label);
    Fields metrics(group_of(parts.take("metrics").value_or("")).value_or(Group{}));
    for (const auto& [key, metric] : {std::pair{"slo.ttft_ms", "ttft"}, std::pair{"slo.tpot_ms", "tpot"},
                                      std::pair{"slo.e2el_ms", "e2e"}})
        if (const std::string limit = metrics.value(key); !limit.empty())
            parts.add("goodput", fmt::format("{}:{}", metric, limit));
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

/// Names the given parts that became nothing, so that none is lost without a word.
void name_leftovers(const Composing& now) {
    for (const auto& [part, texts] : now.parts.texts) {
        if (part == "api_key" || plan_field_named(part) != nullptr) continue;
        const auto options = foreign_options();
        const auto of_tool = [&, name = part](const ForeignOption& one) {
            return one.about == name && (!now.origin.tool || has_tool(one.tools, *now.origin.tool));
        };
        auto option = std::ranges::find_if(options, of_tool);
        if (option == options.end()) option = std::ranges::find(options, part, &ForeignOption::about);
        const std::string_view names = option == options.end() ? std::string_view(part) : option->names;
        now.absent(fmt::format("{} {}: it has no effect here", names.substr(0, names.find(' ')),
                               fmt::join(texts, " ")));
    }
}

}  // namespace

const ForeignValue* row_named(std::span<const ForeignValue> rows, std::string_view name) {
    const auto found = std::ranges::find(rows, name, &ForeignValue::name);
    return found == rows.end() ? nullptr : &*found;
}

bool is_place(std::string_view text) {
    return (text.starts_with('<') && !text.starts_with("<|") && !text.starts_with("</")) ||
           text.starts_with("{{");
}

bool is_to_fill_in(std::string_view text) {
    return has_shell_variable(text) || is_place(text);
}

double number(std::string_view option, const std::string& text) {
    if (is_to_fill_in(text)) throw UsageError(fmt::format("{} {}: {}", option, text, kValueNeeded));
    return naming(std::string(option), [&] { return parse_number(text); });
}

std::string text_of_number(double value) {
    return fmt::format("{:.10g}", value);
}

std::string with_scheme(const std::string& url) {
    const bool has_scheme =
        names_server(url) || url.starts_with('$') || url.starts_with('{');  // it may hold one
    return has_scheme ? url : "http://" + url;
}

std::string Fields::value(std::string_view key) {
    read_.emplace(key);
    const auto found = group_.find(key);
    return found == group_.end() ? std::string() : found->second;
}

std::vector<std::string> Fields::unread() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : group_)
        if (!read_.contains(key)) names.push_back(key);
    return names;
}

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

Texts Parts::take_list(std::string_view name) {
    Texts list;
    for (const std::string& text : take_all(name))
        for (std::string& one : list_of(text)) list.push_back(std::move(one));
    return list;
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
    compose_other_tools(now);
    compose_server(now);
    compose_result(now);  // its limits may be those of a search
    compose_ends(now);
    compose_requests(now);
    compose_load(now);
    compose_sampling(now);
    compose_records(now);
    for (const PlanField& field : plan_fields()) {
        const bool is_time = field.type == FieldType::duration || field.name == "ramp_up";
        const std::string value = is_time ? parts.value(field.name) : "";
        if (!value.empty() && std::isdigit(static_cast<unsigned char>(value.back())) != 0)
            parts.set(field.name, value + "s");
    }
    name_leftovers(now);
    if (translation.several) translation.command = "sweep";
}

bool is_foreign_value(std::string_view part, std::string_view value) {
    if (part == "backend") return backend_named(value) != nullptr;
    if (part == "dataset") return dataset_named(value) != nullptr;
    return true;
}

}  // namespace paretoken::cli
