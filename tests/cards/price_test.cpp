#include "cards/price.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::cards {
namespace {

/// A card to which `more` is added before the closing brace.
PriceCard card(const std::string& more) {
    return parse_price_card(R"({"schema": 1, "as_of": "2026-08-20", "currency": "USD", "source": "test",
        "gpus": {"h200": {"on_demand": 3.50, "reserved_1y": 2.10, "spot": 1.05, "power_w_allin": 1370, "tdp_w": 700}},
        "cpus": {"cpu": {"on_demand": 0.10, "cores": 2}, "EPYC": {"on_demand": 0.12, "cores": 2}})" +
                                more + "}",
                            "test.json");
}

std::string complaint_about_prices(const std::string& json) {
    try {
        parse_price_card(json, "prices.json");
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

std::string minimal(const std::string& gpus) {
    return R"({"schema": 1, "as_of": "2026-08-20", "currency": "USD", "source": "s", "gpus": )" + gpus + "}";
}

TEST(Price, IsThatOfEveryGpuHeld) {
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"h200", 1, {}})->usd_per_h, 3.50);
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"NVIDIA H200", 8, {}})->usd_per_h, 28.0);
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"h200", 1, {}}, "spot")->usd_per_h, 1.05);
    EXPECT_EQ(hourly_rate(card(""), {"h200", 1, {}})->basis, "on_demand");
}

TEST(Price, InDollarsPerHourIsThatOfEveryKnownGpuAndOfAMachine) {
    for (const char* const text : {"2.50", "$2.5"}) {
        const PriceCard flat = price_card(text);
        EXPECT_EQ(flat.name, std::string("--price ") + text);
        EXPECT_DOUBLE_EQ(hourly_rate(flat, {"NVIDIA H200", 8, {}})->usd_per_h, 20.0);
        EXPECT_DOUBLE_EQ(hourly_rate(flat, {"AMD EPYC 9654", 1, 96})->usd_per_h, 2.5);
        EXPECT_EQ(hourly_rate(flat, {"h100", 1, {}})->basis, "$2.50/h");
        EXPECT_FALSE(hourly_rate(flat, {"", 1, {}}));
    }
    for (const char* const text : {"0", "-2", "2.50h", "", "inf"})
        EXPECT_THROW(price_card(text), UsageError) << text;
}

TEST(Price, MixesBasesByTheirShares) {
    const auto rate =
        hourly_rate(card(R"(, "mix": {"reserved_1y": 0.7, "on_demand": 0.3})"), {"h200", 1, {}});
    EXPECT_DOUBLE_EQ(rate->usd_per_h, 0.7 * 2.10 + 0.3 * 3.50);
    EXPECT_NE(rate->basis.find("70 % reserved_1y"), std::string::npos);
}

TEST(Price, OfABasisThatIsMissingIsAnErrorAndNeverAnotherBasis) {
    const PriceCard mixed = parse_price_card(
        minimal(
            R"({"h200": {"on_demand": 3, "spot": 1}, "l4": {"on_demand": 0.7}}, "mix": {"spot": 0.5, "on_demand": 0.5})"),
        "p.json");
    EXPECT_DOUBLE_EQ(hourly_rate(mixed, {"h200", 1, {}})->usd_per_h, 2.0);
    try {
        static_cast<void>(hourly_rate(mixed, {"l4", 1, {}}));
        FAIL() << "a GPU without a price on a basis of the mix was priced";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("l4: no price on the basis \"spot\"; it has on_demand"),
                  std::string::npos)
            << error.what();
    }
}

TEST(Price, OfAnApiIsItsShareOfTheMix) {
    const ApiPrice api = api_price_named("claude-sonnet-4.6", {});
    EXPECT_DOUBLE_EQ(api_usd_per_m(api, 1, 0, 1, 4096), 9);
    EXPECT_DOUBLE_EQ(api_usd_per_m(api, 100, 900, 0, 4096), (300 + 270) / 1000.0);
    EXPECT_EQ(api.cache_write_1h, 6.0);
    EXPECT_FALSE(api.as_of.empty());
    ApiPrice without_cache = api;
    without_cache.cache_read.reset();
    EXPECT_DOUBLE_EQ(api_usd_per_m(without_cache, 100, 900, 0, 4096), 3);
    EXPECT_THROW(api_price_named("nonesuch", {}), UsageError);
}

