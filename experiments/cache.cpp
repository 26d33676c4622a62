#include "experiments/cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/result/metrics.h"
#include "core/validity/validity.h"
#include "experiments/run.h"
#include "experiments/server/resolve.h"
#include "experiments/session.h"
#include "experiments/watcher.h"
#include "loadgen/probe/endpoint.h"
#include "reports/analysis/cost/cost.h"
#include "reports/files/file_io.h"
#include "reports/files/json/cache_json.h"
#include "reports/files/recorded_files.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::CacheReport;
using reports::CacheSample;

Spec spec_of(const CachePlan& plan, const std::vector<std::int64_t>& prefixes) {
    Spec spec{"prefix_arms",
              {{"prefixes", fmt::format("{}", fmt::join(prefixes, ";"))},
               {"suffix", fmt::format("{}", plan.suffix)},
               {"osl", fmt::format("{}", plan.output_tokens)},
               {"hits", fmt::format("{}", fmt::join(plan.hits, ";"))}}};
    if (plan.slots > 0) spec.fields["slots"] = fmt::format("{}", plan.slots);
    return spec;
}

/// Returns the number of slots that prefixes can be sent to; 0 if there is one slot only, and for the
/// simulated server, whose cache belongs to no slot.
std::uint64_t slots_of(const loadgen::EndpointFacts& facts) {
    const std::int64_t slots = facts.slots.value_or(0);
    return slots > 1 && facts.simulator_profile.empty() ? static_cast<std::uint64_t>(slots) : 0;
}

CacheSample sample_of(const datasets::ArmRequest& arm, const datasets::PrefixArms& arms,
                      std::map<std::uint64_t, std::int64_t>& sent) {
    CacheSample sample{.arm = std::string(name_of(arm.arm)),
                       .setup = arm.round == 0,
                       .prefix = arm.prefix,
                       .hit = arm.hit,
                       .wanted_tokens = arm.prefix + arms.suffix()};
    if (arm.reused == 0) return sample;
    // A repeated prompt repeats completely, but its last token is always computed.
    const std::int64_t length = arm.arm == datasets::Arm::repeat ? sample.wanted_tokens - 1 : arm.reused;
    std::int64_t& longest = sent[arm.family];
    sample.repeated = std::min(length, longest);
    longest = std::max(longest, length);
    return sample;
}

void add_measured(const RequestRecord& record, CacheSample& sample) {
    if (record.outcome != Outcome::ok) return;
    sample.ttft_s = metric_named("ttft")->of_request(record);
    sample.tpot_s = metric_named("tpot")->of_request(record);
    sample.e2e_s = metric_named("e2e")->of_request(record);
    sample.output_tokens = output_tokens_of(record);
    sample.prompt_tokens = record.usage.prompt;
    sample.cached_tokens = record.usage.cached_prompt;
}

/// Throws Error with ExitCode::measurement_invalid if prompts that are compared are not equally long.
void require_equal_lengths(const reports::CacheLevel& level) {
    constexpr double kTolerated = 0.01;
    constexpr double kTokens = 2;
    for (const reports::CacheArm& arm : level.arms) {
        const auto cold = std::ranges::find_if(
            level.arms, [&](const auto& other) { return other.arm == "cold" && other.prefix == arm.prefix; });
        if (cold == level.arms.end() || !cold->prompt_tokens || !arm.prompt_tokens) continue;
        const double apart = std::abs(*arm.prompt_tokens - *cold->prompt_tokens);
        if (apart > kTolerated * *cold->prompt_tokens && apart > kTokens)
            throw Error(
                ExitCode::measurement_invalid,
                fmt::format("prompts with a prefix of {} tokens are {:.1f} tokens long in the arm {} and "
                            "{:.1f} in the cold one, according to usage; they cannot be compared. Use "
                            "longer prefixes, or --prompt-form token-ids if the server accepts it",
                            arm.prefix, *arm.prompt_tokens, arm.arm, *cold->prompt_tokens));
    }
}

std::optional<double> server_hits(const RunResult& result) {
    if (!result.server) return std::nullopt;
    const auto found = result.server->whole_run.find("prefix_hit_ratio");
    if (found == result.server->whole_run.end()) return std::nullopt;
    return found->second;
}

constexpr double kBurst = 4;          // factor of the rate during a burst
constexpr double kPhase_s = 30;       // time before, during and after a burst
constexpr std::uint64_t kCycles = 3;  // the first one fills the cache

