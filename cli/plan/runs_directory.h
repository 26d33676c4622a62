#pragma once
// The directory of the simulated runs of a plan.
#include <filesystem>
#include <string>

namespace paretoken::cli {

/// The directory OUT/searches or, without OUT, a temporary one. It is empty at first.
class RunsDirectory {
  public:
    explicit RunsDirectory(const std::string& out);
    ~RunsDirectory();
    RunsDirectory(const RunsDirectory&) = delete;
    RunsDirectory& operator=(const RunsDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    bool kept_;
    std::filesystem::path path_;
};

}  // namespace paretoken::cli
