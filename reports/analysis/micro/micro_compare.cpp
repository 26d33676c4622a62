#include "reports/analysis/micro/micro_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/number_text.h"

namespace paretoken::reports {
namespace {

/// The keys of the context that figures depend on, with their titles.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCircumstances{
    {{"threads", "threads"},
     {"isa", "instruction set"},
     {"preset", "model"},
     {"mode", "mode"},
     {"working_set_bytes", "working set"}}};

std::string gigabytes(const std::optional<double>& bytes) {
    return bytes ? fmt::format("{:.4g} GB", *bytes / 1e9) : std::string("not said");
}

std::string megahertz(const std::optional<double>& hertz) {
    return hertz ? fmt::format("{:.0f} MHz", *hertz / 1e6) : std::string("not said");
}

std::string watts(const std::optional<double>& power) {
    return power ? fmt::format("{:.0f} W", *power) : std::string("not said");
}

/// The differences between two devices at the same place in their files.
std::vector<std::string> differences_between(const MicroDevice& before, const MicroDevice& after) {
    std::vector<std::string> differences;
    const auto compare = [&](std::string_view what, const std::string& first, const std::string& second) {
        if (first != second)
            differences.push_back(fmt::format("{} of {}: {}, then {}", what, before.id, first, second));
    };
    const auto cores = [](const MicroDevice& device) {
        return device.cores ? fmt::format("{}", *device.cores) : std::string("not said");
    };
    compare("name", before.name, after.name);
    compare("cores", cores(before), cores(after));
    compare("memory", gigabytes(before.memory_bytes), gigabytes(after.memory_bytes));
    compare("driver", before.driver.value_or("not said"), after.driver.value_or("not said"));
    compare("core clock", megahertz(before.sm_clock_hz), megahertz(after.sm_clock_hz));
    compare("memory clock", megahertz(before.memory_clock_hz), megahertz(after.memory_clock_hz));
    compare("power limit", watts(before.power_limit_w), watts(after.power_limit_w));
    return differences;
}

const MicroDevice* find_device(const MicroFile& file, const std::string& id) {
    const auto found = std::ranges::find(file.devices, id, &MicroDevice::id);
    return found == file.devices.end() ? nullptr : &*found;
}

std::vector<std::string> differences_between(const MicroFile& before, const MicroFile& after) {
    const auto text = [](const MicroFile& file, std::string_view key) {
        const auto found = file.context.find(std::string(key));
        return found == file.context.end() ? std::string("not said") : found->second;
    };
    std::vector<std::string> differences;
    for (const MicroDevice& device : before.devices)
        if (const MicroDevice* other = find_device(after, device.id))
            for (std::string& difference : differences_between(device, *other))
                differences.push_back(std::move(difference));
    for (const auto& [key, title] : kCircumstances) {
        const std::string first = text(before, key);
        const std::string second = text(after, key);
        if (first != second) differences.push_back(fmt::format("{}: {}, then {}", title, first, second));
    }
    return differences;
}

SpeedUnit unit_of(const MicroRow& row) {
    return row.bytes_per_s   ? SpeedUnit::bytes_per_s
           : row.flops_per_s ? SpeedUnit::flops_per_s
                             : SpeedUnit::operations_per_s;
}

bool has_quartiles(const MicroRow& row) {
    return row.p25_s && row.p75_s;
}

std::optional<Speed> speed_of(const MicroRow& row, bool quartiles) {
    const auto low_s = quartiles ? row.p25_s : row.p10_s;
    const auto high_s = quartiles ? row.p75_s : row.p90_s;
    if (row.error || !row.median_s || !low_s || !high_s) return {};
    const double median = row.bytes_per_s   ? *row.bytes_per_s
                          : row.flops_per_s ? *row.flops_per_s
                                            : 1 / *row.median_s;
    return Speed{median, {median * *row.median_s / *high_s, median * *row.median_s / *low_s}};
}

std::string doubts_of(const MicroRow& row, const std::optional<Speed>& speed, std::string_view which) {
    if (row.error) return fmt::format("failed in the {}: {}", which, *row.error);
    if (!row.valid)
        return fmt::format("not valid in the {}{}{}", which, row.label.empty() ? "" : ": ", row.label);
    if (!speed) return fmt::format("the {} does not say how much it varied", which);
    return {};
}

RowComparison compared(const MicroRow& before, const MicroRow& after, double least_effect) {
    const bool quartiles = has_quartiles(before) && has_quartiles(after);
    RowComparison row{.name = before.name,
                      .unit = unit_of(before),
                      .before = speed_of(before, quartiles),
                      .after = speed_of(after, quartiles)};
    row.note = doubts_of(before, row.before, "first");
    if (row.note.empty()) row.note = doubts_of(after, row.after, "second");
    if (row.note.empty() && unit_of(after) != row.unit) row.note = "the files measure different things";
    if (row.note.empty()) row.verdict = verdict_of(*row.before, *row.after, least_effect);
    return row;
}

/// The row with the same name on the device with the same id; null if there is none.
const MicroRow* find_row(const MicroFile& file, const MicroRow& wanted) {
    const auto found = std::ranges::find_if(file.rows, [&](const MicroRow& row) {
        return row.name == wanted.name && row.device == wanted.device;
    });
    return found == file.rows.end() ? nullptr : &*found;
}

std::string figure_of(const std::optional<Speed>& speed, SpeedUnit unit) {
    if (!speed) return "-";
    switch (unit) {
        case SpeedUnit::bytes_per_s:
            return fmt::format("{:.1f} GB/s", speed->median / 1e9);
        case SpeedUnit::flops_per_s:
            return fmt::format("{:.0f} GFLOP/s", speed->median / 1e9);
        case SpeedUnit::operations_per_s:
            return fmt::format("{:.2f} us", 1e6 / speed->median);
    }
    return "";
}

/// The line of a row. `width` is the width of the longest name.
std::string line_of(const RowComparison& row, std::size_t width) {
    const auto effect = row.effect();
    std::string text =
        fmt::format("{:<{}}{:>14}{:>14}{:>9}  {}", row.name, width, figure_of(row.before, row.unit),
                    figure_of(row.after, row.unit), effect ? fmt::format("{:+.1f} %", *effect * 100) : "",
                    name_of(row.verdict));
    if (!row.note.empty()) text += fmt::format(" ({})", row.note);
    return text + "\n";
}

}  // namespace

