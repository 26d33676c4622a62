#pragma once
// The rows of a file: lines, lines of comma-separated values, or the elements of a JSON array. The file is
// read once, row by row, when it is opened; afterwards a row is read from it when it is asked for, so that in
// memory a row costs the 8 bytes of its place. Invariant: row(i) returns what the reading saw as the i-th
// row, unless the file was changed in between.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::datasets {

/// Where a row stands, for messages.
struct RowPlace {
    const std::string& path;
    std::size_t line;  ///< counted from 1

    /// Throws UsageError: "FILE:LINE: WHY".
    [[noreturn]] void refuse(std::string_view why) const;
};

enum class RowLayout : std::uint8_t {
    lines,           ///< blank ones are no rows
    lines_or_array,  ///< the elements of an array, where the file begins with one
    csv,             ///< lines behind a header that names the columns
};

class RowFile {
  public:
    /// Readable bytes behind a row that is passed on: what simdjson asks for.
    static constexpr std::size_t kPadding = 64;

    using Visit = std::function<void(std::string_view row, const RowPlace& place)>;

    /// Calls `visit` for every row, the header of a csv first. Throws RuntimeError when the file cannot be
    /// read, UsageError when it is no regular file, has no rows or one that is too long.
    RowFile(std::string path, RowLayout layout, const Visit& visit);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    std::size_t size() const { return places_.size(); }
    /// Without its padding. Thread-safe. Throws RuntimeError when it cannot be read any more.
    std::string row(std::size_t index) const;

    const std::string& path() const { return path_; }
    const std::string& content() const { return content_; }  ///< core/text/content_hash.h of the whole file

  private:
    class Reader;

    std::string path_;
    int file_ = -1;
    bool array_ = false;
    std::uint64_t bytes_ = 0;
    std::vector<std::uint64_t> places_;  ///< where rows begin
    std::string content_;
};

}  // namespace paretoken::datasets
