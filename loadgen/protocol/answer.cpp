#include "loadgen/protocol/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "core/record/record_events.h"
#include "core/text/letter_case.h"
#include "core/text/model_name.h"
#include "core/text/printable.h"

namespace paretoken::protocol {
namespace {

/// Returns whether the name of an event, or what it holds, is one of the words that keep a connection open.
bool is_sign_of_life(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(": ["), text.size()));
    if (text.ends_with(']')) text.remove_suffix(1);
    constexpr std::size_t kLongest = 10;
    if (text.size() > kLongest) return false;
    const std::string small = lower_case(text);
    for (const std::string_view word : {"ping", "pong", "heartbeat", "keepalive", "keep-alive"})
        if (small == word) return true;
    return false;
}

constexpr int kChoices = 64;
constexpr std::size_t kKibi = 1024;
constexpr std::size_t kMebi = kKibi * kKibi;
constexpr std::size_t kBeginning = 4 * kKibi;  ///< bytes of a stream that are kept for errors

constexpr std::array<char, 1 + kReadablePadding> kBlank{' '};

/// Returns the error of an answer with fewer tokens than were asked for with ignore_eos. A server that ends
/// it by itself does not obey this option.
std::string too_short_error(std::int64_t tokens, std::int64_t wanted, const std::string& reason) {
    constexpr std::array<std::string_view, 7> kByItself = {
        "stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "completed"};
    std::string text = std::to_string(tokens) + " of " + std::to_string(wanted) + " tokens";
    if (!reason.empty()) text += " (" + reason + ")";
    if (std::find(kByItself.begin(), kByItself.end(), reason) != kByItself.end())
        text += "; try --no-ignore-eos";
    return text;
}

constexpr std::string_view kNoBlankLine = "no blank line ends the events of the stream";

/// Returns whether a line ends with } and the next line that is not empty begins with {.
bool are_lines_of_objects(std::string_view text) {
    for (std::size_t end = text.find('}'); end != std::string_view::npos; end = text.find('}', end + 1)) {
        const std::size_t next = text.find_first_not_of("\r\n", end + 1);
        if (next != std::string_view::npos && next > end + 1 && text[next] == '{') return true;
    }
    return false;
}

/// Returns what an empty answer's status tells, unless it is the usual one of answers, or unknown.
std::string note_of_status(int status) {
    constexpr int kOk = 200, kAccepted = 202;
    if (status == kAccepted)
        return "; HTTP 202 says that the answer comes later and must be asked for, which paretoken does not "
               "do";
    return status > kOk ? "; the status is HTTP " + std::to_string(status) : std::string();
}

/// Returns how a body is packed, by its first bytes; empty if it is text, possibly with a few bad bytes.
std::string_view packing_of(std::string_view body) {
    constexpr std::size_t kLooked = 120;
    if (body.starts_with("\x1f\x8b")) return "packed with gzip";
    if (body.starts_with("\x28\xb5\x2f\xfd")) return "packed with zstd";
    std::size_t characters = 0, bad = 0;
    for (std::string_view rest = body.substr(0, kLooked); !rest.empty(); ++characters) {
        const std::size_t length = utf8_length(rest);
        const bool is_control =
            length == 1 && static_cast<unsigned char>(rest[0]) < ' ' && !is_blank(rest[0]);
        bad += length == 0 || is_control ? 1 : 0;
        rest.remove_prefix(std::max<std::size_t>(1, length));
    }
    return 5 * bad > characters ? "no text, and probably compressed" : std::string_view();
}

std::string asked_for(const AnswerLimits& limits) {
    if (!limits.asked_output_tokens) return "the request set no limit";
    return "at most " + std::to_string(*limits.asked_output_tokens) + " were asked for";
}

}  // namespace