std::string_view name_of(MicroVerdict verdict) {
    switch (verdict) {
        case MicroVerdict::faster:
            return "faster";
        case MicroVerdict::slower:
            return "slower";
        case MicroVerdict::same:
            return "same";
        case MicroVerdict::ambiguous:
            return "ambiguous";
    }
    return "";
}

MicroVerdict verdict_of(const Speed& before, const Speed& after, double least_effect) {
    const double effect = std::log(after.median / before.median);  // has the same size in both directions
    if (std::abs(effect) <= std::log1p(least_effect)) return MicroVerdict::same;
    if (effect > 0 && after.interval.low > before.interval.high) return MicroVerdict::faster;
    if (effect < 0 && after.interval.high < before.interval.low) return MicroVerdict::slower;
    return MicroVerdict::ambiguous;
}

std::optional<double> RowComparison::effect() const {
    if (!before || !after) return {};
    return after->median / before->median - 1;
}

std::size_t MicroComparison::count(MicroVerdict verdict) const {
    return static_cast<std::size_t>(std::ranges::count(rows, verdict, &RowComparison::verdict));
}

MicroComparison comparison_of(const MicroFile& before, const MicroFile& after, double least_effect) {
    MicroComparison comparison{.least_effect = least_effect,
                               .differences = differences_between(before, after)};
    for (const MicroRow& row : before.rows) {
        if (const MicroRow* const other = find_row(after, row)) {
            comparison.rows.push_back(compared(row, *other, least_effect));
        } else {
            comparison.only_before.push_back(row.name);
        }
    }
    for (const MicroRow& row : after.rows)
        if (find_row(before, row) == nullptr) comparison.only_after.push_back(row.name);
    return comparison;
}

std::string text_of(const MicroComparison& comparison) {
    std::string text;
    for (const std::string& difference : comparison.differences)
        text += fmt::format("different {}\n", difference);
    std::size_t width = 0;
    for (const RowComparison& row : comparison.rows) width = std::max(width, row.name.size());
    for (const std::string& name : comparison.only_before) width = std::max(width, name.size());
    for (const std::string& name : comparison.only_after) width = std::max(width, name.size());
    text += fmt::format("{:<{}}{:>14}{:>14}\n", "", width, "first", "second");
    for (const RowComparison& row : comparison.rows) text += line_of(row, width);
    for (const std::string& name : comparison.only_before)
        text += fmt::format("{:<{}}  only in the first\n", name, width);
    for (const std::string& name : comparison.only_after)
        text += fmt::format("{:<{}}  only in the second\n", name, width);
    return text + fmt::format("{} faster, {} slower, {} same (within {}), {} ambiguous\n",
                              comparison.count(MicroVerdict::faster), comparison.count(MicroVerdict::slower),
                              comparison.count(MicroVerdict::same), percent_text(comparison.least_effect),
                              comparison.count(MicroVerdict::ambiguous));
}

}  // namespace paretoken::reports
