#pragma once
// A hash that names content: 64-bit FNV-1a as 16 hexadecimal digits. It is not cryptographic.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken {

class ContentHash {
  public:
    void add(std::string_view bytes);
    std::string text() const;

  private:
    std::uint64_t hash_ = 14695981039346656037ULL;
};

std::string content_hash(std::string_view bytes);

}  // namespace paretoken
