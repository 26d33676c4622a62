#pragma once
// The record of one request: its times on CLOCK_MONOTONIC, its tokens, its outcome. Metrics per request
// follow from the scalars, which requests.jsonl holds; pooled metrics also need `events`.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// How a request ended. All outcomes except `ok`, `cancelled` and `abandoned` are failures.
enum class Outcome : std::uint8_t {
    ok,
    cancelled,  ///< the run ended before the request did, so the request is neither good nor bad
    connect_failed,
    tls_failed,
    timed_out,     ///< not finished within the request timeout
    disconnected,  ///< the connection broke before the answer's end
    http_error,    ///< a status other than 2xx
    stream_error,  ///< an error object inside a 200
    truncated,     ///< the stream ended before a finish_reason
    empty,         ///< a proper end without any token
    too_short,     ///< fewer tokens than asked for although ignore_eos was accepted
    malformed,     ///< an answer that breaks HTTP, SSE or the protocol, is far too long, or is compressed
    abandoned,     ///< the user hung up, as the load plans it; the answer is incomplete
};
inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::abandoned) + 1;
std::string_view name_of(Outcome outcome);
std::optional<Outcome> outcome_named(std::string_view name);
constexpr bool is_failure(Outcome o) {
    return o != Outcome::ok && o != Outcome::cancelled && o != Outcome::abandoned;
}

enum class EventKind : std::uint8_t { content, reasoning, tool_call };

/// The source of the token counts of events, best first (docs/measuring.md, "Tokens and chunks").
enum class TokenSource : std::uint8_t {
    chunk_usage,    ///< the usage in every chunk
    token_ids,      ///< the token ids in every chunk
    one_per_event,  ///< one token per event, which agrees with the final usage (within 1 token or 2 %)
    usage_by_text,  ///< the final usage, spread over the events by the length of their text
    one_per_chunk,  ///< one token per event, an estimate: there is no usage
    disputed,       ///< an estimate, mostly one token per event: the usage cannot be true of the stream
};
std::string_view name_of(TokenSource source);
std::optional<TokenSource> token_source_named(std::string_view name);

/// One stream event that carried output.
struct StreamEvent {
    TimePoint time;  ///< when its last byte reached this host
    std::uint32_t tokens = 1;
    EventKind kind = EventKind::content;
    bool same_read = false;  ///< whether one read completed this event and the one before: the gap is unknown
    bool kernel_stamp = true;  ///< whether `time` is the kernel's receive stamp, not the clock after the read
    std::uint8_t choice = 0;   ///< its choice, if the answer has several (`n` in the request's body)

    bool operator==(const StreamEvent&) const = default;
};

/// The numbers of tokens that the server's `usage` gives.
struct TokenUsage {
    std::optional<std::int64_t> prompt;         ///< all prompt tokens, including cached ones
    std::optional<std::int64_t> cached_prompt;  ///< prompt tokens from a prefix cache
    std::optional<std::int64_t> completion;     ///< all output tokens, including those of reasoning
    std::optional<std::int64_t> reasoning;

    bool operator==(const TokenUsage&) const = default;
};

struct ConnectTimes {
    Duration dns{};
    Duration tcp{};
    Duration tls{};

    bool operator==(const ConnectTimes&) const = default;
};

/// The position of a request in a conversation of several turns, or among the turns of an agent.
struct Turn {
    std::uint64_t conversation = 0;  ///< index of its first request
    std::uint32_t number = 0;        ///< number of the turn, from 0

    bool operator==(const Turn&) const = default;
};

/// The part of a request in the job of an agent (datasets/job.h).
struct JobPart {
    std::uint64_t first = 0;  ///< index of the job's first request
    std::uint32_t turns = 0;  ///< number of turns of the job, whether they are sent or not
    bool background = false;  ///< whether nobody waits for its agent
    bool inside = false;      ///< whether the job begins in its middle, so that it has no time of a job

    bool operator==(const JobPart&) const = default;
};

struct RequestRecord {
    std::uint64_t index = 0;
    std::string id;
    std::string request_class;
    /// The SLOs of this request ("ttft:500 tpot:20", in ms); empty: those of its class or the run apply.
    std::string slo = {};
    std::uint32_t worker = 0;
    std::optional<std::uint32_t> target;  ///< number of its server, from 0, if there are several
    std::optional<Turn> turn;             ///< nothing for a request that is a conversation by itself
    std::optional<JobPart> job;           ///< nothing if the dataset states no jobs
    bool warmup = false;                  ///< whether it is a warm-up, which no metric includes

