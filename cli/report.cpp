// paretoken report: joins run directories with what is known of model, hardware and prices, and writes it in
// every format asked for.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "cards/price.h"
#include "cli/commands.h"
#include "cli/micro_cache.h"
#include "core/error.h"
#include "core/slo.h"
#include "reports/files/run_directory.h"
#include "reports/micro/micro_results.h"
#include "reports/model/join.h"
#include "reports/pages/formats.h"
#include "reports/pages/table.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;
using reports::ReportFormat;
using reports::ReportModel;

struct ReportCommand {
    std::vector<std::string> directories;
    std::vector<std::string> micro;
    bool no_micro = false;
    std::string model_card;
    std::string gpu;
    std::vector<std::string> prices;
    std::string price_basis;
    std::optional<double> split_ratio;
    std::vector<std::string> slos;
    std::string title;
    std::string out = "report.html";
    std::string formats = "html,md,json";
};

std::string utc_now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::optional<std::string> given(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

/// Each run once, in the order in which the directories were named.
std::vector<reports::LoadedRun> loaded_runs(const std::vector<std::string>& directories) {
    std::vector<fs::path> found;
    for (const std::string& directory : directories)
        for (const fs::path& run : reports::find_run_directories(directory))
            if (std::find(found.begin(), found.end(), run) == found.end()) found.push_back(run);
    std::vector<reports::LoadedRun> runs;
    for (const fs::path& run : found) runs.push_back({run.string(), reports::read_run_directory(run)});
    return runs;
}

reports::JoinOptions join_options(const ReportCommand& command) {
    reports::JoinOptions options;
    if (!command.title.empty()) options.title = command.title;
    options.generated_at = utc_now();
    if (!command.micro.empty()) {
        options.micro = reports::read_micro_results({command.micro.begin(), command.micro.end()});
    } else if (!command.no_micro) {
        KeptMicro kept = kept_micro();
        options.micro = std::move(kept.results);
        options.micro_note = std::move(kept.note);
    }
    if (!command.model_card.empty()) options.model = cards::model_card(command.model_card);
    options.gpu = given(command.gpu);
    for (const std::string& price : command.prices) options.prices.push_back(cards::price_card(price));
    if (options.prices.empty()) options.prices = cards::default_price_cards();
    options.basis = given(command.price_basis);
    options.split_ratio = command.split_ratio;
    for (const std::string& slo : command.slos) options.slos.push_back(parse_slo(slo));
    options.slo_texts = command.slos;
    return options;
}

struct Output {
    const ReportFormat* format;
    fs::path path;
};

/// --out names the first file; the other formats stand beside it. A report never replaces what it was made
/// from.
std::vector<Output> outputs(const ReportCommand& command) {
    fs::path stem = command.out;
    if (!stem.has_filename() || fs::is_directory(stem)) stem /= "report";
    const auto known = reports::report_formats();
    const bool has_extension = std::any_of(known.begin(), known.end(), [&stem](const ReportFormat& format) {
        return stem.extension() == fmt::format(".{}", format.name);
    });
    if (has_extension) stem.replace_extension();
    std::vector<Output> outputs;
    for (const ReportFormat* format : reports::formats_named(command.formats)) {
        const fs::path path = fmt::format("{}.{}", stem.string(), format->name);
        if (path.filename() == reports::kRunFileName || path.filename() == reports::kSweepFileName)
            throw UsageError(fmt::format("--out {}: {} would replace a measurement; choose another name",
                                         command.out, path.string()));
        outputs.push_back({format, path});
    }
    return outputs;
}

bool has_valid_point(const ReportModel& model) {
    for (const reports::Configuration& configuration : model.configurations)
        for (const reports::ReportPoint& point : configuration.points)
            if (point.result.validity.verdict != Verdict::invalid) return true;
    return false;
}

std::string lines_of(const std::string& text) {
    std::string lines;
    for (const std::string& line : reports::wrapped(reports::printable(text), 80)) lines += line + "\n";
    return lines;
}

/// What a terminal shows: the sentences, what is wrong, what is missing.
std::string answers_of(const ReportModel& model) {
    std::string text;
    for (const reports::Configuration& configuration : model.configurations) {
        text += lines_of(configuration.answer);
        for (const std::string& error : configuration.errors) text += lines_of("error: " + error);
        for (const std::string& missing : configuration.missing) text += lines_of(missing);
        text += "\n";
    }
    for (const std::string& note : model.notes) text += lines_of(note);
    return text;
}

void report(const ReportCommand& command) {
    const std::vector<Output> files = outputs(command);
    const reports::JoinOptions options = join_options(command);
    const ReportModel model = reports::build_report(loaded_runs(command.directories), options);
    for (const Output& file : files) reports::write_file_atomically(file.path, file.format->write(model));
    fmt::print("{}", answers_of(model));
    for (const Output& file : files) fmt::print("{}\n", file.path.string());
    if (!has_valid_point(model))
        throw Error(ExitCode::measurement_invalid,
                    fmt::format("{}: not one run is a valid measurement; the report says why",
                                files.front().path.string()));
}

}  // namespace

void add_report(CLI::App& app) {
    const auto command = std::make_shared<ReportCommand>();
    CLI::App* sub = app.add_subcommand("report", "Join runs with model, hardware and prices into a report");
    sub->add_option("directories", command->directories, "Run or sweep directories, or directories of these")
        ->required();
    auto* const micro = sub->add_option("--micro", command->micro,
                                        "What `paretoken micro` measured on the hardware that served; "
                                        "repeatable [the newest of this machine, if it is unchanged]");
    sub->add_flag("--no-micro", command->no_micro, "Use no result of `paretoken micro`")->excludes(micro);
    sub->add_option("--model-card", command->model_card,
                    "A known model, a config.json or a GGUF file; CARD:kv=fp8,weights=int4 says other types");
    sub->add_option("--gpu", command->gpu, "What served: NAME or NAMExN");
    sub->add_option("--price", command->prices,
                    "A known price card or a file; repeatable [the ones that ship]");
    sub->add_option("--price-basis", command->price_basis,
                    "on_demand, reserved_1y, spot, … [the card's mix]");
    sub->add_option("--split-ratio", command->split_ratio, "An output token costs this many input tokens")
        ->check([](const std::string& text) {
            const double ratio = std::strtod(text.c_str(), nullptr);
            return std::isfinite(ratio) && ratio > 0 ? "" : "must be above 0";
        });
    sub->add_option("--slo", command->slos,
                    "Limit on a percentile, TAG:MILLISECONDS for the p90 or TAG_pNN:MILLISECONDS, e.g. "
                    "ttft_p95:800; repeatable");
    sub->add_option("--title", command->title, "Title of the page");
    sub->add_option("--out,-o", command->out, "Where it goes: a file, or a directory to write report.html to")
        ->capture_default_str();
    sub->add_option("--format", command->formats, "Any of html, md, json, csv, by commas")
        ->capture_default_str();
    sub->callback([command] { report(*command); });
}

}  // namespace paretoken::cli
