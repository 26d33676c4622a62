// events.bin: events that are read can be encoded to the same events again, any events survive writing and
// reading, and a file of any bytes is read up to its first damage.
#include "reports/files/events.h"

#include <array>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

constexpr TimePoint kZero{std::chrono::seconds(1000)};
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kFrameHeaderBytes = 16;

/// Computes CRC-32C bit by bit.
std::uint32_t checksum_of(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
    }
    return ~crc;
}

void put(std::string& bytes, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
}

/// Returns a frame of these bytes with the right length and checksum.
std::string frame_of(std::string_view index_and_payload) {
    std::string frame(2 * kLengthBytes, '\0');
    frame += index_and_payload;
    if (frame.size() < kFrameHeaderBytes) frame.resize(kFrameHeaderBytes);
    put(frame, 0, static_cast<std::uint32_t>(frame.size() - kFrameHeaderBytes));
    put(frame, kLengthBytes, checksum_of(std::string_view(frame).substr(2 * kLengthBytes)));
    return frame;
}

void require_same_again(const reports::Frame& frame) {
    std::string bytes;
    reports::append_frame(bytes, frame.key, frame.events, kZero);
    reports::Frame again;
    const auto taken = reports::decode_frame(bytes, kZero, again);
    require(taken == bytes.size(), "what was encoded is read whole");
    require(again.key == frame.key && again.events == frame.events, "what was encoded is read as it was");
    bytes.pop_back();
    require(!reports::decode_frame(bytes, kZero, again), "a frame that is cut off is not read");
}

void frame_of_bytes(Input input) {
    const std::string bytes = frame_of(input.rest());
    reports::Frame frame;
    const auto taken = reports::decode_frame(bytes, kZero, frame);
    if (!taken) return;
    require(taken == bytes.size(), "a frame takes what it says");
    require_same_again(frame);
}

void frame_of_events(Input input) {
    reports::Frame frame{.key = {.index = input.number(), .warmup = input.byte() % 2 != 0}, .events = {}};
    while (!input.rest().empty()) {
        const std::uint8_t flags = input.byte();
        StreamEvent event;
        event.kind = static_cast<EventKind>(flags % 3);
        event.same_read = (flags & 4) != 0;
        event.kernel_stamp = (flags & 8) != 0;
        event.tokens = flags < 128 ? input.byte() : static_cast<std::uint32_t>(input.number());
        event.time =
            TimePoint(Duration(static_cast<std::int64_t>(flags & 16 ? input.number() : input.byte())));
        frame.events.push_back(event);
    }
    require_same_again(frame);
}

void file_of_bytes(Input input) {
    std::string bytes = reports::events_header(kZero);
    const bool raw = input.byte() % 2 != 0;
    if (raw) bytes.clear();
    bytes += input.rest();
    const MemoryFile file(bytes);
    const reports::EventsFile events(file.path(), kZero);
    std::uint64_t frames = 0;
    if (refuses([&] { events.for_each([&](const RequestKey&, std::span<const StreamEvent>) { ++frames; }); }))
        return;
    require(events.extent().frames == frames, "the frames are counted");
    require(events.extent().unread_bytes <= bytes.size(), "what was not read is a part of the file");
}

}  // namespace

void fuzz(Input input) {
    switch (input.byte()) {
        case 'e':
            return frame_of_events(input);
        case 'f':
            return file_of_bytes(input);
        default:
            return frame_of_bytes(input);
    }
}

}  // namespace paretoken::fuzz
