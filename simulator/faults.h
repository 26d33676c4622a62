#pragma once
// Misbehaviour on demand: the table of quirks, which a client must accept, and faults, which it must report.
// Whether a fault affects a request depends only on the fault, its seed and the request's number. Except for
// refusals (429, 503), only streamed answers are affected.
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

/// One quirk or fault that the user requested.
struct Fault {
    Misbehaviour what = Misbehaviour::crlf;
    double probability = 1;                  ///< probability of affecting a request
    std::optional<std::uint64_t> seed = {};  ///< seed of the draws; absent means the server's
    std::int64_t count = 0;                  ///< value of FaultRow::count_field; 0 if it has none
    Duration time{};                         ///< its duration; 0 if it has none

    bool operator==(const Fault&) const = default;
};

struct FaultRow {
    std::string_view name;
    FaultKind kind;
    Misbehaviour what;
    /// The name of its count: "after" (tokens before it happens), "bytes" (per piece), "tokens" (per write),
    /// "every" (tokens from one comment to the next). Empty: it has none.
    std::string_view count_field;
    std::int64_t count;  ///< default of the count
    bool has_time;       ///< whether it has a duration: the field "ms"
    Duration time;       ///< default of the duration
    std::string_view title;
};
std::span<const FaultRow> fault_table();
std::string_view name_of(Misbehaviour what);  ///< "error-chunk"

/// Reads "crlf", "split:bytes=7", "reset:p=.01,after=5tok,seed=3", "stall:ms=200,after=2". Throws UsageError
/// naming the mistake and, for an unknown name or field, the known ones.
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
    std::int64_t ping_every = 0;   ///< tokens from one comment to the next; 0 means no comments
    std::int64_t piece_bytes = 0;  ///< size of the pieces in which the body is written; 0 means one piece
    std::int64_t coalesce = 1;     ///< tokens per write
    // Numbers of tokens after which the fault happens; nothing: it does not.
    std::optional<std::int64_t> reset_after = {};
    std::optional<std::int64_t> error_after = {};
    std::optional<std::int64_t> truncate_after = {};
    std::optional<std::int64_t> stall_after = {};
    Duration stall{};         ///< length of the stall
    Duration header_delay{};  ///< time for which the answer, head included, is held back
    int status = 0;           ///< status of a refusal; 0 means that the request is answered

    bool operator==(const InjectedFaults&) const = default;
};

/// Returns the faults of request `number` of a server with this seed.
InjectedFaults faults_of_answer(std::span<const Fault> faults, std::uint64_t seed, std::uint64_t number);

/// Returns the events of one write ("data: …\n\n") with the quirks of their text injected.
std::string events_with_faults(const InjectedFaults& injected, std::string_view events);

/// Cuts the bytes of a body into pieces of InjectedFaults::piece_bytes (0: one piece), each for a write of
/// its own, and makes each an HTTP chunk when `chunked`.
std::vector<std::string> writes_with_faults(const InjectedFaults& injected, std::string_view body,
                                            bool chunked);

}  // namespace paretoken::sim
