#pragma once
// The content of plan.json: what fits on GPUs that nobody has rented yet, how fast it would be, how many of
// them a demand needs, and what that costs. A cell is one combination of GPU, formats and ranks. Everything
// is computed from cards and simulated runs and therefore an estimate. The functions are pure.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cards/fit.h"
#include "cards/gpu.h"
#include "cards/model.h"
#include "reports/analysis/cost/questions.h"
#include "reports/analysis/plan/hours.h"

namespace paretoken::reports {

/// The lengths of the requests that a plan is made for, in tokens.
struct PlannedLengths {
    std::string input = {};   ///< as asked: "lognormal:mean=512,cv=1"
    std::string output = {};  ///< as asked
    double input_mean = 0;
    double output_mean = 0;
    double input_p99 = 0;
    double total_p50 = 0;  ///< input and output tokens of a request together
    double total_p99 = 0;
    double total_max = 0;  ///< of the requests that were drawn

    bool operator==(const PlannedLengths&) const = default;
};

/// Statistics of drawn requests. `inputs` and `outputs` have the lengths of the same requests, at least one.
PlannedLengths lengths_of(std::string input, std::string output, const std::vector<double>& inputs,
                          const std::vector<double>& outputs);

/// The settings of a server that the lengths suggest.
struct SuggestedSettings {
    std::uint64_t max_model_len = 0;  ///< ⌈1.2 × p99 of input and output together⌉
    std::uint64_t max_num_seqs = 0;   ///< sequences at once at the median length, at most the engine's
    std::uint64_t max_num_batched_tokens = 0;  ///< the engine's

    bool operator==(const SuggestedSettings&) const = default;
};

/// The highest load that one deployment (replica) carries within the limits, by simulated runs. Its capacity,
/// the number of replicas, their utilization and the price of their tokens are computed from `load` alone.
struct PlannedSpeed {
    double load = 0;            ///< requests/s, or requests in flight
    double requests_per_s = 0;  ///< completed at that load
    double output_tokens_per_s = 0;
    std::optional<double> ttft_p50_s = {};
    std::optional<double> ttft_p99_s = {};
    std::optional<double> tpot_p50_s = {};
    std::optional<double> itl_p50_s = {};
    std::optional<double> itl_p99_s = {};
    std::optional<double> e2e_mean_s = {};
    std::optional<double> goodput_per_s = {};  ///< requests per second that each meet every limit
    std::optional<double> goodput_ratio = {};  ///< their share
    std::optional<double> interactivity_tok_per_s = {};
    bool shown = false;        ///< whether the search showed it at 99 %; if not, it was measured within
    std::string binding = {};  ///< why the next higher load fails; empty if none failed
    std::uint64_t runs = 0;

    bool operator==(const PlannedSpeed&) const = default;
};

/// KV cache that one replica keeps in the host's memory.
struct PlannedHostCache {
    double bytes = 0;
    double bytes_per_s = 0;  ///< of all GPUs of the replica together
    double tokens = 0;
    double load_s = 0;                     ///< to bring the cache of a prompt of mean length back
    std::optional<double> compute_s = {};  ///< least time to compute it; absent without a GPU's card

    bool operator==(const PlannedHostCache&) const = default;
};

/// Layers that llama.cpp keeps in the host's memory.
struct PlannedHostLayers {
    std::uint64_t on_gpu = 0;
    cards::HostSplit split = {};
    double bytes_per_s = 0;              ///< of the host's memory
    std::optional<double> least_s = {};  ///< per token of one request; absent without a GPU's card

    bool operator==(const PlannedHostLayers&) const = default;
};

/// The deployments of one cell that carry a demand, and their bill.
struct PlannedFleet {
    std::uint64_t replicas = 0;
    std::uint64_t gpus = 0;
    double utilization = 0;  ///< mean demand ÷ load that the replicas carry within the limits
    std::optional<double> usd_per_month = {};
    std::optional<double> usd_per_m_output = {};

    bool operator==(const PlannedFleet&) const = default;
};

struct PlannedCell {
    std::string gpu = {};  ///< name of the card, or "24GiB GPU"
    std::string weights = {};
    std::string kv = {};
    cards::Deployment deployment = {};
    cards::Fit fit = {};
    double kv_bytes_per_token = 0;  ///< all ranks together, without copies
    double sequence_bytes_p50 = 0;  ///< one sequence on one rank
    double sequence_bytes_p99 = 0;
    double sequence_bytes_max = 0;
    double pool_tokens = 0;           ///< tokens at once at the longest context
    std::uint64_t sequences_p50 = 0;  ///< sequences at once
    std::uint64_t sequences_p99 = 0;
    std::uint64_t sequences_context = 0;  ///< at `context` of the plan
    std::uint64_t sequences_limit = 0;    ///< at slot_tokens() of `settings`
    std::string refused = {};             ///< why it cannot run; empty if it can
    std::string nearest = {};             ///< the nearest change that would fit
    std::vector<std::string> notes = {};
    std::optional<PlannedHostCache> host_cache = {};
    std::optional<PlannedHostLayers> host_layers = {};
    SuggestedSettings settings = {};
    std::string profile = {};  ///< the simulated server: "sim:llama3-8b/h100/fp8"
    std::optional<PlannedSpeed> speed = {};
    std::string no_speed = {};                    ///< why a search found no load
    std::optional<double> usd_per_h = {};         ///< of one replica
    std::optional<double> usd_per_m_output = {};  ///< at `speed`
    std::optional<PlannedFleet> fleet = {};

