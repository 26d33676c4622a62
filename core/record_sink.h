#pragma once
// Where finished records go. Called from any worker thread, in the order requests end; must not block for
// long.
#include "core/record.h"

namespace paretoken {

class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void record(const RequestRecord& record) = 0;
};

}  // namespace paretoken
