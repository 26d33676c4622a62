#pragma once
// Bytes that are compared together, as GCC and clang do with the vector instructions of any processor. A
// comparison of a ByteVector with a byte gives a ByteVector whose bytes are 0 (false) or -1.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace paretoken {

using ByteVector = signed char __attribute__((vector_size(16)));

/// `bytes` must have sizeof(ByteVector) readable bytes.
inline ByteVector byte_vector_at(const char* bytes) {
    ByteVector some;
    std::memcpy(&some, bytes, sizeof some);
    return some;
}

/// The halves of a vector, the bytes at the front first.
inline std::array<std::uint64_t, 2> words_of(ByteVector bytes) {
    return std::bit_cast<std::array<std::uint64_t, 2>>(bytes);
}

/// Returns whether a comparison is true for a byte.
inline bool any_of_bytes(ByteVector compared) {
    const auto words = words_of(compared);
    return (words[0] | words[1]) != 0;
}

}  // namespace paretoken
