#pragma once
// Where requests come from: conversations, of which most have one turn and are a single request. The i-th
// opening is a pure function of (seed, salt, i), a follow-up of these and of what was said before, so they
// are the same whoever asks and whatever was asked in between.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/record/request.h"
#include "core/units.h"

namespace paretoken::datasets {

/// What a follow-up goes on from.
struct Said {
    const Prompt& prompt;    ///< of the turn before
    std::string_view reply;  ///< the answer to it
};

class Dataset {
  public:
    virtual ~Dataset() = default;

    /// Thread-safe. Past size() it begins again from the front.
    virtual Request request(std::uint64_t index) const = 0;

    /// The same request, but where its lengths are known its prompt may be left empty: for whoever needs no
    /// more.
    virtual Request outline(std::uint64_t index) const { return request(index); }

    /// Whether turns() may be above 1.
    virtual bool has_conversations() const { return false; }

    /// How many turns the conversation has that request(index) opens.
    virtual std::uint32_t turns(std::uint64_t /*index*/) const { return 1; }

    /// Turn `turn` of that conversation, from 1 and below turns(index). `said` is not looked at unless
    /// needs_replies().
    virtual Request follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const;

    /// Follow-ups go on from the server's answers; they are those that the dataset holds otherwise.
    virtual bool needs_replies() const { return false; }

    /// How many different openings there are; nothing: as many as one asks for.
    virtual std::optional<std::uint64_t> size() const { return std::nullopt; }

    /// When the request was made, counted from the first one's time; nothing in a dataset without times. They
    /// never descend. `index` is below size().
    virtual std::optional<Duration> recorded_time(std::uint64_t /*index*/) const { return std::nullopt; }

    /// For people: "synthetic:isl=512,osl=128".
    virtual std::string description() const = 0;

    /// core/text/content_hash.h of what the requests come from, for a dataset that is a file; else empty.
    virtual std::string content() const { return {}; }

    /// Means, where they are known.
    virtual std::optional<double> mean_input_tokens() const { return std::nullopt; }
    virtual std::optional<double> mean_output_tokens() const { return std::nullopt; }
};

/// "SALT-7", or "7" without a salt.
std::string request_id(const std::string& salt, std::uint64_t index);

}  // namespace paretoken::datasets
