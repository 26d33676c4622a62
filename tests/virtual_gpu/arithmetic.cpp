#include "tests/virtual_gpu/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/virtual_gpu/tensor_core.h"

namespace paretoken::virtual_gpu {
namespace {

using Half = _Float16;

/// Types for register contents, so that the functions below can tell them apart: pairs of fp16 numbers, pairs
/// of bf16 numbers, and one bf16 number.
struct HalfPair {
    std::uint16_t low = 0;
    std::uint16_t high = 0;
};
struct Bf16Pair {
    std::uint16_t low = 0;
    std::uint16_t high = 0;
};
struct Bf16 {
    std::uint16_t bits = 0;
};

template <class Value>
constexpr Cell cell_of() {
    if constexpr (std::is_same_v<Value, bool>) {
        return Cell::predicate;
    } else {
        return sizeof(Value) == 8 ? Cell::wide : Cell::narrow;
    }
}

template <class Value>
Value read(const Lanes& lanes, Slot slot, int lane) {
    if constexpr (std::is_same_v<Value, bool>) {
        return (lanes.predicate(slot) >> lane & 1U) != 0;
    } else {
        return lanes.get<Value>(slot, lane);
    }
}

/// The values of one register in all lanes.
template <class Value>
struct Column {
    Value values[kLanes];
    Column(const Lanes& lanes, Slot slot) { lanes.get_all(slot, values); }
    Value operator[](int lane) const { return values[lane]; }
};
template <>
struct Column<bool> {
    std::uint32_t bits;
    Column(const Lanes& lanes, Slot slot) : bits(lanes.predicate(slot)) {}
    bool operator[](int lane) const { return (bits >> lane & 1U) != 0; }
};

/// True if at most two lanes are set.
bool are_few(std::uint32_t lanes) {
    const std::uint32_t without_first = lanes & (lanes - 1);
    return (without_first & (without_first - 1)) == 0;
}

/// Computes the function for all lanes, because the compiler vectorises that loop, and stores the results of
/// the active lanes only. If at most two lanes are active, it computes just these, one by one.
template <auto kFunction, class To, class... From, std::size_t... kIndex>
void run_each(const Instruction& i, Lanes& lanes, std::index_sequence<kIndex...>) {
    if (are_few(lanes.active)) {
        for_lanes(lanes.active, [&](int lane) {
            const auto value = static_cast<To>(kFunction(read<From>(lanes, i.from[kIndex], lane)...));
            if constexpr (std::is_same_v<To, bool>) {
                std::uint32_t& bits = lanes.predicate(i.to[0]);
                bits = (bits & ~(1U << lane)) | static_cast<std::uint32_t>(value) << lane;
            } else {
                lanes.set<To>(i.to[0], lane, value);
            }
        });
        return;
    }
    const auto compute = [&](const Column<From>&... from) {
        To results[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) results[lane] = static_cast<To>(kFunction(from[lane]...));
        if constexpr (std::is_same_v<To, bool>) {
            std::uint32_t bits = 0;
            for (int lane = 0; lane < kLanes; ++lane)
                bits |= static_cast<std::uint32_t>(results[lane]) << lane;
            lanes.predicate(i.to[0]) = (lanes.predicate(i.to[0]) & ~lanes.active) | (bits & lanes.active);
        } else {
            lanes.set_all(i.to[0], results);
        }
    };
    compute(Column<From>(lanes, i.from[kIndex])...);
}

template <auto kFunction, class To, class... From>
void each(const Instruction& i, Lanes& lanes) {
    run_each<kFunction, To, From...>(i, lanes, std::index_sequence_for<From...>{});
}

template <auto kFunction, class To, class... From>
Arithmetic of() {
    return {&each<kFunction, To, From...>, cell_of<To>(), {cell_of<From>()...}};
}

using Table = std::map<std::string, Arithmetic, std::less<>>;

template <class Value>
constexpr const char* name_of() {
    if constexpr (std::is_same_v<Value, std::uint16_t>) return "u16";
    if constexpr (std::is_same_v<Value, std::int16_t>) return "s16";
    if constexpr (std::is_same_v<Value, std::uint32_t>) return "u32";
    if constexpr (std::is_same_v<Value, std::int32_t>) return "s32";
    if constexpr (std::is_same_v<Value, std::uint64_t>) return "u64";
    if constexpr (std::is_same_v<Value, std::int64_t>) return "s64";
    if constexpr (std::is_same_v<Value, std::uint8_t>) return "u8";
    if constexpr (std::is_same_v<Value, std::int8_t>) return "s8";
    if constexpr (std::is_same_v<Value, float>) return "f32";
    if constexpr (std::is_same_v<Value, double>) return "f64";
    if constexpr (std::is_same_v<Value, Half>) return "f16";
    if constexpr (std::is_same_v<Value, Bf16>) return "bf16";
    return "";
}

/// Integer arithmetic is computed in this type, so that it wraps around.
template <class Value>
using Unsigned = std::make_unsigned_t<Value>;

template <class... Value>
struct Types {};
using Integers = Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
using Floats = Types<float, double>;

template <class... Value, class Act>
void for_types(Types<Value...>, Act act) {
    (act(Value{}), ...);
}

template <auto kFunction, class Value>
void add_binary(Table& table, const char* base) {
    table[std::string(base) + "." + name_of<Value>()] = of<kFunction, Value, Value, Value>();
}

template <class Value>
void add_integer_arithmetic(Table& table) {
    using U = Unsigned<Value>;
    add_binary<[](Value a, Value b) { return static_cast<Value>(U(a) + U(b)); }, Value>(table, "add");
    add_binary<[](Value a, Value b) { return static_cast<Value>(U(a) - U(b)); }, Value>(table, "sub");
    add_binary<[](Value a, Value b) { return static_cast<Value>(std::uint64_t(U(a)) * std::uint64_t(U(b))); },
               Value>(table, "mul.lo");
    add_binary<[](Value a, Value b) { return std::min(a, b); }, Value>(table, "min");
    add_binary<[](Value a, Value b) { return std::max(a, b); }, Value>(table, "max");
    // A division by zero sets all bits of the result, as the hardware does.
    add_binary<[](Value a, Value b) {
        if (b == 0) return static_cast<Value>(-1);
        if constexpr (std::is_signed_v<Value>) {
            if (b == Value(-1)) return static_cast<Value>(U(0) - U(a));
        }
        return static_cast<Value>(a / b);
    },
               Value>(table, "div");
    add_binary<[](Value a, Value b) {
        if (b == 0) return a;
        if constexpr (std::is_signed_v<Value>) {
            if (b == Value(-1)) return Value(0);
        }
        return static_cast<Value>(a % b);
    },
               Value>(table, "rem");
    const std::string type = name_of<Value>();
    table["neg." + type] = of<[](Value a) { return static_cast<Value>(U(0) - U(a)); }, Value, Value>();
    table["abs." + type] =
        of<[](Value a) { return a < 0 ? static_cast<Value>(U(0) - U(a)) : a; }, Value, Value>();
    table["mad.lo." + type] = of<[](Value a, Value b, Value c) {
        return static_cast<Value>(std::uint64_t(U(a)) * std::uint64_t(U(b)) + std::uint64_t(U(c)));
    },
                                 Value, Value, Value, Value>();
    // A shift by the width or more shifts out all bits; only copies of the sign remain.
    table["shr." + type] = of<[](Value a, std::uint32_t count) {
        constexpr std::uint32_t kBits = sizeof(Value) * 8;
        if (count >= kBits) return static_cast<Value>(std::is_signed_v<Value> && a < 0 ? -1 : 0);
        return static_cast<Value>(a >> count);
    },
                              Value, Value, std::uint32_t>();
}

template <class Value, class Wide>
void add_widening(Table& table) {
    const std::string type = name_of<Value>();
    table["mul.wide." + type] =
        of<[](Value a, Value b) { return static_cast<Wide>(Wide(a) * Wide(b)); }, Wide, Value, Value>();
    table["mad.wide." + type] = of<[](Value a, Value b, Wide c) {
        return static_cast<Wide>(Unsigned<Wide>(Wide(a) * Wide(b)) + Unsigned<Wide>(c));
    },
                                   Wide, Value, Value, Wide>();
}

__extension__ using Int128 = __int128;

template <class Value>
void add_high_products(Table& table) {
    add_binary<[](Value a, Value b) {
        return static_cast<Value>((static_cast<Int128>(a) * static_cast<Int128>(b)) >> (sizeof(Value) * 8));
    },
               Value>(table, "mul.hi");
}
template <>
void add_high_products<std::uint64_t>(Table& table) {
    add_binary<[](std::uint64_t a, std::uint64_t b) {
        __extension__ using U = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<U>(a) * b) >> 64);
    },
               std::uint64_t>(table, "mul.hi");
}

