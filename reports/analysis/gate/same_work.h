#pragma once
// Checks whether two runs did the same work. The runs that a gate compares must have equal workloads, loads,
// models and hardware, except for differences that the user allows. The functions are pure.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The differences that a user may allow (--across). The workload must always be equal.
enum class Across : std::uint8_t { model, hardware, load };

/// Parses names of differences, separated by commas: "model", "hardware", "load". Throws UsageError.
std::set<Across> parse_across(std::string_view text);

/// Returns the first difference between the work of two runs, e.g. "--temperature: 0 and 0.7", with the value
/// of the first run first. It compares the workload, then the load, the model and the hardware. The last
/// three are skipped if `across` allows them; otherwise their text ends with the option that would allow
/// them. The URL, --endpoint, --header, --seed, the salt of the prompts and --timeout are not compared, nor
/// are options that only decide how a run is measured or judged. Returns nothing if there is no difference.
std::optional<std::string> difference_of_work(const RunResult& first, const RunResult& second,
                                              const std::set<Across>& across);

/// Sentences without a full stop about differences that may explain a shift, although the runs can be
/// compared: the client's host, the version of paretoken and the clock.
std::vector<std::string> oddities_of(const RunResult& first, const RunResult& second);

/// The hardware that served a run. For a simulated server it is the name of the profile, without the settings
/// after "?": "sim:llama3-8b-h100-bf16".
std::string hardware_of(const RunResult& run);

}  // namespace paretoken::reports