/// Returns the share of the prefixes' tokens that came from the cache, over the requests that `counts`
/// accepts; nothing when usage does not tell.
std::optional<double> found_again(const fs::path& directory, std::int64_t prefix, std::int64_t head,
                                  const std::function<bool(const RequestRecord&)>& counts) {
    double found = 0;
    double all = 0;
    reports::for_each_recorded(directory, [&](RequestRecord&& record) {
        if (record.warmup || !record.usage.cached_prompt || !counts(record)) return;
        found += static_cast<double>(std::max<std::int64_t>(0, *record.usage.cached_prompt - head));
        all += static_cast<double>(prefix);
    });
    if (all == 0) return std::nullopt;
    return found / all;
}

/// Returns that share over the requests after the first use of each prefix.
std::optional<double> found_again(const fs::path& directory, std::int64_t prefix, std::uint64_t prefixes,
                                  std::int64_t head) {
    return found_again(directory, prefix, head,
                       [prefixes](const RequestRecord& record) { return record.index >= prefixes; });
}

/// Returns the reason why a run is invalid; empty for a valid run.
std::string why_invalid(const Validity& validity) {
    if (validity.verdict != Verdict::invalid) return {};
    const std::string reason = gravest_reason(validity);
    return reason.empty() ? "the run is invalid" : reason;
}

}  // namespace

std::vector<std::int64_t> fitting_prefixes(const CachePlan& plan, std::optional<std::int64_t> context) {
    std::vector<std::int64_t> fitting = plan.prefixes;
    if (!context) return fitting;
    constexpr std::int64_t kTemplate = 64;  // tokens that a chat template may add
    const std::int64_t room = *context - plan.suffix - plan.output_tokens - kTemplate;
    std::erase_if(fitting, [&](std::int64_t prefix) { return prefix > room; });
    if (fitting.empty() || (!plan.cut_prefixes && fitting.size() < plan.prefixes.size()))
        throw UsageError(fmt::format(
            "the server's context has {} tokens. A prefix of {} tokens does not fit into it together with a "
            "suffix of {}, an answer of {} and a chat template; the longest prefix that fits has {}",
            *context, fitting.empty() ? plan.prefixes.front() : plan.prefixes.back(), plan.suffix,
            plan.output_tokens, std::max<std::int64_t>(room, 0)));
    return fitting;
}

LoadPlan plan_of_level(const CachePlan& plan, const std::vector<std::int64_t>& prefixes,
                       std::uint64_t level) {
    LoadPlan asked = plan.asked;
    RequestClass& load = asked.classes.front();
    load.dataset = spec_of(plan, prefixes);
    load.concurrency = level;
    const datasets::PrefixArms arms(load.dataset, asked.seed);
    asked.stop.requests = arms.round_size() * (plan.samples + 1);
    if (!asked.salt.empty() && plan.concurrency.size() > 1) asked.salt += fmt::format("-c{}", level);
    asked.metadata["cache_concurrency"] = fmt::format("{}", level);
    return asked;
}

std::vector<CacheSample> samples_in(const fs::path& directory, const datasets::PrefixArms& arms) {
    std::map<std::uint64_t, RequestRecord> records;
    reports::for_each_recorded(directory, [&](RequestRecord&& record) {
        if (!record.warmup) records.emplace(record.index, std::move(record));
    });
    std::vector<CacheSample> samples;
    std::map<std::uint64_t, std::int64_t> sent;
    for (const auto& [index, record] : records) {
        samples.push_back(sample_of(arms.at(index), arms, sent));
        add_measured(record, samples.back());
    }
    return samples;
}

LoadPlan plan_of_cycle(const CachePlan& plan, std::int64_t prefix, std::uint64_t prefixes) {
    LoadPlan asked = plan.asked;
    RequestClass& load = asked.classes.front();
    load.dataset = {"prefix_cycle",
                    {{"prefixes", fmt::format("{}", prefixes)},
                     {"prefix", fmt::format("{}", prefix)},
                     {"suffix", fmt::format("{}", plan.suffix)},
                     {"osl", fmt::format("{}", plan.output_tokens)}}};
    load.concurrency = 1;
    asked.stop.requests = kCycles * prefixes;
    if (!asked.salt.empty()) asked.salt += fmt::format("-w{}", prefixes);
    asked.metadata["cache_prefixes"] = fmt::format("{}", prefixes);
    return asked;
}

LoadPlan plan_of_idle_time(const CachePlan& plan, std::int64_t prefix, double idle_s) {
    LoadPlan asked = plan_of_cycle(plan, prefix, 1);
    const std::string idle = text_of(from_seconds(idle_s));
    asked.classes.front().think_time = idle;
    asked.stop.requests = 2;
    if (!plan.asked.salt.empty()) asked.salt = fmt::format("{}-t{}", plan.asked.salt, idle);
    asked.metadata["cache_idle"] = idle;
    return asked;
}

