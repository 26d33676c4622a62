#pragma once
// What the fuzz targets share. A target is one function, fuzz(Input), which libFuzzer calls with bytes of its
// own making. It aborts where a statement about the code does not hold; the sanitizers abort where memory or
// arithmetic is misused.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace paretoken::fuzz {

/// Ends the process where `holds` is false.
inline void require(bool holds, const char* statement) {
    if (holds) return;
    std::fprintf(stderr, "this does not hold: %s\n", statement);
    std::abort();
}

/// The bytes of one execution: a few that choose what is done, then text.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

    /// The next byte; 0 when there are no more.
    std::uint8_t byte() {
        if (rest_.empty()) return 0;
        const auto first = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return first;
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | byte();
        return value;
    }
    std::string_view rest() const { return rest_; }
    std::string text() const { return std::string(rest_); }

  private:
    std::string_view rest_;
};

/// `bytes` cut into pieces; `seed` decides where. Seed 0: one piece.
inline std::vector<std::string_view> pieces_of(std::string_view bytes, std::uint8_t seed) {
    if (seed == 0) return {bytes};
    Random random(seed);
    const std::uint64_t longest = std::uint64_t{1} << seed % 8;  // bytes
    std::vector<std::string_view> pieces;
    while (!bytes.empty()) {
        const auto length = std::min<std::uint64_t>(1 + random.below(longest), bytes.size());
        pieces.push_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
    }
    return pieces;
}

/// A copy with `padding` readable bytes after it, whose end AddressSanitizer guards. What they hold must not
/// matter, and they look like more of the same.
class Padded {
  public:
    explicit Padded(std::string_view bytes, std::size_t padding = 64)
        : size_(bytes.size()), bytes_(std::make_unique<char[]>(bytes.size() + padding)) {
        std::memcpy(bytes_.get(), bytes.data(), bytes.size());
        std::memset(bytes_.get() + size_, '1', padding);
    }
    std::string_view view() const { return {bytes_.get(), size_}; }
    std::span<const char> span() const { return {bytes_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;
};

/// Calls `action` and returns whether it refused what it was given, as it may: by an Error that says
/// something.
template <class Action>
bool refuses(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        require(*error.what() != '\0', "an error says what is wrong");
        return true;
    }
    return false;
}

/// One file in memory that holds these bytes as long as it lives.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        require(
            file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "a file in memory can be written");
        path_ = "/proc/self/fd/" + std::to_string(file_);
    }
    ~MemoryFile() { ::close(file_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    int file_;
    std::string path_;
};

/// What a target defines.
void fuzz(Input input);

}  // namespace paretoken::fuzz