AnswerLimits limits_for(std::optional<std::int64_t> asked_output_tokens, std::size_t request_bytes) {
    constexpr std::int64_t kTolerance = 8;                // for servers that count more than they send
    constexpr std::int64_t kFewest = 1024;                // tokens
    constexpr std::int64_t kTemplate = 64 * 1024;         // tokens
    constexpr std::uint64_t kBytesPerToken = 32 * kKibi;  // for an event with log probabilities
    AnswerLimits limits;
    limits.prompt_tokens =
        static_cast<std::int64_t>(std::min<std::size_t>(request_bytes, kMostTokens)) + kTemplate;
    if (!asked_output_tokens) return limits;
    const std::int64_t asked = std::clamp<std::int64_t>(*asked_output_tokens, 0, kMostTokens);
    limits.asked_output_tokens = asked;
    limits.output_tokens = std::min(kTolerance * asked + kFewest, kMostTokens);
    limits.events = static_cast<std::size_t>(limits.output_tokens);
    limits.stream_bytes = kMebi + kBytesPerToken * static_cast<std::uint64_t>(limits.output_tokens);
    limits.whole_bytes =
        std::min(kMebi + 4 * kKibi * static_cast<std::size_t>(asked), AnswerLimits{}.whole_bytes);
    return limits;
}

void AnswerReader::begin(RequestRecord& record, const AnswerOptions& options) {
    record_ = &record;
    options_ = options;
    record.events.clear();
    derive_from_events(record);
    record.finished.reset();
    record.usage = {};
    record.finish_reason.clear();
    own_reason_.clear();
    record.answered_model.clear();
    record.answer.clear();
    sse_.reset();
    whole_body_.recycle();
    text_.recycle();
    log_.clear();
    log_.reserve(options.expected_chunks);
    facts_ = {};
    so_far_ = {};
    has_end_alone_ = false;
    unknown_field_.clear();
    whole_text_in_ = {};
    cache_written_ = 0;
    outputs_after_end_ = events_ = unknown_outputs_ = foreign_ = text_until_end_ = text_before_last_ = 0;
    any_own_ = false;
    record.unseen_output = record.uncounted_output = record.disputed_cache = false;
    choices_seen_ = choices_finished_ = 0;
    stamp_ = {};
    output_in_this_read_ = any_body_ = done_ = indented_ = model_known_ = false;
    kernel_stamp_ = all_counted_along_ = true;
    whole_ = !options.stream;
    stream_bytes_ = 0;
}

std::uint32_t AnswerReader::on_body(std::span<const char> bytes, TimePoint stamp, bool kernel_stamp,
                                    bool new_read) {
    if (new_read) output_in_this_read_ = false;
    if (bytes.empty() || done_) return 0;
    stamp_ = stamp;
    kernel_stamp_ = kernel_stamp;
    std::size_t blanks = 0;  // bytes of this read before the answer's first byte that is not blank
    if (!any_body_) {
        // Only bytes within the limit are looked at, so that the result does not depend on the cuts.
        const auto seen = bytes.first(std::min<std::size_t>(bytes.size(), bytes_left()));
        const auto first = std::find_if_not(seen.begin(), seen.end(), is_blank);
        blanks = static_cast<std::size_t>(first - seen.begin());
        any_body_ = first != seen.end();
        if (!whole_ && any_body_ && *first == '{') {  // no line of an event stream begins with {
            whole_ = true;
            bytes = bytes.subspan(blanks);
        }
    }
    if (whole_) {
        if (bytes.size() > bytes_left()) {
            fail(Outcome::malformed, "the answer is not a stream and is longer than " +
                                         std::to_string(options_.limits.whole_bytes) + " bytes");
        } else {
            whole_body_.append({bytes.data(), bytes.size()});
        }
        return 0;
    }
    // The bytes within the limit are used, so that the result does not depend on the cuts.
    const bool too_long = bytes.size() > bytes_left();
    if (too_long) bytes = bytes.first(bytes_left());
    stream_bytes_ += bytes.size();
    if (whole_body_.size() < kBeginning)
        whole_body_.append({bytes.data(), std::min(bytes.size(), kBeginning - whole_body_.size())});
    // Leading blanks are not part of an event. Only whether the first line is indented matters, because such
    // a line is no field; so blanks of any length are read alike, wherever reads cut them.
    if (blanks != 0) {
        indented_ = bytes[blanks - 1] == ' ' || bytes[blanks - 1] == '\t';
        bytes = bytes.subspan(blanks);
    }
    if (indented_ && any_body_) {
        indented_ = false;
        sse_.feed({kBlank.data(), 1}, [](const SseEvent&) {});
    }
    const std::size_t before = events_;
    const bool output_before = output_in_this_read_;
    sse_.feed(bytes, [this](const SseEvent& event) { on_event(event); });
    if (sse_.malformed()) fail(Outcome::malformed, "an event of the stream is larger than 1 MiB");
    if (too_long && !done_) {
        fail(Outcome::malformed, "the answer does not end: more than " +
                                     std::to_string(options_.limits.stream_bytes) +
                                     " bytes of stream came, and of tokens " + asked_for(options_.limits));
    }
    const std::size_t news = events_ - before;
    return static_cast<std::uint32_t>(news == 0 || output_before ? news : news - 1);
}

