#include "experiments/server/virtual_target.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/plan/shard.h"
#include "core/run/observations.h"
#include "experiments/server/lifecycle.h"
#include "experiments/server/load.h"
#include "experiments/server/questions.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/target.h"
#include "loadgen/probe/endpoint.h"
#include "loadgen/virtual.h"

namespace paretoken::experiments {
namespace {

/// The simulated server in virtual time, whose facts are known without a probe.
class VirtualTarget final : public Target {
  public:
    explicit VirtualTarget(const LoadPlan& asked)
        : Target(secrets_of(asked, "")), url_(asked.targets.front()) {
        if (asked.targets.size() > 1) throw UsageError("--virtual computes one server, not several");
        if (!names_simulator(url_)) {
            throw UsageError(
                fmt::format("--virtual: {} is a server that answers in its own time; only sim:PROFILE "
                            "can be computed",
                            url_));
        }
        virtual_.profile = simulated_profile(url_);
        if (shard_of(asked).count > 1 && virtual_.profile.timing == sim::Timing::batching)
            throw UsageError(fmt::format(
                "--shard {}: in virtual time every shard computes a server of its own, so that the requests "
                "of different shards do not meet in {}; only servers whose requests do not influence each "
                "other, such as sim:ideal, can be computed in shards",
                asked.fleet.shard, url_));
        virtual_.turnaround = asked.turnaround;
        virtual_.write_time = asked.write_time;
        virtual_.ignore_eos = asked.sampling.ignore_eos;
        facts_.body = body_of(asked);
        virtual_.chat = facts_.body.protocol->chat_template;
        if (asked.model.empty()) facts_.body.model = virtual_.profile.model;
        facts_.server_kind = "paretoken-sim in virtual time";
        facts_.context = sim::context_limit(virtual_.profile);
        facts_.simulator_profile = virtual_.profile.name;
        facts_.simulator_terms = sim::limit_terms(virtual_.profile);
        check_probe(asked, facts_.context);
    }

    const loadgen::EndpointFacts& facts() const override { return facts_; }
    std::string url() const override { return url_; }
    bool in_virtual_time() const override { return true; }

    Load load_for(const LoadPlan& asked) const override {
        // A server without a prefix cache only counts the tokens of prompts.
        Load load = load_of(asked, facts_, salt_for(asked), loadgen::reads_prompts(virtual_.profile));
        check_context(load, facts_);
        load.options.worker.id_prefix = "v-";
        load.options.began = loadgen::kVirtualBegin;
        return load;
    }

    Observations make(const Load& load, RecordSink& sink, loadgen::Progress& progress,
                      const loadgen::Interruption& interruption) const override {
        loadgen::VirtualOptions options = virtual_;
        options.server_number = load.plan.server_number;
        options.server_age = load.server_age;
        options.ignore_eos = load.options.worker.client.body.ignore_eos;
        return loadgen::make_virtual_load(load.options, options, sink, progress, interruption);
    }

  private:
    std::string url_;
    loadgen::VirtualOptions virtual_;
    loadgen::EndpointFacts facts_;
};

}  // namespace

std::unique_ptr<Target> virtual_target(const LoadPlan& asked) {
    return std::make_unique<VirtualTarget>(asked);
}

}  // namespace paretoken::experiments
