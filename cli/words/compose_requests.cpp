#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "core/error.h"
#include "core/spec.h"
#include "datasets/catalog.h"

namespace paretoken::cli {
namespace {

constexpr std::array kDatasets = {
    ForeignValue{"random", "synthetic"},
    ForeignValue{"random-ids", "synthetic"},
    ForeignValue{"sonnet", "text"},
    ForeignValue{"txt-slices", "text"},
    ForeignValue{"prefix_repetition", "shared_prefix"},
    ForeignValue{"generated-shared-prefix", "shared_prefix"},
    ForeignValue{"timed_trace", "mooncake"},
    ForeignValue{"mooncake", "mooncake"},
    ForeignValue{"mooncake-conversation", "mooncake"},
    ForeignValue{"mooncake-toolagent", "mooncake"},
    ForeignValue{"mooncake-synthetic", "mooncake"},
    ForeignValue{"mooncake_trace", "mooncake"},
    ForeignValue{"single_turn", "custom"},
    ForeignValue{"random_pool", "custom", "the rows of the file are sent in their order"},
    ForeignValue{"openai", "custom"},
    ForeignValue{"raw_payload", "custom",
                 "of each body, the messages, the model and the limit on tokens are sent"},
    ForeignValue{"inputs_json", "custom"},
    ForeignValue{"bailian_trace", "mooncake:block=16,unit=s",
                 "each request of a chat is sent at its time, whether or not the one before it has ended"},
    ForeignValue{"burst_gpt_trace", "burstgpt"},
    ForeignValue{"baseten_trace", "", "files in Parquet's format are not read"},
    ForeignValue{"weka_trace", "weka"},
    ForeignValue{"hf", "hub"},
    ForeignValue{"spec_bench", "custom"},
    ForeignValue{"speed_bench", "hub"},
    ForeignValue{"longbench_v2", "hub"},
    ForeignValue{"agentic-trace", "hub"},
    ForeignValue{"speed-bench", "hub"},
    ForeignValue{"mmmu", "", kPictures},
    ForeignValue{"image", "", kPictures},
    ForeignValue{"random-mm", "", kPictures},
    ForeignValue{"custom_image", "", kPictures},
    ForeignValue{"custom_audio", "", kPictures},
    ForeignValue{"custom_mm", "", kPictures},
    ForeignValue{"random-rerank", "", "only endpoints that generate text are measured"},
};

}  // namespace

bool is_file(std::string_view text) {
    if (text.starts_with('/') || text.starts_with('.') || text.starts_with('~')) return true;
    constexpr std::array kEndings = {".json", ".jsonl", ".csv", ".txt", ".parquet"};
    return std::ranges::any_of(kEndings, [&](const char* ending) { return text.ends_with(ending); });
}

namespace {

/// A length inside the spec of a dataset, in which ";" stands for ",".
std::string inside_spec(std::string length) {
    std::ranges::replace(length, ',', ';');
    return length;
}

/// The number in a text; 0 if it is none.
double number_or_0(const std::string& text) {
    return is_whole_number(text) ? parse_number(text) : 0;
}

}  // namespace

std::string length_of(const std::string& mean, const std::string& deviation, const std::string& least,
                      const std::string& most) {
    const bool spread = !deviation.empty() &&
                        (has_shell_variable(deviation) || number("a standard deviation", deviation) > 0);
    if (!spread && !least.empty() && !most.empty()) return fmt::format("uniform:min={},max={}", least, most);
    if (!spread) return mean;
    std::string text = fmt::format("normal:mean={},stddev={}", mean, deviation);
    if (!least.empty()) text += ",min=" + least;
    if (!most.empty()) text += ",max=" + most;
    return text;
}

namespace {

/// {"pairs": [{"isl": 256, "osl": 128, "prob": 40}]} as "256,128:40;".
std::string pairs_in_json(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("pairs") || !json["pairs"].is_array()) return text;
    std::string pairs;
    for (const auto& pair : json["pairs"]) {
        const auto number_at = [&](const char* key) {
            const bool there = pair.is_object() && pair.contains(key) && pair[key].is_number();
            return there ? text_of_number(pair[key].get<double>()) : "";
        };
        pairs += fmt::format("{},{}:{};", number_at("isl"), number_at("osl"), number_at("prob"));
    }
    return pairs;
}

/// AIPerf's "256|10,128|5:60;512,64:40" or "[(256,128):60,(512,64):40]" as pairs of lengths with shares.
void compose_pairs(const Composing& now) {
    const auto text = now.parts.take("pairs");
    if (!text) return;
    std::string pairs;
    bool spread = false;
    std::string rest = text->starts_with('{') ? pairs_in_json(*text) : *text;
    std::erase_if(rest, [](char c) { return std::string_view("()[]").find(c) != std::string_view::npos; });
    for (std::size_t begin = 0; begin < rest.size();) {
        const auto comma = rest.find(',', begin);
        const auto colon = rest.find(':', begin);
        if (comma == std::string::npos || colon == std::string::npos || colon < comma)
            throw UsageError(fmt::format("--sequence-distribution '{}': expected ISL,OSL:PERCENT;…", *text));
        const std::size_t end = std::min(rest.find_first_of(",; ", colon), rest.size());
        const auto mean = [&](std::string length) {
            spread = spread || length.find('|') != std::string::npos;
            std::erase(length, ' ');
            return length.substr(0, length.find('|'));
        };
        const double share = number("--sequence-distribution", rest.substr(colon + 1, end - colon - 1)) / 100;
        pairs += fmt::format("{}{}/{}={}", pairs.empty() ? "" : ";", mean(rest.substr(begin, comma - begin)),
                             mean(rest.substr(comma + 1, colon - comma - 1)), text_of_number(share));
        begin = std::min(rest.find_first_not_of(",; ", end), rest.size());
    }
    now.parts.set("isl", "pairs:" + pairs);
    if (spread)
        now.note("--sequence-distribution: the pairs keep their means; their deviations are left out");
}

/// InferenceX draws lengths as SGLang does, although its program is a copy of vLLM's.
void take_ratio_of_inferencex(Parts& parts) {
    if (const auto ratio = parts.take("range_ratio")) parts.set("sglang_ratio", *ratio);
}

/// What InferenceX's run_benchmark_serving sets by itself.
void set_inferencex(const Composing& now) {
    Parts& parts = now.parts;
    parts.set("dataset", "random");
    parts.set("ignore_eos", "true");
    take_ratio_of_inferencex(parts);
    if (const std::string slots = parts.value("concurrency"); !slots.empty())
        parts.set_if_absent("num_warmups", has_shell_variable(slots)
                                               ? fmt::format("$((2 * {}))", slots)  // the shell computes it
                                               : text_of_number(2 * number("--max-concurrency", slots)));
}

/// SGLang draws lengths from ratio · L to L; its ratio is 0 unless it is given.
void compose_sglang_lengths(const Composing& now, std::string_view dataset) {
    Parts& parts = now.parts;
    const auto given = parts.take("sglang_ratio");
    const bool drawn =
        (dataset == "random" || dataset == "random-ids") && now.origin.form != Form::sglang_static;
    if (!given && !(now.whole(Tool::sglang) && drawn)) return;
    const double ratio = given ? number("--random-range-ratio", *given) : 0;
    if (!(ratio >= 0 && ratio <= 1))
        throw UsageError(fmt::format("the range ratio is from 0 to 1 there, not {}", *given));
    const auto range = [&](const char* field, const char* option) {
        if (ratio == 1 || !parts.has(field)) return;
        const auto length = parse_spec(parts.value(field));
        if (!length.fields.empty()) return;
        std::string least = "1";
        if (has_shell_variable(length.name) && ratio > 0)  // the shell computes it
            least = fmt::format("$(({} * {} / 1000))", length.name, std::round(1000 * ratio));
        else if (ratio > 0)
            least = text_of_number(std::max(1.0, std::floor(number(option, length.name) * ratio)));
        parts.set(field, fmt::format("uniform:min={},max={}", least, length.name));
    };
    range("isl", "--isl");
    range("osl", "--osl");
    range("suffix", "--gsp-question-len");
    if (ratio < 1)
        now.note(fmt::format("{} draws each length L uniformly from {}{}",
                             now.is(Tool::sglang) ? "sglang" : "the other tool",
                             ratio > 0 ? text_of_number(ratio) + " L" : "1",
                             given ? " to L" : " to L unless --random-range-ratio is given"));
}

/// vLLM's ratio may be JSON: '{"input": 0.1, "output": 0.3}'.
void compose_vllm_ratio(const Composing& now) {
    const std::string ratio = now.parts.value("range_ratio");
    // The lower end of lengths, as of sglang and of the first versions: all have the same length.
    if (now.is(Tool::vllm) && (ratio == "1" || ratio == "1.0")) now.parts.take("range_ratio");
    const bool is_spread = ratio.find_first_of("123456789") != std::string::npos && ratio != "1" &&
                           ratio != "1.0" && !ratio.starts_with('{');
    if (now.origin.form == Form::old_vllm && is_spread)
        now.note(
            fmt::format("a benchmark_serving.py from before vLLM 0.8.4, and copies of it, draw each length L "
                        "from {0} L to L, which is --isl uniform:min=…,max=L here; --range-ratio {0} means "
                        "from (1 - {0}) L to (1 + {0}) L, as in later ones",
                        ratio));
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
    const auto draw = parts.take("prefix_draw");
    const auto zipf = parts.take("zipf");
    if (per_prefix && prefixes && now.is(Tool::sglang) && parts.has("num_prompts"))
        now.out.unneeded.emplace_back(
            "--num-prompts (it has no effect there: groups times prompts are sent)");
    if (per_prefix && prefixes && (now.is(Tool::sglang) || !parts.has("num_prompts")))
        parts.set("num_prompts",
                  has_shell_variable(*prefixes + *per_prefix)
                      ? fmt::format("$(({} * {}))", *prefixes, *per_prefix)  // the shell computes it
                      : text_of_number(number("--gsp-num-groups", *prefixes) *
                                       number("--gsp-prompts-per-group", *per_prefix)));
    if (!prefix) return;
    if (parts.has("dataset_path"))
        return now.absent(
            fmt::format("a shared prefix of {} tokens: the prompts of a file are sent as they are", *prefix));
    if (*prefix == "0") {
        if (suffix) parts.set("isl", *suffix);
        return;
    }
    std::string unique = suffix.value_or(parts.has("isl") ? parts.value("isl") : "512");
    if (const std::string ratio = parts.value("range_ratio");
        !ratio.empty() && ratio != "0" && ratio != "0.0") {
        unique += ":ratio=" + ratio;
        if (parts.has("osl")) parts.set("osl", parts.value("osl") + ":ratio=" + ratio);
    }
    parts.take("range_ratio");
    parts.take("isl");
    if (parts.has("turns") && parts.value("turns") != "1") {
        parts.set("prefix", *prefix);
        parts.set("isl", unique);
        if (prefixes && *prefixes != "1")
            now.note(fmt::format("all conversations begin with one prefix, not with one of {}", *prefixes));
        return;
    }
    parts.set("dataset",
              fmt::format("shared_prefix:groups={},levels={},unique={}{}", prefixes.value_or("1"), *prefix,
                          inside_spec(unique), draw == "zipf" ? ",zipf=" + zipf.value_or("1.5") : ""));
}

void compose_conversations(const Composing& now) {
    Parts& parts = now.parts;
    const auto turns = parts.take("turns");
    const auto deviation = parts.take("turns_stddev");
    auto first = parts.take("first");
    const auto context = parts.take("context");
    const auto sessions = parts.take("sessions");
    const auto delay = parts.take("delay");
    const auto delay_deviation = parts.take("delay_stddev");
    const auto ratio = parts.take("delay_ratio");
    const auto prefix = parts.take("prefix");
    if (sessions && (turns || !parts.has("num_prompts"))) parts.set("num_prompts", *sessions);
    if ((!turns || *turns == "1") && context && parts.has("isl"))
        parts.set("isl", text_of_number(number("--user-context-prompt-length", *context) +
                                        number_or_0(parts.value("isl"))));
    if (!turns || *turns == "1") return;
    if (!sessions && parts.has("num_prompts") && !now.is(Tool::sglang)) {
        const double requests = number("--num-prompts", parts.value("num_prompts"));
        parts.set("num_prompts", text_of_number(std::ceil(requests / number("a number of turns", *turns))));
        now.note(fmt::format("{} requests are {} conversations of {} turns", requests,
                             parts.value("num_prompts"), *turns));
    }
    if (!now.is(Tool::sglang) && !now.is(Tool::evalscope)) parts.set("turns_of_each", *turns);
    const std::string length = inside_spec(parts.take("isl").value_or("512"));
    if (context)  // what a user says first, which no other user says
        first = text_of_number(number("--user-context-prompt-length", *context) + number_or_0(length));
    const std::string turns_of_one = inside_spec(length_of(*turns, deviation.value_or("")));
    std::string pause;
    if (delay && number("a delay", *delay) > 0) {
        const double scale = ratio ? number("the ratio of delays", *ratio) : 1;
        const bool spread = delay_deviation && number("a deviation", *delay_deviation) > 0;
        const auto scaled = [&](const std::string& ms) {
            return text_of_number(scale * number("a delay", ms)) + "ms";
        };
        pause = spread ? fmt::format("normal:mean={},stddev={}", scaled(*delay), scaled(*delay_deviation))
                       : scaled(*delay);
    }
    if (!pause.empty()) parts.set("think_time", pause);
    if (prefix)  // jobs of one agent, whose jobs all begin alike
        return parts.set("dataset", fmt::format("agents:jobs={},turns={},fanout=0,prefix={},first={},next={},"
                                                "osl={},tool=0s",
                                                parts.has("num_prompts") ? parts.value("num_prompts") : "100",
                                                turns_of_one, *prefix, first.value_or(length), length,
                                                inside_spec(parts.take("osl").value_or("128"))));
    parts.set("dataset", fmt::format("multi_turn:turns={},first={},next={}", turns_of_one,
                                     first.value_or(length), length));
}

/// Prompts that are cut from a text file, of which all begin alike.
void set_text_dataset(const Composing& now, bool is_poem) {
    Parts& parts = now.parts;
    if (const auto file = parts.take("dataset_path")) parts.set("text", *file);
    if (!is_poem) {
        parts.set_if_absent("isl", "1024");
        return parts.set_if_absent("osl", "128");
    }
    const std::string shared = parts.take("sonnet_prefix").value_or("200");
    const std::string whole = parts.take("isl").value_or("550");
    parts.set("prefix", shared);  // it counts as a part of the input
    parts.set("suffix", has_shell_variable(shared + whole)
                            ? fmt::format("$(({} - {}))", whole, shared)  // the shell computes it
                            : text_of_number(std::max(1.0, number("--sonnet-input-len", whole) -
                                                               number("--sonnet-prefix-len", shared))));
    parts.set_if_absent("osl", "150");
}

void set_dataset(const Composing& now, const std::string& name) {
    Parts& parts = now.parts;
    if (name == "custom" && now.is(Tool::sglang)) return;  // the format is recognised
    if ((name == "custom" || name == "spec_bench") && now.whole(Tool::vllm))
        parts.set_if_absent("osl", "256");
    if (has_shell_variable(name)) {
        if (!parts.has("isl")) return now.absent(fmt::format("dataset {}: {}", name, kValueNeeded));
        now.note(fmt::format("dataset {} is taken to be random, because the lengths are given", name));
        return set_dataset(now, "random");
    }
    const ForeignValue* const row = row_named(kDatasets, name);
    const std::string_view own = std::string_view(name).substr(0, name.find(':'));
    if (row == nullptr && own.find('/') != std::string_view::npos && !is_file(own))
        return need_rows(now, "--dataset " + name, name);
    if (row == nullptr) {
        const auto is_known = [&](const datasets::CatalogRow& known) { return known.name == own; };
        if (now.origin.whole && std::ranges::none_of(datasets::catalog(), is_known))
            now.absent(
                fmt::format("dataset {}: rows of a file are JSON lines with \"prompt\" or \"messages\" "
                            "(--dataset custom)",
                            name));
        return parts.set("dataset", name);
    }
    if (now.is(Tool::vllm) && (name == "random" || name == "random-ids" || name == "timed_trace"))
        now.out.has_random_prompts = true;
    if (row->ours == "text") return set_text_dataset(now, name == "sonnet");
    if (row->ours == "synthetic" && now.is(Tool::vllm) && parts.take("dataset_path"))
        now.out.unneeded.emplace_back("--dataset-path (prompts are random)");
    if (row->ours == "synthetic" && now.is(Tool::sglang))
        if (const auto file = parts.take("dataset_path"); file && name == "random")
            now.note(
                fmt::format("sglang cuts random prompts from the texts in {}; here they are random words, "
                            "or cut from a file of text (--text)",
                            *file));
    const std::string path = parts.value("dataset_path");
    if (name == "inputs_json" && is_file(path)) {
        const std::string file = std::filesystem::path(path).stem().string() + ".jsonl";
        now.absent(fmt::format(
            "dataset {}: write its requests as lines: jq -c '.data[] | (.payloads // .payload)[]' {} > {}",
            name, path, file));
        parts.set("dataset_path", file);
        now.out.file = file;
    }
    if (row->ours == "hub" || (row->ours == "custom" && path.empty())) {
        if (is_file(path)) return parts.set("dataset", "custom");
        return need_rows(now, fmt::format("dataset {}", path.empty() ? name : path),
                         path.empty() ? name : path);
    }
    if (!row->ours.empty() && !row->why.empty()) now.note(fmt::format("{}: {}", name, row->why));
    if (row->ours.empty()) parts.take("dataset_path");
    if (row->ours.empty()) return now.absent(fmt::format("dataset {}: {}", name, row->why));
    if (row->ours == "shared_prefix") {
        if (parts.take("dataset_path")) now.out.unneeded.emplace_back("--dataset-path (prompts are random)");
        const bool repetition = name == "prefix_repetition";
        parts.set_if_absent("prefix", repetition ? "256" : "2048");
        parts.set_if_absent("suffix", repetition ? "256" : "128");
        parts.set_if_absent("prefixes", repetition ? "10" : "64");
        parts.set_if_absent("osl", repetition ? "128" : "256");
        if (!repetition) parts.set_if_absent("per_prefix", "16");
        return;
    }
    const bool has_times = name == "timed_trace" || (name == "mooncake" && now.whole(Tool::sglang));
    if (has_times && !parts.take("no_replay")) parts.set("replay", "true");
    const auto workload = parts.take("workload");
    if (row->ours == "mooncake" && !parts.has("dataset_path")) {
        const std::string file = name.starts_with("mooncake-") ? name.substr(9) + "_trace.jsonl"
                                 : name == "mooncake" ? workload.value_or("conversation") + "_trace.jsonl"
                                                      : "trace.jsonl";
        now.need_file("dataset " + name, "save the trace of Mooncake as " + file, file);
    }
    if (row->ours != "synthetic") return parts.set("dataset", std::string(row->ours));
    if (!now.origin.whole) return;
    parts.set_if_absent("isl", "1024");
    parts.set_if_absent("osl", now.is(Tool::sglang) ? "1024" : "128");
}

/// The dataset that a whole line means if it names none.
std::string usual_dataset(const Composing& now) {
    if (now.parts.has("dataset_path") || now.parts.has("data")) return {};
    if (now.origin.form == Form::vllm_static || now.origin.form == Form::sglang_static) return {};
    if (now.whole(Tool::vllm)) return "random";
    if (!now.whole(Tool::sglang)) return {};
    return now.parts.has("isl") ? "random" : "sharegpt";
}

/// A file decides the lengths of its prompts, and a trace also those of its answers.
void drop_lengths_of_files(const Composing& now) {
    Parts& parts = now.parts;
    if (!parts.has("dataset_path")) return;
    constexpr std::array kTraces = {"mooncake", "azure", "burstgpt", "weka", "agentic_mooncake"};
    const std::string dataset = parts.value("dataset");
    const bool is_trace =
        std::ranges::any_of(kTraces, [&](const char* trace) { return dataset.starts_with(trace); });
    const Spec osl = parts.has("osl") ? parse_spec(parts.value("osl")) : Spec{};
    if (!osl.fields.empty() && !is_trace) {
        parts.set("osl", osl.text_or("mean", osl.text_or("max", osl.name)));
        now.note(fmt::format("--osl {}: the answers of a file have one limit where its rows have none",
                             parts.value("osl")));
    }
    if (is_trace && !osl.name.empty())
        now.note(fmt::format("--osl {} is for rows of a trace that have no length of their answers",
                             parts.value("osl")));
    for (const char* const field : {"isl", "range_ratio", "osl"})
        if ((is_trace || std::string_view(field) != "osl") && parts.take(field))
            now.out.unneeded.push_back(option_of(*plan_field_named(field)) + " (the file has the lengths)");
}

/// How many different prompts AIPerf makes, which it sends again and again. Here every prompt is new. Its
/// --num-prompts keeps our meaning where nothing else says how many requests are sent.
void compose_different_prompts(const Composing& now) {
    Parts& parts = now.parts;
    const auto entries = parts.take("entries");
    auto different = parts.take("different_prompts");
    const bool has_end = parts.has("num_prompts") || parts.has("duration") || parts.has("sessions");
    if (entries && !has_end && !now.origin.whole)
        parts.set("num_prompts", *entries);
    else if (entries)
        different = entries;
    if (!different) return;
    const double count = number_or_0(*different);
    if (count > 0 && !parts.has("dataset_path") &&
        (!parts.has("num_prompts") || count < number_or_0(parts.value("num_prompts"))))
        now.note(fmt::format(
            "every prompt is new here; {} different ones that are sent again and again, as the other tool "
            "does, are answered faster by a server with a prefix cache",
            *different));
    else
        now.out.unneeded.emplace_back("the number of different prompts");
}

/// The rows of a file may be conversations, whose turns AIPerf counts one by one.
void note_turns_of_files(const Composing& now, std::string_view kind, bool has_sessions) {
    if (kind != "multi_turn" || !now.is(Tool::aiperf)) return;
    for (const std::string_view field : {"num_prompts", "request_rate"})
        if (const std::string value = now.parts.value(field);
            number_or_0(value) > 0 && !(has_sessions && field == "num_prompts"))
            now.note(
                fmt::format("{} {} counts conversations here, and requests in aiperf; divide it by the mean "
                            "number of turns in the file",
                            option_of(*plan_field_named(field)), value));
}

/// What other tools leave out of a file, whose rows are all sent here.
void note_left_out_rows(const Composing& now) {
    const std::string dataset = now.parts.value("dataset");
    const std::string path = now.parts.value("dataset_path");
    if (now.parts.take("no_oversample")) {
        const std::string count = now.parts.value("num_prompts");
        if (path.empty() || count == "all")
            now.out.unneeded.emplace_back("--no-oversample");
        else
            now.note(
                fmt::format("--no-oversample sends no row twice: if {} has fewer rows than {}, give "
                            "--num-prompts all",
                            path, count));
    }
    if (!now.origin.whole || path.empty()) return;
    if (dataset == "sharegpt" && (now.is(Tool::vllm) || now.is(Tool::aiperf)))
        now.note(fmt::format(
            "{} leaves out conversations of one message, prompts of less than 4 or more than "
            "1024 tokens, prompts that have more than 2048 tokens with their answers{}; here "
            "each is sent",
            row_of(*now.origin.tool).name, now.parts.has("osl") ? "" : ", and answers of less than 4"));
    if (dataset == "burstgpt" && now.is(Tool::vllm))
        now.note(fmt::format(
            "vllm takes only the answered rows of GPT-4: awk -F, 'NR == 1 {{ for (i = 1; i <= NF; "
            "i++) c[$i] = i; print }} $c[\"Model\"] == \"GPT-4\" && $c[\"Response tokens\"] > 0' "
            "{} > gpt4.csv writes them to a file",
            path));
}

}  // namespace

