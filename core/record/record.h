#pragma once
// The record of one request: its times on CLOCK_MONOTONIC, its tokens, its outcome. The scalars alone
// determine every per-request metric (they are what requests.jsonl holds); `events` adds what the pooled
// metrics need.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// How a request ended. All but `ok`, `cancelled` and `abandoned` are failures; the order is the order of the
/// tables.
enum class Outcome : std::uint8_t {
    ok,
    cancelled,  ///< the run ended first: censored, neither good nor bad
    connect_failed,
    tls_failed,
    timed_out,
    disconnected,  ///< the connection broke before the answer's end
    http_error,    ///< a status other than 200
    stream_error,  ///< an error object inside a 200
    truncated,     ///< the stream ended before a finish_reason
    empty,         ///< a proper end, and not one token
    too_short,     ///< fewer tokens than asked for although ignore_eos was accepted
    malformed,     ///< not HTTP, not SSE, not the protocol
    abandoned,     ///< the user hung up, as the load says: known only as far as it came
};
std::string_view name_of(Outcome outcome);
std::optional<Outcome> outcome_named(std::string_view name);
constexpr bool is_failure(Outcome o) {
    return o != Outcome::ok && o != Outcome::cancelled && o != Outcome::abandoned;
}

enum class EventKind : std::uint8_t { content, reasoning, tool_call };

/// The source of the token counts of events, best first (docs: README, "Tokens and chunks").
enum class TokenSource : std::uint8_t { chunk_usage, token_ids, one_per_event, usage_by_text, one_per_chunk };
std::string_view name_of(TokenSource source);
std::optional<TokenSource> token_source_named(std::string_view name);

/// One stream event that carried output.
struct StreamEvent {
    TimePoint time;  ///< when its last byte reached this host
    std::uint32_t tokens = 1;
    EventKind kind = EventKind::content;
    bool same_read = false;    ///< completed by the read that completed the event before: the gap is unknown
    bool kernel_stamp = true;  ///< `time` is the kernel's receive stamp, else the clock right after the read

    bool operator==(const StreamEvent&) const = default;
};

/// Totals as the server's `usage` gave them.
struct TokenUsage {
    std::optional<std::int64_t> prompt;
    std::optional<std::int64_t> cached_prompt;
    std::optional<std::int64_t> completion;
    std::optional<std::int64_t> reasoning;

    bool operator==(const TokenUsage&) const = default;
};

/// The opening of a connection; only on the request that caused it.
struct ConnectTimes {
    Duration dns{};
    Duration tcp{};
    Duration tls{};

    bool operator==(const ConnectTimes&) const = default;
};

/// The position of a request in a conversation of several turns.
struct Turn {
    std::uint64_t conversation = 0;  ///< index of its first request
    std::uint32_t number = 0;        ///< from 0

    bool operator==(const Turn&) const = default;
};

struct RequestRecord {
    std::uint64_t index = 0;
    std::string id;
    std::string request_class;
    /// Limits that this request alone is held against, in place of the run's, as core/result/slo.h reads
    /// them: "ttft:500 tpot:20". Empty: the run's.
    std::string slo = {};
    std::uint32_t worker = 0;
    std::optional<std::uint32_t> target;  ///< which of several servers it went to, from 0
    std::optional<Turn> turn;             ///< nothing for a request that is a conversation by itself
    bool warmup = false;                  ///< written to requests.jsonl, left out of every metric

    Outcome outcome = Outcome::ok;
    std::string error;  ///< one line, empty when ok
    int http_status = 0;
    std::string finish_reason;

    TimePoint scheduled;            ///< open loop: drawn arrival; closed loop: the slot came free, which is
                                    ///< when the last bytes of the request before it reached this host
    Duration slot_wait{};           ///< of the time since `scheduled`, spent waiting for the in-flight cap
    TimePoint started;              ///< taken up by a worker
    TimePoint ready;                ///< a usable connection was at hand
    std::optional<TimePoint> sent;  ///< clock just before the sendmsg that handed over the last byte
    std::optional<TimePoint> headers;
    std::optional<TimePoint> first_event;   ///< first content, reasoning or tool-call event
    std::optional<TimePoint> first_answer;  ///< first event that is not reasoning
    std::optional<TimePoint> last_event;
    std::optional<TimePoint> finished;  ///< terminal marker seen
    TimePoint closed;                   ///< the exchange was over

    std::optional<ConnectTimes> connect;
    bool resent = false;  ///< once more: its kept-alive connection had closed before any byte came back

    TokenUsage usage;
    std::int64_t streamed_tokens = 0;     ///< sum of events[].tokens
    std::int64_t first_group_tokens = 0;  ///< tokens that arrived with the first read that brought any
    std::int64_t chunks = 0;              ///< events with output
    std::int64_t grouped_chunks = 0;      ///< of these, the ones with same_read
    TokenSource token_source = TokenSource::one_per_chunk;
    std::optional<Duration> longest_gap;
    std::optional<std::int64_t> wanted_input_tokens;
    std::optional<std::int64_t> wanted_output_tokens;
    std::uint64_t bytes_received = 0;

    std::string answer;  ///< its text, where it was asked to be kept; not in requests.jsonl

    std::vector<StreamEvent> events;  ///< empty when read back from requests.jsonl

    bool operator==(const RequestRecord&) const = default;
};

/// Output tokens to divide by: usage.completion when given, else what was streamed.
std::int64_t output_tokens_of(const RequestRecord& record);

}  // namespace paretoken
