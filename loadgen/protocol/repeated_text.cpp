#include "loadgen/protocol/repeated_text.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace paretoken::protocol {
namespace {

bool has_several_choices(std::span<const Chunk> chunks) {
    return std::ranges::any_of(chunks,
                               [&](const Chunk& chunk) { return chunk.choice != chunks.front().choice; });
}

/// Returns whether the events after the first `period` repeat these, whole or in part.
bool repeats(std::span<const Chunk> chunks, std::size_t period) {
    return std::ranges::equal(chunks.subspan(period), chunks.first(chunks.size() - period), has_same_text);
}

/// Returns the bytes of the events with which their run of one kind ends.
std::uint64_t bytes_of_last_events(std::span<const Chunk> chunks) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i)
        if (i + 1 == chunks.size() || chunks[i + 1].kind != chunks[i].kind) bytes += chunks[i].text_bytes;
    return bytes;
}

/// Returns whether `tokens` are too many for the text of the last events, and not for that of all events:
/// texts that grow and begin alike are then all new.
bool count_all_events(std::int64_t tokens, std::span<const Chunk> chunks) {
    constexpr std::uint64_t kShortest = 2, kLongest = 8;  // bytes of a token in the mean
    if (std::ranges::any_of(chunks, &Chunk::beyond_ascii)) return false;
    std::uint64_t all = 0;
    for (const Chunk& chunk : chunks) all += chunk.text_bytes;
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(0, tokens));
    return bytes_of_last_events(chunks) < kShortest * count && all <= kLongest * count;
}

}  // namespace

std::uint32_t fingerprint_of(std::string_view text) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
    std::uint64_t first = 0, last = 0;
    // Copies of a constant size are single instructions; the two overlap in a short text.
    const auto take = [&]<class Word>(Word) {
        Word word{};
        std::memcpy(&word, text.data(), sizeof(Word));
        first = word;
        std::memcpy(&word, text.data() + text.size() - sizeof(Word), sizeof(Word));
        last = word;
    };
    if (text.size() >= sizeof(std::uint64_t))
        take(std::uint64_t{});
    else if (text.size() >= sizeof(std::uint32_t))
        take(std::uint32_t{});
    else if (!text.empty())
        for (const char byte : text) first = first << 8U | static_cast<unsigned char>(byte);
    const std::uint64_t mixed = (first * kFactor + last + text.size()) * kFactor;
    return static_cast<std::uint32_t>(mixed >> 32U);
}

bool has_same_text(const Chunk& a, const Chunk& b) {
    return a.text_bytes == b.text_bytes && a.kind == b.kind && a.fingerprint == b.fingerprint;
}

void TextSoFar::Beginning::append(std::string_view text) {
    const std::size_t count = std::min(text.size(), bytes.size() - size);
    std::copy_n(text.begin(), count, bytes.begin() + static_cast<std::ptrdiff_t>(size));
    size += count;
}

bool TextSoFar::Beginning::begins(std::string_view text) const {
    return size != 0 && text.starts_with(std::string_view(bytes.data(), size));
}

void TextSoFar::compare(std::string_view written, EventKind kind, std::uint32_t bytes) {
    if (sum_ != 0 && kind == kind_) grows_ &= latest_.begins(written);
    last_has_all_ = bytes == sum_ && all_.begins(written);
    kind_ = kind;
    latest_.size = 0;
    latest_.append(written);
    all_.append(written);
}

