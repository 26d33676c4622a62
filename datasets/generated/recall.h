#pragma once
// Long texts that hide numbers with names; the question asks for one of them. A server gets these answers
// wrong first when it keeps its KV cache in too few bits, or loses a part of it.
#include <cstdint>
#include <memory>
#include <string>

#include "core/spec.h"
#include "datasets/catalog.h"

namespace paretoken::datasets {

/// One question, which is a pure function of its number.
struct RecallQuestion {
    std::string asked;  ///< name of the number
    std::string value;  ///< the number, of six digits
    double depth = 0;   ///< its position in the text: 0 the beginning, 1 the end

    bool operator==(const RecallQuestion&) const = default;
};
RecallQuestion recall_question(std::uint64_t index);

struct RecallOptions {
    std::int64_t context = 4000;  ///< tokens of a prompt
    std::uint64_t questions = 40;
    std::int64_t output_tokens = 64;
};

/// "recall:ctx=4k,n=40". Throws UsageError.
RecallOptions recall_options(const Spec& spec);

std::unique_ptr<Dataset> make_recall(const DatasetOptions& options);

}  // namespace paretoken::datasets
