#pragma once
// The table of figures of a run: rates and ratios, each a ratio of two additive sums (core/result/totals.h),
// so that it can be computed for any class, interval or set of runs, with an interval from blocks of time.
#include <cstdint>
#include <span>
#include <string_view>

#include "core/result/metrics.h"
#include "core/result/result.h"
#include "core/result/totals.h"

namespace paretoken {

struct Ratio {
    double above = 0;
    double below = 0;
};

struct Figure {
    std::string_view key;    ///< key in JSON, including the unit: "output_tokens_per_s"
    std::string_view unit;   ///< unit as shown: "tok/s"
    std::string_view title;  ///< "Output tokens"
    Better better = Better::neither;
    std::string_view definition;  ///< one sentence, shown by --help and on hover
    Facts needs = {};  ///< facts without which it is absent; if `of_slos`, those of the limited metrics too

    bool (*known)(const Totals&) = nullptr;  ///< whether the totals have the sums that the figure needs
    Ratio (*of)(const Totals&) = nullptr;    ///< both parts are linear in the totals
    /// For a figure that counts a part of requests or tokens: that part and the whole. Otherwise null.
    Ratio (*part)(const Totals&) = nullptr;
    bool of_slos = false;  ///< whether SLOs decide what it counts
};

std::span<const Figure> figures();

/// Returns null when there is no such key.
const Figure* figure_named(std::string_view key);

/// The division of the time that figures cover into groups that follow each other.
struct Blocks {
    std::uint64_t trials = 0;             ///< number of independent samples of a share
    std::span<const Totals> groups = {};  ///< their totals; with fewer than 10 there are no intervals
};

/// What the client's own delays may have taken from figures.
struct ClientLoss {
    double load = 0;   ///< share by which rates could be higher: HeldBackLoad::share()
    Totals good = {};  ///< sums of the requests that missed an SLO and may truly have met all of them
};

/// Computes the figures, each with a 95 % confidence interval and the bound of the client's own error.
/// `totals` are those of the whole window. A figure that is not known, or whose `below` is 0, is left out.
/// The interval holds the figure of `totals`, and is cut at 0 and, for a share, at 1.
Figures figures_of(const Totals& totals, const Blocks& blocks = {}, const ClientLoss& loss = {});

}  // namespace paretoken
