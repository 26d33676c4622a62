// Tests the executable itself: exit codes and the JSON that reports read.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/paths.h"

namespace paretoken::microbench {
namespace {

struct Ended {
    int code = -1;
    std::string output;
};

/// Runs the program and returns its standard output, and by default its standard error.
Ended run(const std::string& flags, const std::string& errors = "2>&1") {
    const std::string command =
        paretoken::paths::binary_dir() + "/paretoken-microbench " + flags + " " + errors;
    Ended ended;
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return ended;
    char bytes[4096];
    while (const std::size_t n = fread(bytes, 1, sizeof bytes, pipe)) ended.output.append(bytes, n);
    const int status = pclose(pipe);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
}

std::string result_path(const std::string& name) {
    return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()) + ".json")).string();
}

nlohmann::json taken_result(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::filesystem::remove(path);
    return nlohmann::json::parse(text.str());  // throws on NaN and Infinity, which Google Benchmark may write
}

TEST(Program, an_unknown_flag_is_a_usage_error_that_names_it) {
    for (const std::string flag : {"--bogus", "--benchmark_bogus=1", "stray"}) {
        const Ended ended = run(flag);
        EXPECT_EQ(ended.code, 2) << flag;
        EXPECT_NE(ended.output.find("unknown flag '" + flag + "'"), std::string::npos) << ended.output;
    }
}

TEST(Program, a_filter_that_matches_nothing_or_is_malformed_is_a_usage_error) {
    const Ended unmatched = run("--benchmark_filter=nothing_like_it");
    EXPECT_EQ(unmatched.code, 2);
    EXPECT_NE(unmatched.output.find("their names begin with attention/, ceiling/, "), std::string::npos)
        << unmatched.output;
    EXPECT_EQ(run("'--benchmark_filter=x('").code, 2);
    EXPECT_EQ(run("--preset=unheard-of").code, 2);
    EXPECT_EQ(run("--quick --full").code, 2);
    EXPECT_EQ(run("--preset=llama3-8b --model-card=x").code, 2);
    EXPECT_EQ(run("--isa=mmx").code, 2);
    EXPECT_EQ(run("--threads=100000").code, 2);
    EXPECT_EQ(run("--working-set=12").code, 2);
}

TEST(Program, complaints_go_to_a_parent_that_asks_for_them) {
    const Ended ended = run("--report-to-parent --isa=mmx", "2>/dev/null");
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.output.rfind("error: unknown --isa=mmx", 0), 0u) << ended.output;
}

TEST(Program, the_rows_it_lists_have_distinct_names_of_the_agreed_form) {
    const Ended ended = run("--list");
    ASSERT_EQ(ended.code, 0);
    std::istringstream lines(ended.output);
    std::set<std::string> names;
    for (std::string name; std::getline(lines, name);) {
        EXPECT_TRUE(names.insert(name).second) << name;
        if (name.find("/backend:gpu/mode:") != std::string::npos) continue;
        EXPECT_NE(name.find("/backend:cpu/threads:"), std::string::npos) << name;
    }
    for (const std::string name :
         {"ceiling/read/backend:cpu/threads:1", "ceiling/flops/kind:f32_fma/backend:cpu/threads:1",
          "ceiling/flops/kind:bf16_dot/backend:cpu/threads:1",
          "ceiling/flops/kind:int8_dot/backend:cpu/threads:1",
          "weights/w:bf16/layout:packed/batch:1/backend:cpu/threads:1",
          "weights/w:q8_0/layout:packed/batch:4/backend:cpu/threads:1",
          "weights/w:q4_0/layout:row/batch:1/backend:cpu/threads:1",
          "weights/w:q4_1/layout:packed/batch:8/backend:cpu/threads:1",
          "weights/w:f16/layout:packed/batch:1/backend:cpu/threads:1",
          "weights/w:q4_k/layout:packed/batch:4/backend:cpu/threads:1",
          "weights/w:q6_k/layout:packed/batch:8/backend:cpu/threads:1",
          "ceiling/read/kib:128/backend:cpu/threads:1", "ceiling/random_read/kib:32/backend:cpu/threads:1",
          "attention/kv:bf16/heads:32x8x128/ctx:4096/block:64/order:seq/backend:cpu/threads:1",
          "attention/kv:bf16/heads:32x8x128/ctx:4096/block:32/order:seq/backend:cpu/threads:1",
          "attention/kv:bf16/heads:32x8x128/ctx:4096/block:64/order:random/backend:cpu/threads:1",
          "attention/kv:f16/heads:9x3x64/ctx:4096/block:64/order:seq/backend:cpu/threads:1"}) {
        EXPECT_TRUE(names.contains(name)) << name;
    }
}

