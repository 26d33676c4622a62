#include "tests/virtual_gpu/arithmetic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/virtual_gpu/small_kernel.h"

namespace paretoken::virtual_gpu {
namespace {

__extension__ using Wide = __int128;
using Operands = std::array<std::uint64_t, 4>;
using Oracle = std::function<std::uint64_t(const Operands&)>;

/// The name of a register of a class: h has 16 bits, r 32 bits, d 64 bits, f is fp32, g fp64, p a predicate.
std::string register_of(char kind, int index) {
    const char* const prefix = kind == 'h'   ? "%rs"
                               : kind == 'r' ? "%r"
                               : kind == 'd' ? "%rd"
                               : kind == 'f' ? "%f"
                               : kind == 'g' ? "%fd"
                                             : "%p";
    return fmt::format("{}{}", prefix, 10 + index);
}
std::size_t bits_of_kind(char kind) {
    return kind == 'h' ? 16 : kind == 'r' || kind == 'f' ? 32 : kind == 'p' ? 1 : 64;
}

/// The result of an instruction for each row of operands. `kinds` holds the register class of the result,
/// then those of the operands; `literal` is a last operand that is a number. For example, "rrr" with the
/// literal "3" gives 'mnemonic %r, %r, %r, 3'.
std::vector<std::uint64_t> computed(std::string_view mnemonic, std::string_view kinds,
                                    const std::vector<Operands>& rows, std::string_view literal = "") {
    constexpr unsigned kThreads = 64;
    std::string body =
        "mov.u32 %r3, %ntid.x;\nmad.lo.s32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd3, %r4, 32;\n"
        "add.s64 %rd4, %rd1, %rd3;\nmul.wide.u32 %rd5, %r4, 8;\nadd.s64 %rd6, %rd2, %rd5;\n";
    std::string call = fmt::format("{} {}", mnemonic, register_of(kinds[0], 9));
    for (std::size_t i = 1; i < kinds.size(); ++i) {
        const int at = static_cast<int>(i) - 1;
        const std::string name = register_of(kinds[i], at);
        if (kinds[i] == 'p') {
            body += fmt::format(
                "ld.global.u32 %r{0}, [%rd4+{1}];\nand.b32 %r{0}, %r{0}, 1;\nsetp.ne.s32 {2}, %r{0}, 0;\n",
                30 + at, 8 * at, name);
        } else {
            body += fmt::format("ld.global.b{} {}, [%rd4+{}];\n", bits_of_kind(kinds[i]), name, 8 * at);
        }
        call += ", " + name;
    }
    if (!literal.empty()) call += fmt::format(", {}", literal);
    body += call + ";\nst.global.b64 [%rd6], 0;\n";
    if (kinds[0] == 'p') {
        body += "selp.u32 %r40, 1, 0, %p19;\nst.global.b32 [%rd6], %r40;";
    } else {
        body += fmt::format("st.global.b{} [%rd6], {};", bits_of_kind(kinds[0]), register_of(kinds[0], 9));
    }
    Device device;
    std::vector<Operands> padded = rows;
    padded.resize((rows.size() + kThreads - 1) / kThreads * kThreads);
    auto* const in = device.holding(padded);
    auto* const out = device.room<std::uint64_t>(padded.size());
    const LaunchReport report = device.run(
        small_kernel(body), in, out,
        {.grid = {static_cast<unsigned>(padded.size()) / kThreads, 1, 1}, .block = {kThreads, 1, 1}});
    EXPECT_FALSE(report.fault) << mnemonic << ": " << report.fault->message;
    return {out, out + rows.size()};
}

/// Rows of operands: every pair of extreme values, and random numbers of all magnitudes.
std::vector<Operands> operands(std::size_t random_rows = 2000) {
    const std::vector<std::uint64_t> extremes{0,
                                              1,
                                              2,
                                              31,
                                              32,
                                              33,
                                              63,
                                              64,
                                              0x7f,
                                              0x80,
                                              0xff,
                                              0x7fff,
                                              0x8000,
                                              0xffff,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x100000000,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              0xffffffffffffffff};
    std::vector<Operands> rows;
    Random random(17);
    const auto any = [&] { return random() >> random.below(64); };
    for (const std::uint64_t a : extremes) {
        for (const std::uint64_t b : extremes) rows.push_back({a, b, any(), any()});
    }
    for (std::size_t i = 0; i < random_rows; ++i) rows.push_back({any(), any(), any(), any()});
    return rows;
}

void expect_same(std::string_view mnemonic, std::string_view kinds, const Oracle& oracle,
                 const std::vector<Operands>& rows, std::string_view literal = "") {
    const std::vector<std::uint64_t> results = computed(mnemonic, kinds, rows, literal);
    const std::size_t bits = bits_of_kind(kinds[0]);
    const std::uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint64_t wanted = oracle(rows[i]) & mask;
        ASSERT_EQ(results[i], wanted) << mnemonic
                                      << fmt::format(" of {:x} {:x} {:x} {:x}: {:x}, not {:x}", rows[i][0],
                                                     rows[i][1], rows[i][2], rows[i][3], results[i], wanted);
    }
}

/// The value of an integer of `width` bits.
Wide number(std::uint64_t bits, std::size_t width, bool is_signed) {
    const Wide modulus = Wide(1) << width;
    Wide value = static_cast<Wide>(bits) % modulus;
    if (is_signed && value >= modulus / 2) value -= modulus;
    return value;
}
std::uint64_t cut(Wide value) {
    return static_cast<std::uint64_t>(value);
}

struct IntegerType {
    const char* name;
    char kind;
    std::size_t bits;
    bool is_signed;
    Wide of(std::uint64_t value) const { return number(value, bits, is_signed); }
};
constexpr IntegerType kIntegers[] = {{"u16", 'h', 16, false}, {"s16", 'h', 16, true},
                                     {"u32", 'r', 32, false}, {"s32", 'r', 32, true},
                                     {"u64", 'd', 64, false}, {"s64", 'd', 64, true}};

TEST(Arithmetic, IntegersWrapAround) {
    for (const IntegerType& type : kIntegers) {
        const std::string kinds(4, type.kind);
        const std::string two = kinds.substr(0, 3);
        const auto name = [&](const char* base) { return fmt::format("{}.{}", base, type.name); };
        const auto rows = operands();
        expect_same(
            name("add"), two, [&](const Operands& o) { return cut(type.of(o[0]) + type.of(o[1])); }, rows);
        expect_same(
            name("sub"), two, [&](const Operands& o) { return cut(type.of(o[0]) - type.of(o[1])); }, rows);
        expect_same(
            name("mul.lo"), two, [&](const Operands& o) { return o[0] * o[1]; }, rows);
        expect_same(
            name("mad.lo"), kinds, [&](const Operands& o) { return o[0] * o[1] + o[2]; }, rows);
        expect_same(
            name("min"), two, [&](const Operands& o) { return cut(std::min(type.of(o[0]), type.of(o[1]))); },
            rows);
        expect_same(
            name("max"), two, [&](const Operands& o) { return cut(std::max(type.of(o[0]), type.of(o[1]))); },
            rows);
        if (!type.is_signed) continue;
        expect_same(
            name("neg"), two.substr(0, 2), [&](const Operands& o) { return cut(-type.of(o[0])); }, rows);
        expect_same(
            name("abs"), two.substr(0, 2),
            [&](const Operands& o) { return cut(type.of(o[0]) < 0 ? -type.of(o[0]) : type.of(o[0])); }, rows);
    }
}

TEST(Arithmetic, DivisionTruncatesAndSurvivesZeroAndTheLowestByMinusOne) {
    for (const IntegerType& type : kIntegers) {
        const std::string kinds(3, type.kind);
        const auto rows = operands();
        expect_same(
            fmt::format("div.{}", type.name), kinds,
            [&](const Operands& o) {
                return type.of(o[1]) == 0 ? ~0ULL : cut(type.of(o[0]) / type.of(o[1]));
            },
            rows);
        expect_same(
            fmt::format("rem.{}", type.name), kinds,
            [&](const Operands& o) { return type.of(o[1]) == 0 ? o[0] : cut(type.of(o[0]) % type.of(o[1])); },
            rows);
    }
}

TEST(Arithmetic, HighHalvesAndWideProductsAreExact) {
    __extension__ using Unsigned = unsigned __int128;
    for (const IntegerType& type : kIntegers) {
        const auto high = [&](const Operands& o) {
            if (!type.is_signed)
                return static_cast<std::uint64_t>(
                    (static_cast<Unsigned>(type.of(o[0])) * static_cast<Unsigned>(type.of(o[1]))) >>
                    type.bits);
            return cut((type.of(o[0]) * type.of(o[1])) >> type.bits);
        };
        expect_same(fmt::format("mul.hi.{}", type.name), std::string(3, type.kind), high, operands());
        if (type.bits == 64) continue;
        const char wide = type.bits == 16 ? 'r' : 'd';
        expect_same(
            fmt::format("mul.wide.{}", type.name), std::string{wide, type.kind, type.kind},
            [&](const Operands& o) { return cut(type.of(o[0]) * type.of(o[1])); }, operands());
        expect_same(
            fmt::format("mad.wide.{}", type.name), std::string{wide, type.kind, type.kind, wide},
            [&](const Operands& o) { return cut(type.of(o[0]) * type.of(o[1])) + o[2]; }, operands());
    }
}

TEST(Arithmetic, ShiftsBeyondTheWidthShiftEverythingOut) {
    for (const IntegerType& type : kIntegers) {
        const std::string kinds{type.kind, type.kind, 'r'};
        const auto count = [](const Operands& o) { return std::min<std::uint64_t>(o[1] & 0xffffffff, 100); };
        const auto right = [&](const Operands& o) {
            Wide value = type.of(o[0]);
            for (std::uint64_t i = 0; i < count(o); ++i) value = (value - (value & 1)) / 2;
            return cut(value);
        };
        expect_same(fmt::format("shr.{}", type.name), kinds, right, operands());
        if (type.is_signed) continue;
        expect_same(fmt::format("shr.b{}", type.bits), kinds, right, operands());
        expect_same(
            fmt::format("shl.b{}", type.bits), kinds,
            [&](const Operands& o) {
                std::uint64_t value = o[0];
                for (std::uint64_t i = 0; i < count(o); ++i) value += value;
                return value;
            },
            operands());
    }
    for (const char* const way : {"l", "r"}) {
        expect_same(
            fmt::format("shf.{}.wrap.b32", way), "rrrr",
            [&](const Operands& o) {
                const std::uint64_t both = (o[1] & 0xffffffff) << 32 | (o[0] & 0xffffffff);
                return *way == 'l' ? (both << (o[2] % 32)) >> 32 : both >> (o[2] % 32);
            },
            operands());
    }
}

TEST(Arithmetic, BitsAreCombinedOneByOne) {
    for (const auto& [kind, bits] : {std::pair{'h', 16}, {'r', 32}, {'d', 64}}) {
        const std::string kinds(3, kind);
        expect_same(
            fmt::format("and.b{}", bits), kinds, [](const Operands& o) { return o[0] & o[1]; }, operands());
        expect_same(
            fmt::format("or.b{}", bits), kinds, [](const Operands& o) { return o[0] | o[1]; }, operands());
        expect_same(
            fmt::format("xor.b{}", bits), kinds, [](const Operands& o) { return o[0] ^ o[1]; }, operands());
        expect_same(
            fmt::format("not.b{}", bits), kinds.substr(0, 2), [](const Operands& o) { return ~o[0]; },
            operands());
    }
    expect_same(
        "and.pred", "ppp", [](const Operands& o) { return o[0] & o[1] & 1; }, operands());
    expect_same(
        "or.pred", "ppp", [](const Operands& o) { return (o[0] | o[1]) & 1; }, operands());
    expect_same(
        "xor.pred", "ppp", [](const Operands& o) { return (o[0] ^ o[1]) & 1; }, operands());
    expect_same(
        "not.pred", "pp", [](const Operands& o) { return ~o[0] & 1; }, operands());
    const auto ones = [](std::uint64_t value, int bits) {
        std::uint64_t count = 0;
        for (int i = 0; i < bits; ++i) count += value >> i & 1;
        return count;
    };
    const auto zeros_before = [](std::uint64_t value, int bits) {
        std::uint64_t count = 0;
        while (count < static_cast<std::uint64_t>(bits) &&
               (value >> (bits - 1 - static_cast<int>(count)) & 1) == 0)
            ++count;
        return count;
    };
    expect_same(
        "popc.b32", "rr", [&](const Operands& o) { return ones(o[0], 32); }, operands());
    expect_same(
        "popc.b64", "rd", [&](const Operands& o) { return ones(o[0], 64); }, operands());
    expect_same(
        "clz.b32", "rr", [&](const Operands& o) { return zeros_before(o[0], 32); }, operands());
    expect_same(
        "clz.b64", "rd", [&](const Operands& o) { return zeros_before(o[0], 64); }, operands());
    expect_same(
        "brev.b32", "rr",
        [](const Operands& o) {
            std::uint64_t reversed = 0;
            for (int i = 0; i < 32; ++i) reversed = reversed << 1 | (o[0] >> i & 1);
            return reversed;
        },
        operands());
}

TEST(Arithmetic, EveryTableOfThreeBitsIsLookedUp) {
    for (int table = 0; table < 256; ++table) {
        expect_same(
            "lop3.b32", "rrrr",
            [&](const Operands& o) {
                std::uint64_t result = 0;
                for (int bit = 0; bit < 32; ++bit) {
                    const std::uint64_t index =
                        (o[0] >> bit & 1) << 2 | (o[1] >> bit & 1) << 1 | (o[2] >> bit & 1);
                    result |= (static_cast<std::uint64_t>(table) >> index & 1) << bit;
                }
                return result;
            },
            {{0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0}, {0x12345678, 0x9abcdef0, 0x0fedcba9, 0}},
            std::to_string(table));
    }
}

TEST(Arithmetic, BytesArePermutedAndTheirSignsSpread) {
    auto rows = operands();
    for (std::uint64_t selector = 0; selector < 0x10000; selector += 257)
        rows.push_back({0x80ff017f, 0x7e8100fe, selector, 0});
    expect_same(
        "prmt.b32", "rrrr",
        [](const Operands& o) {
            std::uint64_t result = 0;
            for (int i = 0; i < 4; ++i) {
                const std::uint64_t selector = o[2] >> (4 * i) & 0xf;
                const std::uint64_t source = (selector & 7) < 4 ? o[0] : o[1];
                std::uint64_t byte = source >> (8 * (selector & 3)) & 0xff;
                if (selector >= 8) byte = byte >= 0x80 ? 0xff : 0x00;
                result += byte << (8 * i);
            }
            return result;
        },
        rows);
}

TEST(Arithmetic, FieldsOfBitsAreInsertedAndExtracted) {
    auto rows = operands();
    for (std::uint64_t at = 0; at < 70; ++at) {
        for (const std::uint64_t count : {0, 1, 5, 31, 32, 33, 63, 64, 255, 256})
            rows.push_back({0x9234567890abcdef, 0x5555aaaa5555aaaa, at, count});
    }
    // The reference computes bit by bit, as the PTX manual defines the instructions.
    for (const auto& [kind, bits] : {std::pair{'r', 32}, {'d', 64}}) {
        expect_same(
            fmt::format("bfi.b{}", bits), std::string{kind, kind, kind, 'r', 'r'},
            [&, width = static_cast<std::uint64_t>(bits)](const Operands& o) {
                const std::uint64_t at = o[2] & 0xff;
                const std::uint64_t count = o[3] & 0xff;
                std::uint64_t result = o[1];
                for (std::uint64_t i = 0; i < count && at + i < width; ++i)
                    result = (result & ~(1ULL << (at + i))) | (o[0] >> i & 1) << (at + i);
                return result;
            },
            rows);
        for (const bool is_signed : {false, true}) {
            expect_same(
                fmt::format("bfe.{}{}", is_signed ? 's' : 'u', bits), std::string{kind, kind, 'r', 'r'},
                [&, width = static_cast<std::uint64_t>(bits)](const Operands& o) {
                    const std::uint64_t at = o[1] & 0xff;
                    const std::uint64_t count = o[2] & 0xff;
                    const std::uint64_t sign_at = std::min(at + count - 1, width - 1);
                    const std::uint64_t sign = is_signed && count != 0 ? o[0] >> sign_at & 1 : 0;
                    std::uint64_t result = 0;
                    for (std::uint64_t i = 0; i < width; ++i) {
                        const std::uint64_t bit = i < count && at + i < width ? o[0] >> (at + i) & 1 : sign;
                        result |= bit << i;
                    }
                    return result;
                },
                rows);
        }
    }
}

TEST(Arithmetic, IntegersAreComparedWithTheirSigns) {
    const std::pair<const char*, bool (*)(Wide, Wide)> relations[] = {
        {"eq", [](Wide a, Wide b) { return a == b; }}, {"ne", [](Wide a, Wide b) { return a != b; }},
        {"lt", [](Wide a, Wide b) { return a < b; }},  {"le", [](Wide a, Wide b) { return a <= b; }},
        {"gt", [](Wide a, Wide b) { return a > b; }},  {"ge", [](Wide a, Wide b) { return a >= b; }}};
    for (const IntegerType& type : kIntegers) {
        for (const auto& [name, holds] : relations) {
            expect_same(
                fmt::format("setp.{}.{}", name, type.name), std::string{'p', type.kind, type.kind},
                [&, relation = holds](const Operands& o) { return relation(type.of(o[0]), type.of(o[1])); },
                operands());
        }
        expect_same(
            fmt::format("selp.{}", type.name), std::string{type.kind, type.kind, type.kind, 'p'},
            [](const Operands& o) { return (o[2] & 1) != 0 ? o[0] : o[1]; }, operands());
    }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Operands> pairs_of_floats() {
    std::vector<float> values{0.0F,      -0.0F,           1.0F,      -1.0F,      1.5F, 0x1p-126F,
                              0x1p-149F, 0x1.fffffep127F, kInfinity, -kInfinity, kNan, 3.25e8F};
    Random random(5);
    for (int i = 0; i < 30; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    std::vector<Operands> rows;
    for (const float a : values) {
        for (const float b : values)
            rows.push_back({std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b),
                            std::bit_cast<std::uint32_t>(values[random.below(values.size())]), random()});
    }
    return rows;
}
float float_of(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// Compares results with the reference bit for bit; only NaNs may differ in their bits.
void expect_float(std::string_view mnemonic, std::string_view kinds,
                  const std::function<float(float, float, float)>& oracle) {
    const auto rows = pairs_of_floats();
    const auto results = computed(mnemonic, kinds, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const float a = float_of(rows[i][0]);
        const float b = float_of(rows[i][1]);
        const float c = float_of(rows[i][2]);
        const float wanted = oracle(a, b, c);
        const float got = float_of(results[i]);
        if (std::isnan(wanted)) {
            ASSERT_TRUE(std::isnan(got)) << mnemonic << " of " << a << ", " << b << ", " << c;
        } else {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(wanted))
                << mnemonic << " of " << a << ", " << b << ", " << c << ": " << got;
        }
    }
}

TEST(Arithmetic, FloatsAreRoundedToNearestOnce) {
    // The reference computes in double. Its results are exact, or are rounded there without changing the
    // final rounding to float (Figueroa 1995).
    expect_float("add.f32", "fff",
                 [](float a, float b, float) { return static_cast<float>(double(a) + double(b)); });
    expect_float("sub.rn.f32", "fff",
                 [](float a, float b, float) { return static_cast<float>(double(a) - double(b)); });
    expect_float("mul.f32", "fff",
                 [](float a, float b, float) { return static_cast<float>(double(a) * double(b)); });
    expect_float("div.rn.f32", "fff",
                 [](float a, float b, float) { return static_cast<float>(double(a) / double(b)); });
    expect_float("fma.rn.f32", "ffff", [](float a, float b, float c) { return std::fmaf(a, b, c); });
    expect_float("rcp.rn.f32", "ff",
                 [](float a, float, float) { return static_cast<float>(1.0 / double(a)); });
    expect_float("sqrt.rn.f32", "ff",
                 [](float a, float, float) { return static_cast<float>(std::sqrt(double(a))); });
    expect_float("neg.f32", "ff", [](float a, float, float) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) ^ 0x80000000U);
    });
    expect_float("abs.f32", "ff", [](float a, float, float) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0x7fffffffU);
    });
}