LoadPlan plan_of_burst(const CachePlan& plan, std::int64_t prefix) {
    LoadPlan asked = plan_of_cycle(plan, prefix, plan.burst_prefixes);
    RequestClass& load = asked.classes.front();
    load.concurrency.reset();
    const double rate = *plan.burst_rate;
    load.arrivals =
        parse_spec(fmt::format("steps:rates={};{};{},each={}s", rate, kBurst * rate, rate, kPhase_s));
    asked.stop.requests.reset();
    asked.stop.duration = from_seconds(3 * kPhase_s);
    if (!plan.asked.salt.empty()) asked.salt = plan.asked.salt + "-b";
    return asked;
}

void require_enough_samples(const CachePlan& plan, const std::vector<std::int64_t>& prefixes) {
    const datasets::PrefixArms arms(spec_of(plan, prefixes), plan.asked.seed);
    std::set<std::tuple<datasets::Arm, std::int64_t, double>> compared;
    for (std::uint64_t index = 0; index < arms.round_size(); ++index) {
        using enum datasets::Arm;
        const datasets::ArmRequest request = arms.at(index);
        if (request.arm != cold && request.arm != primer && request.arm != varied)
            compared.emplace(request.arm, request.prefix, request.hit);
    }
    const std::uint64_t fewest = reports::fewest_samples_to_differ(compared.size());
    if (plan.samples < fewest)
        throw UsageError(
            fmt::format("--samples {}: at least {} are needed, because fewer cannot show any difference in "
                        "the {} comparisons of an arm with cold prompts; or give fewer prefixes (--prefix)",
                        plan.samples, fewest, compared.size()));
}

namespace {

/// The state of a running experiment.
struct Measuring {
    const CachePlan& plan;
    const Target& target;
    const fs::path& directory;
    Session session;
};

RunResult measured_in(const Measuring& measuring, const LoadPlan& asked, const fs::path& place) {
    Measured run = measure(measuring.target, asked, place, measuring.session);
    require_whole(
        run, measuring.target,
        fmt::format("what was measured is in {0} (`paretoken report {0}` shows it); an experiment is "
                    "not resumed, so measure again with --overwrite or another --out",
                    measuring.directory.string()));
    return std::move(run.result);
}

/// Stores in the samples the number of tokens that a chat template puts before each prompt.
void set_head(std::vector<CacheSample>& samples, const loadgen::EndpointFacts& facts) {
    const std::int64_t head =
        reports::head_of(samples, facts.calibration ? std::ceil(facts.calibration->overhead_tokens) : 0);
    for (CacheSample& sample : samples) sample.head = head;
}

struct LevelRun {
    RunResult result = {};
    fs::path directory;
    std::vector<CacheSample> samples;
};

LevelRun run_level(const Measuring& measuring, const std::vector<std::int64_t>& prefixes,
                   std::uint64_t concurrency) {
    const LoadPlan asked = plan_of_level(measuring.plan, prefixes, concurrency);
    LevelRun run{.directory = measuring.directory / fmt::format("c{}", concurrency), .samples = {}};
    run.result = measured_in(measuring, asked, run.directory);
    run.samples = samples_in(run.directory, {asked.classes.front().dataset, asked.seed});
    set_head(run.samples, measuring.target.facts());
    return run;
}

reports::CacheLevel level_of(const LevelRun& run, std::uint64_t concurrency,
                             std::optional<std::int64_t> granularity) {
    reports::CacheLevel level =
        reports::level_of(run.samples, concurrency, granularity, server_hits(run.result));
    level.directory = run.directory.string();
    level.invalid = why_invalid(run.result.validity);
    level.output_tokens_per_s = run.result.throughput.at("output_tokens_per_s");
    require_equal_lengths(level);
    return level;
}

std::optional<reports::WorkingSet> measure_working_set(const Measuring& measuring, std::int64_t prefix,
                                                       std::int64_t head) {
    const CachePlan& plan = measuring.plan;
    std::map<std::uint64_t, double> found;
    while (const auto prefixes =
               reports::next_working_set(found, plan.working_set_from, plan.working_set_most)) {
        measuring.session.watcher.point_begins(found.size() + 1, 0,
                                               fmt::format("{} prefixes in turn", *prefixes), false);
        const fs::path place = measuring.directory / fmt::format("w{}", *prefixes);
        measured_in(measuring, plan_of_cycle(plan, prefix, *prefixes), place);
        const auto share = found_again(place, prefix, *prefixes, head);
        if (!share) {
            measuring.session.watcher.warn(
                "the working set cannot be found: the server does not report cached tokens");
            return std::nullopt;
        }
        found[*prefixes] = *share;
    }
    return reports::working_set_of(found, prefix, prefix + plan.suffix + plan.output_tokens);
}

std::optional<reports::IdleTime> measure_idle_time(const Measuring& measuring, std::int64_t prefix,
                                                   std::int64_t head) {
    const CachePlan& plan = measuring.plan;
    std::map<double, double> found;
    while (const auto idle_s = reports::next_idle_time(found, *plan.idle_most_s)) {
        const LoadPlan asked = plan_of_idle_time(plan, prefix, *idle_s);
        const std::string idle = asked.metadata.at("cache_idle");
        measuring.session.watcher.point_begins(found.size() + 1, 0, fmt::format("{} idle", idle), false);
        const fs::path place = measuring.directory / fmt::format("t{}", idle);
        measured_in(measuring, asked, place);
        const auto share = found_again(place, prefix, 1, head);
        if (!share) {
            measuring.session.watcher.warn(
                "the time for which the server keeps a prefix cannot be measured, because the server does "
                "not report cached tokens");
            return std::nullopt;
        }
        found[*idle_s] = *share;
    }
    return reports::idle_time_of(found);
}

reports::CacheBurst measure_burst(const Measuring& measuring, std::int64_t prefix, std::int64_t head) {
    const CachePlan& plan = measuring.plan;
    measuring.session.watcher.point_begins(1, 1, "burst", false);
    const fs::path place = measuring.directory / "burst";
    const RunResult run = measured_in(measuring, plan_of_burst(plan, prefix), place);
    const auto in_phase = [&](int phase) {
        return found_again(place, prefix, head, [&](const RequestRecord& record) {
            const double at = seconds(record.scheduled - TimePoint{}) - run.window.zero_s;
            return record.index >= plan.burst_prefixes && at >= phase * kPhase_s &&
                   at < (phase + 1) * kPhase_s;
        });
    };
    return {.rate = *plan.burst_rate,
            .prefixes = plan.burst_prefixes,
            .before = in_phase(0),
            .during = in_phase(1),
            .after = in_phase(2)};
}

/// Sets the price by the first card that has the serving hardware.
void price(const CachePlan& plan, const Provenance& served, CacheReport& report) {
    for (const cards::PriceCard& card : plan.prices) {
        const auto rate = cards::hourly_rate(card, reports::priced_hardware(served));
        if (!rate) continue;
        report.price = fmt::format("{}, {}, {}", rate->how, rate->basis, card.as_of);
        reports::add_prices(report, rate->usd_per_h);
        return;
    }
}

}  // namespace

