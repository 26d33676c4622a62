// paretoken try: a first look at a server in about a minute. Finds the server that runs on this machine, or
// takes a URL; measures one person and then more and more; says in plain sentences what it found, and writes
// a page.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cards/gpu_devices.h"
#include "cards/model.h"
#include "cli/commands.h"
#include "cli/console/console_watcher.h"
#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/micro/micro_cache.h"
#include "cli/micro/micro_program.h"
#include "cli/options/invocation.h"
#include "cli/options/plan_options.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/spec.h"
#include "core/text/model_name.h"
#include "experiments/first_look/first_look.h"
#include "experiments/first_look/local_servers.h"
#include "experiments/server/launch.h"
#include "experiments/server/redaction.h"
#include "experiments/session.h"
#include "experiments/sweep/sweep.h"
#include "loadgen/probe/endpoint.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/files/file_io.h"
#include "reports/files/output_directory.h"
#include "reports/files/run_directory.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

struct TryOptions {
    PlanOptions plan;
    std::string ports;
    std::string depths;
    std::string time = "60s";
    bool no_micro = false;
};

/// The options of a run that a first look has, by the names of their fields.
const std::set<std::string_view> kKept = {
    "url",        "endpoint_type", "endpoint", "model", "header",    "api_key_env", "insecure", "ca_file",
    "model_card", "virtual",       "seed",     "out",   "overwrite", "gpu",         "timeout"};

std::set<std::string_view> left_out() {
    std::set<std::string_view> names = {"recipe"};
    for (const PlanField& field : plan_fields())
        if (!kKept.contains(field.name)) names.insert(field.name);
    return names;
}

std::vector<std::uint16_t> ports_of(const TryOptions& options) {
    std::vector<std::uint16_t> ports;
    if (options.ports.empty()) {
        for (const experiments::UsualPort& usual : experiments::usual_ports()) ports.push_back(usual.port);
        return ports;
    }
    constexpr double kMost = 65535;
    for (const double port : naming("--ports", [&] { return parse_ladder(options.ports, Rungs::whole); })) {
        if (port > kMost) throw UsageError(fmt::format("--ports {}: a port is at most 65535", options.ports));
        ports.push_back(static_cast<std::uint16_t>(port));
    }
    return ports;
}

/// Returns the values of the options, with the URL of the server on this machine if none is given.
PlanTexts with_server_of_machine(PlanTexts texts, const TryOptions& options) {
    if (texts.contains("url")) return texts;
    const std::vector<std::uint16_t> ports = ports_of(options);
    const bool has_key = !access_of(plan_of(texts)).api_key.empty();
    texts["url"] = {experiments::only_server(experiments::local_servers(ports, {}), ports, has_key)};
    return texts;
}

experiments::FirstLookPlan look_plan(const TryOptions& options, const PlanTexts& texts) {
    experiments::FirstLookPlan plan;
    plan.asked = experiments::with_server(paretoken::plan_of(texts), true);
    plan.time = naming("--time", [&] { return parse_duration(options.time); });
    if (plan.time < std::chrono::seconds(1)) throw UsageError("--time: at least one second is needed");
    if (options.depths.empty()) return plan;
    plan.depths.clear();
    for (const double depth : naming("--depth", [&] { return parse_ladder(options.depths, Rungs::whole); }))
        plan.depths.push_back(static_cast<std::uint64_t>(depth));
    return plan;
}

/// Shows what is measured, but not the figures of each run, which are said at the end.
class TryWatcher final : public ConsoleWatcher {
  public:
    using ConsoleWatcher::ConsoleWatcher;
    void point_ends(const reports::SweepPoint&, const fs::path&) override {}
};

// ---- what this machine's memory could read

/// The card of the model that a server on this machine serves, and how `--model-card` names it.
struct ServedCard {
    std::string spec;
    cards::ModelCard card;
};

