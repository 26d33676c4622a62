#pragma once
// Files that are embedded in the binary (cards, profiles, report assets). cmake/Embed.cmake writes the
// definitions. Names are paths from the source root, or generated/FILE.gz for files that gzip has packed.
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace paretoken {

struct EmbeddedFile {
    std::string_view name;
    std::string_view text;
};

std::span<const EmbeddedFile> embedded_cards();      ///< JSON files about models, GPUs and prices
std::span<const EmbeddedFile> embedded_simulator();  ///< JSON profiles of the simulated server
std::span<const EmbeddedFile> embedded_reports();    ///< template, styles and scripts of HTML reports

}  // namespace paretoken
