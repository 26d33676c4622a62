#include "datasets/files/row_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/byte_vector.h"
#include "core/error.h"
#include "core/text/byte_order_mark.h"
#include "core/text/content_hash.h"
#include "core/text/letter_case.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kLongestRow = std::size_t{16} << 20;      // a prompt of several million tokens
constexpr std::size_t kLongestObject = std::size_t{512} << 20;  // a job of thousands of turns

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Finds the ends of the elements of a JSON array, or of JSON objects that follow each other, which may
/// arrive in pieces of any size.
class ElementScanner {
  public:
    explicit ElementScanner(bool objects = false) : objects_(objects) {}

    /// Returns the position behind the element that `text` begins with, scanning from `from`; nothing when
    /// its end is not in `text`.
    std::optional<std::size_t> end_of(std::string_view text, std::size_t from) {
        for (std::size_t i = from; i < text.size(); ++i) {
            while (objects_ && text.size() - i > kStride && !brackets_or_quotes_in(&text[i])) {
                escaped_ = false;
                i += kStride;
            }
            const char c = text[i];
            if (!kMarks[static_cast<unsigned char>(c)]) {
                escaped_ = false;
                continue;
            }
            if (in_string_) {
                if (escaped_) {
                    escaped_ = false;
                } else if (c == '\\') {
                    escaped_ = true;
                } else if (c == '"') {
                    in_string_ = false;
                }
            } else if (c == '"') {
                in_string_ = true;
            } else if (c == '{' || c == '[') {
                ++depth_;
            } else if (depth_ > 0 && (c == '}' || c == ']')) {
                if (--depth_ == 0 && objects_) return i + 1;
            } else if (depth_ == 0 && !objects_ && (c == ',' || c == ']')) {
                return i;
            }
        }
        return std::nullopt;
    }

  private:
    static constexpr std::size_t kStride = sizeof(ByteVector);

    /// Returns whether kStride bytes hold one of "[\]{|}. A single bit distinguishes [\] from {|}.
    static bool brackets_or_quotes_in(const char* text) {
        const ByteVector bytes = byte_vector_at(text);
        const ByteVector upper = bytes | 0x20;
        return any_of_bytes((bytes == '"') | (upper == '{') | (upper == '|') | (upper == '}'));
    }

    /// Whether a byte may begin or end something.
    static constexpr std::array<bool, 256> kMarks = [] {
        std::array<bool, 256> marks{};
        for (const char mark : {'"', '\\', '{', '}', '[', ']', ','})
            marks[static_cast<unsigned char>(mark)] = true;
        return marks;
    }();

    bool objects_;
    int depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
};

/// The hash of an open file. A large file is hashed by a thread of its own, because that takes longer than
/// to find the rows.
class FileHash {
  public:
    FileHash(int file, std::uint64_t bytes) : file_(file) {
        constexpr std::uint64_t kLarge = std::uint64_t{16} << 20;
        if (bytes > kLarge) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    std::string text() {
        if (thread_.joinable())
            thread_.join();
        else
            run({});
        return hash_.text();
    }

  private:
    void run(const std::stop_token& stop) {
        std::vector<char> block(kBlock);
        for (off_t at = 0; !stop.stop_requested();) {
            const ssize_t got = ::pread(file_, block.data(), block.size(), at);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return;  // an error of the file ends the pass over its rows too
            hash_.add({block.data(), static_cast<std::size_t>(got)});
            at += got;
        }
    }

    int file_;
    ContentHash hash_;
    std::jthread thread_;  ///< ended before the other members are destroyed
};

}  // namespace

std::size_t end_of_row(std::string_view text, bool is_table) {
    if (!is_table) return text.find('\n');
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\n' && !quoted) return at;
        if (text[at] != '"') continue;
        if (!quoted) {
            quoted = at == 0 || kCsvSeparators.find(text[at - 1]) != std::string_view::npos;
        } else if (text.substr(at + 1).starts_with('"')) {
            ++at;
        } else {
            quoted = false;
        }
    }
    return std::string_view::npos;
}

void RowPlace::refuse(std::string_view why) const {
    throw UsageError(fmt::format("{}:{}: {}", path, line, why));
}

