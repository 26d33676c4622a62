#include "cli/measure.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include "cards/client_ceiling.h"
#include "cards/gpu.h"
#include "cards/host.h"
#include "cli/progress_line.h"
#include "core/error.h"
#include "core/slo.h"
#include "core/spec.h"
#include "core/version.h"
#include "datasets/catalog.h"
#include "loadgen/run.h"
#include "loadgen/sim/card_profile.h"
#include "reports/records.h"
#include "reports/run_directory.h"
#include "reports/sweep_file.h"

namespace paretoken::cli {
namespace {

constexpr std::uint64_t kTrialIndex = std::uint64_t{1} << 41;  ///< far from measured and warm-up requests
constexpr Duration kTrialTimeout = std::chrono::minutes(3);

std::string fresh_salt() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

http::Headers headers_of(const TargetOptions& target) {
    http::Headers headers;
    if (const char* key = std::getenv(target.api_key_env.c_str()); key != nullptr && *key != '\0') {
        headers.emplace_back("Authorization", fmt::format("Bearer {}", key));
    }
    for (const std::string& text : target.headers) {
        const auto colon = text.find(':');
        if (colon == std::string::npos || colon == 0 || text.find_first_of("\r\n") != std::string::npos) {
            throw UsageError(fmt::format("-H '{}': expected 'Name: value'", text));
        }
        const auto value = text.find_first_not_of(' ', colon + 1);
        const std::string name = text.substr(0, colon);
        std::erase_if(headers, [&](const auto& h) { return h.first == name; });
        headers.emplace_back(name, value == std::string::npos ? "" : text.substr(value));
    }
    return headers;
}

loadgen::EndpointOptions endpoint_options(const MeasureOptions& options, const std::string& url,
                                          const http::TlsContext* tls) {
    loadgen::EndpointOptions endpoint;
    endpoint.url = http::parse_url(url);
    endpoint.path = options.target.endpoint;
    endpoint.headers = headers_of(options.target);
    endpoint.tls = endpoint.url.tls ? tls : nullptr;
    endpoint.body.endpoint = *openai::endpoint_type_named(options.target.endpoint_type);
    endpoint.body.model = options.target.model;
    endpoint.body.ignore_eos = options.workload.ignore_eos;
    endpoint.body.max_completion_tokens = options.workload.max_completion_tokens;
    endpoint.body.temperature = options.workload.temperature;
    endpoint.body.extra_body = options.workload.extra_body;
    endpoint.calibrate = options.workload.dataset == "synthetic";
    endpoint.token_ids = endpoint.calibrate && options.workload.prompt_form != "text";
    return endpoint;
}

/// FNV-1a, 64 bits: names workloads, secures nothing.
std::string fingerprint_of(const std::string& text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return fmt::format("{:016x}", hash);
}

/// A length spec inside the dataset's spec: its commas become semicolons there.
std::string nested(std::string text) {
    std::replace(text.begin(), text.end(), ',', ';');
    return text;
}

Spec dataset_spec(const WorkloadOptions& workload) {
    Spec spec = parse_spec(workload.dataset);
    if (spec.name == "synthetic") {
        spec.fields.emplace("isl", nested(workload.isl));
        spec.fields.emplace("osl", nested(workload.osl));
        if (workload.range_ratio) spec.fields.emplace("ratio", fmt::format("{}", *workload.range_ratio));
    } else if (spec.name == "custom") {
        spec.fields.emplace("osl",
                            workload.osl);  // for lines that say nothing; without it answers may never end
    }
    return spec;
}

loadgen::Limits limits_for(const PaceOptions& pace, const LoadLevel& level) {
    loadgen::Limits limits;
    limits.warmups = pace.num_warmups;
    if (!pace.num_prompts.empty()) limits.requests = parse_count(pace.num_prompts);
    if (!pace.duration.empty()) limits.duration = parse_duration(pace.duration);
    if (!limits.requests && !limits.duration) {
        limits.requests = std::max<std::uint64_t>(100, 10 * level.concurrency.value_or(10));
    }
    if (limits.requests == 0U) throw UsageError("--num-prompts 0: there would be nothing to measure");
    if (limits.duration && *limits.duration <= Duration{}) throw UsageError("--duration must be above 0");
    return limits;
}

std::vector<Slo> slos_of(const std::vector<std::string>& texts) {
    std::vector<Slo> slos;
    for (const std::string& text : texts) {
        std::istringstream words(text);
        for (std::string word; words >> word;) slos.push_back(parse_slo(word));
    }
    return slos;
}

std::map<std::string, std::string> metadata_of(const std::vector<std::string>& texts) {
    std::map<std::string, std::string> metadata;
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw UsageError(fmt::format("--metadata '{}': expected KEY=VALUE", text));
        }
        metadata[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return metadata;
}

void warn(const std::string& what) {
    fmt::print(stderr, "paretoken: warning: {}\n", what);
}

/// What `calibrate` stored of this host. A file that cannot be understood is no reason not to measure.
std::optional<cards::ClientCeiling> known_ceiling() {
    try {
        return cards::stored_ceiling(cards::default_ceiling_path(), cards::this_host().cpu);
    } catch (const Error& error) {
        warn(fmt::format("{}; `paretoken calibrate` writes it anew", error.what()));
        return std::nullopt;
    }
}

/// Says before the clock starts what this host was found unable to carry.
void warn_of_shortfalls(const loadgen::LoadOptions& load, const datasets::Dataset& dataset) {
    cards::IntendedLoad intended{.streams = load.concurrency, .workers = load.workers};
    if (!load.arrivals.at_once) {
        intended.requests_per_s = load.arrivals.rate;
        intended.tokens_per_request = dataset.mean_output_tokens();
    }
    const auto ceiling = known_ceiling();
    if (!ceiling) return;
    for (const std::string& shortfall : cards::shortfalls(intended, *ceiling)) {
        warn(fmt::format("{} (paretoken calibrate, {})", shortfall, ceiling->measured_at));
    }
}

struct Hardware {
    std::string name;
    std::uint32_t count = 1;
};

Hardware hardware_of(const std::string& gpu, const loadgen::EndpointFacts& facts) {
    if (!gpu.empty()) {
        const cards::GpuSpec spec = cards::parse_gpu_spec(gpu);
        return {spec.name, spec.count};
    }
    if (!facts.simulator_profile.empty())
        return {"sim:" + facts.simulator_profile, sim::gpu_count_of(facts.simulator_profile)};
    if (facts.local) return {cards::this_host().cpu, 1};
    return {};
}

}  // namespace

std::string utc_now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::filesystem::path output_directory(const std::string& out) {
    if (!out.empty()) return out;
    return fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
}

std::vector<std::string> process_arguments() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> argv;
    for (std::string argument; std::getline(file, argument, '\0');) argv.push_back(argument);
    return without_secrets(std::move(argv));
}

