#pragma once
// Reads the events of a source once, and joins them with the scalars of their requests.
#include <cstdint>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/request_table.h"

namespace paretoken {

class EventPass {
  public:
    /// `requests` and `events` must outlive this object.
    EventPass(const RequestTable& requests, const EventSource& events);

    /// Calls `visit(row, record)` once for every request of the table that the source lists, in its order;
    /// `record` has its scalars and events. Element i of the result tells whether row i was visited.
    template <class Visit>
    std::vector<bool> for_each(Visit visit) const {
        std::vector<bool> seen(requests_.size());
        std::vector<std::uint32_t> by_key;
        RequestRecord record;
        std::size_t next = 0;
        events_.for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
            const std::size_t row = row_of(key, next, by_key);
            if (row == requests_.size() || seen[row]) return;
            seen[row] = true;
            next = row + 1;
            requests_.unpack(row, record);
            record.events.assign(events.begin(), events.end());
            visit(row, static_cast<const RequestRecord&>(record));
        });
        return seen;
    }

  private:
    /// Returns the row of a request, or the number of rows if there is none. Tries the row `likely` first,
    /// else searches `by_key`, which is filled with all rows in order of their keys if it is empty.
    std::size_t row_of(const RequestKey& key, std::size_t likely, std::vector<std::uint32_t>& by_key) const;

    const RequestTable& requests_;
    const EventSource& events_;
};

}  // namespace paretoken
