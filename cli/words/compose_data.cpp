// The data of GuideLLM's lines, the columns of files, and datasets on a hub.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "cli/words/pasted_line.h"

namespace paretoken::cli {
namespace {

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
    // vLLM's traces, whose columns are named one by one, have times in seconds unless a factor is given.
    const bool is_timed = now.parts.value("dataset") == "timed_trace";
    const std::string unit = now.parts.value("time_unit");
    const bool in_seconds =
        is_timed && (unit.empty() || number("--timed-trace-sec-multiplier", unit) >= 0.01);
    for (const auto& [part, ours] :
         {std::pair{"prompt_column", "prompt"}, std::pair{"time_column", in_seconds ? "at_s" : "timestamp"},
          std::pair{"input_column", "input_tokens"}, std::pair{"output_column", "output_tokens"},
          std::pair{"hash_column", "hash_ids"}})
        if (const auto name = now.parts.take(part)) columns[ours] = *name;
    if (is_timed && !columns.empty()) {
        columns.try_emplace("hash_ids", "hash_ids");
        now.parts.set_if_absent("block", "16");
    }
}

/// A public dataset whose rows have no "prompt", and where its text is; from the datasets' own pages.
struct PromptPlace {
    std::string_view dataset;  ///< the beginning of its name
    std::string_view text;     ///< expression in Python for a row
};
constexpr std::array kPromptPlaces = {
    PromptPlace{"AI-MO/", "row['problem']"},
    PromptPlace{"likaixin/InstructCoder", "row['input'] + row['instruction']"},
    PromptPlace{"openai/gsm8k", "row['question']"},
    PromptPlace{"philschmid/mt-bench", "row['turns'][0]"},
    PromptPlace{"vdaita/edit_", "row['code'] + row['change_request']"},
};

/// Returns the part of a line of Python that gives the rows of a known dataset their "prompt".
std::string prompts_of(std::string_view dataset) {
    for (const auto& [name, text] : kPromptPlaces)
        if (dataset.starts_with(name))
            return fmt::format(".map(lambda row: {{'prompt': {}}}).select_columns(['prompt'])", text);
    return {};
}

}  // namespace

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
            "split='{}'){}.to_json('{}')\")",
            dataset, subset ? fmt::format("'{}', ", *subset) : "", split.value_or("train"),
            prompts_of(dataset), file);
    const bool is_trace = now.parts.value("dataset") == "weka" || now.parts.value("dataset") == "mooncake";
    if (!is_trace) now.parts.take("dataset");
    now.need_file(
        what,
        fmt::format("save its rows{} in {}{}", is_trace ? "" : " as JSON lines with \"prompt\"", file, from),
        file);
}

void compose_guidellm_data(const Composing& now) {
    bool any = false;
    Columns columns;
    const auto given = now.parts.texts.find("columns");
    const bool pivots =
        given != now.parts.texts.end() && std::ranges::any_of(given->second, [](const auto& text) {
            return text.find("turn_pivot") != std::string::npos;
        });
    read_data_arguments(now, columns);
    for (const std::string& text : now.parts.take_all("data")) {
        if (text == "synthetic" || text == "emulated") continue;  // the next one has its fields
        if (any) {
            now.absent(fmt::format("--data {}: {}", text,
                                   has_pictures(text) ? kPictures
                                   : pivots           ? "the turns of a conversation are --dataset "
                                                        "multi_turn:turns=N,first=LENGTH,next=LENGTH"
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

}  // namespace paretoken::cli
