// paretoken micro: what this machine could deliver. Runs paretoken-microbench, which stands beside this
// program, checks its result and shows it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "core/units.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::minutes(30);  // for one row; the slowest take seconds

struct MicroOptions {
    bool quick = false;
    std::string filter;
    std::uint32_t threads = 0;  // 0: one per core
    std::string preset;
    std::string out = "micro.json";
};

/// One line of the table.
struct MicroRow {
    std::string name;
    std::string threads;
    std::string speed;
    std::string of_ceiling;
    std::string remark;  // why it is not valid, or what else there is to say
    bool failed = false;
    bool valid = false;
};

/// "[ 3/17] name …" → 3 of 17; nothing for any other line.
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

/// Shows progress on a terminal, is silent elsewhere.
class MicroProgress {
  public:
    MicroProgress() : shown_(isatty(STDERR_FILENO) != 0) { draw("micro: starting"); }
    ~MicroProgress() { draw(""); }
    MicroProgress(const MicroProgress&) = delete;
    MicroProgress& operator=(const MicroProgress&) = delete;
    void advance(const Place& place) { draw(progress_line(place, Clock::now() - began_)); }

  private:
    void draw(const std::string& text) const {
        if (shown_) fmt::print(stderr, "\r\x1b[K{}", text);
    }
    bool shown_;
    TimePoint began_ = Clock::now();
};

std::vector<std::string> arguments_for(const MicroOptions& options, const fs::path& result) {
    std::vector<std::string> arguments{"--report-to-parent", "--benchmark_out_format=json",
                                       "--benchmark_out=" + result.string()};
    if (options.quick) arguments.emplace_back("--quick");
    if (options.threads != 0) arguments.push_back(fmt::format("--threads={}", options.threads));
    if (!options.preset.empty()) arguments.push_back("--preset=" + options.preset);
    if (!options.filter.empty()) arguments.push_back("--benchmark_filter=" + options.filter);
    return arguments;
}

/// Runs it to its end. Throws what it complained about, under its own exit code; a failed check is no
/// complaint.
void run_microbench(const MicroOptions& options, const fs::path& result) {
    constexpr std::string_view kComplaint = "error: ";
    ChildProcess child(own_directory() / "paretoken-microbench", arguments_for(options, result));
    const InterruptWatch watch(
        "\nending the measurement: nothing is written\n");  // after the child: it would inherit the mask
    std::string complaint;
    {
        const std::stop_callback stop(watch.token(), [&] { child.signal(SIGTERM); });
        MicroProgress progress;
        while (const auto line = child.read_line(kPatience)) {
            if (const auto place = place_of(*line)) progress.advance(*place);
            if (line->starts_with(kComplaint)) complaint = line->substr(kComplaint.size());
        }
    }
    if (watch.token().stop_requested()) throw RuntimeError("micro: interrupted, nothing was written");
    const int status = child.wait();
    if (status == static_cast<int>(ExitCode::ok) || status == static_cast<int>(ExitCode::measurement_invalid))
        return;
    if (status == static_cast<int>(ExitCode::usage)) throw UsageError("micro: " + complaint);
    if (!complaint.empty()) throw RuntimeError("micro: " + complaint);
    throw RuntimeError(fmt::format("micro: paretoken-microbench ended with status {}", status));
}

nlohmann::json parsed_result(const fs::path& path) {
    std::ifstream file(path);
    auto json = nlohmann::json::parse(file, nullptr, false);
    if (json.is_discarded() || !json.contains("benchmarks") || json["benchmarks"].empty()) {
        throw RuntimeError("micro: paretoken-microbench wrote no result; run it by hand to see why");
    }
    return json;
}

std::string speed_of(const nlohmann::json& row) {
    if (row.contains("bytes_per_second"))
        return fmt::format("{:.1f} GB/s", row["bytes_per_second"].get<double>() / 1e9);
    if (row.contains("flops_per_second")) {
        return fmt::format("{:.0f} GFLOP/s", row["flops_per_second"].get<double>() / 1e9);
    }
    return "";
}

