// Tests one micro.json with the host's CPU and two equal GPUs, together with runs on one GPU, on both and on
// the CPU: each limit comes from the rows of its own device and names them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reports/analysis/model/join.h"

namespace paretoken::reports {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

std::string row(const std::string& name, const std::string& device, double median_s, double per_s,
                const std::string& figure = "bytes_per_second") {
    return R"({"name": ")" + name + R"(", "device": ")" + device +
           R"(", "run_type": "iteration", "median_s": )" + std::to_string(median_s) + R"(, ")" + figure +
           R"(": )" + std::to_string(per_s) + R"(, "valid": 1})";
}

/// Rows with the names that the programs write.
std::string micro_json(double gpu0_read, double gpu1_read) {
    const std::string gpu = "/backend:gpu/mode:ring";
    const auto of_gpu = [&](const std::string& id, double read) {
        return row("ceiling/read/mib:1024/access:staged" + gpu, id, 1e-3, read) + "," +
               row("ceiling/flops/mma_sync/w:bf16" + gpu, id, 1e-3, 600e12, "flops_per_second") + "," +
               row("ceiling/flops/lib/w:bf16" + gpu, id, 1e-3, 790e12, "flops_per_second") + "," +
               row("weights/preset:llama3-8b/op:gate_up/w:fp16/batch:1" + gpu, id, 1e-4, .9 * read) + "," +
               row("attention/preset:llama3-8b/kv:fp16/batch:32/ctx:4096/page:16/layout:nhd/order:random" +
                       gpu,
                   id, 1e-4, .8 * read);
    };
    return R"({"context": {"paretoken_schema": "paretoken/micro/2", "date": "2026-11-21T09:40:00Z", "devices": [
        {"id": "cpu", "backend": "cpu", "name": "AMD EPYC 9575F", "cores": 16, "memory_bytes": 1.2e11},
        {"id": "gpu0", "backend": "gpu", "name": "NVIDIA H200", "card": "h200", "memory_bytes": 1.5e11},
        {"id": "gpu1", "backend": "gpu", "name": "NVIDIA H200", "card": "h200", "memory_bytes": 1.5e11}]},
        "benchmarks": [)" +
           row("ceiling/read/backend:cpu/threads:16", "cpu", 1e-3, 250e9) + "," +
           row("ceiling/flops/kind:bf16_dot/backend:cpu/threads:16", "cpu", 1e-3, 4e12, "flops_per_second") +
           "," + row("weights/w:f16/layout:packed/batch:1/backend:cpu/threads:16", "cpu", 1e-3, 240e9) + "," +
           of_gpu("gpu0", gpu0_read) + "," + of_gpu("gpu1", gpu1_read) + "]}";
}

LoadedRun run_on(const std::string& hardware, std::uint32_t count) {
    LoadedRun run;
    run.directory = "runs/" + hardware;
    run.result.provenance.model = "llama";
    run.result.provenance.host_cpu = "AMD EPYC 9575F";
    run.result.provenance.host_cores = 16;
    run.result.provenance.hardware = hardware;
    run.result.provenance.hardware_count = count;
    run.result.workload.fingerprint = "9f86d081884c7d65";
    run.result.workload.achieved_input_tokens = 512;
    run.result.workload.achieved_output_tokens = 128;
    run.result.concurrency = 1;
    run.result.throughput.set(figure::kOutputTokens, 10);
    return run;
}

std::vector<Configuration> joined(const std::string& json) {
    JoinOptions options;
    options.micro = merged(parse_micro_results(json, "micro.json"));
    options.models = {{.card = cards::model_card("llama-3.1-8b:weights=f16,kv=f16")}};
    return build_report({run_on("h200", 1), run_on("h200", 2), run_on("AMD EPYC 9575F", 1)}, options)
        .configurations;
}

const SourcedTerm& term(const Configuration& configuration, const std::string& name) {
    for (const SourcedTerm& term : configuration.limit_terms)
        if (term.name == name) return term;
    throw std::out_of_range(configuration.title + " has no term " + name);
}

TEST(DeviceJoin, EachLimitComesFromTheRowsOfTheDeviceThatServed) {
    const auto configurations = joined(micro_json(4.4e12, 4.2e12));
    ASSERT_EQ(configurations.size(), 3u);
    const Configuration& one = configurations[0];
    const Configuration& two = configurations[1];
    const Configuration& cpu = configurations[2];
    EXPECT_EQ(term(one, "memory bandwidth").value, 4400) << "it may have been the faster of the two";
    EXPECT_EQ(term(two, "memory bandwidth").value, 2 * 4200) << "the slower of the two holds both up";
    EXPECT_EQ(term(cpu, "memory bandwidth").value, 250);
    EXPECT_EQ(term(one, "arithmetic").value, 790);
    EXPECT_EQ(term(two, "arithmetic").value, 2 * 790);
    EXPECT_EQ(term(cpu, "arithmetic").value, 4);
}

