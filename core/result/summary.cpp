#include "core/result/summary.h"

#include <algorithm>
#include <cmath>

#include "core/radix_sort.h"
#include "core/record/client_delays.h"
#include "core/record/event_pass.h"
#include "core/result/figures.h"
#include "core/result/metric_summary.h"
#include "core/result/metrics.h"
#include "core/result/pooled.h"
#include "core/result/rates.h"
#include "core/result/rounds.h"
#include "core/result/streaming.h"
#include "core/result/window.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

void count_failure(const RequestRecord& record, Counts& counts) {
    const std::string name(name_of(record.outcome));
    ++counts.failed;
    ++counts.by_outcome[name];
    if (!record.error.empty()) counts.example_errors.emplace(name, record.error);
}

/// Returns whether the output tokens of a streamed answer are the number of its events, because the server
/// counted none, or its count cannot be true.
bool is_estimated(const RequestRecord& record, Facts unknown) {
    if (record.token_source == TokenSource::disputed) return true;
    return record.token_source == TokenSource::one_per_chunk && record.chunks > 0 &&
           !record.usage.completion && !unknown.overlaps({Fact::output_tokens});
}

void count_request(const RequestRecord& record, TimeSpan window, Facts unknown, Counts& counts) {
    if (record.outcome == Outcome::cancelled) {
        ++counts.cancelled;
        return;
    }
    ++counts.requests;
    counts.in_window += window.contains(record.scheduled) ? 1 : 0;
    counts.resent += record.resent ? 1 : 0;
    if (record.outcome == Outcome::ok) {
        ++counts.ok;
        counts.unstreamed += record.first_event || unknown.overlaps({Fact::first_event}) ? 0 : 1;
        counts.bunched += is_bunched(record) ? 1 : 0;
        counts.disputed += is_estimated(record, unknown) ? 1 : 0;
        counts.unseen_output += record.unseen_output ? 1 : 0;
        counts.uncounted_output += record.uncounted_output ? 1 : 0;
        counts.disputed_cache += record.disputed_cache ? 1 : 0;
        counts.no_finish_reason += record.finish_reason.empty() ? 1 : 0;
        if (!record.answered_model.empty()) ++counts.other_models[record.answered_model];
    } else if (record.outcome == Outcome::abandoned) {
        ++counts.abandoned;
    } else {
        count_failure(record, counts);
    }
}

Counts counts_of(const RequestRows& requests, TimeSpan window, Facts unknown) {
    Counts counts;
    requests.for_each([&](const RequestRecord& record) {
        if (record.warmup) {
            ++counts.warmup;
        } else {
            count_request(record, window, unknown, counts);
        }
    });
    if (counts.no_finish_reason == counts.ok) counts.no_finish_reason = 0;
    return counts;
}

/// Returns whether the streams show nothing of the decoding, because more than nine tenths of their events
/// came in one read with the event before, or of the answers after they had been computed.
bool hides_decoding(const Counts& counts, const RequestRows& requests) {
    constexpr double kMost = 0.9;
    double events = 0;
    double grouped = 0;
    requests.for_each([&](const RequestRecord& record) {
        if (record.outcome != Outcome::ok) return;
        events += static_cast<double>(record.chunks);
        grouped += static_cast<double>(record.grouped_chunks);
    });
    return grouped > kMost * events ||
           static_cast<double>(counts.bunched) > kMost * static_cast<double>(counts.ok);
}

/// Returns the median end-to-end time of successes, the natural unit of blocks of time; nothing without any.
/// It counts from the start of a request if the time of its sending is unknown.
std::optional<double> median_e2e(const RequestRows& requests) {
    std::vector<double> values;
    requests.for_each([&](const RequestRecord& request) {
        if (request.outcome != Outcome::ok || !request.last_event) return;
        values.push_back(seconds(*request.last_event - request.sent.value_or(request.started)));
    });
    if (values.empty()) return std::nullopt;
    radix_sort(values);
    return percentile(values, 0.5);
}

/// Returns the number of blocks of at least a quarter of a median request; 0 when too few fit.
std::size_t evidence_blocks(TimeSpan window, std::optional<double> median_e2e_s) {
    constexpr double kMost = 512;
    constexpr double kFewest = 20;
    if (!median_e2e_s) return 0;
    const double fitting =
        std::min(kMost, std::floor(seconds(window.length()) / std::max(*median_e2e_s / 4, 1e-9)));
    return fitting < kFewest ? 0 : static_cast<std::size_t>(fitting);
}

bool is_closed_loop(const SummaryOptions& options) {
    return !options.open_loop && options.concurrency;
}