template <class Value>
void add_bits(Table& table, const std::string& type) {
    using V = Value;
    table["and." + type] = of<[](V a, V b) { return V(a & b); }, V, V, V>();
    table["or." + type] = of<[](V a, V b) { return V(a | b); }, V, V, V>();
    table["xor." + type] = of<[](V a, V b) { return V(a ^ b); }, V, V, V>();
    table["not." + type] = of<[](V a) { return V(~a); }, V, V>();
    table["shl." + type] = of<[](V a, std::uint32_t count) {
        return count >= sizeof(V) * 8 ? V(0) : V(static_cast<std::uint64_t>(a) << count);
    },
                              V, V, std::uint32_t>();
    table["shr." + type] =
        of<[](V a, std::uint32_t count) { return count >= sizeof(V) * 8 ? V(0) : V(a >> count); }, V, V,
           std::uint32_t>();
}

template <class Value>
void add_selects(Table& table, const std::string& type) {
    table["selp." + type] =
        of<[](Value a, Value b, bool first) { return first ? a : b; }, Value, Value, Value, bool>();
    table["mov." + type] = of<[](Value a) { return a; }, Value, Value>();
}

template <class Value>
void add_compares(Table& table, const std::string& type) {
    using V = Value;
    table["setp.eq." + type] = of<[](V a, V b) { return a == b; }, bool, V, V>();
    table["setp.ne." + type] =
        of<[](V a, V b) { return (a < b) || (a > b); }, bool, V, V>();  // false if an operand is NaN
    table["setp.lt." + type] = of<[](V a, V b) { return a < b; }, bool, V, V>();
    table["setp.le." + type] = of<[](V a, V b) { return a <= b; }, bool, V, V>();
    table["setp.gt." + type] = of<[](V a, V b) { return (a > b); }, bool, V, V>();
    table["setp.ge." + type] = of<[](V a, V b) { return a >= b; }, bool, V, V>();
    if constexpr (std::is_floating_point_v<V>) {  // all of these but num are true if an operand is NaN
        table["setp.equ." + type] = of<[](V a, V b) { return !((a < b) || (a > b)); }, bool, V, V>();
        table["setp.neu." + type] = of<[](V a, V b) { return !(a == b); }, bool, V, V>();
        table["setp.ltu." + type] = of<[](V a, V b) { return !(a >= b); }, bool, V, V>();
        table["setp.leu." + type] = of<[](V a, V b) { return !(a > b); }, bool, V, V>();
        table["setp.gtu." + type] = of<[](V a, V b) { return !(a <= b); }, bool, V, V>();
        table["setp.geu." + type] = of<[](V a, V b) { return !(a < b); }, bool, V, V>();
        table["setp.num." + type] = of<[](V a, V b) { return a == a && b == b; }, bool, V, V>();
        table["setp.nan." + type] = of<[](V a, V b) { return a != a || b != b; }, bool, V, V>();
    } else {
        table["setp.lo." + type] = table["setp.lt." + type];
        table["setp.ls." + type] = table["setp.le." + type];
        table["setp.hi." + type] = table["setp.gt." + type];
        table["setp.hs." + type] = table["setp.ge." + type];
    }
}