void AnswerReader::on_event(const SseEvent& event) {
    if (done_ || is_sign_of_life(event.type)) return;
    const Delta& delta = parser_->parse(event.data);
    if (event.type == "error" && delta.error.empty())
        return fail(Outcome::stream_error, error_text_of(event.data, parser_->secrets()));
    if (!delta.malformed) return on_delta(delta);
    if (is_sign_of_life(event.data)) return;
    constexpr std::size_t kShown = 60;
    fail(Outcome::malformed, are_lines_of_objects(event.data)
                                 ? std::string(kNoBlankLine)
                                 : "an event of the stream holds no JSON object: \"" +
                                       printable_line(parser_->secrets().redacted(event.data), kShown) +
                                       "\"");
}

void AnswerReader::on_delta(const Delta& delta) {
    if (done_) return;
    if (delta.impossible_count) {
        return fail(Outcome::malformed, "the server's usage holds an impossible count of tokens");
    }
    facts_.hidden_reasoning |= delta.hidden_reasoning && log_.empty();
    // Some gateways send spaces without a width while the prompt is read, to keep the connection open.
    const bool is_invisible = log_.empty() && delta.text_bytes == 3 && parser_->is_invisible();
    if (delta.has_output && !is_invisible) {
        if (log_.size() >= options_.limits.events) {
            return fail(Outcome::malformed,
                        "the answer does not end: more than " + std::to_string(options_.limits.events) +
                            " events with output came, and of tokens " + asked_for(options_.limits));
        }
        const bool is_blank_first = facts_.blank_first == log_.size() && has_blanks_alone(delta);
        on_output(delta);
        facts_.blank_first += is_blank_first ? 1 : 0;
        const std::size_t before = text_.size();
        if (options_.keep_text) parser_->append_text(delta, text_);
        if (text_.size() > before) text_before_last_ = before;
    } else {
        note_event(delta);
    }
    if (!parser_->model().empty() && !model_known_) note_model(parser_->model());
    if (delta.usage) {
        const std::int64_t prompt = delta.usage->prompt.value_or(0);
        if (facts_.first_prompt == 0) facts_.first_prompt = prompt;
        facts_.prompt_growths += prompt > record_->usage.prompt.value_or(prompt) ? 1 : 0;
        // A count that came with its own counts of the cache has all tokens.
        update(record_->usage, *delta.usage, delta.cache_written == 0 ? cache_written_ : 0);
        cache_written_ = std::max(cache_written_, delta.cache_written);
        facts_.largest_count = std::max(facts_.largest_count, delta.usage->completion.value_or(0));
    }
    if (delta.total_tokens) facts_.total = delta.total_tokens;
    if (!delta.finish_reason.empty()) {
        record_->finish_reason = delta.finish_reason;
        own_reason_ = delta.own_reason;
        if (delta.choices.empty()) note_end_of(delta.choice, delta.has_output);
        for (const ChoiceOutput& choice : delta.choices)
            if (choice.finished) note_end_of(choice.choice, choice.has_output);
    }
    if (!delta.error.empty()) return fail(Outcome::stream_error, delta.error);
    if (delta.done) {
        done_ = true;
        record_->finished = stamp_;
    }
}

bool AnswerReader::has_blanks_alone(const Delta& delta) const {
    constexpr std::uint32_t kMost = 4;  // bytes
    if (delta.text_bytes == 0 || delta.text_bytes > kMost || delta.kind != EventKind::content) return false;
    PaddedBuffer text;
    parser_->append_text(delta, text);
    return text.size() != 0 && std::ranges::all_of(text.view(), is_blank);
}

void AnswerReader::on_output(const Delta& delta) {
    ++events_;
    so_far_.add(parser_->written_output(), delta.kind, delta.text_bytes);
    if (delta.choices.empty())
        return add_chunk({delta.choice, delta.kind, delta.text_bytes, delta.token_ids},
                         delta.completion_tokens_so_far);
    for (const ChoiceOutput& choice : delta.choices)
        if (choice.has_output) add_chunk(choice, std::nullopt);  // a count is of all choices together
}

