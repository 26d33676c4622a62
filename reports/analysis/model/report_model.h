#pragma once
// Everything that a report shows, computed before anything is drawn. Units are dollars, seconds (milliseconds
// where a name ends in `ms`) and tokens. Configuration::missing says how absent values are added.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "reports/analysis/cache/picture.h"
#include "reports/analysis/cost/job_cost.h"
#include "reports/analysis/micro/micro_picture.h"
#include "reports/document/section.h"

namespace paretoken::reports {

/// A number with its source ("measured", "datasheet", "profile", "model card").
struct SourcedTerm {
    std::string name;  ///< "weight bandwidth"
    double value = 0;
    std::string unit;    ///< "GB/s"
    std::string source;  ///< "measured by micro on AMD EPYC, 2026-11-21"

    bool operator==(const SourcedTerm&) const = default;
};

/// The cost of one point by the price card, with the utilisation and availability that it states.
struct PointCost {
    double usd_per_m_output = 0;  ///< price if output tokens carry the whole cost
    double usd_per_h = 0;         ///< cost of the whole deployment, whether it is used or not
    double earning_share = 1;     ///< share of the time in which it earns, by the card
    std::string priced_as = {};   ///< what was priced: "2 × h100-sxm" or "2 CPU cores"
    /// Source of the watts: "card" or "measured by NVML"; empty if the rate includes power.
    std::string power = {};
    std::optional<double> power_w = {};  ///< power that was priced, of the whole deployment at the plug
    std::optional<Interval> usd_per_m_output_ci95;  ///< interval of the price, from that of the throughput
    std::optional<Interval> price_band;             ///< price at the card's low and at its high price
    std::optional<double> usd_per_m_total;          ///< price if input and output tokens cost the same
    std::optional<double> usd_per_m_input_split;    ///< price of fresh input tokens, by the rule of --split;
                                                  ///< with the two prices below, Σ price × rate is the cost
    std::optional<double> usd_per_m_cached_split = {};
    std::optional<double> usd_per_m_output_split;
    std::optional<JobCost> per_job = {};      ///< cost of a job of agents, if the run has jobs
    std::optional<double> usd_per_m_goodput;  ///< whole cost ÷ output tokens of requests that met every SLO

    bool operator==(const PointCost&) const = default;
};

struct GapPart {
    std::string name;                      ///< "prefill interference"
    std::optional<double> ms = {};         ///< time per step; absent (unattributed) if it was not measured
    std::optional<double> usd_per_m = {};  ///< its share of the price of output tokens
    std::string source = {};
    std::string remedy = {};  ///< change that helps; empty if there is none, or the part is small

    bool operator==(const GapPart&) const = default;
};

/// The waterfall from the hardware limit to the measured time of a step; the parts sum to the step.
struct Gap {
    double step_ms = 0;  ///< requests in flight × tokens per pass ÷ output tokens per second
    double in_flight = 0;
    double tokens_per_pass = 1;
    std::optional<double> usd_per_m_output = {};
    std::vector<GapPart> parts = {};
    std::string first_to_fix = {};  ///< sentences about the largest part and what helps (what_to_fix_first())

    bool operator==(const Gap&) const = default;
};

/// The shares of the hardware's peaks that a run used. The peaks come from the datasheet if there is one,
/// else from micro's measurements, else from the profile of a simulated server.
struct Utilisation {
    std::optional<double> mfu = {};  ///< arithmetic that the delivered tokens need ÷ peak
    std::optional<double> mbu = {};  ///< bytes of weights and KV cache that decoding steps read ÷ peak
    std::string mfu_source = {};     ///< source of the peak for MFU
    std::string mbu_source = {};     ///< source of the peak for MBU

    bool operator==(const Utilisation&) const = default;
};

/// The place of a run: its configuration, and its index among the runs of that configuration.
struct PointAt {
    std::size_t configuration = 0;
    std::size_t point = 0;

    bool operator==(const PointAt&) const = default;
};

/// The place of a point among all others for one pair of axes.
struct FrontPlace {
    bool on_front = false;
    /// Whether it is dominated, but would not be if its values were the best ends of their 95 % intervals.
    bool within_noise = false;
    std::optional<PointAt> dominated_by;  ///< point that dominates it; absent if none does, or if this point
                                          ///< cannot be compared (invalid, limits not met, not measured)

