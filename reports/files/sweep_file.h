#pragma once
// The plan of a sweep and what each of its points came to: the content of sweep.json. Written anew after
// every point, so that a sweep can be resumed and its table drawn at any moment.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace paretoken::reports {

enum class PointState : std::uint8_t { pending, running, done, failed };
std::string_view name_of(PointState state);
std::optional<PointState> point_state_named(std::string_view name);

/// One load level, with the headline figures of its run (absent until it is done).
struct SweepPoint {
    std::string directory = {};   ///< relative to the sweep's own
    std::string load_label = {};  ///< "c=16" or "4 req/s"
    double load = 0;
    PointState state = PointState::pending;
    std::string error = {};  ///< why it failed, one line

    std::optional<double> requests_per_s = {};
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> interactivity_tok_per_s = {};  ///< tokens/s per user, p90
    std::optional<double> ttft_p50_s = {};
    std::optional<double> ttft_p99_s = {};
    std::optional<double> itl_p50_s = {};
    std::optional<double> itl_p99_s = {};
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    std::optional<Verdict> verdict = {};

    bool operator==(const SweepPoint&) const = default;
};

struct SweepFile {
    std::string axis = "concurrency";  ///< or "request_rate"
    std::string started_at;            ///< UTC
    std::string command;
    PlanEcho options;  ///< what every point has in common; a resumed sweep must ask for the same
    std::vector<SweepPoint> points;  ///< ascending load

    bool operator==(const SweepFile&) const = default;
};

/// "c=16", "4 req/s", or "all at once" when neither was given.
std::string load_label_of(const RunResult& result);

/// The finished row of a run. `directory` and `load` are the caller's.
SweepPoint sweep_point_of(const RunResult& result, std::string directory, double load);

}  // namespace paretoken::reports
