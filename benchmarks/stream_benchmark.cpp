// Measures the cost of a stream event in each layer of the client, without sockets: HTTP, event framing,
// deltas, the record of an answer. items_per_second counts stream events with output; the bytes are those
// that vLLM and llama.cpp sent.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/recorded.h"
#include "core/record/record.h"
#include "loadgen/http/message.h"
#include "loadgen/protocol/answer.h"
#include "loadgen/protocol/delta.h"
#include "loadgen/protocol/sse.h"

namespace {

using namespace paretoken;
using namespace paretoken::benchmarks;

constexpr int kTokens = 256;  ///< tokens to which the recorded answer is extended

/// Counts a pass over one answer.
void count(benchmark::State& state, const Answer& answer) {
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kTokens);
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * answer.bytes()));
}

void sse_framing(benchmark::State& state, const char* recording) {
    const Answer answer(recording, kTokens);
    protocol::SseParser parser;
    for (auto _ : state) {
        parser.reset();
        std::size_t bytes = 0;
        for (const std::string_view event : answer.events()) {
            parser.feed({event.data(), event.size()},
                        [&](const protocol::SseEvent& sse) { bytes += sse.data.size(); });
        }
        benchmark::DoNotOptimize(bytes);
    }
    count(state, answer);
}

void sse_framing_of_cut_events(benchmark::State& state, const char* recording) {
    const Answer answer(recording, kTokens);
    protocol::SseParser parser;
    for (auto _ : state) {
        parser.reset();
        std::size_t bytes = 0;
        const auto add = [&](const protocol::SseEvent& sse) { bytes += sse.data.size(); };
        for (const std::string_view event : answer.events()) {
            const std::size_t half = event.size() / 2;
            parser.feed({event.data(), half}, add);
            parser.feed({event.data() + half, event.size() - half}, add);
        }
        benchmark::DoNotOptimize(bytes);
    }
    count(state, answer);
}

void delta_parsing(benchmark::State& state, const char* recording) {
    const Answer answer(recording, kTokens);
    protocol::DeltaParser parser;
    for (auto _ : state) {
        std::uint64_t text_bytes = 0;
        for (const std::string_view event : answer.events()) {
            text_bytes += parser.parse(data_of(event)).text_bytes;
        }
        benchmark::DoNotOptimize(text_bytes);
    }
    count(state, answer);
}

/// Measures everything from body bytes to the finished record, with one event per read. `keep_text`: as for a
/// conversation that continues from this answer.
void read_answers(benchmark::State& state, const char* recording, bool keep_text) {
    const Answer answer(recording, kTokens);
    protocol::DeltaParser parser;
    protocol::AnswerReader reader(parser);
    RequestRecord record;
    for (auto _ : state) {
        record.events.clear();
        record.outcome = Outcome::ok;
        record.chunks = record.grouped_chunks = record.streamed_tokens = 0;
        reader.begin(record, {.keep_text = keep_text});
        TimePoint stamp(std::chrono::seconds(1));
        for (const std::string_view event : answer.events()) {
            stamp += std::chrono::milliseconds(10);
            reader.on_body({event.data(), event.size()}, stamp, true, true);
        }
        reader.finish(true);
        benchmark::DoNotOptimize(record.streamed_tokens);
        if (record.outcome != Outcome::ok) {
            state.SkipWithError("the answer did not end well");
            return;
        }
    }
    count(state, answer);
}

void answer_reader(benchmark::State& state, const char* recording) {
    read_answers(state, recording, false);
}

void answer_reader_of_a_turn(benchmark::State& state, const char* recording) {
    read_answers(state, recording, true);
}

class ByteCounter final : public http::ResponseSink {
  public:
    void on_head(const http::ResponseHead& head) override { bytes += static_cast<std::size_t>(head.status); }
    void on_body(std::span<const char> part) override { bytes += part.size(); }

    std::size_t bytes = 0;
};

/// Measures the HTTP layer: head, chunk framing and end, with one read per chunk.
void http_response(benchmark::State& state, const char* recording) {
    const Answer answer(recording, kTokens);
    ByteCounter sink;
    http::ResponseReader reader(sink);
    for (auto _ : state) {
        reader.begin();
        auto last = http::ResponseReader::State::reading;
        for (const std::string_view read : answer.reads()) last = reader.feed({read.data(), read.size()});
        if (last != http::ResponseReader::State::complete) {
            state.SkipWithError("the response did not end");
            return;
        }
    }
    benchmark::DoNotOptimize(sink.bytes);
    count(state, answer);
}

constexpr const char* kVllm = "vllm-0.32-chat.http";
constexpr const char* kVllmUsageAlong = "vllm-0.32-chat-continuous-usage.http";
constexpr const char* kLlamacpp = "llamacpp-chat.http";

BENCHMARK_CAPTURE(sse_framing, vllm, kVllm);
BENCHMARK_CAPTURE(sse_framing, llamacpp, kLlamacpp);
BENCHMARK_CAPTURE(sse_framing_of_cut_events, vllm, kVllm);
BENCHMARK_CAPTURE(delta_parsing, vllm, kVllm);
BENCHMARK_CAPTURE(delta_parsing, vllm_usage_on_every_chunk, kVllmUsageAlong);
BENCHMARK_CAPTURE(delta_parsing, llamacpp, kLlamacpp);
BENCHMARK_CAPTURE(answer_reader, vllm, kVllm);
BENCHMARK_CAPTURE(answer_reader, vllm_usage_on_every_chunk, kVllmUsageAlong);
BENCHMARK_CAPTURE(answer_reader, llamacpp, kLlamacpp);
BENCHMARK_CAPTURE(answer_reader_of_a_turn, vllm, kVllm);
BENCHMARK_CAPTURE(answer_reader_of_a_turn, llamacpp, kLlamacpp);
BENCHMARK_CAPTURE(http_response, vllm, kVllm);

}  // namespace
