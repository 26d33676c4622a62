#pragma once
// Finds text of a stream that is no output of its own: text so far that comes again with each event, an
// answer that comes a second time, a prompt that the server repeats, and blanks that keep the connection
// open. Lengths alone never tell it: the texts are compared. Pure functions and values without I/O.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/record/record.h"
#include "loadgen/protocol/token_counts.h"

namespace paretoken::protocol {

/// Returns a number that equal texts share: it is made of the length, the first and the last bytes.
std::uint32_t fingerprint_of(std::string_view text);

/// Compares the text of each event with the text that came before. It keeps only the first bytes of texts.
class TextSoFar {
  public:
    /// Takes the text of the next event: `written` is its JSON string without quotes (empty if not one string
    /// holds it), `bytes` its length once it is decoded.
    void add(std::string_view written, EventKind kind, std::uint32_t bytes) {
        if (grows_ || bytes == sum_ || all_.has_room()) {
            compare(written, kind, bytes);
        } else {
            last_has_all_ = false;
        }
        sum_ += bytes;
    }

    /// Returns whether each event begins with the text of the event before, if that has the same kind.
    bool grows() const { return grows_; }

    /// Returns whether the last event is as long as all others together, and begins as they do.
    bool last_has_all() const { return last_has_all_; }

  private:
    /// The first bytes of a text.
    struct Beginning {
        std::array<char, 64> bytes{};
        std::size_t size = 0;

        bool has_room() const { return size < bytes.size(); }
        void append(std::string_view text);
        bool begins(std::string_view text) const;
    };

    void compare(std::string_view written, EventKind kind, std::uint32_t bytes);

    bool grows_ = true;
    bool last_has_all_ = false;
    EventKind kind_ = EventKind::content;  ///< of the last event
    std::uint64_t sum_ = 0;                ///< bytes of all events
    Beginning latest_;                     ///< text of the last event
    Beginning all_;                        ///< text of all events
};

/// Returns whether two events have text of the same kind that is equal as far as their fingerprints tell.
bool has_same_text(const Chunk& a, const Chunk& b);

/// Leaves out of `chunks` the text that came before: some servers send all text so far with each event, or
/// all of it again at the end. Returns whether they did; the last event then had the whole text. The bytes
/// and `text` tell it, of one choice in at least six events. Text that is too short for the server's count of
/// `tokens`, while the sum of all events is not, is no text so far.
bool leave_out_repeated_text(std::span<Chunk> chunks, const TextSoFar& text,
                             std::optional<std::int64_t> tokens);

/// Gives the first event of each choice at most the mean text of the choice's other events: it holds the
/// prompt, because the request asked for it ("echo").
void leave_out_echo(std::span<Chunk> chunks);

/// Returns the number of events before an answer of one choice comes again, as from gateways that retry:
/// after the stated end (facts.until_end), or else in the second half. Returns the number of all events if
/// nothing is repeated.
std::size_t events_before_repeat(std::span<const Chunk> chunks, const StreamFacts& facts,
                                 const RequestRecord& record);

/// Returns the number of first events with blanks that a gateway sends while the prompt is read, to keep the
/// connection open: the usage counts the other events of one choice and not these.
std::size_t blanks_before_answer(std::span<const Chunk> chunks, const StreamFacts& facts,
                                 const RequestRecord& record);

}  // namespace paretoken::protocol
