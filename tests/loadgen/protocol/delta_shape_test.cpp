#include "loadgen/protocol/delta_shape.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "loadgen/protocol/delta.h"
#include "loadgen/protocol/sse.h"
#include "tests/support/golden.h"
#include "tests/support/padded.h"

namespace paretoken::protocol {
namespace {

using paretoken::testing::padded;

const std::string kEvent =
    padded(R"({"id":"chatcmpl-1","created":17,"choices":[{"index":0,"delta":{"content":"abc"}}]})");

ShapeHole hole(ShapeHole::Kind kind, std::string_view value) {
    return {kind, static_cast<std::uint32_t>(kEvent.find(value)), static_cast<std::uint32_t>(value.size())};
}

DeltaShape shape_of_event() {
    using Kind = ShapeHole::Kind;
    const std::vector<ShapeHole> holes = {hole(Kind::string, "chatcmpl-1"), hole(Kind::number, "17"),
                                          hole(Kind::output, "abc")};
    const auto shape = DeltaShape::of(kEvent, holes);
    EXPECT_TRUE(shape);
    return *shape;
}

std::optional<std::uint32_t> recognised(const std::string& from, const std::string& to) {
    std::string event = kEvent;
    event.replace(event.find(from), from.size(), to);
    PaddedBuffer padded;
    padded.append(event);
    std::string_view output;
    return shape_of_event().output_bytes(padded.view(), output);
}

TEST(DeltaShape, RecognisesAnotherTextIdOrNumber) {
    EXPECT_EQ(recognised("abc", "abc"), 3u);
    EXPECT_EQ(recognised("abc", " a longer text"), 14u);
    EXPECT_EQ(recognised("abc", "größe 量"), std::strlen("größe 量"));
    EXPECT_EQ(recognised("abc", R"(a\n\"b\\)"), 5u);
    EXPECT_EQ(recognised("chatcmpl-1", "another id"), 3u);
    EXPECT_EQ(recognised("chatcmpl-1", ""), 3u);
    EXPECT_EQ(recognised("17", "1795248095"), 3u);
}

TEST(DeltaShape, LeavesEverythingElseToTheParser) {
    const std::vector<std::pair<std::string, std::string>> changes = {
        {"abc", ""},
        {"abc", "a\\xb"},
        {"abc", "\\u0041"},
        {"abc", "a\\"},
        {"abc", "a\"b"},
        {"abc", "a\nb"},
        {"abc", "a\xC3\x28"},
        {"abc", "\xFF"},
        {"17", "-1"},
        {"17", "1.5"},
        {"17", "01"},
        {"17", ""},
        {"17", "1234567890123456"},
        {"\"index\":0", "\"index\":1"},
        {"content", "refusal"},
        {"}}]}", "}}]"},
        {"}}]}", "}}]} "},
        {"}}]}", "}}],\"usage\":null}"},
        {"chatcmpl-1", "a\\u0062"},
    };
    for (const auto& [from, to] : changes) EXPECT_FALSE(recognised(from, to)) << from << " → " << to;
}

TEST(DeltaShape, IsNotMadeOfWhatItCouldNotRecogniseSafely) {
    using Kind = ShapeHole::Kind;
    const std::vector<std::vector<ShapeHole>> unsafe = {
        {},
        {hole(Kind::string, "chatcmpl-1")},                             // no output
        {hole(Kind::output, "chatcmpl-1"), hole(Kind::output, "abc")},  // two
        {hole(Kind::output, "abc"), hole(Kind::string, "chatcmpl-1")},  // not in order
        {hole(Kind::output, "ab")},                                     // ends before its quote
        {hole(Kind::number, "abc"), hole(Kind::output, "abc")},         // no number
    };
    for (const auto& holes : unsafe) EXPECT_FALSE(DeltaShape::of(kEvent, holes));
    const std::string whole = padded(R"("abc)");
    EXPECT_FALSE(DeltaShape::of(whole, std::vector<ShapeHole>{{Kind::output, 1, 3}})) << "no end";
}

/// Returns the data of all events of a recorded answer's body.
std::vector<std::string> events_of(const std::string& name) {
    PaddedBuffer body;
    body.append(paretoken::testing::body_of(paretoken::testing::golden(name)));
    std::vector<std::string> events;
    SseParser().feed({body.view().data(), body.size()},
                     [&](const SseEvent& event) { events.emplace_back(event.data); });
    return events;
}

Delta parsed(DeltaParser& parser, const std::string& event) {
    PaddedBuffer padded;
    padded.append(event);
    return parser.parse(padded.view());
}

/// Returns `event` with one byte changed, added or removed.
std::string damaged(std::string event, std::mt19937& random) {
    const std::size_t at = random() % event.size();
    const char byte = "\"\\{}[]:,0a1 \n\x80\xC3\xBC"[random() % 16];
    switch (random() % 3) {
        case 0:
            event[at] = byte;
            return event;
        case 1:
            return event.insert(at, 1, byte);
        default:
            return event.erase(at, 1);
    }
}

/// Compares a parser that knows the event's shape with one that has seen nothing.
TEST(DeltaShape, NeverChangesWhatAnEventMeans) {
    std::mt19937 random(3);
    std::uint64_t recognised = 0;
    const auto compare = [&](const Protocol& protocol, const std::string& event) {
        for (int i = 0; i < 100; ++i) {
            const std::string changed = i == 0 ? event : damaged(event, random);
            DeltaParser experienced({}, protocol), fresh({}, protocol);
            parsed(experienced, event);
            ASSERT_EQ(parsed(experienced, changed), parsed(fresh, changed)) << changed;
            recognised += experienced.recognised();
        }
    };
    for (const Protocol* protocol : protocols()) {
        recognised = 0;
        for (const std::string& recording : paretoken::testing::golden_files("streams"))
            for (const std::string& event : events_of(recording)) compare(*protocol, event);
        EXPECT_GT(recognised, 20U) << protocol->name << ", or the parser was compared with itself";
    }
}

TEST(DeltaShape, OutputInSeveralPlacesIsAlwaysParsed) {
    const std::vector<std::pair<std::string, std::string>> pairs = {
        {R"({"choices":[{"delta":{"reasoning_content":[{"text":"ab"}],"reasoning":"abc"}}]})",
         R"({"choices":[{"delta":{"reasoning_content":[{"text":"ab"}],"reasoning":"x"}}]})"},
        {R"({"choices":[{"delta":{"content":[{"type":"thinking","thinking":"ab"}],"reasoning":"abc"}}]})",
         R"({"choices":[{"delta":{"content":[{"type":"thinking","thinking":"ab"}],"reasoning":"x"}}]})"},
        {R"({"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]})",
         R"({"choices":[{"delta":{"content":"a"}},{"delta":{"content":"bc"}}]})"},
    };
    for (const auto& [first, second] : pairs) {
        DeltaParser experienced, fresh;
        parsed(experienced, first);
        EXPECT_EQ(parsed(experienced, second), parsed(fresh, second)) << second;
        EXPECT_EQ(experienced.recognised(), 0u);
    }
}

