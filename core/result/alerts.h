#pragma once
// Alerts: conditions on metrics of a server and its answers over time. A rule compares a series (a gauge, a
// rate, a ratio, or a percentile of the requests) with a threshold, and fires when its condition has held for
// `held_for` without a break. One table has the default alerts.
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
    gauge,       ///< gauge of the server
    ratio,       ///< ratio of two counters of the server
    rate,        ///< growth per second of a server's counter; if there is none, the figure that has the
                 ///< series' name (core/result/figures.h) and is computed from the requests
    percentile,  ///< percentile over requests; TTFT and E2E of an open loop are from the intended start
    failures,    ///< share of the requests that failed
};

struct AlertSeries {
    std::string_view name;  ///< "ttft_p95"
    std::string_view unit;  ///< "s", "ratio", "requests", "1/s"
    AlertSource source = AlertSource::gauge;
    /// The key in ServerFigures (core/result/result.h) of the gauge, of the counter, or of a ratio's
    /// numerator; for a percentile, the tag of the metric (core/result/metrics.h).
    std::string_view key;
    std::string_view below = {};  ///< for a ratio: its denominator
    double p = 0;                 ///< for a percentile: its level
};
std::span<const AlertSeries> alert_series();
const AlertSeries* alert_series_named(std::string_view name);  ///< null when there is none
std::string known_alert_series();                              ///< names, with commas between them

// ---- rules

enum class AlertComparison : std::uint8_t {
    above,
    below,
    above_baseline_times,  ///< above the baseline's value times the threshold
    below_baseline_by,     ///< below the baseline's value by more than the threshold
    risen_by,  ///< above an earlier value (`over` ago) by more than the threshold, as share of that value
};
std::string_view name_of(AlertComparison comparison);
std::optional<AlertComparison> alert_comparison_named(std::string_view name);
bool needs_baseline(AlertComparison comparison);

struct AlertRule {
    std::string name;    ///< lower-case letters, digits and underscores
    std::string series;  ///< one of alert_series()
    AlertComparison comparison = AlertComparison::above;
    double threshold = 0;
    Duration held_for{};  ///< time for which the condition must hold before the alert fires
    Duration over{};      ///< only for risen_by: how long ago the earlier value was
    AlertSeverity severity = AlertSeverity::warn;

    bool operator==(const AlertRule&) const = default;
};

/// Returns the table of default alerts, used if no other is given.
std::vector<AlertRule> default_alerts();

/// Returns the value that the series is compared with, in its unit. `baseline` is its value in earlier runs,
/// `before` its value `rule.over` ago. Nothing if the rule needs one of the two and it is absent.
std::optional<double> threshold_of(const AlertRule& rule, std::optional<double> baseline,
                                   std::optional<double> before = {});

/// Returns "4h", "2m", "90s" or "500ms": the largest of these units that needs no fraction. Parts of a
/// millisecond are dropped. Rule files of Prometheus accept the text.
std::string span_text(Duration duration);

/// Returns "kv_usage above 0.9 for 2m".
std::string text_of(const AlertRule& rule);

// ---- judging

/// The values of a set of earlier runs, by series name.
using AlertBaseline = std::map<std::string, double, std::less<>>;

/// Returns the median over the runs of each series, over its finite values. A series without any is left out.
AlertBaseline alert_baseline_of(std::span<const RunResult> runs);

/// Returns the value of a series over the window of a run; the share of failures is over the whole run. It is
/// infinity for a percentile that falls among failures, and nothing when the series was not measured.
std::optional<double> alert_value_of(const RunResult& run, const AlertSeries& series);

/// Follows one rule through time. Its memory is bounded for any length of time.
class AlertJudge {
  public:
    AlertJudge(AlertRule rule, std::optional<double> baseline);

    /// Adds a value at a time that is not before the last one's.
    void add(double at_s, double value);

    const AlertRule& rule() const { return rule_; }
    AlertState state() const { return state_; }  ///< current state
    bool has_fired() const { return fired_at_s_.has_value(); }

    /// Returns the result over all values: `firing` if it fired at any time, else the current state.
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
    std::deque<Point> history_;  ///< for risen_by: thinned values of the last `over`
    AlertState state_ = AlertState::unknown;
    std::optional<double> last_;
    std::optional<double> threshold_;
    std::optional<double> since_s_;     ///< when the condition began to hold
    std::optional<double> fired_at_s_;  ///< first time of firing
    std::optional<double> worst_;       ///< worst value while it fired
    std::optional<double> worst_threshold_;
};

/// Adds a finished run's values of the judge's series: all readings of a gauge, each at its time, or else
/// alert_value_of() at the begin and the end of `window`, so that a rule can fire if `held_for` is at most
/// its length. `begin_s`: the run's start on the judge's clock; the window begins and ends relative to it.
void add_run(AlertJudge& judge, const RunResult& run, const Window& window, double begin_s);

std::vector<AlertResult> judged_alerts(const RunResult& run, std::span<const AlertRule> rules,
                                       const AlertBaseline& baseline);

/// Returns "kv_cache_full: kv_usage is 95 % (threshold 90 %) since 12 s", with the state if it is not firing.
std::string text_of(const AlertResult& alert);

}  // namespace paretoken
