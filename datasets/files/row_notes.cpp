#include "datasets/files/row_notes.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <variant>

#include "core/text/number_text.h"
#include "core/text/printable.h"
#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {
namespace {

constexpr double kMany = .05;  // share of rows left out from which it is told
constexpr std::size_t kMostUnknown = 12;
constexpr std::size_t kLongestName = 40;
constexpr double kLongPause = 3600;  // seconds
constexpr std::string_view kPauses = "have a pause of more than an hour before a turn";
constexpr std::string_view kArguments =
    "hold calls of tools whose recorded arguments are not JSON, which a server may refuse";

/// Returns whether a recorded call of a tool has a text of arguments that is not JSON.
bool has_malformed_arguments(const Message& message) {
    if (message.fields.find("\"arguments\"") == std::string::npos) return false;
    simdjson::dom::parser parser;
    simdjson::dom::parser of_arguments;
    simdjson::dom::array calls;
    if (parser.parse(simdjson::padded_string("{" + message.fields + "}"))["tool_calls"].get(calls))
        return false;
    for (const simdjson::dom::element call : calls) {
        std::string_view text;
        if (call["function"]["arguments"].get(text)) continue;
        if (of_arguments.parse(simdjson::padded_string(text)).error() != simdjson::SUCCESS) return true;
    }
    return false;
}

bool has_malformed_arguments(const Row& row) {
    const auto* const messages = row.prompt ? std::get_if<Messages>(&*row.prompt) : nullptr;
    const auto malformed = [](const auto& part) { return has_malformed_arguments(part); };
    return (messages != nullptr && std::ranges::any_of(*messages, malformed)) ||
           std::ranges::any_of(row.further, malformed);
}

/// Returns the longest pause before a turn of the row.
double longest_pause_s(const Row& row) {
    double longest = row.job.delay_s + row.job.tool_s;
    for (const Row& turn : row.further) longest = std::max(longest, longest_pause_s(turn));
    return longest;
}

}  // namespace

void RowNotes::count(std::map<std::string, Count, std::less<>>& counts, std::string_view what,
                     const RowPlace& place) {
    ++counts.try_emplace(std::string(what), Count{0, place.line}).first->second.rows;
}

void RowNotes::add(const Row& row, const RowPlace& place) {
    if (!holds_request(row)) {
        left_out_.push_back(rows_);
        count(reasons_, row.unusable, place);
    } else {
        if (!row.unusable.empty()) count(turns_, row.unusable, place);
        for (const Row& turn : row.further)
            if (!turn.unusable.empty()) count(turns_, turn.unusable, place);
    }
    for (const std::string_view reason : row.left_out) count(turns_, reason, place);
    add_remarks(row.remarks, place);
    const double pause = longest_pause_s(row);
    if (pause > kLongPause) count(remarks_, kPauses, place);
    longest_pause_s_ = std::max(longest_pause_s_, pause);
    if (has_malformed_arguments(row)) count(remarks_, kArguments, place);
    ++rows_;
    for (const std::string& name : row.unknown_fields) {
        if (!unknown_.contains(name) && unknown_.size() == kMostUnknown) {
            more_unknown_ = true;
            continue;
        }
        count(unknown_, name, place);
    }
}

void RowNotes::add_remarks(const std::vector<std::string_view>& remarks, const RowPlace& place) {
    for (const std::string_view remark : remarks) count(remarks_, remark, place);
}

std::vector<std::string> RowNotes::texts(std::string_view known_fields) const {
    std::vector<std::string> texts;
    for (const auto& [reason, count] : reasons_) {
        const double share = static_cast<double>(count.rows) / static_cast<double>(rows_);
        texts.push_back(fmt::format("{} of {} rows{} left out, {} (first in line {})", count.rows, rows_,
                                    share > kMany ? fmt::format(" ({:.3g} %)", 100 * share) : "", reason,
                                    count.first_line));
    }
    for (const auto& [reason, count] : turns_)
        texts.push_back(
            fmt::format("{} turns left out, {} (first in line {})", count.rows, reason, count.first_line));
    for (const auto& [remark, count] : remarks_) {
        texts.push_back(
            fmt::format("{} of {} rows {} (first in line {})", count.rows, rows_, remark, count.first_line));
        if (remark == kPauses)
            texts.back() +=
                fmt::format("; the longest is {} s, for which a run waits unless --idle-cap cuts it",
                            number_text(longest_pause_s_));
    }
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