    bool operator==(const FrontPlace&) const = default;
};

/// The quality of a configuration's answers: a share of right answers.
struct Quality {
    double score = 0;
    double n = 0;
    Interval ci95;
    std::string source;
    std::string probe = {};  ///< name of the set of questions (--probe); empty if the score is from --quality

    bool operator==(const Quality&) const = default;
};

struct ReportPoint {
    std::string directory;
    std::string load_label;  ///< load in words: "c=16", "4 req/s", or "c=16, run 2" of a repeated load
    double load = 0;
    bool open_loop = false;
    RunResult result;

    std::optional<double> interactivity;  ///< tokens/s per user that 90 % of the requests reach
    bool certified = false;               ///< whether that percentile has enough samples
    std::optional<double> output_tokens_per_s;
    std::optional<PointCost> cost;
    /// Cost at the rate of output tokens that another program reported; only with RunResult::reported.
    std::optional<double> reported_usd_per_m_output = {};

    std::optional<double> limit_output_tokens_per_s;  ///< hard limit at this point's load
    std::optional<double> limit_interactivity;
    std::optional<double> of_limit;         ///< measured ÷ hard limit of output tokens/s at the same load
    std::optional<double> limit_tolerance;  ///< edge_tolerance(): `of_limit` is an error only above 1 + this
    std::optional<Gap> gap;                 ///< parts of the step's time
    std::optional<Utilisation> utilisation = {};
    bool reached = true;  ///< whether the run sent at least as many requests as its concurrency; if not, no
                          ///< chart draws it
    std::string better_run = {};  ///< load_label of a run that measured this load better; empty if none did
    bool fits = true;             ///< whether nothing keeps it from a front: it is usable and misses no limit
    std::optional<SloVerdict> limits;  ///< verdict on all limits of the report together, if there are any
    std::string missed_own_slo = {};   ///< missed_own_slo() (choice.h); empty if it missed none
    bool on_front = false;             ///< whether it is on the front over all comparable configurations
    bool within_noise = false;         ///< as in FrontPlace
    bool on_own_front = false;         ///< whether it is on the front of its own configuration
    std::string why_not;  ///< reason why it is not on the front: "dominated by c=8 on NVIDIA L40S", "invalid:
                          ///< loop_lag"; empty if it is
    std::vector<FrontPlace> places;  ///< its place for every pair of axes, by place_of_axes()
};

struct LimitPoint {
    double batch = 1;
    double interactivity = 0;        ///< tok/s per user
    double output_tokens_per_s = 0;  ///< rate of the whole deployment
    std::optional<double> usd_per_m_output;

    bool operator==(const LimitPoint&) const = default;
};

using Labels = std::map<std::string, std::string>;  ///< name → value

/// The runs with one model, one set of labels, one workload, one kind of hardware and one price basis.
struct Configuration {
    std::string title;      ///< "SmolLM2-135M q4_1 on AMD EPYC (2 cores), threads=2"
    std::string name;       ///< parts of the title that distinguish it from the other configurations:
                            ///< "NVIDIA L40S precision=int4"; empty if there are no others
    std::string model;      ///< "SmolLM2-135M q4_1"
    Labels labels;          ///< labels that set it apart from others of the same model and hardware
    std::string served;     ///< model without its number formats; fronts compare only equal ones
    std::string precision;  ///< number formats that quality depends on, in words; may be empty
    std::optional<Quality> quality;  ///< measured quality of the answers
    std::string price_basis;         ///< basis and date of the price; empty without a price
    std::string hardware;
    std::string workload;                ///< "512 in : 128 out, chat"
    std::string answer;                  ///< sentence at the top of the report
    std::vector<ReportPoint> points;     ///< closed loops before open loops, each by ascending load
    std::vector<LimitPoint> hard_limit;  ///< ascending batch; empty when unknown
    std::vector<LimitPoint>
        datasheet;  ///< hard limit by the datasheet; empty unless `hard_limit` uses micro's measurements
    std::vector<LimitPoint> size_aware;  ///< LimitKind::size_aware: with the fixed time of each read
    std::vector<LimitPoint> no_overlap;  ///< LimitKind::no_overlap: prefill and decoding one after the other
    std::vector<LimitPoint> reachable;   ///< limit with our own kernels; empty if none was measured
    std::vector<SourcedTerm> limit_terms;    ///< terms that the limit was computed from
    std::vector<std::string> dropped_terms;  ///< names of the limit's terms that are unknown
    std::vector<std::string> missing;        ///< what is missing in the report, and the flag that adds it
    std::vector<std::string> errors;         ///< errors such as a point above the hard limit
};

/// The cheapest run of a configuration that meets the limits.
struct Choice {
    std::size_t configuration = 0;  ///< index of the configuration in the model
    std::string load_label = {};    ///< load of the run; empty if no run meets the limits or is within them
    bool shown = false;             ///< whether the run is shown at 99 % to meet the limits
    std::optional<double> usd_per_m_output = {};
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> interactivity = {};
    std::vector<std::string> margins = {};  ///< "ttft_p95 48.1 ms of 800 ms", "served 19.8 of 20 req/s"
    std::string why_not = {};               ///< reason why no run can be chosen; empty if one is
    std::string within = {};  ///< a cheaper run that was measured within the limits: "c=64 at $0.161 is
                              ///< cheaper and …"; empty if there is none
    std::string missed = {};  ///< a cheaper run that misses a limit, with its figures; empty if there is none
    /// A configuration whose answers are certainly better, with its score: "weights=bf16 (80.0 % right)"; the
    /// first in the ranking if there are several, and empty if there is none.
    std::string worse_than = {};
    std::string command = {};       ///< command that measures the run again, or the one that `within` names
    std::string command_note = {};  ///< sentences on the command: what is new in it, and what it may show