TEST(Program, shapes_come_from_a_model_card_and_what_it_lacks_is_said) {
    const std::string path = result_path("config");
    std::ofstream(path) << R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
        "num_hidden_layers": 2, "num_attention_heads": 48, "num_key_value_heads": 4, "head_dim": 32,
        "vocab_size": 1000})";
    EXPECT_EQ(run("--list --model-card=" + path).output.find("attention/"), std::string::npos);  // group: 12
    EXPECT_NE(run("--list --full --model-card=smollm2-135m").output.find("heads:9x3x64"), std::string::npos);
    const std::string result = result_path("card");
    const Ended ended = run("--quick --working-set=16M --threads=1 --model-card=" + path +
                            " --benchmark_out=" + result + " '--benchmark_filter=^weights/w:q4_k'");
    ASSERT_EQ(ended.code, 0) << ended.output;
    const auto json = taken_result(result);
    EXPECT_NE(json.at("context").at("left_out").get<std::string>().find("heads:48x4x32"), std::string::npos);
    EXPECT_FALSE(json.at("benchmarks")[0].value("label", "").starts_with("only"));
    std::filesystem::remove(path);
    const Ended missing = run("--list --model-card=/nowhere/config.json");
    EXPECT_EQ(missing.code, 2);
    EXPECT_NE(missing.output.find("/nowhere/config.json"), std::string::npos) << missing.output;
}

TEST(Program, a_tiny_run_writes_json_with_context_counters_and_plain_names) {
    const std::string path = result_path("tiny");
    const Ended ended = run("--quick --working-set=16M --threads=1 --benchmark_out=" + path +
                            " '--benchmark_filter=^ceiling/(read/(backend|kib:128/)|random|flops/kind:int8)|"
                            "^weights/w:(q4_1|q6_k)/layout:packed.*batch:1|^attention/kv:f16/heads:9'");
    ASSERT_EQ(ended.code, 0) << ended.output;
    const auto json = taken_result(path);
    const auto& context = json.at("context");
    EXPECT_EQ(context.at("paretoken_schema"), "paretoken/micro/2");
    EXPECT_EQ(context.at("threads"), "1");
    EXPECT_EQ(context.at("working_set_bytes"), "16000000");
    for (const char* const key : {"isa", "commit", "version", "llc_bytes", "date"}) {
        EXPECT_FALSE(context.at(key).get<std::string>().empty()) << key;
    }
    const auto& cpu = context.at("devices").at(0);
    EXPECT_EQ(cpu.at("id"), "cpu");
    EXPECT_EQ(cpu.at("backend"), "cpu");
    EXPECT_FALSE(cpu.at("name").get<std::string>().empty());
    EXPECT_GE(cpu.at("cores").get<int>(), 1);
    EXPECT_GT(cpu.at("memory_bytes").get<double>(), 1e8);
    std::set<std::string> names;
    for (const auto& row : json.at("benchmarks")) {
        const auto name = row.at("name").get<std::string>();
        names.insert(name);
        EXPECT_EQ(name.find("manual_time"), std::string::npos) << name;
        for (const char* const key : {"median_s", "p10_s", "p25_s", "p75_s", "p90_s", "cv", "n", "valid"}) {
            EXPECT_TRUE(row.at(key).is_number()) << name << ' ' << key;
        }
        EXPECT_GT(row.at("real_time").get<double>(), 0);
        if (name.starts_with("ceiling/flops")) {
            EXPECT_GT(row.at("flops_per_second").get<double>(), 0);
            EXPECT_FALSE(row.contains("bytes_per_second"));
            continue;
        }
        EXPECT_GT(row.at("bytes_per_second").get<double>(), 0);
        EXPECT_LE(row.at("of_ceiling_p25").get<double>(), row.at("of_ceiling").get<double>());
        EXPECT_LE(row.at("of_ceiling").get<double>(), row.at("of_ceiling_p75").get<double>());
        if (name.starts_with("weights/w:q6_k")) {  // 576 is no multiple of 256
            EXPECT_NE(row.at("label").get<std::string>().find("only down"), std::string::npos);
        }
        if (context.at("llc_bytes").get<std::string>().size() > 7) {  // 16 MB fits into such a cache
            EXPECT_EQ(row.at("valid").get<double>(), 0) << name;
            EXPECT_NE(row.at("label").get<std::string>().find("last-level cache"), std::string::npos);
        }
    }
    EXPECT_EQ(names.size(), 7u);
}

TEST(Program, a_planted_fault_is_caught_reported_and_ends_as_an_invalid_measurement) {
    const std::string path = result_path("fault");
    const Ended ended =
        run("--quick --working-set=16M --threads=1 --plant-fault --benchmark_out=" + path +
            " '--benchmark_filter=^weights/w:q8_0/layout:packed/batch:1|^attention/kv:bf16/heads:9'");
    EXPECT_EQ(ended.code, 4) << ended.output;
    const auto json = taken_result(path);
    ASSERT_EQ(json.at("benchmarks").size(), 2u);
    for (const auto& row : json.at("benchmarks")) {
        EXPECT_TRUE(row.at("error_occurred").get<bool>());
        EXPECT_NE(row.at("error_message").get<std::string>().find("verification failed"), std::string::npos);
        EXPECT_FALSE(row.contains("bytes_per_second"));
    }
}

TEST(Program, the_read_probe_prints_one_row_as_json) {
    const Ended ended = run("--probe-read-ceiling --working-set=16M", "2>/dev/null");
    ASSERT_EQ(ended.code, 0);
    const auto json = nlohmann::json::parse(ended.output);
    ASSERT_EQ(json.at("benchmarks").size(), 1u);
    EXPECT_EQ(
        json.at("benchmarks")[0].at("name").get<std::string>().rfind("ceiling/read/backend:cpu/threads:", 0),
        0u);
    EXPECT_GT(json.at("benchmarks")[0].at("bytes_per_second").get<double>(), 0);
}

}  // namespace
}  // namespace paretoken::microbench