template <class Value>
void add_float_arithmetic(Table& table) {
    using V = Value;
    add_binary<[](V a, V b) { return a + b; }, V>(table, "add");
    add_binary<[](V a, V b) { return a - b; }, V>(table, "sub");
    add_binary<[](V a, V b) { return a * b; }, V>(table, "mul");
    add_binary<[](V a, V b) { return a / b; }, V>(table, "div");
    // The minimum or maximum of a NaN and a number is the number. -0 is less than +0.
    add_binary<[](V a, V b) {
        if (a == b) return std::signbit(a) ? a : b;
        return a < b || b != b ? a : b;
    },
               V>(table, "min");
    add_binary<[](V a, V b) {
        if (a == b) return std::signbit(a) ? b : a;
        return (a > b) || b != b ? a : b;
    },
               V>(table, "max");
    const std::string type = name_of<V>();
    table["fma." + type] = of<[](V a, V b, V c) { return std::fma(a, b, c); }, V, V, V, V>();
    table["mad." + type] = table["fma." + type];
    table["neg." + type] = of<[](V a) { return -a; }, V, V>();
    table["abs." + type] = of<[](V a) { return std::fabs(a); }, V, V>();
    table["sqrt." + type] = of<[](V a) { return std::sqrt(a); }, V, V>();
    table["rsqrt." + type] = of<[](V a) { return V(1) / std::sqrt(a); }, V, V>();
    table["rcp." + type] = of<[](V a) { return V(1) / a; }, V, V>();
    table["ex2." + type] = of<[](V a) { return std::exp2(a); }, V, V>();
    table["lg2." + type] = of<[](V a) { return std::log2(a); }, V, V>();
    table["sin." + type] = of<[](V a) { return std::sin(a); }, V, V>();
    table["cos." + type] = of<[](V a) { return std::cos(a); }, V, V>();
    table["copysign." + type] = of<[](V a, V b) { return std::copysign(b, a); }, V, V, V>();
}

/// Replaces a subnormal number with a zero of the same sign.
float flushed(float value) {
    return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}