/// "weights/w:q4_0/batch:1/backend:cpu/threads:2" → "weights w q4_0 batch 1" and "2"
MicroRow row_of(const nlohmann::json& row) {
    MicroRow out;
    out.name = row.value("name", "");
    if (const auto at = out.name.find("/threads:"); at != std::string::npos) {
        out.threads = out.name.substr(at + std::strlen("/threads:"));
        out.name.erase(at);
    }
    if (const auto at = out.name.find("/backend:cpu"); at != std::string::npos) {
        out.name.erase(at, std::strlen("/backend:cpu"));
    }
    std::replace_if(
        out.name.begin(), out.name.end(), [](char c) { return c == '/' || c == ':'; }, ' ');
    out.failed = row.value("error_occurred", false);
    if (out.failed) {
        out.remark = row.value("error_message", "failed");
        return out;
    }
    out.speed = speed_of(row);
    if (row.contains("of_ceiling") && !out.name.starts_with("ceiling")) {
        out.of_ceiling = fmt::format("{:.0f} %", row["of_ceiling"].get<double>() * 100);
    }
    out.valid = row.value("valid", 0.0) != 0;
    out.remark = row.value("label", "");
    return out;
}

std::vector<MicroRow> rows_of(const nlohmann::json& result) {
    std::vector<MicroRow> rows;
    for (const auto& row : result["benchmarks"]) rows.push_back(row_of(row));
    return rows;
}

std::string context_line(const nlohmann::json& result) {
    const auto text = [&](const char* key) { return result["context"].value(key, std::string("?")); };
    return fmt::format("{}, {} cores, {}", text("hardware"), text("cores"), text("isa"));
}

/// At most 80 columns; remarks on a line of their own.
std::string table_of(const std::vector<MicroRow>& rows) {
    std::string text = fmt::format("{:<50}{:>4}{:>15}{:>11}\n", "", "thr", "", "of ceiling");
    for (const MicroRow& row : rows) {
        text += fmt::format("{:<50}{:>4}{:>15}{:>11}\n", row.name, row.threads, row.speed, row.of_ceiling);
        if (row.remark.empty()) continue;
        text += fmt::format("    {}: {}\n",
                            row.failed  ? "failed"
                            : row.valid ? "note"
                                        : "not valid",
                            row.remark);
    }
    return text;
}

/// Where the result is written before it is known to be whole. Removed unless kept.
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
    void keep() {
        std::error_code failed;
        fs::rename(path_, target_, failed);
        if (failed)
            throw RuntimeError(
                fmt::format("micro: cannot write '{}': {}", target_.string(), failed.message()));
        kept_ = true;
    }

  private:
    fs::path target_;
    fs::path path_;
    bool kept_ = false;
};

void micro(const MicroOptions& options) {
    PartialFile file(options.out);
    run_microbench(options, file.path());
    const nlohmann::json result = parsed_result(file.path());
    file.keep();
    const std::vector<MicroRow> rows = rows_of(result);
    fmt::print("{}\n{}written to {}\n", context_line(result), table_of(rows), options.out);
    const auto failed =
        std::count_if(rows.begin(), rows.end(), [](const MicroRow& row) { return row.failed; });
    const auto valid = std::count_if(rows.begin(), rows.end(), [](const MicroRow& row) { return row.valid; });
    if (failed != 0) {
        throw Error(ExitCode::measurement_invalid,
                    fmt::format("micro: {} of {} rows failed their check", failed, rows.size()));
    }
    if (valid == 0) {
        throw Error(ExitCode::measurement_invalid,
                    "micro: no row is valid, the table says why; close other programs");
    }
}

}  // namespace

void add_micro(CLI::App& app) {
    auto options = std::make_shared<MicroOptions>();
    CLI::App* command = app.add_subcommand("micro", "Measure what this machine could deliver");
    command->add_flag("--quick", options->quick, "Fewer rows, less time for each: under 20 s");
    command->add_option("--filter", options->filter,
                        "Only rows whose name contains a match of this regular expression");
    command
        ->add_option("--threads", options->threads,
                     "Measure with 1 and this many threads (default: one per core)")
        ->check(CLI::PositiveNumber);
    command->add_option("--preset", options->preset,
                        "Model whose matrices are streamed (default: smollm2-135m)");
    command->add_option("--out", options->out, "Where the result goes")->capture_default_str();
    command->callback([options] { micro(*options); });
}

}  // namespace paretoken::cli
