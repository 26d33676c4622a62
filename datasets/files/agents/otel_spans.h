#pragma once
// OpenTelemetry's spans of generative AI: a JSON object with "spans" is a session, and so a job. Its chat
// spans are turns, with their whole recorded prompts. A turn waits for the chats whose tool calls or answers
// its prompt holds, and for those that the spans of tools and agents around them connect with it. Where
// nothing connects it, it follows the chat that ended last before it, which a note says.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

RowFormat otel_spans_format(const Spec& spec);
std::unique_ptr<Dataset> make_otel_spans(const DatasetOptions& options);

}  // namespace paretoken::datasets
