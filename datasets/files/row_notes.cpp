#include "datasets/files/row_notes.h"

#include <fmt/format.h>

#include "core/text/printable.h"
#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {
namespace {

constexpr double kMany = .05;  // share of rows left out from which it is told
constexpr std::size_t kMostUnknown = 12;
constexpr std::size_t kLongestName = 40;

}  // namespace

void RowNotes::add(const Row& row, const RowPlace& place) {
    if (!row.unusable.empty()) {
        left_out_.push_back(rows_);
        Count& count = reasons_.try_emplace(std::string(row.unusable), Count{0, place.line}).first->second;
        ++count.rows;
    }
    if (!row.remark.empty())
        ++remarks_.try_emplace(std::string(row.remark), Count{0, place.line}).first->second.rows;
    ++rows_;
    for (const std::string& name : row.unknown_fields) {
        if (!unknown_.contains(name) && unknown_.size() == kMostUnknown) {
            more_unknown_ = true;
            continue;
        }
        ++unknown_.try_emplace(name, Count{0, place.line}).first->second.rows;
    }
}

std::vector<std::string> RowNotes::texts(std::string_view known_fields) const {
    std::vector<std::string> texts;
    for (const auto& [reason, count] : reasons_) {
        const double share = static_cast<double>(count.rows) / static_cast<double>(rows_);
        texts.push_back(fmt::format("{} of {} rows{} left out, {} (first in line {})", count.rows, rows_,
                                    share > kMany ? fmt::format(" ({:.3g} %)", 100 * share) : "", reason,
                                    count.first_line));
    }
    for (const auto& [remark, count] : remarks_)
        texts.push_back(
            fmt::format("{} of {} rows {} (first in line {})", count.rows, rows_, remark, count.first_line));
    if (unknown_.empty()) return texts;
    std::string names;
    for (const auto& [name, count] : unknown_)
        names += fmt::format("{}\"{}\" (first in line {})", names.empty() ? "" : ", ",
                             printable_line(name, kLongestName), count.first_line);
    if (more_unknown_) names += " and more";
    texts.push_back(fmt::format("fields of rows that have no effect: {}; known are {}", names, known_fields));
    return texts;
}

}  // namespace paretoken::datasets
