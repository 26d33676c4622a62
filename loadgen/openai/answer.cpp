#include "loadgen/openai/answer.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace paretoken::openai {
namespace {

constexpr std::size_t kLongestWholeAnswer = std::size_t{16} << 20;
constexpr int kChoices = 64;

/// Gives every event its share of `tokens` by text bytes: whole tokens, largest remainder, earlier events
/// first.
template <class BytesOf>
void share_by_text(std::vector<StreamEvent>& events, std::uint64_t tokens, BytesOf&& bytes_of) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < events.size(); ++i) total += bytes_of(i);
    const auto weight = [&](std::size_t i) -> std::uint64_t { return total ? bytes_of(i) : 1; };
    const std::uint64_t whole = total ? total : events.size();
    std::uint64_t given = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        events[i].tokens = static_cast<std::uint32_t>(tokens * weight(i) / whole);
        given += events[i].tokens;
    }
    std::vector<std::size_t> order(events.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return tokens * weight(a) % whole > tokens * weight(b) % whole;
    });
    for (std::size_t i = 0; given < tokens; ++i, ++given) ++events[order[i]].tokens;
}

}  // namespace

void AnswerReader::begin(RequestRecord& record, const AnswerOptions& options) {
    record_ = &record;
    options_ = options;
    record.events.clear();
    record.first_event = record.first_answer = record.last_event = record.finished = std::nullopt;
    record.usage = {};
    record.finish_reason.clear();
    record.chunks = record.grouped_chunks = record.streamed_tokens = record.first_group_tokens = 0;
    record.longest_gap.reset();
    sse_.reset();
    whole_body_.clear();
    log_.clear();
    log_.reserve(options.expected_chunks);
    counted_so_far_.clear();
    choices_seen_ = choices_finished_ = 0;
    stamp_ = {};
    output_in_this_read_ = any_body_ = done_ = false;
    kernel_stamp_ = all_counted_along_ = all_token_ids_ = true;
    whole_ = !options.stream;
}

std::uint32_t AnswerReader::on_body(std::span<const char> bytes, TimePoint stamp, bool kernel_stamp,
                                    bool new_read) {
    if (new_read) output_in_this_read_ = false;
    if (bytes.empty() || done_) return 0;
    stamp_ = stamp;
    kernel_stamp_ = kernel_stamp;
    if (!any_body_) {
        const auto first = std::find_if(bytes.begin(), bytes.end(), [](char byte) {
            return byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n';
        });
        any_body_ = first != bytes.end();
        whole_ |= any_body_ && *first == '{';  // no line of an event stream begins so
    }
    if (whole_) {
        if (whole_body_.size() + bytes.size() > kLongestWholeAnswer) {
            fail(Outcome::malformed, "the answer is no stream and larger than 16 MiB");
        } else {
            whole_body_.append({bytes.data(), bytes.size()});
        }
        return 0;
    }
    const std::size_t before = log_.size();
    const bool output_before = output_in_this_read_;
    sse_.feed(bytes, [this](const SseEvent& event) { on_delta(parser_->parse(event.data)); });
    if (sse_.malformed()) fail(Outcome::malformed, "an event of the stream is larger than 1 MiB");
    const std::size_t news = log_.size() - before;
    return static_cast<std::uint32_t>(news == 0 || output_before ? news : news - 1);
}

void AnswerReader::on_delta(const Delta& delta) {
    if (done_) return;
    if (delta.done) {
        done_ = true;
        record_->finished = stamp_;
        return;
    }
    if (delta.malformed) return fail(Outcome::malformed, "an event of the stream holds no JSON object");
    if (delta.has_output) on_output(delta);
    if (delta.usage) update(record_->usage, *delta.usage);
    if (!delta.finish_reason.empty()) {
        record_->finish_reason = delta.finish_reason;
        const std::uint64_t bit = std::uint64_t{1} << std::clamp(delta.choice, 0, kChoices - 1);
        choices_seen_ |= bit;
        choices_finished_ |= bit;
    }
    if (!delta.error.empty()) fail(Outcome::stream_error, delta.error);
}

void AnswerReader::on_output(const Delta& delta) {
    const int choice = std::clamp(delta.choice, 0, kChoices - 1);
    choices_seen_ |= std::uint64_t{1} << choice;

    Chunk chunk{.time = stamp_,
                .text_bytes = delta.text_bytes,
                .token_ids = delta.token_ids,
                .kind = delta.kind,
                .same_read = output_in_this_read_,
                .kernel_stamp = kernel_stamp_};
    output_in_this_read_ = true;
    all_token_ids_ &= delta.token_ids != 0;
    if (delta.completion_tokens_so_far) {
        if (counted_so_far_.size() <= static_cast<std::size_t>(choice)) counted_so_far_.resize(choice + 1);
        std::int64_t& so_far = counted_so_far_[choice];
        const std::int64_t news = std::max<std::int64_t>(0, *delta.completion_tokens_so_far - so_far);
        chunk.counted_along = static_cast<std::uint32_t>(news);
        so_far += news;
    } else {
        all_counted_along_ = false;
    }
    log_.push_back(chunk);
}

void AnswerReader::fail(Outcome outcome, std::string error) {
    done_ = true;
    if (record_->outcome != Outcome::ok) return;
    record_->outcome = outcome;
    record_->error = std::move(error);
}

