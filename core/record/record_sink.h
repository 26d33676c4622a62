#pragma once
// The receiver of finished records. Worker threads call record() at the same time, each in the order in which
// its requests end; it must not block them.
#include "core/record/record.h"

namespace paretoken {

class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void record(RequestRecord&& record) = 0;
};

}  // namespace paretoken
