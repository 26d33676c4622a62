#pragma once
// Everything a report shows, computed before anything is drawn: join.cpp makes it, html/markdown/json draw
// it. Dollars, seconds, tokens; absent means "not known", and `missing` says which flag would add it.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "reports/cache/analysis.h"
#include "reports/micro/micro_picture.h"

namespace paretoken::reports {

/// A number with where it came from ("measured", "datasheet", "profile", "model card").
struct SourcedTerm {
    std::string name;  ///< "weight bandwidth"
    double value = 0;
    std::string unit;    ///< "GB/s"
    std::string source;  ///< "measured by micro on AMD EPYC, 2026-11-21"

    bool operator==(const SourcedTerm&) const = default;
};

/// Cost of one point, at the card's price with the utilisation and availability it states.
struct PointCost {
    double usd_per_m_output = 0;         ///< all cost on output tokens
    double usd_per_h = 0;                ///< of the whole deployment, used or not
    std::string power = {};              ///< "card", or "measured by NVML"; empty: the rate holds the power
    std::optional<double> power_w = {};  ///< that was priced, of the whole deployment at the plug
    std::optional<Interval> usd_per_m_output_ci95;  ///< from throughput's interval, inverted
    std::optional<Interval> price_band;             ///< the same point at the card's low and high price
    std::optional<double> usd_per_m_total;          ///< input and output alike
    std::optional<double> usd_per_m_input_split;    ///< budget-balanced: Σ price × rate is the cost
    std::optional<double> usd_per_m_cached_split = {};
    std::optional<double> usd_per_m_output_split;
    std::optional<double> usd_per_m_goodput;  ///< only tokens of requests that met every SLO

    bool operator==(const PointCost&) const = default;
};

/// One part of where a step's time goes.
struct GapPart {
    std::string name;               ///< "prefill interference"
    std::optional<double> ms = {};  ///< per step; nothing: unattributed, because nothing was measured for it
    std::optional<double> usd_per_m = {};
    std::string source = {};
    std::string remedy = {};  ///< what helps; empty: nothing does

    bool operator==(const GapPart&) const = default;
};

/// From what the hardware could do to what was measured; the parts sum to the step.
struct Gap {
    double step_ms = 0;  ///< requests in flight × tokens per pass ÷ output tokens per second
    double in_flight = 0;
    double tokens_per_pass = 1;
    std::optional<double> usd_per_m_output = {};
    std::vector<GapPart> parts = {};
    std::string first_to_fix = {};  ///< the largest part with a remedy and what it would move, a sentence

    bool operator==(const Gap&) const = default;
};

/// Shares of the hardware's peaks that a run used. The peaks are the datasheet's where there is one, else
/// what micro measured, else a simulated server's own.
struct Utilisation {
    std::optional<double> mfu = {};  ///< arithmetic that the delivered tokens need ÷ peak
    std::optional<double> mbu = {};  ///< bytes of weights and KV cache that decoding steps read ÷ peak
    std::string mfu_source = {};     ///< of the peak
    std::string mbu_source = {};

    bool operator==(const Utilisation&) const = default;
};

/// A run among those of its own configuration or of another one.
struct PointAt {
    std::size_t configuration = 0;
    std::size_t point = 0;

    bool operator==(const PointAt&) const = default;
};

/// A point's place among all others for one pair of axes.
struct FrontPlace {
    bool on_front = false;
    bool within_noise = false;            ///< dominated, but its interval reaches the front
    std::optional<PointAt> dominated_by;  ///< nothing: on the front, or unfit for it

    bool operator==(const FrontPlace&) const = default;
};

/// How well a configuration answers: a share of right answers.
struct Quality {
    double score = 0;
    double n = 0;
    Interval ci95;
    std::string source;
    std::string probe = {};  ///< which questions the run was asked; empty: the score is from --quality

    bool operator==(const Quality&) const = default;
};

/// One run.
struct ReportPoint {
    std::string directory;
    std::string load_label;  ///< "c=16" or "4 req/s"
    double load = 0;
    bool open_loop = false;
    RunResult result;

    std::optional<double> interactivity;  ///< tok/s per user: 1 / p90 of normalised latency; the x axis
    bool certified = false;               ///< that percentile has enough samples
    std::optional<double> output_tokens_per_s;
    std::optional<PointCost> cost;

