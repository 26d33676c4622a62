#include "datasets/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text/byte_order_mark.h"
#include "core/text/printable.h"
#include "datasets/catalog.h"
#include "datasets/files/csv_row.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {
namespace {

using Keys = std::set<std::string, std::less<>>;

constexpr std::size_t kLongestKey = 40;

/// A format by keys of a row: all of `all`, and none of `without`.
struct Sign {
    std::array<std::string_view, 3> all;
    std::string_view format;
    std::array<std::string_view, 2> without = {};
    std::string_view why_not = {};  ///< why files of this format are not read; empty if they are
};

constexpr std::string_view kNoWaits =
    "it states no waits and no lengths of answers; write JSON lines with \"messages\", \"conversation\" and "
    "\"output_tokens\" of it";
constexpr std::string_view kMessageByMessage =
    "each line is a message or an event; write a JSON line for each request of the model, with \"messages\", "
    "\"conversation\", \"output_tokens\" and \"delay_s\"";
constexpr std::string_view kTwoTexts =
    "a prompt is in two fields; join them: jq -c 'if type == \"array\" then .[] else . end | {prompt: "
    "(.instruction + \"\\n\\n\" + (.input // .context // \"\"))}' FILE > prompts.jsonl";
constexpr std::string_view kNumberedPrompts =
    "the turns of a conversation stand in one row; write a row for each: jq -c 'input_line_number as $row | "
    "to_entries[] | select(.key | startswith(\"prompt_\")) | {conversation: \"\\($row)\", prompt: "
    ".value}' FILE > turns.jsonl";
constexpr std::string_view kAgenticMooncake2 = "Dynamo's agentic_mooncake, version 2";
constexpr std::array kSigns = {
    Sign{{"resourceSpans"},
         "an OTLP export",
         {},
         "its spans lie in groups; write one JSON object with \"trace_id\" and \"spans\" for each session, "
         "whose spans have \"span_id\", \"parent_span_id\", \"start_time\", \"end_time\" and \"attributes\", "
         "for --dataset otel_spans"},
    Sign{{"spans"}, "otel_spans"},
    Sign{{"graph_id", "turns"},
         "GuideLLM's graphs",
         {},
         "their texts stand in columns of another dataset; write JSON lines with \"messages\", \"job\", "
         "\"id\", \"after\" and \"delay_s\" of them"},
    Sign{{"trace_id", "events"},
         "TensorRT-LLM's traces",
         {},
         "their prompts are known by messages' sizes only, which are not those of the whole prompts; write "
         "JSON lines with \"input_tokens\", \"job\", \"after\" and \"tool_s\" for --dataset turns"},
    Sign{{"metadata", "conversations"}, "SGLang's agentic traces", {}, kNoWaits},
    Sign{{"event", "timestamp"},
         "Dynamo's request traces",
         {},
         "they are events; convert them to agentic_mooncake with Dynamo's own tool, which is read"},
    Sign{{"chat_id", "parent_chat_id"},
         "Bailian's traces",
         {},
         "the chats are not read; --dataset mooncake:block=16,unit=s replays their times, lengths and "
         "prefixes"},
    Sign{{"timestamp_start_unix_ms", "prompt"},
         "Baseten's rows",
         {},
         "write JSON lines with \"prompt\", \"output_tokens\" and \"at_s\" of them for --dataset custom"},
    Sign{{"round_index", "newly_append_tokens"},
         "TraceLab's rounds",
         {},
         "a prompt is known by the length of its prefix only; write JSON lines with \"input_tokens\", "
         "\"hash_ids\", \"conversation\" and \"tool_s\" for --dataset turns"},
    Sign{{"num_turns", "tool_call_latency"},
         "EvalScope's traces (trie)",
         {},
         "write JSON lines with \"input_tokens\", \"output_tokens\", \"conversation\" and \"tool_s\" for "
         "--dataset turns"},
    Sign{{"schema", "block_size", "source"}, kAgenticMooncake2, {"requests"}, kNoAgenticMooncake2},
    Sign{{"play_id", "not_before_ms"}, kAgenticMooncake2, {}, kNoAgenticMooncake2},
    Sign{{"requests", "block_size"}, "weka"},
    Sign{{"requests", "hash_id_scope"}, "weka"},
    Sign{{"request_id", "wait_for"}, "agentic_mooncake"},
    Sign{{"request_id", "session_id", "hash_ids"}, "agentic_mooncake"},  // a row that waits for none
    Sign{{"session_id", "input_length"}, "mooncake_session"},
    Sign{{"session_id", "hash_ids"}, "mooncake_session", {"block_tokens"}},
    Sign{{"session_id", "input_tokens", "created_time"}, "mooncake_session"},
    Sign{{"session_id", "input_tokens", "delay_ms"}, "mooncake_session"},
    Sign{{"session_id", "input_tokens", "delay"}, "mooncake_session"},
    Sign{{"session_id", "text_input"}, "mooncake_session"},
    Sign{{"session_id", "message_mode"}, "mooncake_session"},
    Sign{{"session_id", "messages", "timestamp"}, "mooncake_session"},
    Sign{{"session_id", "turns"}, "dag_jsonl"},
    Sign{{"parentUuid", "sessionId"}, "Claude Code's sessions", {}, kMessageByMessage},
    Sign{{"leafUuid", "summary"}, "Claude Code's sessions", {}, kMessageByMessage},
    Sign{{"timestamp", "type", "payload"}, "Codex's sessions", {}, kMessageByMessage},
    Sign{{"trajectory"}, "SWE-agent's trajectories", {}, kNoWaits},
    Sign{{"conversation_id", "role"}, "mlperf_agentic"},
    Sign{{"_type"}, "mlperf_agentic", {"messages", "prompt"}},
    Sign{{"input_length"}, "mooncake", {"messages", "prompt"}},
    Sign{{"created_time", "input_tokens", "hash_ids"}, "mooncake"},
    Sign{{"conversations"}, "sharegpt"},
    Sign{{"messages"}, "custom"},
    Sign{{"prompt"}, "custom"},
    Sign{{"text"}, "custom", {"input_tokens"}},
    Sign{{"text_input"}, "custom"},
    Sign{{"question"}, "custom"},
    Sign{{"prompt_0"}, "GuideLLM's conversations", {}, kNumberedPrompts},
    Sign{{"instruction", "input"}, "Alpaca's instructions", {}, kTwoTexts},
    Sign{{"instruction", "context"}, "Dolly's instructions", {}, kTwoTexts},
    Sign{{"instruction"}, "custom"},
    Sign{{"turns"}, "custom"},
    Sign{{"prompt_tokens", "completion_tokens"}, "log"},
    Sign{{"input_tokens"}, "turns"},
    Sign{{"conversation"}, "sharegpt"},  // LMSYS and WildChat
    Sign{{"role", "content"},
         "lists of messages",
         {},
         "write each list as an object in a line: {\"messages\": [...]}"},
    Sign{{"custom_id", "body"},
         "OpenAI's batches",
         {},
         "write JSON lines with \"messages\" and \"output_tokens\" (the body's max_tokens) of them"},
};

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Returns the keys of the first object of a text, which may be the first of an array, and may be cut off.
Keys keys_of(std::string_view text) {
    Keys keys;
    const std::size_t object = text.find_first_not_of(" \t\r\n[\xef\xbb\xbf");
    if (object == std::string_view::npos || text[object] != '{') return keys;
    int depth = 0;
    for (std::size_t i = object; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) return keys;
        if (c != '"') continue;
        const std::size_t begin = ++i;
        while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        if (i >= text.size()) return keys;
        std::size_t behind = i + 1;
        while (behind < text.size() && is_space(text[behind])) ++behind;
        if (depth == 1 && behind < text.size() && text[behind] == ':')
            keys.emplace(text.substr(begin, i - begin));
    }
    return keys;
}

