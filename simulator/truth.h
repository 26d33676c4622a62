#pragma once
// The server's own record of every answered request, with which a client's measurements are compared. Its
// times begin with the kernel's receive stamp of the request; each write has the time of the clock just
// before it. The log is bounded: the oldest records are dropped first.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::sim {

struct TruthEntry {
    std::string id;             ///< X-Request-Id, or else the server's own id
    TimePoint received;         ///< when the request's last byte reached this host
    bool kernel_stamp = false;  ///< false means that `received` is the clock after the read
    TimePoint admitted;         ///< begin of the first step that processed it; fixed timing: `received`
    std::int64_t prompt_tokens = 0;
    std::optional<std::int64_t> cached_tokens =
        {};                              ///< found in the prefix cache; absent means that there is none
    std::int64_t reasoning_tokens = 0;   ///< reasoning tokens among those of `tokens`; they come first
    std::string affinity = {};           ///< value of the request's affinity header; empty means none
    std::string session_token = {};      ///< token that the request returned; empty means none
    std::string set_session_token = {};  ///< token in the head of the answer; empty means none
    /// Whether the HTTP message was written to its regular end, even if a fault cut the answer short; false
    /// if the connection was aborted or reset.
    bool complete = false;
    std::string_view cut_by =
        {};  ///< name of the fault that ended the answer early; empty means that none did
    /// Per token: end of the step that emitted it. The engine may have emitted more tokens than were written
    /// before a fault or the client ended the answer; those are the last ones here.
    std::vector<TimePoint> due;
    std::vector<TimePoint> written;  ///< per written event with output: clock just before its send
    /// The clock just after the send of the first event with output; absent if faults were injected.
    std::optional<TimePoint> first_sent = {};
    std::vector<std::int32_t> tokens;  ///< tokens per written event with output

    bool operator==(const TruthEntry&) const = default;
};

class TruthLog {
  public:
    explicit TruthLog(std::size_t most_requests = 200'000, std::size_t most_tokens = 4'000'000);

    void add(TruthEntry entry);
    void clear();
    const std::deque<TruthEntry>& entries() const { return entries_; }

    /// Returns the answer of GET /sim/truth; times are nanoseconds of CLOCK_MONOTONIC.
    std::string json() const;

  private:
    std::size_t most_requests_;
    std::size_t most_tokens_;
    std::size_t tokens_ = 0;
    std::uint64_t dropped_ = 0;
    std::deque<TruthEntry> entries_;
};

}  // namespace paretoken::sim
