#pragma once
// A store of baselines. A baseline is a named set of runs with which later runs are compared. The directories
// of its runs are STORE/NAME/01, STORE/NAME/02, … Each is a compact copy (reports/files/gate/gate_run.h).
#include <filesystem>
#include <string>
#include <vector>

namespace paretoken::reports {

/// Path of the store, relative to the working directory, if the user gives none (--store).
inline constexpr const char* kDefaultStore = ".paretoken/baselines";

struct StoredBaseline {
    std::string name;
    std::filesystem::path directory;
    /// The directories of its runs, in order, also of those whose files are damaged or missing.
    std::vector<std::filesystem::path> runs;
};

/// Several processes may change a store: each waits until the others have ended.
class BaselineStore {
  public:
    explicit BaselineStore(std::filesystem::path root) : root_(std::move(root)) {}

    /// Copies the runs, at least one, into a new baseline, or with `replace` in place of one. Throws
    /// UsageError when the name is not allowed, a directory holds no finished, valid run, or two runs did
    /// different work; RuntimeError.
    void save(const std::string& name, const std::vector<std::filesystem::path>& runs, bool replace) const;

    /// Adds the runs, at least one, to a baseline that exists and keeps the latest `keep` of all its runs.
    /// Throws like save(), and UsageError when a run is stored already or did other work than the baseline's.
    void update(const std::string& name, const std::vector<std::filesystem::path>& runs,
                std::size_t keep) const;

    /// Throws RuntimeError if no baseline can be written.
    void require_writable() const;

    /// Returns the baselines that have runs.
    std::vector<StoredBaseline> list() const;

    /// The baseline with this name. Throws a UsageError that names the known baselines.
    StoredBaseline find(const std::string& name) const;
    bool holds(const std::string& name) const;  ///< whether find() would succeed

    void drop(const std::string& name) const;  ///< removes a baseline; throws like find()

  private:
    std::filesystem::path root_;
};

}  // namespace paretoken::reports
