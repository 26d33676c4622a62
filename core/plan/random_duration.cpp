#include "core/plan/random_duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/spec.h"

namespace paretoken {
namespace {

[[noreturn]] void refuse(const std::string& text, std::string_view why) {
    throw UsageError(
        fmt::format("'{}': {}; expected 2s, uniform:min=1s,max=3s, exponential:mean=2s, "
                    "normal:mean=2s,stddev=500ms or lognormal:mean=2s,cv=1",
                    text, why));
}

double seconds_of(const std::string& text, const Spec& spec, const std::string& key) {
    const auto field = spec.fields.find(key);
    if (field == spec.fields.end()) refuse(text, fmt::format("{}=DURATION is missing", key));
    return seconds(parse_duration(field->second));
}

double mean_of(const std::string& text, const Spec& spec) {
    const double mean = seconds_of(text, spec, "mean");
    if (mean <= 0) refuse(text, "the mean must be above 0");
    return mean;
}

}  // namespace

RandomDuration::RandomDuration(std::string_view given) : text_(given) {
    std::string separated = text_;
    std::ranges::replace(separated, ';', ',');
    const Spec spec = parse_spec(separated);
    if (spec.name == "uniform") {
        spec.expect_only({"min", "max"});
        shape_ = Shape::uniform;
        a_ = seconds_of(text_, spec, "min");
        b_ = seconds_of(text_, spec, "max");
        if (a_ > b_) refuse(text_, "min is above max");
    } else if (spec.name == "exponential") {
        spec.expect_only({"mean"});
        shape_ = Shape::exponential;
        a_ = mean_of(text_, spec);
    } else if (spec.name == "normal") {
        spec.expect_only({"mean", "stddev"});
        shape_ = Shape::normal;
        a_ = mean_of(text_, spec);
        b_ = seconds_of(text_, spec, "stddev");
    } else if (spec.name == "lognormal") {
        spec.expect_only({"mean", "stddev", "cv"});
        shape_ = Shape::lognormal;
        const double mean = mean_of(text_, spec);
        if (spec.fields.contains("cv") == spec.fields.contains("stddev"))
            refuse(text_, "one of stddev and cv is needed");
        const double cv =
            spec.fields.contains("cv") ? spec.number("cv") : seconds_of(text_, spec, "stddev") / mean;
        if (cv < 0) refuse(text_, "a spread is at least 0");
        // exp(N(m, s)) has mean exp(m + s²/2) and squared coefficient of variation exp(s²) − 1.
        const double variance = std::log1p(cv * cv);
        a_ = std::log(mean) - variance / 2;
        b_ = std::sqrt(variance);
    } else {
        spec.expect_only({});
        if (spec.name.find_first_of("0123456789") == std::string::npos) refuse(text_, "not a known one");
        a_ = seconds(parse_duration(spec.name));
    }
}

Duration RandomDuration::draw(Random& random) const {
    constexpr double kLongest = 1e7;  // seconds, so that the sum of hundreds fits into nanoseconds
    double drawn = a_;
    switch (shape_) {
        case Shape::fixed:
            break;
        case Shape::uniform:
            drawn += (b_ - a_) * random.uniform();
            break;
        case Shape::exponential:
            drawn *= random.exponential();
            break;
        case Shape::normal:
            do drawn = a_ + b_ * random.normal();
            while (drawn < 0);
            break;
        case Shape::lognormal:
            drawn = std::exp(a_ + b_ * random.normal());
            break;
    }
    return from_seconds(std::min(drawn, kLongest));
}

}  // namespace paretoken
