#include "core/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Act>
std::string refusal_of(Act act) {
    try {
        act();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(Spec, durations_carry_their_unit_and_bare_numbers_are_seconds) {
    EXPECT_EQ(parse_milliseconds("500"), 500ms);
    EXPECT_EQ(parse_milliseconds("5e2"), 500ms);
    EXPECT_EQ(parse_milliseconds("0.5s"), 500ms);
    EXPECT_EQ(parse_duration("30s"), 30s);
    EXPECT_EQ(parse_duration("1.5m"), 90s);
    EXPECT_EQ(parse_duration("20ms"), 20ms);
    EXPECT_EQ(parse_duration("300us"), 300us);
    EXPECT_EQ(parse_duration("7ns"), 7ns);
    EXPECT_EQ(parse_duration("2h"), 2h);
    EXPECT_EQ(parse_duration("0"), 0s);
    EXPECT_EQ(parse_duration("0.25"), 250ms);
}

TEST(Spec, what_is_no_duration_is_refused_by_name) {
    for (const auto* text : {"", "s", "5x", "-1s", "inf", "nan", "1 s", "1s2", "0x10", "1e300h", "1e12"}) {
        const auto refusal = refusal_of([&] { parse_duration(text); });
        EXPECT_THAT(refusal, HasSubstr("'" + std::string(text) + "' is not a duration"));
    }
}

TEST(Spec, counts_take_powers_of_a_thousand) {
    EXPECT_EQ(parse_count("500"), 500U);
    EXPECT_EQ(parse_count("64k"), 64'000U);
    EXPECT_EQ(parse_count("1.5k"), 1500U);
    EXPECT_EQ(parse_count("2M"), 2'000'000U);
    EXPECT_EQ(parse_count("0"), 0U);
    for (const auto* text : {"", "k", "-1", "1.5", "64kb", "1e40", "inf"}) {
        EXPECT_THAT(refusal_of([&] { parse_count(text); }), HasSubstr("is not a count")) << text;
    }
}

TEST(Spec, ladders_come_as_lists_doublings_and_steps) {
    EXPECT_THAT(parse_ladder("1,2,4", Rungs::whole), ElementsAre(1, 2, 4));
    EXPECT_THAT(parse_ladder("5", Rungs::whole), ElementsAre(5));
    EXPECT_THAT(parse_ladder("1..64", Rungs::whole), ElementsAre(1, 2, 4, 8, 16, 32, 64));
    EXPECT_THAT(parse_ladder("1..10", Rungs::whole), ElementsAre(1, 2, 4, 8, 10));
    EXPECT_THAT(parse_ladder("8..32:8", Rungs::whole), ElementsAre(8, 16, 24, 32));
    EXPECT_THAT(parse_ladder("8..30:8", Rungs::whole), ElementsAre(8, 16, 24, 30));
    EXPECT_THAT(parse_ladder("4,1..4,2", Rungs::whole), ElementsAre(1, 2, 4));
    EXPECT_THAT(parse_ladder("1k..4k", Rungs::whole), ElementsAre(1000, 2000, 4000));
}

TEST(Spec, ladders_of_rates_may_be_decimal) {
    EXPECT_THAT(parse_ladder("0.25..8", Rungs::decimal), ElementsAre(0.25, 0.5, 1, 2, 4, 8));
    EXPECT_THAT(parse_ladder("0.5..2:0.25", Rungs::decimal), ElementsAre(0.5, 0.75, 1, 1.25, 1.5, 1.75, 2));
    EXPECT_EQ(parse_ladder("0.1..1:0.1", Rungs::decimal).size(), 10U);
    for (const auto* text : {"0", "-1", "0..4", "0.5..", "1e-9"})
        EXPECT_THAT(refusal_of([&] { parse_ladder(text, Rungs::decimal); }),
                    HasSubstr("expected a list like"))
            << text;
    EXPECT_THAT(refusal_of([] { parse_ladder("0.5,1", Rungs::whole); }), HasSubstr("whole number"));
}

TEST(Spec, ladders_that_make_no_sense_are_refused) {
    for (const auto* text :
         {"", "0", "0..4", "4..1", "1,,2", "1..", "..4", "1..4:0", "1..4:", "a", "1...4"}) {
        EXPECT_THAT(refusal_of([&] { parse_ladder(text, Rungs::whole); }), HasSubstr("expected a list like"))
            << text;
    }
    EXPECT_THAT(refusal_of([] { parse_ladder("1..1000000000:1", Rungs::whole); }),
                HasSubstr("more than 10000 steps"));
}

TEST(Spec, a_spec_is_a_name_and_its_fields) {
    EXPECT_EQ(parse_spec("64"), (Spec{"64", {}}));
    EXPECT_EQ(parse_spec("poisson:rate=8"), (Spec{"poisson", {{"rate", "8"}}}));
    const auto spec = parse_spec("lognormal:mean=4k,cv=.5");
    EXPECT_EQ(spec.number("mean"), 4000);
    EXPECT_EQ(spec.number("cv"), 0.5);
    EXPECT_EQ(spec.number_or("max", 9), 9);
    EXPECT_EQ(parse_spec("file:path=/a:b=c").fields.at("path"), "/a:b=c");
}

TEST(Spec, a_malformed_spec_says_what_was_expected) {
    EXPECT_THAT(refusal_of([] { parse_spec(""); }), HasSubstr("names nothing"));
    EXPECT_THAT(refusal_of([] { parse_spec(":rate=1"); }), HasSubstr("names nothing"));
    EXPECT_THAT(refusal_of([] { parse_spec("a:rate"); }), HasSubstr("'rate' is not KEY=VALUE"));
    EXPECT_THAT(refusal_of([] { parse_spec("a:"); }), HasSubstr("is not KEY=VALUE"));
    EXPECT_THAT(refusal_of([] { parse_spec("a:=1"); }), HasSubstr("is not KEY=VALUE"));
    EXPECT_THAT(refusal_of([] { parse_spec("a:x=1,x=2"); }), HasSubstr("gives x twice"));
    EXPECT_THAT(refusal_of([] { (void)parse_spec("a").number("x"); }), HasSubstr("'a' needs x=NUMBER"));
    EXPECT_THAT(refusal_of([] { (void)parse_spec("a:x=y").number("x"); }), HasSubstr("x=y is not a number"));
}

TEST(Spec, a_field_nobody_reads_is_refused_and_the_known_ones_are_named) {
    const auto spec = parse_spec("gamma:rate=8,cv=2");
    EXPECT_NO_THROW(spec.expect_only({"rate", "cv"}));
    EXPECT_THAT(refusal_of([&] {
                    spec.expect_only({"rate", "shape"});
                }),
                HasSubstr("no field 'cv'; it knows rate, shape"));
    EXPECT_THAT(refusal_of([&] { spec.expect_only({}); }), HasSubstr("takes no fields"));
}

TEST(TextOf, of_a_very_long_duration_is_read_back_as_the_same) {
    const Duration long_one = parse_duration("111111111197944.1222224us");
    EXPECT_EQ(parse_duration(text_of(long_one)), long_one);
}

TEST(ParseDuration, adds_parts_of_ever_smaller_units) {
    EXPECT_EQ(parse_duration("1m30s"), std::chrono::seconds(90));
    EXPECT_EQ(parse_duration("1h2m3.5s"), std::chrono::milliseconds(3'723'500));
    EXPECT_EQ(parse_milliseconds("1s500ms"), std::chrono::milliseconds(1500));
    for (const char* text : {"30s1m", "1m1m", "1m30", "1m-3s", "1mm", "m30s", "1e3s2"})
        EXPECT_THAT(refusal_of([&] { static_cast<void>(parse_duration(text)); }), HasSubstr(text));
}

TEST(TextOf, is_read_back_as_the_same_duration) {
    using std::chrono::nanoseconds;
    for (const char* text : {"0s", "90s", "1500us", "20ms", "7ns", "3600s"}) {
        EXPECT_EQ(text_of(parse_duration(text)), text);
    }
    for (const std::int64_t count : {1LL, 999LL, 123'456'789LL, 86'400'000'000'001LL}) {
        EXPECT_EQ(parse_duration(text_of(nanoseconds(count))), nanoseconds(count));
    }
}

TEST(TextOf, is_read_back_as_the_same_spec) {
    EXPECT_EQ(text_of(parse_spec("at_once")), "at_once");
    EXPECT_EQ(text_of(parse_spec("gamma:rate=4,burstiness=0.5")), "gamma:burstiness=0.5,rate=4");
}

TEST(ParseNumber, takes_finite_decimal_numbers_with_a_suffix) {
    EXPECT_EQ(parse_number("1.5"), 1.5);
    EXPECT_EQ(parse_number("4k"), 4000);
    for (const char* text : {"1e300G", "1e308k", "", "inf", "nan", "0x10", "1,5", "4kk"})
        EXPECT_THROW(parse_number(text), UsageError) << text;
}

}  // namespace
}  // namespace paretoken