void AnswerReader::finish(bool http_complete) {
    if (whole_) {
        finish_whole(http_complete);
    } else {
        finish_stream(http_complete);
    }
    RequestRecord& record = *record_;
    if (http_complete && !record.finished && any_body_) record.finished = stamp_;
    const bool exact = record.usage.completion || record.token_source == TokenSource::chunk_usage ||
                       record.token_source == TokenSource::token_ids;
    const std::int64_t choices = std::max(1, static_cast<int>(std::popcount(choices_seen_)));
    if (options_.ignore_eos_accepted && record.wanted_output_tokens && exact &&
        output_tokens_of(record) < *record.wanted_output_tokens * choices) {
        fail(Outcome::too_short, std::to_string(output_tokens_of(record)) + " tokens came of the " +
                                     std::to_string(*record.wanted_output_tokens * choices) +
                                     " asked for with ignore_eos");
    }
    record_ = nullptr;
}

void AnswerReader::finish_whole(bool http_complete) {
    RequestRecord& record = *record_;
    if (any_body_) record.last_event = stamp_;
    if (!http_complete) return fail(Outcome::disconnected, "the connection broke before the answer's end");
    const auto answer = parse_whole_answer(whole_body_.view());
    if (!answer) return fail(Outcome::malformed, "the answer is neither a stream nor a JSON object");
    if (answer->usage) update(record.usage, *answer->usage);
    record.finish_reason = answer->finish_reason;
    if (!answer->error.empty()) return fail(Outcome::stream_error, answer->error);
    if (record.usage.completion.value_or(0) == 0 && answer->text_bytes == 0) {
        fail(Outcome::empty, "the answer holds not one token");
    }
}

void AnswerReader::finish_stream(bool http_complete) {
    if (http_complete && !done_) {
        if (const auto event = sse_.rest()) {
            // Half an event is what a truncated stream leaves: that is no malformed one.
            if (const Delta& delta = parser_->parse(event->data); !delta.malformed) on_delta(delta);
        }
    }
    write_events();
    decide_tokens();
    if (!http_complete && !done_) {
        fail(Outcome::disconnected, "the connection broke before the answer's end");
    } else if (!done_ && !any_body_) {
        fail(Outcome::empty, "the answer has no body");
    } else if (!done_ && sse_.lines() == 0) {
        fail(Outcome::malformed, "the answer is no event stream");
    } else if (!done_ && !all_choices_finished()) {
        fail(Outcome::truncated, "the stream ended before a finish_reason");
    } else if (record_->events.empty()) {
        fail(Outcome::empty, "the stream held not one token");
    }
}

void AnswerReader::write_events() {
    RequestRecord& record = *record_;
    record.chunks = static_cast<std::int64_t>(log_.size());
    if (log_.empty()) return;
    record.events.reserve(log_.size());
    TimePoint before = log_.front().time;
    for (const Chunk& chunk : log_) {
        record.events.push_back({chunk.time, 1, chunk.kind, chunk.same_read, chunk.kernel_stamp});
        record.grouped_chunks += chunk.same_read;
        if (!record.first_answer && chunk.kind != EventKind::reasoning) record.first_answer = chunk.time;
        if (&chunk != &log_.front() && !chunk.same_read) {
            const Duration gap = std::max(Duration::zero(), chunk.time - before);
            record.longest_gap = std::max(record.longest_gap.value_or(gap), gap);
        }
        before = chunk.time;
    }
    record.first_event = log_.front().time;
    record.last_event = log_.back().time;
}

void AnswerReader::decide_tokens() {
    RequestRecord& record = *record_;
    std::vector<StreamEvent>& events = record.events;
    const auto count = static_cast<std::int64_t>(events.size());
    const bool reasoning_streamed = std::any_of(events.begin(), events.end(), [](const StreamEvent& event) {
        return event.kind == EventKind::reasoning;
    });
    std::int64_t completion = record.usage.completion.value_or(0);
    if (!reasoning_streamed) completion -= record.usage.reasoning.value_or(0);

    record.token_source = TokenSource::one_per_chunk;
    if (count == 0) {
        record.streamed_tokens = record.first_group_tokens = 0;
        return;
    }
    if (all_counted_along_) {
        record.token_source = TokenSource::chunk_usage;
        for (std::size_t i = 0; i < events.size(); ++i) events[i].tokens = log_[i].counted_along;
    } else if (all_token_ids_) {
        record.token_source = TokenSource::token_ids;
        for (std::size_t i = 0; i < events.size(); ++i) events[i].tokens = log_[i].token_ids;
    } else if (completion > 0 &&
               std::abs(count - completion) <= std::max<std::int64_t>(1, completion / 50)) {  // 2 %
        record.token_source = TokenSource::one_per_event;
    } else if (completion > 0) {
        record.token_source = TokenSource::usage_by_text;
        share_by_text(events, static_cast<std::uint64_t>(completion),
                      [this](std::size_t i) { return log_[i].text_bytes; });
    }

    record.streamed_tokens = record.first_group_tokens = 0;
    bool first_group = true;
    for (std::size_t i = 0; i < events.size(); ++i) {
        first_group = first_group && (i == 0 || events[i].same_read);
        if (first_group) record.first_group_tokens += events[i].tokens;
        record.streamed_tokens += events[i].tokens;
    }
}

}  // namespace paretoken::openai