    bool operator==(const Choice&) const = default;
};

struct ChoiceTable {
    std::vector<std::string> slos;    ///< limits as the user wrote them; empty if none were set
    std::vector<Choice> ranked = {};  ///< choices, the cheapest first, configurations without a choice last
    std::string slos_from = {};       ///< "the search in runs/slo"; empty unless the limits are of searches

    bool operator==(const ChoiceTable&) const = default;
};

/// A rate of requests that deployments must carry together.
struct AskedDemand {
    double requests_per_s = 0;
    double target_utilization = 1;  ///< share of what a deployment carries that may be used
    bool quality_equal = false;     ///< whether the user says that all configurations answer equally well

    bool operator==(const AskedDemand&) const = default;
};

/// The deployments of a configuration that carry the demand.
struct DemandRow {
    std::size_t configuration = 0;  ///< index of the configuration in the model
    std::string load_label = {};    ///< load of the run that one deployment carries
    double requests_per_s = 0;      ///< that one deployment carries within the limits
    /// of that rate in a closed loop; absent if the run was too short for an interval
    std::optional<Interval> requests_per_s_ci95 = {};
    bool shown = false;               ///< whether the run is shown at 99 % to meet the limits
    std::uint64_t replicas = 0;       ///< deployments
    std::uint64_t most_replicas = 0;  ///< deployments if one carries the lower end of the interval
    std::uint64_t machines = 0;       ///< GPUs, or machines without GPUs, of all of them
    double utilization = 0;           ///< demand ÷ what all of them carry
    bool queues = false;  ///< whether the run was a closed loop, in which no request waits for others
    std::optional<double> usd_per_month = {};
    std::string why_not = {};  ///< reason why no run can carry requests; empty if one can

    bool operator==(const DemandRow&) const = default;
};

struct DemandTable {
    AskedDemand asked;
    std::vector<DemandRow> ranked = {};  ///< the cheapest first, those without a run last

    bool operator==(const DemandTable&) const = default;
};

struct AxisLimit {
    std::string x;     ///< name of the axis: "ttft_p95"
    double value = 0;  ///< in the unit that the axis shows
    std::string text;  ///< "ttft_p95:800"

    bool operator==(const AxisLimit&) const = default;
};

/// The axes of the front, the limits on them, and the configurations that it does not compare.
struct FrontNote {
    std::string x;                      ///< name of the horizontal axis: "interactivity_p90"
    std::string y;                      ///< name of the vertical axis: "usd_per_m"
    std::vector<std::string> separate;  ///< sentences on what is not compared, or only with --anyway, and why
    bool anyway = false;                ///< whether they are compared nevertheless (--anyway)
    std::vector<AxisLimit> limits = {};
    bool over_time = false;  ///< whether the chart opens with the history of each load (--x date)

    bool operator==(const FrontNote&) const = default;
};

struct Estimate {
    std::size_t point = 0;  ///< index of the run in its configuration
    std::string load_label = {};
    double of_limit = 0;  ///< estimate ÷ hard limit of the imagined deployment, at most 1
    double output_tokens_per_s = 0;
    bool simulated = false;  ///< by simulated servers; else by the share of the limit that was reached
    bool keeps_up = true;    ///< whether the imagined deployment keeps up with the arrivals of an open loop
    std::optional<double> interactivity = {};
    std::optional<double> usd_per_m_output = {};

