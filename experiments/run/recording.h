#pragma once
// The files of requests, events and readings of the server that a run writes while its load goes on.
#include <filesystem>
#include <memory>

namespace paretoken {
struct Recorded;
class RecordSink;
}  // namespace paretoken

namespace paretoken::experiments {

struct Load;
class Target;

class Recording {
  public:
    /// Begins the files of a load whose zero is set, and takes the readings that it tells of. `target` must
    /// outlive this. Throws RuntimeError when a file cannot be opened.
    Recording(const std::filesystem::path& directory, Load& load, const Target& target);
    ~Recording();

    RecordSink& sink();

    /// Ends the files of requests and events: sets Recorded::lost and Recorded::events.
    void finish(Recorded& recorded);

  private:
    struct Files;
    std::unique_ptr<Files> files_;
};

}  // namespace paretoken::experiments
