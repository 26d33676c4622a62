#pragma once
// The progress that an experiment reports while it runs. Experiments print nothing; a command shows what it
// is told.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "loadgen/limits.h"
#include "loadgen/progress.h"
#include "reports/files/sweep_file.h"

namespace paretoken::experiments {

class Watcher {
  public:
    virtual ~Watcher() = default;

    /// Something that the user should know before the load begins.
    virtual void warn(const std::string&) {}

    /// The server takes its time to answer a question; a sentence.
    virtual void wait(const std::string&) {}

    /// A load over sockets begins and ends. `progress` is written to in between.
    virtual void load_begins(const std::string& /*label*/, const loadgen::Progress& /*progress*/,
                             const loadgen::Limits&) {}
    virtual void load_ends() {}

    /// A sweep comes to a point, the `number`-th of `points` (0: as many as a search needs). Never called
    /// from two threads at once.
    virtual void point_begins(std::size_t /*number*/, std::size_t /*points*/, const std::string& /*label*/,
                              bool /*already_measured*/) {}

    /// A point was measured, or failed; `directory` holds its run.
    virtual void point_ends(const reports::SweepPoint& /*point*/,
                            const std::filesystem::path& /*directory*/) {}

    /// The point that began gets more requests than were asked for, since its level would never be reached.
    virtual void point_lengthened(const std::string& /*label*/, std::uint64_t /*requests*/,
                                  std::uint64_t /*asked*/) {}
};

}  // namespace paretoken::experiments
