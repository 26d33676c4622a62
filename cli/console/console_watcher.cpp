#include "cli/console/console_watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/console/print.h"
#include "core/result/slo.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/document/table.h"

namespace paretoken::cli {

std::optional<double> time_left(double measured_s, std::size_t measured, std::size_t left) {
    if (measured == 0) return std::nullopt;
    return measured_s / static_cast<double>(measured) * static_cast<double>(left);
}

std::string point_text(const reports::SweepPoint& point, const std::filesystem::path& directory) {
    if (point.state == reports::PointState::failed)
        return fmt::format("{}: failed: {}; {}", point.load_label, reports::printable(point.error, 500),
                           directory.string());
    const auto times = [](const std::optional<double>& p50, const std::optional<double>& p99) {
        constexpr double kMilliseconds = 1e3;
        return fmt::format("{} (p99 {}) ms", reports::significant(p50, kMilliseconds),
                           reports::significant(p99, kMilliseconds));
    };
    std::string text = fmt::format(
        "{}: {} tok/s, TTFT {}, ITL {}", point.load_label, reports::significant(point.output_tokens_per_s),
        times(point.ttft_p50_s, point.ttft_p99_s), times(point.itl_p50_s, point.itl_p99_s));
    if (point.failed > 0)
        text += fmt::format(
            ", {} of {} failed{}", point.failed, point.requests,
            point.failures.empty() ? "" : fmt::format(" ({})", reports::printable(point.failures, 400)));
    if (point.slo) text += fmt::format(", SLO {}", name_of(*point.slo));
    if (point.note.empty()) return text;
    return fmt::format("{}; {}: {}; {}", text, name_of(point.verdict.value_or(Verdict::warn)),
                       reports::printable(point.note, 300), directory.string());
}

ConsoleWatcher::ConsoleWatcher(InterruptWatch& interrupt, bool quiet) : interrupt_(interrupt), quiet_(quiet) {
    interrupt_.print_by([this](std::string_view text) { say(text); });
}

ConsoleWatcher::~ConsoleWatcher() {
    interrupt_.print_by({});
}

void ConsoleWatcher::say(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (panel_) return panel_->say(text);
    print(stderr, "{}", text);
    std::fflush(stderr);
}

void ConsoleWatcher::warn(const std::string& text) {
    say(fmt::format("paretoken: warning: {}\n", text));
}

void ConsoleWatcher::wait(const std::string& text) {
    if (!quiet_) say(text + "\n");
}

void ConsoleWatcher::load_begins(const std::string& label, const loadgen::Progress& progress,
                                 const loadgen::Limits& limits) {
    const std::lock_guard lock(mutex_);
    if (!quiet_) panel_.emplace(label, place_, progress, limits);
}

void ConsoleWatcher::load_ends() {
    const std::lock_guard lock(mutex_);
    panel_.reset();
}

void ConsoleWatcher::point_begins(std::size_t number, std::size_t points, const std::string& label,
                                  bool already_measured) {
    if (quiet_) return;
    if (already_measured) ++skipped_;
    // Points may be measured at the same time, so the time of all counts, not that of each.
    const double passed_s = first_began_ ? seconds(Clock::now() - *first_began_) : 0;
    const std::size_t ended = std::min(points, skipped_ + measured_);
    const auto left_s = points > 0 ? time_left(passed_s, measured_, points - ended) : std::nullopt;
    place_ = {.text = points > 0 ? fmt::format("{}/{}", number, points) : fmt::format("{}", number)};
    if (left_s) place_.ends_at = Clock::now() + from_seconds(*left_s);
    say(fmt::format("[{}] {}{}{}\n", place_.text, label, already_measured ? ": already measured" : "",
                    already_measured || !left_s ? "" : fmt::format(" (about {} left)", clock_text(*left_s))));
    if (!already_measured && !first_began_) first_began_ = Clock::now();
}

void ConsoleWatcher::point_ends(const reports::SweepPoint& point, const std::filesystem::path& directory) {
    ++measured_;
    if (!quiet_) say(reports::paragraph(point_text(point, directory), 2));
}

void ConsoleWatcher::point_lengthened(const std::string& label, std::uint64_t requests, std::uint64_t asked) {
    if (quiet_) return;
    say(fmt::format(
        "  {}: {} requests instead of --num-prompts {}, which is below the concurrency of this level\n",
        label, requests, asked));
}

}  // namespace paretoken::cli
