#include "tests/support/allocations.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "loadgen/protocol/answer.h"
#include "loadgen/protocol/delta.h"
#include "loadgen/protocol/sse.h"
#include "tests/support/padded.h"

namespace paretoken::protocol {
namespace {

using paretoken::testing::padded;

const std::string kChunk =
    R"(data: {"id":"chatcmpl-ab72c5ef05c3604a","object":"chat.completion.chunk","created":1795248095,"model":"tiny",)"
    R"("choices":[{"index":0,"delta":{"content":" embedded"},"logprobs":null,"finish_reason":null,"token_ids":null}],)"
    R"("usage":{"prompt_tokens":12,"total_tokens":16,"completion_tokens":4}})"
    "\n\n";

/// An event that is recognised, not parsed.
const std::string kPlainChunk =
    R"(data: {"id":"chatcmpl-ab72c5ef05c3604a","object":"chat.completion.chunk","created":1795248095,"model":"tiny",)"
    R"("choices":[{"index":0,"delta":{"content":" embedded"},"logprobs":null,"finish_reason":null}]})"
    "\n\n";

std::uint64_t allocations_of_parsing(std::size_t piece_length, const std::string& text = kChunk) {
    SseParser sse;
    DeltaParser deltas;
    const std::string chunk = padded(text);
    std::uint64_t outputs = 0;
    const auto parse_one = [&] {
        for (std::size_t at = 0; at < chunk.size(); at += piece_length) {
            const std::size_t length = std::min(piece_length, chunk.size() - at);
            sse.feed({chunk.data() + at, length},
                     [&](const SseEvent& event) { outputs += deltas.parse(event.data).has_output; });
        }
    };
    parse_one();  // grows the buffers
    const std::uint64_t allocations = paretoken::testing::allocations_in([&] {
        for (int i = 0; i < 1000; ++i) parse_one();
    });
    EXPECT_EQ(outputs, 1001u);
    return allocations;
}

TEST(Allocations, AreSeenByTheCounter) {
    EXPECT_GT(paretoken::testing::allocations_in([] { std::string(1000, 'x').shrink_to_fit(); }), 0u);
}

TEST(Allocations, AnEventInOnePieceNeedsNone) {
    EXPECT_EQ(allocations_of_parsing(kChunk.size()), 0u);
    EXPECT_EQ(allocations_of_parsing(kPlainChunk.size(), kPlainChunk), 0u);
}

TEST(Allocations, AnEventCutIntoPiecesNeedsNone) {
    EXPECT_EQ(allocations_of_parsing(100), 0u);
    EXPECT_EQ(allocations_of_parsing(1), 0u);
}

TEST(Allocations, AReusedReaderOfAnswersNeedsNoneButForItsRecord) {
    DeltaParser deltas;
    AnswerReader reader(deltas);
    RequestRecord record;
    const std::string chunk = padded(kChunk);
    const auto read_answer = [&] {
        reader.begin(record);
        for (int i = 0; i < 1000; ++i) reader.on_body({chunk.data(), chunk.size()}, TimePoint{}, true, true);
    };
    read_answer();
    reader.finish(false);
    EXPECT_EQ(paretoken::testing::allocations_in(read_answer), 0u);
}

}  // namespace
}  // namespace paretoken::protocol
