#pragma once
// Lets a command take result files of other load generators wherever it takes directories of results.
#include <filesystem>
#include <string>
#include <vector>

namespace paretoken::cli {

/// Imports foreign files into a temporary directory, which is removed with this object.
class ForeignResults {
  public:
    ForeignResults() = default;
    ~ForeignResults();
    ForeignResults(const ForeignResults&) = delete;
    ForeignResults& operator=(const ForeignResults&) = delete;

    /// Returns a directory with the results at `path`: `path` itself, unless it is a foreign file, or a
    /// directory without results of this program that has such files. Throws as reports::import_runs() does.
    std::string directory_of(const std::string& path);

    /// Replaces each path by directory_of() it.
    void replace(std::vector<std::string>& paths);

  private:
    std::filesystem::path directory_;  ///< empty until something was imported
    int imported_ = 0;                 ///< number of imports, each in a directory of its own
};

}  // namespace paretoken::cli
