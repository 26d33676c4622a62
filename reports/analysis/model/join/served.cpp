#include "reports/analysis/model/join/served.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"

namespace paretoken::reports {

namespace {

/// The micro results of devices of the same kind as the hardware that served.
std::vector<const MicroResults*> micro_of(const JoinOptions& options, std::string_view hardware) {
    std::vector<const MicroResults*> same;
    for (const MicroResults& micro : options.micro) {
        const std::string measured = micro.device.card.value_or(micro.device.name);
        if (cards::normalised_hardware(measured) == cards::normalised_hardware(hardware))
            same.push_back(&micro);
    }
    return same;
}

}  // namespace

bool names_no_gpu(const RunResult& run) {
    const auto asked = run.plan.find("gpu");
    const bool is_stated = asked != run.plan.end() && !asked->second.empty();
    return !is_stated && !cards::find_gpu(run.provenance.hardware);
}

namespace {

/// Throws UsageError unless --gpu has a card or a price, or is the CPU of the run's host.
void require_known(const JoinOptions& options, const cards::GpuSpec& wanted, const std::string& cpu) {
    const auto has_price = [&](const cards::PriceCard& card) {
        return cards::priced_gpu(card, wanted.name) != nullptr;
    };
    if (std::ranges::none_of(options.prices, has_price)) cards::require_known_gpu(*options.gpu, cpu);
}

/// Throws UsageError if --gpu and the run name different hardware, or different numbers of it.
void refuse_contradiction(const LoadedRun& run, const cards::GpuSpec& wanted, const JoinOptions& options) {
    const Provenance& provenance = run.result.provenance;
    const auto named = cards::find_gpu(provenance.hardware);
    std::uint32_t own = std::max(1U, provenance.hardware_count);
    if (!is_simulated(provenance) && !provenance.hardware.empty())
        own = std::max(own, cards::parse_gpu_spec(provenance.hardware).count);
    const std::string own_name = named ? named->name : provenance.hardware;
    if (!names_no_gpu(run.result) &&
        cards::normalised_hardware(own_name) != cards::normalised_hardware(wanted.name))
        throw UsageError(fmt::format(
            "--gpu {}: the run in {} says {}{}, which --gpu contradicts. --gpu is for runs that do not say "
            "what served them; `paretoken report --what-if gpu={}` estimates another GPU",
            *options.gpu, run.directory, own_name,
            own_name == provenance.hardware ? "" : fmt::format(" ({})", provenance.hardware), *options.gpu));
    if ((own == 1 && !named) || own == wanted.count) return;
    throw UsageError(fmt::format(
        "--gpu {}: that is {} GPU{}, and the run in {} was made on {} ({}); leave --gpu out or write {}x{}",
        *options.gpu, wanted.count, wanted.count == 1 ? "" : "s", run.directory, own, provenance.hardware,
        wanted.name, own));
}

Served served_as_simulated(const Provenance& provenance, const std::optional<cards::GpuSpec>& wanted) {
    Served served{.hardware = provenance.hardware, .simulated = true};
    if (const auto gpu = cards::find_gpu(provenance.hardware))
        served.priced = cards::PricedHardware{gpu->name, std::max(1u, provenance.hardware_count), {}};
    else if (wanted)
        served.priced = cards::PricedHardware{wanted->name, wanted->count, {}};
    return served;
}

}  // namespace

void check_gpu(const std::vector<LoadedRun>& runs, const JoinOptions& options) {
    if (!options.gpu) return;
    const cards::GpuSpec wanted = cards::parse_gpu_spec(*options.gpu);
    require_known(options, wanted, runs.empty() ? "" : runs.front().result.provenance.host_cpu);
    // Runs that say what served them may stand beside others that need --gpu.
    const bool is_needed =
        std::ranges::any_of(runs, [](const LoadedRun& run) { return names_no_gpu(run.result); });
    for (const LoadedRun& run : runs)
        if (!is_needed || names_no_gpu(run.result)) refuse_contradiction(run, wanted, options);
}

Served served_by(const RunResult& run, const JoinOptions& options) {
    const Provenance& provenance = run.provenance;
    const auto wanted =
        options.gpu && names_no_gpu(run) ? std::optional(cards::parse_gpu_spec(*options.gpu)) : std::nullopt;
    if (is_simulated(provenance)) return served_as_simulated(provenance, wanted);

    Served served{.hardware = provenance.hardware, .simulated = false};
    if (!provenance.hardware.empty()) served.micro = micro_of(options, provenance.hardware);
    cards::GpuSpec gpu{provenance.hardware, provenance.hardware_count};
    if (!provenance.hardware.empty()) {
        gpu = cards::parse_gpu_spec(provenance.hardware);
        gpu.count = std::max({gpu.count, provenance.hardware_count, 1u});
    }
    served.datasheet = cards::find_gpu(gpu.name);
    if (wanted) {
        gpu = *wanted;
        served.hardware = gpu.name;
        served.datasheet = cards::find_gpu(gpu.name);
        served.micro = micro_of(options, gpu.name);
    }
    if (served.hardware.empty()) return served;
    served.priced = cards::PricedHardware{gpu.name, gpu.count, cores_that_serve(provenance, served.hardware)};
    return served;
}

std::string counted(const cards::PricedHardware& hardware) {
    return (hardware.count > 1 ? fmt::format("{} × ", hardware.count) : "") + hardware.name;
}

std::string hardware_title(const Served& served, const Provenance& provenance) {
    if (served.hardware.empty()) return "unknown hardware";
    if (served.simulated) {
        const bool is_named = cards::find_gpu(served.hardware).has_value();
        const std::string as = served.priced && !is_named ? " priced as " + counted(*served.priced) : "";
        const cards::PricedHardware named{served.hardware, std::max(1u, provenance.hardware_count), {}};
        return (served.hardware.starts_with("sim:") ? "" : "simulated ") + counted(named) + as;
    }
    if (served.datasheet)
        return served.priced && served.priced->count > 1
                   ? fmt::format("{} × {}", served.priced->count, served.datasheet->title)
                   : served.datasheet->title;
    if (served.priced && served.priced->cores)
        return fmt::format("{} ({} core{})", served.hardware, provenance.host_cores,
                           provenance.host_cores == 1 ? "" : "s");
    return served.hardware;
}

}  // namespace paretoken::reports
