#include "loadgen/arrival.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "core/random.h"

namespace paretoken::loadgen {
namespace {

Random stream(std::uint64_t seed, std::uint64_t index) {
    return Random(derived_seed(seed, "arrivals", index));
}

Duration constant_gap(const Arrivals& a, std::uint64_t, std::uint64_t index) {
    return index == 0 ? Duration{} : from_seconds(1 / a.rate);
}

Duration poisson_gap(const Arrivals& a, std::uint64_t seed, std::uint64_t index) {
    return from_seconds(stream(seed, index).exponential() / a.rate);
}

Duration gamma_gap(const Arrivals& a, std::uint64_t seed, std::uint64_t index) {
    return from_seconds(stream(seed, index).gamma(a.burstiness) / (a.burstiness * a.rate));
}

double positive(const Spec& spec, const std::string& key) {
    const double value = spec.number(key);
    if (!(value > 0) || value > 1e9) {
        throw UsageError(fmt::format("arrivals '{}': {} must be above 0, not {}", spec.name, key, value));
    }
    return value;
}

Arrivals timed(double rate, double burstiness,
               Duration (*gap)(const Arrivals&, std::uint64_t, std::uint64_t)) {
    Arrivals arrivals;
    arrivals.at_once = false;
    arrivals.rate = rate;
    arrivals.burstiness = burstiness;
    arrivals.gap = gap;
    return arrivals;
}

Arrivals at_once(const Spec& spec) {
    spec.expect_only({});
    return {};
}

Arrivals constant(const Spec& spec) {
    spec.expect_only({"rate"});
    return timed(positive(spec, "rate"), 1, constant_gap);
}

Arrivals poisson(const Spec& spec) {
    spec.expect_only({"rate"});
    return timed(positive(spec, "rate"), 1, poisson_gap);
}

Arrivals gamma(const Spec& spec) {
    spec.expect_only({"rate", "burstiness"});
    return timed(positive(spec, "rate"), positive(spec, "burstiness"), gamma_gap);
}

constexpr std::array<ArrivalRow, 4> kTable{{
    {"at_once", "", "all at the start; the in-flight cap paces them (closed loop)", at_once},
    {"constant", "rate=R", "one every 1/R seconds", constant},
    {"poisson", "rate=R", "independent arrivals, exponential gaps", poisson},
    {"gamma", "rate=R,burstiness=B", "gamma gaps; B = 1 is poisson, below 1 burstier", gamma},
}};

}  // namespace

std::span<const ArrivalRow> arrival_table() {
    return kTable;
}

Arrivals arrivals_of(const Spec& spec) {
    std::string known;
    for (const ArrivalRow& row : kTable) {
        if (row.name == spec.name) {
            Arrivals arrivals = row.make(spec);
            arrivals.text = text_of(spec);
            return arrivals;
        }
        known += fmt::format("{}{}{}{}", known.empty() ? "" : ", ", row.name, row.fields.empty() ? "" : ":",
                             row.fields);
    }
    throw UsageError(fmt::format("unknown arrivals '{}'; expected one of {}", text_of(spec), known));
}

Arrivals parse_arrivals(std::string_view text) {
    Arrivals arrivals = arrivals_of(parse_spec(text));
    arrivals.text = text;
    return arrivals;
}

}  // namespace paretoken::loadgen
