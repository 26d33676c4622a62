#include "core/result/totals.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/result/window.h"

namespace paretoken {
namespace {

/// The fields that are sums. They include seconds, so that intervals add up to longer ones.
constexpr double Totals::*kFields[] = {&Totals::seconds,
                                       &Totals::requests,
                                       &Totals::time_in_system_s,
                                       &Totals::prompts,
                                       &Totals::known_prompts,
                                       &Totals::known_cached,
                                       &Totals::fresh_input_tokens,
                                       &Totals::cached_input_tokens,
                                       &Totals::output_tokens,
                                       &Totals::judged,
                                       &Totals::judged_good,
                                       &Totals::good_requests,
                                       &Totals::good_output_tokens,
                                       &Totals::decoded_tokens,
                                       &Totals::decoded_context_tokens,
                                       &Totals::decoded_cached_tokens,
                                       &Totals::prefill_pairs};
constexpr WindowedSums Totals::*kWindowedFields[] = {&Totals::decoded_context_within,
                                                     &Totals::prefill_pairs_within};
static_assert(sizeof(Totals) ==
                  std::size(kFields) * sizeof(double) + std::size(kWindowedFields) * sizeof(WindowedSums),
              "a field is not summed");

/// Returns the prompt tokens by the server's count, or else as requested.
std::optional<double> prompt_tokens_of(const RequestRecord& record) {
    const auto tokens = record.usage.prompt ? record.usage.prompt : record.wanted_input_tokens;
    if (!tokens) return std::nullopt;
    return static_cast<double>(*tokens);
}

double cached_tokens_of(const RequestRecord& record, double prompt_tokens) {
    return std::clamp(static_cast<double>(record.usage.cached_prompt.value_or(0)), 0.0, prompt_tokens);
}

/// Returns Σ of prompt_tokens + j over the output tokens j = from … to − 1.
double context_of(double prompt_tokens, double from, double to) {
    return (to - from) * prompt_tokens + (to * (to - 1) - from * (from - 1)) / 2;
}

/// Returns this sum with at most `window` for each token.
double context_within(double window, double prompt_tokens, double from, double to) {
    const double full_from = std::clamp(window - prompt_tokens, from, to);
    return context_of(prompt_tokens, from, full_from) + (to - full_from) * window;
}

/// Returns ∫ min(position, window) over the fresh tokens of a prompt, which follow the cached ones.
double pairs_within(double window, double fresh, double cached) {
    const double full_from = std::clamp(window - cached, 0.0, fresh);
    return full_from * cached + full_from * full_from / 2 + (fresh - full_from) * window;
}

void add_prompt_work(Totals& totals, double fresh, double cached) {
    totals.fresh_input_tokens += fresh;
    totals.cached_input_tokens += cached;
    totals.prefill_pairs += fresh * cached + fresh * fresh / 2;
    for (std::size_t i = 0; i < kWindows.size(); ++i)
        totals.prefill_pairs_within.within[i] += pairs_within(kWindows[i], fresh, cached);
}

/// Adds output tokens number `from` to `to`, counted from 0; the pass over the prompt gives number 0.
void add_decoding_work(Totals& totals, double from, double to, double prompt_tokens, double cached_tokens) {
    const double first = std::max(from, 1.0);
    if (to <= first) return;
    totals.decoded_tokens += to - first;
    totals.decoded_context_tokens += context_of(prompt_tokens, first, to);
    totals.decoded_cached_tokens += (to - first) * cached_tokens;
    for (std::size_t i = 0; i < kWindows.size(); ++i)
        totals.decoded_context_within.within[i] += context_within(kWindows[i], prompt_tokens, first, to);
}

TimePoint end_of_answer(const RequestRecord& record) {
    return record.last_event.value_or(end_of(record));
}

}  // namespace

Totals& operator+=(Totals& sum, const Totals& other) {
    for (const auto field : kFields) sum.*field += other.*field;
    for (const auto field : kWindowedFields)
        for (std::size_t i = 0; i < kWindows.size(); ++i) (sum.*field).within[i] += (other.*field).within[i];
    return sum;
}

double within_window(const WindowedSums& sums, double window) {
    double window_before = 0;
    double sum_before = 0;
    for (std::size_t i = 0; i < kWindows.size(); ++i) {
        if (window <= kWindows[i])
            return sum_before +
                   (sums.within[i] - sum_before) * (window - window_before) / (kWindows[i] - window_before);
        window_before = kWindows[i];
        sum_before = sums.within[i];
    }
    return sum_before;
}

Totals work_of_request(double fresh_input_tokens, double cached_input_tokens, double output_tokens) {
    Totals work;
    work.requests = work.prompts = work.known_prompts = work.known_cached = 1;
    work.output_tokens = output_tokens;
    add_prompt_work(work, fresh_input_tokens, cached_input_tokens);
    add_decoding_work(work, 0, output_tokens, fresh_input_tokens + cached_input_tokens, cached_input_tokens);
    return work;
}

TotalsTimeline::TotalsTimeline(TimeSpan span, std::size_t bins)
    : span_(span), bin_s_(seconds(span.length()) / static_cast<double>(bins)), bins_(bins) {
    for (Totals& bin : bins_) bin.seconds = bin_s_;
}

TotalsTimeline::TotalsTimeline(std::vector<TimePoint> edges)
    : span_{edges.front(), edges.back()}, bin_s_(0), edges_(std::move(edges)), bins_(edges_.size() - 1) {
    for (std::size_t bin = 0; bin < bins_.size(); ++bin)
        bins_[bin].seconds = seconds(edges_[bin + 1] - edges_[bin]);
}

Totals TotalsTimeline::total() const {
    Totals sum;
    for (const Totals& bin : bins_) sum += bin;
    sum.seconds = seconds(span_.length());
    return sum;
}

Totals* TotalsTimeline::bin_of(TimePoint at) {
    if (!span_.contains(at)) return nullptr;
    return &bins_[number_of(at)];
}

std::size_t TotalsTimeline::number_of(TimePoint at) const {
    if (!edges_.empty()) {
        const auto after = std::ranges::upper_bound(edges_, at);
        return static_cast<std::size_t>(after - edges_.begin()) - 1;
    }
    return std::min(static_cast<std::size_t>(seconds(at - span_.begin) / bin_s_), bins_.size() - 1);
}

double TotalsTimeline::edge_s(std::size_t bin) const {
    return edges_.empty() ? static_cast<double>(bin) * bin_s_ : seconds(edges_[bin] - span_.begin);
}

void TotalsTimeline::add(const RequestRecord& record, Judgement judgement) {
    add_time_in_system(record);
    const bool good = judgement == Judgement::good;
    if (judgement != Judgement::not_judged) {
        if (Totals* const due = bin_of(record.scheduled)) {
            due->judged += 1;
            due->judged_good += good ? 1 : 0;
        }
    }
    if (is_failure(record.outcome)) return;
    if (record.outcome == Outcome::ok) {
        if (Totals* const ended = bin_of(end_of_answer(record))) {
            ended->requests += 1;
            ended->good_requests += good ? 1 : 0;
        }
    }
    add_prompt(record);
    add_output(record, good);
}

void TotalsTimeline::add_time_in_system(const RequestRecord& record) {
    const TimePoint from = std::max(record.started, span_.begin);
    const TimePoint to = std::min(end_of(record), span_.end);
    if (to <= from) return;
    const double begin = seconds(from - span_.begin);
    const double end = seconds(to - span_.begin);
    for (std::size_t bin = number_of(from); bin < bins_.size() && edge_s(bin) < end; ++bin)
        bins_[bin].time_in_system_s +=
            std::max(0.0, std::min(end, edge_s(bin + 1)) - std::max(begin, edge_s(bin)));
}

void TotalsTimeline::add_prompt(const RequestRecord& record) {
    if (!record.first_event && record.outcome != Outcome::ok) return;
    Totals* const bin = bin_of(record.first_event.value_or(end_of_answer(record)));
    if (bin == nullptr) return;
    bin->prompts += 1;
    const auto prompt = prompt_tokens_of(record);
    if (!prompt) return;
    const double cached = cached_tokens_of(record, *prompt);
    bin->known_prompts += 1;
    bin->known_cached += record.usage.cached_prompt ? 1 : 0;
    add_prompt_work(*bin, *prompt - cached, cached);
}

void TotalsTimeline::add_output(const RequestRecord& record, bool good) {
    const double prompt = prompt_tokens_of(record).value_or(0);
    const Answered request{prompt, cached_tokens_of(record, prompt), good};
    if (!record.first_event && record.outcome == Outcome::ok)  // the answer came in one piece
        return add_tokens(end_of_answer(record), 0, static_cast<double>(output_tokens_of(record)), request);
    if (!record.first_event || !record.last_event || record.streamed_tokens <= 0) return;
    const double scale =
        static_cast<double>(output_tokens_of(record)) / static_cast<double>(record.streamed_tokens);
    if (!record.events.empty()) return add_events(record.events, scale, request);
    const auto first = static_cast<double>(record.first_group_tokens);
    const auto all = static_cast<double>(record.streamed_tokens);
    add_tokens(*record.first_event, 0, scale * first, request);
    add_tokens_evenly({*record.first_event, *record.last_event}, scale * first, scale * all, request);
}

/// Adds events. Consecutive events of one bin are credited together, which gives the same sum.
void TotalsTimeline::add_events(const std::vector<StreamEvent>& events, double scale,
                                const Answered& request) {
    const auto earlier = [](const StreamEvent& a, const StreamEvent& b) { return a.time < b.time; };
    const bool ordered = std::ranges::is_sorted(events, earlier);
    double streamed = 0;
    for (auto at = events.begin(); at != events.end();) {
        Totals* const bin = bin_of(at->time);
        const auto stays = [&](const StreamEvent& event) { return bin_of(event.time) == bin; };
        // In order, events of one bin follow each other; only those before and after the span have no bin.
        const auto next = ordered && bin != nullptr ? std::partition_point(at, events.end(), stays)
                                                    : std::find_if_not(at, events.end(), stays);
        const double from = streamed;
        for (; at != next; ++at) streamed += at->tokens;
        if (bin != nullptr) credit(*bin, scale * from, scale * streamed, request);
    }
}

void TotalsTimeline::credit(Totals& totals, double from, double to, const Answered& request) {
    totals.output_tokens += to - from;
    if (request.good) totals.good_output_tokens += to - from;
    add_decoding_work(totals, from, to, request.prompt_tokens, request.cached_tokens);
}

void TotalsTimeline::add_tokens(TimePoint at, double from, double to, const Answered& request) {
    if (Totals* const bin = bin_of(at)) credit(*bin, from, to, request);
}

void TotalsTimeline::add_tokens_evenly(TimeSpan span, double from, double to, const Answered& request) {
    if (to <= from) return;
    if (span.end <= span.begin) return add_tokens(span.end, from, to, request);
    if (span.begin >= span_.end) return;
    const double begin = seconds(span.begin - span_.begin);
    const double end = seconds(span.end - span_.begin);
    const auto token_at = [&](double at) { return from + (to - from) * (at - begin) / (end - begin); };
    for (std::size_t bin = number_of(std::max(span.begin, span_.begin));
         bin < bins_.size() && edge_s(bin) < end; ++bin) {
        const double low = std::max(begin, edge_s(bin));
        const double high = std::min(end, edge_s(bin + 1));
        if (high > low) credit(bins_[bin], token_at(low), token_at(high), request);
    }
}

}  // namespace paretoken
