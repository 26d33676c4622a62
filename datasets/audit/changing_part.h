#pragma once
// What changes near the front of prompts that are otherwise alike, such as a date in a system prompt: a
// prefix cache finds nothing behind it. Pure.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paretoken::datasets {

enum class ChangeKind : std::uint8_t { date, id, number, name, whitespace, text };
std::string_view name_of(ChangeKind kind);

struct ChangingPart {
    std::size_t at = 0;       ///< byte at which it begins
    std::string before = {};  ///< up to 32 bytes in front of it
    std::string text = {};
    std::string after = {};  ///< 24 bytes behind it, which both prompts have

    bool operator==(const ChangingPart&) const = default;
};

/// Where `text` first differs from `earlier`, if both agree again for 64 bytes after at most six words.
/// Nothing where one is the beginning of the other, or they go on differently.
std::optional<ChangingPart> changing_part(std::string_view earlier, std::string_view text);

ChangeKind kind_of(std::string_view text);

/// `text` with such a part at its end instead; as it is where it has none.
std::string moved_back(const ChangingPart& part, std::string_view text);

/// As it may be shown: at most 20 characters.
std::string redacted(std::string_view text);

}  // namespace paretoken::datasets
