#pragma once
// The receiver of finished records. Any worker thread may call it, in the order in which requests end.
// It takes the record and its events and must not block the caller.
#include "core/record/record.h"

namespace paretoken {

class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void record(RequestRecord&& record) = 0;
};

}  // namespace paretoken