TEST(DeltaShape, EscapesOfAnOutputAreUndoneWhereverTheyStand) {
    const std::vector<std::pair<std::string, std::string>> pieces = {
        {"a", "a"},     {"\u00e9", "\u00e9"}, {" sixteen and more", " sixteen and more"},
        {"\\\"", "\""}, {"\\\\", "\\"},       {"\\/", "/"},
        {"\\b", "\b"},  {"\\f", "\f"},        {"\\n", "\n"},
        {"\\r", "\r"},  {"\\t", "\t"}};
    std::mt19937 random(3);
    PaddedBuffer text;
    std::string expected;
    for (int i = 0; i < 2000; ++i) {
        std::string output;
        for (auto left = random() % 40; left > 0; --left) {
            const auto& [stands, means] = pieces[random() % 3 == 0 ? random() % pieces.size() : 0];
            output += stands;
            expected += means;
        }
        append_unescaped(padded(output), text);
        ASSERT_EQ(text.view(), expected) << output;
        if (expected.size() < 3000) continue;
        text.clear();
        expected.clear();
    }
}

std::string plain_event(int i) {
    return R"({"id":"a","choices":[{"index":0,"delta":{"content":")" + std::to_string(i) + "\"}}]}";
}

TEST(DeltaShape, AllButTheFirstOfAStreamAreRecognised) {
    DeltaParser parser;
    for (int i = 0; i < 100; ++i) parsed(parser, plain_event(i));
    EXPECT_EQ(parser.recognised(), 99u);
}

TEST(DeltaShape, AStreamWithoutAShapeIsReadAndDoesNotKeepTheNextOneFromBeingRecognised) {
    DeltaParser parser;
    for (int i = 0; i < 500; ++i) {
        const std::string n = std::to_string(i);
        const Delta delta =
            parsed(parser, R"({"n":)" + n + R"(,"choices":[{"delta":{"content":")" + n + "\"}}]}");
        EXPECT_EQ(delta.text_bytes, n.size());
    }
    for (int i = 0; i < 1000; ++i) parsed(parser, plain_event(i));
    EXPECT_GT(parser.recognised(), 900u);
}

}  // namespace
}  // namespace paretoken::protocol
