#pragma once
// Writes a valid gzip stream that is not smaller than its input: literals in fixed Huffman codes (RFC 1951
// §3.2.6, RFC 1952), flushed after every call. It is for a server that compresses without being asked.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken::sim {

class LiteralGzip {
  public:
    /// Returns the compressed bytes to send for `bytes`; `last` ends the stream.
    std::string wrap(std::string_view bytes, bool last);

  private:
    bool begun_ = false;
    std::uint32_t crc_ = ~std::uint32_t{0};
    std::uint32_t size_ = 0;
};

}  // namespace paretoken::sim