/// Returns the memory of the whole load, including all classes and warm-up.
LoadMemory memory_of_load(const RequestTable& records, TimeSpan window, const SummaryOptions& options) {
    std::vector<Stay> stays;
    stays.reserve(records.size());
    for (const auto& record : records)
        stays.push_back(
            {.begin_s = seconds(record.scheduled - window.begin),
             .end_s = seconds(end_of(record) - window.begin),
             .waited_s = seconds(record.first_event.value_or(end_of(record)) - record.scheduled)});
    std::ranges::sort(stays, [](const auto& a, const auto& b) { return a.begin_s < b.begin_s; });
    return memory_of(stays, {0, seconds(window.length())}, is_closed_loop(options));
}

/// Returns whether a request waited for its first event from before the window until after it.
bool spans(const RequestRecord& record, TimeSpan window) {
    return !record.warmup && record.scheduled <= window.begin &&
           record.first_event.value_or(end_of(record)) >= window.end;
}

/// Returns the requests for the metrics of a window, in the order of their schedule: those that were
/// scheduled in it, and those that waited through all of it, if it is longer than ten median requests. Such a
/// request gets no answer while others are served, and a percentile without it would hide that.
RequestRows measured_in(const RequestRows& requests, TimeSpan window) {
    constexpr double kLong = 10;
    bool any_spans = false;
    const auto is_measured = [&](const RequestRecord& record) {
        return is_counted(record) && window.contains(record.scheduled);
    };
    auto measured = requests.filtered([&](const RequestRecord& record) {
        any_spans |= spans(record, window);
        return is_measured(record);
    });
    if (any_spans && seconds(window.length()) > kLong * median_e2e(measured).value_or(kInfinity))
        measured = requests.filtered(
            [&](const RequestRecord& record) { return is_measured(record) || spans(record, window); });
    measured.sort_by_schedule();
    return measured;
}

/// Returns how many of the measured requests waited through the window. They are the first ones, because
/// `measured` is sorted.
std::uint64_t starved_in(const RequestRows& measured, TimeSpan window) {
    const RequestTable& table = measured.table();
    std::uint64_t starved = 0;
    for (const std::uint32_t row : measured.rows()) {
        if (table.scheduled(row) > window.begin) break;
        starved += spans(table[row], window) ? 1 : 0;
    }
    return starved;
}

Window report_of(const SteadyWindow& window, TimeSpan run) {
    return {.begin_s = seconds(window.span.begin - run.begin),
            .end_s = seconds(window.span.end - run.begin),
            .run_s = seconds(run.length()),
            .steady = window.steady,
            .overloaded = window.overloaded,
            .how = window.how,
            .tests = window.tests};
}

/// The options of the passes over the events.
struct FoldOptions {
    TimeSpan run;
    SteadyWindow window;
    LoadMemory memory;
    const SummaryOptions& summary;
    std::vector<double> percentiles;
    Rounds rounds = {};  ///< of a closed loop
};

/// Returns the percentiles of every result and the further ones, ascending.
std::vector<double> with_further(const std::vector<double>& further) {
    std::vector<double> percentiles{kPercentiles.begin(), kPercentiles.end()};
    for (const double p : further) {
        const auto at = std::ranges::lower_bound(percentiles, p);
        if (at == percentiles.end() || *at != p) percentiles.insert(at, p);
    }
    return percentiles;
}

Figures known_of(Figures figures, Facts unknown) {
    std::erase_if(figures.values,
                  [&](const FigureValue& held) { return figure_named(held.key)->needs.overlaps(unknown); });
    return figures;
}

/// Folds the totals of a scope: for the window, in blocks of time if it is steady, and for the whole run.
class TotalsFold {
  public:
    TotalsFold(const FoldOptions& options, std::optional<double> median_e2e_s)
        : options_(options.summary),
          window_span_(options.window.span),
          rounds_(options.rounds.count),
          held_back_(options.window.span) {
        const std::size_t blocks = options.window.steady && median_e2e_s
                                       ? interval_blocks(window_span_, std::max(*median_e2e_s, 1e-9))
                                       : 0;
        if (rounds_ > 0) {
            auto edges = options.rounds.edges;
            edges.insert(edges.begin(), window_span_.begin);
            window_.emplace(std::move(edges));
        } else if (window_span_.length() > Duration{}) {
            window_.emplace(window_span_, std::max<std::size_t>(blocks, 1));
        }
        if (window_) good_.emplace(window_span_, 1);
        if (options.run.length() > Duration{}) run_.emplace(options.run, 1);
    }

