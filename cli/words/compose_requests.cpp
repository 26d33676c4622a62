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

constexpr std::string_view kPictures = "requests with images, audio or video are not sent";
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

/// Whether data have pictures, sounds or films beside their texts, by their name.
bool has_pictures(const std::string& dataset) {
    constexpr std::array kWords = {"VisionArena",
                                   "vision-arena",
                                   "LLaVA",
                                   "llava",
                                   "MMVU",
                                   "MMBench",
                                   "Video",
                                   "librispeech",
                                   "vox",
                                   "tedlium",
                                   "gigaspeech",
                                   "spgispeech",
                                   "Earnings22",
                                   "/ami",
                                   "asr",
                                   "MMMU",
                                   "sharegpt4v",
                                   "ShareGPT4V",
                                   "synthetic_video",
                                   "synthetic_image",
                                   "synthetic_audio"};
    return std::ranges::any_of(kWords,
                               [&](const char* word) { return dataset.find(word) != std::string::npos; });
}

/// Names the file into which the rows of a dataset on a hub are to be saved. The program downloads nothing.
void need_rows(const Composing& now, std::string_view what, const std::string& name) {
    if (has_shell_variable(name)) return now.absent(fmt::format("{}: {}", what, kValueNeeded));
    if (has_pictures(name)) {
        now.parts.take("dataset_path");
        return now.absent(fmt::format("{}: {}", what, kPictures));
    }
    const std::string dataset = name.substr(0, name.find_last_not_of('/') + 1);  // also of a directory
    const auto slash = dataset.rfind('/');
    std::string file = (slash == std::string::npos ? dataset : dataset.substr(slash + 1)) + ".jsonl";
    std::string from;
    const auto subset = now.parts.take("hf_subset");
    const auto split = now.parts.take("hf_split");
    if (slash != std::string::npos)
        from = fmt::format(
            " (python3 -c \"from datasets import load_dataset; load_dataset('{}', {}"
            "split='{}').to_json('{}')\")",
            dataset, subset ? fmt::format("'{}', ", *subset) : "", split.value_or("train"), file);
    const bool is_trace = now.parts.value("dataset") == "weka" || now.parts.value("dataset") == "mooncake";
    if (!is_trace) now.parts.take("dataset");
    now.need_file(
        what,
        fmt::format("save its rows{} in {}{}", is_trace ? "" : " as JSON lines with \"prompt\"", file, from),
        file);
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

/// The columns of a file, by our names for them (--dataset columns).
using Columns = std::map<std::string, std::string>;

/// Takes a field that names a column; returns whether it does.
bool take_column(const std::string& key, const std::string& name, Columns& columns) {
    constexpr std::array kColumns = {std::pair{"text_column", "prompt"},
                                     std::pair{"prompt_column", "prompt"},
                                     std::pair{"prompt_tokens_count_column", "input_tokens"},
                                     std::pair{"prompt_tokens_column", "input_tokens"},
                                     std::pair{"output_tokens_count_column", "output_tokens"},
                                     std::pair{"output_tokens_column", "output_tokens"},
                                     std::pair{"timestamp_column", "at_s"},
                                     std::pair{"hash_ids_column", "hash_ids"}};
    const std::string last = key.substr(key.rfind('.') + 1);
    const auto* const column =
        std::find_if(kColumns.begin(), kColumns.end(), [&](const auto& one) { return one.first == last; });
    const bool found = column != kColumns.end();
    if (const auto names = list_of(name); found && !names.empty()) columns[column->second] = names.front();
    return found;
}

/// Sets the columns of the file, if they have other names than those by which files are recognised.
void set_columns(const Composing& now, Columns columns) {
    constexpr std::array kTexts = {"prompt", "messages", "text", "question", "instruction", "query"};
    constexpr std::array kOfTraces = {"at_s", "timestamp", "input_tokens", "hash_ids"};
    const bool is_trace =
        !columns.contains("prompt") &&
        std::ranges::any_of(kOfTraces, [&](const char* name) { return columns.contains(name); });
    if (!is_trace && !columns.contains("prompt")) {
        columns["prompt"] = "prompt";
        now.note(
            "the column of the prompts is taken to be 'prompt'; if it has another name, say "
            "columns:prompt=NAME");
    }
    const char* const time = columns.contains("timestamp") ? "timestamp" : "at_s";
    const Columns of_traces = {{time, "timestamp"},
                               {"input_tokens", "input_length"},
                               {"output_tokens", "output_length"},
                               {"hash_ids", "hash_ids"}};
    if (is_trace) {
        for (const auto& [ours, usual] : of_traces)
            if (ours != "hash_ids") columns.try_emplace(ours, usual);
        if (std::includes(of_traces.begin(), of_traces.end(), columns.begin(), columns.end())) return;
        now.parts.set("replay", "true");
    } else if (columns.size() == 1 &&
               std::find(kTexts.begin(), kTexts.end(), columns["prompt"]) != kTexts.end()) {
        return;
    }
    std::string spec;
    for (const auto& [ours, theirs] : columns)
        spec += fmt::format("{}{}={}", spec.empty() ? "" : ",", ours, theirs);
    if (const std::string block = now.parts.value("block"); columns.contains("hash_ids") && !block.empty())
        spec += ",block=" + block;
    now.parts.set("dataset", "columns:" + spec);
    if (columns.contains("at_s"))
        now.note("times are read as seconds or dates; if they are milliseconds, say columns:timestamp=NAME");
}

/// The fields of GuideLLM's data that name columns, and those that a load here does not have or need.
void set_other_data_fields(const Composing& now, Fields& fields, Columns& columns) {
    constexpr std::array kUnneeded = {"seed",  "random_seed", "split",  "name", "hash_id_block_size",
                                      "count", "type",        "samples"};
    for (const std::string& key : fields.unread()) {
        if (take_column(key, fields.value(key), columns)) {
        } else if (key.starts_with("load_kwargs") || std::ranges::find(kUnneeded, key) != kUnneeded.end()) {
            now.out.unneeded.push_back("--data " + key);
        } else if (key.find("tool") != std::string::npos) {
            now.note(fmt::format("--data {} is left out: the turns are sent without calls of tools", key));
        } else {
            now.absent(fmt::format("--data {}: it has no counterpart", key));
        }
    }
}

/// GuideLLM's synthetic data, and the file or the trace that a group names.
void set_data(const Composing& now, Group group, Columns& columns) {
    Parts& parts = now.parts;
    constexpr std::string_view kSource =
        "source.";  // the fields of a source may stand in a group of their own
    for (auto [key, text] : Group(group))
        if (key.starts_with(kSource)) {
            group.erase(key);
            if (key != "source.kind") group[key.substr(kSource.size())] = text;
        }
    if (const auto source = group.extract("src")) group["source"] = source.mapped();
    Fields fields(std::move(group));
    const auto value = [&](std::string_view key) { return fields.value(key); };
    const std::string kind = value("kind");
    if (kind == "synthetic_image" || kind == "synthetic_video" || kind == "synthetic_audio")
        return now.absent(fmt::format("--data kind={}: {}", kind, kPictures));
    std::string file = value("path").empty() ? value("source") : value("path");
    if (!value("prompt_tokens").empty() && !value("source").empty()) {
        now.note(fmt::format("prompts are random words, not parts of {}; --text FILE gives a text",
                             value("source")));
        file.clear();
    }
    if (file.empty()) file = value("data_files");
    if (!file.empty()) {
        (void)value("from");
        if (const std::string scale = value("time_scale"); !scale.empty()) parts.set("time_scale", scale);
        if (const std::string most = value("max_wait"); !most.empty()) parts.set("idle_cap", most);
        for (const auto& [key, part] :
             {std::pair{"load_kwargs.name", "hf_subset"}, std::pair{"load_kwargs.split", "hf_split"}})
            if (const std::string given = value(key); !given.empty() && !is_file(file))
                parts.set(part, given);
        set_other_data_fields(now, fields, columns);
        if (kind == "mooncake" || kind == "trace_synthetic") parts.set_if_absent("dataset", "mooncake");
        if (kind == "weka") parts.set_if_absent("dataset", "weka");
        const bool names_file = is_file(file) || kind.ends_with("_file") || !value("path").empty();
        if (!names_file) return need_rows(now, "--data " + file, file);
        return parts.set_if_absent("dataset_path", file);
    }
    if (value("prompt_tokens").empty())
        return now.absent(fmt::format("--data kind={}: it names no file", kind));
    const auto spread = [&](const std::string& of) {
        const std::string variance = value(of + "_variance");  // of the first versions
        return variance.empty() || variance == "0"
                   ? value(of + "_stdev")
                   : text_of_number(std::sqrt(number("--data " + of + "_variance", variance)));
    };
    const std::string isl = length_of(value("prompt_tokens"), spread("prompt_tokens"),
                                      value("prompt_tokens_min"), value("prompt_tokens_max"));
    std::string answer = value("output_tokens");
    const std::string answer_spread = spread(answer.empty() ? "generated_tokens" : "output_tokens");
    if (answer.empty()) answer = value("generated_tokens");  // of the first versions
    if (!answer.empty())
        parts.set_if_absent(
            "osl", length_of(answer, answer_spread, value("output_tokens_min"), value("output_tokens_max")));
    const std::string turns = value("turns");
    const std::string first = value("first_prompt_tokens");
    const std::string pause = value("delay");  // in seconds
    const std::string pause_spread = value("delay_stdev");
    if (!turns.empty() && turns != "1") {
        parts.set("turns", turns);
        if (!first.empty()) parts.set("first", first);
        if (!pause.empty()) parts.set("delay", text_of_number(1000 * number("delay", pause)));
        if (!pause_spread.empty())
            parts.set("delay_stddev", text_of_number(1000 * number("delay_stdev", pause_spread)));
    }
    if (!value("prefix_tokens").empty()) {
        parts.set("prefix", value("prefix_tokens"));
        if (!value("prefix_count").empty()) parts.set("prefixes", value("prefix_count"));
    }
    parts.set_if_absent("isl", isl);
    set_other_data_fields(now, fields, columns);
}

/// What GuideLLM is told of the columns and the parts of its data.
void read_data_arguments(const Composing& now, Columns& columns) {
    for (const std::string& text : now.parts.take_all("columns")) {
        for (const auto& [key, value] : group_of(text).value_or(Group{})) {
            if (key == "name" || key == "split")
                now.parts.set(key == "name" ? "hf_subset" : "hf_split", value);
            else if (key != "kind" && !take_column(key, value, columns))
                now.note(fmt::format("{}={} is left out: rows are sent with their texts", key, value));
        }
    }
    const bool in_seconds = now.parts.value("time_unit") == "1";
    for (const auto& [part, ours] :
         {std::pair{"prompt_column", "prompt"}, std::pair{"time_column", in_seconds ? "at_s" : "timestamp"},
          std::pair{"input_column", "input_tokens"}, std::pair{"output_column", "output_tokens"},
          std::pair{"hash_column", "hash_ids"}})
        if (const auto name = now.parts.take(part)) columns[ours] = *name;
}

void compose_guidellm_data(const Composing& now) {
    bool any = false;
    Columns columns;
    read_data_arguments(now, columns);
    for (const std::string& text : now.parts.take_all("data")) {
        if (text == "synthetic" || text == "emulated") continue;  // the next one has its fields
        if (any) {
            now.absent(fmt::format("--data {}: {}", text,
                                   has_pictures(text)
                                       ? kPictures
                                       : "a run has one dataset; further ones are classes (--class)"));
            continue;
        }
        any = true;
        if (text.starts_with('$'))
            now.absent(fmt::format("--data {}: {}", text, kValueNeeded));
        else if (is_file(text) && text.find('=') == std::string::npos)
            now.parts.set_if_absent("dataset_path", text);
        else if (const auto group = group_of(text);
                 group && text.find('=') + text.find('{') != 2 * std::string::npos)
            set_data(now, *group, columns);
        else
            need_rows(now, "--data " + text, text);
    }
    if (!columns.empty()) set_columns(now, std::move(columns));
}

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

/// SGLang draws lengths from ratio · L to L; its ratio is 0 unless it is given.
void compose_sglang_lengths(const Composing& now, std::string_view dataset) {
    Parts& parts = now.parts;
    const auto given = parts.take("sglang_ratio");
    const bool drawn =
        (dataset == "random" || dataset == "random-ids") && now.origin.form != Form::sglang_static;
    if (!given && !(now.whole(Tool::sglang) && drawn)) return;
    const double ratio = given ? number("--random-range-ratio", *given) : 0;
    if (!(ratio >= 0 && ratio <= 1))
        throw UsageError(fmt::format("the range ratio of sglang is from 0 to 1, not {}", *given));
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
        now.note(fmt::format("sglang draws each length L uniformly from {}{}",
                             ratio > 0 ? text_of_number(ratio) + " L" : "1",
                             given ? " to L" : " to L unless --random-range-ratio is given"));
}

/// vLLM's ratio may be JSON: '{"input": 0.1, "output": 0.3}'.
void compose_vllm_ratio(const Composing& now) {
    const std::string ratio = now.parts.value("range_ratio");
    // The lower end of lengths, as of sglang and of the first versions: all have the same length.
    if (now.is(Tool::vllm) && (ratio == "1" || ratio == "1.0")) now.parts.take("range_ratio");
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
    if (!now.is(Tool::sglang)) parts.set("turns_of_each", *turns);
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
    if (name == "custom" && now.whole(Tool::vllm)) parts.set_if_absent("osl", "256");
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
    if (count > 0 && (!parts.has("num_prompts") || count < number_or_0(parts.value("num_prompts"))))
        now.note(fmt::format(
            "every prompt is new here; {} different ones that are sent again and again, as the other tool "
            "does, are answered faster by a server with a prefix cache",
            *different));
    else
        now.out.unneeded.emplace_back("the number of different prompts");
}

/// The rows of a file may be conversations, whose turns AIPerf counts one by one.
void note_turns_of_files(const Composing& now, std::string_view kind) {
    if (kind != "multi_turn" || !now.is(Tool::aiperf)) return;
    for (const char* const field : {"num_prompts", "request_rate"})
        if (const std::string value = now.parts.value(field); number_or_0(value) > 0)
            now.note(
                fmt::format("{} {} counts conversations here, and requests in aiperf; divide it by the mean "
                            "number of turns in the file",
                            option_of(*plan_field_named(field)), value));
}

}  // namespace

