#pragma once
// Writes and reads events.bin ("paretoken/events/1", docs/files.md): one frame for each ended request whose
// events are kept, with times to the nanosecond. Nothing after a damaged or cut-off frame can be read.
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

/// The header, which is the first kEventsHeaderBytes of the file. The times in the file are counted from the
/// moment `zero`, like those in requests.jsonl.
std::string events_header(TimePoint zero);

/// The moment `zero` in a header; nothing when `bytes` are shorter. Throws a UsageError that names `where`
/// when the file has another kind or version.
std::optional<TimePoint> zero_of_events(std::string_view bytes, const std::string& where);

/// Appends the frame of one request to `out`, also for an empty list and events whose times go back.
void append_frame(std::string& out, const RequestKey& key, std::span<const StreamEvent> events,
                  TimePoint zero);

struct Frame {
    RequestKey key;
    std::vector<StreamEvent> events;
};

/// Whether the checksum of a frame was verified before. A verified checksum is not computed again, because
/// that takes two fifths of the time of reading a frame.
enum class Checksum : std::uint8_t { unknown, verified };

/// Reads the frame at the beginning of `bytes` into `frame`, whose memory is reused. Returns the length of
/// the frame in bytes, or nothing when the frame is cut off or damaged.
std::optional<std::size_t> decode_frame(std::string_view bytes, TimePoint zero, Frame& frame,
                                        Checksum checksum = Checksum::unknown);

/// Returns the length in bytes of the frame at the beginning of `bytes`, whose checksum is verified, and sets
/// `key`; nothing when the frame is cut off or damaged.
std::optional<std::size_t> frame_length(std::string_view bytes, RequestKey& key);

/// The events in a file, read in pieces of bounded size. A missing file counts as a file without events.
class EventsFile final : public EventSource {
  public:
    /// Times are read relative to `epoch`, which must be the one given to read_requests()
    /// (reports/files/records.h) for the same run. The file is not opened yet.
    EventsFile(std::filesystem::path path, TimePoint epoch);

    /// Opens the file, if it exists, and calls `visit` with each frame up to the first damaged one. Throws
    /// UsageError when an existing file cannot be read, or has another kind or version.
    void for_each(const Visit& visit) const override;

    struct Extent {
        std::uint64_t frames = 0;
        std::uint64_t unread_bytes = 0;  ///< bytes of the first damaged frame and everything after it
    };
    const Extent& extent() const { return extent_; }

  private:
    std::filesystem::path path_;
    TimePoint epoch_;
    mutable Extent extent_;
    mutable std::uint64_t verified_frames_ = 0;  ///< frames whose checksums earlier calls verified
};

}  // namespace paretoken::reports
