#pragma once
// A benchmark row: a name for filters and comparisons, and the function that measures it.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "microbench/collect.h"

namespace paretoken::microbench {

/// Thrown while a row is measured, if this machine lacks a requirement (an instruction, a library's kernel).
/// The row then has a reason instead of figures; this is no failure.
class NotAvailable : public RuntimeError {
  public:
    using RuntimeError::RuntimeError;
};

struct RowOutcome {
    std::optional<std::string> error = {};  ///< error of a failed check; nothing below was then measured
    Measurement measurement = {};
    Judgement judgement = {};
    std::vector<std::pair<std::string, double>> counters = {};  ///< more numbers for the row's JSON object
};

struct Row {
    std::string name;  ///< "weights/w:q4_0/layout:packed/batch:1/backend:cpu/threads:2"
    std::function<RowOutcome()> run;
};

}  // namespace paretoken::microbench
