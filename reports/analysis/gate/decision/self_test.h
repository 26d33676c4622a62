#pragma once
// What a gate can show on this machine, by the noise of a server against itself. The functions are pure.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The numbers of pairs for which a self-test says what a gate would show.
inline constexpr std::array<std::uint64_t, 3> kSelfTestPairs{4, 8, 16};

struct SelfTestRow {
    std::string metric;
    double limit = 0;  ///< GateRow::limit
    double noise = 0;  ///< standard deviation of the shift of one pair (a logarithm)
    /// The smallest shift that a gate of kSelfTestPairs[i] pairs shows with a probability of about 80 %.
    std::array<double, kSelfTestPairs.size()> shown{};
    /// The same for the runs of one side against the stored baseline.
    std::optional<double> shown_by_store = {};
    /// Pairs after which a gate of two equal builds would pass; absent if 1000 are not enough.
    std::optional<std::uint64_t> pairs_to_pass = {};
};

struct SelfTest {
    std::vector<SelfTestRow> rows = {};
    std::uint64_t pairs = 0;                  ///< pairs that were measured
    std::optional<double> pair_s;             ///< GateReport::pair_s
    std::uint64_t stored_runs = 0;            ///< runs of the stored baseline; 0 if they cannot be compared
    std::vector<std::string> differing = {};  ///< metrics by which the server differs from itself
};

/// The self-test from a gate of one server against itself with at least 3 pairs. `policy` is that of the
/// gates to come. `stored` is the comparison of one side with the stored baseline, if they can be compared.
SelfTest self_test_of(const GatePolicy& policy, const GateReport& pairs,
                      const std::optional<GateReport>& stored);

/// The answer: what a gate would show and how long it takes, and which metrics vary too much.
std::string answer_of(const SelfTest& test);

}  // namespace paretoken::reports