/// Returns the card that the user gave, or that of the file or model that the server names.
std::optional<ServedCard> served_card(const LoadPlan& asked, const loadgen::EndpointFacts& facts) {
    if (!asked.model_card.empty()) return ServedCard{asked.model_card, cards::model_card(asked.model_card)};
    for (const std::string& name : experiments::card_names_of(facts)) {
        try {
            return ServedCard{name, cards::model_card(name)};
        } catch (const Error&) {  // the server calls its model something else
        }
    }
    return std::nullopt;
}

/// Returns the rows of memory bandwidth that `paretoken micro` kept, or measures them in a few seconds and
/// leaves them in `file`.
std::vector<reports::MicroResults> measured_memory(const fs::path& file, ConsoleWatcher& watcher,
                                                   const std::stop_token& stop) {
    if (KeptMicro kept = kept_micro(); !kept.results.empty()) return kept.results;
    watcher.wait("measuring how fast this machine reads its memory");
    run_microbench({"--quick", "--benchmark_out_format=json", "--benchmark_out=" + file.string(),
                    "--benchmark_filter=ceiling/(read/backend|cached_read)"},
                   stop, [](const std::string&) {});
    return reports::read_micro_results({file});
}

/// What is known about the memory of this machine, or why it says nothing about this server.
struct Memory {
    std::optional<reports::MemoryBound> bound;
    std::string why_not;
};

Memory memory_of(const experiments::Target& target, const std::optional<ServedCard>& served,
                 const reports::SpeedAtDepth& depth, const std::vector<reports::MicroResults>& micro) {
    const double context =
        static_cast<double>(depth.prompt_tokens) + static_cast<double>(depth.answer_tokens) / 2;
    if (target.in_virtual_time() || !target.facts().simulator_profile.empty())
        return {{}, "A simulated server reads no memory of this machine."};
    if (!target.facts().local)
        return {{},
                "The server is on another machine: `paretoken micro` there measures what its memory reads."};
    if (!served)
        return {{}, "The size of the model is not known: --model-card FILE (GGUF or config.json) gives it."};
    if (!cards::gpus_of_driver().empty())
        return {{},
                "Whether the server reads the memory of the GPU or of the processor is not known here: "
                "`paretoken micro` and then `paretoken report` compare it with both."};
    const double bytes =
        cards::streamed_weight_bytes(served->card) + cards::kv_bytes_per_sequence(served->card, context);
    for (const reports::MicroResults& device : micro)
        if (const auto ceiling = reports::read_ceiling_of(device, bytes))
            return {reports::MemoryBound{device.device.name, ceiling->value, bytes}, {}};
    return {{}, "The speed of this machine's memory was not measured: `paretoken micro` measures it."};
}

// ---- the command

std::string server_text(const experiments::Target& target) {
    const std::string& kind = target.facts().server_kind;
    const bool simulated = target.in_virtual_time() || !target.facts().simulator_profile.empty();
    return fmt::format("{} at {}",
                       simulated      ? "simulated server"
                       : kind.empty() ? "server"
                                      : kind,
                       target.url());
}

/// Returns the command that measures with enough requests for certified figures, up to the number of people
/// that slow the server to half.
std::string next_command(const reports::FirstLook& look, const LoadPlan& asked) {
    const auto half = reports::people_at_half_speed(look.crowds);
    const double most = half ? *half : static_cast<double>(look.crowds.back().people);
    std::uint64_t level = 2;
    while (static_cast<double>(level) < most) level *= 2;
    const reports::SpeedAtDepth& depth = look.depths.front();
    std::vector<std::string> words{"paretoken",
                                   "sweep",
                                   asked.targets.front(),
                                   "--concurrency",
                                   fmt::format("1..{}", level),
                                   "--isl",
                                   fmt::format("{}", depth.prompt_tokens),
                                   "--osl",
                                   fmt::format("{}", depth.answer_tokens)};
    if (look.ends_early) words.emplace_back("--no-ignore-eos");
    if (asked.virtual_time) words.emplace_back("--virtual");
    return shell_line(words);
}