Half half_of(std::uint16_t bits) {
    return std::bit_cast<Half>(bits);
}
/// The code of a computed number; every NaN becomes the canonical NaN, 0x7fff.
std::uint16_t bits_of(Half value) {
    const auto bits = std::bit_cast<std::uint16_t>(value);
    return (bits & 0x7fff) > 0x7c00 ? 0x7fff : bits;
}

/// A table of all 65536 halves as floats. Converting each operand on its own would cost more time than the
/// arithmetic on it.
const std::vector<float>& floats_of_halves() {
    static const std::vector<float> table = [] {
        std::vector<float> floats(1U << 16);
        for (std::uint32_t code = 0; code < floats.size(); ++code)
            floats[code] = static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(code)));
        return floats;
    }();
    return table;
}
float looked_up_half(std::uint16_t bits) {
    static const float* const floats = floats_of_halves().data();
    return floats[bits];
}

/// Rounds to nearest, ties to even; a NaN becomes the canonical NaN, 0x7fff.
std::uint16_t bf16_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return 0x7fff;
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float float_of_e4m3(std::uint8_t code) {
    const int exponent = code >> 3 & 15;
    const int fraction = code & 7;
    if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
    const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                     : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
    return (code & 0x80) != 0 ? -size : size;
}

/// Applies `act` to the low and to the high numbers of two pairs, in double. Sums and products of two fp16
/// numbers are exact in a double, so that the result is rounded only once, to fp16.
template <class Act>
HalfPair halves(HalfPair a, HalfPair b, Act act) {
    return {bits_of(static_cast<Half>(act(double(looked_up_half(a.low)), double(looked_up_half(b.low))))),
            bits_of(static_cast<Half>(act(double(looked_up_half(a.high)), double(looked_up_half(b.high)))))};
}
/// a · b + c for both numbers of the pairs. The product is exact in a double. The sum is rounded once more
/// than on a GPU only if it needs more than the 53 bits of a double.
HalfPair fused_halves(HalfPair a, HalfPair b, HalfPair c) {
    const auto one = [](std::uint16_t x, std::uint16_t y, std::uint16_t z) {
        return bits_of(static_cast<Half>(double(looked_up_half(x)) * double(looked_up_half(y)) +
                                         double(looked_up_half(z))));
    };
    return {one(a.low, b.low, c.low), one(a.high, b.high, c.high)};
}
/// product + c as a float that is rounded to odd: if the exact sum is no float, the result is the one of the
/// two neighbouring floats whose last bit is 1. Rounding the result to bf16 then equals rounding the exact
/// sum to bf16, because the result of an inexact sum is never a tie.
float sum_rounded_to_odd(double product, double c) {
    const double sum = product + c;
    if (!std::isfinite(sum)) return static_cast<float>(sum);
    // The rounding error of the sum (Knuth's TwoSum).
    const double of_c = sum - product;
    const double lost = (product - (sum - of_c)) + (c - of_c);
    const auto nearest = static_cast<float>(sum);
    if (!std::isfinite(nearest)) return nearest;
    const double missing = (sum - static_cast<double>(nearest)) + lost;
    if (missing == 0 || (std::bit_cast<std::uint32_t>(nearest) & 1) != 0) return nearest;
    return std::nextafter(nearest, missing > 0 ? std::numeric_limits<float>::infinity()
                                               : -std::numeric_limits<float>::infinity());
}
Bf16Pair fused_bf16(Bf16Pair a, Bf16Pair b, Bf16Pair c) {
    const auto one = [](std::uint16_t x, std::uint16_t y, std::uint16_t z) {
        return bf16_of(sum_rounded_to_odd(double(float_of_bf16(x)) * double(float_of_bf16(y)),
                                          double(float_of_bf16(z))));
    };
    return {one(a.low, b.low, c.low), one(a.high, b.high, c.high)};
}

void add_16_bit_floats(Table& table) {
    using H = HalfPair;
    table["add.f16x2"] =
        of<[](H a, H b) { return halves(a, b, [](double x, double y) { return x + y; }); }, H, H, H>();
    table["sub.f16x2"] =
        of<[](H a, H b) { return halves(a, b, [](double x, double y) { return x - y; }); }, H, H, H>();
    table["mul.f16x2"] =
        of<[](H a, H b) { return halves(a, b, [](double x, double y) { return x * y; }); }, H, H, H>();
    table["fma.f16x2"] = of<[](H a, H b, H c) { return fused_halves(a, b, c); }, H, H, H, H>();
    table["fma.bf16x2"] = of<[](Bf16Pair a, Bf16Pair b, Bf16Pair c) { return fused_bf16(a, b, c); }, Bf16Pair,
                             Bf16Pair, Bf16Pair, Bf16Pair>();
}