    std::optional<double> limit_output_tokens_per_s;  ///< hard limit at this point's load
    std::optional<double> limit_interactivity;
    std::optional<double> of_limit;         ///< measured ÷ hard limit of output tokens/s at the same load
    std::optional<double> limit_tolerance;  ///< how far above 1 that may be: edges of the window
    std::optional<Gap> gap;                 ///< where its step's time goes
    std::optional<Utilisation> utilisation = {};
    bool reached = true;    ///< as many requests were there as the load has in flight; else no chart draws it
    bool on_front = false;  ///< over all configurations that may be held against each other
    bool within_noise = false;  ///< dominated, but its interval reaches the front
    bool on_own_front = false;  ///< among the points of its own configuration
    std::string why_not;  ///< "dominated by c=8 on NVIDIA L40S", "invalid: loop_lag", "no output tokens"
    std::vector<FrontPlace> places;  ///< its place for every pair of axes, as front_axes() orders them
};

/// One point of the limit curve at batch `batch`.
struct LimitPoint {
    double batch = 1;
    double interactivity = 0;        ///< tok/s per user
    double output_tokens_per_s = 0;  ///< of the whole deployment
    std::optional<double> usd_per_m_output;

    bool operator==(const LimitPoint&) const = default;
};

using Labels = std::map<std::string, std::string>;  ///< name → value

/// Runs of one (model, labels, workload, hardware, price basis).
struct Configuration {
    std::string title;      ///< "SmolLM2-135M q4_1 on AMD EPYC (2 cores), threads=2"
    std::string name;       ///< the shortest that tells it from the others: "NVIDIA L40S precision=int4"
    std::string model;      ///< "SmolLM2-135M q4_1"
    Labels labels;          ///< those that set it apart from others of this model and hardware
    std::string served;     ///< the model without its number formats: what fronts are of
    std::string precision;  ///< number formats that quality depends on, in words; may be empty
    std::optional<Quality> quality;  ///< --quality
    std::string price_basis;         ///< empty without a price
    std::string hardware;
    std::string workload;                ///< "512 in : 128 out, chat"
    std::string answer;                  ///< the sentence at the top
    std::vector<ReportPoint> points;     ///< ascending load
    std::vector<LimitPoint> hard_limit;  ///< ascending batch; empty when unknown
    std::vector<LimitPoint> datasheet;   ///< the hard limit by the datasheet, where `hard_limit` is measured
    std::vector<LimitPoint> size_aware;  ///< the same with what a read of a matrix's size costs
    std::vector<LimitPoint> no_overlap;  ///< the reference without overlap of prefill and decode
    std::vector<LimitPoint> reachable;   ///< with our own kernels; empty where none was measured
    std::vector<SourcedTerm> limit_terms;    ///< what the limit was computed from
    std::vector<std::string> dropped_terms;  ///< terms of the limit that nothing was known for, by name
    std::vector<std::string> missing;        ///< what the reader lacks and the flag that adds it
    std::vector<std::string> errors;         ///< e.g. a point above the hard limit
};

/// The cheapest run of a configuration that meets the limits.
struct Choice {
    std::size_t configuration = 0;  ///< its place in the model
    std::string load_label = {};    ///< of the run; empty when none meets the limits
    std::optional<double> usd_per_m_output = {};
    std::optional<double> output_tokens_per_s = {};
    std::optional<double> interactivity = {};
    std::vector<std::string> margins = {};  ///< "ttft_p95 48.1 ms of 800 ms", one per limit
    std::string why_not = {};               ///< why no run can be chosen
    std::string undecided = {};  ///< "c=64 at $0.161 would be cheaper, …": a run that may meet the limits
    std::string command = {};    ///< that measures the run again

    bool operator==(const Choice&) const = default;
};

struct ChoiceTable {
    std::vector<std::string> slos;  ///< the limits as the user wrote them; empty: none were set
    std::vector<Choice> ranked;     ///< the cheapest first, those that cannot last

    bool operator==(const ChoiceTable&) const = default;
};

/// What the front is of, and between which configurations it was drawn.
struct FrontNote {
    std::string x;                      ///< name of the axis: "interactivity_p90"
    std::string y;                      ///< "usd_per_m"
    std::vector<std::string> separate;  ///< which configurations are not held against each other, and why
    bool anyway = false;                ///< --anyway: held against each other all the same
    bool over_time = false;             ///< --x date: the chart opens with the history of each load

