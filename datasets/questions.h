#pragma once
// The questions of a probe, and what their answers are held against: a file of JSON lines, or values that are
// hidden in long texts (datasets/generated/recall.h).
#include <string>
#include <string_view>
#include <vector>

#include "core/spec.h"
#include "datasets/expectation.h"

namespace paretoken::datasets {

struct Questions {
    std::string name;       ///< the same for the same questions: "recall:ctx=4000,n=40", "math.jsonl 00ff…"
    Spec dataset;           ///< of the catalog; its i-th request is the i-th question
    std::string path = {};  ///< of a dataset that is a file
    std::vector<Expectation> expected = {};  ///< of each question

    bool operator==(const Questions&) const = default;
};

/// A file whose rows hold "messages" or "prompt", and "expect" with one of exact, regex, contains and number;
/// or "recall:ctx=4k,n=40". Throws UsageError naming the file, the line and what is wrong; RuntimeError when
/// it cannot be read.
Questions questions_of(std::string_view text);

}  // namespace paretoken::datasets
