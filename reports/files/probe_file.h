#pragma once
// The texts that a run keeps: answers.jsonl holds those of its load, where they were asked to be kept, and
// probe.jsonl the answers to the questions that were asked after it.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paretoken::reports {

struct ProbeAnswer {
    std::uint64_t question = 0;  ///< its number, from 0
    bool right = false;
    std::string expected = {};  ///< "number 618034"
    std::string answer = {};    ///< as it was given; why there is none, where the request failed

    bool operator==(const ProbeAnswer&) const = default;
};

/// An answer of the load.
struct KeptAnswer {
    std::uint64_t index = 0;
    bool warmup = false;
    std::string text = {};

    bool operator==(const KeptAnswer&) const = default;
};

/// Replaces `path`. Throws RuntimeError.
void write_probe_file(const std::filesystem::path& path, const std::vector<ProbeAnswer>& answers);

/// Empty when there is no such file. Throws UsageError naming the file, the line and what is wrong.
std::vector<ProbeAnswer> read_probe_file(const std::filesystem::path& path);

/// Calls `visit` with every answer of an answers.jsonl, but for a last line that is cut off. Throws as
/// read_probe_file.
void for_each_answer(const std::filesystem::path& path, const std::function<void(const KeptAnswer&)>& visit);

}  // namespace paretoken::reports
