#pragma once
// What a sweep varies besides its axis: a cell is one combination of values of a plan's options. Pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"
#include "core/plan_fields.h"

namespace paretoken::experiments {

/// Name of a plan's field → value; the options that this cell does not share with the others.
using Cell = std::map<std::string, std::string>;

/// One option and the values that it takes.
struct Variation {
    std::string field;
    Texts values;

    bool operator==(const Variation&) const = default;
};

/// "temperature=0,0.7" by the name or any option name of a plan's field, with dashes or underscores. Throws
/// UsageError for a name that is no option's, for options that do not shape the load (files, notes, limits)
/// or that hold secrets, and without a value.
Variation parse_variation(std::string_view text);

/// The product of all values; the first variation changes slowest. No variation gives one empty cell.
std::vector<Cell> product_of(const std::vector<Variation>& variations);

/// A list of cells as a file gives them: names are resolved as parse_variation does. `where` names the file
/// in errors.
std::vector<Cell> resolved_cells(const std::vector<Cell>& cells, const std::string& where);

/// `asked` with the cell's values. Throws UsageError naming the option whose value is wrong.
LoadPlan in_cell(LoadPlan asked, const Cell& cell);

/// "temperature=0.7,isl=512" for people and, with only letters that every file system takes, for directories.
std::string text_of(const Cell& cell);
std::string directory_name_of(const Cell& cell);

}  // namespace paretoken::experiments