TEST(Price, AnApiDoesNotCachePromptsThatAreTooShort) {
    const ApiPrice api = api_price_named("claude-haiku-4.5", {});
    ASSERT_EQ(api.min_cache_tokens, 4096u);
    EXPECT_NEAR(api_usd_per_m(api, 224.4, 1475.6, 128, 4096), 0.554, 5e-4);
    EXPECT_NEAR(api_usd_per_m(api, 224.4, 1475.6, 128, 1700), 1.280, 5e-4);
}

TEST(Price, OfAnApiWithWritesIsThatOfAllFreshInputWrittenAndKept) {
    const ApiPrice haiku = api_price_named("claude-haiku-4.5", {});
    EXPECT_NEAR(*api_usd_per_m_with_writes(haiku, 100, 900, 10, 4096), (125 + 90 + 50) / 1010.0, 1e-9);
    EXPECT_FALSE(api_usd_per_m_with_writes(haiku, 100, 900, 10, 1700)) << "shorter than what is cached";
    EXPECT_FALSE(api_usd_per_m_with_writes(haiku, 100, 0, 10, 4096)) << "nothing is read from the cache";
    ApiPrice hour = haiku;
    hour.ttl_s = 3600;
    EXPECT_NEAR(*api_usd_per_m_with_writes(hour, 100, 900, 10, 4096), (200 + 90 + 50) / 1010.0, 1e-9);
    ApiPrice stored = api_price_named("gemini-2.5-pro", {});
    EXPECT_NEAR(*api_usd_per_m_with_writes(stored, 100, 900, 10, 4096), (575 + 112.5 + 100) / 1010.0, 1e-9)
        << "1.25 + 4.5 for an hour";
    stored.ttl_s = 600;
    EXPECT_NEAR(*api_usd_per_m_with_writes(stored, 100, 900, 10, 4096), (200 + 112.5 + 100) / 1010.0, 1e-9);
    EXPECT_FALSE(api_usd_per_m_with_writes(api_price_named("deepseek-flash", {}), 100, 900, 10, 4096));
}

TEST(Price, EveryShippedApiHasADateAndASource) {
    for (const auto& [name, api] : price_card("2026-11-apis").apis) {
        EXPECT_EQ(api.as_of.size(), 10u) << name;
        EXPECT_FALSE(api.source.empty()) << name;
        EXPECT_GT(api.output, api.input) << name;
        EXPECT_LT(api.cache_read.value(), api.input) << name;
    }
}

TEST(Price, AddsPowerOnlyWhenTheRateLacksItAndPueNeverToAnAllInFigure) {
    const PriceCard separate = card(R"(, "power_in_rate": false, "usd_per_kwh": 0.10, "pue": 1.3)");
    EXPECT_DOUBLE_EQ(hourly_rate(separate, {"h200", 1, {}})->usd_per_h, 3.50 + 1.370 * 0.10);
    PriceCard board = separate;
    board.gpus.at("h200").power_w_allin.reset();
    EXPECT_DOUBLE_EQ(hourly_rate(board, {"h200", 2, {}})->usd_per_h, 2 * (3.50 + 0.700 * 0.10 * 1.3));
    board.gpus.at("h200").tdp_w.reset();
    EXPECT_THROW(hourly_rate(board, {"h200", 1, {}}), UsageError);
    EXPECT_DOUBLE_EQ(hourly_rate(card(R"(, "usd_per_kwh": 0.10, "pue": 1.3)"), {"h200", 1, {}})->usd_per_h,
                     3.50);
}

