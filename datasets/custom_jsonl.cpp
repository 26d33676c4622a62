#include "datasets/custom_jsonl.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/content_hash.h"
#include "core/error.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongestLine = std::size_t{16} << 20;  // a prompt of several million tokens

/// Where in the file, for messages.
struct Line {
    const std::string& path;
    std::size_t number;

    [[noreturn]] void refuse(std::string_view why) const {
        throw UsageError(
            fmt::format("{}:{}: {}; each line is an object with \"prompt\" or \"messages\", and "
                        "optionally \"output_tokens\"",
                        path, number, why));
    }
};

TokenIds token_ids_of(dom::array array, const Line& line) {
    TokenIds ids;
    for (const dom::element element : array) {
        std::int64_t id = 0;
        if (element.get(id) || id < 0 || id > INT32_MAX)
            line.refuse("\"prompt\" holds something that is no token id");
        ids.push_back(static_cast<std::int32_t>(id));
    }
    if (ids.empty()) line.refuse("\"prompt\" is empty");
    return ids;
}

/// A string, or parts of which the texts count.
std::string content_of(dom::element content, const Line& line) {
    std::string_view text;
    if (!content.get(text)) return std::string(text);
    dom::array parts;
    if (content.get(parts)) line.refuse("a message's \"content\" is no text");
    std::string joined;
    for (const dom::element part : parts) {
        if (part["text"].get(text)) line.refuse("a message has a part without \"text\"");
        joined += text;
    }
    return joined;
}

Messages messages_of(dom::array array, const Line& line) {
    Messages messages;
    for (const dom::element element : array) {
        std::string_view role;
        dom::element content;
        if (element["role"].get(role)) line.refuse("a message lacks \"role\"");
        if (element["content"].get(content)) line.refuse("a message lacks \"content\"");
        messages.push_back({std::string(role), content_of(content, line)});
    }
    if (messages.empty()) line.refuse("\"messages\" is empty");
    return messages;
}

Prompt prompt_of(dom::element object, const Line& line) {
    dom::element value;
    dom::array array;
    std::string_view text;
    if (!object["messages"].get(value)) {
        if (value.get(array)) line.refuse("\"messages\" is no list");
        return messages_of(array, line);
    }
    if (object["prompt"].get(value)) line.refuse("neither \"prompt\" nor \"messages\" is there");
    if (!value.get(text)) return std::string(text);
    if (value.get(array)) line.refuse("\"prompt\" is neither text nor token ids");
    return token_ids_of(array, line);
}

std::optional<std::int64_t> tokens_of(dom::element object, std::string_view key, const Line& line) {
    dom::element value;
    std::int64_t tokens = 0;
    if (object[key].get(value) || value.is_null()) return std::nullopt;
    if (value.get(tokens) || tokens < 1) line.refuse(fmt::format("\"{}\" is no whole number from 1", key));
    return tokens;
}

Request request_of(dom::element object, const Line& line) {
    if (!object.is_object()) line.refuse("no JSON object");
    Request request;
    request.prompt = prompt_of(object, line);
    request.wanted_input_tokens = tokens_of(object, "input_tokens", line);
    if (const auto* ids = std::get_if<TokenIds>(&request.prompt)) {
        request.wanted_input_tokens = static_cast<std::int64_t>(ids->size());
    }
    request.wanted_output_tokens = tokens_of(object, "output_tokens", line);
    std::string_view request_class;
    if (!object["class"].get(request_class)) request.request_class = request_class;
    return request;
}

/// Adds the request of a line, if it is not blank.
void add_line(std::string_view line, const Line& where, dom::parser& parser, std::vector<Request>& requests) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (where.number == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    dom::element object;
    if (const auto error = parser.parse(line.data(), line.size()).get(object))
        where.refuse(fmt::format("not JSON ({})", simdjson::error_message(error)));
    requests.push_back(request_of(object, where));
}

struct Content {
    std::vector<Request> requests;
    std::string hash;
};

/// Line by line, so that what is no file of lines (a device, another kind of file) is refused early.
Content read_content(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    dom::parser parser;
    std::vector<Request> requests;
    ContentHash hash;
    std::string line;
    std::size_t number = 1;
    std::array<char, 1 << 16> block;
    for (std::size_t got = 1; file && got != 0;) {
        got = std::fread(block.data(), 1, block.size(), file.get());
        std::string_view rest(block.data(), got);
        hash.add(rest);
        for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
            line += rest.substr(0, end);
            rest.remove_prefix(end + 1);
            add_line(line, {path, number++}, parser, requests);
            line.clear();
        }
        line += rest;
        if (line.size() > kLongestLine)
            throw UsageError(
                fmt::format("{}:{}: the line is longer than {} MiB; is this a file of JSON lines?", path,
                            number, kLongestLine >> 20));
    }
    if (!file || std::ferror(file.get()))
        throw RuntimeError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    add_line(line, {path, number}, parser, requests);
    if (requests.empty()) throw UsageError(fmt::format("'{}' holds no requests", path));
    return {std::move(requests), hash.text()};
}

class CustomJsonl : public Dataset {
  public:
    CustomJsonl(std::string path, Content content, std::string salt)
        : path_(std::move(path)),
          requests_(std::move(content.requests)),
          content_(std::move(content.hash)),
          salt_(std::move(salt)) {}

    Request request(std::uint64_t index) const override {
        Request request = requests_[index % requests_.size()];
        request.index = index;
        request.id = salt_.empty() ? fmt::format("{}", index) : fmt::format("{}-{}", salt_, index);
        return request;
    }
    std::optional<std::uint64_t> size() const override { return requests_.size(); }
    std::string description() const override {
        return fmt::format("custom:path={},requests={}", path_.substr(path_.rfind('/') + 1),
                           requests_.size());
    }
    std::string content() const override { return content_; }
    std::optional<double> mean_output_tokens() const override {
        double sum = 0;
        for (const Request& request : requests_) {
            if (!request.wanted_output_tokens) return std::nullopt;
            sum += static_cast<double>(*request.wanted_output_tokens);
        }
        return sum / static_cast<double>(requests_.size());
    }

  private:
    std::string path_;
    std::vector<Request> requests_;
    std::string content_;
    std::string salt_;
};

}  // namespace

std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options) {
    options.spec.expect_only({"path", "osl"});
    const std::string path = file_of(options.spec, options.path);
    Content content = read_content(path);
    if (options.spec.fields.contains("osl")) {
        const auto tokens = static_cast<std::int64_t>(options.spec.number("osl"));
        if (tokens < 1) throw UsageError("dataset 'custom': osl is at least 1");
        for (Request& request : content.requests) {
            if (!request.wanted_output_tokens) request.wanted_output_tokens = tokens;
        }
    }
    return std::make_unique<CustomJsonl>(path, std::move(content), options.salt);
}

}  // namespace paretoken::datasets
