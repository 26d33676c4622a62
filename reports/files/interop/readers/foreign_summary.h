#pragma once
// Runs of which a file has only another program's figures, by its own definitions (core/record/reported.h).
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/reported.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_request.h"

namespace paretoken::reports {

/// The run of a summary, without requests. Throws a UsageError that names `where` if it has no figure.
ForeignRun summary_run(ForeignLoad load, Reported reported, const std::string& where);

/// The run of requests whose file does not tell when they were sent. If it tells neither a cap nor the
/// duration, it is a summary of their latencies and lengths.
ForeignRun run_without_starts(ForeignLoad load, std::initializer_list<Fact> unknown,
                              std::vector<ForeignRequest> requests, std::optional<double> duration_s,
                              const std::string& where);

/// Adds `value` × `scale`, unless it is unknown.
void add_figure(Reported& reported, const std::string& key, std::optional<double> value, double scale = 1);

/// Adds the statistics in a block such as {"mean": 1, "p50": 2, "p99.9": 3} under keys such as "ttft_p50_s".
void add_statistics(Reported& reported, std::string_view tag, std::string_view unit,
                    const nlohmann::json& block, double scale = 1);

/// Adds the statistics of all keys at the top level of a result of vLLM or SGLang ("p99_ttft_ms").
void add_statistics_in_ms(Reported& reported, const nlohmann::json& result);

/// The name of a statistic in keys: "p50" for "median", "mean" for "avg", "p999" for "p99.9"; empty for none.
std::string statistic_named(std::string_view name);

}  // namespace paretoken::reports