void AnswerReader::add_chunk(const ChoiceOutput& output, std::optional<std::int64_t> counted) {
    const int choice = std::clamp(output.choice, 0, kChoices - 1);
    choices_seen_ |= std::uint64_t{1} << choice;

    // The chunk is written in place, because a copy of bytes just written waits for the processor to store
    // them.
    Chunk& chunk = log_.emplace_back();
    chunk.time = stamp_;
    chunk.text_bytes = output.text_bytes;
    chunk.token_ids = output.token_ids;
    chunk.kind = output.kind;
    chunk.choice = static_cast<std::uint8_t>(choice);
    chunk.same_read = output_in_this_read_;
    chunk.kernel_stamp = kernel_stamp_;
    chunk.beyond_ascii = parser_->is_beyond_ascii();
    output_in_this_read_ = true;
    chunk.counted = static_cast<std::uint32_t>(counted.value_or(0));
    chunk.fingerprint = fingerprint_of(parser_->written_output());
    if (choices_finished_ != 0) note_output_of(chunk);
    all_counted_along_ &= counted.has_value();
}

/// Takes back an end that was stated for the choice of an event with output. If the event does not begin the
/// answer again, the end was none at all.
void AnswerReader::note_output_of(const Chunk& chunk) {
    const std::uint64_t bit = std::uint64_t{1} << chunk.choice;
    if ((choices_finished_ & bit) == 0) return;
    choices_finished_ &= ~bit;
    ++outputs_after_end_;
    if (!has_same_text(chunk, log_.front())) facts_.until_end = 0;
}

/// `has_output`: whether the event with the end has output, too. Some servers state a reason with every
/// event, which tells nothing.
void AnswerReader::note_end_of(int choice, bool has_output) {
    const std::uint64_t bit = std::uint64_t{1} << std::clamp(choice, 0, kChoices - 1);
    choices_seen_ |= bit;
    if (has_output && 2 * outputs_after_end_ >= events_) {
        choices_finished_ &= ~bit;
        ++outputs_after_end_;  // the next event may tell that this one was no end
        return;
    }
    choices_finished_ |= bit;
    if (facts_.until_end != 0) return;
    facts_.until_end = log_.size();
    text_until_end_ = text_.size();
}

/// Notes an event without output.
void AnswerReader::note_event(const Delta& delta) {
    if (!delta.progress) {  // no token is behind the news of the prompt
        ++facts_.empty_deltas;
        facts_.empty_first += log_.empty() ? 1 : 0;
    }
    const std::int64_t count = delta.usage ? delta.usage->completion.value_or(0) : 0;
    if (count > 0 && !has_end_alone_) {
        facts_.first_alone = count;
        has_end_alone_ = choices_finished_ != 0 || !delta.finish_reason.empty();
    }
    if (!delta.unknown_field.empty() && unknown_outputs_++ == 0) unknown_field_ = delta.unknown_field;
    if (!delta.whole_text_in.empty()) whole_text_in_ = delta.whole_text_in;
    foreign_ += delta.foreign ? 1 : 0;
    any_own_ |= !delta.foreign && !delta.done && !delta.usage;
}

/// Returns the beginning of the answer's body for an error. Text near a cut is not shown, because it may be a
/// part of a secret, which would not be recognised.
std::string AnswerReader::beginning() const {
    constexpr std::size_t kShown = 120;
    constexpr std::size_t kLongestSecret = 3 * kKibi;
    const std::string_view body = whole_body_.view().substr(0, kBeginning);
    if (const std::string_view packing = packing_of(body); !packing.empty())
        return fmt::format("it is {}, which its head does not say", packing);
    std::string text = parser_->secrets().redacted(body);
    if (body.size() == kBeginning) text.resize(text.size() - std::min(text.size(), kLongestSecret));
    return "it begins with \"" + printable_line(text, kShown) + '"';
}