TEST(Arithmetic, ApproximateFunctionsAreWithinTheManualsBounds) {
    std::vector<Operands> rows;
    for (float x = -40; x < 40; x += 0.37F) rows.push_back({std::bit_cast<std::uint32_t>(x), 0, 0, 0});
    const auto powers = computed("ex2.approx.ftz.f32", "ff", rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_NEAR(float_of(powers[i]) / std::exp2(double(float_of(rows[i][0]))), 1, 0x1p-22);
    for (Operands& row : rows) row[0] = std::bit_cast<std::uint32_t>(std::fabs(float_of(row[0])) + 0.01F);
    const auto logarithms = computed("lg2.approx.f32", "ff", rows);
    const auto roots = computed("rsqrt.approx.f32", "ff", rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double x = float_of(rows[i][0]);
        EXPECT_NEAR(float_of(logarithms[i]), std::log2(x), 0x1p-20);
        EXPECT_NEAR(float_of(roots[i]) * std::sqrt(x), 1, 0x1p-21);
    }
}

TEST(Arithmetic, SubnormalPowersAreFlushedWhereTheInstructionSaysSo) {
    const std::vector<Operands> rows{{std::bit_cast<std::uint32_t>(-130.0F), 0, 0, 0}};
    EXPECT_EQ(float_of(computed("ex2.approx.ftz.f32", "ff", rows)[0]), 0.0F);
    EXPECT_EQ(float_of(computed("ex2.approx.f32", "ff", rows)[0]), 0x1p-130F);
}

TEST(Arithmetic, OfANumberAndNanTheNumberIsTheLeastAndTheGreatest) {
    const auto least = [](float a, float b, float) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == 0 && b == 0) return std::signbit(a) || std::signbit(b) ? -0.0F : 0.0F;
        return b < a ? b : a;
    };
    expect_float("min.f32", "fff", least);
    expect_float("max.f32", "fff", [&](float a, float b, float c) { return -least(-a, -b, c); });
}

