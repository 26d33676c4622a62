#include "datasets/synthetic/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/spec.h"
#include "datasets/files/csv_row.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kLongest = 1'000'000'000;

[[noreturn]] void refuse(const std::string& text, std::string_view why) {
    throw UsageError(
        fmt::format("length '{}': {}; expected 512, 512:ratio=0.2, uniform:min=1,max=8, "
                    "normal:mean=512,stddev=64, lognormal:mean=512,cv=1, zipf:s=1.1,max=4096, "
                    "empirical:path=FILE,column=K or, for --isl, pairs:512/128=.7;4096/256=.3",
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

ZipfLengths zipf_of(const std::string& text, const Spec& spec) {
    constexpr std::int64_t kMostRanks = 1'000'000;
    spec.expect_only({"s", "min", "max"});
    const double exponent = spec.number("s");
    if (exponent < 0 || exponent > 100) refuse(text, "s lies between 0 and 100");
    ZipfLengths zipf;
    zipf.low = whole(text, spec.number_or("min", 1));
    const std::int64_t high = whole(text, spec.number("max"));
    if (zipf.low > high) refuse(text, "min is above max");
    if (high - zipf.low >= kMostRanks) refuse(text, "at most a million different lengths");
    double sum = 0;
    for (std::int64_t rank = 1; rank <= high - zipf.low + 1; ++rank)
        zipf.below.push_back(sum += std::pow(static_cast<double>(rank), -exponent));
    for (double& share : zipf.below) share /= sum;
    return zipf;
}

EmpiricalLengths empirical_of(const std::string& text, const Spec& spec) {
    spec.expect_only({"path", "column"});
    if (!spec.fields.contains("path") || !spec.fields.contains("column"))
        refuse(text, "path= and column= are needed");
    const std::string& column = spec.fields.at("column");
    std::string header;
    EmpiricalLengths empirical;
    const bool by_number = column.find_first_not_of("0123456789") == std::string::npos;
    const RowFile file(spec.fields.at("path"), RowLayout::lines,
                       [&](std::string_view row, const RowPlace& place) {
                           if (header.empty()) {
                               header = by_number ? csv_numbers(row) : std::string(row);
                               if (!by_number || !is_length(csv_field(row, header, column, place))) return;
                           }
                           empirical.seen.push_back(csv_tokens(row, header, column, place));
                       });
    if (empirical.seen.empty()) refuse(text, "the file has no lengths");
    return empirical;
}

}  // namespace

Lengths::Lengths(std::string_view given) : text_(given) {
    std::string separated = text_;
    std::ranges::replace(separated, ';', ',');
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
    } else if (spec.name == "zipf") {
        shape_ = zipf_of(text_, spec);
    } else if (spec.name == "empirical") {
        shape_ = empirical_of(text_, spec);
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
    if (const auto* zipf = std::get_if<ZipfLengths>(&shape_)) {
        const auto rank = std::upper_bound(zipf->below.begin(), zipf->below.end() - 1, random.uniform());
        return zipf->low + (rank - zipf->below.begin());
    }
    if (const auto* empirical = std::get_if<EmpiricalLengths>(&shape_))
        return empirical->seen[random.below(empirical->seen.size())];
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
    if (const auto* zipf = std::get_if<ZipfLengths>(&shape_)) {
        double mean = static_cast<double>(zipf->low);
        for (std::size_t rank = 0; rank + 1 < zipf->below.size(); ++rank) mean += 1 - zipf->below[rank];
        return mean;
    }
    if (const auto* empirical = std::get_if<EmpiricalLengths>(&shape_)) {
        double sum = 0;
        for (const std::int64_t length : empirical->seen) sum += static_cast<double>(length);
        return sum / static_cast<double>(empirical->seen.size());
    }
    const NormalLengths& normal = std::get<NormalLengths>(shape_);
    return normal.logarithmic ? std::exp(normal.mean + normal.deviation * normal.deviation / 2) : normal.mean;
}

LengthPairs::LengthPairs(std::string_view given) : text_(given) {
    std::string_view rest = given.substr(std::string_view("pairs:").size());
    double sum = 0;
    while (true) {
        const auto end = rest.find(';');
        const std::string_view pair = rest.substr(0, end);
        const auto slash = pair.find('/');
        const auto equals = pair.find('=');
        if (slash == std::string_view::npos || (equals != std::string_view::npos && equals < slash))
            refuse(text_, fmt::format("'{}' is not INPUT/OUTPUT=SHARE", pair));
        LengthPair read;
        read.input = whole(text_, parse_number(pair.substr(0, slash)));
        read.output = whole(text_, parse_number(pair.substr(slash + 1, equals - slash - 1)));
        if (equals != std::string_view::npos) read.share = parse_number(pair.substr(equals + 1));
        if (!(read.share > 0 && read.share <= 1e9)) refuse(text_, "a share is above 0 and at most 1e9");
        sum += read.share;
        pairs_.push_back(read);
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    for (LengthPair& pair : pairs_) pair.share /= sum;
}

LengthPair LengthPairs::draw(Random& random) const {
    double left = random.uniform();
    for (const LengthPair& pair : pairs_) {
        if (left < pair.share) return pair;
        left -= pair.share;
    }
    return pairs_.back();
}

double LengthPairs::mean_input() const {
    double mean = 0;
    for (const LengthPair& pair : pairs_) mean += pair.share * static_cast<double>(pair.input);
    return mean;
}

double LengthPairs::mean_output() const {
    double mean = 0;
    for (const LengthPair& pair : pairs_) mean += pair.share * static_cast<double>(pair.output);
    return mean;
}

}  // namespace paretoken::datasets
