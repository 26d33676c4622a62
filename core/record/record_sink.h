#pragma once
// Where finished records go. Called from any worker thread, in the order requests end. Takes the record and
// its events over; what it does with them must not hold the caller up.
#include "core/record/record.h"

namespace paretoken {

class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void record(RequestRecord&& record) = 0;
};

}  // namespace paretoken
