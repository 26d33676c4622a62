#pragma once
// Audits a log of requests for prefix caching: the share of input tokens that came from the cache, the share
// of text that repeats earlier prompts, and parts near the front that change. A line costs 8 bytes.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/audit/changing_part.h"

namespace paretoken::datasets {

/// The sums over the requests of a class, of a section of the log, or of the whole log.
struct AuditGroup {
    std::string name = {};         ///< name of the class; for a section, the time of its first line, if any
    std::uint64_t first_line = 0;  ///< first line of a section, counted from 1
    std::uint64_t requests = 0;
    std::uint64_t with_usage = 0;     ///< requests whose usage reports input tokens and cached tokens
    std::uint64_t input_tokens = 0;   ///< input tokens of these, cached ones included
    std::uint64_t cached_tokens = 0;  ///< input tokens of these that came from the cache

    bool operator==(const AuditGroup&) const = default;
    /// Returns the share of input tokens that came from the cache; nothing without input tokens.
    std::optional<double> served() const;
};

/// A part that changes from one prompt of a class to the next.
struct AuditChange {
    std::string group = {};  ///< the class
    ChangeKind kind = ChangeKind::text;
    std::string example = {};   ///< at most 20 characters
    std::string before = {};    ///< the text in front of it, at most 20 bytes
    std::size_t at = 0;         ///< its first byte in the prompt
    std::uint64_t prompts = 0;  ///< number of prompts in which it differed from an earlier one

    bool operator==(const AuditChange&) const = default;
};

struct LogAudit {
    std::uint64_t lines = 0;
    std::uint64_t prompts = 0;           ///< lines with the text of a prompt
    std::uint64_t without_anything = 0;  ///< lines with neither a prompt nor usage
    /// Lines whose usage has more cached tokens than input tokens; they count as lines without usage.
    std::uint64_t impossible = 0;
    AuditGroup all = {};
    std::vector<AuditGroup> groups = {};     ///< classes or endpoints; at most 64 and "others"
    std::vector<AuditGroup> stretches = {};  ///< at most 20 sections of equally many requests, in order; the
                                             ///< last may be shorter
    /// The share of the prompts' bytes that repeat the start of an earlier prompt, in blocks of 256 bytes.
    /// Nothing if no line has a prompt.
    std::optional<double> cacheable = {};
    /// The value that `cacheable` would have if the most frequent changing part of each class were moved to
    /// the end of its prompts. Nothing if no class has such a part.
    std::optional<double> cacheable_moved = {};
    std::vector<AuditChange> changes = {};  ///< the most frequent change of each class that has any
    std::uint64_t blocks_room = 0;          ///< number of different blocks that fit into the table
    std::uint64_t blocks_forgotten = 0;     ///< blocks dropped by a full table; shares are then too low

    bool operator==(const LogAudit&) const = default;
};

struct AuditOptions {
    std::size_t blocks = std::size_t{1} << 23;  ///< most prompt blocks that are remembered, 8 bytes each
};

/// Audits a log of JSON lines: a request ("messages" or "prompt", also in "request" or "body"), "usage" (also
/// below "response"), or both; "class", "endpoint", "path" or "model"; and a time. Throws UsageError naming
/// the file and line, or that there is no prompt or usage, or that the file cannot be read.
LogAudit audit_of_log(const std::string& path, const AuditOptions& options = {});

}  // namespace paretoken::datasets
