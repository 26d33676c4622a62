#pragma once
// How a command shows its result: the options -v, --quiet and --json, and whether colours are used.
#include <filesystem>
#include <vector>

#include "cards/price.h"
#include "core/result/result.h"
#include "reports/pages/console.h"

namespace CLI {
class App;
}

namespace paretoken::cli {

struct Presentation {
    bool verbose = false;  ///< every figure and every table
    bool quiet = false;    ///< the verdict only, and no progress
    bool json = false;     ///< the result file on standard output, instead of text
    std::vector<cards::PriceCard> prices = cards::default_price_cards();  ///< for the cost of runs
    std::string price = {};  ///< the text of --price; empty without it

    /// Returns the command of a report on a directory, with the same price.
    std::string report_command(const std::filesystem::path& directory) const;
};

enum class Shows { text, text_and_json };

void add_presentation_options(CLI::App& command, Presentation& presentation, Shows shows);

/// Adds --price, which sets Presentation::prices.
void add_price_option(CLI::App& command, Presentation& presentation);

/// Returns whether a file is a terminal that understands control codes: TERM is set and not "dumb".
bool is_able_terminal(int file);

/// Returns whether text for this file is coloured: it is such a terminal, and NO_COLOR is not set.
bool wants_colour(int file);

reports::ConsoleStyle style_of_output();

void print_run(const RunResult& result, const std::filesystem::path& directory, const Presentation& shown);

/// Prints the tables of a sweep, with the cost at each point.
void print_sweep(const reports::SweepFile& file, const std::filesystem::path& directory,
                 const Presentation& shown);

}  // namespace paretoken::cli
