#pragma once
// Additive sums over requests and intervals of time: the totals of two classes, two intervals or two parts of
// a run are the sums of their fields. Every run-level figure (core/result/figures.h) and the hardware limit
// are computed from them. A token is credited to the time at which it arrived, so a request that crosses an
// edge counts by its tokens and not as a whole. Tokens of failed requests are left out, but their time in the
// system is included.
#include <array>
#include <cstddef>
#include <vector>

#include "core/record/record.h"

namespace paretoken {

/// The sizes of sliding windows for which sums are kept, in tokens of context. They include the windows of
/// known models.
inline constexpr std::array<double, 11> kWindows{128,  256,   512,   1024,  2048,  4096,
                                                 8192, 16384, 32768, 65536, 131072};

/// One sum per window of kWindows.
struct WindowedSums {
    std::array<double, kWindows.size()> within{};

    bool operator==(const WindowedSums&) const = default;
};

/// Returns the sum for any window, never above the true one: a sum of min(context, window) is concave in the
/// window, so straight lines between the summed windows lie below it. It is exact for the windows of
/// kWindows.
double within_window(const WindowedSums& sums, double window);

struct Totals {
    double seconds = 0;  ///< length of the interval

    double requests = 0;          ///< completed requests whose last event lies in the interval
    double time_in_system_s = 0;  ///< seconds that requests spent between their start and their end

    double prompts = 0;              ///< answered prompts, counted at their first event
    double known_prompts = 0;        ///< answered prompts of known length
    double known_cached = 0;         ///< of these, prompts whose cached part is known from usage
    double fresh_input_tokens = 0;   ///< prompt tokens without cached ones
    double cached_input_tokens = 0;  ///< prompt tokens from a prefix cache, by usage
    double output_tokens = 0;

    double judged = 0;              ///< requests due in the interval that were judged by SLOs
    double judged_good = 0;         ///< judged requests that met every SLO
    double good_requests = 0;       ///< requests that met every SLO and ended in the interval
    double good_output_tokens = 0;  ///< output tokens of requests that met every SLO

    // The sums that a hardware limit needs. The pass over the prompt gives the first output token; all
    // further ones are decoded.
    double decoded_tokens = 0;  ///< output tokens after a request's first
    double decoded_context_tokens =
        0;  ///< Σ over decoded tokens of the tokens before them (cached + fresh + output)
    double decoded_cached_tokens = 0;  ///< the part of these sums from prompt tokens in a prefix cache
    double prefill_pairs = 0;  ///< Σ over prompts of fresh · cached + fresh² / 2: attention of the prefill
    WindowedSums decoded_context_within;  ///< decoded_context_tokens, each at most the window
    WindowedSums prefill_pairs_within;    ///< prefill_pairs, each fresh token at most the window

    bool operator==(const Totals&) const = default;
};

Totals& operator+=(Totals& sum, const Totals& other);

/// Returns the work of one request that was served completely. Its seconds and time in the system are 0.
Totals work_of_request(double fresh_input_tokens, double cached_input_tokens, double output_tokens);

/// The judgement of a request by SLOs.
enum class Judgement : std::uint8_t { not_judged, bad, good };

/// Totals per equal bin of an interval of time. Values outside of the interval are dropped.
class TotalsTimeline {
  public:
    /// `bins` at least 1.
    TotalsTimeline(TimeSpan span, std::size_t bins);

    /// Credits a request to the bins of its times. Without events, its first arrival is credited at
    /// its time and the rest evenly up to the last event. Output tokens are output_tokens_of(record): tokens
    /// that usage counts but no event has are spread like the streamed ones.
    void add(const RequestRecord& record, Judgement judgement = Judgement::not_judged);

    const std::vector<Totals>& bins() const { return bins_; }
    Totals total() const;

  private:
    Totals* bin_of(TimePoint at);  ///< null outside of the interval
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
    double bin_s_;
    std::vector<Totals> bins_;
};

}  // namespace paretoken
