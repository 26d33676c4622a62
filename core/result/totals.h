#pragma once
// Additive sums over requests and intervals of time. A token is credited to the time at which it arrived.
// Tokens of failed requests are left out, but not their time in the system; all others count.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace paretoken {

struct RequestRecord;
struct StreamEvent;

/// The sizes of attention windows for which sums are kept, in tokens, with those of known models.
inline constexpr std::array<double, 11> kWindows{128,  256,   512,   1024,  2048,  4096,
                                                 8192, 16384, 32768, 65536, 131072};

struct WindowedSums {
    std::array<double, kWindows.size()> within{};

    bool operator==(const WindowedSums&) const = default;
};

/// Returns the sum for any window: exact for those of kWindows, otherwise never above the true sum, which is
/// concave in the window. Beyond the largest window it is the sum for that one.
double within_window(const WindowedSums& sums, double window);

struct Totals {
    double seconds = 0;  ///< length of the interval

    double requests = 0;          ///< completed requests whose last event lies in the interval
    double time_in_system_s = 0;  ///< seconds that requests spent between their start and their end

    double prompts = 0;              ///< answered prompts, counted at their first event
    double known_prompts = 0;        ///< answered prompts of known length
    double known_cached = 0;         ///< prompts of known length whose cached part is known from usage
    double fresh_input_tokens = 0;   ///< tokens of prompts of known length without the cached ones
    double cached_input_tokens = 0;  ///< prompt tokens from a prefix cache, by usage
    double output_tokens = 0;

    double judged = 0;              ///< requests due in the interval that were judged by SLOs
    double judged_good = 0;         ///< judged requests that met every SLO
    double good_requests = 0;       ///< requests that met every SLO and ended in the interval
    double good_output_tokens = 0;  ///< output tokens of requests that met every SLO

    // The sums that a hardware limit needs. The prefill gives the first output token; the others are decoded.
    double decoded_tokens = 0;  ///< output tokens after a request's first
    /// Σ over decoded tokens of the number of tokens before each: cached, fresh and output tokens.
    double decoded_context_tokens = 0;
    double decoded_cached_tokens = 0;  ///< the cached tokens in decoded_context_tokens
    double prefill_pairs = 0;  ///< Σ over prompts of fresh · cached + fresh² / 2: attention of the prefill
    WindowedSums decoded_context_within;  ///< Σ over decoded tokens of min(tokens before it, window)
    WindowedSums prefill_pairs_within;    ///< Σ over fresh tokens of min(tokens before it, window)

    bool operator==(const Totals&) const = default;
};

Totals& operator+=(Totals& sum, const Totals& other);

/// Returns the work of one request that was served completely. Its seconds and time in the system are 0.
Totals work_of_request(double fresh_input_tokens, double cached_input_tokens, double output_tokens);

enum class Judgement : std::uint8_t { not_judged, bad, good };

/// Totals per bin of an interval of time. Values outside of the interval are dropped.
class TotalsTimeline {
  public:
    /// Divides `span` into equal bins, at least 1.
    TotalsTimeline(TimeSpan span, std::size_t bins);
    /// Divides the time at `edges`: at least two, ascending; neighbours may be equal.
    explicit TotalsTimeline(std::vector<TimePoint> edges);

    /// Credits the output_tokens_of(record) tokens of a request to the bins of its times; those without
    /// events are spread in proportion to the streamed ones, or evenly if there are none. All tokens of an
    /// answer in one piece come at its end, with those of its prompt.
    void add(const RequestRecord& record, Judgement judgement = Judgement::not_judged);

    const std::vector<Totals>& bins() const { return bins_; }
    Totals total() const;

  private:
    Totals* bin_of(TimePoint at);               ///< null outside of the interval
    std::size_t number_of(TimePoint at) const;  ///< number of the bin; the time must lie in the interval
    double edge_s(std::size_t bin) const;       ///< begin of a bin, in seconds since that of the interval
    void add_time_in_system(const RequestRecord& record);
    void add_prompt(const RequestRecord& record);
    void add_output(const RequestRecord& record, bool good);
    /// The values that all output tokens of one request share.
    struct Answered {
        double prompt_tokens = 0;
        double cached_tokens = 0;  ///< cached tokens of the prompt
        bool good = false;
    };
    void add_events(const std::vector<StreamEvent>& events, double scale, const Answered& request);
    static void credit(Totals& totals, double from, double to, const Answered& request);
    /// Adds output tokens number `from` to `to` of the request (from 0, fractions allowed), arriving at `at`.
    void add_tokens(TimePoint at, double from, double to, const Answered& request);
    void add_tokens_evenly(TimeSpan span, double from, double to, const Answered& request);

    TimeSpan span_;
    double bin_s_;                    ///< length of each bin; 0 if they are not equal
    std::vector<TimePoint> edges_{};  ///< empty if the bins are equal
    std::vector<Totals> bins_;
};

}  // namespace paretoken