namespace {

/// Throws UsageError for a file that was downloaded in place of the data.
void refuse_stand_in(const std::string& path, std::string_view begin) {
    if (begin.starts_with("version https://git-lfs"))
        throw UsageError(fmt::format(
            "'{}' is a pointer of Git LFS, not the data; fetch these with git lfs pull, or download the file "
            "from the web page of the data",
            path));
    constexpr std::size_t kSeen = 256;
    const std::string head = lower_case(begin.substr(0, kSeen));
    const std::string_view text = trimmed(head);
    if (text.starts_with("<!doctype") || text.starts_with("<html"))
        throw UsageError(
            fmt::format("'{}' is a web page, not a file of rows; the download probably needs a login", path));
}

}  // namespace

void refuse_packed(const std::string& path, std::string_view begin) {
    struct Packing {
        std::string_view mark;
        std::string_view name;
        std::string_view remedy;  ///< {0} is the file, {1} the file to write
    };
    constexpr std::array kPackings = {
        Packing{"PAR1", "a Parquet file",
                "python3 -c \"import pandas; pandas.read_parquet('{0}').to_json('{1}', orient='records', "
                "lines=True)\""},
        Packing{"\x1f\x8b", "packed with gzip", "gzip -dc '{0}' > '{1}'"},
        Packing{"PK\x03\x04", "a zip file", "unzip -p '{0}' > '{1}'"},
        Packing{"\x28\xb5\x2f\xfd", "packed with zstd", "zstd -dc '{0}' > '{1}'"},
        Packing{"\xfd\x37zXZ", "packed with xz", "xz -dc '{0}' > '{1}'"},
        Packing{"BZh", "packed with bzip2", "bzip2 -dc '{0}' > '{1}'"},
        Packing{"\x04\x22\x4d\x18", "packed with lz4", "lz4 -dc '{0}' > '{1}'"},
        Packing{"7z\xbc\xaf\x27\x1c", "packed with 7-Zip", "7z x -so '{0}' > '{1}'"},
        Packing{"ARROW1", "an Arrow file",
                "python3 -c \"import pandas; pandas.read_feather('{0}').to_json('{1}', orient='records', "
                "lines=True)\""},
        Packing{"\xff\xfe", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 '{0}' > '{1}'"},
        Packing{"\xfe\xff", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 '{0}' > '{1}'"},
        Packing{std::string_view("{\0", 2), "text in UTF-16", "iconv -f UTF-16LE -t UTF-8 '{0}' > '{1}'"},
        Packing{std::string_view("\0{", 2), "text in UTF-16", "iconv -f UTF-16BE -t UTF-8 '{0}' > '{1}'"},
    };
    refuse_stand_in(path, begin);
    for (const Packing& packing : kPackings) {
        if (!begin.starts_with(packing.mark)) continue;
        const std::size_t name = path.rfind('/') + 1;
        const std::size_t dot = path.rfind('.');
        std::string out = dot != std::string::npos && dot > name ? path.substr(0, dot) : path + ".rows";
        if (out.find('.', name) == std::string::npos) out += ".jsonl";
        if (out == path) out += ".rows";
        throw UsageError(fmt::format("'{}' is {}, not a file of text; this makes rows of it: {}", path,
                                     packing.name, fmt::format(fmt::runtime(packing.remedy), path, out)));
    }
}

void cannot_read(const std::string& path) {
    const std::string why = std::strerror(errno);
    const std::size_t colon = path.find(':');
    const bool is_spec = colon != std::string::npos && path.find("path=") != std::string::npos;
    throw UsageError(fmt::format("cannot read '{}': {}; {}", path, why,
                                 is_spec ? fmt::format("give the file alone, and the other fields by "
                                                       "--dataset {}:…",
                                                       path.substr(0, colon))
                                         : "check the path"));
}

void require_regular(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) cannot_read(path);
    if (S_ISDIR(facts.st_mode)) {
        errno = EISDIR;
        cannot_read(path);
    }
    if (!S_ISREG(facts.st_mode))
        throw UsageError(
            fmt::format("'{}' is not a regular file; rows are read again during the load", path));
}

/// Makes the first pass over a file, in blocks.
class RowFile::Reader {
  public:
    Reader(RowFile& file, RowLayout layout, const Visit& visit, std::uint64_t bytes)
        : file_(file), layout_(layout), visit_(visit), hash_(file.file_, bytes) {}

    void read() {
        bool more = true;
        while (more) {
            more = fill();
            if (first_) begin_file();
            while (take_row(more)) {
            }
            buffer_.erase(0, used_);
            at_ += used_;
            scanned_ -= used_;
            used_ = 0;
            const std::size_t longest = layout_ == RowLayout::objects ? kLongestObject : kLongestRow;
            if (buffer_.size() > longest)
                RowPlace{file_.path_, line_}.refuse(
                    fmt::format("the row is longer than {} MiB; is this a file of rows?", longest >> 20));
        }
        if (file_.array_ && !closed_)
            RowPlace{file_.path_, line_}.refuse("the JSON array has no end; is the file complete?");
        file_.bytes_ = at_ + buffer_.size();
        file_.content_ = hash_.text();
        if (file_.places_.empty()) throw UsageError(fmt::format("'{}' holds no requests", file_.path_));
    }

  private:
    /// Reads the next block into the buffer. Returns false at the end of the file.
    bool fill() {
        const std::size_t before = buffer_.size();
        buffer_.reserve(before + kBlock + kPadding);
        buffer_.resize(before + kBlock);
        ssize_t got = 0;
        do got = ::read(file_.file_, buffer_.data() + before, kBlock);
        while (got < 0 && errno == EINTR);
        if (got < 0) cannot_read(file_.path_);
        buffer_.resize(before + static_cast<std::size_t>(got));
        return got > 0;
    }

    void begin_file() {
        first_ = false;
        refuse_packed(file_.path_, buffer_);
        file_.table_ = layout_ == RowLayout::csv;
        used_ = scanned_ = buffer_.size() - without_byte_order_mark(buffer_).size();
        if (layout_ != RowLayout::lines_or_array && layout_ != RowLayout::objects) return;
        std::size_t begin = used_;
        while (begin < buffer_.size() && is_blank(buffer_[begin])) ++begin;
        if (begin == buffer_.size() || buffer_[begin] != '[') {
            file_.objects_ = layout_ == RowLayout::objects;
            scanner_ = ElementScanner(file_.objects_);
            return;
        }
        file_.array_ = true;
        count_lines(begin + 1);
    }

    /// Takes the next row from the buffer; returns false when its end has not been read yet.
    bool take_row(bool more) {
        if (file_.objects_) return take_object(more);
        return file_.array_ ? take_element() : take_line(more);
    }

    bool take_object(bool more) {
        const auto end = scanner_.end_of(buffer_, scanned_);
        if (end) {
            const std::string_view object = trimmed(std::string_view(buffer_).substr(used_, *end - used_));
            const auto begin = static_cast<std::size_t>(object.data() - buffer_.data());
            count_lines(begin);
            tell(begin, *end);
            count_lines(*end);
            return true;
        }
        scanned_ = buffer_.size();
        if (!more && !trimmed(std::string_view(buffer_).substr(used_)).empty()) {
            count_lines(used_);
            RowPlace{file_.path_, line_}.refuse("the JSON object has no end; is the file complete?");
        }
        return false;
    }

    bool take_line(bool more) {
        const std::size_t from = file_.table_ ? used_ : scanned_;
        const auto found = end_of_row(std::string_view(buffer_).substr(from), file_.table_);
        if (found == std::string::npos && more) {
            scanned_ = buffer_.size();
            return false;
        }
        const std::size_t end = found == std::string::npos ? buffer_.size() : from + found;
        if (end == used_ && found == std::string::npos) return false;
        tell(used_, end);
        count_lines(std::min(end + 1, buffer_.size()));
        return true;
    }

    bool take_element() {
        if (closed_) {
            const std::string_view rest = trimmed(std::string_view(buffer_).substr(used_));
            if (!rest.empty())
                RowPlace{file_.path_, line_}.refuse("something follows the end of the JSON array");
            used_ = scanned_ = buffer_.size();
            return false;
        }
        const auto end = scanner_.end_of(buffer_, scanned_);
        if (!end) {
            scanned_ = buffer_.size();
            return false;
        }
        const bool last = buffer_[*end] == ']';
        const std::string_view element = trimmed(std::string_view(buffer_).substr(used_, *end - used_));
        if (!element.empty() || !last) {
            const auto begin = static_cast<std::size_t>(element.data() - buffer_.data());
            count_lines(begin);
            tell(begin, begin + element.size());
        }
        count_lines(*end + 1);
        closed_ = last;
        return true;
    }

    /// Advances to `position` and counts the lines passed.
    void count_lines(std::size_t position) {
        line_ += static_cast<std::size_t>(std::count(buffer_.begin() + static_cast<std::ptrdiff_t>(used_),
                                                     buffer_.begin() + static_cast<std::ptrdiff_t>(position),
                                                     '\n'));
        used_ = position;
        scanned_ = std::max(scanned_, position);
    }

    void tell(std::size_t begin, std::size_t end) {
        const std::string_view row = std::string_view(buffer_).substr(begin, end - begin);
        if (trimmed(row).empty()) return;
        buffer_.reserve(buffer_.size() + kPadding);
        const bool header = layout_ == RowLayout::csv && !header_seen_;
        header_seen_ = true;
        if (!header) file_.places_.push_back(at_ + begin);
        if (header && trimmed(row).find('\r') != std::string_view::npos)
            RowPlace{file_.path_, line_}.refuse(
                "the lines end with a carriage return alone; write line feeds, as tr '\\r' '\\n' does");
        visit_(trimmed(std::string_view(buffer_).substr(begin, end - begin)), {file_.path_, line_});
    }

    RowFile& file_;
    RowLayout layout_;
    const Visit& visit_;
    FileHash hash_;
    ElementScanner scanner_;
    std::string buffer_;
    std::uint64_t at_ = 0;     ///< position of the buffer in the file
    std::size_t used_ = 0;     ///< bytes of the buffer that were used
    std::size_t scanned_ = 0;  ///< bytes of the buffer that were scanned: no row ends before
    std::size_t line_ = 1;
    bool first_ = true;
    bool header_seen_ = false;
    bool closed_ = false;  ///< the array's end was read
};

RowFile::RowFile(std::string path, RowLayout layout, const Visit& visit) : path_(std::move(path)) {
    require_regular(path_);
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) cannot_read(path_);
    try {
        struct stat facts {};
        if (fstat(file_, &facts) != 0) cannot_read(path_);
        Reader(*this, layout, visit, static_cast<std::uint64_t>(facts.st_size)).read();
    } catch (...) {
        ::close(file_);
        throw;
    }
}