TEST(Arithmetic, UnorderedComparisonsHoldForNan) {
    for (const auto& [name, index] :
         {std::pair{"eq", 0}, {"ne", 1}, {"lt", 2}, {"le", 3}, {"gt", 4}, {"ge", 5}}) {
        const auto holds = [at = index](float a, float b) {
            const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
            return results[at];
        };
        for (const bool unordered : {false, true}) {
            expect_same(
                fmt::format("setp.{}{}.f32", name, unordered ? "u" : ""), "pff",
                [&](const Operands& o) -> std::uint64_t {
                    const float a = float_of(o[0]);
                    const float b = float_of(o[1]);
                    if (std::isnan(a) || std::isnan(b)) return unordered;
                    return holds(a, b);
                },
                pairs_of_floats());
        }
    }
    expect_same(
        "setp.num.f32", "pff",
        [](const Operands& o) -> std::uint64_t {
            return !std::isnan(float_of(o[0])) && !std::isnan(float_of(o[1]));
        },
        pairs_of_floats());
    expect_same(
        "setp.nan.f32", "pff",
        [](const Operands& o) -> std::uint64_t {
            return std::isnan(float_of(o[0])) || std::isnan(float_of(o[1]));
        },
        pairs_of_floats());
}

TEST(Arithmetic, IntegersAreConvertedByExtendingOrCutting) {
    const IntegerType types[] = {{"u8", 'h', 8, false}, {"s8", 'h', 8, true}};
    std::vector<IntegerType> all(std::begin(kIntegers), std::end(kIntegers));
    all.insert(all.end(), std::begin(types), std::end(types));
    for (const IntegerType& to : all) {
        for (const IntegerType& from : all) {
            expect_same(
                fmt::format("cvt.{}.{}", to.name, from.name), std::string{to.kind, from.kind},
                [&](const Operands& o) {
                    // In a register with more bits than the type, the value is extended with the type's sign,
                    // or with zeros if the type is unsigned.
                    return cut(number(cut(from.of(o[0])), to.bits, to.is_signed));
                },
                operands(200));
        }
    }
}

