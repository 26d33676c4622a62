#include <gmock/gmock.h>

#include <fstream>

#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "tests/reports/sample_report.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

DevicePicture device(const std::string& text = "bf16") {
    DevicePicture device;
    device.title = "NVIDIA H200 (gpu0) " + text;
    device.facts = {{"Driver", text}};
    device.pictures = {
        {.id = "weights",
         .title = "Weight bandwidth by batch",
         .x_title = "Batch",
         .y_title = "GB/s",
         .series = {{text, {{1, 4012, true, "row a", ""}, {8, 3900, false, "row b", text}}},
                    {"fp8", {{1, 4200, true, "row c", ""}}}},
         .lines = {{"read ceiling", 4400}}},
        {.id = "attention",
         .title = "KV attention by context",
         .x_title = "Context, tokens",
         .y_title = "GB/s",
         .series = {{"bf16, batch 32", {{1024, 2500, true, "r", ""}, {4096, 3500, true, "r", ""}}}},
         .lines = {{"read ceiling", 4400}}},
        {.id = "prefill",
         .title = "Prefill arithmetic by prompt length",
         .x_title = "Tokens",
         .y_title = "TFLOP/s",
         .series = {{"bf16",
                     {{512, 400, true, "r", ""}, {2048, 610, true, "r", ""}, {8192, 640, true, "r", ""}}}},
         .lines = {{"bf16 library", 790}, {"fp8 library", 1500}}}};
    device.layers = {{"llama3-8b bf16, batch 1",
                      {{"qkv", "attention's matrices", 1e-5},
                       {"attention", "attention", 4e-5},
                       {"down", "feed-forward", 3e-5}},
                      9e-5,
                      true},
                     {"llama3-8b bf16, batch 32",
                      {{"qkv", "attention's matrices", 1.2e-5}, {"attention", "attention", 2e-4}},
                      3e-4,
                      false}};
    device.ceilings = {{"read, 1024 MiB", 4400, "GB/s", true, ""},
                       {"write, 256 MiB", 4100, "GB/s", false, text}};
    return device;
}

ReportModel micro_only() {
    ReportModel model;
    model.title = "What NVIDIA H200 can do";
    model.generated_at = "2026-11-21";
    model.version = "0.1.0";
    model.devices = {device()};
    return model;
}

TEST(HardwarePage, IsWrittenWhereABrowserCanOpenIt) {
    std::ofstream file(paretoken::paths::binary_dir() + "/sample-hardware.html");
    file << html_report(micro_only());
    EXPECT_TRUE(file.good());
}

TEST(HardwarePage, StandsInAReportBetweenLoadAndNumbersWithATableUnderEachChart) {
    ReportModel model = sample::report();
    EXPECT_THAT(html_report(model), Not(HasSubstr("What the hardware can do</h2>")));
    model.devices = {device()};
    const std::string page = html_report(model);
    std::size_t at = 0;
    for (const char* part :
         {"What load does", "What the hardware can do</h2>", "NVIDIA H200 (gpu0)", "device-0-weights",
          "Dashed: read ceiling 4,400", "4,010", "3,900*", "device-0-attention", "device-0-prefill",
          "device-0-layers", "Every ceiling", "Every number"}) {
        at = page.find(part, at);
        ASSERT_NE(at, std::string::npos) << part;
    }
    EXPECT_THAT(page, HasSubstr("figures with an asterisk are of rows that are not valid"));
}

TEST(HardwarePage, AloneHasNoPartOfARun) {
    const std::string page = html_report(micro_only());
    EXPECT_THAT(page, HasSubstr("<h1>What NVIDIA H200 can do"));
    EXPECT_THAT(page, HasSubstr("What the hardware can do</h2>"));
    for (const char* part : {"id=\"frontier\"", "Every number", "Can it be trusted"})
        EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(HardwarePage, ShowsHostileTextAsText) {
    const std::string evil = "\"'><script>alert(1)</script>{{data}}";
    ReportModel model = micro_only();
    model.devices = {device(evil)};
    const std::string page = html_report(model);
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert"));
    EXPECT_THAT(markdown_report(model), Not(HasSubstr("<script>")));
}

TEST(HardwarePage, SaysTheSameAsTablesInMarkdown) {
    const std::string text = markdown_report(micro_only());
    EXPECT_THAT(text, HasSubstr("## What the hardware can do"));
    EXPECT_THAT(
        text,
        HasSubstr("| Batch | bf16 | fp8 |\n|--:|--:|--:|\n| 1 | 4,010 | 4,200 |\n| 8 | 3,900\\* |  |\n"));
    EXPECT_THAT(text, HasSubstr("Weight bandwidth by batch, GB/s (read ceiling 4,400)"));
    EXPECT_THAT(text, HasSubstr("| llama3-8b bf16, batch 1 | 90.0 | 10.0 | 40.0 | 30.0 |"));
    EXPECT_THAT(text, HasSubstr("rows that are not valid: they must not be used"));
}

}  // namespace
}  // namespace paretoken::reports