RowFile::~RowFile() {
    ::close(file_);
}

void RowFile::leave_out(const std::vector<std::size_t>& rows) {
    std::size_t next = 0;
    std::size_t kept = 0;
    for (std::size_t row = 0; row < places_.size(); ++row) {
        if (next < rows.size() && rows[next] == row) {
            ++next;
        } else {
            places_[kept++] = places_[row];
        }
    }
    places_.resize(kept);
}

std::string RowFile::row(std::size_t index) const {
    const std::uint64_t begin = places_.at(index);
    const std::uint64_t end = index + 1 < places_.size() ? places_[index + 1] : bytes_;
    std::string text;
    text.reserve(end - begin + kPadding);
    text.resize(end - begin);
    for (std::size_t got = 0; got < text.size();) {
        const ssize_t n =
            ::pread(file_, text.data() + got, text.size() - got, static_cast<off_t>(begin + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            throw RuntimeError(fmt::format("'{}' can no longer be read: {}", path_, std::strerror(errno)));
        if (n == 0) throw RuntimeError(fmt::format("'{}' became shorter while it was in use", path_));
        got += static_cast<std::size_t>(n);
    }
    const auto cut = array_ || objects_ ? ElementScanner(objects_).end_of(text, 0).value_or(text.size())
                                        : std::min(end_of_row(text, table_), text.size());
    text.resize(cut);
    const std::string_view inside = trimmed(text);
    text.resize(static_cast<std::size_t>(inside.data() + inside.size() - text.data()));
    text.erase(0, static_cast<std::size_t>(inside.data() - text.data()));
    return text;
}

}  // namespace paretoken::datasets
