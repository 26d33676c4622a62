#pragma once
// The cells of a sweep: combinations of values of a plan's options and of the placeholders ("{name}") in its
// server's options, in each of which the axis is measured.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/plan_fields.h"

namespace paretoken::experiments {

/// Maps a plan's field or a placeholder to its value, for those that differ between cells.
using Cell = std::map<std::string, std::string>;

struct Variation {
    std::string field;
    Texts values;

    bool operator==(const Variation&) const = default;
};

/// Reads "temperature=0,0.7": a field of the plan or an option's name, or one of the `placeholders`, and
/// values, of which equal ones count once. Throws UsageError for another or an ambiguous name,
/// --dataset-path, options that do not shape the load or may hold secrets, and a missing value.
Variation parse_variation(std::string_view text, const std::set<std::string>& placeholders = {});

inline constexpr std::size_t kMostCells = 10'000;

/// Returns one cell for each combination of values; the first variation changes slowest. No variation gives
/// one empty cell. Throws UsageError when a field is varied twice, and for more than kMostCells cells.
std::vector<Cell> product_of(const std::vector<Variation>& variations);

/// Returns the cells of a file with names resolved as in parse_variation(). Throws UsageError naming `where`
/// for a refused name, two equal cells, none, and more than kMostCells.
std::vector<Cell> resolved_cells(const std::vector<Cell>& cells, const std::string& where,
                                 const std::set<std::string>& placeholders = {});

/// Throws UsageError if a placeholder of the server's options has no value in one of the cells. The
/// placeholders in `others` are not checked, because they get their values elsewhere.
void require_values(const ServerLaunch& server, const std::vector<Cell>& cells,
                    const std::set<std::string>& others = {});

/// Reads "max_num_seqs=concurrency": a placeholder, and the field whose value it takes. Throws UsageError.
std::pair<std::string, std::string> parse_link(std::string_view text,
                                               const std::set<std::string>& placeholders);

/// Returns `asked` with placeholders in its server options replaced: a placeholder that has the name of a
/// plan's field is replaced by the value of that field.
LoadPlan with_links(LoadPlan asked);

/// Returns the plan that all cells share, after with_dataset(); unchanged if a cell names a dataset, or if
/// the plan has classes, whose options take precedence, and cells give options.
LoadPlan with_common_dataset(LoadPlan asked, const std::vector<Cell>& cells);

/// Returns `asked` with the cell's values in its options and in the options of its server, after
/// with_dataset(). The dataset of a cell takes the lengths (--isl, --osl, --range-ratio) of `asked` that it
/// does not set itself. Throws UsageError naming the option, RuntimeError when a file cannot be read.
LoadPlan in_cell(LoadPlan asked, const Cell& cell);

/// text_of() returns "isl=512,temperature=0.7", with the names in alphabetical order. directory_name_of()
/// returns at most 80 characters of that text, with "_" for characters that a file system may not allow.
std::string text_of(const Cell& cell);
std::string directory_name_of(const Cell& cell);

}  // namespace paretoken::experiments