TEST(Arithmetic, FloatsBecomeIntegersByTheRoundingThatIsNamedAndStayInRange) {
    auto rows = pairs_of_floats();
    for (float x = -3; x <= 3; x += 0.25F) rows.push_back({std::bit_cast<std::uint32_t>(x), 0, 0, 0});
    for (const float x :
         {2147483648.0F, 2147483520.0F, -2147483648.0F, 4294967296.0F, 9.3e18F, -9.3e18F, 1.9e19F, 32767.5F})
        rows.push_back({std::bit_cast<std::uint32_t>(x), 0, 0, 0});
    const auto to_even = [](double x) {
        const double below = std::floor(x);
        if (x - below != 0.5) return std::floor(x + 0.5);
        return std::fmod(below, 2) == 0 ? below : below + 1;
    };
    for (const IntegerType& to : kIntegers) {
        for (const char* const rounding : {"rzi", "rni", "rmi", "rpi"}) {
            expect_same(
                fmt::format("cvt.{}.{}.f32", rounding, to.name), std::string{to.kind, 'f'},
                [&](const Operands& o) -> std::uint64_t {
                    const double x = float_of(o[0]);
                    if (std::isnan(x)) return to.bits == 64 ? 1ULL << 63 : 0;
                    const double whole = rounding[1] == 'z'   ? (x < 0 ? std::ceil(x) : std::floor(x))
                                         : rounding[1] == 'n' ? to_even(x)
                                         : rounding[1] == 'm' ? std::floor(x)
                                                              : std::ceil(x);
                    const auto bits = static_cast<int>(to.bits);
                    const double end = std::ldexp(1.0, to.is_signed ? bits - 1 : bits);
                    if (whole >= end) return to.is_signed ? (1ULL << (to.bits - 1)) - 1 : ~0ULL;
                    if (whole < (to.is_signed ? -end : 0)) return to.is_signed ? 1ULL << (to.bits - 1) : 0;
                    return cut(static_cast<Wide>(whole));
                },
                rows);
        }
    }
    expect_float("cvt.rni.f32.f32", "ff", [&](float a, float, float) {
        if (!std::isfinite(a) || std::fabs(a) > 0x1p30F) return a;
        return std::copysign(static_cast<float>(to_even(double(a))), a);
    });
}