    bool operator==(const Estimate&) const = default;
};

/// Estimates for another deployment (what_if.h).
struct WhatIf {
    std::string asked;              ///< value of --what-if as the user wrote it
    std::size_t configuration = 0;  ///< index of the configuration that was measured
    std::string title;              ///< title of the imagined deployment: "llama-3.1-8b fp8 on 2 × NVIDIA
                                    ///< H100 SXM 80 GB"
    std::uint32_t gpus = 1;
    std::vector<Estimate> points = {};
    std::string why_not = {};  ///< reason why there are no estimates; empty if there are

    bool operator==(const WhatIf&) const = default;
};

/// The prices of an API in dollars per million tokens, compared with ours for the same mix of tokens.
struct ApiLine {
    std::string name;
    std::string as_of;  ///< date of the prices
    double input = 0;
    std::optional<double> cached = {};
    double output = 0;
    double usd_per_m_at_mix = 0;  ///< mean price over input, cached and output tokens of the chosen run
    /// The mean price with all fresh input kept in the API's cache; absent if not dearer.
    std::optional<double> usd_per_m_with_writes = {};
    /// Tokens per month above which the deployment is cheaper; absent if it cannot process them.
    std::optional<double> break_even_tokens_per_month = {};
    std::optional<JobCost> per_job = {};  ///< cost of a job of agents, if the chosen run has jobs

    bool operator==(const ApiLine&) const = default;
};

struct CostSheet {
    std::size_t configuration = 0;
    std::string load_label = {};
    double input_tokens = 0;  ///< mean input tokens of a request
    double output_tokens = 0;
    std::optional<double> hit = {};  ///< share of input tokens from a cache
    double usd_per_m_total = 0;      ///< price if input and output tokens cost the same
    double usd_per_month = 0;        ///< cost of the deployment in 720 hours, whether it is used or not
    double output_tokens_per_usd = 0;
    std::optional<double> target_usd_per_m = {};            ///< --target-usd-per-m, for output tokens
    std::optional<double> needed_output_tokens_per_s = {};  ///< rate at which the target is met
    std::vector<ApiLine> apis = {};

    bool operator==(const CostSheet&) const = default;
};

struct SearchPicture {
    std::string directory;  ///< directory of the sweep
    std::vector<std::string> slos;
    std::string text;                    ///< result in sentences
    std::string certify;                 ///< SweepSearch::certify
    std::string narrow;                  ///< command that continues the search; empty if none can help
    std::vector<Picture> pictures = {};  ///< one chart per limit: its percentile against load

    bool operator==(const SearchPicture&) const = default;
};

/// The course of a run: its series over time, ready to be drawn.
struct RunCourse {
    PointAt at;
    std::vector<Picture> pictures;

    bool operator==(const RunCourse&) const = default;
};

struct PriceNote {
    std::string card;  ///< name or path of the price card
    std::string as_of;
    std::string source;
    std::string basis;  ///< price basis: "on_demand"
    std::string power;  ///< source of the watts: "card", "measured by NVML"; empty if the rates include power
    std::string currency;
    std::vector<SourcedTerm> rates;  ///< dollars per hour that were applied
};

struct ReportModel {
    std::string title;
    std::string generated_at;  ///< time in UTC
    std::string version;
    std::vector<Configuration> configurations;
    FrontNote front;
    std::vector<SearchPicture> searches;
    std::vector<RunCourse> courses;     ///< of at most kMostCourses runs (reports/analysis/model/course.h)
    std::vector<CachePicture> caches;   ///< experiments on prefix caching
    ChoiceTable choice;                 ///< the cheapest configuration within the limits
    std::optional<DemandTable> demand;  ///< --demand
    std::string split_source;           ///< rule by which prices are split between input and output tokens
    std::optional<CostSheet> cost;
    std::optional<double> measurement_usd;  ///< cost of the time that all runs of this report took
    std::vector<WhatIf> what_ifs;           ///< --what-if
    std::vector<DevicePicture> devices;     ///< measured figures of the devices
    std::optional<PriceNote> price;
    std::vector<std::string> notes;  ///< further notes, such as which runs were left out, and why
    std::vector<Section> sections;   ///< sections of a page that another command than `report` made
};

}  // namespace paretoken::reports
