#include "datasets/files/agents/job_row.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 9> kJobFields = {
    "whole_prompt", "job", "conversation", "id", "after", "tool_s", "delay_s", "fork_of", "background"};
constexpr double kLongestPause = 1e9;  ///< seconds

double pause_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    const double pause = number_in(object, key, place).value_or(0);
    if (pause > kLongestPause) place.refuse(fmt::format("\"{}\" is longer than 1e9 s", key));
    return pause;
}

}  // namespace

void read_job_fields(const dom::element& object, Row& row, const RowPlace& place) {
    row.conversation = name_in(object, "conversation", place);
    row.job.name = name_in(object, "job", place);
    // Rows of other programs have an "id" too, which says nothing without a job.
    if (!row.job.name.empty() || !row.conversation.empty()) row.job.id = name_in(object, "id", place);
    row.job.after = names_in(object, "after", place);
    row.job.delay_s = pause_in(object, "delay_s", place);
    row.job.tool_s = pause_in(object, "tool_s", place);
    row.job.fork_of = name_in(object, "fork_of", place);
    row.job.background = flag_in(object, "background", place);
    row.whole_prompt = flag_in(object, "whole_prompt", place);
}

bool is_job_field(std::string_view name, const Row& row) {
    if (name == "id" && row.job.id.empty()) return false;
    return std::ranges::find(kJobFields, name) != kJobFields.end();
}

}  // namespace paretoken::datasets