    bool operator==(const FrontNote&) const = default;
};

/// What a run would come to elsewhere.
struct Estimate {
    std::size_t point = 0;  ///< the run, in its configuration
    std::string load_label = {};
    double of_limit = 0;  ///< the share of the limit that the run reached where it was measured
    double output_tokens_per_s = 0;
    std::optional<double> interactivity = {};
    std::optional<double> usd_per_m_output = {};

    bool operator==(const Estimate&) const = default;
};

/// A configuration on other hardware, in other number formats or with other cache hits: the limit there ×
/// the share of the limit that its runs reached here. Estimates are on no front.
struct WhatIf {
    std::string asked;              ///< as the user wrote it
    std::size_t configuration = 0;  ///< the one that was measured
    std::string title;              ///< what it would be: "llama-3.1-8b fp8 on 2 × NVIDIA H100 SXM 80 GB"
    std::uint32_t gpus = 1;
    std::vector<Estimate> points = {};
    std::string why_not = {};  ///< why there are none

    bool operator==(const WhatIf&) const = default;
};

/// An API's prices beside ours at the same mix.
struct ApiLine {
    std::string name;
    std::string as_of;
    double input = 0;
    std::optional<double> cached = {};
    double output = 0;
    double usd_per_m_at_mix = 0;
    std::optional<double> break_even_tokens_per_month =
        {};  ///< above it the deployment is cheaper; nothing: it cannot make as many

    bool operator==(const ApiLine&) const = default;
};

/// What the chosen run of the first configuration comes to.
struct CostSheet {
    std::size_t configuration = 0;
    std::string load_label = {};
    double input_tokens = 0;  ///< of a request, mean
    double output_tokens = 0;
    std::optional<double> hit = {};  ///< share of input tokens from a cache
    double usd_per_m_total = 0;
    double usd_per_month = 0;  ///< of the deployment, used or not
    double output_tokens_per_usd = 0;
    std::optional<double> target_usd_per_m = {};
    std::optional<double> needed_output_tokens_per_s = {};
    std::vector<ApiLine> apis = {};

    bool operator==(const CostSheet&) const = default;
};

/// A search for the highest load that meets limits, ready to be drawn.
struct SearchPicture {
    std::string directory;  ///< of the sweep
    std::vector<std::string> slos;
    std::string text;               ///< what was found, in sentences
    std::string narrow;             ///< the command that narrows the bracket; empty: none can
    std::vector<Picture> pictures;  ///< one per limit: its percentile against load

    bool operator==(const SearchPicture&) const = default;
};

/// How a run went: its series over time, ready to be drawn.
struct RunCourse {
    PointAt at;
    std::vector<Picture> pictures;

    bool operator==(const RunCourse&) const = default;
};

/// An experiment on prefix caching, ready to be drawn.
struct CachePicture {
    std::string directory;
    CacheReport report;
    std::vector<std::vector<Picture>> levels;  ///< of each level of the report: its charts
    std::vector<Picture> pictures;             ///< of the cache as a whole

    bool operator==(const CachePicture&) const = default;
};

struct PriceNote {
    std::string card;  ///< name or path
    std::string as_of;
    std::string source;
    std::string basis;  ///< "on_demand"
    std::string power;  ///< whose watts: "card", "measured by NVML"; empty: the rates hold the power
    std::string currency;
    std::vector<SourcedTerm> rates;  ///< dollars per hour that were applied
};

struct ReportModel {
    std::string title;
    std::string generated_at;  ///< UTC
    std::string version;
    std::vector<Configuration> configurations;
    FrontNote front;
    std::vector<SearchPicture> searches;
    std::vector<RunCourse> courses;    ///< of the runs that a page shows them of
    std::vector<CachePicture> caches;  ///< experiments on prefix caching
    ChoiceTable choice;                ///< the cheapest configuration within the limits
    std::string split_source;          ///< where the split of prices between input and output comes from
    std::optional<CostSheet> cost;
    std::optional<double> measurement_usd;  ///< what the runs of this report cost
    std::vector<WhatIf> what_ifs;           ///< --what-if
    std::vector<DevicePicture> devices;     ///< what the hardware can do, as far as it was measured
    std::optional<PriceNote> price;
    std::vector<std::string> notes;  ///< e.g. runs that were found and left out, and why
};

}  // namespace paretoken::reports
