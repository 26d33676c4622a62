// paretoken report: joins run directories with the known facts of model, hardware and prices, and writes the
// report in every requested format.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "cards/model.h"
#include "cards/price.h"
#include "cli/commands.h"
#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/interop/exports.h"
#include "cli/interop/foreign_results.h"
#include "cli/micro/micro_cache.h"
#include "cli/options/demand.h"
#include "cli/options/invocation.h"
#include "cli/plan/runs_directory.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/result/slo.h"
#include "core/text/content_hash.h"
#include "core/version.h"
#include "experiments/server/provenance.h"
#include "experiments/simulated_rate.h"
#include "experiments/watch/page_server.h"
#include "reports/analysis/cache/picture.h"
#include "reports/analysis/cache/words.h"
#include "reports/analysis/gate/sections.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/model/front.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/demand.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/document/table.h"
#include "reports/files/file_io.h"
#include "reports/files/json/cache_json.h"
#include "reports/files/json/gate_file.h"
#include "reports/files/refold.h"
#include "reports/files/run_directory.h"
#include "reports/pages/formats.h"
#include "reports/pages/gate.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;
using reports::ReportFormat;
using reports::ReportModel;

std::optional<std::string> given(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

/// The sweeps that runs are points of; each sweep.json is read once.
class Sweeps {
  public:
    /// Stores in the run the sweep that it is a point of, and its cell there.
    void place(reports::LoadedRun& run) {
        const fs::path directory = fs::path(run.directory).lexically_normal();
        const fs::path parent = directory.has_parent_path() ? directory.parent_path() : fs::path(".");
        if (!fs::exists(parent / reports::kSweepFileName)) return;
        const auto [sweep, is_new] = read_.try_emplace(parent);
        if (is_new) {
            sweep->second = reports::read_sweep(parent);
            if (const auto& search = sweep->second.search)
                searches_.push_back({parent.string(), sweep->second.axis, *search});
        }
        for (const reports::SweepPoint& point : sweep->second.points) {
            if (fs::path(point.directory).lexically_normal() != directory.filename()) continue;
            run.sweep = parent.string();
            run.cell = point.cell;
            return;
        }
    }

    /// Returns the sweeps that are searches, in the order of their runs.
    const std::vector<reports::LoadedSearch>& searches() const { return searches_; }

  private:
    std::map<fs::path, reports::SweepFile> read_;
    std::vector<reports::LoadedSearch> searches_;
};

reports::NamedGates loaded_gates(const std::vector<fs::path>& found) {
    reports::NamedGates gates;
    for (const fs::path& directory : found) {
        const fs::path file = directory / reports::kGateFileName;
        gates.emplace_back(directory.string(),
                           reports::parse_gate_json(reports::read_file(file), file.string()));
    }
    return gates;
}

/// The verdict of a gate, which stands before everything else. Several gates are a list of verdicts.
std::vector<reports::Section> sections_of(const reports::NamedGates& gates) {
    if (gates.empty()) return {};
    if (gates.size() == 1) return reports::gate_sections(gates.front().second);
    return {reports::gates_section(gates)};
}

std::vector<reports::LoadedCache> loaded_caches(const std::vector<fs::path>& found) {
    std::vector<reports::LoadedCache> caches;
    for (const fs::path& directory : found) {
        const fs::path file = directory / reports::kCacheFileName;
        caches.push_back(
            {directory.string(), reports::parse_cache_json(reports::read_file(file), file.string())});
    }
    return caches;
}

std::vector<reports::LoadedRun> loaded_runs(const ReportCommand& command, const std::vector<fs::path>& found,
                                            Sweeps& sweeps) {
    std::vector<reports::LoadedRun> runs;
    for (const fs::path& run : found) {
        if (command.serve && !reports::has_result(run)) continue;  // it is added when it has ended
        runs.push_back({.directory = run.string(), .result = reports::read_run_directory(run)});
        reports::restore_run(run, runs.back().result);
        sweeps.place(runs.back());
    }
    return runs;
}

/// Returns the model cards that the runs name, if they still exist and are unchanged.
std::map<std::string, cards::ModelCard> cards_named_by(const std::vector<reports::LoadedRun>& runs) {
    std::map<std::string, cards::ModelCard> known;
    for (const reports::LoadedRun& run : runs) {
        const auto& note = run.result.provenance.model_card;
        if (!note || note->spec.empty() || known.contains(note->hash)) continue;
        try {
            const cards::ModelCard card = cards::model_card(note->spec);
            if (cards::content_hash_of(card) == note->hash) known.emplace(note->hash, card);
        } catch (const Error&) {  // the report says that it is missing
        }
    }
    return known;
}

std::vector<std::string> names_in(const std::string& list) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        if (end > begin) names.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

/// Adds the values of --quality: "same", FILE or LABEL=VALUE:FILE.
void add_quality(reports::JoinOptions& options, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        if (text == "same") {
            options.quality_equal = true;
            continue;
        }
        const reports::CardSpec spec = reports::parse_card_spec(text);
        for (reports::QualityScore& score : reports::parse_quality(
                 reports::read_option_file(spec.card, "--quality"), spec.card, spec.selector))
            options.quality.push_back(std::move(score));
    }
}

