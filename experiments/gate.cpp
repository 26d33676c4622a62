#include "experiments/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cards/host.h"
#include "cards/price.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"
#include "core/random.h"
#include "core/run/distinct_runs.h"
#include "core/stable_sort.h"
#include "core/text/command_secrets.h"
#include "core/validity/validity.h"
#include "experiments/run.h"
#include "experiments/server/launch.h"
#include "experiments/server/provenance.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/server_command.h"
#include "experiments/session.h"
#include "reports/analysis/gate/checklist.h"
#include "reports/analysis/gate/decision/history.h"
#include "reports/analysis/gate/decision/run_values.h"
#include "reports/analysis/gate/same_work.h"
#include "reports/files/file_io.h"
#include "reports/files/gate/gate_run.h"
#include "reports/files/json/gate_file.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::GateReport;
using reports::GateRun;

constexpr std::array<const char*, 2> kSides{"baseline", "candidate"};

// ---- continuing an earlier gate

reports::GateAsked asked_for(const GatePlan& plan, const Invocation& invocation, const Secrets& secrets) {
    reports::GateAsked asked{.baseline = secrets.redacted(plan.baseline.shown()),
                             .candidate = secrets.redacted(plan.candidate.shown()),
                             .command = secrets.redacted(invocation.command),
                             .started_at = utc_now(),
                             .options = echo_of(plan.asked)};
    redact(asked.options, secrets);
    return asked;
}

bool must_stay(const PlanField& field) {
    return field.name != "url" && field.kind != FieldKind::none;
}

void refuse_another_gate(const reports::GateAsked& before, const reports::GateAsked& now,
                         const fs::path& place) {
    const auto refuse = [&](std::string_view what, const std::string& a, const std::string& b) {
        throw UsageError(fmt::format(
            "{} holds another gate: {} was {} there and is {} now; give another --out, or continue that gate "
            "with its own command ({})",
            place.string(), what, a.empty() ? "not given" : a, b.empty() ? "not given" : b, before.command));
    };
    if (before.baseline != now.baseline) refuse("the baseline", before.baseline, now.baseline);
    if (before.candidate != now.candidate) refuse("the candidate", before.candidate, now.candidate);
    if (const auto found = difference(before.options, now.options, must_stay))
        refuse(found->name, found->before, found->after);
}

/// Returns the options of this gate. Refuses a directory that holds runs of a gate with other options.
reports::GateAsked begun(const GatePlan& plan, const fs::path& directory, const Invocation& invocation,
                         const Secrets& secrets) {
    reports::GateAsked asked = asked_for(plan, invocation, secrets);
    const fs::path file = directory / reports::kGateFileName;
    const bool has_runs = fs::exists(directory / "pairs") || fs::exists(directory / kSides[1]);
    if (!fs::exists(file) || !has_runs) return asked;
    if (plan.asked.overwrite) {
        for (const char* const runs : {"pairs", kSides[1]}) fs::remove_all(directory / runs);
        return asked;
    }
    const reports::GateAsked before = reports::parse_gate_asked(reports::read_file(file), file.string());
    refuse_another_gate(before, asked, directory);
    asked.started_at = before.started_at;
    return asked;
}

/// Returns the session of the runs, with the secrets of both sides hidden; a run knows only those of its own
/// plan. A part of a run is useless, so that a stop cuts off what is in flight.
Session without_secrets(Session session, const Secrets& secrets) {
    for (std::string& word : session.invocation.argv) word = secrets.redacted(word);
    session.invocation.command = secrets.redacted(session.invocation.command);
    session.interruption.cut_off = session.interruption.stop_starting;
    return session;
}

// ---- measuring

/// The state of a running gate.
struct Gating {
    const GatePlan& plan;
    const Access& access;
    const fs::path& directory;
    Session session;
    std::array<std::unique_ptr<Target>, 2> targets = {};  ///< targets of sides that are URLs, once opened
    std::array<std::vector<GateRun>, 2> runs = {};
    std::optional<Provenance> first = {};  ///< the first server, which the others must not differ from
    std::vector<std::string> notes = {};
    std::uint64_t spoiled = 0;  ///< pairs that were left out because the client's host spoiled a run
    bool has_measured = false;  ///< whether a run of the present pair was measured now
    Duration spent{};           ///< time that pairs took that were measured now
    std::uint64_t timed = 0;    ///< number of these pairs
};

