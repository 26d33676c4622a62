#include "loadgen/protocol/token_counts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <queue>
#include <utility>
#include <vector>

namespace paretoken::protocol {
namespace {

constexpr std::size_t kChoices = 64;
/// The counts that the server sent with the events, read in the two ways that servers use.
struct CountsAlong {
    std::int64_t as_total = 0;  ///< Σ over choices of the largest count: each count is a running total
    std::int64_t first = 0;     ///< Σ over choices of the first count above zero
    std::int64_t as_sum = 0;    ///< Σ over events: each count is of its event alone
    std::size_t growths = 0;    ///< events whose count is above that of the choice's event before
    bool falls = false;         ///< whether a count is below that of the choice's event before
    bool grows_always = true;   ///< whether each count is above that of the event before, of any choice
    std::size_t choices = 0;    ///< number of choices that had a count above zero
    std::int64_t last = 0;      ///< count of the last event
};

CountsAlong counts_along(std::span<const Chunk> chunks) {
    CountsAlong counts;
    std::array<std::int64_t, kChoices> before{};
    std::array<std::int64_t, kChoices> most{};
    for (const Chunk& chunk : chunks) {
        const std::int64_t now = chunk.counted;
        counts.as_sum += now;
        counts.growths += now > before[chunk.choice] ? 1 : 0;
        const bool is_first = now > 0 && most[chunk.choice] == 0;
        counts.choices += is_first ? 1 : 0;
        counts.first += is_first ? now : 0;
        counts.falls |= now < before[chunk.choice];
        counts.grows_always &= now > counts.last;
        before[chunk.choice] = now;
        counts.as_total += std::max<std::int64_t>(0, now - most[chunk.choice]);
        most[chunk.choice] = std::max(most[chunk.choice], now);
        counts.last = now;
    }
    return counts;
}

enum class Meaning : std::uint8_t { running_total, total_of_choices, of_the_event, none };

/// Returns whether the counts are running totals of one choice that end below its `tokens`: they never fall,
/// grow with most events, and do so by one with each, or their sum is above all tokens.
bool end_below(const CountsAlong& counts, std::size_t events, std::int64_t tokens) {
    constexpr std::size_t kFewest = 3;
    const bool grow = counts.growths >= kFewest && 2 * counts.growths > events && !counts.falls;
    const bool by_one = counts.as_total - counts.first + 1 == static_cast<std::int64_t>(events);
    return grow && counts.choices == 1 && counts.as_total < tokens && (by_one || counts.as_sum > tokens);
}

/// Returns how the counts along the stream are to be read. Every event brought output, so that counts which
/// amount to less than a token for two events cannot be true. A total that came by itself, without output,
/// decides; without one, running totals are those that grow and never fall. If they grow with every event of
/// several choices, up to that total, they count all choices together. Counts that stay the same from the
/// first event to such a total, or that sum up to or grow by more than `most` tokens, tell nothing of the
/// events. Totals that grow along the stream and end below the total of the answer are running totals, too:
/// the remaining tokens were generated at the end without being shown.
Meaning meaning_of(const CountsAlong& counts, std::size_t events, std::optional<std::int64_t> completion,
                   bool counted_alone, std::int64_t most) {
    const auto enough = [&](std::int64_t tokens) { return 2 * tokens >= static_cast<std::int64_t>(events); };
    if (counts.as_total - counts.first > most) return Meaning::none;
    if (counts.choices > 1 && counts.grows_always && counted_alone && completion &&
        agree(counts.last, *completion))
        return Meaning::total_of_choices;
    const bool repeats_total = completion && counted_alone && enough(*completion);
    const bool has_own_total = completion && (*completion != counts.last || repeats_total);
    const bool grow = counts.growths > counts.choices;
    const bool are_totals = !counts.falls && (has_own_total ? agree(counts.as_total, *completion) : grow);
    const bool tell_events = grow || events <= counts.choices;
    if (are_totals && tell_events && enough(counts.as_total)) return Meaning::running_total;
    const bool are_parts = has_own_total ? agree(counts.as_sum, *completion) : counts.falls || !grow;
    if (are_parts && enough(counts.as_sum) && counts.as_sum <= most) return Meaning::of_the_event;
    return end_below(counts, events, completion.value_or(0)) ? Meaning::running_total : Meaning::none;
}

/// `together`: whether the counts are of all choices together.
void take_running_totals(std::span<const Chunk> chunks, bool together, std::vector<StreamEvent>& events) {
    std::array<std::uint32_t, kChoices> so_far{};
    for (std::size_t i = 0; i < events.size(); ++i) {
        std::uint32_t& before = so_far[together ? 0 : chunks[i].choice];
        events[i].tokens = chunks[i].counted > before ? chunks[i].counted - before : 0;
        before += events[i].tokens;
    }
}

/// Gives each event without tokens one token of the event with most, if there are enough tokens for all
/// events. Every event brought some text, and the first event gives the time of the first token.
void leave_none_without(std::vector<StreamEvent>& events, std::uint64_t tokens) {
    if (tokens < events.size()) return;
    std::priority_queue<std::pair<std::uint32_t, std::size_t>> most;  // tokens and position
    for (std::size_t i = 0; i < events.size(); ++i)
        if (events[i].tokens > 1) most.emplace(events[i].tokens, i);
    for (StreamEvent& event : events) {
        if (event.tokens > 0 || most.empty()) continue;
        const std::size_t giver = most.top().second;
        most.pop();
        --events[giver].tokens;
        ++event.tokens;
        if (events[giver].tokens > 1) most.emplace(events[giver].tokens, giver);
    }
}

/// Spreads `tokens` over the events by the running sum of their text, so that the events up to any one have
/// the tokens of their share of the text, rounded down. If there are fewer tokens than events, the first
/// event has one token and the last one ends the sum: the pooled gaps then have the same mean as the time per
/// output token.
void spread_by_text(std::span<const Chunk> chunks, std::uint64_t tokens, std::vector<StreamEvent>& events) {
    // tokens ≤ kMostTokens and the text has less than 2^33 bytes: products stay within 64 bits.
    const auto weight = [&](std::size_t i) -> std::uint64_t {
        return std::max<std::uint32_t>(1, chunks[i].text_bytes);
    };
    std::size_t first = 0;
    if (tokens < events.size()) {
        events[0].tokens = 1;
        --tokens;
        first = 1;
    }
    std::uint64_t whole = 0;
    for (std::size_t i = first; i < events.size(); ++i) whole += weight(i);
    std::uint64_t sum = 0;
    std::uint64_t given = 0;
    for (std::size_t i = first; i < events.size(); ++i) {
        sum += weight(i);
        const std::uint64_t due = tokens * sum / whole;
        events[i].tokens = static_cast<std::uint32_t>(due - given);
        given = due;
    }
    if (first == 0) leave_none_without(events, tokens);
}

/// Returns the number of tokens that the text can hold. A token has at least one byte, with the exception of
/// special tokens, which servers send as events without text or hide at the end of an answer.
std::int64_t most_tokens(std::span<const Chunk> chunks, const StreamFacts& facts) {
    constexpr std::size_t kHidden = 16;
    std::uint64_t most = chunks.size() + facts.empty_deltas + kHidden;
    for (const Chunk& chunk : chunks) most += chunk.text_bytes;
    return static_cast<std::int64_t>(most);
}

/// Returns the count of all output tokens. It is the last one, unless a gateway counted again what it passed
/// on: fewer tokens than events, or another total than an earlier one that the events confirm.
std::int64_t total_of(std::int64_t last, std::int64_t events, std::int64_t most, const StreamFacts& facts) {
    if (agree(events, last)) return last;
    if (events >= kFewestEvents && facts.first_alone > 0 && agree(events, facts.first_alone))
        return facts.first_alone;
    const bool larger_fits = facts.largest_count >= events && facts.largest_count <= most;
    return last < events && larger_fits ? facts.largest_count : last;
}

/// Returns `tokens` without the reasoning, if they count it twice: the events, of which those with reasoning
/// are as many as its tokens, are as many as the others.
std::int64_t without_second_reasoning(std::int64_t tokens, std::span<const Chunk> chunks,
                                      std::int64_t reasoning) {
    const auto events = static_cast<std::int64_t>(chunks.size());
    const auto thoughts = std::ranges::count(chunks, EventKind::reasoning, &Chunk::kind);
    const bool is_twice = thoughts >= kFewestEvents && agree(thoughts, reasoning) && !agree(events, tokens) &&
                          agree(events, tokens - reasoning);
    return is_twice ? tokens - reasoning : tokens;
}

/// Returns the tokens of an answer whose count cannot be true because of the request's limit: it is above the
/// limit, because it has tokens of attempts that failed before, for example, or of drafts that were rejected;
/// or it is below, although the limit ended the answer. They are as many as the events, or as the limit if
/// the text has no more. Nothing if the count may be right.
std::optional<std::int64_t> tokens_within_limit(std::int64_t tokens, std::span<const Chunk> chunks,
                                                const RequestRecord& record) {
    constexpr std::int64_t kLongestToken = 8;  // bytes in the mean
    const auto events = static_cast<std::int64_t>(chunks.size());
    const std::int64_t limit = record.wanted_output_tokens.value_or(0);
    const bool ended_by_limit = record.finish_reason == "length";
    if (limit <= 0 || tokens <= 0 || agree(tokens, limit) || agree(events, tokens) ||
        record.usage.reasoning > 0 || events < kFewestEvents || (tokens < limit && !ended_by_limit))
        return std::nullopt;
    if (agree(events, limit)) return events;
    if (tokens < limit || !ended_by_limit) return std::nullopt;
    std::int64_t bytes = 0;
    for (const Chunk& chunk : chunks) bytes += chunk.text_bytes;
    return events < limit && bytes <= kLongestToken * limit ? std::optional(limit) : std::nullopt;
}

/// Returns the number of choices if `tokens` are those of one of several: each has as many events.
std::int64_t uncounted_choices(std::int64_t tokens, std::span<const Chunk> chunks) {
    std::array<std::int64_t, kChoices> events{};
    for (const Chunk& chunk : chunks) ++events[chunk.choice];
    std::int64_t choices = 0;
    for (const std::int64_t own : events) {
        if (own == 0) continue;
        if (own < kFewestEvents || !agree(own, tokens)) return 1;
        ++choices;
    }
    return choices;
}

/// The text of the events of some kinds.
struct Shown {
    std::int64_t events = 0;
    std::int64_t bytes = 0;
    std::int64_t beyond_ascii = 0;  ///< events with letters beyond ASCII