TEST(DeviceJoin, EveryTermNamesItsRowAndDevice) {
    const auto configurations = joined(micro_json(4.4e12, 4.2e12));
    EXPECT_EQ(term(configurations[0], "memory bandwidth").source,
              "measured by micro on NVIDIA H200 (gpu0), 2026-11-21: "
              "ceiling/read/mib:1024/access:staged/backend:gpu/mode:ring");
    EXPECT_THAT(term(configurations[1], "memory bandwidth").source,
                HasSubstr("2 × NVIDIA H200 (gpu1), 2026-11-21: ceiling/read/mib:1024"));
    EXPECT_THAT(term(configurations[0], "arithmetic").source, HasSubstr("ceiling/flops/lib/w:bf16"));
    EXPECT_THAT(term(configurations[2], "memory bandwidth").source,
                HasSubstr("AMD EPYC 9575F, 2026-11-21: ceiling/read/backend:cpu/threads:16"));
    for (const Configuration& configuration : configurations)
        for (const SourcedTerm& one : configuration.limit_terms)
            EXPECT_THAT(one.source,
                        Not(HasSubstr(&configuration == &configurations[2] ? "backend:gpu" : "backend:cpu")));
}

TEST(DeviceJoin, AnFp16RowServesAnF16Card) {
    const auto configurations = joined(micro_json(4.4e12, 4.2e12));
    EXPECT_NEAR(term(configurations[0], "reached by our weight kernel, batch 1").value, .9 * 4400, 1e-6);
    EXPECT_THAT(term(configurations[0], "reached by our weight kernel, batch 1").source,
                HasSubstr("op:*/w:fp16/batch:1"));
    EXPECT_NEAR(term(configurations[1], "reached by our attention kernel, batch 32, 4096 tokens").value,
                2 * .8 * 4200, 1e-6);
    EXPECT_EQ(term(configurations[2], "reached by our weight kernel, batch 1").value, 240);
    for (const Configuration& configuration : configurations) EXPECT_FALSE(configuration.reachable.empty());
}

TEST(DeviceJoin, EqualDevicesThatDifferAreTold) {
    const auto said = [](double gpu1_read) {
        std::vector<std::string> all;
        for (const Configuration& one : joined(micro_json(4.4e12, gpu1_read)))
            all.insert(all.end(), one.missing.begin(), one.missing.end());
        return all;
    };
    EXPECT_THAT(said(4.2e12), Contains(HasSubstr("NVIDIA H200 (gpu1) reads 4200 GB/s, 5 % less")));
    EXPECT_THAT(said(4.35e12), Each(Not(HasSubstr("gpu1"))));
}

TEST(DeviceJoin, ARunOnOtherHardwareTakesNoneOfThem) {
    JoinOptions options;
    options.micro = parse_micro_results(micro_json(4.4e12, 4.2e12), "micro.json");
    options.models = {{.card = cards::model_card("llama-3.1-8b")}};
    const Configuration other = build_report({run_on("h100-nvl", 1)}, options).configurations.front();
    EXPECT_THAT(term(other, "memory bandwidth").source, HasSubstr("datasheet"));
    EXPECT_THAT(other.missing,
                Contains(HasSubstr("--micro was measured on AMD EPYC 9575F, NVIDIA H200, not on h100-nvl")));
}

TEST(DeviceJoin, SaysThatAKeptResultWasUsedOrWhyNot) {
    JoinOptions options;
    options.models = {{.card = cards::model_card("llama-3.1-8b")}};
    options.micro_note = "the limit uses what was kept";
    EXPECT_THAT(build_report({run_on("AMD EPYC 9575F", 1)}, options).notes, Contains(options.micro_note));
    options.micro = parse_micro_results(micro_json(4.4e12, 4.2e12), "micro.json");
    const ReportModel used = build_report({run_on("AMD EPYC 9575F", 1)}, options);
    EXPECT_THAT(used.notes, Contains(options.micro_note));
    const ReportModel unused = build_report({run_on("h100-nvl", 1)}, options);
    EXPECT_THAT(unused.notes, Not(Contains(options.micro_note)));
    EXPECT_THAT(unused.configurations.front().missing, Each(Not(HasSubstr("--micro was measured"))));
}

}  // namespace
}  // namespace paretoken::reports