/// The names in the header of a table, and the fields of its first row, if it has one. Both are empty without
/// separators.
struct TableHead {
    std::vector<std::string> names = {};
    std::vector<std::string> values = {};
};

TableHead head_of_table(std::string_view text) {
    constexpr std::string_view kLineEnds = "\r\n";
    const auto skip_line_ends = [&] {
        text.remove_prefix(std::min(text.find_first_not_of(kLineEnds), text.size()));
    };
    text = without_byte_order_mark(text);
    skip_line_ends();
    const std::string_view header = text.substr(0, text.find_first_of(kLineEnds));
    text.remove_prefix(header.size());
    skip_line_ends();
    std::string_view row = text.substr(0, end_of_row(text, true));
    if (row.ends_with('\r')) row.remove_suffix(1);
    TableHead head;
    for (const std::string_view name : csv_columns(header)) head.names.emplace_back(name);
    if (head.names.size() < 2) return {};
    if (row.empty()) return head;
    for (const std::string_view value : csv_fields(row, header)) head.values.emplace_back(value);
    return head;
}

/// A column of ours, and beginnings of the words in other names for it.
struct OurColumn {
    std::string_view name;
    std::array<std::string_view, 8> words;
};
constexpr std::array kNumberColumns = {
    OurColumn{
        "output_tokens",
        {"completion", "output", "generated", "answer", "response", "out", "max_tokens", "max_new_tokens"}},
    OurColumn{"input_tokens", {"prompt", "input", "context", "request", "question", "in"}},
};

