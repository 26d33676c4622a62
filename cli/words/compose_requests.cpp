#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "core/error.h"
#include "core/spec.h"

namespace paretoken::cli {
namespace {

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

}  // namespace

const ForeignValue* dataset_named(std::string_view name) {
    return row_named(kDatasets, name);
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

}  // namespace paretoken::cli
