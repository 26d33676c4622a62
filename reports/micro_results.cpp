#include "reports/micro_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cards/card_file.h"
#include "cards/json_value.h"
#include "core/error.h"

namespace paretoken::reports {
namespace {

using cards::JsonCursor;

/// "weights/w:q4_1/layout:packed/batch:1" → family "weights", axes {w: q4_1, …}; "ceiling/read/…" →
/// "ceiling/read".
struct RowName {
    std::string family;
    std::map<std::string, std::string> axes;
};

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

bool has_failed(const JsonCursor& row) {
    const auto failed = row.find("error_occurred");
    return failed && failed->boolean();
}

/// Verified and steady.
bool is_valid(const JsonCursor& row) {
    const auto valid = row.find("valid");
    return !valid || valid->number() != 0;
}

bool is_aggregate(const JsonCursor& row) {
    const auto type = row.find("run_type");
    return type && type->string() == "aggregate";
}

void keep_best(std::map<std::string, double>& best, const std::string& key, double value) {
    const auto [found, added] = best.emplace(key, value);
    if (!added) found->second = std::max(found->second, value);
}

/// The fastest window of a row, which a ceiling is about; the median where that was not kept.
double best_bytes_per_s(const JsonCursor& row) {
    const double median = row.at("bytes_per_second", "bytes/s").positive();
    const auto best = row.find("bytes_per_second_best");
    return best ? std::max(median, best->positive()) : median;
}

void add_reread(MicroResults& results, const JsonCursor& row, const std::string& mebibytes) {
    constexpr double kMebi = 1048576;
    double size = 0;
    for (const char c : mebibytes) {
        if (c < '0' || c > '9' || size > 1e9) row.complain("a name with a whole number of MiB (mib:64)");
        size = size * 10 + (c - '0');
    }
    if (size <= 0) row.complain("a name with a size (mib:64)");
    double& best = results.reread_bytes_per_s[size * kMebi];
    best = std::max(best, best_bytes_per_s(row));
}

/// A read ceiling that was unsteady was reached all the same; a kernel's speed must also have been verified;
/// flops that are not valid are no bound, whatever the other kinds reached.
void add_row(MicroResults& results, const JsonCursor& row) {
    const RowName name = parse_row_name(row.at("name", "the benchmark's name").string());
    const auto axis = [&](const std::string& key) {
        const auto found = name.axes.find(key);
        return found == name.axes.end() ? std::string() : found->second;
    };
    const bool flops = name.family == "ceiling/flops";
    if (has_failed(row) || (flops && !is_valid(row))) {
        ++results.invalid_rows;
        if (flops) results.arithmetic_is_bounded = false;
    } else if (name.family == "ceiling/read") {
        results.read_bytes_per_s = std::max(results.read_bytes_per_s.value_or(0), best_bytes_per_s(row));
    } else if (name.family == "ceiling/cached_read") {
        add_reread(results, row, axis("mib"));
    } else if (flops) {
        keep_best(results.flops_per_s, axis("kind"), row.at("flops_per_second", "FLOP/s").positive());
    } else if (!is_valid(row)) {
        ++results.invalid_rows;
    } else if (name.family == "weights") {
        keep_best(results.weight_bytes_per_s, axis("w"), row.at("bytes_per_second", "bytes/s").positive());
    } else if (name.family == "attention") {
        keep_best(results.attention_bytes_per_s, axis("kv"),
                  row.at("bytes_per_second", "bytes/s").positive());
    }
}

void absorb(MicroResults& into, const MicroResults& from) {
    into.cores = std::max(into.cores, from.cores);
    into.date = std::max(into.date, from.date);
    into.files.insert(into.files.end(), from.files.begin(), from.files.end());
    if (from.read_bytes_per_s)
        into.read_bytes_per_s = std::max(into.read_bytes_per_s.value_or(0), *from.read_bytes_per_s);
    for (const auto& [bytes, value] : from.reread_bytes_per_s) {
        double& best = into.reread_bytes_per_s[bytes];
        best = std::max(best, value);
    }
    for (const auto& [kind, value] : from.flops_per_s) keep_best(into.flops_per_s, kind, value);
    for (const auto& [dtype, value] : from.weight_bytes_per_s)
        keep_best(into.weight_bytes_per_s, dtype, value);
    for (const auto& [dtype, value] : from.attention_bytes_per_s)
        keep_best(into.attention_bytes_per_s, dtype, value);
    into.arithmetic_is_bounded = into.arithmetic_is_bounded && from.arithmetic_is_bounded;
    into.invalid_rows += from.invalid_rows;
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

std::optional<double> MicroResults::best_flops_per_s() const {
    if (!arithmetic_is_bounded) return {};
    std::optional<double> best;
    for (const auto& [kind, value] : flops_per_s) best = std::max(best.value_or(0), value);
    return best;
}

std::optional<double> read_ceiling_of(const MicroResults& micro, double bytes) {
    std::optional<double> ceiling = micro.read_bytes_per_s;
    auto size = micro.reread_bytes_per_s.upper_bound(bytes);
    if (size != micro.reread_bytes_per_s.begin()) --size;
    for (; size != micro.reread_bytes_per_s.end(); ++size)
        ceiling = std::max(ceiling.value_or(0), size->second);
    return ceiling;
}

MicroResults parse_micro_results(std::string_view json, const std::string& where) {
    const cards::JsonValue value = cards::parse_json_value(json, where);
    const JsonCursor root(value, where);
    const JsonCursor context = root.at("context", "what `paretoken micro` writes");
    const JsonCursor schema =
        context.at("paretoken_schema", fmt::format("\"{}\" (from `paretoken micro`)", kMicroSchema));
    if (schema.string() != kMicroSchema) schema.complain(fmt::format("\"{}\"", kMicroSchema));
    MicroResults results;
    results.hardware = context.at("hardware", "what was measured").string();
    results.cores = cores_of(context);
    results.date = context.at("date", "the date of the measurement").string();
    results.files.push_back(where);
    for (const JsonCursor& row : root.at("benchmarks", "a list of measurements").elements()) {
        if (!is_aggregate(row)) add_row(results, row);
    }
    return results;
}

std::vector<MicroResults> merged(const std::vector<MicroResults>& results) {
    std::vector<MicroResults> out;
    for (const MicroResults& one : results) {
        const auto same = std::find_if(out.begin(), out.end(), [&](const MicroResults& other) {
            return other.hardware == one.hardware;
        });
        if (same == out.end())
            out.push_back(one);
        else
            absorb(*same, one);
    }
    return out;
}

std::vector<MicroResults> read_micro_results(const std::vector<std::filesystem::path>& paths) {
    std::vector<MicroResults> results;
    for (const std::filesystem::path& path : paths)
        results.push_back(parse_micro_results(cards::read_card_file(path), path.string()));
    return merged(results);
}

}  // namespace paretoken::reports
