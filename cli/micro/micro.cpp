// paretoken micro: measures what this machine could deliver. Runs paretoken-microbench, checks its result,
// adds what follows from the rows (fits by size, bounds) and shows it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cards/gpu.h"
#include "cli/commands.h"
#include "cli/console/interrupt.h"
#include "cli/console/presentation.h"
#include "cli/console/print.h"
#include "cli/micro/micro_cache.h"
#include "cli/micro/micro_page.h"
#include "cli/micro/micro_program.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/units.h"
#include "reports/analysis/micro/micro_bound.h"
#include "reports/analysis/micro/micro_fit.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/micro/micro_rows.h"
#include "reports/files/file_io.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

struct MicroOptions {
    bool quick = false;
    bool full = false;
    std::string filter;
    std::uint32_t threads = 0;  // 0: one per core
    std::string preset;
    std::string model_card;
    std::string out = "micro.json";
    std::string page;  // empty: no page
    std::string card;  // empty: no card of the CPU
    Presentation shown;
};

/// One line of the printed table.
struct MicroLine {
    std::string name;
    std::string threads;
    std::string speed;
    std::string of_ceiling = {};
    std::string bound_by;
    std::string remark = {};  // with its kind: "not valid: …"
};

/// The place of a row: 3 of 17 from "[ 3/17] name …"; nothing from any other line.
struct Place {
    std::size_t done = 0;
    std::size_t all = 0;
};
std::optional<Place> place_of(const std::string& line) {
    Place place;
    const auto from = line.find_first_not_of("[ ");
    if (!line.starts_with('[') || from == std::string::npos) return std::nullopt;
    const char* const end = line.data() + line.size();
    const auto done = std::from_chars(line.data() + from, end, place.done);
    if (done.ec != std::errc{} || done.ptr == end || *done.ptr != '/') return std::nullopt;
    const auto all = std::from_chars(done.ptr + 1, end, place.all);
    if (all.ec != std::errc{} || place.done == 0) return std::nullopt;
    return place;
}

std::string progress_line(const Place& place, Duration elapsed) {
    const double left =
        seconds(elapsed) / static_cast<double>(place.done) * static_cast<double>(place.all - place.done);
    return fmt::format("micro: {} of {} measured, about {:.0f} s left", place.done, place.all,
                       std::ceil(left));
}

/// Shows progress on a terminal, and nothing elsewhere.
class MicroProgress {
  public:
    MicroProgress() : shown_(isatty(STDERR_FILENO) != 0) { draw("micro: starting"); }
    ~MicroProgress() { draw(""); }
    MicroProgress(const MicroProgress&) = delete;
    MicroProgress& operator=(const MicroProgress&) = delete;
    void advance(const Place& place) { draw(progress_line(place, Clock::now() - began_)); }

  private:
    void draw(const std::string& text) const {
        if (shown_) print(stderr, "\r\x1b[K{}", text);
    }
    bool shown_;
    TimePoint began_ = Clock::now();
};

std::vector<std::string> arguments_for(const MicroOptions& options, const fs::path& result) {
    std::vector<std::string> arguments{"--report-to-parent", "--benchmark_out_format=json",
                                       "--benchmark_out=" + result.string()};
    if (options.quick) arguments.emplace_back("--quick");
    if (options.threads != 0) arguments.push_back(fmt::format("--threads={}", options.threads));
    if (options.full) arguments.emplace_back("--full");
    if (!options.preset.empty()) arguments.push_back("--preset=" + options.preset);
    if (!options.model_card.empty()) arguments.push_back("--model-card=" + options.model_card);
    if (!options.filter.empty()) arguments.push_back("--benchmark_filter=" + options.filter);
    return arguments;
}

void measure(const MicroOptions& options, const fs::path& result) {
    const InterruptWatch watch("\nending the measurement: nothing is written\n");
    MicroProgress progress;
    run_microbench(arguments_for(options, result), watch.token(), [&](const std::string& line) {
        if (const auto place = place_of(line)) progress.advance(*place);
    });
}

