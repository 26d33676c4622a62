#pragma once
// Finds out how prompts of a wanted length are written for a server.
#include "loadgen/probe/asker.h"

namespace paretoken::loadgen {

/// Settles whether prompts are token ids, or else how many tokens the words of prompts have. The facts must
/// have the options that the server accepts.
void settle_lengths(Asker& asker, EndpointFacts& facts);

}  // namespace paretoken::loadgen
