#pragma once
// Streams whose work is done as late as it may be: when somebody waits for it. What a program forgets to wait
// for then has not happened, so that a missing synchronisation shows. Within a stream work is done in the
// order of issue; the legacy stream and blocking streams wait for each other, non-blocking streams for
// nobody. Eager streams do work when it is issued.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace paretoken::virtual_gpu {

/// Told when it begins on the device's clock, seconds; returns how many seconds it takes.
using Task = std::function<double(double begin_s)>;

using StreamNumber = std::uint64_t;
constexpr StreamNumber kLegacyStream = 0;

/// Where work stands: in a stream, at a place in the order of issue over all streams.
struct Place {
    StreamNumber stream = kLegacyStream;
    std::uint64_t ticket = 0;  ///< 0: nothing

    bool operator==(const Place&) const = default;
};

class Streams {
  public:
    explicit Streams(bool lazy) : lazy_(lazy) { streams_[kLegacyStream] = {.blocking = true}; }

    StreamNumber create(bool blocking);
    /// Its work is still done. False: there is no such stream.
    bool destroy(StreamNumber stream);
    bool has(StreamNumber stream) const;
    bool is_blocking(StreamNumber stream) const { return streams_.at(stream).blocking; }

    /// Begins after what is before it in its stream, after `after`, and after what its stream's kind waits
    /// for.
    Place enqueue(StreamNumber stream, Task task, Place after = {});

    bool is_done(const Place& place) const;
    /// Does all that must be done up to there.
    void wait_for(const Place& place);
    void wait_for(StreamNumber stream);
    /// Non-blocking streams first, so that what they did not wait for is missing.
    void wait_for_all();

  private:
    struct Waiting {
        std::uint64_t ticket = 0;
        std::vector<Place> after;
        double issued_s = 0;
        Task task;
    };
    struct Stream {
        bool blocking = false;
        bool destroyed = false;
        std::uint64_t last = 0;  ///< ticket
        double end_s = 0;
        std::deque<Waiting> waiting = {};
    };

    void run_until(const Place& place);

    bool lazy_;
    std::map<StreamNumber, Stream> streams_;
    StreamNumber newest_ = kLegacyStream;
    std::uint64_t tickets_ = 0;
    double seen_s_ = 0;  ///< the host knows that it is later than this
};

}  // namespace paretoken::virtual_gpu
