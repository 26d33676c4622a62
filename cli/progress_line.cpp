#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace paretoken::cli {
namespace {

constexpr Duration kRedraw = std::chrono::milliseconds(250);
constexpr Duration kPlainLine = std::chrono::seconds(10);

/// Returns the share of the run that is done, by the limit that is nearer.
std::optional<double> share_done(const loadgen::Progress& progress, const loadgen::Limits& limits,
                                 Duration measured) {
    std::optional<double> share;
    if (limits.requests && *limits.requests > 0) {
        share = static_cast<double>(progress.conversations.load()) / static_cast<double>(*limits.requests);
    }
    if (limits.duration) share = std::max(share.value_or(0), seconds(measured) / seconds(*limits.duration));
    if (share) share = std::min(*share, 1.0);
    return share;
}

/// The requests that have ended, out of all. The limit counts conversations, so that those of several turns
/// are named beside it.
std::string ended_text(const loadgen::Progress& progress, const loadgen::Limits& limits) {
    const auto finished = progress.finished.load();
    const auto conversations = progress.conversations.load();
    if (!limits.requests) return fmt::format("{} requests", finished);
    if (conversations >= finished) return fmt::format("{}/{} requests", finished, *limits.requests);
    return fmt::format("{} requests  {}/{} conversations", finished, conversations, *limits.requests);
}

/// Whether standard error is a terminal that understands control codes.
bool can_redraw() {
    const char* terminal = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

std::string clock_text(double s) {
    const auto whole = static_cast<long>(s + 0.5);
    return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                        : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string progress_text(const std::string& label, const loadgen::Progress& progress,
                          const loadgen::Limits& limits, Duration elapsed, Duration measured) {
    const double s = std::max(seconds(measured), 1e-3);
    std::string text = fmt::format("{}  {}", label, clock_text(seconds(elapsed)));
    if (progress.warming_up.load()) return text + "  warming up";
    text += fmt::format("  {}  {} in flight  {:.0f} tok/s", ended_text(progress, limits),
                        progress.in_flight.load(), static_cast<double>(progress.output_tokens.load()) / s);
    if (const auto failed = progress.failed.load(); failed > 0) text += fmt::format("  {} failed", failed);
    if (const auto share = share_done(progress, limits, measured); share && *share > 0.02) {
        text += fmt::format("  ETA {}", clock_text(s * (1 - *share) / *share));
    }
    return text;
}

ProgressLine::ProgressLine(std::string label, const loadgen::Progress& progress,
                           const loadgen::Limits& limits)
    : label_(std::move(label)), progress_(progress), limits_(limits), began_(Clock::now()) {
    const bool redraws = can_redraw();
    redraws_ = redraws;
    thread_ = std::thread([this, redraws] { redraws ? draw_until_over() : print_until_over(); });
}

ProgressLine::~ProgressLine() {
    over_ = true;
    thread_.join();
    if (!redraws_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

void ProgressLine::note_end_of_warmup() {
    if (!measuring_since_ && !progress_.warming_up.load()) measuring_since_ = Clock::now();
}

std::string ProgressLine::text() const {
    const TimePoint now = Clock::now();
    return progress_text(label_, progress_, limits_, now - began_, now - measuring_since_.value_or(now));
}

void ProgressLine::print_until_over() {
    constexpr auto kSlice = std::chrono::milliseconds(50);
    TimePoint due = began_ + kPlainLine;
    while (!over_) {
        std::this_thread::sleep_for(kSlice);
        note_end_of_warmup();
        if (Clock::now() < due) continue;
        due += kPlainLine;
        std::fputs((text() + "\n").c_str(), stderr);
        std::fflush(stderr);
    }
}

void ProgressLine::draw_until_over() {
    while (!over_) {
        // fputs, since fmt::print throws when the terminal is gone
        std::fputs(fmt::format("\r\033[K{:.79}", text()).c_str(), stderr);
        std::fflush(stderr);
        for (Duration slept{}; slept < kRedraw && !over_; slept += kRedraw / 10) {
            std::this_thread::sleep_for(kRedraw / 10);
            note_end_of_warmup();
        }
    }
}

}  // namespace paretoken::cli