const ForeignValue* dataset_named(std::string_view name) {
    return row_named(kDatasets, name);
}

void compose_requests(const Composing& now) {
    constexpr std::string_view kPayload = "payload:";  // genai-perf's word before a file of sessions
    Parts& parts = now.parts;
    if (const std::string path = parts.value("dataset_path"); path.starts_with(kPayload))
        parts.set("dataset_path", path.substr(kPayload.size()));
    compose_guidellm_data(now);
    compose_scenario(now);
    if (const auto rows = parts.take("wanted_rows"))
        now.note(fmt::format("the rows of a file are sent as they are; keep those of {} in the file", *rows));
    const auto isl_deviation = parts.take("isl_stddev");
    const auto osl_deviation = parts.take("osl_stddev");
    compose_different_prompts(now);
    if (now.whole(Tool::aiperf) && !parts.has("dataset_path") && !parts.has("pairs") &&
        !parts.has("public_dataset")) {
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
    compose_sglang_lengths(now, dataset);
    compose_vllm_ratio(now);
    compose_prefix(now);
    compose_conversations(now);
    compose_replay(now, kind.value_or(""));
    note_turns_of_files(now, kind.value_or(""));
    drop_lengths_of_files(now);
    if (parts.value("num_prompts") == "-1" || number_or_0(parts.value("num_prompts")) >= 1e7)
        parts.set("num_prompts", "all");
    if ((now.whole(Tool::vllm) || now.whole(Tool::sglang)) && !parts.has("num_prompts") &&
        !parts.has("duration") && !parts.has("arrivals") && now.origin.form != Form::vllm_static &&
        now.origin.form != Form::sglang_static)
        parts.set("num_prompts", "1000");
    for (const auto& [part, option] :
         {std::pair{"hf_subset", "--hf-subset"}, std::pair{"hf_split", "--hf-split"}})
        if (parts.take(part)) now.out.unneeded.emplace_back(option);
    if (const auto rounds = parts.take("rounds"); rounds && *rounds != "1")
        now.note("a trace is sent once, not in several rounds");
}

}  // namespace paretoken::cli
