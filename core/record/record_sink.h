#pragma once
// The receiver of finished records. It is called from any worker thread, in the order in which requests end.
// It takes over the record and its events and must not block the caller.
#include "core/record/record.h"

namespace paretoken {

class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void record(RequestRecord&& record) = 0;
};

}  // namespace paretoken
