#include "datasets/files/sharegpt.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/text/letter_case.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

/// Returns whether a speaker is one of `names`, in letters of either case.
bool is_one_of(std::string_view from, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, lower_case(from)) != names.end();
}

bool is_human(std::string_view from) {
    return is_one_of(from, {"human", "user", "prompter"});
}

bool is_reply(std::string_view from) {
    return is_one_of(from, {"gpt", "assistant", "chatgpt", "bing", "bard", "model"});
}

/// Returns the value of the first of two keys that is there; nothing if none is.
std::optional<simdjson::dom::element> either(simdjson::dom::element turn, std::string_view key,
                                             std::string_view other) {
    simdjson::dom::element value;
    if (turn[key].get(value) && turn[other].get(value)) return std::nullopt;
    return value;
}

/// Returns about how many tokens a reply has. Without the server's tokenizer, four bytes count as one, which
/// is near what tokenizers of large vocabularies need for English and for Chinese.
std::int64_t tokens_of_reply(std::string_view reply) {
    constexpr std::size_t kBytesPerToken = 4;
    return static_cast<std::int64_t>(std::max<std::size_t>(1, reply.size() / kBytesPerToken));
}

Row& last_turn(Row& row) {
    return row.further.empty() ? row : row.further.back();
}

/// Reads a conversation. With `own_lengths`, its turns get the lengths of their first replies.
Row read_sharegpt_row(std::string_view text, const RowPlace& place, bool own_lengths) {
    constexpr std::int64_t kWithoutReply = 128;
    const simdjson::dom::element& object = object_of(text, place);
    const auto conversation = either(object, "conversations", "conversation");
    if (!conversation) place.refuse("\"conversations\" is missing");
    Row row;
    row.unusable = "for they have no message of the human's";
    if (conversation->is_null()) return row;
    simdjson::dom::array turns;
    if (conversation->get(turns)) place.refuse("\"conversations\" is not a list of turns");
    Messages messages;
    bool answered = false;
    bool said_nothing = false;  ///< whether the last message of the human's is empty
    for (const auto turn : turns) {
        const auto speaker = either(turn, "from", "role");
        const auto said = either(turn, "value", "content");
        std::string_view from;
        std::string_view value;
        if (!speaker || !said || speaker->get(from) || (!said->is_null() && said->get(value)))
            place.refuse("a turn lacks \"from\" (or \"role\") or \"value\" (or \"content\")");
        if (said->is_null()) continue;
        if (from == "system" && !row.prompt && messages.empty()) {
            messages.push_back({"system", std::string(value)});
        } else if (is_human(from)) {
            said_nothing = value.empty();
            if (said_nothing) continue;
            messages.push_back({"user", std::string(value)});
            if (row.prompt) {
                row.further.push_back({.prompt = std::move(messages)});
            } else {
                row.prompt = std::move(messages);
            }
            messages = {};
            answered = false;
            if (own_lengths) last_turn(row).output_tokens = kWithoutReply;
        } else if (row.prompt && !said_nothing && is_reply(from)) {
            messages.push_back({"assistant", std::string(value)});
            if (own_lengths && !answered) last_turn(row).output_tokens = tokens_of_reply(value);
            answered = true;
        }
    }
    if (row.prompt) row.unusable = {};
    for (const char* const key : {"image", "images", "video", "videos", "audio"})
        if (simdjson::dom::element value; !object[key].get(value)) row.unknown_fields.emplace_back(key);
    return row;
}

}  // namespace

RowFormat sharegpt_format(const Spec& spec) {
    spec.expect_only({"path", "osl", "turns"});
    const double turns = spec.number_or("turns", 1);
    if (!(turns >= 1) || turns > UINT16_MAX || turns != std::floor(turns))
        throw UsageError(fmt::format("dataset 'sharegpt': turns={} is not a whole number from 1 to {}", turns,
                                     UINT16_MAX));
    return {.name = "sharegpt",
            .layout = RowLayout::lines_or_array,
            .read = [own_lengths = !spec.fields.contains("osl")](
                        std::string_view text, const std::string&,
                        const RowPlace& place) { return read_sharegpt_row(text, place, own_lengths); },
            .most_turns = static_cast<std::uint32_t>(turns),
            .known_fields = "conversations"};
}

std::unique_ptr<Dataset> make_sharegpt(const DatasetOptions& options) {
    return make_file_dataset(options, sharegpt_format(options.spec));
}

}  // namespace paretoken::datasets
