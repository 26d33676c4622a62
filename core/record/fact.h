#pragma once
// The facts that a source of records may not know, as the result files of other programs may lack the times
// of events. Every metric and figure states the facts that it needs, and is absent if one of them is unknown.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paretoken {

/// A source that does not know a fact leaves these members of its records as they are by default.
enum class Fact : std::uint8_t {
    sent,             ///< RequestRecord::sent
    first_event,      ///< first_event, first_answer and first_group_tokens
    event_times,      ///< the events, longest_gap, chunks and grouped_chunks; known only with first_event
    output_tokens,    ///< usage.completion, usage.reasoning, streamed_tokens and the tokens of events
    input_tokens,     ///< usage.prompt
    cached_tokens,    ///< usage.cached_prompt
    server_counters,  ///< Observations::server (core/run/observations.h)
};

struct FactText {
    Fact fact;
    std::string_view name;  ///< "first_event"
    std::string_view what;  ///< words that follow "the source of the records does not tell"
};
inline constexpr std::array kFacts = {
    FactText{Fact::sent, "sent", "when requests were sent"},
    FactText{Fact::first_event, "first_event", "when the first output of an answer came"},
    FactText{Fact::event_times, "event_times", "when each event of an answer came"},
    FactText{Fact::output_tokens, "output_tokens", "how many tokens the answers had"},
    FactText{Fact::input_tokens, "input_tokens", "how many tokens the prompts had"},
    FactText{Fact::cached_tokens, "cached_tokens", "how many prompt tokens came from a prefix cache"},
    FactText{Fact::server_counters, "server_counters", "what the server's own counters showed"},
};
std::string_view name_of(Fact fact);
std::optional<Fact> fact_named(std::string_view name);

class Facts {
  public:
    constexpr Facts(std::initializer_list<Fact> facts = {})  // NOLINT(google-explicit-constructor)
        : Facts(std::span(facts.begin(), facts.size())) {}
    explicit constexpr Facts(std::span<const Fact> facts) {
        for (const Fact fact : facts) bits_ |= 1U << static_cast<unsigned>(fact);
    }

    constexpr void add(Facts others) { bits_ |= others.bits_; }
    constexpr bool overlaps(Facts others) const { return (bits_ & others.bits_) != 0; }
    constexpr bool empty() const { return bits_ == 0; }

    constexpr bool operator==(const Facts&) const = default;

  private:
    unsigned bits_ = 0;
};

/// Returns why something is absent that needs the facts `needs`: "the source of the records does not tell
/// when requests were sent". Empty if none of these facts is unknown. If several are, the first is named.
std::string why_unknown(Facts needs, Facts unknown);

}  // namespace paretoken
