#pragma once
// What the readers of foreign formats share: they turn the times of a streamed answer into a request's
// record, and read JSON with errors that name the file.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "reports/files/interop/readers/foreign_load.h"

namespace paretoken::reports {

/// A request as other programs note it. Times are in seconds.
struct ForeignRequest {
    double sent_s = 0;                       ///< since the start of the run
    std::optional<double> scheduled_s = {};  ///< when it was due; absent if the file does not tell
    double slot_wait_s = 0;                  ///< part of its delay that was a wait for the cap on requests
    std::vector<double> chunks_s = {};       ///< times of its chunks since it was sent, ascending
    /// Times of the first and the last output since it was sent, where the times of chunks are unknown.
    std::optional<double> first_s = {};
    std::optional<double> last_s = {};
    std::optional<double> latency_s = {};  ///< time until its answer was complete, since it was sent
    std::optional<std::int64_t> input_tokens = {};
    std::optional<std::int64_t> cached_tokens = {};
    std::optional<std::int64_t> output_tokens = {};
    std::optional<std::int64_t> reasoning_tokens = {};
    bool failed = false;
    bool cancelled = false;
    std::string error = {};
    std::optional<int> http_status = {};
};

/// The record of a request. An extra chunk with only a role (less than 1 ms before the second) or at the end
/// is left out; tokens are spread evenly over the others. Chunks less than 100 µs apart count as one read.
RequestRecord record_of(std::uint64_t index, const ForeignRequest& request);

/// The run of requests that are held in memory, in their order.
ForeignRun run_of_requests(const ForeignLoad& load, std::initializer_list<Fact> unknown,
                           std::shared_ptr<const std::vector<ForeignRequest>> requests);

/// Gives requests a start where a file tells none: all at 0 if `at_once`, each as soon as one of
/// `concurrency` slots is free, or evenly, stretched so that the last end is at `duration_s` if known. Rates
/// over time are then right, but not overlaps. Returns false if nothing is known to place them by.
bool place_in_slots(std::vector<ForeignRequest>& requests, std::optional<std::int64_t> concurrency,
                    std::optional<double> duration_s, bool at_once = false);

/// `text` with NaN, Infinity and -Infinity outside of strings, which Python writes, replaced by null.
std::string without_python_numbers(std::string text);

}  // namespace paretoken::reports
