#pragma once
// events.bin ("paretoken/events/1"): the events of each ended request, to the nanosecond, in one frame per
// request. docs/files.md describes the layout. Encoding and decoding are pure functions over bytes; a frame
// that is cut off or damaged ends what can be read.
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

/// The first bytes of the file. `zero`: the moment that its times are counted from, as in requests.jsonl.
std::string events_header(TimePoint zero);

/// The zero of a file that begins with `bytes`; nothing when they are fewer than a header. Throws UsageError
/// naming `where` when the file is of another kind or version.
std::optional<TimePoint> zero_of_events(std::string_view bytes, const std::string& where);

/// Appends the frame of one request. Any events can be encoded, also none, or such whose times go back.
void append_frame(std::string& out, const RequestKey& key, std::span<const StreamEvent> events,
                  TimePoint zero);

struct Frame {
    RequestKey key;
    std::vector<StreamEvent> events;
};

/// Whether the checksum of a frame must be compared, which takes two fifths of the time of reading it.
enum class Checksum : std::uint8_t { unknown, verified };

/// Reads the frame that `bytes` begin with into `frame`, whose memory is used again. Returns how many bytes
/// it takes, and nothing when it is cut off or damaged.
std::optional<std::size_t> decode_frame(std::string_view bytes, TimePoint zero, Frame& frame,
                                        Checksum checksum = Checksum::unknown);

/// The events in a file, read in pieces of bounded size. A file that is missing holds none.
class EventsFile final : public EventSource {
  public:
    /// Times come back relative to `epoch`, the same as is given to read_records. Throws UsageError when the
    /// file cannot be read, or is of another kind or version.
    EventsFile(std::filesystem::path path, TimePoint epoch);

    void for_each(const Visit& visit) const override;

    struct Extent {
        std::uint64_t frames = 0;
        std::uint64_t unread_bytes = 0;  ///< of a frame that was cut off or damaged, and everything after it
    };
    /// Of the pass that for_each made last.
    const Extent& extent() const { return extent_; }

  private:
    std::filesystem::path path_;
    TimePoint epoch_;
    mutable Extent extent_;
    mutable std::uint64_t verified_frames_ = 0;  ///< whose checksums an earlier pass has verified
};

}  // namespace paretoken::reports
