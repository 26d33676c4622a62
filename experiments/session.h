#pragma once
// What all measurements of a command share.
#include "experiments/server/provenance.h"
#include "loadgen/interruption.h"

namespace paretoken::experiments {

class Watcher;

struct Session {
    Invocation invocation;
    Watcher& watcher;
    loadgen::Interruption interruption;
};

}  // namespace paretoken::experiments
