#include "core/random.h"

#include <bit>
#include <cmath>

#include "core/random_below.h"

namespace paretoken {
namespace {

constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;

std::uint64_t scrambled(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

/// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001B3;
    return hash;
}

}  // namespace

std::uint64_t derived_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t index) {
    const std::uint64_t named = scrambled(scrambled(seed + kGoldenRatio) ^ hash_of(purpose));
    return scrambled(named + index * kGoldenRatio);
}

std::uint64_t server_seed(std::uint64_t seed, std::uint64_t number) {
    return number == 0 ? seed : derived_seed(seed, "server", number);
}

Random::result_type Random::operator()() {
    return scrambled(state_ += kGoldenRatio);
}

double Random::uniform() {
    return static_cast<double>((*this)() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
    const std::uint64_t uneven =
        (0 - bound) % bound;  // 2^64 mod bound: these are rejected, else small values are more frequent
    std::uint64_t drawn = (*this)();
    while (drawn < uneven) drawn = (*this)();
    return drawn % bound;
}

void fill_below(Random& random, std::uint64_t bound, std::int32_t low, std::span<std::int32_t> out) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t uneven = (0 - bound) % bound;
    const int shift = std::bit_width(bound - 1) - 1;
    const auto reciprocal = static_cast<std::uint64_t>((Wide{1} << (64 + shift)) / bound);
    for (std::int32_t& value : out) {
        std::uint64_t drawn = random();
        while (drawn < uneven) drawn = random();
        // The estimate of the quotient is at most 1 too small, and nearly always right.
        const auto quotient = static_cast<std::uint64_t>(Wide{drawn} * reciprocal >> 64U) >> shift;
        std::uint64_t left = drawn - quotient * bound;
        while (left >= bound) left -= bound;
        value = low + static_cast<std::int32_t>(left);
    }
}

double Random::exponential() {
    return -std::log1p(-uniform());
}

// Marsaglia's polar method. The second value is discarded, so that the seed state is the only state.
double Random::normal() {
    while (true) {
        const double x = 2 * uniform() - 1;
        const double y = 2 * uniform() - 1;
        const double square = x * x + y * y;
        if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
    }
}

double Random::gamma(double shape) {
    if (shape < 1) {  // Gamma(a) = Gamma(a + 1) · U^(1/a); 1 − U avoids a zero
        const double boosted = gamma(shape + 1);
        return boosted * std::pow(1 - uniform(), 1 / shape);
    }
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
        const double x = normal();
        const double root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root;
        if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
}

}  // namespace paretoken