TEST(Arithmetic, IntegersBecomeFloatsRoundedToNearest) {
    for (const IntegerType& from : kIntegers) {
        expect_same(
            fmt::format("cvt.rn.f32.{}", from.name), std::string{'f', from.kind},
            [&](const Operands& o) -> std::uint64_t {
                Wide value = from.of(o[0]);
                const bool negative = value < 0;
                if (negative) value = -value;
                if (value == 0) return 0;
                int exponent = 0;
                while ((value >> exponent) != 1) ++exponent;
                Wide fraction = value << 23 >> exponent;
                const Wide rest = (value << 23) - (fraction << exponent);
                const Wide half = (Wide(1) << exponent) / 2;
                if (rest > half || (exponent > 0 && rest == half && (fraction & 1) != 0)) ++fraction;
                return std::bit_cast<std::uint32_t>(
                    std::ldexp(static_cast<float>(static_cast<double>(fraction)), exponent - 23) *
                    (negative ? -1 : 1));
            },
            operands(500));
    }
}

/// The number of a floating-point code, from the definition of the format.
double number_of(std::uint32_t code, int exponent_bits, int fraction_bits) {
    const int fraction = static_cast<int>(code & ((1U << fraction_bits) - 1));
    const int exponent = static_cast<int>(code >> fraction_bits & ((1U << exponent_bits) - 1));
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double sign = (code >> (exponent_bits + fraction_bits) & 1) != 0 ? -1 : 1;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}
bool is_half_number(std::uint32_t code) {
    return (code >> 10 & 31) != 31;
}