template <class To, class From>
To converted(From value) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        // According to PTX, NaN becomes zero; if either type has 64 bits, only the highest bit is set
        // instead.
        if (std::isnan(value)) {
            if constexpr (sizeof(From) < 8 && sizeof(To) < 8) return 0;
            return static_cast<To>(std::uint64_t{1} << (sizeof(To) * 8 - 1));
        }
        constexpr auto kLowest = static_cast<double>(std::numeric_limits<To>::min());
        constexpr auto kHighest = static_cast<double>(std::numeric_limits<To>::max());
        if (static_cast<double>(value) <= kLowest) return std::numeric_limits<To>::min();
        if (static_cast<double>(value) >= kHighest) return std::numeric_limits<To>::max();
    }
    return static_cast<To>(value);
}

/// The type of a conversion's result in its register, which may be wider than the result: signed results of 8
/// and 16 bits are extended with their sign.
template <class To>
using InRegister =
    std::conditional_t<std::is_same_v<To, std::int8_t> || std::is_same_v<To, std::int16_t>, std::int32_t, To>;

template <class To, class From>
void add_conversion(Table& table) {
    using Kept = InRegister<To>;
    const std::string types = std::string(name_of<To>()) + "." + name_of<From>();
    table["cvt." + types] = of<[](From a) { return Kept{converted<To>(a)}; }, Kept, From>();
    if constexpr (std::is_floating_point_v<From>) {
        table["cvt.rzi." + types] =
            of<[](From a) { return Kept{converted<To>(std::trunc(a))}; }, Kept, From>();
        table["cvt.rni." + types] =
            of<[](From a) { return Kept{converted<To>(std::nearbyint(a))}; }, Kept, From>();
        table["cvt.rmi." + types] =
            of<[](From a) { return Kept{converted<To>(std::floor(a))}; }, Kept, From>();
        table["cvt.rpi." + types] =
            of<[](From a) { return Kept{converted<To>(std::ceil(a))}; }, Kept, From>();
    }
}

template <class From>
void add_conversions_from(Table& table) {
    for_types(Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                    std::uint64_t, std::int64_t, float, double>{},
              [&]<class To>(To) { add_conversion<To, From>(table); });
}

void add_conversions(Table& table) {
    for_types(Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                    std::uint64_t, std::int64_t, float, double>{},
              [&]<class From>(From) { add_conversions_from<From>(table); });
    using U16 = std::uint16_t;
    table["cvt.f16.f32"] = of<[](float a) { return bits_of(static_cast<Half>(a)); }, U16, float>();
    table["cvt.f32.f16"] = of<[](U16 a) { return static_cast<float>(half_of(a)); }, float, U16>();
    table["cvt.f64.f16"] = of<[](U16 a) { return static_cast<double>(half_of(a)); }, double, U16>();
    table["cvt.bf16.f32"] = of<[](float a) { return bf16_of(a); }, U16, float>();
    table["cvt.f32.bf16"] = of<[](U16 a) { return float_of_bf16(a); }, float, U16>();
    table["cvt.f16x2.f32"] = of<[](float high, float low) {
        return HalfPair{bits_of(static_cast<Half>(low)), bits_of(static_cast<Half>(high))};
    },
                                HalfPair, float, float>();
    table["cvt.bf16x2.f32"] = of<[](float high, float low) {
        return Bf16Pair{bf16_of(low), bf16_of(high)};
    },
                                 Bf16Pair, float, float>();
    table["cvt.f16x2.e4m3x2"] = of<[](U16 codes) {
        return HalfPair{bits_of(static_cast<Half>(float_of_e4m3(static_cast<std::uint8_t>(codes)))),
                        bits_of(static_cast<Half>(float_of_e4m3(static_cast<std::uint8_t>(codes >> 8))))};
    },
                                   HalfPair, U16>();
}

