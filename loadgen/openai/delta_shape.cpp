#include "loadgen/openai/delta_shape.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "loadgen/openai/sse.h"

namespace paretoken::openai {
namespace {

static_assert(std::endian::native == std::endian::little, "plain_length counts bytes from the low end");

constexpr std::uint64_t repeated(unsigned char byte) {
    return 0x0101010101010101u * byte;
}

/// The high bit of every byte of `word` that is zero; bits above the lowest one may be wrong.
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
    return (word - repeated(1)) & ~word & repeated(0x80);
}

/// Bytes before the first that is no plain character of a JSON string: a quote, a backslash, a control
/// character, or one beyond ASCII. Reads up to 8 bytes past the end.
std::size_t plain_length(const char* bytes, std::size_t most) {
    for (std::size_t done = 0; done < most; done += sizeof(std::uint64_t)) {
        std::uint64_t word;
        std::memcpy(&word, bytes + done, sizeof word);
        const std::uint64_t control = (word - repeated(0x20)) & ~word & repeated(0x80);
        const std::uint64_t other = zero_bytes(word ^ repeated('"')) | zero_bytes(word ^ repeated('\\')) |
                                    (word & repeated(0x80)) | control;
        if (other != 0) return std::min(most, done + static_cast<std::size_t>(std::countr_zero(other)) / 8);
    }
    return most;
}

struct Found {
    std::size_t length = 0;  ///< bytes as they stand
    std::size_t means = 0;   ///< bytes of the text that they stand for
};

/// The string that begins here, up to its quote; nothing when it has a Unicode escape, a control character or no end, or
/// is not UTF-8.
std::optional<Found> string_at(std::string_view bytes) {
    Found found;
    bool ascii = true;
    while (true) {
        const std::size_t plain = plain_length(bytes.data() + found.length, bytes.size() - found.length);
        found.length += plain;
        found.means += plain;
        if (found.length + 1 >= bytes.size()) return std::nullopt;
        const char byte = bytes[found.length];
        if (byte == '"') break;
        if (byte == '\\') {
            constexpr std::string_view kShort = "\"\\/bfnrt";
            if (kShort.find(bytes[found.length + 1]) == std::string_view::npos) return std::nullopt;
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

/// The whole number without a sign that begins here, at most 15 digits and no superfluous zero, so that it is
/// a number to any parser; nothing when it is something else.
std::optional<Found> number_at(std::string_view bytes) {
    constexpr std::size_t kMostDigits = 15;
    std::size_t length = 0;
    const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
    while (length < bytes.size() && is_digit(bytes[length])) ++length;
    const bool valid = length > 0 && length <= kMostDigits && (length == 1 || bytes.front() != '0');
    return valid ? std::optional(Found{length, length}) : std::nullopt;
}

std::optional<Found> value_at(ShapeHole::Kind kind, std::string_view bytes) {
    return kind == ShapeHole::Kind::number ? number_at(bytes) : string_at(bytes);
}

}  // namespace

std::optional<DeltaShape> DeltaShape::of(std::string_view event, std::span<const ShapeHole> holes) {
    if (event.size() > kLongest || holes.size() > kMostHoles) return std::nullopt;
    std::size_t outputs = 0;
    std::size_t free_from = 0;
    for (const ShapeHole& hole : holes) {
        outputs += hole.kind == ShapeHole::Kind::output ? 1 : 0;
        const std::size_t end = std::size_t{hole.begin} + hole.length;
        if (hole.begin < free_from || end >= event.size()) return std::nullopt;
        const auto value = value_at(hole.kind, event.substr(hole.begin));
        if (!value || value->length != hole.length) return std::nullopt;
        free_from = end;
    }
    if (outputs != 1) return std::nullopt;
    DeltaShape shape;
    shape.bytes_ = event;
    std::copy(holes.begin(), holes.end(), shape.holes_.begin());
    shape.hole_count_ = holes.size();
    return shape;
}

std::optional<std::uint32_t> DeltaShape::output_bytes(std::string_view event) const {
    std::string_view mine = bytes_;
    std::size_t taken = 0;  // of mine
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
        if (hole.kind == ShapeHole::Kind::output) output = static_cast<std::uint32_t>(value->means);
        event.remove_prefix(value->length);
        mine.remove_prefix(hole.length);
        taken += hole.length;
    }
    if (event.size() != mine.size() || !take_same(mine.size()) || output == 0) return std::nullopt;
    return output;
}

}  // namespace paretoken::openai
