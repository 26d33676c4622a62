// run.json, sweep.json, a configuration file and lines of requests.jsonl: an accepted text is written as
// a text that is read and written to the same text again.
#include <algorithm>

#include "core/plan/plan.h"
#include "core/plan/plan_fields.h"
#include "core/text/secrets.h"
#include "reports/files/json/record_lines.h"
#include "reports/files/json/run_json.h"
#include "reports/files/json/sweep_json.h"
#include "reports/files/plan_file.h"
#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

constexpr const char* kSame = "what was read, written and read again is the same";

void run(std::string_view text) {
    const std::string once = reports::run_json(reports::parse_run_json(text, "run.json"));
    require(reports::run_json(reports::parse_run_json(once, "run.json")) == once, kSame);
}

void sweep(std::string_view text) {
    const std::string once = reports::sweep_json(reports::parse_sweep_json(text, "sweep.json"));
    require(reports::sweep_json(reports::parse_sweep_json(once, "sweep.json")) == once, kSame);
}

/// Returns whether a field whose texts may be secret (headers, environment entries, a URL with credentials)
/// hides one.
bool hides_a_secret(const PlanTexts& texts) {
    const auto is_hidden = [](const std::string& text) {
        return text.find(Secrets::kHidden) != std::string::npos;
    };
    const auto fields = plan_fields();
    return std::any_of(fields.begin(), fields.end(), [&](const PlanField& field) {
        const auto held = texts.find(field.name);
        return field.shown != nullptr && held != texts.end() &&
               std::any_of(held->second.begin(), held->second.end(), is_hidden);
    });
}

void plan(std::string_view text) {
    const PlanTexts texts = reports::parse_plan_json(text, "plan.json");
    const std::string once = reports::plan_json(texts);
    require(reports::plan_json(reports::parse_plan_json(once, "plan.json")) == once, kSame);
    LoadPlan asked;
    if (refuses([&] { asked = plan_of(texts); })) return;
    const PlanTexts again = texts_of(asked);
    if (hides_a_secret(again)) return;
    require(plan_of(again) == asked, "a plan's texts give the plan");
}

void lines(std::string_view text) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const RequestRecord record = reports::parse_record_line(text.substr(0, end), {}, "requests.jsonl");
        std::string once, twice;
        reports::append_record_line(once, record, {});
        reports::append_record_line(twice, reports::parse_record_line(once, {}, "requests.jsonl"), {});
        require(once == twice, kSame);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

}  // namespace

void fuzz(Input input) {
    refuses([&] {
        switch (input.byte()) {
            case 'r':
                return run(input.rest());
            case 's':
                return sweep(input.rest());
            case 'p':
                return plan(input.rest());
            default:
                return lines(input.rest());
        }
    });
}

}  // namespace paretoken::fuzz
