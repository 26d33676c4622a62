#pragma once
// Writes small GGUF files for tests, byte by byte, so that damaged files can be written too.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace paretoken::cards::testing {

/// Appends parts of a GGUF file in the order of the calls, without any check: the counts in the header need
/// not be those of the entries and tensors that follow.
class GgufBytes {
  public:
    /// The numbers of GGUF for the types of metadata values.
    enum Type : std::uint32_t { u8 = 0, u32 = 4, f32 = 6, boolean = 7, string = 8, array = 9, u64 = 10 };

    template <typename T>
    GgufBytes& plain(T value) {
        const char* bytes = reinterpret_cast<const char*>(&value);
        bytes_.append(bytes, sizeof value);
        return *this;
    }
    GgufBytes& text(const std::string& value) {
        plain<std::uint64_t>(value.size());
        bytes_ += value;
        return *this;
    }
    GgufBytes& header(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
        bytes_ += "GGUF";
        return plain(version).plain(tensors).plain(entries);
    }
    GgufBytes& entry(const std::string& key, std::uint32_t value) {
        return text(key).plain(u32).plain(value);
    }
    GgufBytes& entry(const std::string& key, const std::string& value) {
        return text(key).plain(string).text(value);
    }
    GgufBytes& numbers(const std::string& key, const std::vector<std::uint32_t>& values) {
        text(key).plain(array).plain(u32).plain<std::uint64_t>(values.size());
        for (const std::uint32_t value : values) plain(value);
        return *this;
    }
    GgufBytes& strings(const std::string& key, const std::vector<std::string>& values) {
        text(key).plain(array).plain(string).plain<std::uint64_t>(values.size());
        for (const std::string& value : values) text(value);
        return *this;
    }
    GgufBytes& tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                      std::uint64_t offset = 0) {
        text(name).plain<std::uint32_t>(static_cast<std::uint32_t>(shape.size()));
        for (const std::uint64_t extent : shape) plain(extent);
        return plain(type).plain(offset);
    }

    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

/// A file in the system's directory for temporary files that the destructor removes. It holds `bytes`,
/// followed by `data_bytes` zero bytes.
class TemporaryFile {
  public:
    TemporaryFile(const std::string& name, const std::string& bytes, std::uint64_t data_bytes = 0)
        : path_(std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + "-" + name)) {
        std::ofstream(path_, std::ios::binary) << bytes;
        if (data_bytes > 0) std::filesystem::resize_file(path_, bytes.size() + data_bytes);
    }
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace paretoken::cards::testing
