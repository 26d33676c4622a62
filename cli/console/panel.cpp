#include "cli/console/panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "reports/document/table.h"

namespace paretoken::cli {
namespace {

constexpr double kRecent_s = 10;
constexpr std::size_t kLongestHistory = 60;

/// A part of a line, with the number of its ANSI colour; 0 is the terminal's own.
struct Piece {
    std::string text;
    int colour = 0;
};
constexpr int kRed = 31;
constexpr int kGreen = 32;
constexpr int kYellow = 33;
constexpr int kCyan = 36;
constexpr int kGrey = 90;

/// Returns the text, or if it is wider than the columns, its beginning and an ellipsis.
std::string clipped(std::string text, std::size_t columns) {
    if (reports::display_width(text) <= columns) return text;
    const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
    while (!text.empty() && reports::display_width(text) >= columns) {
        while (is_inside(text.back())) text.pop_back();
        text.pop_back();
    }
    return columns > 0 ? text + "…" : text;
}

/// Joins pieces to a line, without what does not fit into the columns.
std::string line_of(const std::vector<Piece>& pieces, std::size_t columns, bool colour) {
    std::string line;
    std::size_t used = 0;
    for (const Piece& piece : pieces) {
        if (used >= columns) break;
        const std::string text = clipped(piece.text, columns - used);
        used += reports::display_width(text);
        line += colour && piece.colour != 0 ? fmt::format("\033[{}m{}\033[0m", piece.colour, text) : text;
    }
    return line;
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

/// The first line: load, place, phase, bar and times. The bar takes the columns that are left.
std::vector<Piece> course(const PanelState& state, std::size_t columns) {
    std::vector<Piece> pieces;
    if (!state.place.empty()) pieces.push_back({fmt::format("[{}] ", state.place)});
    pieces.push_back({fmt::format("{}  ", state.load), kCyan});
    pieces.push_back({fmt::format("{}  ", state.phase)});
    std::string times = clock_text(state.elapsed_s);
    if (state.left_s) times += fmt::format(", {} left", clock_text(*state.left_s));
    if (state.all_left_s) times += fmt::format(", all {}", clock_text(*state.all_left_s));
    if (state.share) {
        constexpr std::size_t kShareText = 8;  // " 100 %  "
        std::size_t used = reports::display_width(times) + kShareText;
        for (const Piece& piece : pieces) used += reports::display_width(piece.text);
        constexpr std::size_t kShortest = 5;
        constexpr std::size_t kLongest = 40;
        const std::size_t width = columns > used ? std::min(columns - used, kLongest) : 0;
        if (width >= kShortest) {
            const auto full =
                static_cast<std::size_t>(std::lround(*state.share * static_cast<double>(width)));
            pieces.push_back({repeated("━", full), kGreen});
            pieces.push_back({repeated("─", width - full), kGrey});
        }
        pieces.push_back({fmt::format(" {:3.0f} %  ", *state.share * 100)});
    }
    pieces.push_back({times});
    return pieces;
}

/// The second line: what is in flight, what has ended, and how fast.
std::vector<Piece> throughput(const PanelState& state, std::size_t columns) {
    std::string text = fmt::format("  {} in flight  {}", state.in_flight, state.ended);
    if (state.requests_per_s) text += fmt::format("  {} req/s", reports::significant(*state.requests_per_s));
    if (state.tokens_per_s) text += fmt::format("  {} tok/s", reports::significant(*state.tokens_per_s));
    const std::size_t used = reports::display_width(text) + 2;
    std::vector<double> history = state.history;
    if (columns > used && history.size() > columns - used)
        history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(columns - used));
    return {{text + "  "}, {columns > used ? sparkline(history) : std::string(), kCyan}};
}

std::string latency_text(std::string_view title, const std::optional<LatencySoFar>& latency) {
    constexpr double kMilliseconds = 1e3;
    const auto text_of = [](const std::optional<Duration>& of) {
        return of ? reports::significant(seconds(*of) * kMilliseconds) : std::string("–");
    };
    const auto p50 = latency ? std::optional(latency->p50) : std::nullopt;
    const auto p95 = latency ? std::optional(latency->p95) : std::nullopt;
    return fmt::format("{} p50 {} p95 {} ms", title, text_of(p50), text_of(p95));
}

/// The last line: failures, and whether the client keeps up.
std::vector<Piece> health(const PanelState& state) {
    std::vector<Piece> pieces{{"  "}};
    if (state.lag_p95) {
        const Light light = light_of(*state.lag_p95);
        pieces.push_back({"● ", light == Light::green ? kGreen : light == Light::yellow ? kYellow : kRed});
        pieces.push_back({light == Light::green
                              ? std::string("the client keeps up")
                              : fmt::format("the client is late: p95 {} ms",
                                            reports::significant(seconds(*state.lag_p95) * 1e3))});
    } else {
        pieces.push_back({"○ ", kGrey});
        pieces.push_back({"no request has ended yet"});
    }
    std::string failures;
    for (const auto& [name, count] : state.failures)
        failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", reports::grouped(count), name);
    if (failures.empty())
        pieces.push_back({"   no failures"});
    else
        pieces.push_back({fmt::format("   failed: {}", failures), kRed});
    return pieces;
}

}  // namespace

std::string clock_text(double s) {
    const auto whole = static_cast<long>(s + 0.5);
    return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                        : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void RecentRates::add(const Reading& reading) {
    if (recent_.empty()) second_ = reading;
    recent_.push_back(reading);
    while (recent_.size() > 2 && recent_[1].at_s <= reading.at_s - kRecent_s) recent_.pop_front();
    const double passed_s = reading.at_s - second_.at_s;
    if (passed_s < 1) return;
    per_second_.push_back(static_cast<double>(reading.output_tokens - second_.output_tokens) / passed_s);
    if (per_second_.size() > kLongestHistory) per_second_.erase(per_second_.begin());
    second_ = reading;
}

std::optional<double> RecentRates::requests_per_s() const {
    if (recent_.size() < 2 || recent_.back().at_s <= recent_.front().at_s) return std::nullopt;
    return static_cast<double>(recent_.back().requests - recent_.front().requests) /
           (recent_.back().at_s - recent_.front().at_s);
}

std::optional<double> RecentRates::tokens_per_s() const {
    if (recent_.size() < 2 || recent_.back().at_s <= recent_.front().at_s) return std::nullopt;
    return static_cast<double>(recent_.back().output_tokens - recent_.front().output_tokens) /
           (recent_.back().at_s - recent_.front().at_s);
}

std::vector<double> RecentRates::history(std::size_t most) const {
    const std::size_t count = std::min(most, per_second_.size());
    return {per_second_.end() - static_cast<std::ptrdiff_t>(count), per_second_.end()};
}

Light light_of(Duration lag_p95) {
    if (lag_p95 <= std::chrono::milliseconds(1)) return Light::green;
    return lag_p95 <= std::chrono::milliseconds(10) ? Light::yellow : Light::red;
}

std::string sparkline(const std::vector<double>& values) {
    constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const double most = values.empty() ? 0 : *std::ranges::max_element(values);
    std::string line;
    for (const double value : values) {
        const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
        line += kBlocks[static_cast<std::size_t>(std::lround(share * (kBlocks.size() - 1)))];
    }
    return line;
}

std::vector<std::string> panel_lines(const PanelState& state, std::size_t columns, bool colour) {
    const Piece latencies{
        fmt::format("  {}   {}", latency_text("TTFT", state.ttft), latency_text("ITL", state.itl))};
    return {line_of(course(state, columns), columns, colour),
            line_of(throughput(state, columns), columns, colour), line_of({latencies}, columns, colour),
            line_of(health(state), columns, colour)};
}

}  // namespace paretoken::cli