/// prmt (byte permute) without a mode. If bit 3 of a byte's selector is set, the sign bit of the selected
/// byte fills the result byte.
std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
    std::uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t which = selector >> (4 * i) & 15;
        auto byte = static_cast<std::uint32_t>(bytes >> (8 * (which & 7)) & 0xff);
        if ((which & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

std::uint32_t inserted(std::uint32_t from, std::uint32_t into, std::uint32_t at, std::uint32_t count) {
    at &= 0xff;
    count &= 0xff;
    if (at >= 32 || count == 0) return into;
    const std::uint64_t mask = ((count >= 32 ? 1ULL << 32 : 1ULL << count) - 1) << at;
    return static_cast<std::uint32_t>((into & ~mask) | (static_cast<std::uint64_t>(from) << at & mask));
}
std::uint64_t inserted_wide(std::uint64_t from, std::uint64_t into, std::uint32_t at, std::uint32_t count) {
    at &= 0xff;
    count &= 0xff;
    if (at >= 64 || count == 0) return into;
    const std::uint64_t mask = (count >= 64 ? ~0ULL : (1ULL << count) - 1) << at;
    return (into & ~mask) | (from << at & mask);
}
template <class Value>
Value extracted(Value from, std::uint32_t at, std::uint32_t count) {
    at &= 0xff;
    count &= 0xff;
    constexpr std::uint32_t kBits = sizeof(Value) * 8;
    using U = std::make_unsigned_t<Value>;
    const U shifted =
        at >= kBits ? (std::is_signed_v<Value> && from < 0 ? U(~U(0)) : U(0)) : static_cast<U>(from >> at);
    if (count >= kBits) return static_cast<Value>(shifted);
    if (count == 0) return 0;
    const U kept = shifted & static_cast<U>((U(1) << count) - 1);
    if constexpr (std::is_signed_v<Value>) {
        if ((kept >> (count - 1) & 1) != 0) return static_cast<Value>(kept | static_cast<U>(~U(0) << count));
    }
    return static_cast<Value>(kept);
}

/// lop3: bit i of `table` is the result for those bits of a, b and c that form the number i, with the bit of
/// a as the highest.
std::uint32_t looked_up(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint32_t wanted = 0U - (table >> i & 1);
        result |= wanted & ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    }
    return result;
}

void add_other_bits(Table& table) {
    using U = std::uint32_t;
    table["prmt.b32"] = of<[](U a, U b, U s) { return permuted(a, b, s); }, U, U, U, U>();
    table["bfi.b32"] = of<[](U a, U b, U at, U n) { return inserted(a, b, at, n); }, U, U, U, U, U>();
    table["bfi.b64"] =
        of<[](std::uint64_t a, std::uint64_t b, U at, U n) { return inserted_wide(a, b, at, n); },
           std::uint64_t, std::uint64_t, std::uint64_t, U, U>();
    table["bfe.u32"] = of<[](U a, U at, U n) { return extracted(a, at, n); }, U, U, U, U>();
    table["bfe.s32"] =
        of<[](std::int32_t a, U at, U n) { return extracted(a, at, n); }, std::int32_t, std::int32_t, U, U>();
    table["lop3.b32"] = of<[](U a, U b, U c, U t) { return looked_up(a, b, c, t); }, U, U, U, U, U>();
    table["bfe.u64"] = of<[](std::uint64_t a, U at, U n) { return extracted(a, at, n); }, std::uint64_t,
                          std::uint64_t, U, U>();
    table["bfe.s64"] =
        of<[](std::int64_t a, U at, U n) { return extracted(a, at, n); }, std::int64_t, std::int64_t, U, U>();
    table["popc.b32"] = of<[](U a) { return std::popcount(a); }, U, U>();
    table["popc.b64"] = of<[](std::uint64_t a) { return std::popcount(a); }, U, std::uint64_t>();
    table["clz.b32"] = of<[](U a) { return std::countl_zero(a); }, U, U>();
    table["clz.b64"] = of<[](std::uint64_t a) { return std::countl_zero(a); }, U, std::uint64_t>();
    table["brev.b32"] = of<[](U a) {
        U reversed = 0;
        for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1) << (31 - i);
        return reversed;
    },
                           U, U>();
    table["shf.l.wrap.b32"] = of<[](U low, U high, U n) {
        return static_cast<U>(((static_cast<std::uint64_t>(high) << 32 | low) << (n & 31)) >> 32);
    },
                                 U, U, U, U>();
    table["shf.r.wrap.b32"] = of<[](U low, U high, U n) {
        return static_cast<U>((static_cast<std::uint64_t>(high) << 32 | low) >> (n & 31));
    },
                                 U, U, U, U>();
}

void add_predicates(Table& table) {
    table["and.pred"] = of<[](bool a, bool b) { return a && b; }, bool, bool, bool>();
    table["or.pred"] = of<[](bool a, bool b) { return a || b; }, bool, bool, bool>();
    table["xor.pred"] = of<[](bool a, bool b) { return a != b; }, bool, bool, bool>();
    table["not.pred"] = of<[](bool a) { return !a; }, bool, bool>();
    table["mov.pred"] = of<[](bool a) { return a; }, bool, bool>();
}