/// The code of the number that is nearest to `value`; if two are equally near, the even one. It is found by
/// binary search over all codes.
std::uint32_t nearest_code(double value, int exponent_bits, int fraction_bits) {
    const std::uint32_t sign = std::signbit(value) ? 1U << (exponent_bits + fraction_bits) : 0;
    value = std::fabs(value);
    const std::uint32_t infinity = ((1U << exponent_bits) - 1) << fraction_bits;
    std::uint32_t low = 0;  // codes grow with their numbers; the code after the largest number is infinity
    std::uint32_t high = infinity;
    while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        (number_of(middle, exponent_bits, fraction_bits) <= value ? low : high) = middle;
    }
    const double below = value - number_of(low, exponent_bits, fraction_bits);
    const double above = number_of(high, exponent_bits, fraction_bits) - value;
    if (above < below || (above == below && (low & 1) != 0)) low = high;
    return sign | low;
}

TEST(Arithmetic, EveryHalfIsItsNumber) {
    std::vector<Operands> rows;
    for (std::uint64_t code = 0; code < 0x10000; ++code) rows.push_back({code, 0, 0, 0});
    const auto results = computed("cvt.f32.f16", "fh", rows);
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
        const float got = float_of(results[code]);
        if (is_half_number(code)) {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(got),
                      std::bit_cast<std::uint32_t>(static_cast<float>(number_of(code, 5, 10))))
                << code;
        } else if ((code & 0x3ff) == 0) {
            ASSERT_EQ(got, (code & 0x8000) != 0 ? -kInfinity : kInfinity);
        } else {
            ASSERT_TRUE(std::isnan(got));
        }
    }
}