    /// Returns whether the text is too short for its tokens: they are at least two for each event, and have
    /// less than 1.5 bytes each, or less than one where each byte of a letter may be a token. Some of them
    /// were then probably generated without being shown.
    bool is_too_short_for(std::int64_t tokens) const {
        const int half_bytes = 2 * beyond_ascii >= events ? 2 : 3;
        return tokens >= 2 * events && 2 * bytes < half_bytes * tokens;
    }
};

Shown shown(std::span<const Chunk> chunks, std::optional<EventKind> kind = std::nullopt) {
    Shown sum;
    for (const Chunk& chunk : chunks) {
        if (kind && chunk.kind != *kind) continue;
        ++sum.events;
        sum.bytes += chunk.text_bytes;
        sum.beyond_ascii += chunk.beyond_ascii ? 1 : 0;
    }
    return sum;
}

/// Returns whether `hidden` tokens may have been generated before the first event, as fast as the `others`
/// that the events show.
bool had_time_for(std::int64_t hidden, std::int64_t others, std::span<const Chunk> chunks,
                  const RequestRecord& record) {
    constexpr double kFaster = .7;  // the context grows, so that the first tokens are the faster ones
    if (!record.sent) return true;
    if (others < 2) return false;  // the events show nearly nothing but the reasoning
    const double before = seconds(chunks.front().time - *record.sent);
    const double each = seconds(chunks.back().time - chunks.front().time) / static_cast<double>(others - 1);
    return before >= kFaster * each * static_cast<double>(hidden);
}

/// Returns the number of tokens of reasoning that no event showed. Reasoning may be part of the text
/// ("<think>"): there is then an event for each token, or there are more events than other tokens, and less
/// time before the first event than the reasoning takes. A few events with reasoning may be a summary of it.
std::int64_t unseen_reasoning(std::span<const Chunk> chunks, const RequestRecord& record) {
    const TokenUsage& usage = record.usage;
    const std::int64_t reasoning = usage.reasoning.value_or(0);
    const Shown thoughts = shown(chunks, EventKind::reasoning);
    if (thoughts.events > 0) return thoughts.is_too_short_for(reasoning) ? reasoning - thoughts.events : 0;
    if (!usage.completion) return reasoning;
    const auto events = static_cast<std::int64_t>(chunks.size());
    const std::int64_t others = *usage.completion - reasoning;
    const bool more_than_others = events > others && !agree(events, others);
    const bool in_text = more_than_others && (agree(events, *usage.completion) ||
                                              !had_time_for(reasoning, others, chunks, record));
    return in_text ? 0 : reasoning;
}

/// Returns the number of tokens that were generated before the first output without being shown: one for
/// each event without output, if they are as many as the tokens for which no event with output came (the
/// first event mostly states a role only, which is no token); or those of reasoning that the protocol
/// announced. The text then tells the other tokens: one for each event, or more where events are longer.
std::int64_t hidden_before_output(std::int64_t tokens, std::span<const Chunk> chunks,
                                  const StreamFacts& facts, const RequestRecord& record) {
    constexpr std::int64_t kFewest = 3;
    constexpr std::int64_t kLongToken = 8, kToken = 4;  // bytes
    const auto events = static_cast<std::int64_t>(chunks.size());
    const auto empty = static_cast<std::int64_t>(facts.empty_first);
    const std::int64_t missing = tokens - events;
    if (missing >= kFewest && (missing == empty || missing == empty - 1)) return missing;
    const Shown all = shown(chunks);
    if (!facts.hidden_reasoning || shown(chunks, EventKind::reasoning).events > 0) return 0;
    const std::int64_t others = all.bytes <= kLongToken * events ? events : all.bytes / kToken;
    const std::int64_t hidden = tokens - others;
    return hidden >= kFewest && !agree(others, tokens) && had_time_for(hidden, others, chunks, record)
               ? hidden
               : 0;
}

/// Takes tokens that no event showed from the first event with more tokens than these.
void leave_out(std::int64_t unseen, std::vector<StreamEvent>& events) {
    const auto found = std::find_if(events.begin(), events.end(),
                                    [&](const StreamEvent& event) { return event.tokens > unseen; });
    if (found != events.end()) found->tokens -= static_cast<std::uint32_t>(unseen);
}

/// Returns whether `tokens` cannot be all output: the text has more bytes for each of them than any real text
/// has, or events of the answer alone have as many, so that the reasoning beside them is not counted.
bool leaves_out_text(std::int64_t tokens, std::span<const Chunk> chunks) {
    constexpr std::int64_t kLongestToken = 16;  // bytes in the mean
    const Shown all = shown(chunks);
    const std::int64_t thoughts = shown(chunks, EventKind::reasoning).events;
    const std::int64_t others = all.events - thoughts;
    const bool counts_others_only =
        others >= kFewestEvents && agree(others, tokens) && !agree(all.events, tokens) && thoughts > 0;
    return counts_others_only || (all.events >= 2 * tokens && all.bytes > kLongestToken * tokens);
}

/// Returns whether more events with text came than `tokens`. A call of a tool may have several for a token.
bool has_more_events(std::int64_t tokens, std::span<const Chunk> chunks) {
    const std::int64_t events = shown(chunks).events - shown(chunks, EventKind::tool_call).events;
    return events > tokens && !agree(events, tokens);
}

/// Returns the number of token ids or log probabilities of all events; 0 if an event has none.
std::int64_t ids_of(std::span<const Chunk> chunks) {
    std::int64_t sum = 0;
    for (const Chunk& chunk : chunks) {
        if (chunk.token_ids == 0) return 0;
        sum += chunk.token_ids;
    }
    return sum;
}

/// Returns whether `tokens` are the bytes of the text, and more than were asked for.
bool counts_bytes(std::int64_t tokens, std::span<const Chunk> chunks, std::optional<std::int64_t> wanted) {
    const Shown all = shown(chunks);
    return wanted && tokens > *wanted && all.events >= kFewestEvents && agree(all.bytes, tokens);
}

/// Sets the tokens of the events by the counts that came with them. Returns false if these tell nothing.
bool take_counts_along(std::span<const Chunk> chunks, const StreamFacts& facts, std::int64_t unseen,
                       RequestRecord& record) {
    std::vector<StreamEvent>& events = record.events;
    TokenUsage& usage = record.usage;
    const CountsAlong counts = counts_along(chunks);
    std::int64_t most = most_tokens(chunks, facts);
    if (record.wanted_output_tokens) most = std::min(most, 2 * *record.wanted_output_tokens - 1);
    const Meaning meaning = meaning_of(counts, events.size(), usage.completion, facts.first_alone > 0, most);
    switch (meaning) {
        case Meaning::none:
            return false;
        case Meaning::running_total:
        case Meaning::total_of_choices:
            take_running_totals(chunks, meaning == Meaning::total_of_choices, events);
            if (unseen > 0) leave_out(unseen, events);
            record.unseen_output |=
                counts.as_total < usage.completion && !agree(counts.as_total, *usage.completion);
            break;
        case Meaning::of_the_event:
            for (std::size_t i = 0; i < events.size(); ++i) events[i].tokens = chunks[i].counted;
            usage.completion = std::max(counts.as_sum, usage.completion.value_or(0));
            break;
    }
    record.token_source = TokenSource::chunk_usage;
    return true;
}

/// Returns the limit of the request if it is what ended an answer whose tokens the server did not count. Each
/// of them has two bytes of text at least.
std::optional<std::int64_t> limit_that_ended(std::span<const Chunk> chunks, const RequestRecord& record) {
    constexpr std::array<std::string_view, 4> kByLimit = {"length", "max_tokens", "MAX_TOKENS",
                                                          "max_output_tokens"};
    const bool is_ended = std::ranges::find(kByLimit, record.finish_reason) != kByLimit.end();
    const bool is_one = std::ranges::all_of(chunks, [](const Chunk& chunk) { return chunk.choice == 0; });
    const std::int64_t limit = record.wanted_output_tokens.value_or(0);
    if (!is_ended || !is_one || limit <= static_cast<std::int64_t>(chunks.size())) return std::nullopt;
    return shown(chunks).bytes >= 2 * limit ? std::optional(limit) : std::nullopt;
}

}  // namespace

bool agree(std::int64_t a, std::int64_t b) {
    return std::abs(a - b) <= std::max<std::int64_t>(1, b / 50);
}

bool counts_grow(std::span<const Chunk> chunks) {
    const std::size_t growths = counts_along(chunks).growths;
    return growths >= static_cast<std::size_t>(kFewestEvents) && 2 * growths >= chunks.size();
}

void leave_out_summed_prompts(const StreamFacts& facts, TokenUsage& usage) {
    constexpr std::size_t kFewest = 3;
    if (facts.prompt_growths >= kFewest) usage.prompt = facts.first_prompt;
}

bool settle_reasoning(std::span<const Chunk> chunks, const StreamFacts& facts, TokenUsage& usage) {
    constexpr std::int64_t kFew = 8;
    if (!usage.completion || usage.reasoning.value_or(0) <= *usage.completion) return true;
    const std::int64_t tokens = *usage.completion;
    const std::int64_t reasoning = *usage.reasoning;
    const Shown all = shown(chunks);
    const Shown thoughts = shown(chunks, EventKind::reasoning);
    const auto has_event_each = [&](std::int64_t events) {
        return thoughts.events > 0 && events >= kFewestEvents && agree(events, tokens);
    };
    const bool has_total = facts.total && usage.prompt && *facts.total == *usage.prompt + tokens;
    const bool has_answer = has_event_each(all.events - thoughts.events);
    const bool is_few = reasoning - tokens <= std::min(kFew, tokens / 2);
    const bool is_dense = thoughts.events > 0
                              ? 2 * (all.bytes - thoughts.bytes) * reasoning >= thoughts.bytes * tokens
                              : !is_few && !all.is_too_short_for(tokens);
    const bool is_part = has_total || (!has_answer && has_event_each(all.events));
    const bool is_beside = !is_part && (has_answer || (!is_few && is_dense));
    usage.completion = tokens + (is_beside ? reasoning : 0);
    usage.reasoning = std::min(reasoning, *usage.completion);
    return is_part || has_answer || is_few != is_dense;
}

bool leave_out_prompt(std::span<Chunk> chunks, StreamFacts& facts, RequestRecord& record) {
    TokenUsage& usage = record.usage;
    const std::int64_t prompt = usage.prompt.value_or(0);
    const std::int64_t all = usage.completion.value_or(0);
    const std::int64_t others = all - prompt;
    const auto events = static_cast<std::int64_t>(chunks.size());
    if (prompt <= 0 || others <= 0 || usage.reasoning > 0 || agree(events, all)) return false;
    const bool above_limit = record.wanted_output_tokens && all > *record.wanted_output_tokens &&
                             others <= *record.wanted_output_tokens;
    const bool as_events = events >= kFewestEvents && agree(events, others);
    const bool included = facts.total == all
                              ? above_limit || as_events
                              : above_limit && (as_events || others == *record.wanted_output_tokens);
    if (!included) return false;
    usage.completion = others;
    facts.largest_count = std::max<std::int64_t>(0, facts.largest_count - prompt);
    facts.first_alone = std::max<std::int64_t>(0, facts.first_alone - prompt);
    if (std::ranges::all_of(chunks, [&](const Chunk& chunk) { return chunk.counted > prompt; }))
        for (Chunk& chunk : chunks) chunk.counted -= static_cast<std::uint32_t>(prompt);
    return true;
}

void decide_tokens(std::span<const Chunk> chunks, const StreamFacts& facts, RequestRecord& record) {
    std::vector<StreamEvent>& events = record.events;
    TokenUsage& usage = record.usage;
    record.token_source = TokenSource::one_per_chunk;
    if (events.empty()) return;
    const bool counts_nothing = usage.completion == 0;
    if (counts_nothing) usage.completion.reset();
    if (usage.prompt == 0) usage.prompt.reset();

    const auto count = static_cast<std::int64_t>(events.size());
    const std::int64_t most = most_tokens(chunks, facts);
    if (usage.completion) {
        usage.completion = total_of(*usage.completion, count, most, facts);
        usage.completion = without_second_reasoning(*usage.completion, chunks, usage.reasoning.value_or(0));
    }
    if (usage.completion && uncounted_choices(*usage.completion, chunks) > 1) {
        usage.completion = count;
        record.token_source = TokenSource::disputed;
        return;
    }
    if (const auto within = tokens_within_limit(usage.completion.value_or(0), chunks, record)) {
        usage.completion = within;
        record.token_source = TokenSource::disputed;
        if (*within != count) spread_by_text(chunks, static_cast<std::uint64_t>(*within), events);
        return;
    }
    const std::int64_t reasoning = unseen_reasoning(chunks, record);
    const std::int64_t unseen =
        reasoning > 0 ? reasoning : hidden_before_output(usage.completion.value_or(0), chunks, facts, record);
    record.unseen_output |= unseen > 0;

    if (facts.all_counted && take_counts_along(chunks, facts, unseen, record)) return;
    const std::int64_t streamed = usage.completion.value_or(0) - unseen;
    if (const std::int64_t ids = ids_of(chunks); ids > 0 && (streamed <= 0 || agree(ids, streamed))) {
        record.token_source = TokenSource::token_ids;
        for (std::size_t i = 0; i < events.size(); ++i) events[i].tokens = chunks[i].token_ids;
        return;
    }
    if (streamed <= 0) {
        const auto limit = usage.completion ? std::nullopt : limit_that_ended(chunks, record);
        if (limit) spread_by_text(chunks, static_cast<std::uint64_t>(*limit), events);
        if (limit || counts_nothing) record.token_source = TokenSource::disputed;
    } else if (agree(count, streamed)) {
        record.token_source = TokenSource::one_per_event;
    } else if (streamed > most || leaves_out_text(streamed, chunks) ||
               counts_bytes(streamed, chunks, record.wanted_output_tokens)) {
        record.token_source = TokenSource::disputed;
        usage.completion.reset();
    } else {
        record.token_source = TokenSource::usage_by_text;
        record.unseen_output |= shown(chunks).is_too_short_for(streamed);
        record.uncounted_output = has_more_events(streamed, chunks);
        spread_by_text(chunks, static_cast<std::uint64_t>(streamed), events);
    }
}

}  // namespace paretoken::protocol