/// Returns whether a word of a name ("prompt_tokens", "PromptTokens") begins with one of `words`.
bool has_word(std::string_view name, const OurColumn& of) {
    const auto begins_at = [&](std::size_t at, std::string_view word) {
        return name.size() >= at + word.size() &&
               std::equal(word.begin(), word.end(), name.begin() + static_cast<std::ptrdiff_t>(at),
                          [](char a, unsigned char b) { return a == std::tolower(b); }) &&
               (word.size() > 3 || at + word.size() == name.size() ||
                std::isalpha(static_cast<unsigned char>(name[at + word.size()])) == 0);
    };
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto c = static_cast<unsigned char>(name[i]);
        const bool begins =
            i == 0 || std::isalpha(static_cast<unsigned char>(name[i - 1])) == 0 ||
            (std::isupper(c) != 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0);
        if (begins && std::ranges::any_of(of.words, [&](auto word) { return begins_at(i, word); }))
            return true;
    }
    return false;
}

/// Returns how the columns of a table may be named: by their names where their values are lengths and times.
std::string column_advice(std::string_view text) {
    const auto [names, values] = head_of_table(text);
    std::map<std::string_view, std::string> found;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string_view heading = names[i];
        const std::string shown = printable_line(heading, kLongestKey);
        const auto* const ours =
            std::ranges::find_if(kNumberColumns, [&](const auto& of) { return has_word(heading, of); });
        if (ours != kNumberColumns.end() && is_length(values[i]))
            found.emplace(ours->name, shown);
        else if (!is_length(values[i]) && seconds_of_time(values[i]))
            found.emplace("timestamp", shown);
        else if (ours != kNumberColumns.end() && ours->name == "input_tokens")
            found.emplace("prompt", shown);
    }
    const std::string prompt = found.contains("prompt") ? "prompt" : "input_tokens";
    if (!found.contains(prompt))
        return "columns:prompt=NAME,output_tokens=NAME or, for lengths, "
               "columns:input_tokens=NAME,output_tokens=NAME,timestamp=NAME";
    std::string advice = fmt::format("columns:{}={}", prompt, found[prompt]);
    for (const char* const name : {"output_tokens", "timestamp"})
        if (found.contains(name)) advice += fmt::format(",{}={}", name, found[name]);
    return advice;
}