/// Returns the error that the server wrote as the last lines of a stream, but not as an event: a JSON object,
/// the field "error" of older llama.cpp, or, after some output, any text, as proxies write it. Empty if there
/// is none.
std::string AnswerReader::last_words() const {
    constexpr std::string_view kField = "error:";
    std::string_view text = sse_.foreign_lines();
    if (!packing_of(text).empty()) return {};
    const bool is_error = text.starts_with(kField);
    if (is_error) text.remove_prefix(kField.size());
    if (std::ranges::all_of(text, is_blank)) return {};
    return is_error || !log_.empty() ? error_text_of(text, parser_->secrets())
                                     : stated_error(text, parser_->secrets());
}

void AnswerReader::note_model(std::string_view answered) {
    constexpr std::size_t kLongest = 64;
    model_known_ = true;
    if (options_.asked_model.empty() || may_be_model(options_.asked_model, answered)) return;
    record_->answered_model = printable_line(parser_->secrets().redacted(answered), kLongest);
}

void AnswerReader::fail(Outcome outcome, std::string error) {
    done_ = true;
    if (record_->outcome != Outcome::ok) return;
    record_->outcome = outcome;
    record_->error = std::move(error);
}

/// Drops counts of the server that cannot be true, so that no figure uses them.
void AnswerReader::check_counts() {
    const AnswerLimits& limits = options_.limits;
    TokenUsage& usage = record_->usage;
    std::int64_t output = std::max(usage.completion.value_or(0), usage.reasoning.value_or(0));
    for (const Chunk& chunk : log_) output = std::max<std::int64_t>(output, chunk.counted);
    const bool is_summed = output > limits.output_tokens && counts_grow(log_);
    if (is_summed) {
        usage.completion.reset();
        usage.reasoning.reset();
        all_counted_along_ = false;
        output = 0;
    }
    const std::int64_t prompt = std::max(usage.prompt.value_or(0), usage.cached_prompt.value_or(0));
    if (output > limits.output_tokens) {
        fail(Outcome::malformed, "the server's usage counts " + std::to_string(output) +
                                     " output tokens, and " + asked_for(limits));
    } else if (prompt > limits.prompt_tokens) {
        fail(Outcome::malformed, "the server's usage counts " + std::to_string(prompt) +
                                     " prompt tokens, more than the request has bytes");
    } else {
        record_->disputed_cache = usage.prompt && usage.cached_prompt > usage.prompt;
        if (record_->disputed_cache) usage.cached_prompt.reset();
        return;
    }
    usage = {};
    all_counted_along_ = false;
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
    const std::int64_t wanted = record.wanted_output_tokens.value_or(0);
    if (options_.ignore_eos_accepted && exact && output_tokens_of(record) < wanted) {
        std::string why = too_short_error(output_tokens_of(record), wanted, reason());
        if (const int came = std::popcount(choices_seen_); came > 0 && came < options_.limits.choices)
            why +=
                fmt::format("; {} of the {} choices that \"n\" asks for came", came, options_.limits.choices);
        fail(Outcome::too_short, std::move(why));
    }
    if (record.outcome == Outcome::empty) record.error += note_of_status(record.http_status);
    record_ = nullptr;
}

void AnswerReader::finish_whole(bool http_complete) {
    RequestRecord& record = *record_;
    if (any_body_) record.last_event = stamp_;
    if (!http_complete) return fail(Outcome::disconnected, "the connection broke before the answer's end");
    if (done_) return;  // the answer was too long
    const auto answer = parse_whole_answer(whole_body_.view(), parser_->secrets(), parser_->protocol());
    if (!answer && are_lines_of_objects(whole_body_.view()))
        return fail(Outcome::malformed,
                    "the answer is JSON objects in lines, as Ollama's own API sends them, and no event "
                    "stream: " +
                        beginning());
    if (!answer)
        return fail(Outcome::malformed, "the answer is neither a stream nor a JSON object: " + beginning());
    if (answer->impossible_count) {
        return fail(Outcome::malformed, "the server's usage holds an impossible count of tokens");
    }
    if (!answer->model.empty()) note_model(answer->model);
    if (answer->usage) update(record.usage, *answer->usage);
    facts_.total = answer->total_tokens;
    const bool is_certain = settle_reasoning({}, facts_, record.usage);
    if (leave_out_prompt({}, facts_, record) || !is_certain) record.token_source = TokenSource::disputed;
    check_counts();
    record.finish_reason = answer->finish_reason;
    own_reason_ = answer->own_reason;
    if (options_.keep_text) record.answer = answer->text;
    if (!answer->error.empty()) return fail(Outcome::stream_error, answer->error);
    if (record.usage.completion == 0 && answer->text_bytes != 0) record.usage.completion.reset();
    if (record.usage.completion.value_or(0) == 0 && answer->text_bytes == 0) {
        fail(Outcome::empty, "the answer contains no token: " + beginning());
    }
}