std::string text_of_file(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Returns the rows in the form of reports.
reports::MicroFile parsed_result(const std::string& text) {
    try {
        auto file = reports::parse_micro_file(text, "paretoken-microbench");
        if (!file.rows.empty()) return file;
    } catch (const UsageError&) {  // not the user's file; the error is below
    }
    throw RuntimeError(
        "micro: paretoken-microbench wrote no result; run it by hand, in the directory of paretoken, to see "
        "why");
}

nlohmann::ordered_json json_of(const reports::SizeFit& fit) {
    return {{"kernel", fit.kernel},         {"device", fit.device},
            {"fixed_s", fit.fixed_s},       {"bytes_per_s", fit.bytes_per_s},
            {"points", fit.points},         {"least_bytes", fit.least_bytes},
            {"most_bytes", fit.most_bytes}, {"worst_residual", fit.worst_residual}};
}

/// Returns the text completed by values that follow from its rows: their device, "bound_by", "held_back_by"
/// and "fits".
std::string completed(const std::string& text, const reports::MicroFile& file,
                      const std::vector<std::optional<reports::RowBound>>& bounds) {
    auto json = nlohmann::ordered_json::parse(text);
    std::size_t place = 0;
    for (auto& row : json["benchmarks"]) {
        if (row.value("run_type", "") == "aggregate") continue;  // not a row of the file
        const auto& bound = bounds.at(place);
        row["device"] = file.rows.at(place).device;
        if (bound) row["bound_by"] = name_of(bound->by);
        if (const std::string why = held_back_by(file.rows.at(place)); !why.empty())
            row["held_back_by"] = why;
        ++place;
    }
    json["fits"] = nlohmann::ordered_json::array();
    for (const reports::SizeFit& fit : file.fits) json["fits"].push_back(json_of(fit));
    return json.dump(2) + "\n";
}

/// Returns whether a row is shown in FLOP/s: prompts and large batches are bound by arithmetic.
bool is_told_in_flops(const reports::MicroRow& row) {
    return row.flops_per_s && (row.name.starts_with("prefill/") || row.name.starts_with("gemm_lib/"));
}

std::string speed_of(const reports::MicroRow& row) {
    constexpr double kTooManyGiga = 10'000;
    if (row.bytes_per_s && !is_told_in_flops(row)) return fmt::format("{:.1f} GB/s", *row.bytes_per_s / 1e9);
    if (!row.flops_per_s) return row.median_s ? fmt::format("{:.2f} us", *row.median_s * 1e6) : "";
    const double giga = *row.flops_per_s / 1e9;
    return giga < kTooManyGiga ? fmt::format("{:.0f} GFLOP/s", giga)
                               : fmt::format("{:.1f} TFLOP/s", giga / 1e3);
}

/// Returns "weights q4_0 packed batch 1" for "weights/w:q4_0/layout:packed/batch:1/backend:cpu/threads:2".
std::string short_name(const reports::MicroRow& row) {
    constexpr std::string_view kSpeakForThemselves[] = {"w",    "kv",     "heads", "layout", "order",
                                                        "kind", "preset", "op",    "mode",   "backend"};
    std::string text;
    std::string_view name = row.name;
    while (!name.empty()) {
        const auto slash = name.find('/');
        const std::string_view part = name.substr(0, slash);
        name = slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1);
        const auto colon = part.find(':');
        const std::string_view key = colon == std::string_view::npos ? "" : part.substr(0, colon);
        if (key == "threads" || part == "backend:cpu") continue;
        const bool bare = std::ranges::find(kSpeakForThemselves, key) != std::end(kSpeakForThemselves);
        text += text.empty() ? "" : " ";
        if (!key.empty() && !bare) text += fmt::format("{} ", key);
        text += key.empty() ? part : part.substr(colon + 1);
    }
    return text;
}

MicroLine line_of(const reports::MicroRow& row, const std::optional<reports::RowBound>& bound) {
    MicroLine line{.name = short_name(row),
                   .threads = reports::parse_row_name(row.name).axis("threads"),
                   .speed = speed_of(row),
                   .bound_by = bound ? text_of(*bound) : ""};
    const bool bound_by_memory = !row.name.starts_with("ceiling") && !row.name.starts_with("copy/");
    if (row.of_ceiling && bound_by_memory) line.of_ceiling = fmt::format("{:.0f} %", *row.of_ceiling * 100);
    if (row.error) {
        line.remark = "failed: " + *row.error;
    } else if (!row.label.empty()) {
        line.remark = (row.valid ? "note: " : "not valid: ") + row.label;
    }
    if (const std::string why = held_back_by(row); !why.empty())
        line.remark += (line.remark.empty() ? "" : "; ") + why;
    return line;
}