/// Returns the pairs that were measured, or the runs of the candidate beside a stored baseline.
std::uint64_t pairs_of(const Gating& gating) {
    return gating.runs[1].size();
}

std::string_view counted_as(const GatePlan& plan) {
    return plan.baseline.stored.empty() ? "pair" : "run";
}

bool is_stored(const GatePlan& plan) {
    return !plan.baseline.stored.empty();
}

const GateSide& side_of(const GatePlan& plan, std::size_t side) {
    return side == 0 ? plan.baseline : plan.candidate;
}

fs::path directory_of(const Gating& gating, std::uint64_t pair, std::size_t side) {
    const std::string number = fmt::format("{:02}", pair + 1);
    return is_stored(gating.plan) ? gating.directory / kSides[side] / number
                                  : gating.directory / "pairs" / number / kSides[side];
}

/// Reads a run of this gate that an earlier call has finished.
std::optional<GateRun> kept_run(const fs::path& directory, bool is_candidate) {
    if (!reports::has_result(directory)) return std::nullopt;
    try {
        GateRun run = reports::read_gate_run(directory);
        if (reports::why_unusable(run.result, is_candidate).empty()) return run;
    } catch (const UsageError&) {  // an incomplete run is measured again
    }
    return std::nullopt;
}

void measure_at(Gating& gating, const LoadPlan& asked, const Target& target, const fs::path& directory) {
    const Measured run = measure(target, asked, directory, gating.session);  // a part of a run is useless
    require_whole(run, target,
                  fmt::format("this command continues the gate: {}",
                              shell_line(words_to_continue(gating.session.invocation, gating.directory))));
}

/// Throws UsageError if the server has another model or other hardware than the one before, unless that is
/// allowed.
void require_like_first(Gating& gating, const Target& target, const LoadPlan& asked) {
    LoadPlan served = asked;
    served.model = model_served(asked, target.facts());
    const Provenance now = provenance_of(target, served, gating.session.invocation);
    if (!gating.first)
        gating.first =
            gating.plan.stored_runs.empty() ? now : gating.plan.stored_runs.front().result.provenance;
    const auto found = reports::difference_of_servers(*gating.first, now, gating.plan.across);
    if (!found) return;
    const Secrets secrets = gate_secrets(gating.plan, gating.access);
    throw UsageError(secrets.redacted(fmt::format(
        "{} and {} are not to be compared: {}",
        is_stored(gating.plan) ? gating.plan.baseline.shown() : gating.first->url, now.url, *found)));
}

/// Opens both sides, so that one that cannot be reached, or that serves another model, is known before the
/// other is measured.
void open_targets(Gating& gating, std::uint64_t pair) {
    for (const std::size_t side : {0U, 1U}) {
        const GateSide& of = side_of(gating.plan, side);
        if (of.url.empty() || gating.targets[side]) continue;  // started for each run, or stored
        const LoadPlan asked = asked_of(gating.plan, of, of.url, pair);
        gating.targets[side] = open_target(asked, gating.access, gating.session.watcher,
                                           gating.session.interruption.stop_starting);
        require_like_first(gating, *gating.targets[side], asked);
    }
}

void measure_once(Gating& gating, std::uint64_t pair, std::size_t side, const fs::path& directory) {
    const GateSide& of = side_of(gating.plan, side);
    if (of.command.empty()) {
        open_targets(gating, pair);
        measure_at(gating, asked_of(gating.plan, of, of.url, pair), *gating.targets[side], directory);
        return;
    }
    reports::ensure_directory(directory);
    const auto server = std::make_shared<CommandServer>(
        ServerCommandLine{.text = of.command,
                          .log = directory / kServerLogName,
                          .patience = gating.plan.asked.server.ready_timeout.value_or(kServerPatience),
                          .shell = true,
                          .secrets = gate_secrets(gating.plan, gating.access)},
        gating.session.watcher, gating.session.interruption.stop_starting);
    const LoadPlan asked = asked_of(gating.plan, of, server->url(), pair);
    const auto target = open_target(asked, gating.access, gating.session.watcher,
                                    gating.session.interruption.stop_starting, server);
    require_like_first(gating, *target, asked);
    measure_at(gating, asked, *target, directory);
}

