#pragma once
// What is wrong with the texts of answers, whatever they should say: nothing in them, or the same thing again
// and again. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace paretoken::reports {

/// Of one run's answers.
struct AnswerFaults {
    std::uint64_t answers = 0;
    std::uint64_t empty = 0;  ///< nothing but white space
    std::uint64_t repeated = 0;
    std::string empty_example = {};  ///< which request it was
    std::string repeated_example = {};

    bool operator==(const AnswerFaults&) const = default;
};

/// Whether a text of 96 bytes or more is mostly repetition: of all its runs of 16 bytes, fewer than 30 % are
/// different ones. Ordinary text has more than 80 %.
bool repeats_itself(std::string_view text);

/// Looks at one answer after the other.
class AnswerCheck {
  public:
    void add(std::uint64_t index, std::string_view text);
    const AnswerFaults& faults() const { return faults_; }

  private:
    AnswerFaults faults_;
    std::unordered_set<std::size_t> seen_;  ///< hashes of longer answers
};

}  // namespace paretoken::reports