/// Reads a limit on a percentile that results hold, or with --refold on any percentile. Throws UsageError.
Slo slo_of(const std::string& text, bool refold) {
    const Slo slo = parse_slo(text, SloPercentiles::any);
    if (refold) return slo;
    try {
        return parse_slo(text);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}; --refold computes any percentile from the requests", error.what()));
    }
}

/// Folds every run anew from its requests, for the percentiles of the limits and the SLOs of --goodput.
void refold_all(std::vector<reports::LoadedRun>& runs, const ReportCommand& command,
                const std::vector<Slo>& slos) {
    reports::Refold refold;
    for (const Slo& slo : slos)
        if (slo.p) refold.percentiles.push_back(*slo.p);
    for (const std::string& text : command.goodput) reports::add_goodput(refold, text);
    for (reports::LoadedRun& run : runs) run.result = reports::refolded(run.directory, refold);
}

/// Throws UsageError if no entry of the cards has a price on this basis.
void require_basis(const std::string& basis, const std::vector<cards::PriceCard>& cards) {
    std::set<std::string> known;
    for (const cards::PriceCard& card : cards)
        for (const auto* const items : {&card.gpus, &card.cpus})
            for (const auto& [name, item] : *items)
                for (const auto& [of_item, usd_per_h] : item.usd_per_h) known.insert(of_item);
    if (!known.contains(basis))
        throw UsageError(
            fmt::format("--price-basis {}: no price card has prices on this basis; expected one of {}", basis,
                        fmt::join(known, ", ")));
}

std::optional<reports::AskedDemand> demand_in(const ReportCommand& command) {
    if (command.demand.empty()) return {};
    return reports::AskedDemand{requests_per_s_in(command.demand), share_to_use(command.target_utilization)};
}

reports::JoinOptions join_options(const ReportCommand& command) {
    reports::JoinOptions options;
    if (!command.title.empty()) options.title = command.title;
    options.generated_at = experiments::utc_now();
    if (!command.micro.empty()) {
        options.micro = reports::read_micro_results({command.micro.begin(), command.micro.end()});
    } else if (!command.no_micro) {
        KeptMicro kept = kept_micro();
        options.micro = std::move(kept.results);
        options.micro_note = std::move(kept.note);
    }
    for (const std::string& text : command.model_cards) {
        const reports::CardSpec spec = reports::parse_card_spec(text);
        options.models.push_back({spec.selector, text, cards::model_card(spec.card)});
    }
    if (!command.group_by.empty())
        options.group_by =
            command.group_by == "none" ? std::vector<std::string>() : names_in(command.group_by);
    options.gpu = given(command.gpu);
    for (const std::string& price : command.prices) options.prices.push_back(cards::price_card(price));
    if (options.prices.empty()) options.prices = cards::default_price_cards();
    options.basis = given(command.price_basis);
    if (options.basis) require_basis(*options.basis, options.prices);
    if (!command.split.empty()) options.split = reports::parse_split(command.split, options.prices);
    options.target_usd_per_m = command.target_usd_per_m;
    options.demand = demand_in(command);
    options.apis = cards::price_card("2026-11-apis").apis;
    for (const cards::PriceCard& card : options.prices)
        for (const auto& [name, api] : card.apis) options.apis[name] = api;
    for (const std::string& text : command.slos)
        for (std::string& slo : text.starts_with('@') ? slo_texts(text) : slo_texts_in(text)) {
            options.slos.push_back(slo_of(slo, command.refold));
            options.slo_texts.push_back(std::move(slo));
        }
    add_quality(options, command.quality);
    for (const std::string& text : command.what_ifs) options.what_ifs.push_back(reports::parse_what_if(text));
    options.card_of = [](const std::string& spec, const cards::ModelCardOptions& formats) {
        return cards::model_card(spec, formats);
    };
    options.over_time = command.x == reports::kDateAxis;
    if (!options.over_time) options.front_x = reports::front_x_named(command.x);
    options.front_y = reports::front_y_named(command.y);
    options.anyway = command.anyway;
    return options;
}