TEST(Price, TakesMeasuredPowerInPlaceOfTheCardsWattsOfJustTheDevicesThatArePriced) {
    const PriceCard separate = card(R"(, "power_in_rate": false, "usd_per_kwh": 0.10, "pue": 1.3)");
    const auto rate = [&](const PricedHardware& hardware, const MeasuredPower& measured) {
        return hourly_rate(separate, hardware, {}, measured).value();
    };
    const HourlyRate measured = rate({"h200", 2, {}}, {.watts = 1100, .source = "nvml", .devices = 2});
    EXPECT_DOUBLE_EQ(measured.usd_per_h, 2 * 3.50 + 1.100 * 1.3 * 0.10);
    EXPECT_EQ(measured.power, "measured by NVML");
    EXPECT_DOUBLE_EQ(measured.power_w.value(), 1430);
    EXPECT_EQ(measured.how, "2 × $3.50/h + $0.143/h power, 1100 W measured by NVML × PUE 1.3");
    EXPECT_EQ(rate({"h200", 1, {}}, {.watts = 500, .source = "dcgm", .devices = 1}).power,
              "measured by DCGM");

    const HourlyRate by_card = hourly_rate(separate, {"h200", 2, {}}).value();
    EXPECT_EQ(by_card.power, "card");
    EXPECT_DOUBLE_EQ(by_card.power_w.value(), 2 * 1370);
    for (const MeasuredPower& other : {MeasuredPower{.watts = 90, .source = "rapl", .devices = 2},
                                       MeasuredPower{.watts = 4000, .source = "nvml", .devices = 8},
                                       MeasuredPower{.watts = 1100, .source = "nvml", .devices = {}}})
        EXPECT_EQ(rate({"h200", 2, {}}, other), by_card) << other.source << " is not of these GPUs";
}

TEST(Price, TakesTheMeasuredPowerOfCpuPackagesForACpuHostAndNeverThatOfGpus) {
    const PriceCard separate =
        parse_price_card(R"({"schema": 1, "as_of": "2026-08-20", "currency": "USD", "source": "s",
            "cpus": {"cpu": {"on_demand": 0.10, "tdp_w": 40, "cores": 2}},
            "power_in_rate": false, "usd_per_kwh": 0.25, "pue": 1.2})",
                         "p.json");
    const PricedHardware host{"Some CPU", 1, 8};
    const HourlyRate measured =
        hourly_rate(separate, host, {}, MeasuredPower{.watts = 90, .source = "rapl", .devices = 1}).value();
    EXPECT_DOUBLE_EQ(measured.usd_per_h, 4 * 0.10 + 0.090 * 1.2 * 0.25);
    EXPECT_EQ(measured.power, "measured by RAPL");
    const HourlyRate by_card =
        hourly_rate(separate, host, {}, MeasuredPower{.watts = 300, .source = "nvml", .devices = 1}).value();
    EXPECT_DOUBLE_EQ(by_card.usd_per_h, 4 * (0.10 + 0.040 * 1.2 * 0.25));
    EXPECT_EQ(by_card.power, "card");
}

TEST(Price, LeavesPowerOutThatTheRateHoldsAlready) {
    const HourlyRate rate = hourly_rate(card(R"(, "usd_per_kwh": 0.10, "pue": 1.3)"), {"h200", 1, {}}, {},
                                        MeasuredPower{.watts = 600, .source = "nvml", .devices = 1})
                                .value();
    EXPECT_DOUBLE_EQ(rate.usd_per_h, 3.50);
    EXPECT_EQ(rate.power, "");
    EXPECT_FALSE(rate.power_w);
}

TEST(Price, AddsOperationOncePerDeployment) {
    EXPECT_DOUBLE_EQ(hourly_rate(card(R"(, "ops_usd_month": 720)"), {"h200", 2, {}})->usd_per_h, 8.0);
}

