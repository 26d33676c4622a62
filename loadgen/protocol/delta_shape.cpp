#include "loadgen/protocol/delta_shape.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/byte_vector.h"

namespace paretoken::protocol {
namespace {

static_assert(std::endian::native == std::endian::little, "run_length counts bytes from the low end");

using Bytes = ByteVector;
static_assert(sizeof(Bytes) <= kReadablePadding);

/// Counts the bytes before the first for which `ends`, a comparison of whole vectors, is true. Reads up to 15
/// bytes past the end.
template <class Ends>
std::size_t run_length(const char* bytes, std::size_t most, Ends&& ends) {
    for (std::size_t done = 0; done < most; done += sizeof(Bytes)) {
        const auto words = words_of(ends(byte_vector_at(bytes + done)));
        if ((words[0] | words[1]) == 0) continue;
        const int bits = words[0] != 0 ? std::countr_zero(words[0]) : 64 + std::countr_zero(words[1]);
        return std::min(most, done + static_cast<std::size_t>(bits) / 8);
    }
    return most;
}

/// Counts the bytes before the first that is not a plain character of a JSON string: a quote, a backslash, a
/// control character, or one beyond ASCII, which is negative.
std::size_t plain_length(std::string_view bytes) {
    return run_length(bytes.data(), bytes.size(),
                      [](Bytes some) { return (some == '"') | (some == '\\') | (some < ' '); });
}

constexpr std::string_view kShortEscapes = "\"\\/bfnrt";

/// The meaning of the byte after a backslash.
constexpr std::array<char, 256> kMeant = [] {
    constexpr std::string_view kTexts = "\"\\/\b\f\n\r\t";
    std::array<char, 256> meant{};
    for (std::size_t i = 0; i < kTexts.size(); ++i)
        meant[static_cast<unsigned char>(kShortEscapes[i])] = kTexts[i];
    return meant;
}();

/// Returns whether one of the next bytes, as many as a vector has, is a backslash.
bool has_backslash(const char* bytes) {
    return any_of_bytes(byte_vector_at(bytes) == '\\');
}

struct Found {
    std::size_t length = 0;  ///< bytes with escapes
    std::size_t means = 0;   ///< bytes of the decoded text
};

/// Measures the string that begins here, up to its quote; returns nothing when it has a Unicode escape, a
/// control character or no end, or is not UTF-8.
std::optional<Found> string_at(std::string_view bytes) {
    Found found;
    bool ascii = true;
    while (true) {
        const std::size_t plain = plain_length(bytes.substr(found.length));
        found.length += plain;
        found.means += plain;
        if (found.length + 1 >= bytes.size()) return std::nullopt;
        const char byte = bytes[found.length];
        if (byte == '"') break;
        if (byte == '\\') {
            if (kShortEscapes.find(bytes[found.length + 1]) == std::string_view::npos) return std::nullopt;
            found.length += 2;
        } else if (static_cast<unsigned char>(byte) >= 0x80) {
            ascii = false;
            found.length += 1;
        } else {
            return std::nullopt;
        }
        found.means += 1;
    }
    if (!ascii && !simdjson::validate_utf8(bytes.substr(0, found.length))) return std::nullopt;
    return found;
}

/// Measures the whole number without a sign that begins here, with at most 15 digits and no leading zero,
/// which every parser accepts; returns nothing for anything else.
std::optional<Found> number_at(std::string_view bytes) {
    constexpr std::size_t kMostDigits = 15;
    const std::size_t length =
        run_length(bytes.data(), bytes.size(), [](Bytes some) { return (some < '0') | (some > '9'); });
    const bool valid = length > 0 && length <= kMostDigits && (length == 1 || bytes.front() != '0');
    return valid ? std::optional(Found{length, length}) : std::nullopt;
}

std::optional<Found> value_at(ShapeHole::Kind kind, std::string_view bytes) {
    return kind == ShapeHole::Kind::number ? number_at(bytes) : string_at(bytes);
}

}  // namespace

std::optional<ShapeHole> hole_at(ShapeHole::Kind kind, std::string_view event, std::size_t begin) {
    const auto value = value_at(kind, event.substr(begin));
    if (!value) return std::nullopt;
    return ShapeHole{kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(value->length)};
}

void append_unescaped(std::string_view output, PaddedBuffer& text) {
    text.append_written(output.size(), [output](char* const begin) {
        const char* from = output.data();
        const char* const end = from + output.size();
        char* to = begin;
        while (from < end) {
            if (end - from >= static_cast<std::ptrdiff_t>(sizeof(Bytes)) && !has_backslash(from)) {
                std::memcpy(to, from, sizeof(Bytes));
                from += sizeof(Bytes);
                to += sizeof(Bytes);
            } else if (*from != '\\') {
                *to++ = *from++;
            } else {
                *to++ = kMeant.data()[static_cast<unsigned char>(from[1])];
                from += 2;
            }
        }
        return static_cast<std::size_t>(to - begin);
    });
}

std::optional<DeltaShape> DeltaShape::of(std::string_view event, std::span<const ShapeHole> holes) {
    if (event.size() > kLongest || holes.size() > kMostHoles) return std::nullopt;
    std::size_t outputs = 0;
    std::size_t free_from = 0;
    for (const ShapeHole& hole : holes) {
        outputs += hole.kind == ShapeHole::Kind::output ? 1 : 0;
        const std::size_t end = std::size_t{hole.begin} + hole.length;
        if (hole.begin < free_from || end >= event.size()) return std::nullopt;
        if (hole_at(hole.kind, event, hole.begin) != hole) return std::nullopt;
        free_from = end;
    }
    if (outputs != 1) return std::nullopt;
    DeltaShape shape;
    shape.bytes_ = event;
    std::copy(holes.begin(), holes.end(), shape.holes_.begin());
    shape.hole_count_ = holes.size();
    return shape;
}

std::optional<std::uint32_t> DeltaShape::output_bytes(std::string_view event,
                                                      std::string_view& output_text) const {
    std::string_view mine = bytes_;
    std::size_t taken = 0;  // bytes taken of mine
    std::uint32_t output = 0;
    const auto take_same = [&](std::size_t count) {
        if (count > event.size() || std::memcmp(mine.data(), event.data(), count) != 0) return false;
        mine.remove_prefix(count);
        event.remove_prefix(count);
        taken += count;
        return true;
    };
    for (std::size_t i = 0; i < hole_count_; ++i) {
        const ShapeHole& hole = holes_[i];
        if (!take_same(hole.begin - taken)) return std::nullopt;
        const auto value = value_at(hole.kind, event);
        if (!value) return std::nullopt;
        if (hole.kind == ShapeHole::Kind::output) {
            output = static_cast<std::uint32_t>(value->means);
            output_text = event.substr(0, value->length);
        }
        event.remove_prefix(value->length);
        mine.remove_prefix(hole.length);
        taken += hole.length;
    }
    if (event.size() != mine.size() || !take_same(mine.size()) || output == 0) return std::nullopt;
    return output;
}

}  // namespace paretoken::protocol
