#pragma once
// The sources of cards: the files that are embedded in the program, or a path the user gave.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cards {

/// `kind` is the folder: "models", "gpus", "prices". Nothing when no shipped card has that name.
std::optional<std::string_view> shipped_card(std::string_view kind, std::string_view name);

/// Names of the shipped cards of a kind, sorted.
std::vector<std::string> shipped_cards(std::string_view kind);

/// Throws UsageError with the path and the system's reason; refuses more than 16 MiB.
std::string read_card_file(const std::filesystem::path& path);

}  // namespace paretoken::cards
