#pragma once
// Alerts: conditions on what a server and its answers do over time, in one table. A run, a watch and the
// rules that are exported for other programs all come from it. Pure.
//
// A rule compares a series (a gauge of the server, a rate, a ratio, or a percentile of the requests) with a
// threshold. It fires when its condition has held for `held_for` without a break.
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"
#include "core/units.h"

namespace paretoken {

std::string_view name_of(AlertState state);
std::optional<AlertState> alert_state_named(std::string_view name);
std::string_view name_of(AlertSeverity severity);
std::optional<AlertSeverity> alert_severity_named(std::string_view name);

// ---- series

enum class AlertSource : std::uint8_t {
    gauge,       ///< of the server
    ratio,       ///< of two counters of the server
    rate,        ///< growth of a counter of the server per second
    percentile,  ///< of the requests; in an open loop from the intended start
    failures,    ///< share of the requests
};

struct AlertSeries {
    std::string_view name;  ///< "ttft_p95"
    std::string_view unit;  ///< "s", "ratio", "requests", "1/s"
    AlertSource source = AlertSource::gauge;
    /// The key in ServerFigures of the gauge, of the counter, or of a ratio's numerator; for a percentile,
    /// the metric's tag.
    std::string_view key;
    std::string_view below = {};  ///< of a ratio: its lower counter
    double p = 0;                 ///< of a percentile
};
std::span<const AlertSeries> alert_series();
const AlertSeries* alert_series_named(std::string_view name);  ///< null when there is none
std::string known_alert_series();                              ///< their names, with commas between them

// ---- rules

enum class AlertComparison : std::uint8_t {
    above,
    below,
    above_baseline_times,  ///< above the baseline's value times the threshold
    below_baseline_by,     ///< below the baseline's value by more than the threshold
    risen_by,              ///< above the value of `over` ago by more than the threshold as a share of it
};
std::string_view name_of(AlertComparison comparison);
std::optional<AlertComparison> alert_comparison_named(std::string_view name);
bool needs_baseline(AlertComparison comparison);

struct AlertRule {
    std::string name;    ///< lower-case letters, digits and underscores
    std::string series;  ///< one of alert_series()
    AlertComparison comparison = AlertComparison::above;
    double threshold = 0;
    Duration held_for{};
    Duration over{};  ///< of risen_by
    AlertSeverity severity = AlertSeverity::warn;

    bool operator==(const AlertRule&) const = default;
};

/// THE table of alerts where no other is given.
std::vector<AlertRule> default_alerts();

/// The threshold that a value is compared with; nothing when the rule needs a baseline and there is none.
std::optional<double> threshold_of(const AlertRule& rule, std::optional<double> baseline,
                                   std::optional<double> before = {});

/// "2m", "4h", "90s": in the largest unit that needs no fraction, as rule files of Prometheus take it, too.
std::string span_text(Duration duration);

/// "kv_usage above 0.9 for 2m"
std::string text_of(const AlertRule& rule);

// ---- judging

/// By series name: what a set of earlier runs came to.
using AlertBaseline = std::map<std::string, double, std::less<>>;

/// The median over the runs, of every series that one of them has.
AlertBaseline alert_baseline_of(std::span<const RunResult> runs);

/// The value of a series over the window of a run. Infinity for a percentile that falls among failures;
/// nothing when the series was not measured.
std::optional<double> alert_value_of(const RunResult& run, const AlertSeries& series);

/// Follows one rule through time. Memory is bounded however long it goes on.
class AlertJudge {
  public:
    AlertJudge(AlertRule rule, std::optional<double> baseline);

    /// A value at a time that is not before the last one's.
    void add(double at_s, double value);

    const AlertRule& rule() const { return rule_; }
    AlertState state() const { return state_; }  ///< now
    bool has_fired() const { return fired_at_s_.has_value(); }
    std::optional<double> last_value() const { return last_; }

    /// Over all that was added: firing when it fired at any time.
    AlertResult result() const;

  private:
    struct Point {
        double at_s = 0;
        double value = 0;
    };
    std::optional<double> value_before(double at_s);
    bool holds(double value, double threshold) const;

    AlertRule rule_;
    std::optional<double> baseline_;
    std::deque<Point> history_;  ///< of risen_by: the last `over`, thinned
    AlertState state_ = AlertState::unknown;
    std::optional<double> last_;
    std::optional<double> threshold_;
    std::optional<double> since_s_;     ///< when the condition began to hold
    std::optional<double> fired_at_s_;  ///< the first time
    std::optional<double> worst_;       ///< while it fired
    std::optional<double> worst_threshold_;
};

/// Adds what a finished run says of the judge's series: gauges reading by reading, all else as one value over
/// the window. `begin_s`: the run's start on the judge's clock.
void add_run(AlertJudge& judge, const RunResult& run, double begin_s);

/// Every rule over one run.
std::vector<AlertResult> judged_alerts(const RunResult& run, std::span<const AlertRule> rules,
                                       const AlertBaseline& baseline);

/// "kv_usage was 0.95, above 0.9, from 12 s on", for one that is firing or pending.
std::string text_of(const AlertResult& alert);

}  // namespace paretoken
