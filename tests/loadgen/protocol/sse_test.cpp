#include "loadgen/protocol/sse.h"

#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/golden.h"

namespace paretoken::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Events = std::vector<std::pair<std::string, std::string>>;  // type, data

/// A heap copy with exactly the promised padding, so that a sanitizer sees every read beyond it.
class Piece {
  public:
    explicit Piece(std::string_view text)
        : bytes_(new char[text.size() + kReadablePadding]()), size_(text.size()) {
        std::memcpy(bytes_.get(), text.data(), text.size());
    }
    operator std::span<const char>() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_;
};

/// Reads the padding that every event promises.
void append(Events& events, const SseEvent& event) {
    events.emplace_back(event.type, event.data);
    const volatile char* after = event.data.data() + event.data.size();
    for (std::size_t i = 0; i < kReadablePadding; ++i) static_cast<void>(after[i]);
}

struct Parsed {
    Events events;
    Events rest;
    std::uint64_t comments = 0;
    bool malformed = false;

    bool operator==(const Parsed&) const = default;
};

/// Feeds `text` in pieces whose lengths `next_length` gives.
template <class NextLength>
Parsed parse_in_pieces(std::string_view text, NextLength&& next_length) {
    SseParser parser;
    Parsed parsed;
    while (!text.empty()) {
        const std::size_t length =
            std::min<std::size_t>(std::max<std::size_t>(1, next_length()), text.size());
        parser.feed(Piece(text.substr(0, length)),
                    [&](const SseEvent& event) { append(parsed.events, event); });
        text.remove_prefix(length);
    }
    if (const auto event = parser.rest()) append(parsed.rest, *event);
    parsed.comments = parser.comments();
    parsed.malformed = parser.malformed();
    return parsed;
}

Parsed parse(std::string_view text) {
    return parse_in_pieces(text, [&] { return text.size(); });
}
Events events_of(std::string_view text) {
    return parse(text).events;
}

void expect_same_in_all_pieces(std::string_view text, std::uint64_t seed) {
    const Parsed whole = parse(text);
    for (std::size_t length : {1, 2, 3, 7, 64}) {
        EXPECT_EQ(parse_in_pieces(text, [&] { return length; }), whole) << "in pieces of " << length;
    }
    for (std::uint64_t i = 0; i < 20; ++i) {
        Random random(derived_seed(seed, "pieces", i));
        const std::uint64_t longest = 1 + random.below(400);
        EXPECT_EQ(parse_in_pieces(text, [&] { return 1 + random.below(longest); }), whole)
            << "random pieces " << i;
    }
}

TEST(Sse, AnEventIsItsDataUpToTheBlankLine) {
    EXPECT_THAT(events_of("data: one\n\ndata: two\n\n"), ElementsAre(Pair("", "one"), Pair("", "two")));
}

TEST(Sse, AtMostOneBlankAfterTheColonIsDropped) {
    EXPECT_THAT(events_of("data:{\"a\":1}\n\ndata:  two\n\n"),
                ElementsAre(Pair("", "{\"a\":1}"), Pair("", " two")));
}

TEST(Sse, LinesEndInLfCrLfOrCr) {
    EXPECT_THAT(events_of("data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\n"),
                ElementsAre(Pair("", "a"), Pair("", "b"), Pair("", "c"), Pair("", "d")));
}

TEST(Sse, ACrAtAPieceEndAndTheLfInTheNextAreOneLineEnd) {
    SseParser parser;
    Events events;
    const auto feed = [&](std::string_view text) {
        parser.feed(Piece(text), [&](const SseEvent& event) { append(events, event); });
    };
    feed("data: a\r");
    feed("\ndata: b\r");
    EXPECT_THAT(events, IsEmpty());
    feed("\n\r");
    EXPECT_THAT(events, ElementsAre(Pair("", "a\nb")));
    feed("\n");
    feed("data: c\n\n");
    EXPECT_THAT(events, ElementsAre(Pair("", "a\nb"), Pair("", "c")));
}

TEST(Sse, ABareCrEndsAnEventWithoutWaitingForMore) {
    EXPECT_THAT(events_of("data: now\r\r"), ElementsAre(Pair("", "now")));
}

TEST(Sse, CommentsAreCountedAndAreNoEvents) {
    const Parsed parsed = parse(": ping\n\n:\n\n: OPENROUTER PROCESSING\n\ndata: x\n: inside\n\n");
    EXPECT_THAT(parsed.events, ElementsAre(Pair("", "x")));
    EXPECT_EQ(parsed.comments, 4u);
}

TEST(Sse, ANamedEventWithoutDataIsAPing) {
    const Parsed parsed = parse("event: ping\n\nevent: ping\ndata: {}\n\n");
    EXPECT_THAT(parsed.events, ElementsAre(Pair("ping", "{}")));
    EXPECT_EQ(parsed.comments, 1u);
}

TEST(Sse, AnEventsNameIsItsOwn) {
    EXPECT_THAT(events_of("event: a\nevent: delta\ndata: 1\n\ndata: 2\n\n"),
                ElementsAre(Pair("delta", "1"), Pair("", "2")));
}

TEST(Sse, DataLinesAreJoinedByLineFeeds) {
    EXPECT_THAT(events_of("data: a\ndata\ndata: b\ndata:\n\n"), ElementsAre(Pair("", "a\n\nb\n")));
}

TEST(Sse, EmptyDataIsStillAnEvent) {
    EXPECT_THAT(events_of("data:\n\n"), ElementsAre(Pair("", "")));
}

TEST(Sse, IdRetryAndUnknownFieldsAreIgnored) {
    EXPECT_THAT(events_of("id: 7\nretry: 10\nfoo: bar\nnothing\ndata: x\n\n"), ElementsAre(Pair("", "x")));
}

