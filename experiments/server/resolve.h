#pragma once
// Turns the plan as asked into the plan as resolved, in steps. Each fills in options that the user left out.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/plan/plan.h"

namespace paretoken::datasets {
struct Calibration;
class Dataset;
}  // namespace paretoken::datasets

namespace paretoken::loadgen {
struct EndpointFacts;
struct LoadOptions;
}  // namespace paretoken::loadgen

namespace paretoken::experiments {

enum class Axis : std::uint8_t { concurrency, request_rate };
std::string_view name_of(Axis axis);  ///< name of the field: "concurrency"

/// Returns the plan of one point of a sweep. Classes with a load of their own keep it; the others get the
/// level. A limit on requests is raised to a level of concurrency, which fewer would never reach.
LoadPlan at_level(LoadPlan asked, Axis axis, double level);

/// Throws UsageError if every class has a load of its own, so that all levels would measure the same.
void require_class_to_vary(const LoadPlan& asked, Axis axis);

/// Makes the classes of --class, names datasets, sets default lengths, and checks and hashes the plan's
/// files. It is idempotent. Throws UsageError for wrong options, RuntimeError when a file cannot be read.
LoadPlan with_dataset(LoadPlan plan);

/// Returns the length of the plan's trace if that shall be replayed: one dataset with times and no load of
/// its own; nothing otherwise. `asked` is a plan after with_dataset(). Reads the file.
std::optional<Duration> recorded_length(const LoadPlan& asked);

/// Throws UsageError if a class without a rate has --burstiness. `asked` has the level of a sweep over rates.
void require_rate_for_burstiness(const LoadPlan& asked);

/// The rounds of a run whose length is not given: as many as show that a run is within a limit.
inline constexpr std::uint64_t kUsualRounds = 20;

/// The seconds in which the requests of an open loop arrive whose length is not given. A run must be several
/// times as long as a request: in the first seconds the number in flight grows on every server.
inline constexpr double kUsualSecondsOfArrivals = 20;

/// What decides how many requests a run has whose length is not given.
struct UsualLength {
    std::uint64_t rounds = kUsualRounds;  ///< requests for each slot of the largest closed loop
    std::uint64_t fewest = 100;           ///< requests of any run
    std::uint64_t fewest_slots = 4;       ///< slots that are counted for a smaller loop
};

/// Returns the number of requests of a run whose length is not given: the most of `fewest`, the rounds of its
/// largest closed loop, and the arrivals of 20 s, at most 20,000.
std::uint64_t usual_requests(const LoadPlan& plan, const UsualLength& length = {});

/// Gives every class its arrivals and caps in-flight requests in a closed loop. If nothing else ends the run,
/// sets its number of requests. Throws UsageError when options contradict each other. The function is pure.
LoadPlan with_load(LoadPlan plan);

/// Returns the model that a server serves for a plan; as asked if the requests name several.
std::string model_served(const LoadPlan& asked, const loadgen::EndpointFacts& facts);

/// Applies with_dataset() and with_load(), and sets what the server accepts, and `salt` if the plan has none.
/// Throws as these do, and UsageError for token ids that the server does not accept.
LoadPlan resolved(const LoadPlan& asked, const loadgen::EndpointFacts& facts, const std::string& salt);

/// Returns the most requests that a plan after with_load() can have in flight; nothing if a class has no cap.
std::optional<std::uint64_t> most_in_flight(const LoadPlan& plan);

/// Returns the requests of one class of a resolved plan. `outline_content`: as in DatasetOptions.
std::unique_ptr<datasets::Dataset> dataset_of(const LoadPlan& resolved, std::size_t request_class,
                                              const std::optional<datasets::Calibration>& calibration,
                                              bool outline_content = true);

/// Returns the load of a resolved plan, without the addresses and bodies that a target adds. It has at most
/// as many workers as the smallest cap of a class on requests in flight or on prefills.
loadgen::LoadOptions load_options(const LoadPlan& resolved);

/// Throws UsageError if a shard would have no part of a cap, a stop rule needs shards that do not meet, or
/// shards cannot keep an option (--idle-system-cap). `plan` is one after with_load().
void require_divisible(const LoadPlan& plan);

/// Returns the salt of a plan without one: that of its start time for a shard that does not meet the others,
/// because all must make the same prompts; otherwise fresh_salt().
std::string salt_for(const LoadPlan& asked);

/// Returns whether the requests of a resolved plan share nothing except the tokens of a chat template.
bool shares_nothing(const LoadPlan& resolved);

std::string fresh_salt();

}  // namespace paretoken::experiments
