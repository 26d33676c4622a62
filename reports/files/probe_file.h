#pragma once
// Reads and writes the answer texts that a run keeps. answers.jsonl holds the answers to the requests of the
// load, if the user asked to keep them. probe.jsonl holds the answers to the questions that were asked after
// the load (--probe).
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paretoken::reports {

struct ProbeAnswer {
    std::uint64_t question = 0;  ///< number of the question, from 0
    bool right = false;
    std::string expected = {};  ///< expected answer in words: "number 618034"
    std::string answer = {};    ///< text of the answer, or the error if the request failed

    bool operator==(const ProbeAnswer&) const = default;
};

/// An answer to a request of the load.
struct KeptAnswer {
    std::uint64_t index = 0;  ///< number of the request, from 0; warm-up requests are counted separately
    bool warmup = false;      ///< whether it was a warm-up request
    std::string text = {};

    bool operator==(const KeptAnswer&) const = default;
};

/// Writes the answers and replaces `path`. Throws RuntimeError.
void write_probe_file(const std::filesystem::path& path, const std::vector<ProbeAnswer>& answers);

/// Reads a probe file; empty when there is no such file. A last line that is cut off is left out. Throws a
/// UsageError that names the file, the line and what is wrong.
std::vector<ProbeAnswer> read_probe_file(const std::filesystem::path& path);

/// Calls `visit` with every answer of an answers.jsonl. A missing file, a cut-off last line and errors are
/// treated as in read_probe_file().
void for_each_answer(const std::filesystem::path& path, const std::function<void(const KeptAnswer&)>& visit);

}  // namespace paretoken::reports
