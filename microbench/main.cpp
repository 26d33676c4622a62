// paretoken-microbench: measures what this machine could deliver, as Google Benchmark JSON with our context.
// It takes --benchmark_* flags and its own; `paretoken micro` runs it and checks its result.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cards/gpu_devices.h"
#include "cards/host.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/spec.h"
#include "core/version.h"
#include "microbench/cpu/isa.h"
#include "microbench/cpu/machine.h"
#include "microbench/cpu/rows.h"
#include "microbench/devices.h"
#include "microbench/gpu/rows.h"
#include "microbench/reporters.h"
#include "microbench/shapes.h"
#include "microbench/suite.h"

namespace {

using namespace paretoken;
using namespace paretoken::microbench;

constexpr const char* kUsage =
    "usage: paretoken-microbench [flags]\n"
    "  --quick                fewer rows, less time for each (about 20 s)\n"
    "  --full                 every row, more time for each\n"
    "  --threads=N            measure with 1 and N threads (default: one per core)\n"
    "  --working-set=BYTES    memory to stream, e.g. 512M (default: max(1 GiB, 4 x last-level cache))\n"
    "  --preset=NAME          model whose matrices are streamed (default: smollm2-135m)\n"
    "  --model-card=FILE      the same from a config.json or a GGUF file, or a shipped card's name\n"
    "  --isa=NAME             scalar, avx2, avx512 or amx (default: the best of this CPU)\n"
    "  --probe-read-ceiling   one row, the read ceiling with all threads, as JSON on standard output\n"
    "  --list                 names of the rows, nothing is run\n"
    "  --report-to-parent     complaints on standard output, as \"error: …\"\n"
    "  --plant-fault          change a byte of each operand: every check must fail\n"
    "  --gpu-identity         the GPU as a JSON object on standard output, nothing is run\n"
    "  --gpu-verify           only check the GPU kernels, on small ragged shapes; nothing is timed\n"
    "  --gpu-profile          launch each row twice between cudaProfilerStart and Stop; nothing is checked "
    "or timed\n"
    "  --ring-scale=N         N times as many copies of what a GPU kernel streams (default: 1)\n"
    "  --benchmark_filter=REGEX --benchmark_format=json --benchmark_out=FILE and other --benchmark_* flags\n";

struct Options {
    bool quick = false;
    bool full = false;
    bool list = false;
    bool plant_fault = false;
    bool probe = false;
    bool gpu_identity = false;
    bool gpu_verify = false;
    bool gpu_profile = false;
    std::uint64_t ring_scale = 1;
    bool json_on_stdout = false;
    bool writes_file = false;
    bool file_is_json = true;
    std::size_t threads = 0;  // 0: one per core
    std::uint64_t working_set_bytes = 0;
    std::string preset;      // empty: smollm2-135m
    std::string model_card;  // empty: the preset
    std::string isa;
};

/// Returns the value of "--name=value"; nothing when `argument` is another option.
std::optional<std::string> value_of(std::string_view argument, std::string_view name) {
    if (!argument.starts_with(name) || argument.size() <= name.size() || argument[name.size()] != '=') {
        return std::nullopt;
    }
    return std::string(argument.substr(name.size() + 1));
}

/// Removes our flags from `arguments`; the library reads the remaining ones.
Options take_options(std::vector<char*>& arguments) {
    Options options;
    const auto ours = [&](const char* text) {
        const std::string_view argument = text;
        if (argument == "--quick") return options.quick = true;
        if (argument == "--full") return options.full = true;
        if (argument == "--list" || argument == "--benchmark_list_tests") return options.list = true;
        if (argument == "--plant-fault") return options.plant_fault = true;
        if (argument == "--report-to-parent") return true;  // see complain()
        if (argument == "--probe-read-ceiling") return options.probe = true;
        if (argument == "--gpu-identity") return options.gpu_identity = true;
        if (argument == "--gpu-verify") return options.gpu_verify = true;
        if (argument == "--gpu-profile") return options.gpu_profile = true;
        if (const auto scale = value_of(argument, "--ring-scale")) {
            options.ring_scale = parse_count(*scale);
            if (options.ring_scale == 0) throw UsageError("--ring-scale=0: at least 1 is needed");
            return true;
        }
        if (const auto threads = value_of(argument, "--threads")) {
            options.threads = parse_count(*threads);
            if (options.threads == 0) throw UsageError("--threads=0: at least 1 is needed");
            return true;
        }
        if (const auto size = value_of(argument, "--working-set")) {
            options.working_set_bytes = parse_count(*size);
            if (options.working_set_bytes < 1'000'000)
                throw UsageError("--working-set: at least 1M is needed");
            return true;
        }
        if (const auto preset = value_of(argument, "--preset")) return options.preset = *preset, true;
        if (const auto card = value_of(argument, "--model-card")) return options.model_card = *card, true;
        if (const auto isa = value_of(argument, "--isa")) return options.isa = *isa, true;
        if (value_of(argument, "--benchmark_format")) options.json_on_stdout = true;
        if (value_of(argument, "--benchmark_out")) options.writes_file = true;
        if (const auto format = value_of(argument, "--benchmark_out_format"))
            options.file_is_json = *format == "json";
        return false;
    };
    arguments.erase(std::remove_if(arguments.begin() + 1, arguments.end(), ours), arguments.end());
    return options;
}

Extent extent_of(const Options& options) {
    if (options.quick && options.full) throw UsageError("--quick and --full: choose one");
    if (options.quick || options.probe) return Extent::quick;
    return options.full ? Extent::full : Extent::normal;
}

double seconds_per_row(Extent extent) {
    return extent == Extent::quick ? 0.2 : extent == Extent::full ? 1.5 : 0.8;
}

/// Chooses the model whose matrices are streamed, and the heads of attention rows: its own, or two usual
/// ones.
void choose_model(const Options& options, CpuSettings& settings) {
    if (!options.preset.empty() && !options.model_card.empty())
        throw UsageError("--preset and --model-card: choose one");
    if (!options.model_card.empty()) {
        settings.model = model_shape_of(cards::model_card(options.model_card));
    } else {
        settings.model = model_shape(options.preset.empty() ? "smollm2-135m" : options.preset);
    }
    settings.heads = {settings.model.heads};
    if (settings.model.mla) settings.heads.clear();
    if (options.preset.empty() && options.model_card.empty())
        settings.heads.push_back(model_shape("llama3-8b").heads);
}

CpuSettings settings_of(const Options& options) {
    CpuSettings settings;
    settings.extent = extent_of(options);
    settings.cpus = measuring_cpus();
    if (options.threads > settings.cpus.size()) {
        throw UsageError(fmt::format("--threads={}: this process has {} cores to run on", options.threads,
                                     settings.cpus.size()));
    }
    if (options.threads != 0) settings.cpus.resize(options.threads);
    settings.isa = options.isa.empty() ? best_isa() : isa_named(options.isa);
    settings.llc_bytes = last_level_cache_bytes(settings.cpus);
    settings.working_set_bytes =
        options.working_set_bytes != 0
            ? options.working_set_bytes
            : default_working_set(settings.extent == Extent::quick, settings.llc_bytes);
    choose_model(options, settings);
    settings.seconds_per_row = seconds_per_row(settings.extent);
    settings.seed = 1;
    settings.plant_fault = options.plant_fault;
    return settings;
}

/// Returns the user's model; else the GPU's default, because its memory needs larger models than a CPU's.
gpu::GpuSettings gpu_settings_of(const Options& options, const CpuSettings& cpu) {
    gpu::GpuSettings settings{.quick = cpu.extent == Extent::quick,
                              .full = cpu.extent == Extent::full,
                              .verify_only = options.gpu_verify,
                              .profile = options.gpu_profile,
                              .plant_fault = options.plant_fault,
                              .ring_scale = options.ring_scale,
                              .seed = cpu.seed};
    if (!options.preset.empty() || !options.model_card.empty()) settings.models = {cpu.model};
    return settings;
}

void append(std::vector<Row>& rows, std::vector<Row> more) {
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Row> rows_of(const Options& options, const CpuSettings& settings, const gpu::GpuBackend& gpu) {
    if (options.gpu_verify && options.gpu_profile)
        throw UsageError("--gpu-verify and --gpu-profile: choose one");
    if (!options.gpu_verify && !options.gpu_profile) {
        std::vector<Row> rows = cpu_rows(settings);
        append(rows, gpu.rows);
        return rows;
    }
    if (gpu.absent_because) {
        throw RuntimeError(fmt::format("{}: {}, so there is nothing to {}",
                                       options.gpu_verify ? "--gpu-verify" : "--gpu-profile",
                                       *gpu.absent_because, options.gpu_verify ? "verify" : "profile"));
    }
    return gpu.rows;
}

void add_context(const CpuSettings& settings, const gpu::GpuBackend& gpu) {
    const auto add = [](const char* key, const std::string& value) {
        benchmark::AddCustomContext(key, value);
    };
    add("paretoken_schema", "paretoken/micro/2");
    add("threads", fmt::format("{}", settings.cpus.size()));
    add("isa", std::string(name_of(settings.isa)));
    add("preset", std::string(settings.model.name));
    add("mode", std::string(name_of(settings.extent)));
    const auto missing = left_out(settings);
    if (!missing.empty()) add("left_out", fmt::format("{}", fmt::join(missing, "; ")));
    add("llc_bytes", fmt::format("{}", settings.llc_bytes));
    add("working_set_bytes", fmt::format("{}", settings.working_set_bytes));
    add("seed", fmt::format("{}", settings.seed));
    add("version", std::string(version()));
    add("commit", std::string(commit()));
    if (const auto type = memory_type()) add("memory_type", *type);
    for (const auto& [key, value] : gpu.context) benchmark::AddCustomContext(key, value);
}

std::string filter_of(const Options& options, const CpuSettings& settings) {
    if (options.probe) return fmt::format("^ceiling/read/backend:cpu/threads:{}$", settings.cpus.size());
    return benchmark::GetBenchmarkFilter();
}

std::unique_ptr<benchmark::BenchmarkReporter> display_for(const Options& options, std::size_t rows,
                                                          const std::string& devices) {
    using Reporter = std::unique_ptr<benchmark::BenchmarkReporter>;
    if (options.probe) return with_plain_names(std::make_unique<benchmark::JSONReporter>(), devices);
    if (options.json_on_stdout)
        return with_plain_names(Reporter(benchmark::CreateDefaultDisplayReporter()), devices);
    return progress_of(rows);
}

/// Returns the beginnings of the names of rows: "ceiling/".
std::set<std::string> beginnings_of(const std::vector<Row>& rows) {
    std::set<std::string> beginnings;
    for (const Row& row : rows) beginnings.insert(row.name.substr(0, row.name.find('/')) + "/");
    return beginnings;
}

ExitCode run(int argc, char** argv) {
    std::vector<char*> arguments(argv, argv + argc);
    const Options options = take_options(arguments);
    arguments.push_back(nullptr);
    int count = static_cast<int>(arguments.size()) - 1;
    benchmark::Initialize(&count, arguments.data(), [] { fmt::print("{}", kUsage); });
    if (count > 1) throw UsageError(fmt::format("unknown flag '{}': --help lists them", arguments[1]));

    const CpuSettings settings = settings_of(options);
    const gpu::GpuBackend gpu =
        options.probe ? gpu::GpuBackend{} : gpu::gpu_backend(gpu_settings_of(options, settings));
    if (options.gpu_identity) {
        fmt::print("{}\n", gpu::gpu_identity(gpu));
        return ExitCode::ok;
    }
    const std::string filter = filter_of(options, settings);
    const std::vector<Row> all = rows_of(options, settings, gpu);
    const std::vector<Row> rows = matching(all, filter);
    if (rows.empty())
        throw UsageError(fmt::format("no row matches '{}': their names begin with {}", filter,
                                     fmt::join(beginnings_of(all), ", ")));
    if (options.list) {
        for (const Row& row : rows) fmt::print("{}\n", row.name);
        return ExitCode::ok;
    }
    add_context(settings, gpu);
    std::size_t failed = 0;
    register_rows(rows, failed);
    const std::string devices = devices_json(cards::this_host(), gpu.context, cards::gpus_of_driver());
    const auto display = display_for(options, rows.size(), devices);
    const auto file = with_plain_names(std::make_unique<benchmark::JSONReporter>(), devices);
    benchmark::RunSpecifiedBenchmarks(
        display.get(), options.writes_file && options.file_is_json ? file.get() : nullptr, ".");
    benchmark::Shutdown();
    return failed == 0 ? ExitCode::ok : ExitCode::measurement_invalid;
}

/// Prints an error, on standard output if the parent program requested that.
int complain(int argc, char** argv, const char* what, ExitCode code) {
    const bool to_parent = std::any_of(argv, argv + argc, [](const char* argument) {
        return std::string_view(argument) == "--report-to-parent";
    });
    if (to_parent) {
        fmt::print("error: {}\n", what);
    } else {
        fmt::print(stderr, "paretoken-microbench: {}\n", what);
    }
    return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const Error& error) {
        return complain(argc, argv, error.what(), error.code());
    } catch (const std::exception& error) {
        return complain(argc, argv, error.what(), ExitCode::runtime);
    }
}
