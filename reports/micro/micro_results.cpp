#include "reports/micro/micro_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cards/card_file.h"
#include "core/error.h"
#include "reports/micro/micro_fit.h"

namespace paretoken::reports {
namespace {

void keep_best(std::map<std::string, double>& best, const std::string& key, double value) {
    const auto [found, added] = best.emplace(key, value);
    if (!added) found->second = std::max(found->second, value);
}

[[noreturn]] void complain(const MicroFile& file, const MicroRow& row, std::string_view expected) {
    throw UsageError(fmt::format("{}: {}: expected {}", file.where, row.name, expected));
}

double require(const MicroFile& file, const MicroRow& row, const std::optional<double>& figure,
               std::string_view key) {
    if (!figure) complain(file, row, fmt::format("a figure under {}", key));
    return *figure;
}

double median_bytes_per_s(const MicroFile& file, const MicroRow& row) {
    return require(file, row, row.bytes_per_s, "bytes_per_second");
}

/// The fastest window of a row, which a ceiling is about; the median where that was not kept.
double best_bytes_per_s(const MicroFile& file, const MicroRow& row) {
    return std::max(median_bytes_per_s(file, row), row.best_bytes_per_s.value_or(0));
}

void add_reread(MicroResults& results, const MicroFile& file, const MicroRow& row,
                const std::string& mebibytes) {
    constexpr double kMebi = 1048576;
    double size = 0;
    for (const char c : mebibytes) {
        if (c < '0' || c > '9' || size > 1e9)
            complain(file, row, "a name with a whole number of MiB (mib:64)");
        size = size * 10 + (c - '0');
    }
    if (size <= 0) complain(file, row, "a name with a size (mib:64)");
    double& best = results.reread_bytes_per_s[size * kMebi];
    best = std::max(best, best_bytes_per_s(file, row));
}

bool is_sized(std::string_view name) {
    return kernel_of(name) != name;
}

/// Whether the backend of this row or fit has a read ceiling that is of no particular size.
bool has_general_read(const MicroFile& file, std::string_view name) {
    const std::string backend = parse_row_name(name).axis("backend");
    return std::any_of(file.rows.begin(), file.rows.end(), [&](const MicroRow& row) {
        const RowName other = parse_row_name(row.name);
        return other.family == "ceiling/read" && other.axis("backend") == backend && !is_sized(row.name);
    });
}

/// A read ceiling that was unsteady was reached all the same; a kernel's speed must also have been verified;
/// flops that are not valid are no bound, whatever the other kinds reached. Reads of one size are
/// the fit's, unless there is nothing else.
void add_row(MicroResults& results, const MicroFile& file, const MicroRow& row) {
    const RowName name = parse_row_name(row.name);
    const bool flops = name.family == "ceiling/flops";
    if (row.error || (flops && !row.valid)) {
        ++results.invalid_rows;
        if (flops) results.arithmetic_is_bounded = false;
    } else if (name.family == "ceiling/read") {
        if (is_sized(row.name) && has_general_read(file, row.name)) return;
        results.read_bytes_per_s =
            std::max(results.read_bytes_per_s.value_or(0), best_bytes_per_s(file, row));
    } else if (name.family == "ceiling/cached_read") {
        add_reread(results, file, row, name.axis("mib"));
    } else if (flops) {
        keep_best(results.flops_per_s, name.axis("kind"),
                  require(file, row, row.flops_per_s, "flops_per_second"));
    } else if (!row.valid) {
        ++results.invalid_rows;
    } else if (name.family == "weights") {
        keep_best(results.weight_bytes_per_s, name.axis("w"), median_bytes_per_s(file, row));
    } else if (name.family == "attention") {
        keep_best(results.attention_bytes_per_s, name.axis("kv"), median_bytes_per_s(file, row));
    }
}

/// Where a read ceiling was measured by size alone, its limit for large sizes is what the fit says.
void add_fits(MicroResults& results, const MicroFile& file) {
    for (const SizeFit& fit : file.fits) {
        if (parse_row_name(fit.kernel).family != "ceiling/read") continue;
        results.read_fits.push_back(fit);
        if (!has_general_read(file, fit.kernel))
            results.read_bytes_per_s = std::max(results.read_bytes_per_s.value_or(0), fit.bytes_per_s);
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
    into.read_fits.insert(into.read_fits.end(), from.read_fits.begin(), from.read_fits.end());
    into.arithmetic_is_bounded = into.arithmetic_is_bounded && from.arithmetic_is_bounded;
    into.invalid_rows += from.invalid_rows;
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

const SizeFit* fastest_read_fit(const MicroResults& micro, double bytes) {
    const auto best = std::min_element(
        micro.read_fits.begin(), micro.read_fits.end(),
        [&](const SizeFit& a, const SizeFit& b) { return seconds_of(a, bytes) < seconds_of(b, bytes); });
    return best == micro.read_fits.end() ? nullptr : &*best;
}

MicroResults parse_micro_results(std::string_view json, const std::string& where) {
    const MicroFile file = parse_micro_file(json, where);
    MicroResults results;
    results.hardware = file.hardware;
    results.cores = file.cores;
    results.date = file.date;
    results.files.push_back(where);
    for (const MicroRow& row : file.rows) add_row(results, file, row);
    add_fits(results, file);
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