/// A run that the client's host made invalid for the second time.
class SpoiledRun : public Error {
  public:
    explicit SpoiledRun(const std::string& what) : Error(ExitCode::measurement_invalid, what) {}
};

/// Measures one run, and measures it once more if it is invalid.
GateRun run_of(Gating& gating, std::uint64_t pair, std::size_t side) {
    const fs::path directory = directory_of(gating, pair, side);
    const bool is_candidate = side == 1;
    const auto kept = kept_run(directory, is_candidate);
    gating.session.watcher.point_begins(
        static_cast<std::size_t>(pair + 1),
        static_cast<std::size_t>(gating.plan.policy.max_pairs + gating.spoiled), kSides[side],
        kept.has_value());
    if (kept) return *kept;
    gating.has_measured = true;
    constexpr int kAttempts = 2;
    for (int attempt = 1;; ++attempt) {
        measure_once(gating, pair, side, directory);
        GateRun run = reports::read_gate_run(directory);
        const std::string why = reports::why_unusable(run.result, is_candidate);
        if (why.empty()) return run;
        if (attempt == kAttempts && spoiled_by_instrument(run.result))
            throw SpoiledRun(fmt::format("{}: {}", directory.string(), why));
        if (attempt == kAttempts)
            throw Error(
                ExitCode::measurement_invalid,
                fmt::format(
                    "{} is invalid for the second time: {}; the same command repeats this run and goes on",
                    directory.string(), why));
        gating.session.watcher.warn(
            fmt::format("{} is invalid and is measured again: {}", directory.string(), why));
        gating.notes.push_back(
            fmt::format("The {} of {} {} was measured twice, since the first run was invalid: {}.",
                        kSides[side], counted_as(gating.plan), pair + 1, why));
    }
}

// ---- what is said of a baseline that is old or from another host