std::vector<std::string> without_secrets(std::vector<std::string> argv) {
    const auto hide = [](const std::string& header) { return header.substr(0, header.find(':')) + ": ***"; };
    for (std::size_t i = 0; i < argv.size(); ++i) {
        std::string& argument = argv[i];
        if ((argument == "-H" || argument == "--header") && i + 1 < argv.size()) {
            argv[i + 1] = hide(argv[i + 1]);
            ++i;
        } else if (argument.starts_with("--header=")) {
            argument = "--header=" + hide(argument.substr(9));
        } else if (argument.starts_with("-H")) {
            argument = "-H" + hide(argument.substr(2));
        }
    }
    return argv;
}

std::string shell_line(const std::vector<std::string>& argv) {
    static constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
    std::string line;
    for (const std::string& argument : argv) {
        if (!line.empty()) line += ' ';
        if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
            line += argument;
            continue;
        }
        line += '\'';
        for (const char c : argument) line += c == '\'' ? "'\\''" : std::string(1, c);
        line += '\'';
    }
    return line;
}

std::vector<std::uint64_t> levels_of(const char* option, const std::string& text) {
    try {
        return parse_ladder(text);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{} {}", option, error.what()));
    }
}

LoadLevel load_level(const std::string& concurrency, const PaceOptions& pace) {
    LoadLevel level;
    if (!concurrency.empty()) {
        const auto levels = levels_of("--concurrency", concurrency);
        if (levels.size() != 1 || levels.front() == 0) {
            throw UsageError(fmt::format(
                "--concurrency '{}': a run takes one number above 0; `sweep` takes several", concurrency));
        }
        level.concurrency = levels.front();
    }
    const bool rate = !pace.request_rate.empty() && pace.request_rate != "inf";
    if (rate && !pace.arrivals.empty()) throw UsageError("--request-rate and --arrivals exclude each other");
    if (!pace.arrivals.empty()) {
        level.arrivals = loadgen::parse_arrivals(pace.arrivals);
    } else if (rate) {
        level.arrivals =
            loadgen::parse_arrivals(pace.burstiness == 1 ? fmt::format("poisson:rate={}", pace.request_rate)
                                                         : fmt::format("gamma:rate={},burstiness={}",
                                                                       pace.request_rate, pace.burstiness));
    } else {
        level.arrivals = loadgen::parse_arrivals("at_once");
    }
    if (level.arrivals.at_once && !level.concurrency) {
        if (pace.request_rate == "inf") {
            if (pace.num_prompts.empty())
                throw UsageError("--request-rate inf without --concurrency needs --num-prompts");
            level.concurrency = parse_count(pace.num_prompts);  // all of them at once
        } else {
            level.concurrency = 1;
        }
    }
    return level;
}

