#include "microbench/suite.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <regex.h>

#include <cmath>

#include "core/error.h"

namespace paretoken::microbench {
namespace {

/// A POSIX extended regular expression.
class Expression {
  public:
    explicit Expression(const std::string& text) {
        const int failed = regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB);
        if (failed == 0) return;
        char reason[128];
        regerror(failed, &compiled_, reason, sizeof reason);
        throw UsageError(fmt::format("'{}' is not a regular expression: {}", text, reason));
    }
    ~Expression() { regfree(&compiled_); }
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

    bool found_in(const std::string& text) const {
        return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
    }

  private:
    regex_t compiled_{};
};

void measure(benchmark::State& state, const Row& row, std::size_t& failed) {
    RowOutcome outcome;
    try {
        outcome = row.run();
    } catch (const NotAvailable& lack) {
        outcome.judgement.invalid_because = {lack.what()};
    } catch (const std::exception& error) {
        outcome.error = error.what();
    }
    if (outcome.error) {
        ++failed;
        state.SkipWithError(outcome.error->c_str());
        return;
    }
    for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(outcome.measurement.median_s);
    for (const auto& [name, value] : counters_of(outcome)) state.counters[name] = value;
    state.SetLabel(outcome.judgement.label());
}

}  // namespace

std::vector<Row> matching(std::vector<Row> rows, const std::string& filter) {
    if (filter.empty() || filter == "all") return rows;
    const bool inverted = filter.front() == '-';
    const Expression expression(inverted ? filter.substr(1) : filter);
    std::erase_if(rows, [&](const Row& row) { return expression.found_in(row.name) == inverted; });
    return rows;
}

void register_rows(const std::vector<Row>& rows, std::size_t& failed) {
    for (const Row& row : rows) {
        benchmark::RegisterBenchmark(row.name.c_str(),
                                     [row, &failed](benchmark::State& state) { measure(state, row, failed); })
            ->Iterations(1)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
}

std::vector<std::pair<std::string, double>> counters_of(const RowOutcome& outcome) {
    const Measurement& m = outcome.measurement;
    std::vector<std::pair<std::string, double>> counters;
    const auto add = [&](const char* name, std::optional<double> value) {
        if (value && std::isfinite(*value)) counters.emplace_back(name, *value);
    };
    add("bytes_per_second", m.bytes_per_second);
    add("bytes_per_second_best", m.bytes_per_second_best);
    add("flops_per_second", m.flops_per_second);
    add("of_ceiling", m.of_ceiling);
    add("of_ceiling_p25", m.of_ceiling_p25);
    add("of_ceiling_p75", m.of_ceiling_p75);
    add("ceiling_drift", m.ceiling_drift);
    if (m.median_s > 0) {  // if 0, it was only checked, or could not be measured here
        add("median_s", m.median_s);
        add("p10_s", m.p10_s);
        add("p25_s", m.p25_s);
        add("p75_s", m.p75_s);
        add("p90_s", m.p90_s);
        add("cv", m.cv);
        add("n", static_cast<double>(m.n));
    }
    add("valid", outcome.judgement.valid() ? 1 : 0);
    for (const auto& [name, value] : outcome.counters) add(name.c_str(), value);
    return counters;
}

}  // namespace paretoken::microbench