CacheReport measure_cache(const CachePlan& asked, const Target& target, const fs::path& directory,
                          const Session& session) {
    CachePlan plan = asked;
    plan.slots = slots_of(target.facts());
    Measuring measuring{plan, target, directory, session};
    measuring.session.interruption.cut_off = session.interruption.stop_starting;
    const auto prefixes = fitting_prefixes(plan, target.facts().context);
    require_enough_samples(plan, prefixes);
    CacheReport report{.target = target.url()};
    const auto keep = [&] {
        reports::write_file_atomically(directory / reports::kCacheFileName, reports::cache_json(report));
    };
    std::int64_t head = 0;
    for (const std::uint64_t concurrency : plan.concurrency) {
        session.watcher.point_begins(report.levels.size() + 1, plan.concurrency.size(),
                                     fmt::format("concurrency {}", concurrency), false);
        const LevelRun run = run_level(measuring, prefixes, concurrency);
        const bool is_first = report.levels.empty();
        if (is_first) {
            head = run.samples.empty() ? 0 : run.samples.front().head;
            report.model = run.result.provenance.model;
            report.engine = engine_of(run.result);
            report.granularity_tokens = reports::granularity_of(run.samples);
            report.least_cached_prefix = reports::least_cached_prefix_of(run.samples);
        }
        report.levels.push_back(level_of(run, concurrency, report.granularity_tokens));
        price(plan, run.result.provenance, report);
        if (is_first)
            report.verdicts = reports::verdicts_of(report.levels.front(), run.samples, report.engine);
        keep();
    }
    if (plan.working_set_from > 0) {
        report.working_set = measure_working_set(measuring, prefixes.back(), head);
        keep();
    }
    if (plan.burst_rate) {
        report.burst = measure_burst(measuring, prefixes.back(), head);
        keep();
    }
    if (plan.idle_most_s) {
        report.idle_time = measure_idle_time(measuring, prefixes.back(), head);
        keep();
    }
    return report;
}

}  // namespace paretoken::experiments