TEST(Arithmetic, FloatsBecomeTheNearestHalf) {
    // Every third half, the middle between it and its neighbour, and numbers a little beside that middle.
    std::vector<Operands> rows;
    for (std::uint32_t code = 0; code < 0x7c00; code += 3) {
        const double here = number_of(code, 5, 10);
        const double middle = (here + number_of(code + 1, 5, 10)) / 2;
        for (const double value : {here, middle, middle * (1 + 0x1p-22), middle * (1 - 0x1p-22), -middle})
            rows.push_back({std::bit_cast<std::uint32_t>(static_cast<float>(value)), 0, 0, 0});
    }
    for (const float value : {65504.0F, 65519.0F, 65520.0F, 1e30F, -1e30F, kInfinity, 0x1p-26F, 0x1p-25F})
        rows.push_back({std::bit_cast<std::uint32_t>(value), 0, 0, 0});
    const auto nearest = [](const Operands& o) -> std::uint64_t {
        return nearest_code(float_of(o[0]), 5, 10);
    };
    expect_same("cvt.rn.f16.f32", "hf", nearest, rows);
    EXPECT_EQ(computed("cvt.rn.f16.f32", "hf", {{std::bit_cast<std::uint32_t>(kNan), 0, 0, 0}})[0], 0x7fffU);
}

TEST(Arithmetic, FloatsBecomeTheNearestBf16) {
    std::vector<Operands> rows = pairs_of_floats();
    Random random(3);
    for (int i = 0; i < 4000; ++i) {
        const auto high = static_cast<std::uint32_t>(random() & 0xffff) << 16;
        for (const std::uint32_t low : {0x0000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
            rows.push_back({high | low, 0, 0, 0});
    }
    const auto nearest = [](const Operands& o) -> std::uint64_t {
        const float value = float_of(o[0]);
        if (std::isnan(value)) return 0x7fff;
        return nearest_code(value, 8, 7);
    };
    expect_same("cvt.rn.bf16.f32", "hf", nearest, rows);
    expect_same(
        "cvt.f32.bf16", "fh", [](const Operands& o) { return (o[0] & 0xffff) << 16; }, rows);
    // The first operand becomes the high half of the result.
    expect_same(
        "cvt.rn.bf16x2.f32", "rff",
        [&](const Operands& o) {
            return nearest({o[0], 0, 0, 0}) << 16 | nearest({o[1], 0, 0, 0});
        },
        rows);
}

TEST(Arithmetic, EveryE4m3CodeIsItsNumber) {
    std::vector<Operands> rows;
    for (std::uint64_t code = 0; code < 0x10000; code += 1) rows.push_back({code, 0, 0, 0});
    const auto half_of = [](std::uint32_t code) -> std::uint64_t {
        if ((code & 0x7f) == 0x7f) return 0x7fff;
        const double size = (code & 0x78) == 0
                                ? std::ldexp(code & 7, -9)
                                : std::ldexp(8 + (code & 7), static_cast<int>(code >> 3 & 15) - 10);
        return nearest_code((code & 0x80) != 0 ? -size : size, 5, 10);
    };
    expect_same(
        "cvt.rn.f16x2.e4m3x2", "rh",
        [&](const Operands& o) {
            return half_of(static_cast<std::uint32_t>(o[0] >> 8)) << 16 |
                   half_of(static_cast<std::uint32_t>(o[0] & 0xff));
        },
        rows);
}

TEST(Arithmetic, PairsOfHalvesAreRoundedOnce) {
    Random random(23);
    std::vector<Operands> rows;
    const auto pair = [&] {
        std::uint64_t codes = 0;
        for (int i = 0; i < 2; ++i) {
            std::uint64_t code = random() & 0xffff;
            while (!is_half_number(static_cast<std::uint32_t>(code))) code = random() & 0xffff;
            codes = codes << 16 | code;
        }
        return codes;
    };
    for (int i = 0; i < 20000; ++i) rows.push_back({pair(), pair(), pair(), 0});
    // The reference is exact: it computes in 128-bit integers with the unit 2^-48, where |a·b| < 2^32 and
    // |c| < 2^16.
    const auto units = [](std::uint64_t code) {
        return static_cast<Wide>(number_of(code & 0xffff, 5, 10) * 0x1p24);
    };
    const auto nearest = [](Wide units48, bool negative_zero) -> std::uint64_t {
        // A double holds 53 bits. The lower bits are combined into one sticky bit that says whether any is
        // set.
        const bool negative = units48 < 0 || (units48 == 0 && negative_zero);
        Wide size = units48 < 0 ? -units48 : units48;
        int shift = 0;
        bool sticky = false;
        while (size >= (Wide(1) << 50)) {
            sticky = sticky || (size & 1) != 0;
            size >>= 1;
            ++shift;
        }
        double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(size) * 2 + (sticky ? 1 : 0)),
                                  shift - 49);
        return nearest_code(negative ? -value : value, 5, 10);
    };
    const auto both = [](const Operands& o, const auto& one) {
        return one(o[0] >> 16, o[1] >> 16, o[2] >> 16) << 16 |
               one(o[0] & 0xffff, o[1] & 0xffff, o[2] & 0xffff);
    };
    const auto negative = [](std::uint64_t code) { return (code & 0x8000) != 0; };
    expect_same(
        "add.rn.f16x2", "rrr",
        [&](const Operands& o) {
            return both(o, [&](std::uint64_t a, std::uint64_t b, std::uint64_t) {
                return nearest((units(a) + units(b)) << 24, negative(a) && negative(b));
            });
        },
        rows);
    expect_same(
        "sub.rn.f16x2", "rrr",
        [&](const Operands& o) {
            return both(o, [&](std::uint64_t a, std::uint64_t b, std::uint64_t) {
                return nearest((units(a) - units(b)) << 24, negative(a) && !negative(b));
            });
        },
        rows);
    expect_same(
        "mul.rn.f16x2", "rrr",
        [&](const Operands& o) {
            return both(o, [&](std::uint64_t a, std::uint64_t b, std::uint64_t) {
                return nearest(units(a) * units(b), negative(a) != negative(b));
            });
        },
        rows);
    expect_same(
        "fma.rn.f16x2", "rrrr",
        [&](const Operands& o) {
            return both(o, [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
                return nearest(units(a) * units(b) + (units(c) << 24),
                               negative(c) && negative(a) != negative(b));
            });
        },
        rows);
}

