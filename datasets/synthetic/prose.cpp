#include "datasets/synthetic/prose.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/error.h"
#include "core/text/content_hash.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // bytes

[[noreturn]] void is_too_long(const std::string& path) {
    throw UsageError(fmt::format("--text {}: the text is longer than 1 GiB; give a part of it", path));
}

/// Reads the file up to the limit, because a device such as /dev/zero has no end.
std::string content_of(const std::string& path) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::error_code error;
    if (const auto size = std::filesystem::file_size(path, error); !error && size > kMostBytes)
        is_too_long(path);
    std::ifstream file(path, std::ios::binary);
    std::string content;
    std::size_t got = 0;
    while (file) {
        content.resize(got + kPiece);
        file.read(content.data() + got, static_cast<std::streamsize>(kPiece));
        got += static_cast<std::size_t>(file.gcount());
        if (got > kMostBytes) is_too_long(path);
    }
    if (!file.eof())
        throw UsageError(
            fmt::format("--text: cannot read '{}': {}; check the path", path, std::strerror(errno)));
    content.resize(got);
    return content;
}

/// White space and control characters separate words.
bool is_between_words(char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
}

}  // namespace

Prose::Prose(const std::string& path) : path_(path) {
    const std::string file = content_of(path);
    if (!simdjson::validate_utf8(file))
        throw UsageError(fmt::format("--text {}: the file is not UTF-8 text", path));
    content_ = content_hash(file);
    text_.reserve(file.size() + 1);
    for (auto at = file.begin(); at != file.end();) {
        at = std::find_if_not(at, file.end(), is_between_words);
        if (at == file.end()) break;
        const auto end = std::find_if(at, file.end(), is_between_words);
        begins_.push_back(static_cast<std::uint32_t>(text_.size()));
        text_.append(at, end);
        text_ += ' ';
        at = end;
    }
    if (words() < kFewestWords)
        throw UsageError(fmt::format("--text {}: the text has {} words; prompts are cut from at least {}",
                                     path, words(), kFewestWords));
}

void Prose::append(std::string& text, std::size_t count, std::uint64_t first) const {
    for (auto word = static_cast<std::size_t>(first % words()); count > 0; word = 0) {
        const std::size_t here = std::min(count, words() - word);
        const std::size_t end = word + here == words() ? text_.size() : begins_[word + here];
        if (!text.empty()) text += ' ';
        text.append(text_, begins_[word], end - 1 - begins_[word]);
        count -= here;
    }
}

}  // namespace paretoken::datasets
