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

/// Returns whether two counts of the same tokens agree: within one token or 2 %.
bool agree(std::int64_t a, std::int64_t b) {
    return std::abs(a - b) <= std::max<std::int64_t>(1, b / 50);
}

/// The counts that the server sent with the events, read in the two ways that servers use.
struct CountsAlong {
    std::int64_t as_total = 0;  ///< Σ over choices of the largest count: each count is a running total
    std::int64_t as_sum = 0;    ///< Σ over events: each count is of its event alone
    std::size_t growths = 0;    ///< events whose count is above that of the choice's event before
    bool falls = false;         ///< whether a count is below that of the choice's event before
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
        counts.choices += now > 0 && most[chunk.choice] == 0 ? 1 : 0;
        counts.falls |= now < before[chunk.choice];
        before[chunk.choice] = now;
        counts.as_total += std::max<std::int64_t>(0, now - most[chunk.choice]);
        most[chunk.choice] = std::max(most[chunk.choice], now);
        counts.last = now;
    }
    return counts;
}

enum class Meaning : std::uint8_t { running_total, of_the_event, none };

/// Returns how the counts along the stream are to be read. Every event brought output, so that counts which
/// amount to less than a token for two events cannot be true. A total that came by itself, without output,
/// decides; without one, running totals are those that grow and never fall.
Meaning meaning_of(const CountsAlong& counts, std::size_t events, std::optional<std::int64_t> completion) {
    const auto enough = [&](std::int64_t tokens) { return 2 * tokens >= static_cast<std::int64_t>(events); };
    const bool has_own_total = completion && *completion != counts.last;
    const bool grow = counts.growths > counts.choices;
    const bool are_totals = !counts.falls && (has_own_total ? agree(counts.as_total, *completion) : grow);
    if (are_totals && enough(counts.as_total)) return Meaning::running_total;
    const bool are_parts = has_own_total ? agree(counts.as_sum, *completion) : counts.falls || !grow;
    if (are_parts && enough(counts.as_sum)) return Meaning::of_the_event;
    return Meaning::none;
}

void take_running_totals(std::span<const Chunk> chunks, std::vector<StreamEvent>& events) {
    std::array<std::uint32_t, kChoices> so_far{};
    for (std::size_t i = 0; i < events.size(); ++i) {
        std::uint32_t& before = so_far[chunks[i].choice];
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

/// Returns whether the text can hold so many tokens. A token has at least one byte, with the exception of
/// special tokens, which servers send as events without text or hide at the end of an answer.
bool text_holds(std::int64_t tokens, std::span<const Chunk> chunks, const StreamFacts& facts) {
    constexpr std::size_t kHidden = 16;
    std::uint64_t most = chunks.size() + facts.empty_deltas + kHidden;
    for (const Chunk& chunk : chunks) most += chunk.text_bytes;
    return tokens <= static_cast<std::int64_t>(most);
}

}  // namespace

void decide_tokens(std::span<const Chunk> chunks, const StreamFacts& facts, RequestRecord& record) {
    std::vector<StreamEvent>& events = record.events;
    TokenUsage& usage = record.usage;
    record.token_source = TokenSource::one_per_chunk;
    if (events.empty()) return;
    const bool counts_nothing = usage.completion == 0;
    if (counts_nothing) usage.completion.reset();
    if (usage.prompt == 0) usage.prompt.reset();

    const auto count = static_cast<std::int64_t>(events.size());
    const bool reasoning_streamed = std::any_of(
        chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.kind == EventKind::reasoning; });
    const std::int64_t unseen_reasoning = reasoning_streamed ? 0 : usage.reasoning.value_or(0);
    record.unseen_output |= unseen_reasoning > 0;

    if (facts.all_counted) {
        const CountsAlong counts = counts_along(chunks);
        switch (meaning_of(counts, events.size(), usage.completion)) {
            case Meaning::running_total:
                record.token_source = TokenSource::chunk_usage;
                return take_running_totals(chunks, events);
            case Meaning::of_the_event:
                record.token_source = TokenSource::chunk_usage;
                for (std::size_t i = 0; i < events.size(); ++i) events[i].tokens = chunks[i].counted;
                usage.completion = std::max(counts.as_sum, usage.completion.value_or(0));
                return;
            case Meaning::none:
                break;
        }
    }
    if (std::all_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.token_ids != 0; })) {
        record.token_source = TokenSource::token_ids;
        for (std::size_t i = 0; i < events.size(); ++i) events[i].tokens = chunks[i].token_ids;
        return;
    }
    const std::int64_t streamed = usage.completion.value_or(0) - unseen_reasoning;
    if (streamed <= 0) {
        if (counts_nothing) record.token_source = TokenSource::disputed;
    } else if (!text_holds(streamed, chunks, facts)) {
        record.token_source = TokenSource::disputed;
        usage.completion.reset();
    } else if (agree(count, streamed)) {
        record.token_source = TokenSource::one_per_event;
    } else {
        record.token_source = TokenSource::usage_by_text;
        spread_by_text(chunks, static_cast<std::uint64_t>(streamed), events);
    }
}

}  // namespace paretoken::protocol