TEST(Price, OfACpuHostGrowsWithItsCores) {
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"Some CPU", 1, 2})->usd_per_h, 0.10);
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"Some CPU", 1, 8})->usd_per_h, 0.40);
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"AMD EPYC 9B14", 1, 2})->usd_per_h, 0.12);
    EXPECT_EQ(hourly_rate(card(""), {"AMD EPYC 9B14", 1, 2})->item, "EPYC");
    EXPECT_FALSE(hourly_rate(card(""), {"Xeon(R) CPU @ 2.20GHz", 1, {}})) << "its cores are not known";
    EXPECT_DOUBLE_EQ(hourly_rate(card(""), {"Xeon(R) CPU @ 2.20GHz", 1, 8})->usd_per_h, 0.40);
}

TEST(Price, OfACpuNeverStandsInForAnythingElse) {
    EXPECT_FALSE(hourly_rate(card(""), {"a100", 1, {}}));
    EXPECT_FALSE(hourly_rate(card(""), {"a100", 1, 2}));
    EXPECT_FALSE(hourly_rate(card(""), {"sim:ideal", 1, 2}));
    EXPECT_FALSE(hourly_rate(card(""), {"gaudi3", 1, {}}));
    EXPECT_FALSE(hourly_rate(card(""), {"", 1, 2}));
}

TEST(Price, MissingOnABasisIsAnErrorAndNeverZero) {
    try {
        hourly_rate(card(""), {"h200", 1, {}}, "owned_tco");
        ADD_FAILURE() << "accepted";
    } catch (const UsageError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("test.json"), std::string::npos);
        EXPECT_NE(text.find("owned_tco"), std::string::npos);
        EXPECT_NE(text.find("reserved_1y"), std::string::npos);
    }
    EXPECT_THROW(
        hourly_rate(parse_price_card(minimal(R"({"h200": {"spot": 1, "reserved_1y": 2}})"), "p.json"),
                    {"h200", 1, {}}),
        UsageError);
    EXPECT_EQ(
        hourly_rate(parse_price_card(minimal(R"({"h200": {"spot": 1}})"), "p.json"), {"h200", 1, {}})->basis,
        "spot");
}

TEST(Price, EarnsForTheUtilisedAndAvailableShareOfTime) {
    EXPECT_DOUBLE_EQ(earning_share(card("")), 1);
    EXPECT_DOUBLE_EQ(
        earning_share(card(R"(, "utilization": 0.6, "availability": {"mtbi_h": 576, "recovery_h": 1})")),
        0.6 * 576 / 577);
}

TEST(Price, MalformedCardsNameFileKeyAndWhatWasExpected) {
    EXPECT_EQ(complaint_about_prices(minimal(R"({"h200": {"on_demand": "cheap"}})")),
              "prices.json: gpus.h200.on_demand: expected a positive number, got \"cheap\"");
    EXPECT_EQ(complaint_about_prices(minimal(R"({"h200": {"on_demand": 0}})")),
              "prices.json: gpus.h200.on_demand: expected a positive number, got 0");
    EXPECT_NE(
        complaint_about_prices(minimal(R"({"h200": {}})")).find("gpus.h200: expected at least one price"),
        std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal("{}")).find("at least one price"), std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal(R"({"": {"spot": 1}})"))
                  .find("gpus: expected the name of a priced item"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal(R"({"h200": {"": 1}})"))
                  .find("gpus.h200: expected the name of a price basis that is not empty"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices(R"({"schema": 1, "as_of": "2026-08-20", "currency": "USD", "source": "s",
                                         "apis": {"a": {"in": 0.000003, "out": 0.000015}}})")
                  .find("apis.a.in: expected dollars per million tokens, not per token"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices("not json").find("prices.json: not valid JSON at line 1"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices(R"({"schema": 2})").find("schema: expected schema 1"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices(R"({"schema": 1})").find("as_of: missing; expected"), std::string::npos);
    EXPECT_NE(complaint_about_prices(R"({"schema": 1, "gpu": {}})").find("gpu: unknown key"),
              std::string::npos);
    EXPECT_NE(
        complaint_about_prices(R"({"schema": 1, "as_of": "2026-08-20", "currency": "EUR", "source": "s"})")
            .find("currency"),
        std::string::npos);
    EXPECT_NE(
        complaint_about_prices(minimal(R"({"h200": {"spot": 1}}, "mix": {"spot": 0.5})")).find("sum to 1"),
        std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal(R"({"h200": {"spot": 1}}, "price_band": [1.2, 0.8])"))
                  .find("lower factor"),
              std::string::npos);
    EXPECT_NE(
        complaint_about_prices(minimal(R"({"h200": {"spot": 1}}, "utilization": 60)")).find("utilization"),
        std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal(R"({"h200": {"spot": 1}}, "power_in_rate": false)"))
                  .find("usd_per_kwh"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal(R"({"h200": {"spot": 1}}, "apis": {"x": {"in": 3}})"))
                  .find("apis.x.out"),
              std::string::npos);
}