/// Writes the page over all runs, and returns its path.
std::string write_page(const fs::path& directory, const std::string& title, bool has_micro) {
    const fs::path micro = directory / "micro.json";
    ReportCommand report;
    report.directories = {directory.string()};
    if (fs::exists(micro)) report.micro = {micro.string()};
    report.no_micro = !has_micro;
    report.title = title;
    report.out = (directory / "report.html").string();
    report.formats = "html";
    return write_report(report).front().string();
}

void refuse_earlier(const LoadPlan& asked, const fs::path& directory) {
    if (!fs::exists(directory / reports::kSweepFileName)) return;
    if (!asked.overwrite)
        throw UsageError(fmt::format("--out {}: it holds a sweep; give another directory, or --overwrite",
                                     directory.string()));
    experiments::remove_points(reports::read_sweep(directory), directory);
}

void look(const TryOptions& options, experiments::FirstLookPlan plan, const experiments::Access& access) {
    InterruptWatch interrupt;
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::sweep));
    const fs::path& directory = output.path();
    refuse_earlier(plan.asked, directory);
    InterruptWatch::Preparation preparation(interrupt, [&output] { output.release(); });
    TryWatcher watcher(interrupt);
    experiments::ServerLauncher launcher(access, watcher, interrupt.token());
    const auto target = launcher.open(experiments::opening_plan(plan), directory);
    preparation.end();
    const auto& facts = target->facts();
    const bool is_here = facts.local && facts.simulator_profile.empty() && !target->in_virtual_time();
    const std::optional<ServedCard> served = is_here ? served_card(plan.asked, facts) : std::nullopt;
    if (served) plan.asked.model_card = served->spec;
    const bool measures_memory = served && !options.no_micro && cards::gpus_of_driver().empty();
    std::vector<reports::MicroResults> micro;
    if (measures_memory) micro = measured_memory(directory / "micro.json", watcher, interrupt.token());
    reports::FirstLook found = experiments::first_look(
        *target, plan, directory, {this_invocation(), watcher, {interrupt.token(), interrupt.cut_off()}});
    found.server = server_text(*target);
    found.model = shown_model(facts.body.model);
    Memory memory = memory_of(*target, served, found.depths.front(), micro);
    found.memory = std::move(memory.bound);
    found.no_memory = std::move(memory.why_not);
    found.next = next_command(found, plan.asked);
    found.page = write_page(directory, reports::first_look_title(found), !micro.empty());
    print("{}", reports::first_look_text(found));
}

void try_server(const TryOptions& options) {
    const PlanTexts texts = with_server_of_machine(texts_of(options.plan), options);
    const experiments::FirstLookPlan plan = look_plan(options, texts);
    if (options.plan.print_config) {
        print("{}\n", config_text(plan.asked));
        return;
    }
    const experiments::Access access = access_of(plan.asked);
    without_telling(experiments::secrets_of(plan.asked, access.api_key),
                    [&] { look(options, plan, access); });
}

}  // namespace

void add_try(CLI::App& app) {
    const auto options = std::make_shared<TryOptions>();
    CLI::App* sub =
        app.add_subcommand("try", "Say in a minute how fast the server on this machine, or at a URL, is");
    add_plan_options(*sub, options->plan, Levels::one, left_out());
    sub->get_option("--url")->default_str("the server on this machine");
    sub->option_defaults()->group("First look");
    sub->add_option("--time", options->time, "Time of all loads together; the rest takes some seconds more")
        ->type_name("DURATION")
        ->default_str("60s");
    sub->add_option("--depth", options->depths,
                    "Lengths of prompts in tokens: a list, or a range by doubling; those that fit into the "
                    "time and the server's context are measured [128,512,2048,8192,32768]")
        ->type_name("TEXT");
    sub->add_option("--ports", options->ports,
                    "Ports of this machine at which a server is looked for [those of vLLM, SGLang, "
                    "llama.cpp, Ollama and LM Studio]")
        ->type_name("TEXT");
    sub->add_flag("--no-micro", options->no_micro, "Do not measure how fast this machine reads its memory");
    sub->callback([options] { try_server(*options); });
}

}  // namespace paretoken::cli