    void add(const RequestRecord& record) {
        const Judgement judgement = judgement_of(record, options_, request_slos_);
        if (window_) window_->add(record, judgement);
        if (run_) run_->add(record, judgement);
        held_back_.add(record);
        if (good_ && judgement == Judgement::bad && may_be_good(record, options_, request_slos_))
            good_->add(record, Judgement::good);
    }

    void write_to(Scope& scope) const {
        if (window_) {
            scope.totals = window_->total();
            const std::span<const Totals> bins = window_->bins();
            const Blocks blocks = rounds_ > 0 ? Blocks{rounds_, bins.subspan(1)} : Blocks{bins.size(), bins};
            const ClientLoss loss{held_back_.share(options_.open_loop), good_->total()};
            scope.throughput = known_of(figures_of(scope.totals, blocks, loss), options_.unknown);
        }
        if (run_) {
            scope.whole_run_totals = run_->total();
            scope.whole_run = known_of(figures_of(scope.whole_run_totals), options_.unknown);
        }
    }

  private:
    const SummaryOptions& options_;
    TimeSpan window_span_;
    std::uint64_t rounds_;  ///< number of the window's rounds; the first bin is what lies before them
    RequestSlos request_slos_;
    HeldBackLoad held_back_;
    std::optional<TotalsTimeline> window_;
    std::optional<TotalsTimeline> good_;  ///< requests of the window that only the client may have made bad
    std::optional<TotalsTimeline> run_;
};

/// Folds the metrics of a scope that are pooled over events. Two metrics share one fold as long as all their
/// values are equal (gaps per token and gaps per chunk are equal if every chunk is a token).
class PooledFolds {
  public:
    explicit PooledFolds(const PooledOptions& options) {
        for (const Metric& metric : metrics()) {
            if (metric.pool == nullptr) continue;
            if (folds_.empty())
                folds_.push_back({{&metric}, PooledFold(options), {}});
            else
                folds_.front().metrics.push_back(&metric);
        }
    }

    void add(const RequestRecord& record) {
        if (record.warmup || record.outcome != Outcome::ok) return;
        for (std::size_t i = 0; i < folds_.size(); ++i) {  // part_from() adds folds
            folds_[i].values.clear();
            folds_[i].metrics.front()->pool(record, folds_[i].values);
            if (is_first_pass_) part_from(i, record);
            folds_[i].fold.add(folds_[i].values);
        }
    }

    /// Ends a pass. Returns whether any fold needs another.
    bool another_pass() {
        is_first_pass_ = false;
        bool more = false;
        for (Fold& fold : folds_) more = fold.fold.another_pass() || more;
        return more;
    }

    std::optional<MetricSummary> summary_of(const Metric& metric) const {
        for (const Fold& fold : folds_) {
            if (std::ranges::find(fold.metrics, &metric) == fold.metrics.end()) continue;
            auto summary = fold.fold.summary();
            if (summary) summary->key = key_of(metric);
            return summary;
        }
        return std::nullopt;
    }

  private:
    struct Fold {
        std::vector<const Metric*> metrics;
        PooledFold fold;
        std::vector<PooledValue> values;
    };

    /// Gives each metric of the fold `i` whose values in this record differ its own fold, which begins as a
    /// copy of the shared one.
    void part_from(std::size_t i, const RequestRecord& record) {
        for (std::size_t k = folds_[i].metrics.size() - 1; k > 0; --k) {
            values_.clear();
            folds_[i].metrics[k]->pool(record, values_);
            if (values_ == folds_[i].values) continue;
            folds_.push_back({{folds_[i].metrics[k]}, folds_[i].fold, {}});
            folds_[i].metrics.erase(folds_[i].metrics.begin() + static_cast<std::ptrdiff_t>(k));
        }
    }

    std::vector<Fold> folds_;
    std::vector<PooledValue> values_;
    bool is_first_pass_ = true;
};

/// Folds one scope: all requests, or those of one class, turn or target.
class ScopeFold {
  public:
    ScopeFold(const RequestRows& requests, const FoldOptions& options)
        : requests_(requests),
          options_(options),
          measured_(measured_in(requests, options.window.span)),
          median_e2e_s_(median_e2e(measured_)),
          totals_(options, median_e2e_s_),
          pooled_({.window = options.window.span,
                   .blocks = evidence_blocks(options.window.span, median_e2e_s_),
                   .steady = options.window.steady,
                   .memory = options.memory,
                   .late = options.summary.late_reading}) {}

