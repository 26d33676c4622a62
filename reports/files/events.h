#pragma once
// events.bin ("paretoken/events/1"): the events of each ended request, to the nanosecond, in one frame per
// request. docs/files.md describes the layout. Encoding and decoding are pure functions over bytes; nothing
// after a damaged or cut-off frame can be read.
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record.h"

namespace paretoken::reports {

inline constexpr std::string_view kEventsSchema = "paretoken/events/1";
inline constexpr std::size_t kEventsHeaderBytes = 32;

/// The first bytes of the file. `zero` is the moment from which its times are counted, as in requests.jsonl.
std::string events_header(TimePoint zero);

/// The zero of a file that begins with `bytes`; nothing when they are shorter than a header. Throws a
/// UsageError that names `where` when the file has another kind or version.
std::optional<TimePoint> zero_of_events(std::string_view bytes, const std::string& where);

/// Appends the frame of one request. Any events can be encoded, including an empty list and events whose
/// times go back.
void append_frame(std::string& out, const RequestKey& key, std::span<const StreamEvent> events,
                  TimePoint zero);

struct Frame {
    RequestKey key;
    std::vector<StreamEvent> events;
};

/// Whether the checksum of a frame was verified before. Verifying takes two fifths of the time of reading a
/// frame.
enum class Checksum : std::uint8_t { unknown, verified };

/// Reads the frame at the beginning of `bytes` into `frame`, whose memory is reused. Returns the length of
/// the frame in bytes, or nothing when the frame is cut off or damaged.
std::optional<std::size_t> decode_frame(std::string_view bytes, TimePoint zero, Frame& frame,
                                        Checksum checksum = Checksum::unknown);

/// The events in a file, read in pieces of bounded size. A missing file counts as a file without events.
class EventsFile final : public EventSource {
  public:
    /// Times are read relative to `epoch`, which must be the one given to read_requests(). Throws UsageError
    /// when the file cannot be read, or has another kind or version.
    EventsFile(std::filesystem::path path, TimePoint epoch);

    void for_each(const Visit& visit) const override;

    struct Extent {
        std::uint64_t frames = 0;
        std::uint64_t unread_bytes = 0;  ///< bytes of a damaged or cut-off frame and everything after it
    };
    /// The extent of the file as found by the last call of for_each().
    const Extent& extent() const { return extent_; }

  private:
    std::filesystem::path path_;
    TimePoint epoch_;
    mutable Extent extent_;
    mutable std::uint64_t verified_frames_ = 0;  ///< number of frames whose checksums were verified before
};

}  // namespace paretoken::reports
