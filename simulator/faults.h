#pragma once
// Misbehaviour on demand: quirks, which a client must accept, and faults, which it must report. This is the
// table of all of them, which the command line's help and errors use. The affected requests are a function of
// the fault, its seed and the request's number. Pure.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::sim {

enum class Misbehaviour : std::uint8_t {
    crlf,
    bare_cr,
    no_space,
    pings,
    split,
    coalesce,
    close_delimited,
    no_done,
    null_content,
    reasoning_content,
    gzip,
    reset,
    stall,
    slow_headers,
    http_429,
    http_503,
    error_chunk,
    truncate,
};

enum class FaultKind : std::uint8_t { quirk, fault };

/// One switch as the user set it.
struct Fault {
    Misbehaviour what = Misbehaviour::crlf;
    double probability = 1;                  ///< probability of affecting a request
    std::optional<std::uint64_t> seed = {};  ///< seed of the draws; nothing: the server's
    std::int64_t count = 0;  ///< tokens before it happens, bytes per piece, or tokens per write
    Duration time{};         ///< its duration

    bool operator==(const Fault&) const = default;
};

struct FaultRow {
    std::string_view name;
    FaultKind kind;
    Misbehaviour what;
    std::string_view count_field;  ///< "after", "bytes", "tokens", "every"; empty: none
    std::int64_t count;            ///< the default
    bool has_time;
    Duration time;  ///< the default
    std::string_view title;
};
std::span<const FaultRow> fault_table();

/// Reads "crlf", "split:bytes=7", "reset:p=.01,after=5tok,seed=3", "stall:ms=200,after=2". Throws UsageError
/// naming the known ones.
Fault parse_fault(FaultKind kind, std::string_view text);

/// Returns the rows of a kind, one per line, for --help.
std::string fault_help(FaultKind kind);

/// The faults that are injected into one answer.
struct InjectedFaults {
    std::string_view line_end = "\n";
    bool no_space = false;
    bool close_delimited = false;
    bool no_done = false;
    bool null_content = false;
    bool reasoning_content = false;
    bool gzip = false;
    std::int64_t ping_every = 0;   ///< tokens from one comment to the next; 0: no comments
    std::int64_t piece_bytes = 0;  ///< size of the pieces in which the body is written; 0: one piece
    std::int64_t coalesce = 1;     ///< tokens per write
    std::optional<std::int64_t> reset_after = {};
    std::optional<std::int64_t> error_after = {};
    std::optional<std::int64_t> truncate_after = {};
    std::optional<std::int64_t> stall_after = {};
    Duration stall{};
    Duration header_delay{};
    int status = 0;  ///< status of a refusal; 0: the request is answered

    bool operator==(const InjectedFaults&) const = default;
};

/// Returns the faults of request `number` of a server with this seed.
InjectedFaults faults_of_answer(std::span<const Fault> faults, std::uint64_t seed, std::uint64_t number);

/// Returns the events of one write with the faults injected: `events` are plain ("data: …\n\n").
std::string events_with_faults(const InjectedFaults& injected, std::string_view events);

/// Cuts the bytes of a body into the parts that are written at once, each an HTTP chunk of its own when
/// `chunked`.
std::vector<std::string> writes_with_faults(const InjectedFaults& injected, std::string_view body,
                                            bool chunked);

}  // namespace paretoken::sim