    void add_first(const RequestRecord& record) {
        totals_.add(record);
        early_first_ += !record.warmup && record.outcome == Outcome::ok && begins_early(record) ? 1 : 0;
        pooled_.add(record);
    }
    void add_again(const RequestRecord& record) { pooled_.add(record); }
    bool another_pass() { return pooled_.another_pass(); }
    void add_without_events(const RequestRecord& record) {
        totals_.add(record);
        if (record.chunks > 0) ++without_events_;
    }

    Scope scope() const {
        Scope scope;
        const Facts unknown = options_.summary.unknown;
        scope.counts = counts_of(requests_, options_.window.span, unknown);
        scope.counts.without_events = without_events_;
        scope.counts.early_first = early_first_;
        scope.counts.starved = starved_in(measured_, options_.window.span);
        const MetricScope measured{measured_, options_.window.steady, options_.memory, options_.percentiles};
        auto summaries = summaries_of(measured);
        const bool unseen = hides_decoding(scope.counts, requests_);
        for (std::size_t i = 0; i < summaries.size(); ++i) {
            if ((unseen && metrics()[i].of_decoding) || metrics()[i].needs.overlaps(unknown)) continue;
            auto& held = summaries[i];
            if (metrics()[i].pool != nullptr) held = pooled_.summary_of(metrics()[i]);
            if (held) scope.metrics.push_back(std::move(*held));
        }
        totals_.write_to(scope);
        return scope;
    }

  private:
    RequestRows requests_;
    const FoldOptions& options_;
    RequestRows measured_;
    std::optional<double> median_e2e_s_;
    TotalsFold totals_;
    PooledFolds pooled_;
    std::uint64_t without_events_ = 0;
    std::uint64_t early_first_ = 0;
};

/// Returns the requests of each class; empty when none has a class.
std::map<std::string, RequestRows> rows_by_class(const RequestTable& requests) {
    std::map<std::string, std::vector<std::uint32_t>> rows;
    std::uint32_t row = 0;
    for (const RequestRecord& record : requests) {
        if (!record.request_class.empty()) rows[record.request_class].push_back(row);
        ++row;
    }
    std::map<std::string, RequestRows> by_class;
    for (auto& [name, own] : rows) by_class.emplace(name, RequestRows(requests, std::move(own)));
    return by_class;
}

/// Returns the requests by the number that `number_of(record)` gives; empty when it gives none.
template <class NumberOf>
std::vector<RequestRows> rows_by_number(const RequestTable& requests, NumberOf number_of) {
    std::vector<std::vector<std::uint32_t>> rows;
    std::uint32_t row = 0;
    for (const RequestRecord& record : requests) {
        if (const std::optional<std::uint32_t> number = number_of(record)) {
            if (rows.size() <= *number) rows.resize(*number + 1);
            rows[*number].push_back(row);
        }
        ++row;
    }
    std::vector<RequestRows> by_number;
    for (auto& own : rows) by_number.emplace_back(requests, std::move(own));
    return by_number;
}

/// Returns the turn of a request, if that turn has its own scope.
std::optional<std::uint32_t> turn_of(const RequestRecord& record) {
    if (!record.turn || record.turn->number >= kMostTurnScopes) return std::nullopt;
    return record.turn->number;
}
std::optional<std::uint32_t> target_of(const RequestRecord& record) {
    return record.target;
}

/// One fold for all requests, and one for each class, turn and target.
template <class Fold>
struct FoldsByScope {
    Fold all;
    std::map<std::string, Fold> classes = {};
    std::vector<Fold> turns = {};
    std::vector<Fold> targets = {};

    /// `fold_of(rows)` makes a fold.
    template <class FoldOf>
    FoldsByScope(const RequestTable& requests, FoldOf fold_of) : all(fold_of(RequestRows(requests))) {
        for (const auto& [name, own] : rows_by_class(requests)) classes.emplace(name, fold_of(own));
        for (const RequestRows& own : rows_by_number(requests, turn_of)) turns.push_back(fold_of(own));
        for (const RequestRows& own : rows_by_number(requests, target_of)) targets.push_back(fold_of(own));
    }

    /// Calls `visit(fold)` for the folds that the record belongs to.
    template <class Visit>
    void for_each_of(const RequestRecord& record, Visit visit) {
        visit(all);
        if (const auto turn = turn_of(record); turn && *turn < turns.size()) visit(turns[*turn]);
        if (record.target && *record.target < targets.size()) visit(targets[*record.target]);
        if (record.request_class.empty()) return;
        if (const auto own = classes.find(record.request_class); own != classes.end()) visit(own->second);
    }
};