/// What one run is going to be, and the files it goes to.
struct Target::Plan {
    std::unique_ptr<datasets::Dataset> dataset;
    loadgen::LoadOptions load;
    loadgen::FoldOptions fold;
    RunResult result;  ///< provenance, options and workload filled in
};

Target::Target(const MeasureOptions& options) : options_(options) {
    slos_of(options.result.goodput);  // what is wrong with the command line is said before anything starts
    metadata_of(options.result.metadata);
    if (options.target.virtual_time) {
        prepare_virtual();
        return;
    }
    std::string url = options.target.url;
    if (names_simulator(url)) {
        simulator_.emplace(url, options.workload.seed);
        url = simulator_->url();
    }
    if (http::parse_url(url).tls) {  // reading the system's certificates takes longer than all the rest
        tls_ = std::make_unique<http::TlsContext>(
            http::TlsOptions{.verify = !options.target.insecure, .ca_file = options.target.ca_file});
    }
    endpoint_ = endpoint_options(options, url, tls_.get());
    facts_ = loadgen::probe(endpoint_);
    const auto dataset = dataset_for("trial-" + fresh_salt());
    check_context(*dataset);
    loadgen::try_one(endpoint_, facts_, dataset->request(kTrialIndex), kTrialTimeout);
}

/// Knows without asking what a probe would find out.
void Target::prepare_virtual() {
    const std::string& url = options_.target.url;
    if (!names_simulator(url)) {
        throw UsageError(
            fmt::format("--virtual: {} is a server that answers in its own time; only sim:PROFILE "
                        "can be computed",
                        url));
    }
    virtual_.emplace();
    virtual_->profile = simulated_profile(url);
    virtual_->turnaround = parse_duration(options_.target.turnaround);
    if (virtual_->turnaround < Duration{}) throw UsageError("--turnaround must not be below 0");
    virtual_->write_time = parse_duration(options_.target.write_time);
    if (virtual_->write_time < Duration{}) throw UsageError("--write-time must not be below 0");
    endpoint_.body.endpoint = *openai::endpoint_type_named(options_.target.endpoint_type);
    virtual_->chat = endpoint_.body.endpoint == openai::EndpointType::chat;
    virtual_->ignore_eos = options_.workload.ignore_eos;
    const std::string& profile = virtual_->profile.name;
    facts_.body = endpoint_.body;
    facts_.body.ignore_eos = options_.workload.ignore_eos;
    facts_.body.model = options_.target.model.empty() ? virtual_->profile.model : options_.target.model;
    facts_.server_kind = "paretoken-sim in virtual time";
    facts_.context = sim::context_limit(virtual_->profile);
    facts_.simulator_profile = profile;
    facts_.simulator_terms = sim::limit_terms(virtual_->profile);
    check_context(*dataset_for(""));
}

