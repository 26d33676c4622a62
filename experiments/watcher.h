#pragma once
// The progress that an experiment reports while it runs; a command shows it.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace paretoken::loadgen {
struct Limits;
struct Progress;
}  // namespace paretoken::loadgen

namespace paretoken::reports {
struct SweepPoint;
}

namespace paretoken::experiments {

class Watcher {
  public:
    virtual ~Watcher() = default;

    /// Reports a problem that does not end the experiment, at any time and from several threads at once.
    virtual void warn(const std::string&) {}

    /// Reports what the experiment now waits for, such as an answer of the server.
    virtual void wait(const std::string&) {}

    /// Reports that a load over sockets begins and ends. `progress` is updated in between.
    virtual void load_begins(const std::string& /*label*/, const loadgen::Progress& /*progress*/,
                             const loadgen::Limits&) {}
    virtual void load_ends() {}

    /// Reports that an experiment begins its `number`-th point of at most `points` (0: unknown). A gate calls
    /// it for both sides of a pair, with the pair's number. Never called from two threads at once.
    virtual void point_begins(std::size_t /*number*/, std::size_t /*points*/, const std::string& /*label*/,
                              bool /*already_measured*/) {}

    /// Reports that a point was measured, or failed; `directory` holds its run.
    virtual void point_ends(const reports::SweepPoint& /*point*/,
                            const std::filesystem::path& /*directory*/) {}

    /// Reports that the point that just began gets more requests than asked for, to reach its concurrency.
    virtual void point_lengthened(const std::string& /*label*/, std::uint64_t /*requests*/,
                                  std::uint64_t /*asked*/) {}
};

}  // namespace paretoken::experiments
