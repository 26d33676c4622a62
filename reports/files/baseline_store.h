#pragma once
// Named sets of runs that candidates are compared with: STORE/NAME/01, 02, … Each run keeps the files that a
// gate needs (run.json, requests.jsonl, and answers.jsonl and probe.jsonl if they exist), but no events.
#include <filesystem>
#include <string>
#include <vector>

namespace paretoken::reports {

inline constexpr const char* kDefaultStore = ".paretoken/baselines";

struct StoredBaseline {
    std::string name;
    std::filesystem::path directory;
    std::vector<std::filesystem::path> runs;
};

class BaselineStore {
  public:
    explicit BaselineStore(std::filesystem::path root) : root_(std::move(root)) {}

    /// Copies the runs into a new baseline. Throws UsageError when the name is taken (unless `replace`) or is
    /// not allowed, or when a directory holds no run, an unfinished one or an invalid one. Throws
    /// RuntimeError when the files cannot be written.
    void save(const std::string& name, const std::vector<std::filesystem::path>& runs, bool replace) const;

    /// The baselines in the store, sorted by name. Empty when there is no store.
    std::vector<StoredBaseline> list() const;

    /// The baseline with this name. Throws a UsageError that names the known baselines.
    StoredBaseline find(const std::string& name) const;
    bool holds(const std::string& name) const;

    void drop(const std::string& name) const;  ///< removes a baseline; throws like find()

  private:
    std::filesystem::path root_;
};

}  // namespace paretoken::reports
