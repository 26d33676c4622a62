#pragma once
// Carries measurements out: a Target is found out about once (and kept: the simulated server, the TLS
// context, what the probe learnt), then measured at one load level after the other, each into a run directory
// of its own.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/simulator.h"
#include "core/result.h"
#include "loadgen/arrival.h"
#include "loadgen/probe.h"
#include "loadgen/run.h"
#include "loadgen/virtual.h"

namespace paretoken::cli {

/// One point of the load axis.
struct LoadLevel {
    loadgen::Arrivals arrivals;
    std::optional<std::uint64_t> concurrency;
};

/// The levels that an option lists. Throws UsageError naming the option.
std::vector<std::uint64_t> levels_of(const char* option, const std::string& text);

/// From --concurrency, --request-rate, --burstiness and --arrivals as the user said them. `concurrency` empty
/// and no rate: one at a time. Throws UsageError where they contradict each other.
LoadLevel load_level(const std::string& concurrency, const PaceOptions& pace);

class Target {
  public:
    /// In virtual time: reads the profile, and that is all. Else starts the simulator if the URL names it,
    /// probes, and tries the workload's first request. Throws when measuring would be pointless.
    explicit Target(const MeasureOptions& options);

    struct Measured {
        RunResult result;
        std::filesystem::path directory;
    };
    /// One run into `directory`, which is created. A result is written whatever happens to the load; throws
    /// RuntimeError when it cannot be written.
    Measured measure(const LoadLevel& level, const std::filesystem::path& directory,
                     const std::vector<std::string>& argv, const InterruptWatch& interrupt) const;

    const loadgen::EndpointFacts& facts() const { return facts_; }

  private:
    struct Plan;
    void prepare_virtual();
    Plan plan_for(const LoadLevel& level, const std::string& salt) const;
    std::unique_ptr<datasets::Dataset> dataset_for(const std::string& salt) const;
    void check_context(const datasets::Dataset& dataset) const;
    Provenance provenance(const std::vector<std::string>& argv) const;
    OptionsEcho options_echo(const LoadLevel& level, const loadgen::Limits& limits) const;
    Workload workload(const datasets::Dataset& dataset, const std::string& salt) const;
    loadgen::LoadOptions load_options(const LoadLevel& level, const loadgen::Limits& limits,
                                      const std::string& salt) const;

    MeasureOptions options_;
    std::optional<Simulator> simulator_;
    std::unique_ptr<http::TlsContext> tls_;
    loadgen::EndpointOptions endpoint_;
    loadgen::EndpointFacts facts_;
    std::optional<loadgen::VirtualOptions> virtual_;
};

/// "runs/20261121-094512", or what --out says.
std::filesystem::path output_directory(const std::string& out);

/// The arguments of this process, for provenance: without_secrets.
std::vector<std::string> process_arguments();

/// The same with the values of -H and --header hidden: they may be keys, and results are passed around.
std::vector<std::string> without_secrets(std::vector<std::string> argv);

/// Arguments as one line that a POSIX shell takes back.
std::string shell_line(const std::vector<std::string>& argv);

/// "2026-11-21T09:45:12Z"
std::string utc_now();

}  // namespace paretoken::cli