Table all_arithmetic() {
    Table table;
    for_types(Integers{}, [&]<class Value>(Value) {
        add_integer_arithmetic<Value>(table);
        add_compares<Value>(table, name_of<Value>());
        add_selects<Value>(table, name_of<Value>());
    });
    for_types(Integers{}, [&]<class Value>(Value) { add_high_products<Value>(table); });
    add_widening<std::uint16_t, std::uint32_t>(table);
    add_widening<std::int16_t, std::int32_t>(table);
    add_widening<std::uint32_t, std::uint64_t>(table);
    add_widening<std::int32_t, std::int64_t>(table);
    table["ex2.ftz.f32"] = of<[](float a) { return flushed(std::exp2(flushed(a))); }, float, float>();
    for_types(Floats{}, [&]<class Value>(Value) {
        add_float_arithmetic<Value>(table);
        add_compares<Value>(table, name_of<Value>());
        add_selects<Value>(table, name_of<Value>());
    });
    const auto bits = [&]<class Value>(Value, const char* type) {
        add_bits<Value>(table, type);
        add_selects<Value>(table, type);
        table[std::string("setp.eq.") + type] =
            of<[](Value a, Value b) { return a == b; }, bool, Value, Value>();
        table[std::string("setp.ne.") + type] =
            of<[](Value a, Value b) { return a != b; }, bool, Value, Value>();
    };
    bits(std::uint16_t{}, "b16");
    bits(std::uint32_t{}, "b32");
    bits(std::uint64_t{}, "b64");
    add_16_bit_floats(table);
    add_conversions(table);
    add_other_bits(table);
    add_predicates(table);
    return table;
}

/// True for the parts of a mnemonic that do not change the result here: the rounding to nearest, which is the
/// default, and the permission to approximate.
bool is_detail(std::string_view part) {
    for (const std::string_view detail : {"rn", "approx", "full"}) {
        if (part == detail) return true;
    }
    return false;
}

template <Shuffle kWhich>
void shuffled(const Instruction& i, Lanes& lanes) {
    std::uint32_t values[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = lanes.get<std::uint32_t>(i.from[0], lane);
    std::uint32_t in_range = 0;
    for_lanes(lanes.active, [&](int lane) {
        const auto b = static_cast<int>(lanes.get<std::uint32_t>(i.from[1], lane) & 31);
        const auto c = lanes.get<std::uint32_t>(i.from[2], lane);
        const auto segment = static_cast<int>(c >> 8 & 31);
        const int clamp = static_cast<int>(c & 31);
        const int last = (lane & segment) | (clamp & ~segment);
        const int first = lane & segment;
        int source = lane;
        bool valid = true;
        switch (kWhich) {
            case Shuffle::up:
                source = lane - b;
                valid = source >= last;
                break;
            case Shuffle::down:
                source = lane + b;
                valid = source <= last;
                break;
            case Shuffle::butterfly:
                source = lane ^ b;
                valid = source <= last;
                break;
            case Shuffle::index:
                source = first | (b & ~segment);
                valid = source <= last;
                break;
        }
        if (!valid) source = lane;
        if ((lanes.active >> source & 1) == 0) lanes.bereft |= 1U << lane;
        if (valid) in_range |= 1U << lane;
        lanes.set<std::uint32_t>(i.to[0], lane, values[source]);
    });
    if (i.to[1] == kNoSlot) return;
    lanes.predicate(i.to[1]) = (lanes.predicate(i.to[1]) & ~lanes.active) | in_range;
}

template <bool kBf16>
float widened(std::uint32_t pair, int half) {
    const auto bits = static_cast<std::uint16_t>(half == 0 ? pair : pair >> 16);
    return kBf16 ? float_of_bf16(bits) : looked_up_half(bits);
}

/// mma.m16n8k16. The PTX manual's figures for m16n8k16 give the row and the column of each number in the
/// registers of a lane, where lane = 4 · group + thread.
template <bool kBf16, int kCapability>
void multiplied(const Instruction& i, Lanes& lanes) {
    float a[kMatrixRows][kMatrixDepth];     // [m][k]
    float b[kMatrixDepth][kMatrixColumns];  // [k][n]
    float c[kMatrixRows][kMatrixColumns];
    for (int lane = 0; lane < kLanes; ++lane) {
        const int group = lane / 4;
        const int thread = lane % 4;
        for (int r = 0; r < 4; ++r) {
            const auto pair = lanes.get<std::uint32_t>(i.from[r], lane);
            const int row = group + (r % 2 == 1 ? 8 : 0);
            const int k = thread * 2 + (r >= 2 ? 8 : 0);
            a[row][k] = widened<kBf16>(pair, 0);
            a[row][k + 1] = widened<kBf16>(pair, 1);
        }
        for (int r = 0; r < 2; ++r) {
            const auto pair = lanes.get<std::uint32_t>(i.from[4 + r], lane);
            b[thread * 2 + 8 * r][group] = widened<kBf16>(pair, 0);
            b[thread * 2 + 8 * r + 1][group] = widened<kBf16>(pair, 1);
        }
        for (int r = 0; r < 4; ++r)
            c[group + (r >= 2 ? 8 : 0)][thread * 2 + r % 2] = lanes.get<float>(i.from[6 + r], lane);
    }
    multiply_accumulated(tensor_core_of(kCapability), c, a, b);
    for (int lane = 0; lane < kLanes; ++lane) {
        for (int r = 0; r < 4; ++r)
            lanes.set<float>(i.to[r], lane, c[lane / 4 + (r >= 2 ? 8 : 0)][lane % 4 * 2 + r % 2]);
    }
}

}  // namespace