    std::uint32_t gpus() const { return deployment.gpus(); }  ///< of one replica
    bool operator==(const PlannedCell&) const = default;
};

/// The load that the deployments must carry together.
struct Demand {
    std::optional<double> requests_per_s = {};  ///< of the busiest hour if there are several
    std::vector<double> hours = {};             ///< requests per second by hour; empty: always as many
    std::optional<double> users = {};           ///< users who always have one request in flight
    double target_utilization = 1;              ///< share of the load within the limits that may be used

    bool operator==(const Demand&) const = default;
};

struct DeploymentPlan {
    std::string model = {};
    std::string model_path =
        {};  ///< absolute, of a file or directory to load in place of `model`; may be empty
    std::string repository = {};     ///< of Hugging Face, with the model's own weights; may be empty
    bool loads_own_model = false;    ///< whether servers load these weights, because no --model names others
    std::string model_weights = {};  ///< format of the model's own weights
    std::string model_kv = {};       ///< format of the cache that the model's checkpoint asks for
    std::string engine = {};
    std::string draft_model = {};  ///< of Hugging Face or a path, if tokens are drafted by a model
    std::map<std::string, CostValue> inputs = {};  ///< of the speed: "hit", "acceptance", "drafts", "chunk"
    std::uint64_t context = 0;                     ///< longest context that the server accepts
    bool knows_context = true;                     ///< whether the model's card states it, or the user
    PlannedLengths lengths = {};
    std::optional<double> sequences = {};  ///< sequences that share the cache (--sequences)
    std::vector<std::string> slos = {};
    Demand demand = {};
    std::string price_card = {};
    std::string price_as_of = {};
    std::string price_basis = {};
    double earning_share = 1;  ///< of the price card: share of the paid time in which the servers serve
    std::vector<PlannedCell> cells = {};
    std::optional<Staircase> staircase = {};       ///< of the best cell, if the demand is by hour
    std::optional<ScaledServers> autoscaled = {};  ///< likewise
    std::string cold_start_from = {};              ///< where its time to start a server comes from
    std::optional<std::size_t> best = {};    ///< cheapest cell for the demand, else per token, else that fits
    std::vector<CostAnswer> decisions = {};  ///< questions of `paretoken cost` about the best cell

    bool operator==(const DeploymentPlan&) const = default;
};

/// The settings for a cell. `engine` are the engine's own limits.
SuggestedSettings suggested_settings(const PlannedLengths& lengths, const PlannedCell& cell,
                                     const cards::BatchLimits& engine, std::uint64_t context);

/// Fills the sizes of a cell from its model and deployment: the fit, and the sequences at once.
void fill_sizes(PlannedCell& cell, const cards::ModelCard& model, const PlannedLengths& lengths,
                std::uint64_t context);

/// What `bytes` of the host's memory keep for a cell, whose sizes are filled already.
PlannedHostCache host_cache_of(const PlannedCell& cell, const cards::ModelCard& model,
                               const PlannedLengths& lengths, double bytes, double bytes_per_s,
                               const std::optional<cards::GpuCard>& gpu);
/// The split of a cell between GPU and host; nothing if all layers are on GPUs.
std::optional<PlannedHostLayers> host_layers_of(const PlannedCell& cell, const cards::ModelCard& model,
                                                double host_bytes_per_s,
                                                const std::optional<cards::GpuCard>& gpu);

/// The deployments that a demand needs if each carries `load` (PlannedSpeed::load).
std::uint64_t replicas_for(const Demand& demand, double load);
/// The fewest replicas that `is_within` accepts, searched from an estimate by single ones, or by 2 % of many
/// replicas; the last number that it accepted is the result. Nothing if half as many again are not enough.
std::optional<std::uint64_t> fewest_within(std::uint64_t estimate,
                                           const std::function<bool(std::uint64_t)>& is_within);
/// So many deployments of a cell with a speed, and their bill if its price is known.
PlannedFleet fleet_of(const DeploymentPlan& plan, const PlannedCell& cell, std::uint64_t replicas);
/// The mean of the demand over the hours: requests per second, or users.
double mean_load(const Demand& demand);
/// The price of a million output tokens of one replica at a rate; nothing without a price.
std::optional<double> usd_per_m_at(const DeploymentPlan& plan, const PlannedCell& cell,
                                   double output_tokens_per_s);
/// The same at the speed of the cell; nothing without price or speed.
std::optional<double> usd_per_m_at_speed(const DeploymentPlan& plan, const PlannedCell& cell);
/// The speed at a rate of arrivals that a server keeps up with: over time it completes as many requests as
/// arrive, which the window of one short run shows only roughly.
PlannedSpeed at_its_rate(PlannedSpeed speed, const PlannedLengths& lengths);

/// What a cell tells `paretoken cost`. Cost, tokens and power are those of all its servers together (of one
/// if the demand is not known), and bandwidth and arithmetic those of one.
CostGiven known_to_cost(const DeploymentPlan& plan, const PlannedCell& cell, const cards::ModelCard& model,
                        const std::optional<cards::GpuCard>& gpu);

/// Adds a hosted API, with its price for the plan's mix of tokens, of which the part `hit` of the input is
/// read from its cache.
void add_api(CostGiven& known, const PlannedLengths& lengths, double hit, const cards::ApiPrice& api,
             const std::string& name);

/// The cheapest cell for the demand; without a demand the one with the cheapest tokens; without speeds the
/// one that fits on the fewest GPUs, of several the cheapest per hour, and of these the one with the most
/// requests at once. With `needs_speed`, only cells with a speed count.
std::optional<std::size_t> best_of(const std::vector<PlannedCell>& cells, bool needs_speed);

/// The cells in the order in which best_of() prefers them: the best one first, then those without a load
/// within the limits, and last those that cannot run.
std::vector<const PlannedCell*> ranked_cells(const DeploymentPlan& plan);

}  // namespace paretoken::reports
