#pragma once
// Where requests come from. The i-th request is a pure function of (seed, salt, i), so it is the same whoever
// asks and whatever was asked before.
#include <cstdint>
#include <optional>
#include <string>

#include "core/request.h"
#include "core/units.h"

namespace paretoken::datasets {

class Dataset {
  public:
    virtual ~Dataset() = default;

    /// Thread-safe. Past size() it begins again from the front.
    virtual Request request(std::uint64_t index) const = 0;

    /// The same request, but where its lengths are known its prompt may be left empty: for whoever needs no
    /// more.
    virtual Request outline(std::uint64_t index) const { return request(index); }

    /// How many different requests there are; nothing: as many as one asks for.
    virtual std::optional<std::uint64_t> size() const { return std::nullopt; }

    /// When the request was made, counted from the first one's time; nothing in a dataset without times. They
    /// never descend. `index` is below size().
    virtual std::optional<Duration> recorded_time(std::uint64_t /*index*/) const { return std::nullopt; }

    /// For people: "synthetic:isl=512,osl=128".
    virtual std::string description() const = 0;

    /// core/content_hash.h of what the requests come from, for a dataset that is a file; else empty.
    virtual std::string content() const { return {}; }

    /// Means, where they are known.
    virtual std::optional<double> mean_input_tokens() const { return std::nullopt; }
    virtual std::optional<double> mean_output_tokens() const { return std::nullopt; }
};

}  // namespace paretoken::datasets
