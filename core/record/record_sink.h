#pragma once
// The receiver of finished records. Worker threads call record() at the same time, each in the order in which
// its requests end, so an implementation must be thread-safe. It takes over the record with its events, and
// must not block a caller that works in real time.
#include "core/record/record.h"

namespace paretoken {

class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void record(RequestRecord&& record) = 0;
};

}  // namespace paretoken
