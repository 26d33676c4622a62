#include "cards/card_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/embedded.h"
#include "core/error.h"

namespace paretoken::cards {
namespace {

constexpr std::uintmax_t kLargestCard = std::uintmax_t{16} << 20;

/// The name in a path: "llama-3.1-8b" for "cards/models/llama-3.1-8b.json"; empty for a card of another kind.
std::string_view card_name(std::string_view file, std::string_view kind) {
    const std::string folder = fmt::format("cards/{}/", kind);
    constexpr std::string_view kSuffix = ".json";
    if (!file.starts_with(folder) || !file.ends_with(kSuffix)) return {};
    file.remove_prefix(folder.size());
    file.remove_suffix(kSuffix.size());
    return file;
}

}  // namespace

std::optional<std::string_view> shipped_card(std::string_view kind, std::string_view name) {
    for (const EmbeddedFile& file : embedded_cards())
        if (!name.empty() && card_name(file.name, kind) == name) return file.text;
    return {};
}

std::vector<std::string> shipped_cards(std::string_view kind) {
    std::vector<std::string> names;
    for (const EmbeddedFile& file : embedded_cards())
        if (const auto name = card_name(file.name, kind); !name.empty()) names.emplace_back(name);
    std::ranges::sort(names);
    return names;
}

std::string read_card_file(const std::filesystem::path& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error) throw UsageError(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
    if (size > kLargestCard)
        throw UsageError(fmt::format("{}: {} MiB is too large for a card", path.string(), size >> 20));
    std::ifstream file(path, std::ios::binary);
    std::string text(size, '\0');
    if (!file || !file.read(text.data(), static_cast<std::streamsize>(size)))
        throw UsageError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
    return text;
}

}  // namespace paretoken::cards
