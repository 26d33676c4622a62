#pragma once
// Finds the known quantities of inference servers (core/run/server_figures.h), and series that the user asked
// to keep, in the text of /metrics. The functions are pure.
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/record/server_scrape.h"
#include "core/units.h"
#include "loadgen/scrape/prometheus.h"

namespace paretoken::scrape {

/// Returns the known quantities of a scrape, without impossible samples, of the first rank of an engine, and
/// of `model` alone if a series has it. `sources` may be empty; `kept` and `place` stay empty.
ServerScrape server_scrape_of(const Scrape& scrape, TimePoint at, std::string_view model = {});

/// Returns the finite samples that `wants` accepts, by name and labels: node_cpu_seconds_total{cpu="0"}.
std::map<std::string, double> kept_series(const Scrape& scrape,
                                          const std::function<bool(std::string_view name)>& wants);

}  // namespace paretoken::scrape
