#pragma once
// Named sets of runs that candidates are compared with: STORE/NAME/01, 02, … Each run keeps what a gate needs
// (run.json, requests.jsonl, and probe.jsonl where there is one) and no events.
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

    /// Copies the runs into a new baseline. Throws UsageError where the name is taken (unless `replace`) or
    /// cannot be one, or a directory holds no finished run.
    void save(const std::string& name, const std::vector<std::filesystem::path>& runs, bool replace) const;

    /// By name. Empty when there is no store.
    std::vector<StoredBaseline> list() const;

    /// Throws UsageError naming the known ones.
    StoredBaseline find(const std::string& name) const;
    bool holds(const std::string& name) const;

    void drop(const std::string& name) const;  ///< throws as find()

  private:
    std::filesystem::path root_;
};

}  // namespace paretoken::reports