/// Returns one line for each device, with the conditions of its measurement.
std::string context_lines(const reports::MicroFile& file) {
    const auto text = [&](const char* key) {
        const auto found = file.context.find(key);
        return found == file.context.end() ? std::string("?") : found->second;
    };
    std::string lines;
    for (const reports::MicroDevice& device : file.devices) {
        lines += fmt::format("{}: {}", device.id, title_of(device));
        if (device.backend == reports::MicroBackend::cpu) {
            lines += fmt::format(", {}; matrices of {}", text("isa"), text("preset"));
        } else {
            if (device.driver) lines += fmt::format(", driver {}", *device.driver);
            if (!device.card) lines += "; it has no datasheet card, so its limit is what is measured here";
        }
        lines += "\n";
    }
    return lines;
}

/// Returns the table, 80 columns wide if names are short; remarks have a line of their own.
std::string table_of(const std::vector<MicroLine>& lines) {
    std::string text = fmt::format("{:<48}{:>4}{:>13}{:>8}  {}\n", "", "thr", "", "ceiling", "bound by");
    for (const MicroLine& line : lines) {
        text += fmt::format("{:<48}{:>4}{:>13}{:>7}  {}", line.name, line.threads, line.speed,
                            line.of_ceiling, line.bound_by);
        text.erase(text.find_last_not_of(' ') + 1);
        text += line.remark.empty() ? "\n" : fmt::format("\n    {}\n", line.remark);
    }
    return text;
}

/// Returns the lines below the table: the time of a read by its size, and the rows that are missing.
std::string footer_of(const reports::MicroFile& file) {
    std::string text;
    for (const reports::SizeFit& fit : file.fits)
        text += fmt::format("{}: {:.2f} us + bytes / {:.1f} GB/s ({} sizes, within {:.0f} %)\n", fit.kernel,
                            fit.fixed_s * 1e6, fit.bytes_per_s / 1e9, fit.points, fit.worst_residual * 100);
    if (const auto missing = file.context.find("left_out"); missing != file.context.end())
        text += fmt::format("left out: {}\n", missing->second);
    return text;
}

/// Returns a line for each device: how fast it reads memory and computes, and how many rows are valid.
std::string verdict_of(const reports::MicroFile& file) {
    std::string text;
    for (const reports::MicroResults& device : reports::results_of(file)) {
        std::string line = device.device.id + ":";
        if (device.read_bytes_per_s)
            line += fmt::format(" reads memory at {:.1f} GB/s,", device.read_bytes_per_s->value / 1e9);
        double most = 0;
        for (const auto* const figures : {&device.flops_per_s, &device.library_flops_per_s})
            for (const auto& [kind, figure] : *figures) most = std::max(most, figure.value);
        if (most > 0) line += fmt::format(" computes at up to {:.2f} TFLOP/s,", most / 1e12);
        text += fmt::format("{} {} of {} rows are valid\n", line, device.rows.size() - device.invalid_rows,
                            device.rows.size());
    }
    return text;
}

/// The file for the result before it is known to be complete. It is removed unless kept.
class PartialFile {
  public:
    explicit PartialFile(fs::path target) : target_(std::move(target)), path_(target_.string() + ".partial") {
        if (!std::ofstream(path_)) {
            throw RuntimeError(fmt::format("micro: cannot write '{}' ({}): choose another --out",
                                           target_.string(), std::strerror(errno)));
        }
    }
    ~PartialFile() {
        std::error_code ignored;
        if (!kept_) fs::remove(path_, ignored);
    }
    PartialFile(const PartialFile&) = delete;
    PartialFile& operator=(const PartialFile&) = delete;

    const fs::path& path() const { return path_; }
    /// Replaces its content by `text` and gives it its final name.
    void keep(const std::string& text) {
        if (!(std::ofstream(path_) << text).flush())
            throw RuntimeError(fmt::format("micro: cannot write '{}': {}; free space or choose another --out",
                                           target_.string(), std::strerror(errno)));
        std::error_code failed;
        fs::rename(path_, target_, failed);
        if (failed)
            throw RuntimeError(fmt::format("micro: cannot write '{}': {}; choose another --out",
                                           target_.string(), failed.message()));
        kept_ = true;
    }

  private:
    fs::path target_;
    fs::path path_;
    bool kept_ = false;
};