const ForeignValue* dataset_named(std::string_view name) {
    return row_named(kDatasets, name);
}

void compose_requests(const Composing& now) {
    constexpr std::string_view kPayload = "payload:";  // genai-perf's word before a file of sessions
    Parts& parts = now.parts;
    if (const std::string path = parts.value("dataset_path"); path.starts_with(kPayload)) {
        parts.set("dataset_path", path.substr(kPayload.size()));
        if (!parts.has("replay") && !parts.has("duration")) parts.set_if_absent("num_prompts", "all");
    }
    if (now.origin.form == Form::inferencex) set_inferencex(now);
    if (parts.value("dataset") == "timed_trace") parts.set("timed_trace", "true");
    for (const auto& [part, option] :
         {std::pair{"inferencex_template", "--use-chat-template"}, std::pair{"inferencex_dsv4", "--dsv4"}})
        if (parts.take(part)) {
            now.out.unneeded.emplace_back(option);
            take_ratio_of_inferencex(parts);
        }
    compose_guidellm_data(now);
    compose_scenario(now);
    if (const auto rows = parts.take("wanted_rows"))
        now.note(fmt::format("the rows of a file are sent as they are; keep those of {} in the file", *rows));
    const auto isl_deviation = parts.take("isl_stddev");
    const auto osl_deviation = parts.take("osl_stddev");
    compose_different_prompts(now);
    if (now.whole(Tool::aiperf) && !parts.has("dataset_path") && !parts.has("pairs") &&
        !parts.has("length_pairs") && !parts.has("public_dataset")) {
        parts.set_if_absent("isl", "550");
        const auto inputs = parts.texts.find("extra_inputs");
        const bool has_limit =
            inputs != parts.texts.end() && std::ranges::any_of(inputs->second, [](const auto& text) {
                return text.find("max_tokens") != std::string::npos;
            });
        if (!parts.has("osl") && !has_limit)
            now.note(
                "without --osl, the server decides how long answers are; here they have at most 128 "
                "tokens, unless --osl says otherwise");
    }
    if (parts.take("ratio_style").value_or("") == "sglang")
        if (const auto ratio = parts.take("range_ratio")) parts.set("sglang_ratio", *ratio);
    if (isl_deviation)
        parts.set("isl", length_of(parts.has("isl") ? parts.value("isl") : "550", *isl_deviation));
    if (osl_deviation && parts.has("osl")) parts.set("osl", length_of(parts.value("osl"), *osl_deviation));
    compose_pairs(now);
    std::string dataset = parts.value("dataset");
    auto kind = parts.take("file_kind");
    if (kind) {
        std::ranges::replace(*kind, '-', '_');
        dataset = *kind == "multi_turn" ? "dag_jsonl" : *kind;
    }
    if (const auto name = parts.take("weka_on_hub")) parts.set("public_dataset", *name);
    if (const auto name = parts.take("public_dataset"); name && !parts.has("dataset_path")) {
        if (name->find("weka") != std::string::npos) dataset = "weka";
        if (dataset == "weka") parts.set("dataset", dataset);
        if (*name == "sharegpt")
            dataset = *name;
        else
            need_rows(now, "--public-dataset " + *name, *name);
    }
    if (const std::string file = parts.value("dataset"); now.is(Tool::vllm) && is_file(file)) {
        parts.set("dataset_path", file);  // benchmark_serving.py --dataset ShareGPT.json
        dataset = "sharegpt";
    }
    if (now.origin.form == Form::sglang_static && dataset.empty() && parts.take("dataset_path"))
        now.out.unneeded.emplace_back("--dataset-path (prompts are random)");
    if (dataset.empty()) {
        dataset = usual_dataset(now);
        if (dataset == "random" && now.is(Tool::sglang))
            now.note(
                "sglang reads ShareGPT unless --dataset-name random is given, and ignores the lengths then; "
                "the lengths are used here");
    }
    if (dataset == "sharegpt" && !parts.has("dataset_path")) {
        const std::string file = "ShareGPT_V3_unfiltered_cleaned_split.json";
        now.need_file("dataset sharegpt",
                      fmt::format("save ShareGPT's file as {}, or give --dataset-name random", file), file);
    }
    if (!dataset.empty()) {
        parts.take("dataset");
        set_dataset(now, dataset);
    }
    if (parts.value("osl") == "-1") parts.take("osl");  // the rows have lengths of their own
    compose_sglang_lengths(now, dataset);
    compose_vllm_ratio(now);
    compose_prefix(now);
    const bool has_sessions = parts.has("sessions") && !parts.has("num_prompts");
    compose_conversations(now);
    compose_replay(now, kind.value_or(""));
    note_turns_of_files(now, kind.value_or(""), has_sessions);
    drop_lengths_of_files(now);
    if (parts.value("num_prompts") == "-1" || number_or_0(parts.value("num_prompts")) >= 1e7)
        parts.set("num_prompts", "all");
    if ((now.whole(Tool::vllm) || now.whole(Tool::sglang)) && !parts.has("num_prompts") &&
        !parts.has("duration") && !parts.has("arrivals") && now.origin.form != Form::vllm_static &&
        now.origin.form != Form::sglang_static)
        parts.set("num_prompts", "1000");
    note_left_out_rows(now);
    for (const auto& [part, option] :
         {std::pair{"hf_subset", "--hf-subset"}, std::pair{"hf_split", "--hf-split"}})
        if (parts.take(part)) now.out.unneeded.emplace_back(option);
    if (const auto rounds = parts.take("rounds"); rounds && *rounds != "1")
        now.note("a trace is sent once, not in several rounds");
}

}  // namespace paretoken::cli
