#include "loadgen/http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>

#include "core/text/letter_case.h"
#include "core/text/printable.h"
#include "core/text/utc.h"

namespace paretoken::http {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kPadding = 64;
constexpr std::uint32_t kHeaderLimit = 64 * 1024;
constexpr int kMostInterim = 100;  ///< heads with a status of 1xx before the answer's head

bool given(const Headers& headers, std::string_view name) {
    return std::ranges::any_of(headers, [&](const auto& h) { return same_name(h.first, name); });
}

/// Returns the codings of a Transfer-Encoding without "chunked", which is the last one of a list.
std::string packing_in(std::string codings) {
    constexpr std::string_view kChunked = "chunked";
    if (lower_case(codings).ends_with(kChunked)) codings.resize(codings.size() - kChunked.size());
    codings.resize(codings.find_last_not_of(", \t") + 1);
    return codings;
}

ResponseHead head_of(const http::response_header<>& fields, std::span<const std::string> further) {
    const auto text = [&](auto name) { return std::string(fields[name]); };
    // A transfer coding beside "chunked" packs the body, too: "gzip, chunked".
    std::string coding = text(http::field::content_encoding);
    if (coding.empty()) coding = packing_in(text(http::field::transfer_encoding));
    ResponseHead head{.status = static_cast<int>(fields.result_int()),
                      .content_type = text(http::field::content_type),
                      .content_encoding = std::move(coding),
                      .retry_after = text(http::field::retry_after),
                      .location = text(http::field::location),
                      .server = text(http::field::server)};
    for (const std::string& name : further) head.further.push_back(text(name));
    return head;
}

/// Returns whether a line of a head is the header `name`, with a value that ends with `last` in small
/// letters.
bool is_header(std::string_view line, std::string_view name, std::string_view last = "") {
    return line.size() > name.size() && line[name.size()] == ':' &&
           same_name(line.substr(0, name.size()), name) && lower_case(line).ends_with(last);
}

/// Returns the next line of a head without its end, and removes both from `bytes`. `cut_off`: whether the
/// bytes end within the line.
std::string_view next_line(std::string_view& bytes, bool& cut_off) {
    std::string_view line = bytes.substr(0, bytes.find('\n'));
    cut_off = line.size() == bytes.size();
    bytes.remove_prefix(cut_off ? bytes.size() : line.size() + 1);
    if (line.ends_with('\r') && !cut_off) line.remove_suffix(1);
    return line;
}

constexpr std::string_view kTransfer = "transfer-encoding";

/// Returns how often the header `name` is in the head with which the bytes begin.
std::size_t count_of_header(std::string_view bytes, std::string_view name) {
    std::size_t count = 0;
    bool cut_off = false;
    for (std::string_view line = next_line(bytes, cut_off); !line.empty() && !cut_off;
         line = next_line(bytes, cut_off))
        count += is_header(line, name) ? 1 : 0;
    return count;
}

/// Returns bytes that begin with a head, with CRLF at the ends of the head's lines and with the space before
/// the reason of the status line, and with padding for code that reads ahead. RFC 9112 allows readers to take
/// a head whose lines end with LF alone. It says that the length of a chunked body has no meaning (6.3).
std::string mended_head(std::string_view bytes) {
    constexpr std::string_view kLine = "HTTP/1.1 200";
    bool cut_off = false;
    bool is_chunked = false;
    for (std::string_view rest = bytes, line = next_line(rest, cut_off); !line.empty() && !cut_off;
         line = next_line(rest, cut_off))
        is_chunked |= is_header(line, kTransfer, "chunked");
    std::string mended;
    mended.reserve(2 * bytes.size() + 1 + kPadding);
    for (bool in_head = true; in_head && !bytes.empty();) {
        const std::string_view line = next_line(bytes, cut_off);
        const bool lacks_space = mended.empty() && line.size() == kLine.size() && !cut_off;
        in_head = !line.empty();
        if (is_chunked && is_header(line, "content-length")) continue;
        mended.append(line).append(lacks_space ? " " : "").append(cut_off ? "" : "\r\n");
    }
    return mended.append(bytes);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

/// Returns whether bytes are the frame with which a server of HTTP/2 begins (RFC 9113, 6.5): a length of 24
/// bits, the type 4 (SETTINGS), no flags, and the stream 0.
bool is_http2(std::string_view bytes) {
    using namespace std::string_view_literals;
    constexpr std::size_t kLength = 3;
    constexpr std::string_view kSettings = "\x04\0\0\0\0\0"sv;
    return bytes.size() >= kLength + kSettings.size() && bytes.starts_with("\0\0"sv) &&
           bytes.substr(kLength).starts_with(kSettings);
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
    return beast::iequals(a, b);
}

std::optional<Duration> retry_after_of(const ResponseHead& head, std::time_t now) {
    constexpr std::time_t kMost = 3600;
    if (const auto date = epoch_of_http_date(head.retry_after))
        return std::chrono::seconds(std::clamp<std::time_t>(*date - now, 0, kMost));
    std::time_t value = 0;
    const char* const end = head.retry_after.data() + head.retry_after.size();
    const auto [stop, error] = std::from_chars(head.retry_after.data(), end, value);
    if (error != std::errc{} || stop != end || value < 0) return std::nullopt;
    return std::chrono::seconds(std::min(value, kMost));
}

bool is_compressed(const ResponseHead& head) {
    return !head.content_encoding.empty() && !same_name(head.content_encoding, "identity");
}

std::string compression_note(const ResponseHead& head) {
    constexpr std::size_t kLongest = 64;
    return is_compressed(head)
               ? fmt::format("its text is compressed ({})", printable_line(head.content_encoding, kLongest))
               : std::string();
}

std::string head_text(const RequestHead& head) {
    std::string out = fmt::format("{} {} HTTP/1.1\r\n", head.method, head.target);
    const auto add_default = [&](std::string_view name, std::string_view value) {
        if (!given(head.headers, name)) append_header(out, name, value);
    };
    add_default("Host", head.authority);
    add_default("User-Agent", "paretoken");
    add_default("Accept", "text/event-stream, application/json");
    add_default("Accept-Encoding", "identity");
    if (head.method == "POST") add_default("Content-Type", "application/json");
    for (const auto& [name, value] : head.headers) append_header(out, name, value);
    return out;
}

std::string request_text(const RequestHead& head, const Headers& extra, std::string_view body) {
    std::string out = head_text(head);
    for (const auto& [name, value] : extra) append_header(out, name, value);
    if (head.method == "POST") append_header(out, "Content-Length", std::to_string(body.size()));
    out.append("\r\n").append(body);
    return out;
}

ResponseReader::ResponseReader(ResponseSink& sink) : sink_(sink) {}

void ResponseReader::begin() {
    in_body_ = any_bytes_ = keep_alive_ = false;
    interim_ = 0;
    head_.clear();
    failure_.clear();
}

ResponseReader::State ResponseReader::feed(std::span<const char> bytes) {
    if (in_body_) return read_body(bytes);
    // RFC 9112 allows for an empty line before a message: some servers end the answer before it with one.
    while (!any_bytes_ && !bytes.empty() && (bytes.front() == '\r' || bytes.front() == '\n'))
        bytes = bytes.subspan(1);
    if (bytes.empty()) return State::reading;
    any_bytes_ = true;
    if (head_.empty()) return read_head(bytes);
    // A read cut the head. The parts are joined, with padding for code that reads ahead.
    std::string joined;
    joined.reserve(head_.size() + bytes.size() + kPadding);
    joined.append(std::exchange(head_, {})).append(bytes.data(), bytes.size());
    return read_head(joined);
}

ResponseReader::State ResponseReader::read_head(std::span<const char> bytes) {
    while (true) {
        http::response_parser<http::empty_body> parser;
        parser.header_limit(kHeaderLimit);
        parser.body_limit(boost::none);
        beast::error_code ec;
        const std::size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
        if (ec == http::error::need_more) {
            head_.assign(bytes.data(), bytes.size());
            return State::reading;
        }
        if (ec) {
            const std::string_view head(bytes.data(), bytes.size());
            if (is_http2(head)) return broken_by("it is HTTP/2, as gRPC uses it, and HTTP/1.1 is needed");
            if (!head.starts_with("HTTP/1.")) return broken_by(ec.message());
            if (head.find('\n') == std::string_view::npos && head.size() < kHeaderLimit) {
                head_.assign(head);  // only the end of the line shows whether it can be mended
                return State::reading;
            }
            const std::string mended = mended_head(head);
            if (mended != head) return read_head(mended);
            return broken_by(ec == http::error::bad_transfer_encoding && count_of_header(head, kTransfer) > 1
                                 ? ec.message() + ": the header is there twice, which proxies cause"
                                 : ec.message());
        }
        bytes = bytes.subspan(taken);
        const unsigned status = parser.get().result_int();
        if (status / 100 == 1 && status != 101) {  // an interim response such as 100 Continue
            if (++interim_ > kMostInterim)
                return broken_by(fmt::format("more than {} interim responses (status 1xx)", kMostInterim));
            if (bytes.empty()) return State::reading;
            continue;
        }
        in_body_ = true;
        keep_alive_ = parser.keep_alive();
        framing_ = parser.is_done()          ? BodyFraming::of_length(0)
                   : parser.chunked()        ? BodyFraming::chunked()
                   : parser.content_length() ? BodyFraming::of_length(*parser.content_length())
                                             : BodyFraming::until_close();
        sink_.on_head(head_of(parser.get(), sink_.further_headers()));
        return read_body(bytes);
    }
}

ResponseReader::State ResponseReader::read_body(std::span<const char> bytes) {
    while (!bytes.empty() && framing_.state() == BodyFraming::State::reading) {
        if (const auto piece = framing_.take(bytes); !piece.empty()) sink_.on_body(piece);
    }
    switch (framing_.state()) {
        case BodyFraming::State::reading:
            return State::reading;
        case BodyFraming::State::complete:
            if (!bytes.empty()) keep_alive_ = false;  // the server sent more than the response
            return State::complete;
        case BodyFraming::State::broken:
            break;
    }
    return broken_by(framing_.failure());
}

ResponseReader::State ResponseReader::broken_by(std::string_view why) {
    failure_ = fmt::format("not a valid HTTP response: {}", why);
    return State::broken;
}

ResponseReader::State ResponseReader::feed_end() {
    if (!any_bytes_) return broken_by("the connection ended before its first byte");
    if (!in_body_) return broken_by("the connection ended inside the response");
    framing_.end();
    return read_body({});
}

}  // namespace paretoken::http