TEST(Arithmetic, FusedBf16IsRoundedOnceEvenBesideTies) {
    // The product of 1.0078125 = 1 + 2^-7 and 1.5 = 1 + 2^-1 is a tie between two bf16 numbers, so that a
    // tiny addend decides the rounding.
    const auto code = [](float value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value) >> 16}; };
    const float a = 1.0078125F;  // a·1.5 = 1.51171875 is the middle between 1.5078125 and 1.515625
    std::vector<Operands> rows;
    for (const float c : {0.0F, 0x1p-80F, -0x1p-80F, 0x1p-20F, -0x1p-20F})
        rows.push_back({code(a), code(1.5F), code(c), 0});
    const auto results = computed("fma.rn.bf16x2", "rrrr", rows);
    EXPECT_EQ(results[0] & 0xffff, code(1.515625F)) << "the tie is rounded to even";
    EXPECT_EQ(results[1] & 0xffff, code(1.515625F));
    EXPECT_EQ(results[2] & 0xffff, code(1.5078125F)) << "the exact sum is a little below the tie";
    EXPECT_EQ(results[3] & 0xffff, code(1.515625F));
    EXPECT_EQ(results[4] & 0xffff, code(1.5078125F));
}

TEST(Arithmetic, WordsAndHalvesArePackedLowFirst) {
    const auto words = words_of_block(
        "mov.b64 %rd10, {%r1, 7};\nmov.b64 {%r10, %r11}, %rd10;\n"
        "cvt.u16.u32 %rs1, %r10;\nmov.u16 %rs2, 9;\nmov.b32 %r12, {%rs1, %rs2};\n"
        "mov.b32 {%rs3, _}, %r12;\ncvt.u32.u16 %r13, %rs3;\nadd.s32 %r14, %r12, %r11;\n"
        "add.s32 %r14, %r14, %r13;\n"
        "mul.wide.u32 %rd11, %r1, 4;\nadd.s64 %rd12, %rd2, %rd11;\n"
        "st.global.u32 [%rd12], %r14;");
    for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], (9U << 16 | lane) + 7 + lane);
}

TEST(Arithmetic, InactiveLanesKeepWhatTheyHave) {
    // Few and many lanes are inactive. The body uses registers of every width and a predicate.
    for (const int on : {1, 3, 17, 31}) {
        const auto words = words_of_block(fmt::format(
            "setp.lt.u32 %p1, %r1, {};\nmov.u32 %r10, 100;\nmov.u64 %rd10, 1000;\nmov.u16 %rs10, 10000;\n"
            "setp.ne.s32 %p2, %r1, %r1;\n@%p1 add.s32 %r10, %r10, 1;\n@%p1 add.s64 %rd10, %rd10, 1;\n"
            "@%p1 add.s16 %rs10, %rs10, 1;\n@%p1 setp.eq.s32 %p2, %r1, %r1;\nselp.u32 %r13, 100000, 0, %p2;\n"
            "cvt.u32.u64 %r11, %rd10;\ncvt.u32.u16 %r12, %rs10;\nadd.s32 %r10, %r10, %r11;\n"
            "add.s32 %r10, %r10, %r12;\nadd.s32 %r10, %r10, %r13;\n"
            "mul.wide.u32 %rd11, %r1, 4;\nadd.s64 %rd12, %rd2, %rd11;\nst.global.u32 [%rd12], %r10;",
            on));
        for (int lane = 0; lane < 32; ++lane)
            EXPECT_EQ(words[static_cast<std::size_t>(lane)], lane < on ? 111103U : 11100U) << lane;
    }
}

}  // namespace
}  // namespace paretoken::virtual_gpu
