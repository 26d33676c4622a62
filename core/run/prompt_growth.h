#pragma once
// The growth of prompts from turn to turn of conversations, by the dataset and by the server.
#include <optional>

#include "core/record/provenance.h"
#include "core/record/request_table.h"

namespace paretoken {

/// Returns the mean number of tokens by which a prompt is longer than that of the turn before in its
/// conversation, over the turns whose prompts grow by the dataset. Nothing with fewer than 10 of them, which
/// need both counts of both turns. A chat template that adds or drops text per turn makes the two differ.
std::optional<Asked> prompt_growth_of(const RequestTable& requests);

}  // namespace paretoken
