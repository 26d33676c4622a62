#include "simulator/gzip.h"

#include <array>

namespace paretoken::sim {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
        table[i] = crc;
    }
    return table;
}

constexpr auto kCrc = crc_table();

void append_little_endian(std::string& out, std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        out += static_cast<char>((value >> (8U * static_cast<unsigned>(i))) & 0xffU);
}

/// Writes bits, the lowest of each byte first.
class BitWriter {
  public:
    explicit BitWriter(std::string& out) : out_(out) {}

    void put(std::uint32_t bit) {
        byte_ |= bit << filled_;
        if (++filled_ == 8) flush();
    }
    /// Writes a Huffman code, its highest bit first.
    void put_code(std::uint32_t code, unsigned length) {
        for (unsigned i = length; i > 0; --i) put((code >> (i - 1)) & 1U);
    }
    /// Fills up to the next whole byte.
    void align() {
        if (filled_ > 0) flush();
    }

  private:
    void flush() {
        out_ += static_cast<char>(byte_);
        byte_ = filled_ = 0;
    }

    std::string& out_;
    std::uint32_t byte_ = 0;
    unsigned filled_ = 0;
};

/// Writes one block of literals, and an empty stored block that ends on a byte.
void append_blocks(std::string& out, std::string_view bytes, bool last) {
    BitWriter bits(out);
    bits.put(0);  // not the last block
    bits.put(1);  // fixed codes
    bits.put(0);
    for (const char c : bytes) {
        const auto literal = static_cast<std::uint32_t>(static_cast<unsigned char>(c));
        if (literal < 144) {
            bits.put_code(0x30 + literal, 8);
        } else {
            bits.put_code(0x190 + literal - 144, 9);
        }
    }
    bits.put_code(0, 7);  // end of the block
    bits.put(last ? 1 : 0);
    bits.put(0);
    bits.put(0);
    bits.align();
    append_little_endian(out, 0xffff0000U, 4);
}

}  // namespace

std::string LiteralGzip::wrap(std::string_view bytes, bool last) {
    std::string out;
    if (!begun_) out.append("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    begun_ = true;
    for (const char c : bytes) crc_ = (crc_ >> 8U) ^ kCrc[(crc_ ^ static_cast<unsigned char>(c)) & 0xffU];
    size_ += static_cast<std::uint32_t>(bytes.size());
    append_blocks(out, bytes, last);
    if (!last) return out;
    append_little_endian(out, ~crc_, 4);
    append_little_endian(out, size_, 4);
    return out;
}

}  // namespace paretoken::sim
