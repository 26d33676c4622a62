#pragma once
// Reads cards. A card is a JSON file with facts about a model, a GPU or prices. Shipped cards are embedded in
// the program; others are read from a path that the user gave.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cards {

/// The text of a shipped card in the folder `kind` ("models", "gpus", "prices"); nothing if there is none.
std::optional<std::string_view> shipped_card(std::string_view kind, std::string_view name);

/// The sorted names of the shipped cards of a kind.
std::vector<std::string> shipped_cards(std::string_view kind);

/// Reads a file of at most 16 MiB. Throws a UsageError with the path and the reason when it cannot.
std::string read_card_file(const std::filesystem::path& path);

}  // namespace paretoken::cards
