#pragma once
// The rows of a file: lines, or elements of a JSON array. Only their positions are kept (8 bytes each).
// Invariant: row(i) returns the i-th row of the first reading, unless the file was changed.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::datasets {

struct RowPlace {
    const std::string& path;
    std::size_t line;  ///< counted from 1

    /// Throws UsageError: "FILE:LINE: WHY".
    [[noreturn]] void refuse(std::string_view why) const;
};

enum class RowLayout : std::uint8_t {
    lines,           ///< one row per line; blank lines are skipped
    lines_or_array,  ///< the elements of an array, if the file begins with one; else lines
    csv,             ///< lines behind a header that names the columns; a quoted value may have several lines
    objects,         ///< JSON objects, each of one line or several; or an array of them
};

/// Throws UsageError, with a command that makes JSON lines, if a file that begins with `begin` is packed, is
/// no UTF-8 (Parquet, Arrow, UTF-16), or came in place of the data (Git LFS, a web page).
void refuse_packed(const std::string& path, std::string_view begin);

/// Throws UsageError unless the file is regular, because opening a pipe waits for its writer.
void require_regular(const std::string& path);

/// Throws UsageError with the reason that errno has.
[[noreturn]] void cannot_read(const std::string& path);

/// What may stand between the fields of a table.
inline constexpr std::string_view kCsvSeparators = ",;\t";

/// Returns the position of the line feed that ends the row at the front of a text; npos if it is not there.
/// A line feed within quotes ends no row of a table; quotes count if a field begins with them.
std::size_t end_of_row(std::string_view text, bool is_table);

class RowFile {
  public:
    /// The number of readable bytes behind a row that is passed on, which simdjson requires.
    static constexpr std::size_t kPadding = 64;

    using Visit = std::function<void(std::string_view row, const RowPlace& place)>;

    /// Calls `visit` for every row, the header of a csv first, without white space around it. Throws
    /// UsageError when the file cannot be read, is not regular, packed, has no rows, one of more than 16 MiB
    /// (an object: 512 MiB), or a broken JSON array; and the errors of `visit`.
    RowFile(std::string path, RowLayout layout, const Visit& visit);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    /// Returns the number of rows; the header of a csv is not counted.
    std::size_t size() const { return places_.size(); }
    /// Returns a row without padding. Thread-safe. Throws RuntimeError when it can no longer be read.
    std::string row(std::size_t index) const;

    /// Forgets rows, given by their positions in ascending order, so that row() and size() are without them.
    void leave_out(const std::vector<std::size_t>& rows);

    const std::string& path() const { return path_; }
    const std::string& content() const { return content_; }  ///< hash of the file

  private:
    class Reader;

    std::string path_;
    int file_ = -1;
    bool array_ = false;
    bool objects_ = false;
    bool table_ = false;
    std::uint64_t bytes_ = 0;
    std::vector<std::uint64_t> places_;  ///< first byte of each row
    std::string content_;
};

}  // namespace paretoken::datasets