/// Returns the days since 1970 of "2026-11-21T09:38:00Z"; nothing for any other text.
std::optional<std::int64_t> day_of(const std::string& time) {
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    if (std::sscanf(time.c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                           std::chrono::day(day)};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days(date).time_since_epoch().count();
}

/// Returns the command that measures both sides in pairs.
std::string pairs_command(const GateRun& baseline, const GateSide& candidate) {
    const auto& metadata = baseline.result.provenance.metadata;
    const auto command = metadata.find("server_command");
    if (command == metadata.end())
        return "paretoken gate --baseline-cmd COMMAND --candidate-cmd COMMAND, or two URLs,";
    return fmt::format(
        "paretoken gate --baseline-cmd '{}' --candidate-cmd {}", command->second,
        candidate.command.empty() ? "COMMAND" : fmt::format("'{}'", command_to_show(candidate.command)));
}

/// Adds a note if the baseline is old or from another host, because pairs are then the better comparison.
void note_age_and_host(const std::vector<GateRun>& baseline, const std::vector<GateRun>& candidate,
                       const GateSide& side, GateReport& report) {
    constexpr std::int64_t kOld = 30;
    if (baseline.empty() || candidate.empty()) return;
    const auto before = day_of(baseline.back().result.provenance.started_at);
    const auto after = day_of(candidate.front().result.provenance.started_at);
    const bool old = before && after && *after - *before > kOld;
    const auto host = reports::difference_of_host(baseline.front().result, candidate.front().result);
    if (old)
        report.notes.push_back(
            fmt::format("The baseline is {} days older than the candidate: measure a new "
                        "one, or measure both in pairs: {} with the same load.",
                        *after - *before, pairs_command(baseline.back(), side)));
    else if (host)
        report.notes.push_back(
            fmt::format("The baseline is from another host, so that the hosts are compared as well: measure "
                        "both in pairs: {} with the same load.",
                        pairs_command(baseline.back(), side)));
}

/// Throws UsageError if the stored baseline is from another host than this one and that is not allowed.
void require_host(const GatePlan& plan) {
    if (plan.across.contains(reports::Across::host) || plan.asked.virtual_time) return;
    const cards::HostFacts host = cards::this_host();
    RunResult here;
    here.provenance.host = host.name;
    here.provenance.host_cpu = host.cpu;
    here.provenance.host_cores = host.cores;
    for (const GateRun& run : plan.stored_runs)
        if (const auto found = reports::difference_of_host(run.result, here))
            throw UsageError(
                fmt::format("{} is from another host, so that a comparison would judge the hosts as well: {} "
                            "compares all the same; {} measures both in pairs on this one",
                            plan.baseline.shown(), *found, pairs_command(run, plan.candidate)));
}

void measure_pair(Gating& gating, std::uint64_t pair) {
    if (is_stored(gating.plan)) {
        gating.runs[1].push_back(run_of(gating, pair, 1));
        reports::require_comparable(gating.plan.stored_runs, gating.runs[1], gating.plan.across);
        return;
    }
    std::array<std::optional<GateRun>, 2> runs;
    for (const std::size_t turn : {0U, 1U}) {
        const std::size_t side = candidate_is_first(pair) ? 1 - turn : turn;
        runs[side] = run_of(gating, pair, side);
    }
    for (const std::size_t side : {0U, 1U}) gating.runs[side].push_back(std::move(*runs[side]));
    reports::require_comparable(gating.runs[0], gating.runs[1], gating.plan.across);
}

/// Measures a pair. A pair of which the client's host spoiled a run is left out, because that says nothing
/// about the servers. Returns why the gate has to end if there are too many of them. `longest` is the time of
/// the longest pair so far.
std::optional<std::string> measured_or_left_out(Gating& gating, std::uint64_t pair, Duration& longest) {
    constexpr std::uint64_t kMostSpoiled = 3;
    const TimePoint began = Clock::now();
    gating.has_measured = false;
    try {
        measure_pair(gating, pair);
    } catch (const SpoiledRun& spoiled) {
        if (++gating.spoiled > kMostSpoiled) return spoiled.what();
        gating.session.watcher.warn(
            fmt::format("{} {} is left out: {}", counted_as(gating.plan), pair + 1, spoiled.what()));
        gating.notes.push_back(
            fmt::format("The {} {} was left out, because the load generator's host spoiled it twice: {}.",
                        counted_as(gating.plan), pair + 1, spoiled.what()));
    }
    const Duration took = Clock::now() - began;
    longest = std::max(longest, took);
    if (gating.has_measured) {
        gating.spent += took;
        ++gating.timed;
    }
    return std::nullopt;
}

GateReport verdict_of(const Gating& gating) {
    const GatePlan& plan = gating.plan;
    reports::GateInput input{.baseline = gating.runs[0],
                             .candidate = gating.runs[1],
                             .design = reports::GateDesign::pairs,
                             .looks = plan.whole ? reports::one_look(plan.policy, plan.policy.max_pairs)
                                                 : reports::looks_of(plan.policy)};
    if (!is_stored(plan)) return reports::decided(plan.policy, input);
    input.design = reports::GateDesign::stored;
    input.baseline = plan.stored_runs;
    return reports::decided_with_history(plan.policy, std::move(input), plan.history, plan.across);
}

GateReport report_of(const Gating& gating) {
    GateReport report = verdict_of(gating);
    if (is_stored(gating.plan))
        note_age_and_host(gating.plan.stored_runs, gating.runs[1], gating.plan.candidate, report);
    report.notes.insert(report.notes.end(), gating.notes.begin(), gating.notes.end());
    if (gating.timed > 0 && !gating.plan.asked.virtual_time)
        report.pair_s = seconds(gating.spent) / static_cast<double>(gating.timed);
    const Secrets secrets = gate_secrets(gating.plan, gating.access);
    report.baseline_name = secrets.redacted(gating.plan.baseline.shown());
    report.candidate_name = secrets.redacted(gating.plan.candidate.shown());
    if (gating.plan.checklist && !gating.runs[1].empty())
        report.checklist = reports::checklist_of(report, gating.runs[1], cards::default_price_cards());
    return report;
}

// ---- runs that were measured before

std::string names_of(const std::vector<fs::path>& directories) {
    std::string names;
    for (const fs::path& directory : directories) names += (names.empty() ? "" : " ") + directory.string();
    return names;
}

}  // namespace

