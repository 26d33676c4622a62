#pragma once
// The texts of answers that a gate judges, and the faults in them that can be found without knowing the
// expected text: empty texts and repetition. Nothing here does I/O.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace paretoken::reports {

/// The answer to a question that was asked after the load.
struct ProbeAnswer {
    std::uint64_t question = 0;  ///< number of the question, from 0
    bool right = false;
    bool failed = false;        ///< whether the request failed, so that there is no answer to judge
    std::string expected = {};  ///< expected answer in words: "number 618034"
    std::string answer = {};    ///< text of the answer, or the error if the request failed

    bool operator==(const ProbeAnswer&) const = default;
};

struct KeptAnswer {
    std::uint64_t index = 0;  ///< number of the request, from 0; warm-up requests are counted separately
    bool warmup = false;      ///< whether it was a warm-up request
    std::string text = {};

    bool operator==(const KeptAnswer&) const = default;
};

/// The numbers of faulty answers of one run, with examples.
struct AnswerFaults {
    std::uint64_t answers = 0;  ///< all answers that were checked
    std::uint64_t empty = 0;    ///< answers without text, or with white space only
    /// Answers of at least 96 bytes that repeat themselves (repeats_itself()) or an earlier one of the run.
    std::uint64_t repeated = 0;
    std::string empty_example = {};     ///< first request counted in `empty`: "request 7"; or ""
    std::string repeated_example = {};  ///< first request counted in `repeated`, and its answer's beginning

    bool operator==(const AnswerFaults&) const = default;
};

/// Whether a text is mostly repetition: at least 96 bytes, and fewer than 30 % of the sequences of 16 bytes
/// in its first 16 KiB distinct (in ordinary text more than 80 % are).
bool repeats_itself(std::string_view text);

class AnswerCheck {
  public:
    void add(std::uint64_t index, std::string_view text);
    const AnswerFaults& faults() const { return faults_; }

  private:
    AnswerFaults faults_;
    std::unordered_set<std::size_t> seen_;  ///< hashes of the answers of 96 bytes or more
};

}  // namespace paretoken::reports