struct Output {
    const ReportFormat* format;
    fs::path path;
};

/// Returns whether a path names a device or a pipe, such as /dev/stdout.
bool is_device(const fs::path& path) {
    return fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path);
}

/// Returns the files to write: --out names the first one; the other formats stand beside it. A report never
/// replaces a file that it was made from.
std::vector<Output> outputs(const ReportCommand& command) {
    fs::path stem = command.out;
    if (is_device(stem)) {
        const auto formats = reports::formats_named(command.formats);
        if (formats.size() == 1) return {{formats.front(), stem}};
        throw UsageError(
            fmt::format("--out {}: name the one format to write there, such as --format json", command.out));
    }
    if (!stem.has_filename() || fs::is_directory(stem)) stem /= "report";
    std::string name = stem.filename().string();
    std::size_t ending = 0;  // length of the longest extension that matches
    for (const ReportFormat& format : reports::report_formats())
        if (name.ends_with(fmt::format(".{}", format.extension)))
            ending = std::max(ending, format.extension.size() + 1);
    stem.replace_filename(name.substr(0, name.size() - ending));
    std::vector<Output> outputs;
    for (const ReportFormat* format : reports::formats_named(command.formats)) {
        const fs::path path = fmt::format("{}.{}", stem.string(), format->extension);
        if (path.filename() == reports::kRunFileName || path.filename() == reports::kSweepFileName ||
            path.filename() == reports::kCacheFileName)
            throw UsageError(fmt::format("--out {}: {} would replace a measurement; choose another name",
                                         command.out, path.string()));
        outputs.push_back({format, path});
    }
    return outputs;
}