Secrets gate_secrets(const GatePlan& plan, const Access& access) {
    Secrets secrets = secrets_of(plan.asked, access.api_key);
    for (const GateSide* const side : {&plan.baseline, &plan.candidate}) {
        if (side->url.find("://") != std::string::npos) secrets.add_url(side->url);
        add_command(secrets, side->command);
    }
    return secrets;
}

std::string GateSide::shown() const {
    if (!stored.empty()) return "baseline " + stored;
    if (!command.empty()) return command;
    return url.find("://") == std::string::npos ? url : redacted_url(url);
}

bool candidate_is_first(std::uint64_t pair) {
    return pair % 2 == 1;
}

std::vector<std::uint64_t> seeds_of(const std::vector<GateRun>& stored_runs) {
    std::vector<std::uint64_t> seeds;
    for (const GateRun& run : stored_runs) {
        const auto seed = reports::seed_of(run.result);
        if (!seed) return {};
        if (std::ranges::find(seeds, *seed) == seeds.end()) seeds.push_back(*seed);
    }
    return seeds;
}

std::uint64_t number_of_server(const std::vector<GateRun>& stored_runs) {
    // The figures of a simulated run depend on its random numbers, and nothing else that varies.
    const auto figure = stored_runs.back().result.throughput.at(figure::kOutputTokens);
    return derived_seed(stored_runs.size(), fmt::format("{}", figure.value_or(0)));
}

LoadPlan asked_of(const GatePlan& plan, const GateSide& side, const std::string& url, std::uint64_t pair) {
    LoadPlan asked = plan.asked;
    asked.targets = {url};
    asked.seed = plan.seeds.empty() ? asked.seed + pair : plan.seeds[pair % plan.seeds.size()];
    // The sides are two servers: with one sequence of random numbers they would be a single server. The same
    // holds for the servers of stored runs, whose seeds are repeated, and for runs with the same seed.
    asked.server_number = plan.stored_runs.empty() ? asked.server_number : number_of_server(plan.stored_runs);
    asked.server_number += 2 * (plan.seeds.empty() ? 0 : pair) + (&side == &plan.candidate ? 1 : 0);
    if (!side.command.empty()) asked.metadata["server_command"] = command_to_show(side.command);
    asked.metadata["gate_pair"] = fmt::format("{}", pair + 1);
    // Answers are checked in the first pair only: asking the same questions again gives no new evidence.
    if (pair == 0)
        asked.keep_answers = true;
    else
        asked.probe.clear();
    return asked;
}

std::vector<fs::path> measure_baseline(const GatePlan& plan, const Access& access, const fs::path& directory,
                                       const Session& session, std::uint64_t runs) {
    Gating gating{plan, access, directory, without_secrets(session, gate_secrets(plan, access))};
    std::vector<fs::path> measured;
    for (std::uint64_t run = 0; run < runs; ++run) measured.emplace_back(run_of(gating, run, 1).directory);
    return measured;
}

