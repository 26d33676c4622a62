#include "reports/micro/micro_rows.h"

#include <fmt/format.h>

#include "cards/json_value.h"
#include "core/error.h"

namespace paretoken::reports {
namespace {

using cards::JsonCursor;

std::optional<double> positive_at(const JsonCursor& row, const std::string& key) {
    const auto value = row.find(key);
    return value ? std::optional(value->positive()) : std::nullopt;
}

bool is_aggregate(const JsonCursor& row) {
    const auto type = row.find("run_type");
    return type && type->string() == "aggregate";
}

MicroRow row_of(const JsonCursor& row) {
    MicroRow out{.name = row.at("name", "the benchmark's name").string()};
    if (const auto failed = row.find("error_occurred"); failed && failed->boolean()) {
        const auto message = row.find("error_message");
        out.error = message ? message->string() : "failed";
        out.valid = false;
        return out;
    }
    if (const auto valid = row.find("valid")) out.valid = valid->number() != 0;
    if (const auto label = row.find("label")) out.label = label->string();
    out.median_s = positive_at(row, "median_s");
    out.p10_s = positive_at(row, "p10_s");
    out.p25_s = positive_at(row, "p25_s");
    out.p75_s = positive_at(row, "p75_s");
    out.p90_s = positive_at(row, "p90_s");
    out.bytes_per_s = positive_at(row, "bytes_per_second");
    out.best_bytes_per_s = positive_at(row, "bytes_per_second_best");
    out.flops_per_s = positive_at(row, "flops_per_second");
    out.of_ceiling = positive_at(row, "of_ceiling");
    out.cached_flops_per_s = positive_at(row, "cached_flops_per_second");
    return out;
}

SizeFit fit_of(const JsonCursor& fit) {
    return {.kernel = fit.at("kernel", "the rows that were fitted").string(),
            .fixed_s = fit.at("fixed_s", "seconds").not_negative(),
            .bytes_per_s = fit.at("bytes_per_s", "bytes/s").positive(),
            .points = fit.at("points", "a number of rows").count(),
            .least_bytes = fit.at("least_bytes", "bytes").positive(),
            .most_bytes = fit.at("most_bytes", "bytes").positive(),
            .worst_residual = fit.at("worst_residual", "a fraction").not_negative()};
}

/// Contexts hold numbers as numbers or, where Google Benchmark wrote them, as text.
std::uint32_t cores_of(const JsonCursor& context) {
    const JsonCursor cores = context.at("cores", "the number of cores that were measured");
    constexpr double kMost = 65536;
    double value = 0;
    if (cores.is_number()) {
        value = cores.number();
    } else {
        const std::string text = cores.string();
        for (const char c : text) {
            if (c < '0' || c > '9' || value > kMost) cores.complain("a number of cores");
            value = value * 10 + (c - '0');
        }
    }
    if (!(value >= 1 && value <= kMost)) cores.complain("a number of cores");
    return static_cast<std::uint32_t>(value);
}

}  // namespace

std::string RowName::axis(const std::string& key) const {
    const auto found = axes.find(key);
    return found == axes.end() ? std::string() : found->second;
}

RowName parse_row_name(std::string_view name) {
    RowName row;
    while (!name.empty()) {
        const auto slash = name.find('/');
        const std::string_view part = name.substr(0, slash);
        name = slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1);
        const auto colon = part.find(':');
        if (colon != std::string_view::npos)
            row.axes.emplace(part.substr(0, colon), part.substr(colon + 1));
        else if (row.axes.empty())
            row.family += (row.family.empty() ? "" : "/") + std::string(part);
    }
    return row;
}

MicroFile parse_micro_file(std::string_view json, const std::string& where) {
    const cards::JsonValue value = cards::parse_json_value(json, where);
    const JsonCursor root(value, where);
    const JsonCursor context = root.at("context", "what `paretoken micro` writes");
    const JsonCursor schema =
        context.at("paretoken_schema", fmt::format("\"{}\" (from `paretoken micro`)", kMicroSchema));
    if (schema.string() != kMicroSchema) schema.complain(fmt::format("\"{}\"", kMicroSchema));
    MicroFile file{.where = where,
                   .hardware = context.at("hardware", "what was measured").string(),
                   .cores = cores_of(context),
                   .date = context.at("date", "the date of the measurement").string()};
    for (const auto& [key, entry] : context.members())
        if (entry.is_string()) file.context.emplace(key, entry.string());
    for (const JsonCursor& row : root.at("benchmarks", "a list of measurements").elements())
        if (!is_aggregate(row)) file.rows.push_back(row_of(row));
    if (const auto fits = root.find("fits"))
        for (const JsonCursor& fit : fits->elements()) file.fits.push_back(fit_of(fit));
    return file;
}

}  // namespace paretoken::reports
