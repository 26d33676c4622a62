#include "simulator/gzip.h"

#include <gtest/gtest.h>

namespace paretoken::sim {
namespace {

/// Reads the lowest bit of each byte first.
struct Bits {
    std::string_view bytes;
    std::size_t at = 0;

    unsigned next() {
        const unsigned bit = (static_cast<unsigned char>(bytes.at(at / 8)) >> (at % 8)) & 1U;
        ++at;
        return bit;
    }
    unsigned code(int length) {
        unsigned value = 0;
        for (int i = 0; i < length; ++i) value = value << 1U | next();
        return value;
    }
};

/// Inflates blocks of fixed codes without matches, and empty stored ones, by RFC 1951, up to the last block.
std::string inflated(std::string_view deflated, std::size_t& used) {
    Bits bits{deflated};
    std::string out;
    for (bool last = false; !last;) {
        last = bits.next() != 0;
        const unsigned type = bits.next() | bits.next() << 1U;
        if (type == 0) {
            bits.at = (bits.at + 7) / 8 * 8;
            EXPECT_EQ(deflated.substr(bits.at / 8, 4), std::string_view("\0\0\xff\xff", 4));
            bits.at += 32;
            continue;
        }
        EXPECT_EQ(type, 1U);
        while (true) {
            unsigned code = bits.code(7);
            if (code == 0) break;
            code = code << 1U | bits.next();
            if (code >= 0x30 && code <= 0xbf) {
                out += static_cast<char>(code - 0x30);
            } else {
                out += static_cast<char>((code << 1U | bits.next()) - 0x190 + 144);
            }
        }
    }
    used = bits.at / 8;
    return out;
}

std::uint32_t little_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i)
        value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
    return value;
}

TEST(LiteralGzip, IsReadBackByTheRulesOfTheFormat) {
    std::string all;
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
    LiteralGzip gzip;
    std::string stream;
    for (const std::string& part : {std::string("123"), std::string(), all}) stream += gzip.wrap(part, false);
    stream += gzip.wrap("end", true);
    EXPECT_EQ(stream.substr(0, 3), "\x1f\x8b\x08");
    std::size_t used = 0;
    EXPECT_EQ(inflated(std::string_view(stream).substr(10), used), "123" + all + "end");
    EXPECT_EQ(stream.size(), 10 + used + 8);
    EXPECT_EQ(little_endian(std::string_view(stream).substr(stream.size() - 4)), 3 + 256 + 3U);
}

TEST(LiteralGzip, EndsWithTheChecksumOfAllThatWasPutIn) {
    LiteralGzip gzip;
    std::string stream = gzip.wrap("1234", false);
    stream += gzip.wrap("56789", true);
    EXPECT_EQ(little_endian(std::string_view(stream).substr(stream.size() - 8, 4)), 0xcbf43926U)
        << "the CRC of 123456789 in the definition of CRC-32";
    EXPECT_EQ(stream.find("123"), std::string::npos) << "a client that does not decompress reads no events";
}

}  // namespace
}  // namespace paretoken::sim
