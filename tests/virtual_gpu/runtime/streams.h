#pragma once
// CUDA streams, which are queues of work for the GPU. Lazy streams do their work as late as possible: when
// the program waits for it. Work for which a program forgets to wait has then not been done, so that a
// missing synchronisation becomes visible. Eager streams do their work when it is issued. The work of one
// stream is done in the order of issue. The legacy stream, CUDA's default, and blocking streams wait for each
// other; non-blocking streams do not wait for other streams.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace paretoken::virtual_gpu {

/// A piece of work. It receives the time at which it begins on the device's clock, in seconds, and returns
/// its duration in seconds.
using Task = std::function<double(double begin_s)>;

/// Identifies a stream.
using StreamNumber = std::uint64_t;
constexpr StreamNumber kLegacyStream = 0;

/// Identifies a piece of work.
struct Place {
    StreamNumber stream = kLegacyStream;
    std::uint64_t ticket = 0;  ///< position in the order of issue over all streams; 0: no work

    bool operator==(const Place&) const = default;
};

class Streams {
  public:
    explicit Streams(bool lazy) : lazy_(lazy) { streams_[kLegacyStream] = {.blocking = true}; }

    StreamNumber create(bool blocking);
    /// Destroys a stream; its pending work is still done. Returns false if there is no such stream or if it
    /// is the legacy stream.
    bool destroy(StreamNumber stream);
    /// Returns whether the stream exists and was not destroyed.
    bool has(StreamNumber stream) const;
    /// The stream must exist; so must the streams of enqueue and wait_for.
    bool is_blocking(StreamNumber stream) const { return streams_.at(stream).blocking; }

    /// Adds work to a stream. It begins after the earlier work of its stream, after the work `after`, and
    /// after the earlier work of the other streams for which its stream waits.
    Place enqueue(StreamNumber stream, Task task, Place after = {});

    bool is_done(const Place& place) const;
    /// Does this piece of work and all work that must be done before it.
    void wait_for(const Place& place);
    /// Does all work of this stream and all work that must be done before it.
    void wait_for(StreamNumber stream);
    /// Does the work of all streams: the newest stream comes first and the legacy stream last. Work of an
    /// older stream whose result a newer stream uses without waiting for it has then not been done, so that
    /// the missing synchronisation becomes visible.
    void wait_for_all();

  private:
    /// A piece of work that has not been done.
    struct Waiting {
        std::uint64_t ticket = 0;
        std::vector<Place> after;  ///< work that must be done before
        double issued_s = 0;       ///< earliest time at which it can begin: the host issued it then
        Task task;
    };
    struct Stream {
        bool blocking = false;
        bool destroyed = false;
        std::uint64_t last = 0;  ///< ticket of the work that was issued last
        double end_s = 0;        ///< time at which the work that was done last ended
        std::deque<Waiting> waiting = {};
    };

    void run_until(const Place& place);

    bool lazy_;
    std::map<StreamNumber, Stream> streams_;
    StreamNumber newest_ = kLegacyStream;
    std::uint64_t tickets_ = 0;  ///< the last ticket that was given
    double seen_s_ = 0;          ///< latest end of work for which the host has waited
};

}  // namespace paretoken::virtual_gpu