/// Returns whether the report has a valid measurement, or the verdict of a gate.
bool has_valid_point(const ReportModel& model) {
    if (!model.sections.empty()) return true;
    for (const reports::CachePicture& cache : model.caches)
        for (const reports::CacheLevel& level : cache.report.levels)
            if (level.invalid.empty()) return true;
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

/// Returns the answer of a configuration, behind its workload where another configuration has its title.
std::string answer_of(const ReportModel& model, const reports::Configuration& configuration) {
    const auto same_title = [&](const reports::Configuration& other) {
        return other.title == configuration.title;
    };
    if (std::ranges::count_if(model.configurations, same_title) == 1 || configuration.workload.empty())
        return configuration.answer;
    return fmt::format("{} · {}", configuration.workload, configuration.answer);
}

/// Returns the text for the terminal: the answers, the errors and the missing parts.
std::string answers_of(const ReportModel& model) {
    std::string text;
    if (!model.sections.empty()) text += lines_of(model.title) + "\n";
    if (model.demand) text += lines_of(reports::demand_sentence(model)) + "\n";
    for (const reports::Configuration& configuration : model.configurations) {
        text += lines_of(answer_of(model, configuration));
        for (const std::string& error : configuration.errors) text += lines_of("error: " + error);
        for (const std::string& missing : configuration.missing) text += lines_of(missing);
        text += "\n";
    }
    for (const reports::CachePicture& cache : model.caches)
        text += lines_of("Prefix caching of " + cache.report.target) + reports::cache_console(cache.report) +
                "\n";
    for (const reports::WhatIf& what_if : model.what_ifs)
        text += lines_of(reports::what_if_sentence(model, what_if));
    for (const std::string& note : model.notes) text += lines_of(note);
    return text;
}

ReportModel model_of(const ReportCommand& command) {
    reports::JoinOptions options = join_options(command);
    Sweeps sweeps;
    const reports::ResultDirectories found = reports::find_result_directories(command.directories);
    std::vector<reports::LoadedRun> runs = loaded_runs(command, found.runs, sweeps);
    options.caches = loaded_caches(found.caches);
    if (command.title.empty() && found.runs.empty() && options.caches.size() == 1)
        options.title = "Prefix caching of " + options.caches.front().report.target;
    options.searches = sweeps.searches();
    if (command.refold) refold_all(runs, command, options.slos);
    const RunsDirectory simulated("");
    options.simulated_rate = [&simulated, number = 0](const reports::SimulatedLoad& load) mutable {
        return experiments::simulated_rate(load, simulated.path() / fmt::format("{}", number++),
                                           this_invocation());
    };
    for (reports::LoadedRun& run : runs) run.directory = reports::shown_name(run.directory);
    options.known_models = cards_named_by(runs);
    const bool has_other_results = !runs.empty() || !options.caches.empty();
    const reports::ReportedGates gates =
        reports::gates_to_report(loaded_gates(found.gates), has_other_results);
    if (command.title.empty() && gates.shown.size() == 1) options.title = gates.shown.front().second.headline;
    ReportModel model = reports::build_report(std::move(runs), options);
    model.sections = sections_of(gates.shown);
    if (!gates.note.empty()) model.notes.push_back(gates.note);
    return model;
}

/// The report of the runs that exist when a page is requested.
class LiveReport {
  public:
    explicit LiveReport(const ReportCommand& command) : command_(command) {}

    std::optional<experiments::ServedPage> page(std::string_view path) {
        refresh();
        if (path == "/version") return experiments::ServedPage{"text/plain; charset=utf-8", state_};
        if (path == "/") return experiments::ServedPage{"text/html; charset=utf-8", html()};
        if (!model_) return {};
        for (const ReportFormat& format : reports::report_formats())
            if (path == fmt::format("/report.{}", format.extension))
                return experiments::ServedPage{type_of(format), format.write(*model_)};
        return {};
    }

  private:
    static std::string type_of(const ReportFormat& format) {
        if (format.name == "html") return "text/html; charset=utf-8";
        return format.extension.ends_with("json") ? "application/json" : "text/plain; charset=utf-8";
    }

    /// Returns a text that changes whenever a run is added or replaced.
    std::string state_now() const {
        std::string state;
        for (const std::string& directory : command_.directories) {
            reports::ResultDirectories found;
            try {
                found = reports::find_result_directories(directory);
            } catch (const UsageError&) {  // there is no result yet
                continue;
            }
            const auto add = [&state](const fs::path& file) {
                std::error_code error;
                const auto written = fs::last_write_time(file, error);
                state += fmt::format("{} {}\n", file.string(), written.time_since_epoch().count());
            };
            for (const fs::path& run : found.runs) add(run / reports::kRunFileName);
            for (const fs::path& cache : found.caches) add(cache / reports::kCacheFileName);
            for (const fs::path& gate : found.gates) add(gate / reports::kGateFileName);
        }
        return state.empty() ? "nothing yet" : content_hash(state);
    }

    void refresh() {
        std::string state = state_now();
        if (state == state_) return;
        if (state != "nothing yet") model_ = model_of(command_);
        if (model_ && model_->configurations.empty() && model_->caches.empty())
            model_.reset();  // every run is still running
        state_ = std::move(state);
    }

    std::string html() const {
        if (model_) return reports::served_html_report(*model_, state_);
        std::string where;
        for (const std::string& directory : command_.directories)
            where += " " + reports::html_escaped(directory);
        return fmt::format(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" "
            "content=\"2\"><title>paretoken report</title><p>No run has ended yet in<code>{0}</code>. This "
            "page looks again every two seconds. <code>paretoken report{0}</code> shows what a run has "
            "measured so far, or had measured when it was killed.</p></html>\n",
            where);
    }

    const ReportCommand& command_;
    std::string state_;
    std::optional<ReportModel> model_;
};

/// Serves the report until Ctrl-C.
void serve_report(const ReportCommand& command) {
    InterruptWatch watch("\n");  // must come before any thread
    LiveReport live(command);
    experiments::PageServer server(
        command.listen, experiments::Reach::this_machine, "There is nothing here; the report is at /.",
        [&live](const experiments::PageRequest& request) { return live.page(request.path); });
    for (const std::string& directory : command.directories)
        if (!fs::is_directory(directory))
            throw UsageError(
                fmt::format("{} is not a directory; give the directory that runs are written to", directory));
    join_options(command);  // refuses wrong options at once
    print("{}\n", server.url());
    std::fflush(stdout);
    server.serve(watch.token());
}

void write_files(const std::vector<Output>& files, const ReportModel& model) {
    for (const Output& file : files) {
        if (is_device(file.path))
            write_export(file.format->write(model), file.path.string());
        else
            reports::write_file_atomically(file.path, file.format->write(model));
    }
}

ReportModel page_of(std::string title, std::vector<reports::Section> sections) {
    ReportModel model;
    model.title = std::move(title);
    model.generated_at = experiments::utc_now();
    model.version = version();
    model.sections = std::move(sections);
    return model;
}

void report(const ReportCommand& command) {
    if (command.serve) return serve_report(command);
    const std::vector<Output> files = outputs(command);
    const ReportModel model = model_of(command);
    write_files(files, model);
    std::FILE* const told = is_device(files.front().path) ? stderr : stdout;
    print(told, "{}", answers_of(model));
    for (const Output& file : files) print(told, "{}\n", file.path.string());
    for (const reports::Configuration& configuration : model.configurations)
        if (!configuration.errors.empty())
            throw Error(ExitCode::measurement_invalid,
                        fmt::format("{} is not a valid measurement: {}", configuration.title,
                                    configuration.errors.front()));
    if (!has_valid_point(model))
        throw Error(ExitCode::measurement_invalid,
                    fmt::format("{}: no run is a valid measurement; the report gives the reasons",
                                files.front().path.string()));
}

}  // namespace