/// Calls `with(record)` for each request with its events, and `without(record)` for the others.
template <class With, class Without>
void pass_over_all(const RequestTable& requests, const EventPass& events, With with, Without without) {
    const auto seen = events.for_each([&](std::size_t, const RequestRecord& record) { with(record); });
    RequestRecord record;
    for (std::size_t row = 0; row < requests.size(); ++row) {
        if (seen[row]) continue;
        requests.unpack(row, record);
        record.events.clear();
        without(static_cast<const RequestRecord&>(record));
    }
}

/// Folds all scopes of a run in up to four passes over the events. `visit(record)` is called for every
/// request, with its events if they are kept.
template <class Visit>
FoldsByScope<ScopeFold> folded_scopes(const RequestTable& requests, const EventSource& events,
                                      const FoldOptions& fold, Visit visit) {
    FoldsByScope<ScopeFold> folds(requests, [&](const RequestRows& rows) { return ScopeFold(rows, fold); });
    const EventPass pass(requests, events);
    pass_over_all(
        requests, pass,
        [&](const RequestRecord& record) {
            folds.for_each_of(record, [&](ScopeFold& own) { own.add_first(record); });
            visit(record);
        },
        [&](const RequestRecord& record) {
            folds.for_each_of(record, [&](ScopeFold& own) { own.add_without_events(record); });
            visit(record);
        });
    const auto another_pass = [&] {
        bool more = folds.all.another_pass();
        for (auto& [name, own] : folds.classes) more = own.another_pass() || more;
        for (ScopeFold& own : folds.turns) more = own.another_pass() || more;
        for (ScopeFold& own : folds.targets) more = own.another_pass() || more;
        return more;
    };
    while (another_pass())
        pass.for_each([&](std::size_t, const RequestRecord& record) {
            folds.for_each_of(record, [&](ScopeFold& own) { own.add_again(record); });
        });
    return folds;
}

}  // namespace

RunSummary summarize(const RequestTable& requests, const EventSource& events, const SummaryOptions& options) {
    RunSummary summary;
    const auto window = steady_window_of(requests, options);
    summary.run = run_of(requests);
    summary.window = window.span;
    summary.window_report = report_of(window, summary.run);
    FoldOptions fold{summary.run, window, memory_of_load(requests, window.span, options), options,
                     with_further(options.percentiles)};
    const RequestRows measured = measured_in(RequestRows(requests), window.span);
    if (is_closed_loop(options)) summary.window_report.in_step = in_step(measured, *options.concurrency);
    if (window.steady && is_closed_loop(options)) {
        fold.rounds = rounds_of(measured, window.span, *options.concurrency);
        fold.memory.rounds = fold.rounds.count;
        fold.memory.round_share = fold.rounds.share;
        fold.memory.round_samples = samples_of(fold.rounds);
        if (fold.rounds.count == 0) {
            const double needed_s = fold.memory.window_s *
                                    static_cast<double>(requests_for_rounds(fold.rounds.requests)) /
                                    static_cast<double>(measured.size());
            if (fold.rounds.requests > *options.concurrency) fold.memory.enough_s = needed_s;
            if (summary.window_report.in_step.value_or(0) >= kDependsOnRounds)
                fold.memory.decides_s = needed_s;
        }
    }
    const auto stretches = stretches_of(summary.run);
    std::optional<TotalsTimeline> course;
    if (stretches) course.emplace(stretches->span, stretches->count);
    const auto folds = folded_scopes(requests, events, fold, [&](const RequestRecord& record) {
        if (course) course->add(record);
    });

    static_cast<Scope&>(summary) = folds.all.scope();
    for (const auto& [name, own] : folds.classes) summary.classes.emplace(name, own.scope());
    for (const ScopeFold& own : folds.turns) summary.turns.push_back(own.scope());
    for (const ScopeFold& own : folds.targets) summary.targets.push_back(own.scope());
    if (course) summary.series = series_of(requests, summary.run, course->bins());
    std::erase_if(summary.series, [&](const Series& series) {
        const Figure* const figure = figure_named(series.name);
        return figure != nullptr && figure->needs.overlaps(options.unknown);
    });
    return summary;
}

RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options) {
    return summarize(RequestTable(records), KeptEvents(records), options);
}

std::vector<SloResult> percentile_verdicts(const RunResult& result, const RequestTable& requests,
                                           TimeSpan window, const std::vector<Slo>& slos, Facts unknown) {
    std::vector<SloResult> verdicts = slo_results(result, slos, unknown);
    if (slos.empty()) return verdicts;
    measured_in(RequestRows(requests), window).for_each([&](const RequestRecord& record) {
        count_over(verdicts, slos, result.open_loop(), record);
    });
    return verdicts;
}

}  // namespace paretoken
