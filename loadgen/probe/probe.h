#pragma once
// Asks a server for its facts before the measurement: model, accepted options, tokens per word. Problems that
// prevent the measurement are thrown; others (no tokenizer, a refused option) are noted in the facts.
#include "core/record/record.h"
#include "core/record/request.h"
#include "loadgen/probe/endpoint.h"

namespace paretoken::loadgen {

/// Asks a server for its facts, without "/v1" in its paths if it knows none with it; an answer of 429 or 503
/// is asked for again for a minute or the timeout. Throws RuntimeError (unreachable, refused, not OpenAI,
/// unknown model, interrupted), or UsageError when `options.body.extra_body` is no JSON object.
EndpointFacts probe(const EndpointOptions& options);

/// Sends one request as the load would, with a limit of two output tokens unless a body has its own, and
/// returns the token counts. Throws RuntimeError with the server's message; not for an empty answer.
TokenUsage try_one(const EndpointOptions& options, const EndpointFacts& facts, const Request& request);

}  // namespace paretoken::loadgen
