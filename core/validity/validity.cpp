#include "core/validity/validity.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/text/validity_reasons.h"
#include "core/validity/checks.h"
#include "core/validity/judgements.h"

namespace paretoken {

Validity validity_of(const RunResult& result, const ValidityOptions& options) {
    Validity validity;
    const auto add = [&](std::optional<Reason> reason) {
        if (!reason) return;
        assert(is_explained(reason->check));
        validity.verdict = std::max(validity.verdict, reason->severity);
        validity.reasons.push_back(std::move(*reason));
    };
    for (const ReasonOf judge : judged_before_checks()) add(judge(result, options));
    for (const Check& check : checks()) add(reason_of(check, result, options));
    for (const ReasonOf judge : judged_after_checks()) add(judge(result, options));
    for (const FactText& text : kFacts)
        if (!result.reported && options.unknown.overlaps({text.fact}))
            add(reason_of(text, options.needs_of_slos));
    return validity;
}

bool is_of_host(std::string_view check) {
    return check == "instrument" || check == "shard_client" ||
           std::ranges::any_of(checks(),
                               [&](const Check& known) { return known.of_host && known.name == check; });
}

bool spoiled_by_instrument(const RunResult& run) {
    if (run.partial || run.validity.verdict != Verdict::invalid) return false;
    return std::ranges::all_of(run.validity.reasons, [](const Reason& reason) {
        return reason.severity != Verdict::invalid || is_of_host(reason.check);
    });
}

std::string gravest_reason(const Validity& validity) {
    for (const Reason& reason : validity.reasons)
        if (reason.severity == validity.verdict) return reason.text;
    return {};
}

std::string lost_records(const RunResult& result) {
    const auto& reasons = result.validity.reasons;
    const auto lost = std::ranges::find(reasons, "records_lost", &Reason::check);
    return lost == reasons.end() ? "" : lost->text;
}

bool has_lost_records(const RunResult& result) {
    return !lost_records(result).empty();
}

bool lacks_requests(const RunResult& result) {
    return result.plan.contains("shard") || has_lost_records(result);
}

}  // namespace paretoken
