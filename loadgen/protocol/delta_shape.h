#pragma once
// Recognises an event that differs from one parsed before only in its output text and in values without
// meaning here (id, created, …), so that most need no JSON parser. A recognised event has exactly the delta
// that parsing would give; a doubtful one is not recognised. No I/O, no allocation while recognising.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loadgen/protocol/sse.h"

namespace paretoken::protocol {

/// A value of an event that may differ between events of one shape: the text of the output (a string too),
/// another string, or a number. A string is taken without its quotes.
struct ShapeHole {
    enum class Kind : std::uint8_t { output, string, number };
    Kind kind = Kind::string;
    std::uint32_t begin = 0;   ///< bytes from the event's beginning
    std::uint32_t length = 0;  ///< bytes

    bool operator==(const ShapeHole&) const = default;
};

/// Returns the position and length of the value that starts at byte `begin` of `event`; for a string that
/// is the byte after the opening quote. Returns nothing when the value is not of `kind` or cannot be
/// recognised safely, for example a number with a sign or a string with a Unicode escape. `event` has
/// kReadablePadding (loadgen/protocol/sse.h) readable bytes after it.
std::optional<ShapeHole> hole_at(ShapeHole::Kind kind, std::string_view event, std::size_t begin);

/// Appends the text of an output hole. Decodes escapes of one character, such as \n and \"; an output hole
/// has no Unicode escapes. `output` has kReadablePadding readable bytes after it.
void append_unescaped(std::string_view output, PaddedBuffer& text);

/// One shape: an event's bytes, with holes for the values that differ.
class DeltaShape {
  public:
    static constexpr std::size_t kMostHoles = 6;
    static constexpr std::size_t kLongest = 2048;  ///< bytes of an event

    /// Makes the shape of an event. Returns nothing when it cannot be recognised safely: not exactly one
    /// output, too long, too many holes, or a hole whose value is not of its kind. Holes are in ascending
    /// order; `event` has kReadablePadding readable bytes after it.
    static std::optional<DeltaShape> of(std::string_view event, std::span<const ShapeHole> holes);

    /// Returns the number of bytes of the output of an event of this shape, with escapes decoded; nothing
    /// when the event has another shape, an empty output, or a string with a Unicode escape. `output` is set
    /// to the output in the event, with its escapes; it has no meaning if nothing is returned.
    /// kReadablePadding readable bytes follow `event`.
    std::optional<std::uint32_t> output_bytes(std::string_view event, std::string_view& output) const;

  private:
    std::string bytes_;
    std::array<ShapeHole, kMostHoles> holes_{};
    std::size_t hole_count_ = 0;
};

}  // namespace paretoken::protocol