bool leave_out_repeated_text(std::span<Chunk> chunks, const TextSoFar& text,
                             std::optional<std::int64_t> tokens) {
    constexpr std::size_t kFewest = 6;
    constexpr std::size_t kMostKinds = 2;
    constexpr std::size_t kMorePerKind = 2;  // so that chance grows as seldom in two runs as in one
    if (chunks.size() < kFewest || has_several_choices(chunks)) return false;
    std::uint64_t before_last = 0;
    std::size_t kinds = 1;  // runs of events of one kind, each of which may begin with a text of its own
    bool grows = text.grows();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (i > 0 && chunks[i].kind != chunks[i - 1].kind)
            ++kinds;
        else if (i > 0)
            grows &= chunks[i].text_bytes > chunks[i - 1].text_bytes;
        if (i + 1 < chunks.size()) before_last += chunks[i].text_bytes;
    }
    const bool is_answer = kinds == 1 && chunks[0].kind == EventKind::content;
    if (grows && kinds <= kMostKinds && chunks.size() >= kFewest + kMorePerKind * (kinds - 1)) {
        if (count_all_events(tokens.value_or(0), chunks)) return false;
        for (std::size_t i = chunks.size() - 1; i > 0; --i)
            if (chunks[i].text_bytes > chunks[i - 1].text_bytes)
                chunks[i].text_bytes -= chunks[i - 1].text_bytes;
    } else if (is_answer && text.last_has_all() && chunks.back().text_bytes == before_last) {
        chunks.back().text_bytes = 0;
    } else {
        return false;
    }
    return true;
}

void leave_out_echo(std::span<Chunk> chunks) {
    struct Choice {
        Chunk* first = nullptr;
        std::uint64_t others = 0;  ///< events
        std::uint64_t bytes = 0;   ///< of these
    };
    std::array<Choice, 64> choices{};
    for (Chunk& chunk : chunks) {
        Choice& choice = choices[chunk.choice];
        choice.others += choice.first != nullptr ? 1 : 0;
        choice.bytes += choice.first != nullptr ? chunk.text_bytes : 0;
        if (choice.first == nullptr) choice.first = &chunk;
    }
    for (const Choice& choice : choices) {
        if (choice.others == 0) continue;
        const auto mean = static_cast<std::uint32_t>(choice.bytes / choice.others);
        choice.first->text_bytes = std::min(choice.first->text_bytes, std::max<std::uint32_t>(1, mean));
    }
}

std::size_t events_before_repeat(std::span<const Chunk> chunks, const StreamFacts& facts,
                                 const RequestRecord& record) {
    constexpr std::size_t kFewestSizes = 4;      // of texts, where no end tells the two answers apart
    constexpr std::uint64_t kShortestToken = 3;  // bytes in the mean
    const std::size_t count = chunks.size();
    const std::int64_t tokens = record.usage.completion.value_or(0);
    if (has_several_choices(chunks) || agree(static_cast<std::int64_t>(count), tokens)) return count;
    const bool has_ended = facts.until_end != 0 && facts.until_end < count;
    const std::size_t first = has_ended ? facts.until_end : count / 2;
    if (first < static_cast<std::size_t>(kFewestEvents) || !repeats(chunks, first)) return count;
    if (has_ended && agree(static_cast<std::int64_t>(first), tokens)) return first;
    if (2 * first != count) return count;
    if (has_ended && record.finish_reason == "length" && record.wanted_output_tokens == tokens) return first;
    std::set<std::uint32_t> sizes;
    std::uint64_t bytes = 0;
    for (const Chunk& chunk : chunks.first(first)) {
        sizes.insert(chunk.text_bytes);
        bytes += chunk.text_bytes;
    }
    // A model that repeats itself mostly goes on until the limit, and its tokens count.
    const bool is_told = has_ended || (sizes.size() >= kFewestSizes && record.finish_reason != "length");
    const bool counts_one = tokens > 0 && bytes >= kShortestToken * static_cast<std::uint64_t>(tokens);
    return is_told && counts_one ? first : count;
}

std::size_t blanks_before_answer(std::span<const Chunk> chunks, const StreamFacts& facts,
                                 const RequestRecord& record) {
    constexpr std::int64_t kFewest = 2;  // a single one may be a token that the usage leaves out
    const auto count = static_cast<std::int64_t>(chunks.size());
    const auto blanks = static_cast<std::int64_t>(facts.blank_first);
    const std::int64_t tokens = record.usage.completion.value_or(0);
    if (blanks < kFewest || tokens == 0 || count - blanks != tokens || has_several_choices(chunks)) return 0;
    return facts.blank_first;
}

}  // namespace paretoken::protocol
