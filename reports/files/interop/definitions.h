#pragma once
// Recomputes a run by the definitions of other load generators, as docs/definitions.md explains.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/files/interop/run_export.h"

namespace paretoken::reports {

struct ForeignQuantity {
    std::string_view key;   ///< ours: "ttft", "itl", "tpot", "e2e", or the key of a figure
    std::string_view word;  ///< its word: "ITL", "inter_token_latency"
    std::string_view how;   ///< its definition in words
    std::string_view why;   ///< why it differs from ours; empty if it does not
};

struct ForeignDefinitions {
    std::string_view name;   ///< "vllm"
    std::string_view title;  ///< "vLLM bench serve"
    std::vector<ForeignQuantity> quantities;
    std::string_view population;  ///< which requests count, and how percentiles are taken
};
const std::vector<ForeignDefinitions>& foreign_definitions();
/// The definitions with this name. Throws a UsageError that names the known ones.
const ForeignDefinitions& definitions_named(std::string_view name);

/// The statistics of a quantity; those of a rate have only a mean. Seconds, tokens per second.
struct DefinedValues {
    std::uint64_t n = 0;
    std::optional<double> mean = {};
    std::optional<double> p50 = {};
    std::optional<double> p99 = {};
};
struct DefinedRow {
    ForeignQuantity quantity = {};
    DefinedValues theirs = {};
    DefinedValues ours = {};
};
/// A run by the definitions of another program, beside ours.
struct DefinedRun {
    const ForeignDefinitions* definitions = nullptr;
    std::vector<DefinedRow> rows = {};
    std::vector<std::string> notes;  ///< what of this run makes a difference
};

DefinedRun defined_run(const ExportedRun& run, const ForeignDefinitions& definitions);

std::string definitions_text(const DefinedRun& run);
std::string definitions_json(const DefinedRun& run);

}  // namespace paretoken::reports