float float_of_half(std::uint16_t bits) {
    return static_cast<float>(half_of(bits));
}

float float_of_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::optional<Arithmetic> arithmetic_of(std::span<const std::string> mnemonic) {
    static const Table table = all_arithmetic();
    const auto named = [&](bool flushes) {
        std::string name;
        for (const std::string& part : mnemonic) {
            if (is_detail(part) || (!flushes && part == "ftz")) continue;
            if (!name.empty()) name += '.';
            name += part;
        }
        return table.find(name);
    };
    // If the table has no entry for an instruction with .ftz (subnormal numbers become zeros), the
    // instruction is computed without .ftz.
    auto found = named(true);
    if (found == table.end()) found = named(false);
    if (found == table.end()) return std::nullopt;
    return found->second;
}

void pack_two_words(const Instruction& i, Lanes& lanes) {
    for_lanes(lanes.active, [&](int lane) {
        lanes.set<std::uint64_t>(i.to[0], lane,
                                 static_cast<std::uint64_t>(lanes.get<std::uint32_t>(i.from[1], lane)) << 32 |
                                     lanes.get<std::uint32_t>(i.from[0], lane));
    });
}
void unpack_two_words(const Instruction& i, Lanes& lanes) {
    for_lanes(lanes.active, [&](int lane) {
        const auto value = lanes.get<std::uint64_t>(i.from[0], lane);
        if (i.to[0] != kNoSlot) lanes.set<std::uint32_t>(i.to[0], lane, static_cast<std::uint32_t>(value));
        if (i.to[1] != kNoSlot)
            lanes.set<std::uint32_t>(i.to[1], lane, static_cast<std::uint32_t>(value >> 32));
    });
}
void pack_two_halves(const Instruction& i, Lanes& lanes) {
    for_lanes(lanes.active, [&](int lane) {
        lanes.set<std::uint32_t>(i.to[0], lane,
                                 static_cast<std::uint32_t>(lanes.get<std::uint16_t>(i.from[1], lane)) << 16 |
                                     lanes.get<std::uint16_t>(i.from[0], lane));
    });
}
void unpack_two_halves(const Instruction& i, Lanes& lanes) {
    for_lanes(lanes.active, [&](int lane) {
        const auto value = lanes.get<std::uint32_t>(i.from[0], lane);
        if (i.to[0] != kNoSlot) lanes.set<std::uint16_t>(i.to[0], lane, static_cast<std::uint16_t>(value));
        if (i.to[1] != kNoSlot)
            lanes.set<std::uint16_t>(i.to[1], lane, static_cast<std::uint16_t>(value >> 16));
    });
}

Execute shuffle(Shuffle which) {
    switch (which) {
        case Shuffle::up:
            return shuffled<Shuffle::up>;
        case Shuffle::down:
            return shuffled<Shuffle::down>;
        case Shuffle::butterfly:
            return shuffled<Shuffle::butterfly>;
        case Shuffle::index:
            break;
    }
    return shuffled<Shuffle::index>;
}

Execute vote(std::string_view which) {
    if (which == "any") {
        return [](const Instruction& i, Lanes& lanes) {
            const bool any = (lanes.predicate(i.from[0]) & lanes.active) != 0;
            lanes.predicate(i.to[0]) = (lanes.predicate(i.to[0]) & ~lanes.active) | (any ? lanes.active : 0);
        };
    }
    if (which == "all") {
        return [](const Instruction& i, Lanes& lanes) {
            const bool all = (lanes.predicate(i.from[0]) & lanes.active) == lanes.active;
            lanes.predicate(i.to[0]) = (lanes.predicate(i.to[0]) & ~lanes.active) | (all ? lanes.active : 0);
        };
    }
    if (which == "ballot") {
        return [](const Instruction& i, Lanes& lanes) {
            const std::uint32_t set = lanes.predicate(i.from[0]) & lanes.active;
            for_lanes(lanes.active, [&](int lane) { lanes.set<std::uint32_t>(i.to[0], lane, set); });
        };
    }
    return nullptr;
}

Execute matrix_multiply(bool bf16, int capability) {
    if (bf16) return capability >= 90 ? multiplied<true, 90> : multiplied<true, 80>;
    return capability >= 90 ? multiplied<false, 90> : multiplied<false, 80>;
}

}  // namespace paretoken::virtual_gpu
