#pragma once
// Long texts that hide numbers with names; the question at the end asks for one of them. If a server keeps
// its KV cache in too few bits, or loses a part of it, these answers become wrong before others do.
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

/// Reads "recall:ctx=4k,n=40,osl=64". Throws UsageError, also for a context below 128 tokens.
RecallOptions recall_options(const Spec& spec);

/// Makes the dataset. Its prompts do not depend on seed and salt, so that answers of runs can be compared.
std::unique_ptr<Dataset> make_recall(const DatasetOptions& options);

}  // namespace paretoken::datasets
