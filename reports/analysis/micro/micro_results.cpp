#include "reports/analysis/micro/micro_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cards/card_file.h"
#include "cards/gpu.h"
#include "core/error.h"
#include "core/formats.h"
#include "reports/analysis/micro/micro_fit.h"

namespace paretoken::reports {
namespace {

void raise(std::optional<MeasuredFigure>& best, double value, const std::string& row) {
    if (!best || best->value < value) best = MeasuredFigure{value, row};
}

template <class Key>
void keep_best(std::map<Key, MeasuredFigure>& best, const Key& key, double value, const std::string& row) {
    const auto [found, added] = best.try_emplace(key, MeasuredFigure{value, row});
    if (!added && found->second.value < value) found->second = {value, row};
}

template <class Key>
void absorb(std::map<Key, MeasuredFigure>& into, const std::map<Key, MeasuredFigure>& from) {
    for (const auto& [key, figure] : from) keep_best(into, key, figure.value, figure.row);
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

/// The speed of a row for a ceiling: its fastest decile, or its median if that was not stored.
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
    keep_best(results.reread_bytes_per_s, size * kMebi, best_bytes_per_s(file, row), row.name);
}

bool is_sized(std::string_view name) {
    return kernel_of(name) != name;
}

/// Whether a device has a read ceiling without a particular size.
bool has_general_read(const MicroFile& file, const std::string& device) {
    return std::ranges::any_of(file.rows, [&](const MicroRow& row) {
        return row.device == device && parse_row_name(row.name).family == "ceiling/read" &&
               !is_sized(row.name);
    });
}

/// Adds an arithmetic ceiling: by kind for a CPU. On a GPU "ceiling/flops/lib/w:bf16" is the speed of the
/// library's products, "ceiling/flops/mma_sync/w:bf16" that of an instruction.
void add_flops(MicroResults& results, const MicroFile& file, const MicroRow& row, const RowName& name) {
    const double flops = require(file, row, row.flops_per_s, "flops_per_second");
    const std::string format(format_name(name.axis("w")));
    if (results.device.backend == MicroBackend::cpu)
        keep_best(results.flops_per_s, name.axis("kind"), flops, row.name);
    else if (name.family == "ceiling/flops/lib")
        keep_best(results.library_flops_per_s, format, flops, row.name);
    else
        keep_best(results.instruction_flops_per_s, format, flops, row.name);
}

/// Adds a row. An unsteady read ceiling counts, because its speed was reached. An arithmetic ceiling of a CPU
/// that is not valid means that the other kinds are no bound either; on a GPU, the library may lack a form.
/// Reads of a particular size are only used by the fit, unless there are no others.
void add_row(MicroResults& results, const MicroFile& file, const MicroRow& row) {
    const RowName name = parse_row_name(row.name);
    const bool flops = name.family.starts_with("ceiling/flops");
    results.rows.push_back(row);
    if (row.error || (flops && !row.valid)) {
        ++results.invalid_rows;
        if (flops && results.device.backend == MicroBackend::cpu) results.arithmetic_is_bounded = false;
    } else if (name.family == "ceiling/read") {
        if (is_sized(row.name) && has_general_read(file, results.device.id)) return;
        raise(results.read_bytes_per_s, best_bytes_per_s(file, row), row.name);
    } else if (name.family == "ceiling/cached_read") {
        add_reread(results, file, row, name.axis("mib"));
    } else if (flops) {
        add_flops(results, file, row, name);
    } else if (!row.valid) {
        ++results.invalid_rows;
    }
}

/// Adds the fits of reads. If read ceilings were measured only at particular sizes, the fit gives the ceiling
/// for large sizes.
void add_fits(MicroResults& results, const MicroFile& file) {
    for (const SizeFit& fit : file.fits) {
        if (fit.device != results.device.id || parse_row_name(fit.kernel).family != "ceiling/read") continue;
        results.read_fits.push_back(fit);
        if (!has_general_read(file, results.device.id))
            raise(results.read_bytes_per_s, fit.bytes_per_s, fit.kernel + " (fit by size)");
    }
}

void absorb(MicroResults& into, const MicroResults& from) {
    if (from.date > into.date) into.device = from.device;
    into.date = std::max(into.date, from.date);
    into.files.insert(into.files.end(), from.files.begin(), from.files.end());
    if (from.read_bytes_per_s)
        raise(into.read_bytes_per_s, from.read_bytes_per_s->value, from.read_bytes_per_s->row);
    absorb(into.reread_bytes_per_s, from.reread_bytes_per_s);
    absorb(into.flops_per_s, from.flops_per_s);
    absorb(into.library_flops_per_s, from.library_flops_per_s);
    absorb(into.instruction_flops_per_s, from.instruction_flops_per_s);
    into.read_fits.insert(into.read_fits.end(), from.read_fits.begin(), from.read_fits.end());
    into.rows.insert(into.rows.end(), from.rows.begin(), from.rows.end());
    into.arithmetic_is_bounded = into.arithmetic_is_bounded && from.arithmetic_is_bounded;
    into.invalid_rows += from.invalid_rows;
}

bool is_same_device(const MicroResults& a, const MicroResults& b) {
    if (a.device.uuid && b.device.uuid) return a.device.uuid == b.device.uuid;
    return a.device.id == b.device.id && a.device.name == b.device.name;
}

std::optional<MeasuredFigure> best_of(const std::map<std::string, MeasuredFigure>& figures) {
    const auto best = std::ranges::max_element(
        figures, [](const auto& a, const auto& b) { return a.second.value < b.second.value; });
    return best == figures.end() ? std::nullopt : std::optional(best->second);
}

/// The figure of the fastest arithmetic that weights of this format can be multiplied in; nothing if none was
/// measured.
std::optional<MeasuredFigure> usable_flops(const std::map<std::string, MeasuredFigure>& figures,
                                           std::string_view weight_format) {
    std::map<std::string, MeasuredFigure> by_arithmetic;
    for (const auto& [format, figure] : figures)
        if (const NumberFormat* known = find_format(format))
            keep_best(by_arithmetic, std::string(name_of(known->arithmetic)), figure.value, figure.row);
    for (const std::string_view arithmetic : cards::arithmetic_for_weights(weight_format))
        if (const auto found = by_arithmetic.find(std::string(arithmetic)); found != by_arithmetic.end())
            return found->second;
    return {};
}

/// Whether the measured arithmetic is the fastest one that the device's datasheet has for these weights;
/// otherwise it is no bound.
bool bounds_weights(const MicroResults& micro, const MeasuredFigure& measured,
                    std::string_view weight_format) {
    const auto card = micro.device.card ? cards::find_gpu(*micro.device.card) : std::nullopt;
    const auto fastest = card ? cards::flops_for_weights(*card, weight_format) : std::nullopt;
    if (!fastest) return true;
    const NumberFormat* const format = find_format(parse_row_name(measured.row).axis("w"));
    // bf16 and f16 are multiplied at the same speed.
    const auto speed = [](std::string_view arithmetic) {
        return arithmetic == "f16" ? std::string_view("bf16") : arithmetic;
    };
    return format != nullptr && speed(name_of(format->arithmetic)) == speed(fastest->dtype);
}

bool has_only_this_instruction(const MicroDevice& device) {
    return device.compute_capability && std::atof(device.compute_capability->c_str()) < 9;
}

}  // namespace

// Of a CPU there is no bound if arithmetic_is_bounded is false. Of a GPU below compute capability 9.0, the
// speed of the measured instruction (mma.sync) is used if it is higher. Later GPUs have faster instructions
// than this one, so that it gives no bound there. There is none if neither speed was measured, or if the
// GPU's datasheet lists a faster arithmetic for these weights.
std::optional<MeasuredFigure> flops_ceiling_of(const MicroResults& micro, std::string_view weight_format) {
    if (micro.device.backend == MicroBackend::cpu)
        return micro.arithmetic_is_bounded ? best_of(micro.flops_per_s) : std::nullopt;
    auto measured = usable_flops(micro.library_flops_per_s, weight_format);
    if (has_only_this_instruction(micro.device)) {
        const auto instruction = usable_flops(micro.instruction_flops_per_s, weight_format);
        if (instruction && (!measured || measured->value < instruction->value)) measured = instruction;
    }
    return measured && bounds_weights(micro, *measured, weight_format) ? measured : std::nullopt;
}

std::optional<MeasuredFigure> read_ceiling_of(const MicroResults& micro, double bytes) {
    std::optional<MeasuredFigure> ceiling = micro.read_bytes_per_s;
    auto size = micro.reread_bytes_per_s.upper_bound(bytes);
    if (size != micro.reread_bytes_per_s.begin()) --size;
    for (; size != micro.reread_bytes_per_s.end(); ++size)
        raise(ceiling, size->second.value, size->second.row);
    return ceiling;
}

const SizeFit* fastest_read_fit(const MicroResults& micro, double bytes) {
    const auto best = std::ranges::min_element(micro.read_fits, [&](const SizeFit& a, const SizeFit& b) {
        return seconds_of(a, bytes) < seconds_of(b, bytes);
    });
    return best == micro.read_fits.end() ? nullptr : &*best;
}

std::vector<MicroResults> results_of(const MicroFile& file) {
    std::vector<MicroResults> results;
    for (const MicroDevice& device : file.devices) {
        MicroResults one;
        one.device = device;
        one.date = file.date;
        one.files.push_back(file.where);
        for (const MicroRow& row : file.rows)
            if (row.device == device.id) add_row(one, file, row);
        add_fits(one, file);
        if (!one.rows.empty()) results.push_back(std::move(one));
    }
    return results;
}

std::vector<MicroResults> parse_micro_results(std::string_view json, const std::string& where) {
    return results_of(parse_micro_file(json, where));
}

cards::GpuCard cpu_card_of(const MicroFile& file) {
    for (const MicroResults& micro : results_of(file)) {
        const auto f32 = micro.flops_per_s.find("f32_fma");
        if (micro.device.backend != MicroBackend::cpu || !micro.device.memory_bytes ||
            !micro.read_bytes_per_s || f32 == micro.flops_per_s.end())
            continue;
        cards::GpuCard card;
        card.cores = static_cast<std::uint32_t>(
            parse_row_name(f32->second.row).number("threads").value_or(micro.device.cores.value_or(1)));
        card.title =
            fmt::format("{}, {} thread{}", micro.device.name, *card.cores, *card.cores == 1 ? "" : "s");
        card.memory_bytes = card.reported_bytes = *micro.device.memory_bytes;
        card.memory_bytes_per_s = micro.read_bytes_per_s->value;
        card.flops["f32"] = f32->second.value;
        card.source = "paretoken micro";
        card.as_of = file.date.substr(0, std::string_view("2026-11").size());
        return card;
    }
    throw UsageError(
        fmt::format("{}: a card of this CPU needs valid rows ceiling/read and ceiling/flops/kind:f32_fma; "
                    "measure them without --filter",
                    file.where));
}

std::vector<MicroResults> merged(const std::vector<MicroResults>& results) {
    std::vector<MicroResults> out;
    for (const MicroResults& one : results) {
        const auto same =
            std::ranges::find_if(out, [&](const MicroResults& other) { return is_same_device(other, one); });
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
        for (MicroResults& one : parse_micro_results(cards::read_card_file(path), path.string()))
            results.push_back(std::move(one));
    return merged(results);
}

namespace {

std::vector<const MicroResults*> fastest_first(std::span<const MicroResults* const> same) {
    std::vector<const MicroResults*> order(same.begin(), same.end());
    std::ranges::stable_sort(order, [](const MicroResults* a, const MicroResults* b) {
        return a->read_bytes_per_s &&
               (!b->read_bytes_per_s || a->read_bytes_per_s->value > b->read_bytes_per_s->value);
    });
    return order;
}

}  // namespace

const MicroResults& bounding_result(std::span<const MicroResults* const> same, std::uint32_t count) {
    auto order = fastest_first(same);
    while (order.size() > 1 && !order.back()->read_bytes_per_s) order.pop_back();
    return *order[std::min<std::size_t>(std::max<std::uint32_t>(1, count), order.size()) - 1];
}

std::string spread_of(std::span<const MicroResults* const> same) {
    constexpr double kToBeTold = 0.03;
    constexpr double kGiga = 1e9;
    auto order = fastest_first(same);
    while (!order.empty() && !order.back()->read_bytes_per_s) order.pop_back();
    if (order.size() < 2) return {};
    const double fast = order.front()->read_bytes_per_s->value;
    const double slow = order.back()->read_bytes_per_s->value;
    if (slow >= (1 - kToBeTold) * fast) return {};
    return fmt::format("{} ({}) reads {:.0f} GB/s, {:.0f} % less than the equal {} with {:.0f} GB/s",
                       order.back()->device.name, order.back()->device.id, slow / kGiga,
                       (1 - slow / fast) * 100, order.front()->device.id, fast / kGiga);
}

}  // namespace paretoken::reports
