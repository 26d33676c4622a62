#pragma once
// The questions that check the quality of a server's answers (--probe), and their expected answers. They come
// from a file of JSON lines, or ask for values that are hidden in long texts (datasets/synthetic/recall.h).
#include <string>
#include <string_view>
#include <vector>

#include "core/spec.h"
#include "datasets/expectation.h"

namespace paretoken::datasets {

struct Questions {
    std::string name = {};  ///< equal for equal questions: "recall:ctx=4000,n=40", "math.jsonl 00ff…"
    Spec dataset;           ///< dataset of the catalog; its i-th request is the i-th question
    std::string path = {};  ///< file, if the dataset is a file
    std::vector<Expectation> expected = {};  ///< expected answer of each question

    bool operator==(const Questions&) const = default;
};

/// Returns the questions of a file, whose rows hold "messages" or "prompt" and "expect" (exact, regex,
/// contains or number), or of a spec ("recall:ctx=4k,n=40"). Throws UsageError and RuntimeError.
Questions questions_of(std::string_view text);

}  // namespace paretoken::datasets
