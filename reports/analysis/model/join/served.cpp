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

void refuse_contradiction(const LoadedRun& run, const std::optional<cards::GpuSpec>& wanted,
                          const JoinOptions& options) {
    if (!wanted) return;
    const Provenance& provenance = run.result.provenance;
    const auto named = cards::find_gpu(provenance.hardware);
    std::uint32_t own = std::max(1U, provenance.hardware_count);
    if (!is_simulated(provenance) && !provenance.hardware.empty())
        own = std::max(own, cards::parse_gpu_spec(provenance.hardware).count);
    const bool says_a_number = own > 1 || named.has_value();
    const bool other_gpu = named && !is_simulated(provenance) && named->name != wanted->name;
    if (!says_a_number || other_gpu || own == wanted->count) return;
    throw UsageError(fmt::format(
        "--gpu {}: that is {} GPU{}, and the run in {} was made on {} ({}); leave --gpu out or write {}x{}",
        *options.gpu, wanted->count, wanted->count == 1 ? "" : "s", run.directory, own, provenance.hardware,
        wanted->name, own));
}

namespace {

Served served_as_simulated(const Provenance& provenance, const std::optional<cards::GpuSpec>& wanted) {
    Served served{.hardware = provenance.hardware, .simulated = true};
    if (wanted)
        served.priced = cards::PricedHardware{wanted->name, wanted->count, {}};
    else if (const auto gpu = cards::find_gpu(provenance.hardware))
        served.priced = cards::PricedHardware{gpu->name, std::max(1u, provenance.hardware_count), {}};
    return served;
}

}  // namespace

std::optional<cards::GpuSpec> wanted_gpu(const JoinOptions& options) {
    if (!options.gpu) return {};
    return cards::parse_gpu_spec(*options.gpu);
}

Served served_by(const Provenance& provenance, const JoinOptions& options) {
    const auto wanted = wanted_gpu(options);
    if (is_simulated(provenance)) return served_as_simulated(provenance, wanted);

    Served served{.hardware = provenance.hardware, .simulated = false};
    if (!provenance.hardware.empty()) served.micro = micro_of(options, provenance.hardware);
    cards::GpuSpec gpu{provenance.hardware, provenance.hardware_count};
    if (!provenance.hardware.empty()) {
        gpu = cards::parse_gpu_spec(provenance.hardware);
        gpu.count = std::max({gpu.count, provenance.hardware_count, 1u});
    }
    served.datasheet = cards::find_gpu(gpu.name);
    if (!served.datasheet && served.micro.empty() && wanted) {  // the run names no known GPU, but --gpu does
        gpu = *wanted;
        served.hardware = gpu.name;
        served.datasheet = cards::find_gpu(gpu.name);
        served.micro = micro_of(options, gpu.name);
    }
    if (served.hardware.empty()) return served;
    served.priced = cards::PricedHardware{gpu.name, gpu.count, cores_that_serve(provenance, served.hardware)};
    return served;
}

std::string hardware_title(const Served& served, const Provenance& provenance) {
    if (served.hardware.empty()) return "unknown hardware";
    if (served.simulated)
        return served.hardware.starts_with("sim:") ? served.hardware : "simulated " + served.hardware;
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