GateReport measure_gate(const GatePlan& plan, const Access& access, const fs::path& directory,
                        const Session& session, const TellReport& tell) {
    const reports::GateAsked asked = begun(plan, directory, session.invocation, gate_secrets(plan, access));
    Gating gating{plan, access, directory, without_secrets(session, gate_secrets(plan, access))};
    require_host(plan);
    const TimePoint began = Clock::now();
    Duration longest{};
    const auto written = [&](GateReport report) {
        reports::write_file_atomically(directory / reports::kGateFileName, reports::gate_json(report, asked));
        return report;
    };
    GateReport report = written(report_of(gating));
    for (std::uint64_t pair = 0; pairs_of(gating) < plan.policy.max_pairs; ++pair) {
        if (plan.max_time && pair > 0 && Clock::now() - began + longest > *plan.max_time) {
            const std::uint64_t pairs = pairs_of(gating);
            gating.notes.push_back(fmt::format("--max-time ended the gate after {} {}{}{}.", pairs,
                                               counted_as(plan), pairs == 1 ? "" : "s",
                                               is_stored(plan) ? " of the candidate" : ""));
            return written(reports::ended_by_time(report_of(gating)));
        }
        if (const auto ended = measured_or_left_out(gating, pair, longest))
            return written(reports::ended_by_instrument(report_of(gating), *ended));
        const std::uint64_t before = report.pairs;
        report = written(report_of(gating));
        const bool looked = report.pairs == pairs_of(gating) && report.pairs != before;
        if (!looked) continue;
        if (report.verdict != reports::GateVerdict::inconclusive || reports::metrics_are_decided(report))
            break;
        if (pairs_of(gating) == plan.policy.max_pairs) break;
        if (reports::more_runs_do_not_decide(report)) {
            gating.notes.push_back(fmt::format(
                "The gate ended after {} of at most {} runs of the candidate, because more of them would not "
                "decide the metrics that are open.",
                pairs_of(gating), plan.policy.max_pairs));
            return written(report_of(gating));
        }
        if (tell) tell(report);
    }
    return report;
}

std::vector<GateRun> runs_below(const std::vector<fs::path>& directories) {
    std::vector<GateRun> runs;
    for (const fs::path& directory : directories)
        for (const fs::path& run : reports::find_run_directories(directory))
            runs.push_back(reports::read_gate_run(run));
    return runs;
}

bool are_interleaved(std::vector<GateRun>& baseline, std::vector<GateRun>& candidate) {
    if (baseline.size() != candidate.size()) return false;
    const auto is_virtual = [](const GateRun& run) { return run.result.client.timing == "virtual"; };
    if (std::ranges::all_of(baseline, is_virtual) && std::ranges::all_of(candidate, is_virtual)) return true;
    const auto start = [](const GateRun& run) { return run.result.provenance.started_at; };
    for (auto* const side : {&baseline, &candidate})
        sort_stably(*side, [&](const GateRun& a, const GateRun& b) { return start(a) < start(b); });
    for (std::size_t i = 0; i + 1 < baseline.size(); ++i) {
        const std::string end = std::max(start(baseline[i]), start(candidate[i]));
        if (end >= std::min(start(baseline[i + 1]), start(candidate[i + 1]))) return false;
    }
    return true;
}

GateReport judge_gate(const reports::GatePolicy& policy, const GateDirectories& directories,
                      const std::set<reports::Across>& across, bool within_run, bool checklist) {
    reports::GateInput input{.baseline = runs_below(directories.baseline),
                             .candidate = runs_below(directories.candidate)};
    reports::require_comparable(input.baseline, input.candidate, across);
    const std::size_t fewer = std::min(input.baseline.size(), input.candidate.size());
    const bool single = input.baseline.size() == 1 && input.candidate.size() == 1;
    if (single && within_run)
        input.design = reports::GateDesign::within_runs;
    else if (fewer < 3 || !are_interleaved(input.baseline, input.candidate))
        input.design = reports::GateDesign::two_sets;
    input.looks = reports::one_look(policy, fewer);
    GateReport report = reports::decided_with_history(policy, input, runs_below(directories.history), across);
    if (single && !within_run)
        report.notes.emplace_back(
            input.baseline.front().result.reported
                ? "One summary per side shows neither the variation from run to run nor that of the "
                  "requests: give 3 or more, or files with details."
                : "One run per side does not show the variation from run to run: give 3 or more, or accept "
                  "that with --within-run.");
    note_age_and_host(input.baseline, input.candidate, {}, report);
    report.baseline_name = names_of(directories.baseline);
    report.candidate_name = names_of(directories.candidate);
    if (checklist)
        report.checklist = reports::checklist_of(report, input.candidate, cards::default_price_cards());
    return report;
}

}  // namespace paretoken::experiments
