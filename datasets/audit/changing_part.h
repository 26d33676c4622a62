#pragma once
// Finds the part that changes near the front of prompts that are otherwise alike, such as a date in a system
// prompt. A prefix cache cannot reuse anything after this part. The functions are pure.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paretoken::datasets {

enum class ChangeKind : std::uint8_t { date, id, number, name, whitespace, text };
std::string_view name_of(ChangeKind kind);

struct ChangingPart {
    std::size_t at = 0;       ///< its first byte in the prompt
    std::string before = {};  ///< up to 32 bytes in front of it
    std::string text = {};
    std::string after = {};  ///< the 24 bytes after it, which both prompts have

    bool operator==(const ChangingPart&) const = default;
};

/// Returns the part of `text` that differs from `earlier`, from the start of its first word on: at most six
/// words and 256 bytes, after which the texts agree for at least 64 bytes. Nothing if there is none.
std::optional<ChangingPart> changing_part(std::string_view earlier, std::string_view text);

/// Returns the kind of a part: white space only; a date or a time of day; a number (digits, and neither
/// letters nor "-"); an id (other text with digits); a name (its first letter is a capital); or other text.
ChangeKind kind_of(std::string_view text);

/// Returns `text` with its own changing part, which lies between `part.before` and `part.after`, moved to the
/// end. Returns `text` unchanged if it lacks one of the two, or has more than 256 bytes between them.
std::string moved_back(const ChangingPart& part, std::string_view text);

/// Returns the first 20 characters, and "…" if there are more, so that prompts are not shown at length.
std::string redacted(std::string_view text);

}  // namespace paretoken::datasets
