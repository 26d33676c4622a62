#pragma once
// A benchmark row: a name that people filter by and compare, and what measuring it gives.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "microbench/collect.h"

namespace paretoken::microbench {

/// Thrown while a row is measured: this machine lacks what it needs (an instruction, a library's kernel). The
/// row then has no figures and says why; that is no failure.
class NotAvailable : public RuntimeError {
  public:
    using RuntimeError::RuntimeError;
};

struct RowOutcome {
    std::optional<std::string> error = {};  ///< the check failed: nothing below was measured
    Measurement measurement = {};
    Judgement judgement = {};
    std::vector<std::pair<std::string, double>> counters = {};  ///< further numbers for the row's JSON object
};

struct Row {
    std::string name;  ///< "weights/w:q4_0/layout:packed/batch:1/backend:cpu/threads:2"
    std::function<RowOutcome()> run;
};

}  // namespace paretoken::microbench
