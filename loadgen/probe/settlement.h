#pragma once
// Finds the options of requests that a server accepts.
#include "loadgen/probe/asker.h"

namespace paretoken::loadgen {

/// Settles the options that requests have: leaves out those that the server refuses, and notes them in the
/// facts. Their path, in the asker's `options` and the facts, gets a slash at its end if the server wants it.
/// Throws RuntimeError when the server refuses the plainest request.
void settle_options(Asker& asker, EndpointOptions& options, EndpointFacts& facts);

}  // namespace paretoken::loadgen