    Outcome outcome = Outcome::ok;
    std::string error;  ///< one line, empty when ok
    int http_status = 0;
    std::string finish_reason;
    /// The model that the answer names, if it is another one than the request asked for; otherwise empty.
    std::string answered_model = {};

    /// The time at which the request should start: the planned arrival (open loop), or the time since which
    /// its slot is free and the caps allow it (closed loop). A further turn of a job is due when the last
    /// turn that it waits for has ended, plus pauses, or at its own fixed time if that is later.
    TimePoint scheduled;
    /// Time from `scheduled` until the caps on requests in flight and on prefills allowed the start. It is 0
    /// in a closed loop, except for a further turn that waits for the cap on prefills.
    Duration slot_wait{};
    TimePoint started;                      ///< when a worker took it
    TimePoint ready;                        ///< when it had a usable connection
    std::optional<TimePoint> sent;          ///< clock just before the sendmsg of its last byte
    std::optional<TimePoint> headers;       ///< when the head of the HTTP response had arrived
    std::optional<TimePoint> first_event;   ///< first content, reasoning or tool-call event
    std::optional<TimePoint> first_answer;  ///< first event that is not reasoning
    std::optional<TimePoint> last_event;  ///< last event with output; not streamed: last bytes of the answer
    std::optional<TimePoint> finished;    ///< when the answer's end marker came; without one, its last bytes
    TimePoint closed;                     ///< when the HTTP exchange was over, or was given up

    /// Upper bounds, in whole microseconds, by which the times from `sent` to the first and the last event
    /// may be too long: if the client may have read late (no kernel stamp, or several events in one read), or
    /// if the call that sent the request took more than 50 µs.
    std::optional<Duration> first_early;
    std::optional<Duration> last_early;

    std::optional<ConnectTimes> connect;
    /// Whether it was sent twice: its kept-alive connection closed before any answer, and the server had
    /// probably not seen the request, because this was shortly after the sending, or the connection was
    /// reset. `sent` is the time of the first sending.
    bool resent = false;

    TokenUsage usage;
    std::int64_t streamed_tokens = 0;  ///< sum of events[].tokens
    /// Tokens that arrived with the first read that brought any; for several choices the sum over these.
    std::int64_t first_group_tokens = 0;
    /// The times from the first to the last event of each choice, summed. Absent: one choice.
    std::optional<Duration> decoding;
    std::int64_t chunks = 0;          ///< number of events
    std::int64_t grouped_chunks = 0;  ///< number of events in one read with the event before of their choice
    TokenSource token_source = TokenSource::one_per_chunk;
    /// Whether output is known to have been missed: events had text under names that are not known, or the
    /// usage counts reasoning that the events cannot have shown. The first event may then be late.
    bool unseen_output = false;
    /// Whether more events with text came than the usage counts tokens: it leaves some out, a text came
    /// twice, or events are smaller than tokens. Events that came after the answer's end are not kept.
    bool uncounted_output = false;
    /// Whether the usage counts more cached than prompt tokens, so that `usage.cached_prompt` was dropped.
    bool disputed_cache = false;
    /// The longest time between consecutive events of different reads; absent if there is one read.
    std::optional<Duration> longest_gap;
    std::optional<std::int64_t> wanted_input_tokens;
    std::optional<std::int64_t> wanted_output_tokens;
    std::uint64_t bytes_received = 0;  ///< bytes of the response's body

    std::string answer;  ///< text of the answer, if it is kept; not in requests.jsonl

    std::vector<StreamEvent> events;  ///< empty when read back from requests.jsonl

    bool operator==(const RequestRecord&) const = default;
};

/// Returns the client's own delay of a sending: the time after `scheduled` that neither the caps on requests
/// nor the wait for a connection explain. Nothing for a request that was not sent.
std::optional<Duration> loop_lag_of(const RequestRecord& record);

/// Returns whether it is the first request of its job or conversation, or a job by itself.
bool is_opening(const RequestRecord& record);

/// Returns the output tokens to divide by: usage.completion if given, else the streamed tokens.
std::int64_t output_tokens_of(const RequestRecord& record);

}  // namespace paretoken
