#include "datasets/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/spec.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kLongest = 1'000'000'000;

[[noreturn]] void refuse(const std::string& text, std::string_view why) {
    throw UsageError(
        fmt::format("length '{}': {}; expected 512, 512:ratio=0.2, uniform:min=1,max=8, "
                    "normal:mean=512,stddev=64 or lognormal:mean=512,cv=1",
                    text, why));
}

std::int64_t whole(const std::string& text, double tokens) {
    if (tokens < 1 || tokens > static_cast<double>(kLongest))
        refuse(text, "a length is at least 1 and at most 1G tokens");
    return std::llround(tokens);
}

double standard_deviation_of(const std::string& text, const Spec& spec, double mean) {
    if (spec.fields.contains("cv") == spec.fields.contains("stddev"))
        refuse(text, "one of stddev and cv is needed");
    const double deviation = spec.fields.contains("cv") ? spec.number("cv") * mean : spec.number("stddev");
    if (deviation < 0) refuse(text, "a spread is at least 0");
    return deviation;
}

}  // namespace

Lengths::Lengths(std::string_view given) : text_(given) {
    std::string separated = text_;
    std::replace(separated.begin(), separated.end(), ';', ',');
    const Spec spec = parse_spec(separated);
    if (spec.name == "uniform") {
        spec.expect_only({"min", "max"});
        shape_ = UniformLengths{whole(text_, spec.number("min")), whole(text_, spec.number("max"))};
        if (std::get<UniformLengths>(shape_).low > std::get<UniformLengths>(shape_).high)
            refuse(text_, "min is above max");
    } else if (spec.name == "normal" || spec.name == "lognormal") {
        spec.expect_only({"mean", "stddev", "cv", "min", "max"});
        NormalLengths normal;
        normal.mean = spec.number("mean");
        whole(text_, normal.mean);
        normal.deviation = standard_deviation_of(text_, spec, normal.mean);
        normal.logarithmic = spec.name == "lognormal";
        if (normal.logarithmic) {
            // exp(N(m, s)) has mean exp(m + s²/2) and squared coefficient of variation exp(s²) − 1.
            const double cv = normal.deviation / normal.mean;
            const double variance = std::log1p(cv * cv);
            normal.mean = std::log(normal.mean) - variance / 2;
            normal.deviation = std::sqrt(variance);
        }
        normal.low = whole(text_, spec.number_or("min", 1));
        normal.high = whole(text_, spec.number_or("max", kLongest));
        if (normal.low > normal.high) refuse(text_, "min is above max");
        shape_ = normal;
    } else {
        if (spec.name.find_first_not_of("0123456789.kKMG") != std::string::npos)
            refuse(text_, "not a known one");
        spec.expect_only({"ratio"});
        const double length = static_cast<double>(whole(text_, static_cast<double>(parse_count(spec.name))));
        const double ratio = spec.number_or("ratio", 0);
        if (ratio < 0 || ratio > 1) refuse(text_, "a ratio lies between 0 and 1");
        shape_ = UniformLengths{std::max<std::int64_t>(1, std::llround(length * (1 - ratio))),
                                std::llround(length * (1 + ratio))};
    }
}

std::int64_t Lengths::draw(Random& random) const {
    if (const auto* uniform = std::get_if<UniformLengths>(&shape_)) {
        const auto choices = static_cast<std::uint64_t>(uniform->high - uniform->low + 1);
        return uniform->low + static_cast<std::int64_t>(random.below(choices));
    }
    const NormalLengths& normal = std::get<NormalLengths>(shape_);
    const double drawn = normal.mean + normal.deviation * random.normal();
    const double tokens = normal.logarithmic ? std::exp(drawn) : drawn;
    return std::llround(
        std::clamp(tokens, static_cast<double>(normal.low), static_cast<double>(normal.high)));
}

double Lengths::mean() const {
    if (const auto* uniform = std::get_if<UniformLengths>(&shape_)) {
        return (static_cast<double>(uniform->low) + static_cast<double>(uniform->high)) / 2;
    }
    const NormalLengths& normal = std::get<NormalLengths>(shape_);
    return normal.logarithmic ? std::exp(normal.mean + normal.deviation * normal.deviation / 2) : normal.mean;
}

}  // namespace paretoken::datasets
