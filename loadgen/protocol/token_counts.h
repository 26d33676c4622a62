#pragma once
// Decides how many tokens each event of a streamed answer brought. The server's counts are checked against
// the stream first, because gateways send zeros, counts per event instead of running totals, and totals that
// the text cannot hold. Pure functions without I/O.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/record/record.h"

namespace paretoken::protocol {

/// One event with output, with the values that decide its tokens once the whole answer is known.
struct Chunk {
    TimePoint time;
    std::uint32_t text_bytes = 0;
    std::uint32_t token_ids = 0;    ///< number of token ids; 0 means none given
    std::uint32_t counted = 0;      ///< output tokens that the server counted in this event; 0 if none
    std::uint32_t fingerprint = 0;  ///< of its text (repeated_text.h)
    EventKind kind = EventKind::content;
    std::uint8_t choice = 0;  ///< index of its choice
    bool same_read = false;
    bool kernel_stamp = true;
    bool beyond_ascii = false;  ///< whether its text has letters that may be several tokens
};

/// What is known of a stream besides its events with output.
struct StreamFacts {
    bool all_counted = false;      ///< whether every event with output had a count of tokens
    std::size_t empty_deltas = 0;  ///< events without output; a token without visible text may be behind each
    std::size_t empty_first = 0;   ///< those of them that came before the first output
    std::int64_t largest_count = 0;          ///< the largest count of output tokens that any event had
    std::optional<std::int64_t> total = {};  ///< the sum of prompt and output tokens that was stated last
    std::size_t blank_first = 0;             ///< events with blanks alone before the first other output
    std::size_t until_end = 0;  ///< events with output before the first that stated a reason of the end
    /// The first count above zero of an event without output at the end (without one, the last); 0 if none.
    std::int64_t first_alone = 0;
    bool hidden_reasoning = false;   ///< whether reasoning without text was announced before the first output
    std::int64_t first_prompt = 0;   ///< the first count of the prompt's tokens above zero; 0 if none
    std::size_t prompt_growths = 0;  ///< counts of the prompt's tokens above the one before
};

inline constexpr std::int64_t kFewestEvents = 8;  ///< fewer events may agree with a count by chance

/// Returns whether two counts of the same tokens agree: within one token or 2 %.
bool agree(std::int64_t a, std::int64_t b);

/// Returns whether the counts along the stream grow with most of at least eight events.
bool counts_grow(std::span<const Chunk> chunks);

/// Takes the first count of the prompt's tokens if later ones grew, because some gateways add them up.
void leave_out_summed_prompts(const StreamFacts& facts, TokenUsage& usage);

/// Corrects a usage that counts more reasoning than output. The reasoning is a part of the output if the
/// total is that of prompt and output, or the events are as many as its tokens, or the difference is a few
/// tokens, which servers count past a stop. It comes besides, and is added, if the text without it has the
/// counted tokens. Otherwise it is taken as a part. Returns false if it is not certain which is true.
bool settle_reasoning(std::span<const Chunk> chunks, const StreamFacts& facts, TokenUsage& usage);

/// Takes the prompt's tokens out of all counts of output, if these include them: they are above the limit of
/// the request (record.wanted_output_tokens) by the prompt, or the usage states a total that is no larger,
/// and the events are as many as the other tokens. Returns whether they did.
bool leave_out_prompt(std::span<Chunk> chunks, StreamFacts& facts, RequestRecord& record);

/// Sets the tokens of record.events, which belong one to one to `chunks`, and record.token_source. Corrects
/// record.usage: a count of zero that the stream contradicts becomes absent, and so does a total that is more
/// than the text can hold, less than it must have, or the number of its bytes; counts per event become their
/// sum, and that of one of several choices becomes the number of events; one above the limit of the request
/// becomes the number of events, or the limit. Without a count, the limit is the estimate if it ended the
/// answer. record.unseen_output tells of tokens before the first or after the last output, which events leave
/// out.
void decide_tokens(std::span<const Chunk> chunks, const StreamFacts& facts, RequestRecord& record);

}  // namespace paretoken::protocol