void Target::check_context(const datasets::Dataset& dataset) const {
    const auto in = dataset.mean_input_tokens();
    const auto out = dataset.mean_output_tokens();
    if (!facts_.context || !in || !out || *in + *out <= static_cast<double>(*facts_.context)) return;
    throw UsageError(
        fmt::format("a prompt of {:.0f} and an answer of {:.0f} tokens exceed the context of {} tokens that "
                    "{} serves; lower --isl or --osl, or give the server a longer context",
                    *in, *out, *facts_.context, facts_.body.model));
}

std::unique_ptr<datasets::Dataset> Target::dataset_for(const std::string& salt) const {
    datasets::PromptForm form = facts_.prompt_form;
    if (options_.workload.prompt_form == "token-ids" && form != datasets::PromptForm::token_ids) {
        throw UsageError(fmt::format("--prompt-form token-ids: {} takes no token ids at {}",
                                     endpoint_.url.text(), loadgen::target_of(endpoint_)));
    }
    return datasets::make_dataset({.spec = dataset_spec(options_.workload),
                                   .seed = options_.workload.seed,
                                   .salt = salt,
                                   .form = form,
                                   .calibration = facts_.calibration,
                                   .vocabulary = std::nullopt,
                                   .path = options_.workload.dataset_path});
}

Provenance Target::provenance(const std::vector<std::string>& argv) const {
    const cards::HostFacts host = cards::this_host();
    const Hardware hardware = hardware_of(options_.result.gpu, facts_);
    Provenance p;
    p.version = version();
    p.commit = commit();
    p.argv = argv;
    p.command = shell_line(argv);
    p.started_at = utc_now();
    p.host = host.name;
    p.host_cpu = host.cpu;
    p.host_cores = host.cores;
    p.kernel = host.kernel;
    p.url = simulator_ || virtual_ ? options_.target.url : endpoint_.url.text();
    p.model = facts_.body.model;
    p.server_kind = facts_.server_kind;
    p.hardware = hardware.name;
    p.hardware_count = hardware.count;
    p.simulator = facts_.simulator_terms;
    p.metadata = metadata_of(options_.result.metadata);
    return p;
}

OptionsEcho Target::options_echo(const LoadLevel& level, const loadgen::Limits& limits) const {
    OptionsEcho echo;
    echo["arrivals"] = level.arrivals.text;
    if (level.concurrency) echo["concurrency"] = std::to_string(*level.concurrency);
    if (limits.requests) echo["num_prompts"] = std::to_string(*limits.requests);
    if (limits.duration) echo["duration_s"] = fmt::format("{}", seconds(*limits.duration));
    echo["num_warmups"] = std::to_string(limits.warmups);
    if (virtual_) echo["virtual_turnaround_s"] = fmt::format("{}", seconds(virtual_->turnaround));
    if (virtual_ && virtual_->write_time > Duration{})
        echo["virtual_write_time_s"] = fmt::format("{}", seconds(virtual_->write_time));
    echo["workers"] = std::to_string(options_.pace.workers);
    echo["ignore_eos"] = facts_.body.ignore_eos ? "true" : "false";
    if (facts_.body.temperature) echo["temperature"] = fmt::format("{}", *facts_.body.temperature);
    if (!facts_.body.extra_body.empty()) echo["extra_body"] = facts_.body.extra_body;
    if (!facts_.refused.empty())
        echo["refused_by_server"] = fmt::format("{}", fmt::join(facts_.refused, ", "));
    for (std::size_t i = 0; i < options_.result.goodput.size(); ++i) {
        echo["goodput"] += (i > 0 ? " " : "") + options_.result.goodput[i];
    }
    return echo;
}

Workload Target::workload(const datasets::Dataset& dataset, const std::string& salt) const {
    Workload w;
    w.dataset = dataset.description();
    w.endpoint = openai::name_of(endpoint_.body.endpoint);
    w.seed = options_.workload.seed;
    w.salt = salt;
    w.prompt_form = datasets::name_of(facts_.prompt_form);
    w.length_source = virtual_                                                ? "exact"
                      : facts_.prompt_form == datasets::PromptForm::token_ids ? "token ids"
                      : facts_.calibration                                    ? facts_.calibration->source
                                                                              : "uncalibrated";
    w.wanted_input_tokens = dataset.mean_input_tokens();
    w.wanted_output_tokens = dataset.mean_output_tokens();
    w.fingerprint =
        fingerprint_of(fmt::format("{}|{}|{}|{}|{}|{}", w.dataset, w.endpoint, w.seed, w.prompt_form,
                                   facts_.body.ignore_eos, facts_.body.extra_body));
    return w;
}

