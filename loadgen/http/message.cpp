#include "loadgen/http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>

namespace paretoken::http {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kPadding = 64;
constexpr std::uint32_t kHeaderLimit = 64 * 1024;

/// A Beast body that keeps nothing: every piece goes straight to the sink.
struct PushBody {
    using value_type = ResponseSink*;

    class reader {
      public:
        template <bool is_request, class Fields>
        reader(http::header<is_request, Fields>&, value_type& sink) : sink_(sink) {}

        void init(const boost::optional<std::uint64_t>&, beast::error_code& ec) { ec = {}; }

        template <class Buffers>
        std::size_t put(const Buffers& buffers, beast::error_code& ec) {
            ec = {};
            std::size_t total = 0;
            for (auto it = boost::asio::buffer_sequence_begin(buffers);
                 it != boost::asio::buffer_sequence_end(buffers); ++it) {
                const boost::asio::const_buffer piece = *it;
                if (sink_ != nullptr && piece.size() > 0) {
                    sink_->on_body({static_cast<const char*>(piece.data()), piece.size()});
                }
                total += piece.size();
            }
            return total;
        }

        void finish(beast::error_code& ec) { ec = {}; }

      private:
        value_type& sink_;  // set after this reader was made
    };
};

bool same_name(std::string_view a, std::string_view b) {
    return beast::iequals(a, b);
}

bool given(const Headers& headers, std::string_view name) {
    return std::any_of(headers.begin(), headers.end(),
                       [&](const auto& h) { return same_name(h.first, name); });
}

ResponseHead head_of(const http::response_header<>& fields) {
    const auto text = [&](http::field name) { return std::string(fields[name]); };
    return {.status = static_cast<int>(fields.result_int()),
            .content_type = text(http::field::content_type),
            .content_encoding = text(http::field::content_encoding),
            .retry_after = text(http::field::retry_after),
            .location = text(http::field::location),
            .server = text(http::field::server)};
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

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

struct ResponseReader::Parser {
    explicit Parser(ResponseSink& sink) {
        parser.header_limit(kHeaderLimit);
        parser.body_limit(boost::none);  // the default would end a long stream at 8 MB
        parser.get().body() = &sink;
    }

    http::response_parser<PushBody> parser;
    bool head_told = false;
};

ResponseReader::ResponseReader(ResponseSink& sink) : sink_(sink) {}
ResponseReader::~ResponseReader() = default;

void ResponseReader::begin() {
    parser_ = std::make_unique<Parser>(sink_);
    carried_.clear();
    failure_.clear();
    any_bytes_ = false;
}

ResponseReader::State ResponseReader::feed(std::span<const char> bytes) {
    any_bytes_ = true;
    if (carried_.empty()) return state_after(bytes);
    // Rare: framing was cut by the read. Join, with room behind for those who read ahead.
    std::string joined;
    joined.reserve(carried_.size() + bytes.size() + kPadding);
    joined.append(carried_).append(bytes.data(), bytes.size());
    carried_.clear();
    return state_after(joined);
}

ResponseReader::State ResponseReader::state_after(std::span<const char> bytes) {
    while (true) {
        auto& parser = parser_->parser;
        beast::error_code ec;
        const std::size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
        bytes = bytes.subspan(taken);
        if (ec && ec != http::error::need_more) return broken_by(ec.message());

        if (parser.is_header_done() && !parser_->head_told) {
            if (parser.get().result_int() / 100 == 1 && parser.get().result_int() != 101) {
                parser_ = std::make_unique<Parser>(
                    sink_);  // 100 Continue and its like: the answer is still to come
                if (bytes.empty()) return State::reading;
                continue;
            }
            parser_->head_told = true;
            parser.eager(true);
            sink_.on_head(head_of(parser.get()));
        }
        if (parser.is_done()) return State::complete;
        if (ec == http::error::need_more || bytes.empty()) break;
    }
    carried_.assign(bytes.data(), bytes.size());
    return State::reading;
}

ResponseReader::State ResponseReader::broken_by(const std::string& why) {
    failure_ = "not a valid HTTP response: " + why;
    return State::broken;
}

ResponseReader::State ResponseReader::feed_end() {
    auto& parser = parser_->parser;
    if (!any_bytes_) return broken_by("no bytes came before the end");
    if (parser.is_done()) return State::complete;
    beast::error_code ec;
    parser.put_eof(ec);
    return ec ? broken_by("the connection ended inside the response") : State::complete;
}

bool ResponseReader::keep_alive() const {
    return parser_ != nullptr && parser_->parser.keep_alive();
}

}  // namespace paretoken::http
