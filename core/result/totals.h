#pragma once
// Additive sums over requests and stretches of time: the totals of two classes, two stretches or two shards
// of a run are the sums of their fields. Every run-level figure (core/result/figures.h) and the hardware
// limit are computed from them. A token is credited to the moment it arrived, so a request that straddles an
// edge counts by its tokens and not as a whole. Tokens of failed requests are left out; their time in the
// system is not.
#include <array>
#include <cstddef>
#include <vector>

#include "core/record/record.h"

namespace paretoken {

/// Tokens of context that layers with a sliding window may be limited to: the windows of known models are
/// among them.
inline constexpr std::array<double, 11> kWindows{128,  256,   512,   1024,  2048,  4096,
                                                 8192, 16384, 32768, 65536, 131072};

/// One sum per window of kWindows.
struct WindowedSums {
    std::array<double, kWindows.size()> within{};

    bool operator==(const WindowedSums&) const = default;
};

/// The sum for any window, never above the true one: a sum of min(context, window) is concave in the window,
/// so straight lines between the windows that were summed lie below it. Exact for those.
double within_window(const WindowedSums& sums, double window);

struct Totals {
    double seconds = 0;  ///< length of the stretch

    double requests = 0;          ///< completed requests whose last event lies in the stretch
    double time_in_system_s = 0;  ///< seconds that requests spent between their start and their end

    double prompts = 0;              ///< answered prompts, at their first event
    double known_prompts = 0;        ///< of these, prompts of known length
    double known_cached = 0;         ///< of these, prompts whose cached part the server told
    double fresh_input_tokens = 0;   ///< prompt tokens less cached ones
    double cached_input_tokens = 0;  ///< prompt tokens that came from a prefix cache, as usage told it
    double output_tokens = 0;

    double judged = 0;              ///< requests due in the stretch that were held against SLOs
    double judged_good = 0;         ///< of these, the ones that met every SLO
    double good_requests = 0;       ///< requests that met every SLO and ended in the stretch
    double good_output_tokens = 0;  ///< output tokens of requests that met every SLO

    // The sums that a hardware limit needs. A prompt's own pass brings the first output token; every further
    // one is decoded.
    double decoded_tokens = 0;  ///< output tokens after a request's first
    double decoded_context_tokens =
        0;  ///< Σ over decoded tokens of the tokens before them (cached + fresh + output)
    double decoded_cached_tokens = 0;  ///< of these, tokens of the prompt that came from a prefix cache
    double prefill_pairs = 0;  ///< Σ over prompts of fresh · cached + fresh² / 2: attention of the prefill
    WindowedSums decoded_context_within;  ///< decoded_context_tokens, each token's no more than the window
    WindowedSums prefill_pairs_within;    ///< prefill_pairs, each fresh token's no more than the window

    bool operator==(const Totals&) const = default;
};

Totals& operator+=(Totals& sum, const Totals& other);

/// The work of one request that was served whole. Its seconds and its time in the system stay 0.
Totals work_of_request(double fresh_input_tokens, double cached_input_tokens, double output_tokens);

/// How a request fared against the SLOs of its run.
enum class Judgement : std::uint8_t { not_judged, bad, good };

/// Totals per equal bin of a stretch of time. What lies outside of the stretch is dropped.
class TotalsTimeline {
  public:
    /// `bins` at least 1.
    TotalsTimeline(TimeSpan span, std::size_t bins);

    /// Credits a request to the bins that its moments lie in. Without events its first arrival is credited at
    /// its time and the rest evenly up to the last event. Output tokens are output_tokens_of(record): tokens
    /// that usage counts and no event carried are spread like those that were streamed.
    void add(const RequestRecord& record, Judgement judgement = Judgement::not_judged);

    const std::vector<Totals>& bins() const { return bins_; }
    Totals total() const;

  private:
    Totals* bin_of(TimePoint at);  ///< null outside
    void add_time_in_system(const RequestRecord& record);
    void add_prompt(const RequestRecord& record);
    void add_output(const RequestRecord& record, bool good);
    /// The values that all output tokens of one request share.
    struct Answered {
        double prompt_tokens = 0;
        double cached_tokens = 0;  ///< of these
        bool good = false;
    };
    void add_events(const std::vector<StreamEvent>& events, double scale, const Answered& request);
    static void credit(Totals& totals, double from, double to, const Answered& request);
    /// Output tokens number `from` to `to` of the request (from 0, fractions allowed), arriving at `at`.
    void add_tokens(TimePoint at, double from, double to, const Answered& request);
    void add_tokens_evenly(TimeSpan span, double from, double to, const Answered& request);

    TimeSpan span_;
    double bin_s_;
    std::vector<Totals> bins_;
};

}  // namespace paretoken
