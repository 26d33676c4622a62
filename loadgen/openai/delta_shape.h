#pragma once
// Recognises an event that differs from one parsed before only in its output text and in values that mean
// nothing here (id, created, …), so that most events of a stream need no JSON parser. Exact: what is
// recognised has the delta that parsing would give; whatever is in doubt is not recognised. No I/O, no
// allocation while recognising.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loadgen/openai/sse.h"

namespace paretoken::openai {

/// A value of an event that may differ between events of one shape. Strings without their quotes.
struct ShapeHole {
    enum class Kind : std::uint8_t { output, string, number };
    Kind kind = Kind::string;
    std::uint32_t begin = 0;   ///< bytes from the event's beginning
    std::uint32_t length = 0;  ///< bytes

    bool operator==(const ShapeHole&) const = default;
};

/// The value that begins at `begin` of `event`, a string after its quote; nothing when it is not of `kind`,
/// or not one that can be recognised safely: with a sign or a Unicode escape, say. kReadablePadding readable
/// bytes after `event`.
std::optional<ShapeHole> hole_at(ShapeHole::Kind kind, std::string_view event, std::size_t begin);

/// Appends the text that an output hole stands for: its short escapes are undone, and it has no others.
/// kReadablePadding readable bytes after `output`.
void append_unescaped(std::string_view output, PaddedBuffer& text);

/// One shape: an event's bytes with holes in them.
class DeltaShape {
  public:
    static constexpr std::size_t kMostHoles = 6;
    static constexpr std::size_t kLongest = 2048;  ///< bytes of an event

    /// Nothing when the shape cannot be recognised again safely: not exactly one output, too long, too many
    /// holes, or a hole that holds something else than its kind. Holes in ascending order;
    /// kReadablePadding readable bytes after `event`.
    static std::optional<DeltaShape> of(std::string_view event, std::span<const ShapeHole> holes);

    /// Bytes of the output text, unescaped, of an event of this shape; nothing when it is none, when its
    /// output is empty, or when a string has a Unicode escape. kReadablePadding readable bytes after `event`.
    /// `output`: set to the text as it stands in the event, with its escapes.
    std::optional<std::uint32_t> output_bytes(std::string_view event, std::string_view& output) const;

  private:
    std::string bytes_;
    std::array<ShapeHole, kMostHoles> holes_{};
    std::size_t hole_count_ = 0;
};

}  // namespace paretoken::openai
