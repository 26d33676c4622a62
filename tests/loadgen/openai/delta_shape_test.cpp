#include "loadgen/openai/delta_shape.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "loadgen/openai/delta.h"
#include "loadgen/openai/sse.h"
#include "tests/support/golden.h"

namespace paretoken::openai {
namespace {

const std::string kEvent =
    R"({"id":"chatcmpl-1","created":17,"choices":[{"index":0,"delta":{"content":"abc"}}]})";

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
    return shape_of_event().output_bytes(padded.view());
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
    const std::string whole = R"("abc)";
    EXPECT_FALSE(DeltaShape::of(whole, std::vector<ShapeHole>{{Kind::output, 1, 3}})) << "no end";
}

/// The data of all events of a recorded answer's body.
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

/// One parser that has seen everything before against one that has seen nothing.
TEST(DeltaShape, NeverChangesWhatAnEventMeans) {
    std::mt19937 random(3);
    DeltaParser experienced;
    for (const std::string& recording : paretoken::testing::golden_files("streams")) {
        const auto events = events_of(recording);
        for (const std::string& event : events) {
            DeltaParser fresh;
            ASSERT_EQ(parsed(experienced, event), parsed(fresh, event)) << event;
            for (int i = 0; i < 200; ++i) {
                std::string changed = event;
                const std::size_t at = random() % changed.size();
                const char byte = "\"\\{}[]:,0a1 \n\x80\xC3\xBC"[random() % 16];
                switch (random() % 3) {
                    case 0:
                        changed[at] = byte;
                        break;
                    case 1:
                        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), byte);
                        break;
                    default:
                        changed.erase(at, 1);
                }
                DeltaParser another;
                ASSERT_EQ(parsed(experienced, changed), parsed(another, changed)) << changed;
            }
        }
    }
}

TEST(DeltaShape, AStreamWithoutAShapeIsStillRead) {
    DeltaParser parser;
    for (int i = 0; i < 100; ++i) {
        const std::string n = std::to_string(i);
        const Delta delta =
            parsed(parser, R"({"n":)" + n + R"(,"choices":[{"delta":{"content":")" + n + "\"}}]}");
        EXPECT_EQ(delta.text_bytes, n.size());
    }
}

}  // namespace
}  // namespace paretoken::openai
