#pragma once
// A source of the events of finished requests, which can be read in several passes.
#include <cstdint>
#include <functional>
#include <span>

#include "core/record/record.h"

namespace paretoken {

/// The key of a request of a run. Measured requests and warm-ups are numbered separately.
struct RequestKey {
    std::uint64_t index = 0;
    bool warmup = false;

    auto operator<=>(const RequestKey&) const = default;
};

class EventSource {
  public:
    using Visit = std::function<void(const RequestKey&, std::span<const StreamEvent>)>;

    virtual ~EventSource() = default;

    /// Calls `visit` once for each request with stored events (a file may store an empty list), in the same
    /// order in every pass. The events are valid until `visit` returns.
    virtual void for_each(const Visit& visit) const = 0;
};

/// The events of records in memory. The records must outlive this object.
class KeptEvents final : public EventSource {
  public:
    explicit KeptEvents(std::span<const RequestRecord> records) : records_(records) {}

    void for_each(const Visit& visit) const override {
        for (const RequestRecord& record : records_)
            if (!record.events.empty())
                visit({.index = record.index, .warmup = record.warmup}, record.events);
    }

  private:
    std::span<const RequestRecord> records_;
};

/// A source without events, for requests of which only scalars are known.
class NoEvents final : public EventSource {
  public:
    void for_each(const Visit&) const override {}
};

}  // namespace paretoken