/// Returns the columns of a table whose names leave no doubt: a prompt or its length, an answer's length, and
/// nothing else. Under "prompt" are lengths if the first row has a number there.
std::optional<std::string> plain_columns(std::string_view text) {
    constexpr std::array<std::string_view, 3> kInputs = {"prompt", "input_tokens", "prompt_tokens"};
    constexpr std::array<std::string_view, 3> kOutputs = {"output_tokens", "completion_tokens", "max_tokens"};
    const auto [names, values] = head_of_table(text);
    if (names.size() != 2) return std::nullopt;
    const auto is_output = [&](std::string_view name) {
        return std::ranges::find(kOutputs, name) != kOutputs.end();
    };
    const std::size_t output = is_output(names[0]) ? 0 : 1;
    const std::size_t input = 1 - output;
    if (!is_output(names[output]) || std::ranges::find(kInputs, names[input]) == kInputs.end())
        return std::nullopt;
    const bool are_texts = names[input] == "prompt" && (values.empty() || !is_length(values[input]));
    return fmt::format("columns:{}={},output_tokens={}", are_texts ? "prompt" : "input_tokens", names[input],
                       names[output]);
}

bool fits(const Sign& sign, const Keys& keys) {
    const auto has = [&](std::string_view key) { return keys.find(key) != keys.end(); };
    return std::ranges::all_of(sign.all, [&](std::string_view key) { return key.empty() || has(key); }) &&
           std::ranges::none_of(sign.without, has);
}

std::optional<std::string> format_of_table(std::string_view header) {
    if (header.find("ContextTokens") != std::string_view::npos) return "azure";
    if (header.find("Request tokens") != std::string_view::npos) return "burstgpt";
    return std::nullopt;
}

std::string beginning_of(const std::string& path) {
    require_regular(path);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    std::string begin(std::size_t{1} << 16, '\0');
    if (file) begin.resize(std::fread(begin.data(), 1, begin.size(), file.get()));
    if (!file || std::ferror(file.get())) cannot_read(path);
    return begin;
}

[[noreturn]] void refuse(const std::string& path, std::string_view format, std::string_view why) {
    throw UsageError(fmt::format("'{}' has the form of {}, which is not read: {}", path, format, why));
}

}  // namespace

std::optional<std::string> recognised_format(const std::string& path) {
    const std::string begin = beginning_of(path);
    refuse_packed(path, begin);
    const Keys keys = keys_of(begin);
    for (const Sign& sign : kSigns) {
        if (!fits(sign, keys)) continue;
        if (!sign.why_not.empty()) refuse(path, sign.format, sign.why_not);
        return std::string(sign.format);
    }
    const std::string_view header = std::string_view(begin).substr(0, begin.find('\n'));
    if (header.find("tool_wait_after_ms") != std::string_view::npos)
        refuse(path, "TraceLab's table of rounds",
               "a prompt is known by the length of its prefix only; write JSON lines with \"input_tokens\", "
               "\"hash_ids\", \"conversation\" and \"tool_s\" for --dataset turns");
    if (auto format = format_of_table(header)) return format;
    return is_table(path) ? plain_columns(begin) : std::nullopt;
}

bool is_table(const std::string& path) {
    const std::string begin = beginning_of(path);
    const std::size_t first = begin.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    return first != std::string::npos && begin[first] != '{' && begin[first] != '[' && begin[first] != '\0';
}

std::string guessed_format(const std::string& path) {
    if (auto format = recognised_format(path)) return *format;
    const std::string begin = beginning_of(path);
    if (std::all_of(begin.begin(), begin.end(), is_space))
        throw UsageError(fmt::format("'{}' holds no requests: it is empty", path));
    Keys keys = keys_of(begin);
    if (is_table(path))
        for (std::string& name : head_of_table(begin).names) keys.insert(std::move(name));
    std::string fields;
    for (const std::string& key : keys)
        fields += fmt::format("{}\"{}\"", fields.empty() ? "; its first row has the fields " : ", ",
                              printable_line(key, kLongestKey));
    throw UsageError(
        fmt::format("'{}' looks like none of the known formats{}; say which column holds what with --dataset "
                    "{}, or name a format with --dataset ({})",
                    path, fields, column_advice(is_table(path) ? begin : ""), names_of_file_formats()));
}

std::string format_to_read(const std::string& path) {
    if (auto format = recognised_format(path)) return *format;
    const std::string begin = beginning_of(path);
    return is_table(path) && !head_of_table(begin).names.empty() ? guessed_format(path) : "custom";
}

}  // namespace paretoken::datasets