TEST(Price, HasADayOfTheCalendarAndEachGpuOnce) {
    const auto dated = [](const std::string& date, const std::string& of_api = "2026-08-20") {
        return complaint_about_prices(R"({"schema": 1, "as_of": ")" + date + R"(", "currency": "USD",
            "source": "s", "apis": {"a": {"in": 1, "out": 2, "as_of": ")" +
                                      of_api + "\"}}}");
    };
    EXPECT_EQ(dated("2024-02-29"), "accepted");
    for (const char* const wrong : {"yesterday", "", "2026-13-45", "2026-02-29", "2026-8-20", "2026-08-20 ",
                                    " 2026-08-2", "2026-08-20T00:00:00Z"}) {
        EXPECT_NE(dated(wrong).find("as_of: expected a date in the form YYYY-MM-DD"), std::string::npos)
            << wrong;
        EXPECT_NE(dated("2026-08-20", wrong).find("apis.a.as_of: expected a date"), std::string::npos)
            << wrong;
    }
    EXPECT_NE(complaint_about_prices(minimal(R"({"h100": {"spot": 2}, "h100-sxm": {"spot": 9}})"))
                  .find("gpus.h100-sxm: expected one price per GPU, because \"h100\" is the same one"),
              std::string::npos);
    EXPECT_NE(complaint_about_prices(minimal(R"({"My GPU": {"spot": 2}, "my-gpu": {"spot": 9}})"))
                  .find("one price per GPU"),
              std::string::npos);
    EXPECT_EQ(complaint_about_prices(minimal(R"({"h100-pcie": {"spot": 2}, "h100-sxm": {"spot": 9}})")),
              "accepted");
}

TEST(Price, EveryShippedCardIsDatedSourcedAndReadable) {
    ASSERT_GE(known_price_cards().size(), 2u);
    for (const std::string& name : known_price_cards()) {
        const PriceCard one = price_card(name);
        EXPECT_EQ(one.name, name);
        EXPECT_FALSE(one.as_of.empty());
        EXPECT_FALSE(one.source.empty());
        EXPECT_TRUE(one.price_band.has_value() || (one.gpus.empty() && one.cpus.empty()));
    }
    EXPECT_TRUE(hourly_rate(price_card("2026-11-cloud"), {"h100", 1, {}}).has_value());
    EXPECT_TRUE(hourly_rate(price_card("2026-11-cpu"), {"AMD EPYC", 1, 2}).has_value());
    ASSERT_EQ(default_price_cards().size(), 2u);
    EXPECT_THROW(price_card("no-such-card"), UsageError);
}

TEST(Price, KeepsTheTermsOfApis) {
    const PriceCard one =
        card(R"(, "apis": {"x": {"in": 3.0, "out": 15.0, "cache_read": 0.30, "cache_write": 3.75,
        "storage_m_tok_h": 0, "min_cache_tokens": 1024, "ttl_s": 300}})");
    EXPECT_EQ(one.apis.at("x").output, 15.0);
    EXPECT_EQ(one.apis.at("x").cache_read, 0.30);
    EXPECT_EQ(one.apis.at("x").min_cache_tokens, 1024u);
}

}  // namespace
}  // namespace paretoken::cards