TEST(Sse, AByteOrderMarkIsDroppedOnceAndOnlyAtTheStart) {
    EXPECT_THAT(events_of("\xEF\xBB\xBF"
                          "data: x\n\n\xEF\xBB\xBF"
                          "data: y\n\n"),
                ElementsAre(Pair("", "x")));
}

TEST(Sse, AnEventWithoutItsBlankLineIsWhatTheStreamLeaves) {
    EXPECT_THAT(parse("data: x\n\ndata: [DONE]").rest, ElementsAre(Pair("", "[DONE]")));
    EXPECT_THAT(parse("data: x\n\ndata: [DONE]\n").rest, ElementsAre(Pair("", "[DONE]")));
    EXPECT_THAT(parse("data: x\n\n").rest, IsEmpty());
    EXPECT_THAT(parse("data: x\n\n: bye").rest, IsEmpty());
}

TEST(Sse, EventsLargerThan16KiBPass) {
    const std::string large(100'000, 'x');
    EXPECT_THAT(events_of("data: " + large + "\n\n"), ElementsAre(Pair("", large)));
    expect_same_in_all_pieces("data: " + large + "\n\ndata: next\n\n", 1);
}

TEST(Sse, WhatIsLongerThanAMebibyteIsMalformed) {
    const std::string endless(SseParser::kLongest + 1, 'x');
    EXPECT_TRUE(parse("data: ok\n\n" + endless).malformed);
    EXPECT_TRUE(parse(endless + "\n\ndata: after\n\n").malformed);
    EXPECT_THAT(events_of("data: ok\n\n" + endless + "\n\ndata: after\n\n"), ElementsAre(Pair("", "ok")));
    EXPECT_TRUE(parse_in_pieces(endless, [] { return 4000; }).malformed);
    std::string lines;
    for (int i = 0; i < 1100; ++i) lines += "data: " + std::string(1000, 'x') + "\n";
    EXPECT_TRUE(parse(lines + "\n").malformed);
    EXPECT_TRUE(parse_in_pieces(lines + "\n", [] { return 1499; }).malformed);
}

TEST(Sse, AnEventInsideOnePieceIsHandedOutWhereItLies) {
    SseParser parser;
    const Piece piece("data: {\"here\":true}\n\n");
    const std::span<const char> bytes = piece;
    const char* data = nullptr;
    parser.feed(piece, [&](const SseEvent& event) { data = event.data.data(); });
    EXPECT_EQ(data, bytes.data() + 6);
}

TEST(Sse, AResetParserKnowsNothingOfTheStreamBefore) {
    SseParser parser;
    Events events;
    const auto on_event = [&](const SseEvent& event) { append(events, event); };
    parser.feed(Piece(": c\nevent: old\ndata: half\ndata: lin"), on_event);
    parser.reset();
    EXPECT_EQ(parser.comments(), 0u);
    EXPECT_EQ(parser.rest(), std::nullopt);
    parser.feed(Piece("\xEF\xBB\xBF"
                      "data: new\n\n"),
                on_event);
    EXPECT_THAT(events, ElementsAre(Pair("", "new")));
}

TEST(Sse, RealStreamsGiveTheSameEventsInWhateverPiecesTheyCome) {
    int streams = 0;
    for (const std::string& name : paretoken::testing::golden_files("streams")) {
        SCOPED_TRACE(name);
        const std::string body = paretoken::testing::body_of(paretoken::testing::golden(name));
        expect_same_in_all_pieces(body, 2);
        streams += parse(body).events.size() > 5;
    }
    EXPECT_EQ(streams, 11);
}

/// The WHATWG rule in the simplest form, on the whole stream.
Parsed by_the_book(std::string_view text) {
    Parsed parsed;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::string type, data;
    bool has_data = false;
    while (true) {
        const std::size_t end = text.find_first_of("\r\n");
        if (end == std::string_view::npos) return parsed;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
        if (line.empty()) {
            if (has_data) parsed.events.emplace_back(type, data);
            if (!has_data && !type.empty()) ++parsed.comments;
            type.clear();
            data.clear();
            has_data = false;
            continue;
        }
        const std::size_t colon = line.find(':');
        if (colon == 0) ++parsed.comments;
        const std::string field(line.substr(0, colon));
        std::string value(colon == std::string_view::npos ? "" : line.substr(colon + 1));
        if (value.starts_with(' ')) value.erase(0, 1);
        if (field == "event") type = value;
        if (field == "data") {
            data += (has_data ? "\n" : "") + value;
            has_data = true;
        }
    }
}

TEST(Sse, RandomStreamsParseByTheBookInWhateverPieces) {
    const std::vector<std::string> words = {"data", "event",  "id",           ":", ":",  " ",    "\n",
                                            "\n",   "\r",     "\r\n",         "x", "yy", "\n\n", "{",
                                            "}",    "data: ", "\xEF\xBB\xBF", "é"};
    for (std::uint64_t i = 0; i < 400; ++i) {
        SCOPED_TRACE(i);
        Random random(derived_seed(3, "streams", i));
        std::string text;
        for (std::uint64_t n = random.below(60); n > 0; --n) text += words[random.below(words.size())];
        const Parsed book = by_the_book(text);
        const Parsed whole = parse(text);
        EXPECT_EQ(whole.events, book.events) << text;
        for (std::size_t length : {1, 2, 3}) {
            EXPECT_EQ(parse_in_pieces(text, [&] { return length; }), whole) << text;
        }
        EXPECT_EQ(parse_in_pieces(text, [&] { return 1 + random.below(9); }), whole) << text;
    }
}

}  // namespace
}  // namespace paretoken::protocol
