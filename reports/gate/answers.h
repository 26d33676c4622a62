#pragma once
// The texts of answers that a gate judges, and the faults in them that can be found without knowing the
// expected text: empty texts and repetition. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace paretoken::reports {

/// The answer to a question that was asked after the load.
struct ProbeAnswer {
    std::uint64_t question = 0;  ///< number of the question, from 0
    bool right = false;
    std::string expected = {};  ///< expected answer: "number 618034"
    std::string answer = {};    ///< text of the answer, or the error if the request failed

    bool operator==(const ProbeAnswer&) const = default;
};

/// An answer to a request of the load.
struct KeptAnswer {
    std::uint64_t index = 0;
    bool warmup = false;
    std::string text = {};

    bool operator==(const KeptAnswer&) const = default;
};

/// The numbers of faulty answers of one run, with examples.
struct AnswerFaults {
    std::uint64_t answers = 0;
    std::uint64_t empty = 0;     ///< answers that contain only white space
    std::uint64_t repeated = 0;  ///< answers of 96 bytes or more that repeat themselves or an earlier answer
    std::string empty_example = {};     ///< first such request: "request 7"; empty if there is none
    std::string repeated_example = {};  ///< first such request with the beginning of its answer

    bool operator==(const AnswerFaults&) const = default;
};

/// Whether a text of 96 bytes or more is mostly repetition: fewer than 30 % of the sequences of 16 bytes in
/// its first 16 KiB are distinct. In ordinary text more than 80 % are distinct.
bool repeats_itself(std::string_view text);

/// Counts the faults of answers that are added one after the other.
class AnswerCheck {
  public:
    void add(std::uint64_t index, std::string_view text);
    const AnswerFaults& faults() const { return faults_; }

  private:
    AnswerFaults faults_;
    std::unordered_set<std::size_t> seen_;  ///< hashes of the answers of 96 bytes or more
};

}  // namespace paretoken::reports
