#include "cli/console/live_panel.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/console/presentation.h"

namespace paretoken::cli {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // how exactly the end of the warm-up is known
constexpr auto kRedraw = std::chrono::milliseconds(250);
constexpr auto kPlainLine = std::chrono::seconds(10);
constexpr std::size_t kFewestColumns = 40;
constexpr std::size_t kHistory = 40;

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

/// Returns the time left; nothing while too little is done to estimate it, and when the time is over in which
/// requests fall due, because requests may still wait for a slot.
std::optional<double> left_s(std::optional<double> share, Duration measured) {
    constexpr double kLeast = .02;
    if (!share || *share <= kLeast || *share >= 1) return std::nullopt;
    return std::max(seconds(measured), 1e-3) * (1 - *share) / *share;
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

std::string phase_of(const loadgen::Progress& progress, const loadgen::Limits& limits, Duration measured) {
    if (progress.warming_up.load()) return "warming up";
    const bool all_started =
        limits.requests && progress.conversations.load() + progress.in_flight.load() >= *limits.requests;
    const bool time_is_up = limits.duration && measured >= *limits.duration;
    return all_started || time_is_up ? "last answers" : "measuring";
}

std::optional<LatencySoFar> latency_of(const LiveHistogram& histogram) {
    const auto p50 = histogram.percentile(.5);
    const auto p95 = histogram.percentile(.95);
    if (!p50 || !p95) return std::nullopt;
    return LatencySoFar{*p50, *p95};
}

std::size_t columns_of_terminal() {
    constexpr std::size_t kUsual = 80;
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
    return std::max<std::size_t>(size.ws_col, kFewestColumns) -
           1;  // a full line would wrap on some terminals
}

/// Uses fputs, since fmt::print throws when the terminal is gone.
void write(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace

std::string progress_text(const std::string& label, const loadgen::Progress& progress,
                          const loadgen::Limits& limits, Duration elapsed, Duration measured) {
    const double s = std::max(seconds(measured), 1e-3);
    std::string text = fmt::format("{}  {}", label, clock_text(seconds(elapsed)));
    if (progress.warming_up.load()) return text + "  warming up";
    text += fmt::format("  {}  {} in flight  {:.0f} tok/s", ended_text(progress, limits),
                        progress.in_flight.load(), static_cast<double>(progress.output_tokens.load()) / s);
    if (const auto failed = progress.failed.load(); failed > 0) text += fmt::format("  {} failed", failed);
    if (const auto left = left_s(share_done(progress, limits, measured), measured))
        text += fmt::format("  ETA {}", clock_text(*left));
    return text;
}

PanelState panel_state(const std::string& label, const loadgen::Progress& progress,
                       const loadgen::Limits& limits, Duration elapsed, Duration measured) {
    PanelState state{.load = label, .phase = phase_of(progress, limits, measured)};
    state.elapsed_s = seconds(elapsed);
    if (!progress.warming_up.load()) state.share = share_done(progress, limits, measured);
    state.left_s = left_s(state.share, measured);
    state.in_flight = progress.in_flight.load();
    state.ended = ended_text(progress, limits);
    state.ttft = latency_of(progress.ttft);
    state.itl = latency_of(progress.itl);
    state.lag_p95 = progress.lag.percentile(.95);
    for (std::size_t i = 0; i < progress.outcomes.size(); ++i) {
        const auto outcome = static_cast<Outcome>(i);
        if (const auto count = progress.outcomes[i].load(); count > 0 && is_failure(outcome))
            state.failures.emplace_back(name_of(outcome), count);
    }
    return state;
}

LivePanel::LivePanel(std::string label, Place place, const loadgen::Progress& progress,
                     const loadgen::Limits& limits)
    : label_(std::move(label)),
      place_(std::move(place)),
      progress_(progress),
      limits_(limits),
      began_(Clock::now()),
      redraws_(is_able_terminal(STDERR_FILENO)),
      thread_([this] { run(); }) {}

LivePanel::~LivePanel() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    ended_.notify_all();
    thread_.join();
    erase();
}

void LivePanel::say(std::string_view text) {
    const std::lock_guard lock(mutex_);
    erase();
    write(std::string(text));
    if (redraws_) draw();
}

void LivePanel::run() {
    std::unique_lock lock(mutex_);
    const Duration every = redraws_ ? Duration(kRedraw) : Duration(kPlainLine);
    TimePoint due = redraws_ ? began_ : began_ + every;
    while (!over_) {
        note_end_of_warmup();
        if (Clock::now() >= due) {
            due += every;
            redraws_ ? draw() : print_plain_line();
        }
        ended_.wait_for(lock, kLook);
    }
}

void LivePanel::note_end_of_warmup() {
    if (!measuring_since_ && !progress_.warming_up.load()) measuring_since_ = Clock::now();
}

void LivePanel::print_plain_line() {
    const TimePoint now = Clock::now();
    write(progress_text(label_, progress_, limits_, now - began_, now - measuring_since_.value_or(now)) +
          "\n");
}

void LivePanel::draw() {
    const TimePoint now = Clock::now();
    PanelState state =
        panel_state(label_, progress_, limits_, now - began_, now - measuring_since_.value_or(now));
    rates_.add({state.elapsed_s, progress_.finished.load(), progress_.output_tokens.load()});
    state.place = place_.text;
    if (place_.ends_at && *place_.ends_at > now) state.all_left_s = seconds(*place_.ends_at - now);
    state.requests_per_s = rates_.requests_per_s();
    state.tokens_per_s = rates_.tokens_per_s();
    state.history = rates_.history(kHistory);
    std::string text = drawn_ > 1 ? fmt::format("\r\033[{}A", drawn_ - 1) : "\r";
    const auto lines = panel_lines(state, columns_of_terminal(), wants_colour(STDERR_FILENO));
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += fmt::format("{}\033[K{}", i == 0 ? "" : "\n\r", lines[i]);
    drawn_ = lines.size();
    write(text);
}

void LivePanel::erase() {
    if (drawn_ == 0) return;
    write(drawn_ > 1 ? fmt::format("\r\033[{}A\033[J", drawn_ - 1) : "\r\033[K");
    drawn_ = 0;
}

}  // namespace paretoken::cli
