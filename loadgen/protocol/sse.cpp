#include "loadgen/protocol/sse.h"

#include <algorithm>
#include <cstring>

#include "core/text/byte_order_mark.h"

namespace paretoken::protocol {
namespace {

/// Counts the bytes before the first CR or LF; returns npos if there is neither.
std::size_t line_length(std::string_view bytes) {
    const void* lf = std::memchr(bytes.data(), '\n', bytes.size());
    const std::size_t until_lf = lf ? static_cast<const char*>(lf) - bytes.data() : bytes.size();
    const void* cr = std::memchr(bytes.data(), '\r', until_lf);
    if (cr) return static_cast<const char*>(cr) - bytes.data();
    return lf ? until_lf : std::string_view::npos;
}

}  // namespace

void PaddedBuffer::grow(std::size_t needed) {
    const std::size_t capacity = std::max({needed, 2 * capacity_, std::size_t{512}});
    auto grown = std::make_unique<char[]>(capacity + kReadablePadding);
    if (size_ != 0) std::memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
    capacity_ = capacity;
}

void PaddedBuffer::append(std::string_view bytes) {
    if (bytes.empty()) return;
    if (size_ + bytes.size() > capacity_) grow(size_ + bytes.size());
    std::memcpy(bytes_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
    bytes_[size_] = '\n';
}

void PaddedBuffer::recycle() {
    constexpr std::size_t kKept = 64 * 1024;
    if (capacity_ > kKept) *this = PaddedBuffer();
    size_ = 0;
}

void SseParser::reset() {
    piece_ = {};
    data_ = {};
    line_.recycle();
    kept_data_.recycle();
    type_.recycle();
    foreign_.recycle();
    comments_ = lines_ = lines_before_foreign_ = 0;
    has_data_ = data_kept_ = after_cr_ = event_over_ = malformed_ = false;
    first_line_ = true;
}

void SseParser::begin_piece(std::span<const char> bytes) {
    piece_ = {bytes.data(), bytes.size()};
}

bool SseParser::next() {
    if (event_over_) {
        event_over_ = has_data_ = data_kept_ = false;
        kept_data_.clear();
        type_.clear();
    }
    if (take_event_in_one_piece()) return true;
    while (!piece_.empty() && !malformed_) {
        if (after_cr_) {
            after_cr_ = false;
            if (piece_.front() == '\n') {
                piece_.remove_prefix(1);
                continue;
            }
        }
        const std::size_t length = line_length(piece_);
        const bool cut = length == std::string_view::npos;
        const std::string_view here = piece_.substr(0, length);
        if (line_.size() + here.size() > kLongest) {
            malformed_ = true;
            return false;
        }
        if (cut) {
            keep_data();  // it may be in piece_ or in line_
            line_.append(here);
            piece_ = {};
            return false;
        }
        after_cr_ = piece_[length] == '\r';
        piece_.remove_prefix(length + 1);
        bool event_ended;
        if (line_.size() == 0) {
            event_ended = take_line(here);
        } else {
            keep_data();
            line_.append(here);
            event_ended = take_line(line_.view());
            line_.clear();  // the bytes stay: data_ may point at them until the next append
        }
        if (event_ended) {
            event_over_ = true;
            return true;
        }
    }
    keep_data();
    return false;
}

bool SseParser::take_event_in_one_piece() {
    constexpr std::string_view kData = "data: ";
    if (after_cr_ || has_data_ || malformed_ || line_.size() != 0 || !piece_.starts_with(kData)) return false;
    const void* const end = std::memchr(piece_.data(), '\n', piece_.size());
    if (end == nullptr) return false;
    const std::string_view line(piece_.data(), static_cast<const char*>(end));
    const bool is_event = piece_.size() > line.size() + 1 && piece_[line.size() + 1] == '\n';
    if (!is_event || line.size() == kData.size() || line.size() > kLongest) return false;
    if (std::memchr(line.data(), '\r', line.size()) != nullptr) return false;
    first_line_ = false;
    has_data_ = event_over_ = true;
    ++lines_;
    data_ = line.substr(kData.size());
    piece_.remove_prefix(line.size() + 2);
    return true;
}

bool SseParser::take_line(std::string_view line) {
    if (first_line_) {
        first_line_ = false;
        line = without_byte_order_mark(line);
    }
    if (line.empty()) {
        if (has_data_) return true;
        if (type_.size() != 0) ++comments_;
        type_.clear();
        return false;
    }
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "data") {
        ++lines_;
        add_data(value);
    } else if (field == "event") {
        ++lines_;
        type_.clear();
        type_.append(value);
    } else if (colon == 0) {
        ++lines_;
        ++comments_;
    } else if (field == "id" || field == "retry") {
        ++lines_;
    } else {
        add_foreign(line);
    }
    return false;
}

void SseParser::add_foreign(std::string_view line) {
    for (const std::string_view field : {"data", "event", "id", "retry", "error"})
        if (field.starts_with(line)) return;  // the end of the stream cut a field off
    if (lines_ != lines_before_foreign_) foreign_.clear();
    lines_before_foreign_ = lines_;
    if (foreign_.size() > kLongestForeign) return;
    if (foreign_.size() != 0) foreign_.append('\n');
    foreign_.append(line.substr(0, kLongestForeign + 1));
}

void SseParser::add_data(std::string_view value) {
    if (!has_data_) {
        has_data_ = true;
        data_ = value;
        return;
    }
    keep_data();
    if (kept_data_.size() + 1 + value.size() > kLongest) {
        malformed_ = true;
        return;
    }
    kept_data_.append('\n');
    kept_data_.append(value);
}

void SseParser::keep_data() {
    if (!has_data_ || data_kept_) return;
    kept_data_.clear();
    kept_data_.append(data_);
    data_kept_ = true;
}

SseEvent SseParser::ended_event() const {
    static constexpr char kNothing[kReadablePadding] = {};
    const std::string_view data = data_kept_ ? kept_data_.view() : data_;
    return {type_.view(), data.empty() ? std::string_view(kNothing, 0) : data};
}

std::optional<SseEvent> SseParser::rest() {
    if (malformed_ || event_over_) return std::nullopt;
    if (line_.size() != 0) {
        keep_data();
        take_line(line_.view());
        line_.clear();
    }
    if (!has_data_ || malformed_) return std::nullopt;
    event_over_ = true;
    return ended_event();
}

}  // namespace paretoken::protocol