loadgen::LoadOptions Target::load_options(const LoadLevel& level, const loadgen::Limits& limits,
                                          const std::string& salt) const {
    loadgen::LoadOptions load;
    load.arrivals = level.arrivals;
    load.concurrency = level.concurrency;
    load.limits = limits;
    load.workers = options_.pace.workers;
    if (level.concurrency) {
        load.workers = static_cast<std::uint32_t>(std::min<std::uint64_t>(load.workers, *level.concurrency));
    }
    load.seed = options_.workload.seed;
    load.worker.address = facts_.address;
    load.worker.tls = endpoint_.tls;
    load.worker.host = endpoint_.url.host;
    load.worker.client.head = {.target = endpoint_.url.base + loadgen::target_of(endpoint_),
                               .authority = endpoint_.url.authority(),
                               .headers = endpoint_.headers};
    load.worker.client.body = facts_.body;
    load.worker.client.ignore_eos_accepted = facts_.body.ignore_eos;
    load.worker.client.request_timeout = parse_duration(options_.pace.timeout);
    load.worker.kernel_stamps = !options_.pace.user_timestamps;
    load.worker.spin = parse_duration(options_.pace.spin);
    load.worker.id_prefix =
        virtual_ ? "v-" : fmt::format("pt-{}-", fingerprint_of(salt + utc_now()).substr(0, 8));
    return load;
}

Target::Plan Target::plan_for(const LoadLevel& level, const std::string& salt) const {
    Plan plan;
    const loadgen::Limits limits = limits_for(options_.pace, level);
    plan.dataset = dataset_for(salt);
    plan.load = load_options(level, limits, salt);
    plan.fold = {.slos = slos_of(options_.result.goodput), .seed = options_.workload.seed};
    plan.result.options = options_echo(level, limits);
    plan.result.workload = workload(*plan.dataset, salt);
    plan.result.concurrency = level.concurrency;
    if (!level.arrivals.at_once) plan.result.request_rate = level.arrivals.rate;
    return plan;
}

Target::Measured Target::measure(const LoadLevel& level, const std::filesystem::path& directory,
                                 const std::vector<std::string>& argv,
                                 const InterruptWatch& interrupt) const {
    const std::string salt = options_.workload.salt.empty() ? fresh_salt() : options_.workload.salt;
    Plan plan = plan_for(level, salt);
    RunResult& result = plan.result;
    if (!virtual_) warn_of_shortfalls(plan.load, *plan.dataset);
    result.provenance = provenance(argv);
    reports::write_running(directory, result.provenance, result.options, result.workload, result.concurrency,
                           result.request_rate);
    plan.load.began = virtual_ ? loadgen::kVirtualBegin : Clock::now();
    reports::RecordWriter records(directory / reports::kRecordsFileName, *plan.load.began);

    loadgen::Progress progress;
    loadgen::LoadOutcome outcome;
    {
        std::optional<ProgressLine> line;  // virtual time is short, and its runs may go on side by side
        if (!virtual_) line.emplace(reports::load_label_of(result), progress, plan.load.limits);
        outcome = virtual_
                      ? loadgen::make_virtual_load(plan.load, *virtual_, *plan.dataset, records, progress,
                                                   interrupt.token())
                      : loadgen::make_load(plan.load, *plan.dataset, records, progress, interrupt.token());
    }
    loadgen::fold_into(result, outcome, plan.load, plan.fold);
    if (virtual_) result.client.timing = "virtual";
    result.provenance.clock = virtual_                           ? "virtual time"
                              : result.client.timing == "kernel" ? "kernel receive stamps"
                                                                 : "user-space reads";
    records.finish();
    reports::write_run(directory, result);
    return {std::move(result), directory};
}

}  // namespace paretoken::cli
