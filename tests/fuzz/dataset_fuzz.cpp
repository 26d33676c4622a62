// A file of requests, one JSON object a line: every request in it can be sent.
#include "datasets/files/custom_jsonl.h"

#include "loadgen/protocol/body.h"
#include "reports/files/json/json_lines.h"
#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {

void fuzz(Input input) {
    const std::uint8_t form = input.byte();
    const MemoryFile file(input.rest());
    datasets::DatasetOptions options{.spec = {"custom", {}}, .path = file.path()};
    if ((form & 1) != 0) options.spec.fields["osl"] = "16";
    std::unique_ptr<datasets::Dataset> dataset;
    if (refuses([&] { dataset = datasets::make_custom_jsonl(options); })) return;
    const auto size = dataset->size();
    require(size && *size > 0, "an accepted file holds requests");
    const protocol::BodyWriter chat({.protocol = &protocol::kChat, .model = "m"});
    const protocol::BodyWriter completions({.protocol = &protocol::kCompletions, .model = "m"});
    for (std::uint64_t i = 0; i < *size; ++i) {
        const Request request = dataset->request(i);
        require(!request.wanted_input_tokens || *request.wanted_input_tokens >= 1, "an input has tokens");
        require(!request.wanted_output_tokens || *request.wanted_output_tokens >= 1, "an output has tokens");
        const bool ids = std::holds_alternative<TokenIds>(request.prompt);
        require(reports::is_complete_json((ids ? completions : chat).body(request)),
                "a request's body is JSON");
        require(dataset->request(i + *size).prompt == request.prompt,
                "a dataset begins again from the front");
    }
}

}  // namespace paretoken::fuzz
