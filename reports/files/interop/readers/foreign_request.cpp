#include "reports/files/interop/readers/foreign_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <string_view>
#include <utility>

namespace paretoken::reports {
namespace {

constexpr double kTogetherS = 1e-3;    // a chunk with only a role comes with the first token
constexpr double kSameReadS = 100e-6;  // more than a client needs for a chunk that it has read already

/// A time in seconds that a Duration holds, also as the sum of two. A century is more than any request takes.
Duration bounded(double time_s) {
    constexpr double kCentury = 3.2e9;
    return from_seconds(std::isnan(time_s) ? 0 : std::clamp(time_s, -kCentury, kCentury));
}

/// Leaves out chunks without tokens at both ends.
void keep_chunks_of_tokens(std::vector<double>& chunks, std::size_t tokens) {
    if (tokens == 0) return;
    if (chunks.size() > tokens && chunks.size() > 1 && chunks[1] - chunks[0] < kTogetherS)
        chunks.erase(chunks.begin());
    if (chunks.size() > tokens) chunks.pop_back();
}

std::vector<StreamEvent> events_of(const std::vector<double>& chunks, TimePoint sent, std::size_t tokens) {
    std::vector<StreamEvent> events;
    events.reserve(chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const std::size_t until = tokens * (i + 1) / chunks.size();
        const std::size_t before = tokens * i / chunks.size();
        events.push_back({.time = sent + bounded(chunks[i]),
                          .tokens = static_cast<std::uint32_t>(until - before),
                          .same_read = i > 0 && chunks[i] - chunks[i - 1] < kSameReadS,
                          .kernel_stamp = false});
    }
    return events;
}

void add_events(RequestRecord& record, const ForeignRequest& request) {
    std::vector<double> chunks = request.chunks_s;
    const auto known = static_cast<std::size_t>(std::max<std::int64_t>(0, request.output_tokens.value_or(0)));
    keep_chunks_of_tokens(chunks, known);
    if (chunks.empty()) return;
    const std::size_t tokens = known > 0 ? known : chunks.size();
    record.token_source = known == 0               ? TokenSource::one_per_chunk
                          : known == chunks.size() ? TokenSource::one_per_event
                                                   : TokenSource::usage_by_text;
    record.events = events_of(chunks, *record.sent, tokens);
    record.first_event = record.first_answer = record.events.front().time;
    record.last_event = record.events.back().time;
    record.chunks = static_cast<std::int64_t>(record.events.size());
    record.streamed_tokens = static_cast<std::int64_t>(tokens);
    bool in_first_group = true;
    for (std::size_t i = 0; i < record.events.size(); ++i) {
        const StreamEvent& event = record.events[i];
        in_first_group = in_first_group && (i == 0 || event.same_read);
        if (in_first_group) record.first_group_tokens += event.tokens;
        if (event.same_read) ++record.grouped_chunks;
        if (i > 0 && !event.same_read)
            record.longest_gap =
                std::max(record.longest_gap.value_or(Duration{}), event.time - record.events[i - 1].time);
    }
}

/// Sets the first and the last output of an answer whose chunks are unknown.
void add_ends(RequestRecord& record, const ForeignRequest& request) {
    if (!request.first_s) return;
    record.first_event = record.first_answer = *record.sent + bounded(*request.first_s);
    record.last_event =
        std::max(*record.first_event, *record.sent + bounded(request.last_s.value_or(*request.first_s)));
    record.streamed_tokens = request.output_tokens.value_or(0);
    const bool in_one_piece = *record.last_event <= *record.first_event;
    record.first_group_tokens = in_one_piece ? std::max<std::int64_t>(1, record.streamed_tokens) : 1;
}

}  // namespace

RequestRecord record_of(std::uint64_t index, const ForeignRequest& request) {
    RequestRecord record;
    record.index = index;
    record.id = fmt::format("imported-{}", index);
    record.sent = TimePoint{} + bounded(request.sent_s);
    record.started = record.ready = *record.sent;
    record.scheduled = request.scheduled_s ? TimePoint{} + bounded(*request.scheduled_s) : *record.sent;
    record.slot_wait = bounded(request.slot_wait_s);
    record.usage = {.prompt = request.input_tokens,
                    .cached_prompt = request.cached_tokens,
                    .completion = request.output_tokens,
                    .reasoning = request.reasoning_tokens};
    record.http_status = request.http_status.value_or(request.failed ? 0 : 200);
    add_events(record, request);
    if (record.events.empty()) add_ends(record, request);
    if (request.latency_s) record.finished = *record.sent + bounded(*request.latency_s);
    if (!record.finished && record.last_event) record.finished = record.last_event;
    record.closed = record.finished.value_or(*record.sent);
    if (!record.last_event && !request.failed) record.last_event = record.finished;
    record.error = request.error;
    if (request.cancelled) {
        record.outcome = Outcome::cancelled;
    } else if (request.failed) {
        record.outcome = request.http_status.value_or(0) >= 400 ? Outcome::http_error
                         : record.chunks > 0                    ? Outcome::disconnected
                                                                : Outcome::stream_error;
    } else if (request.output_tokens.value_or(1) == 0) {
        record.outcome = Outcome::empty;
    }
    return record;
}

ForeignRun run_of_requests(const ForeignLoad& load, std::initializer_list<Fact> unknown,
                           std::shared_ptr<const std::vector<ForeignRequest>> requests) {
    ForeignRun run{
        .name = load_name(load), .begun = begun_of(load, unknown), .interrupted = load.interrupted};
    run.for_each_request = [requests = std::move(requests)](const auto& visit) {
        for (std::size_t i = 0; i < requests->size(); ++i) visit(record_of(i, (*requests)[i]));
    };
    return run;
}

bool place_in_slots(std::vector<ForeignRequest>& requests, std::optional<std::int64_t> concurrency,
                    std::optional<double> duration_s, bool at_once) {
    if (at_once) {
        for (ForeignRequest& request : requests) request.sent_s = 0;
        return true;
    }
    const auto length_of = [](const ForeignRequest& request) {
        return request.latency_s.value_or(request.chunks_s.empty() ? 0 : request.chunks_s.back());
    };
    if (!concurrency && !duration_s) return false;
    const auto slots = static_cast<std::size_t>(std::clamp<std::int64_t>(
        concurrency.value_or(1), 1, std::max<std::int64_t>(1, static_cast<std::int64_t>(requests.size()))));
    std::priority_queue<double, std::vector<double>, std::greater<>> free(std::greater<>(),
                                                                          std::vector<double>(slots, 0.0));
    std::optional<double> stretch;  // the largest one with which no request ends after the run
    for (std::size_t i = 0; i < requests.size(); ++i) {
        requests[i].sent_s = concurrency ? free.top() : static_cast<double>(i);
        free.pop();
        free.push(requests[i].sent_s + length_of(requests[i]));
        if (!duration_s || !(requests[i].sent_s > 0)) continue;
        const double most = std::max(0.0, *duration_s - length_of(requests[i])) / requests[i].sent_s;
        stretch = std::min(stretch.value_or(most), most);
    }
    if (!stretch) return true;
    for (ForeignRequest& request : requests) request.sent_s *= *stretch;
    return true;
}

std::string without_python_numbers(std::string text) {
    constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') in_string = !in_string;
        if (in_string) {
            if (text[i] == '\\') ++i;
            continue;
        }
        for (const std::string_view word : kWords) {
            if (text.compare(i, word.size(), word) != 0) continue;
            text.replace(i, word.size(), "null");
            break;
        }
    }
    return text;
}

}  // namespace paretoken::reports