std::string markdown_page(std::string title, std::vector<reports::Section> sections) {
    return reports::markdown_report(page_of(std::move(title), std::move(sections)));
}

void write_page(std::string title, std::vector<reports::Section> sections, const fs::path& directory,
                std::string_view name) {
    const ReportModel page = page_of(std::move(title), std::move(sections));
    reports::write_file_atomically(directory / fmt::format("{}.md", name), reports::markdown_report(page));
    reports::write_file_atomically(directory / fmt::format("{}.html", name), reports::html_report(page));
}

std::vector<fs::path> write_report(const ReportCommand& command) {
    const std::vector<Output> files = outputs(command);
    write_files(files, model_of(command));
    std::vector<fs::path> paths;
    for (const Output& file : files) paths.push_back(file.path);
    return paths;
}

void add_report(CLI::App& app) {
    const auto command = std::make_shared<ReportCommand>();
    CLI::App* sub = app.add_subcommand("report", "Join runs with model, hardware and prices into a report");
    sub->add_option(
           "directories", command->directories,
           "Directories of `run`, `sweep` or `cache`, or directories of these; or result files of other load "
           "generators (paretoken import --help)")
        ->required();
    auto* const micro =
        sub->add_option("--micro", command->micro,
                        "Result of `paretoken micro` on the hardware that served; may be repeated [the "
                        "newest result of this machine, if the machine is unchanged]");
    sub->add_flag("--no-micro", command->no_micro, "Use no result of `paretoken micro`")->excludes(micro);
    sub->add_option("--model-card", command->model_cards,
                    "Model card: a known model, a config.json or a GGUF file. CARD:kv=fp8,weights=int4 "
                    "states other number formats, and precision=q8_0:CARD applies to the runs with that "
                    "label. May be repeated [the models that the runs name]");
    sub->add_option(
        "--group-by", command->group_by,
        "Labels (--metadata, weights, kv, engine, …) by which runs are grouped into curves, separated by "
        "commas, or none [those that differ between sweeps and are constant within each]");
    sub->add_option("--gpu", command->gpu,
                    "Hardware that served the runs that do not name their GPU: NAME or NAMExN");
    sub->add_option(
        "--price", command->prices,
        "Price for the cost per million tokens: dollars per GPU-hour (2.50), or a price card by its "
        "name or as a file; may be repeated. Without a run: paretoken cost per-million [the ones "
        "that ship]");
    sub->add_option("--price-basis", command->price_basis,
                    "Price basis: on_demand, reserved_1y, spot, … [the card's mix]");
    sub->add_option("--split,--split-ratio", command->split,
                    "Rule that splits the cost between input and output tokens: a number (an output token "
                    "costs this many input tokens), api:NAME, prefill-share or mixes [4]");
    sub->add_option("--target-usd-per-m", command->target_usd_per_m,
                    "Show the output tokens per second that this price per million output tokens requires")
        ->check(AmountWithin{.least = 1e-9, .most = 1e9, .zero = false});
    auto* const demand = sub->add_option("--demand", command->demand,
                                         "Requests per second to carry: 50rps. With limits (--slo), the "
                                         "report says how many deployments of each "
                                         "configuration carry them, and what they cost");
    sub->add_option("--target-utilization", command->target_utilization,
                    "Share of the load within the limits that may be used, for --demand")
        ->needs(demand)
        ->capture_default_str();
    sub->add_option("--slo", command->slos,
                    "Limits on percentiles: TAG:MILLISECONDS for the p90 or TAG_pNN:MILLISECONDS, e.g. "
                    "\"ttft_p95:800 tpot:15\"; may be repeated [the runs' --slo, if all have the same; else "
                    "their --goodput; else the limits of their search]");
    auto* const refold = sub->add_flag(
        "--refold", command->refold,
        "Compute the figures of every run again from its requests.jsonl and events.bin, so that --slo "
        "accepts any percentile (ttft_p97:800); the files of the runs are not changed");
    sub->add_option("--goodput", command->goodput,
                    "With --refold: SLOs of each request, instead of the runs' own, e.g. \"ttft:500 "
                    "tpot:15\", or CLASS=SLOS for the requests of a class; may be repeated")
        ->needs(refold);
    sub->add_option("--quality", command->quality,
                    "Quality scores of the configurations: a JSON array of {label, score, n}; "
                    "LABEL=VALUE:FILE for a result of lm-evaluation-harness; or same, which states that all "
                    "answer equally well; may be repeated");
    sub->add_option(
        "--what-if", command->what_ifs,
        "Estimate every configuration with changes, e.g. gpu=h100-sxm,tp=2,weights=fp8,kv=fp8,hit=.9: the "
        "measured rate × how much faster a simulated server is with them; may be repeated");
    sub->add_option("--x", command->x,
                    "Horizontal axis of the front: interactivity_p90, decode_interactivity_p50, ttft_p95 "
                    "or e2e_p95; date draws the history of every load")
        ->capture_default_str();
    sub->add_option("--y", command->y, "Vertical axis of the front: usd_per_m or tokens_per_s_per_gpu")
        ->capture_default_str();
    sub->add_flag(
        "--anyway", command->anyway,
        "Also compare runs whose workload, model, price basis or quality differs, or whose percentile is "
        "not certified");
    sub->add_option("--title", command->title, "Title of the page");
    auto* const out =
        sub->add_option("--out,-o", command->out, "File to write, or a directory for report.html");
    out->capture_default_str();
    auto* const format =
        sub->add_option("--format", command->formats,
                        "Formats to write, separated by commas: html, md, json, csv, inferencex");
    format->capture_default_str();
    auto* const serve = sub->add_flag(
        "--serve", command->serve,
        "Serve the page on this machine instead of writing files; it is refreshed when runs end");
    serve->excludes(out)->excludes(format);
    sub->add_option("--listen", command->listen,
                    "With --serve: address of the loopback to listen on; port 0 takes a free port")
        ->needs(serve)
        ->capture_default_str();
    sub->footer(
        "A price list of your own for --price FILE: {\"schema\": 1, \"as_of\": \"2026-11-01\", \"currency\": "
        "\"USD\", \"source\": \"our contract\", \"gpus\": {\"h100\": {\"on_demand\": 2.50}}}");
    sub->callback([command] {
        ForeignResults foreign;
        foreign.replace(command->directories);
        report(*command);
    });
}

}  // namespace paretoken::cli