void AnswerReader::finish_stream(bool http_complete) {
    if (http_complete && !done_) {
        if (const auto event = sse_.rest()) {
            // A truncated stream leaves half an event, which does not make the stream malformed.
            if (const Delta& delta = parser_->parse(event->data); !delta.malformed)
                on_delta(delta);
            else if (are_lines_of_objects(event->data))
                fail(Outcome::malformed, std::string(kNoBlankLine));
        }
    }
    record_->answer = text_.view();
    if (options_.echoes_prompt) leave_out_echo(log_);
    const auto tokens = record_->usage.reasoning > 0 ? std::nullopt : record_->usage.completion;
    if (leave_out_repeated_text(log_, so_far_, tokens)) record_->answer.erase(0, text_before_last_);
    leave_out_summed_prompts(facts_, record_->usage);
    bool is_disputed = !settle_reasoning(log_, facts_, record_->usage);
    is_disputed |= leave_out_prompt(log_, facts_, *record_);
    check_counts();
    const std::size_t kept = events_before_repeat(log_, facts_, *record_);
    const bool goes_on = kept < log_.size();
    if (goes_on) {
        const bool is_half = facts_.until_end != kept;
        record_->answer.resize(is_half ? record_->answer.size() / 2 : text_until_end_);
        if (!is_half) choices_finished_ = choices_seen_;
        log_.resize(kept);
    }
    if (const std::size_t blanks = blanks_before_answer(log_, facts_, *record_); blanks != 0) {
        log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(blanks));
        facts_.until_end -= std::min(blanks, facts_.until_end);
    }
    write_events();
    // A single event may hold anything, such as a note of the gateway.
    record_->unseen_output = unknown_outputs_ > 1;
    facts_.all_counted = all_counted_along_;
    decide_tokens(log_, facts_, *record_);
    if (is_disputed) record_->token_source = TokenSource::disputed;
    record_->uncounted_output |= goes_on;
    derive_from_events(*record_);
    const bool is_over = done_ || all_choices_finished();
    if (const std::string said = is_over ? std::string() : last_words(); !said.empty()) {
        if (record_->outcome == Outcome::disconnected) record_->outcome = Outcome::ok;  // they say why
        fail(Outcome::stream_error, said);
    } else if (!http_complete && !done_) {
        fail(Outcome::disconnected, "the connection broke before the answer's end");
    } else if (!done_ && !any_body_) {
        fail(Outcome::empty, "the answer has no body");
    } else if ((!done_ && sse_.lines() == 0) || (log_.empty() && !packing_of(whole_body_.view()).empty())) {
        fail(Outcome::malformed, "the answer is not an event stream: " + beginning());
    } else if (log_.empty() && foreign_ > 0 && !any_own_) {
        fail(Outcome::malformed, "the events of the stream are of another kind: " + beginning());
    } else if (!done_ && !all_choices_finished()) {
        fail(Outcome::truncated,
             "the stream ended before a finish_reason" + (log_.empty() ? "; " + beginning() : std::string()));
    } else if (record_->events.empty()) {
        fail(Outcome::empty, no_token());
    }
}

/// Returns the error of a stream without any output.
std::string AnswerReader::no_token() const {
    std::string text = "the stream contained no token";
    if (!reason().empty()) text += " (finish_reason " + reason() + ")";
    if (!whole_text_in_.empty())
        text +=
            fmt::format("; the server did not stream its text, which came as a whole in {}", whole_text_in_);
    if (unknown_outputs_ > 0)
        text += fmt::format(", but text under names that are not known ({})", unknown_field_);
    return text + ": " + beginning();
}

void AnswerReader::write_events() {
    std::vector<StreamEvent>& events = record_->events;
    events.reserve(log_.size());
    for (const Chunk& chunk : log_) {
        events.push_back({chunk.time, 1, chunk.kind, chunk.same_read, chunk.kernel_stamp, chunk.choice});
    }
}

}  // namespace paretoken::protocol