void refuse_bad_result(const reports::MicroFile& file) {
    const auto count = [&](auto is) { return std::ranges::count_if(file.rows, is); };
    const auto failed = count([](const reports::MicroRow& row) { return row.error.has_value(); });
    if (failed != 0) {
        throw Error(ExitCode::measurement_invalid,
                    fmt::format("micro: {} of {} rows failed; the table gives the reasons", failed,
                                file.rows.size()));
    }
    if (count([](const reports::MicroRow& row) { return row.valid; }) == 0) {
        throw Error(ExitCode::measurement_invalid,
                    "micro: no row is valid; -v prints the reasons. Close other programs and measure again");
    }
}

/// Returns whether a result has ceilings and kernels, which --filter may leave out.
bool is_worth_keeping(const reports::MicroFile& file) {
    const auto results = reports::results_of(file);
    const bool bounds = std::ranges::any_of(
        results, [](const reports::MicroResults& one) { return one.read_bytes_per_s.has_value(); });
    return bounds && std::ranges::any_of(file.rows, [](const reports::MicroRow& row) {
               return row.name.starts_with("weights/");
           });
}

void micro(const MicroOptions& options) {
    if (!options.page.empty()) expect_page_name("--report", options.page);
    PartialFile partial(options.out);
    measure(options, partial.path());
    const std::string text = text_of_file(partial.path());
    reports::MicroFile file = parsed_result(text);
    file.fits = reports::size_fits(file.rows);
    const auto bounds = reports::bounds_of(file.rows);
    const std::string result = completed(text, file, bounds);
    partial.keep(result);
    std::vector<MicroLine> lines;
    for (std::size_t i = 0; i < bounds.size(); ++i) lines.push_back(line_of(file.rows[i], bounds[i]));
    std::vector<MicroLine> failed;
    for (const MicroLine& line : lines)
        if (line.remark.starts_with("failed")) failed.push_back(line);
    if (!options.shown.verbose && !failed.empty()) print("{}\n", table_of(failed));
    if (options.shown.verbose) print("{}{}{}\n", context_lines(file), table_of(lines), footer_of(file));
    if (!options.shown.quiet) print("written to {}\n", options.out);
    if (!options.page.empty()) {
        write_micro_page(options.page, file);
        print("{}\n", options.page);
    }
    refuse_bad_result(file);
    if (!options.card.empty()) {
        reports::write_file_atomically(options.card, cards::cpu_card_text(reports::cpu_card_of(file)));
        print("{}\n", options.card);
    }
    std::fflush(stdout);
    if (!is_worth_keeping(file))
        print(
            "not kept for reports, which need the ceilings and the rows of weights: measure without "
            "--filter for them\n");
    else if (const auto kept = keep_micro(result); kept && !options.shown.quiet)
        print("kept for reports in {}\n", *kept);
    print("{}", verdict_of(file));
}

}  // namespace

void add_micro(CLI::App& app) {
    auto options = std::make_shared<MicroOptions>();
    CLI::App* command = app.add_subcommand(
        "micro", "Measure the memory bandwidth and arithmetic that this machine can deliver for inference");
    auto* const quick = command->add_flag("--quick", options->quick,
                                          "Measure fewer rows with less time for each: about 15 s");
    command->add_flag("--full", options->full, "Measure every row with more time for each: about ten minutes")
        ->excludes(quick);
    command->add_option("--filter", options->filter,
                        "Measure only rows whose name contains a match of this regular expression");
    command
        ->add_option("--threads", options->threads,
                     "Measure with 1 and this many threads (default: one per core)")
        ->check(AmountWithin{.least = 1, .most = 65536, .zero = false});
    auto* const preset = command->add_option(
        "--preset", options->preset, "Known model whose matrix shapes are measured (default: smollm2-135m)");
    command
        ->add_option(
            "--model-card", options->model_card,
            "Model whose matrix shapes are measured: a config.json, a GGUF file or the name of a known model")
        ->excludes(preset);
    command->add_option("--out", options->out, "File for the result")->capture_default_str();
    command->add_option("--report", options->page,
                        "Also write the result as a page with charts (.html) or as tables (.md)");
    command->add_option("--card", options->card,
                        "Also write a card of this CPU (.json), with which the simulated server predicts "
                        "llama.cpp here: sim:MODEL/cpu:FILE/q8_0");
    add_presentation_options(*command, options->shown, Shows::text);
    add_micro_compare(*command);
    command->callback([options, command] {
        if (command->get_subcommands().empty()) micro(*options);
    });
}

}  // namespace paretoken::cli
