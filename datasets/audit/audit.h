#pragma once
// What a prefix cache does with the requests of a log, and what it could do: the share of input that was
// served from it as usage tells, the share that repeats earlier prompts, and what changes near their front.
// The log is read twice, line by line; memory does not grow with it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/audit/changing_part.h"

namespace paretoken::datasets {

/// Requests of a stretch of the log, of a class, or of all of it.
struct AuditGroup {
    std::string name = {};         ///< of a class; of a stretch: its first time, where lines have one
    std::uint64_t first_line = 0;  ///< of a stretch, from 1
    std::uint64_t requests = 0;
    std::uint64_t with_usage = 0;  ///< requests that tell how much came from the cache
    std::uint64_t input_tokens = 0;
    std::uint64_t cached_tokens = 0;

    bool operator==(const AuditGroup&) const = default;
    /// Share of input tokens that came from the cache; nothing when no request tells.
    std::optional<double> served() const;
};

/// A part that changes from one prompt of a class to the next.
struct AuditChange {
    std::string group = {};  ///< class
    ChangeKind kind = ChangeKind::text;
    std::string example = {};   ///< at most 20 characters
    std::string before = {};    ///< the words in front of it, at most 20 characters
    std::size_t at = 0;         ///< byte at which it begins
    std::uint64_t prompts = 0;  ///< in which it was found changed

    bool operator==(const AuditChange&) const = default;
};

struct LogAudit {
    std::uint64_t lines = 0;
    std::uint64_t prompts = 0;           ///< lines with the text of a prompt
    std::uint64_t without_anything = 0;  ///< lines with neither a prompt nor usage
    AuditGroup all = {};
    std::vector<AuditGroup> groups = {};     ///< classes or endpoints; at most 64, then "others"
    std::vector<AuditGroup> stretches = {};  ///< of equally many lines, at most 20, in order
    /// Shares of the prompts' bytes that repeat the beginning of an earlier prompt, in blocks of 256 bytes.
    std::optional<double> cacheable = {};
    std::optional<double> cacheable_moved = {};  ///< with each class's changing part at the prompt's end
    std::vector<AuditChange> changes = {};       ///< the most frequent one of each class that has any
    std::uint64_t blocks_room = 0;               ///< how many different blocks the table holds
    std::uint64_t blocks_forgotten = 0;          ///< shares are too low where this is above 0

    bool operator==(const LogAudit&) const = default;
};

struct AuditOptions {
    std::size_t blocks = std::size_t{1} << 23;  ///< names that the table holds, 8 bytes each
};

/// Lines are JSON objects: a request ("messages" or "prompt", also below "request" or "body"), "usage" (also
/// below "response"), or both. "class", "endpoint", "path" or "model" name the class; "at", "at_s", "time",
/// "timestamp" or "created" the time. Throws UsageError naming the file and line, or that no line holds a
/// prompt or usage; RuntimeError when the file cannot be read.
LogAudit audit_of_log(const std::string& path, const AuditOptions& options = {});

}  // namespace paretoken::datasets
