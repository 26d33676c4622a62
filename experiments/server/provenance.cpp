#include "experiments/server/provenance.h"

#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <random>

#include "cards/gpu.h"
#include "cards/host.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/plan_arguments.h"
#include "core/result/result.h"
#include "core/text/utc.h"
#include "core/version.h"
#include "experiments/server/target.h"
#include "loadgen/probe/endpoint.h"
#include "simulator/engine/card_profile.h"

namespace paretoken::experiments {
namespace {

/// Returns 32 random hexadecimal digits. They are from the system and not from a seed, since runs with equal
/// seeds are different runs.
std::string new_run_id() {
    std::random_device source;
    std::string id;
    for (int word = 0; word < 4; ++word) id += fmt::format("{:08x}", static_cast<std::uint32_t>(source()));
    return id;
}

struct Hardware {
    std::string name;
    std::uint32_t count = 1;
};

/// Throws UsageError if --gpu names another card, or another number of them, than the simulated server has.
void refuse_contradiction(const cards::GpuSpec& asked, const Hardware& simulated) {
    const auto own = cards::find_gpu(simulated.name);
    const auto other = cards::find_gpu(asked.name);
    if (!own || !other || (own->name == other->name && asked.count == simulated.count)) return;
    throw UsageError(fmt::format(
        "--gpu {}{}: the server simulates {}{} ({}), which --gpu contradicts; leave --gpu out, simulate a "
        "server of the other GPU (sim:MODEL/GPU), or estimate it with `paretoken report --what-if gpu=…`",
        asked.name, asked.count > 1 ? fmt::format("x{}", asked.count) : "",
        simulated.count > 1 ? fmt::format("{} × ", simulated.count) : "", own->name, simulated.name));
}

/// Returns the hardware of all servers together. `servers` is their number.
Hardware hardware_of(const std::string& gpu, const loadgen::EndpointFacts& facts, std::size_t servers) {
    Hardware simulated;
    if (!facts.simulator_profile.empty())
        simulated = {"sim:" + facts.simulator_profile,
                     sim::gpu_count_of(facts.simulator_profile) * static_cast<std::uint32_t>(servers)};
    if (!gpu.empty()) {
        const cards::GpuSpec spec = cards::parse_gpu_spec(gpu);
        if (!simulated.name.empty()) refuse_contradiction(spec, simulated);
        return {spec.name, spec.count};
    }
    if (!simulated.name.empty()) return simulated;
    if (facts.local) return {cards::this_host().cpu, 1};
    return {};
}

/// Returns the GGUF file, or the folder of a config.json, of this machine that a server on it names; empty if
/// there is none.
std::string model_file_of(const loadgen::EndpointFacts& facts) {
    if (!facts.local) return {};
    const auto is_file = [](const std::filesystem::path& path) {
        std::error_code ignored;
        return std::filesystem::is_regular_file(path, ignored);
    };
    for (const std::string& name : card_names_of(facts))
        if (name.starts_with('/') &&
            (name.ends_with(".gguf") ? is_file(name) : is_file(std::filesystem::path(name) / "config.json")))
            return name;
    return {};
}

ModelCardNote note_of(const std::string& spec, const cards::ModelCard& card) {
    return {spec, card.name, card.weight_dtype, card.kv_dtype, cards::content_hash_of(card)};
}

/// Returns the card that the user named, or else the one that the simulated server was made from, or that of
/// the file that a server on this machine names.
std::optional<ModelCardNote> model_card_of(const LoadPlan& resolved, const loadgen::EndpointFacts& facts) {
    if (!resolved.model_card.empty())
        return note_of(resolved.model_card, cards::model_card(resolved.model_card));
    if (const auto simulated = sim::model_of_card_profile(facts.simulator_profile))
        return note_of("", *simulated);
    const std::string file = facts.simulator_profile.empty() ? model_file_of(facts) : "";
    if (file.empty()) return {};
    try {
        return note_of(file, cards::model_card(file));
    } catch (const Error&) {  // the run does not need it
        return {};
    }
}

}  // namespace

std::vector<std::string> words_to_continue(const Invocation& invocation,
                                           const std::filesystem::path& directory) {
    std::vector<std::string> words = with_option(invocation.argv, "--out", directory.string());
    std::erase(words, "--overwrite");
    return words;
}

std::vector<std::string> card_names_of(const loadgen::EndpointFacts& facts) {
    std::vector<std::string> names;
    if (const auto path = facts.server_config.find("model_path"); path != facts.server_config.end())
        names.push_back(path->second);
    names.push_back(facts.body.model);
    return names;
}

Provenance provenance_of(const Target& target, const LoadPlan& resolved, const Invocation& invocation) {
    const cards::HostFacts host = cards::this_host();
    const loadgen::EndpointFacts& facts = target.facts();
    const Hardware hardware =
        hardware_of(resolved.gpu, facts, std::max<std::size_t>(1, resolved.targets.size()));
    Provenance p;
    p.run_id = new_run_id();
    p.version = version();
    p.commit = commit();
    p.argv = invocation.argv;
    p.command = invocation.command;
    p.started_at = utc_now();
    p.host = host.name;
    p.host_cpu = host.cpu;
    p.host_cores = host.cores;
    p.kernel = host.kernel;
    p.url = target.url();
    p.model = resolved.model;
    p.server_kind = facts.server_kind;
    p.hardware = hardware.name;
    p.hardware_count = hardware.count;
    p.simulator = facts.simulator_terms;
    p.model_card = model_card_of(resolved, facts);
    p.metadata = resolved.metadata;
    return p;
}

std::string engine_of(const RunResult& result) {
    if (result.server && !result.server->engine.empty()) return result.server->engine;
    const std::string& kind = result.provenance.server_kind;
    return kind == "llama.cpp" ? "llamacpp" : kind;
}

std::string utc_now(std::chrono::seconds ago) {
    return utc_text(std::time(nullptr) - ago.count());
}

}  // namespace paretoken::experiments
