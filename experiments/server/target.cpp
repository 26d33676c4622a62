#include "experiments/server/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "cards/power_meter.h"
#include "core/error.h"
#include "core/plan/model_mix.h"
#include "core/plan/scrape_places.h"
#include "core/random.h"
#include "core/run/server_figures.h"
#include "core/text/content_hash.h"
#include "datasets/catalog.h"
#include "datasets/synthetic/prose.h"
#include "experiments/server/lifecycle.h"
#include "experiments/server/load.h"
#include "experiments/server/provenance.h"
#include "experiments/server/questions.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/server_command.h"
#include "experiments/server/virtual_target.h"
#include "experiments/watcher.h"
#include "loadgen/http/fetch.h"
#include "loadgen/interruption.h"
#include "loadgen/power/dcgm.h"
#include "loadgen/power/sampler.h"
#include "loadgen/probe/probe.h"
#include "loadgen/run.h"
#include "loadgen/scrape/scraper.h"

namespace paretoken::experiments {
namespace {

/// Passes on what is read before it is known who wants it.
template <class... Reading>
class Relay {
  public:
    using Wanted = std::function<void(const Reading&...)>;

    void add(const Reading&... reading) {
        const std::lock_guard lock(mutex_);
        if (!has_begun_)
            early_.emplace_back(reading...);
        else if (wanted_)
            wanted_(reading...);
    }
    /// Passes on what was read so far, and from now on everything. `wanted` may be empty.
    void begin(Wanted wanted) {
        const std::lock_guard lock(mutex_);
        has_begun_ = true;
        wanted_ = std::move(wanted);
        if (wanted_)
            for (const auto& reading : early_) std::apply(wanted_, reading);
        early_.clear();
    }

  private:
    std::mutex mutex_;
    std::vector<std::tuple<Reading...>> early_;
    Wanted wanted_;
    bool has_begun_ = false;
};

}  // namespace

/// What reads the server's metrics and the power during a load. The first readings are made before the load
/// begins, however long they take, so that no request waits for them.
struct Instruments {
    Relay<ServerScrape> scrapes;
    Relay<std::string, PowerReading> power;
    std::optional<power::Sampler> sampler;
    std::vector<std::unique_ptr<scrape::Scraper>> scrapers;

    /// Ends the threads without a last reading.
    void stop() {
        scrapers.clear();
        sampler.reset();
    }
};

namespace {

/// Passes the readings on while it lives, and ends the instruments with it.
class Reading {
  public:
    Reading(Instruments& instruments, const Load& load) : instruments_(instruments) {
        instruments.scrapes.begin(load.on_scrape);
        instruments.power.begin(load.on_power);
    }
    ~Reading() { instruments_.stop(); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

  private:
    Instruments& instruments_;
};

constexpr const char* kPrometheus = "/prometheus";             ///< base of the metrics of trtllm-serve
constexpr std::uint64_t kTrialIndex = std::uint64_t{1} << 41;  ///< far from measured and warm-up requests

http::Headers headers_of(const LoadPlan& plan, const std::string& api_key) {
    http::Headers headers;
    for (const auto& [name, value] : protocol_of(plan).headers) headers.emplace_back(name, value);
    if (!api_key.empty()) headers.emplace_back("Authorization", fmt::format("Bearer {}", api_key));
    for (const std::string& text : plan.headers) {
        const auto colon = text.find(':');
        const auto value = text.find_first_not_of(' ', colon + 1);
        const std::string name = text.substr(0, colon);
        std::erase_if(headers, [&](const auto& header) { return http::same_name(header.first, name); });
        headers.emplace_back(name, value == std::string::npos ? "" : text.substr(value));
    }
    return headers;
}

loadgen::EndpointOptions endpoint_options(const LoadPlan& plan, const std::string& url, const Access& access,
                                          const http::TlsContext* tls) {
    loadgen::EndpointOptions endpoint;
    endpoint.url = http::parse_url(url);
    endpoint.path = plan.endpoint_path;
    endpoint.headers = headers_of(plan, access.api_key);
    endpoint.tls = endpoint.url.tls ? tls : nullptr;
    endpoint.timeout = plan.request_timeout;
    endpoint.proxy_variable = access.proxy_variable;
    endpoint.body = body_of(plan);
    const std::vector<RequestClass> classes = with_dataset(plan).classes;
    const bool makes_prompts = std::ranges::any_of(
        classes, [](const RequestClass& of) { return datasets::makes_prompts(of.dataset); });
    endpoint.calibrate = makes_prompts || probe_makes_prompts(plan);
    // A conversation continues with text, because the token ids of an answer are unknown.
    endpoint.token_ids = makes_prompts && plan.prompt_form != "text" && plan.text.empty() &&
                         std::ranges::none_of(classes, [](const RequestClass& of) {
                             return datasets::has_conversations(of.dataset);
                         });
    if (makes_prompts && !plan.text.empty()) {
        constexpr std::size_t kWords = 300;  // words that fit into a context of 1,000 tokens
        const datasets::Prose prose(plan.text);
        prose.append(endpoint.prose, kWords, prose.words() / 2);
    }
    return endpoint;
}

class SocketTarget final : public Target {
  public:
    SocketTarget(const LoadPlan& asked, const Access& access, Watcher& watcher, const std::stop_token& stop,
                 std::shared_ptr<CommandServer> server)
        : Target(secrets_of(asked, access.api_key)), watcher_(&watcher), server_(std::move(server)) {
        for (std::size_t i = 0; i < asked.targets.size(); ++i)
            open(asked, asked.targets[i], access, watcher, stop);
        const Load trial = load_of(asked, facts(), "trial-" + fresh_salt());
        check_context(trial, facts());
        check_probe(asked, facts().context);
        const auto root_before = metrics_before(asked);
        bool tells_cached = false;
        for (const Server& opened : servers_)
            tells_cached =
                loadgen::try_one(opened.endpoint, opened.facts, trial.datasets.front()->request(kTrialIndex))
                    .cached_prompt.has_value();
        if (root_before && moved(*root_before, known_metrics(metrics_at("")))) metrics_base_ = "";
        if (root_before && !metrics_base_)
            watcher.warn(
                fmt::format("{}/metrics and {} are not read: the first has no known metrics, and the second "
                            "has none that count this program's requests; --scrape URL reads others",
                            servers_.front().url, metrics_at("").text()));
        if (metrics_base_ && !servers_.front().endpoint.url.base.empty() &&
            parse_scrape_places(asked.scrape).automatic)
            servers_.front().facts.server_config["metrics_url"] = metrics_at(*metrics_base_).text();
        if (tells_cached && shares_nothing(trial.plan))
            servers_.front().facts.cached_by_template = cached_by_template(asked);
    }

    const loadgen::EndpointFacts& facts() const override { return servers_.front().facts; }
    std::string url() const override {
        std::string urls;
        for (const Server& server : servers_) urls += (urls.empty() ? "" : ",") + server.url;
        return urls;
    }
    std::vector<std::string> urls() const override {
        std::vector<std::string> urls;
        for (const Server& server : servers_) urls.push_back(server.url);
        return urls;
    }
    bool in_virtual_time() const override { return false; }

    Load load_for(const LoadPlan& asked) const override {
        Load load = load_of(asked, facts(), salt_for(asked));
        loadgen::WorkerOptions& worker = load.options.worker;
        for (const Server& server : servers_) worker.targets.push_back(worker_target(server, load.plan));
        worker.route = loadgen::route_named(load.plan.route).value();
        worker.id_prefix = fmt::format("pt-{}-", content_hash(load.plan.salt + utc_now()).substr(0, 8));
        return load;
    }

    void get_ready(Load& load) const override {
        const bool begins_now = !load.options.began && load.plan.fleet.start_at.empty();
        if (begins_now && reads(load)) load.instruments = begun_instruments(load.plan);
        load.workers = std::make_shared<loadgen::Workers>(load.options);
        load.workers->open_connections();
        Target::get_ready(load);
    }

    Observations make(const Load& load, RecordSink& sink, loadgen::Progress& progress,
                      const loadgen::Interruption& interruption) const override {
        if (!reads(load)) return made(load, sink, progress, interruption);
        const auto instruments = load.instruments ? load.instruments : begun_instruments(load.plan);
        const Reading reading(*instruments, load);
        Observations outcome = made(load, sink, progress, interruption);
        if (load.plan.server_profile) profile("/stop_profile");
        std::vector<ServerScrapes> servers;
        for (const auto& scraper : instruments->scrapers) {
            ServerScrapes scraped = scraper->finish();
            (scraped.name.empty() ? servers : outcome.exporters).push_back(std::move(scraped));
        }
        if (!servers.empty()) outcome.server = combined(std::move(servers));
        if (instruments->sampler) outcome.power = instruments->sampler->finish();
        // Hosted servers have no metrics: failures count only if a scrape has succeeded.
        if (parse_scrape_places(load.plan.scrape).automatic && outcome.server.scrapes.empty()) {
            outcome.server.failed = 0;
            outcome.server.last_failure.clear();
        }
        return outcome;
    }

    CommandServer* started_server() const override { return server_.get(); }

    void reset_cache() const override {
        for (const Server& server : servers_) reset_cache_of(server);
    }

    void require_answer() const override {
        if (server_ && server_->has_ended()) throw ServerFailed(server_->how_it_ended());
        try {
            for (const Server& server : servers_) (void)loadgen::probe(server.endpoint);
        } catch (const Error& error) {
            const std::string why = fmt::format("the server no longer answers: {}", error.what());
            if (server_) throw ServerFailed(why);
            throw RuntimeError(why);
        }
    }

  private:
    struct Server {
        std::string url;  ///< URL in results
        loadgen::EndpointOptions endpoint = {};
        loadgen::EndpointFacts facts = {};
        std::unique_ptr<StartedServer> simulator = {};
    };

    /// Whether this process reads what describes the server. The others of a load would read the same.
    static bool reads(const Load& load) { return load.options.shard.number == 0; }

    /// Makes the first readings, and says so if they take long.
    std::shared_ptr<Instruments> begun_instruments(const LoadPlan& plan) const {
        constexpr double kLong = 1;
        auto made = std::make_shared<Instruments>();
        if (auto meter = power_meter(plan))
            made->sampler.emplace(std::move(meter),
                                  [to = &made->power](const std::string& source, const PowerReading& read) {
                                      to->add(source, read);
                                  });
        const ScrapePlaces places = parse_scrape_places(plan.scrape);
        for (const scrape::ScraperOptions& options : scraper_options(plan, places)) {
            const TimePoint began = Clock::now();
            made->scrapers.push_back(std::make_unique<scrape::Scraper>(
                options, [to = &made->scrapes](const ServerScrape& scrape) { to->add(scrape); }));
            complain(options, places, *made->scrapers.back());
            if (const double took = seconds(Clock::now() - began); took > kLong)
                warn_once(options.place.url.text(),
                          fmt::format("it took {:.1f} s to read {}; a load begins after that, and --scrape "
                                      "none leaves it out",
                                      took, options.place.url.text()));
        }
        if (plan.server_profile) profile("/start_profile");
        return made;
    }

    static Observations made(const Load& load, RecordSink& sink, loadgen::Progress& progress,
                             const loadgen::Interruption& interruption) {
        Observations outcome = loadgen::make_load(load.options, *load.workers, sink, progress, interruption);
        if (load.when_over) load.when_over();
        return outcome;
    }

    static void reset_cache_of(const Server& server) {
        constexpr auto kPatience = std::chrono::seconds(60);
        const loadgen::EndpointOptions& endpoint = server.endpoint;
        http::Fetcher fetcher(endpoint.url, server.facts.address, endpoint.tls, endpoint.headers,
                              endpoint.stop);
        for (const char* path : {"/reset_prefix_cache", "/flush_cache"}) {
            const http::Fetched answer = fetcher.post(path, "", kPatience);
            if (answer.ok()) return;
            const bool unknown = !answer.failure && (answer.head.status == 404 || answer.head.status == 405);
            if (unknown) continue;
            throw RuntimeError(fmt::format(
                "--reset-cache: the request to {}{} failed ({})", server.url, path,
                answer.failure ? answer.failure->why : fmt::format("HTTP {}", answer.head.status)));
        }
        throw RuntimeError(
            fmt::format("--reset-cache: {} knows neither /reset_prefix_cache (vLLM, which needs "
                        "VLLM_SERVER_DEV_MODE=1) nor /flush_cache (SGLang); use --after-run-cmd",
                        server.url));
    }

    /// Starts a server if it is a simulator, and probes it. All servers must accept what the first one does.
    void open(const LoadPlan& asked, const std::string& url, const Access& access, Watcher& watcher,
              const std::stop_token& stop) {
        Server server{.url = url};
        std::string address = url;
        if (names_simulator(url)) {
            server.simulator =
                start_simulator(url, server_seed(asked.seed, asked.server_number + servers_.size()));
            address = server.simulator->url();
        }
        if (!tls_ && http::parse_url(address).tls) {
            // Reading the system's certificates is the slowest step, so it is done once.
            tls_ = std::make_unique<http::TlsContext>(
                http::TlsOptions{.verify = !asked.insecure, .ca_file = asked.ca_file});
        }
        server.endpoint = endpoint_options(asked, address, access, tls_.get());
        server.endpoint.stop = stop;
        server.endpoint.on_wait = [&watcher](const std::string& what) { watcher.wait(what); };
        if (!server.simulator) server.url = redacted_url(server.endpoint.url.text());
        if (!servers_.empty()) {
            server.endpoint.calibrate = false;  // the same model has the same token counts
            server.endpoint.token_ids = facts().prompt_form == datasets::PromptForm::token_ids;
        }
        server.facts = loadgen::probe(server.endpoint);
        if (!server.facts.path.empty()) server.endpoint.path = server.facts.path;
        for (const std::string& note : server.facts.notes)
            watcher.warn(fmt::format("{}: {}", server.url, note));
        if (!servers_.empty() && server.facts.body != facts().body)
            throw UsageError(fmt::format(
                "{} serves another model than {}, or takes other options; name a --model that all serve",
                server.url, servers_.front().url));
        servers_.push_back(std::move(server));
    }

    static loadgen::WorkerTarget worker_target(const Server& server, const LoadPlan& plan) {
        const loadgen::EndpointOptions& endpoint = server.endpoint;
        loadgen::WorkerTarget target{.address = server.facts.address,
                                     .tls = endpoint.tls,
                                     .host = endpoint.url.host,
                                     .head = {.target = endpoint.url.target(loadgen::target_of(endpoint)),
                                              .authority = endpoint.url.authority(),
                                              .headers = endpoint.headers}};
        if (plan.no_keepalive) target.head.headers.emplace_back("Connection", "close");
        return target;
    }

    /// Asks every server to start or stop its own profiler; warns if one has none. Writing the
    /// profile may take minutes.
    void profile(const char* path) const {
        constexpr auto kPatience = std::chrono::minutes(5);
        for (const Server& server : servers_) {
            const loadgen::EndpointOptions& endpoint = server.endpoint;
            http::Fetcher fetcher(endpoint.url, server.facts.address, endpoint.tls, endpoint.headers,
                                  endpoint.stop);
            const http::Fetched answer = fetcher.post(path, "", kPatience);
            if (!answer.ok())
                watcher_->warn(fmt::format(
                    "--server-profile: the request to {}{} failed ({}); vLLM has this path only if "
                    "VLLM_TORCH_PROFILER_DIR is set",
                    server.url, path,
                    answer.failure ? answer.failure->why : fmt::format("HTTP {}", answer.head.status)));
        }
    }

    /// Returns the meter of the power of the server's hardware; null if there is none. Warns if the meter
    /// that the user asked for does not exist.
    std::unique_ptr<cards::PowerMeter> power_meter(const LoadPlan& plan) const {
        const std::string kind = plan.power.substr(0, plan.power.find('='));
        const std::string place = kind == plan.power ? "" : plan.power.substr(kind.size() + 1);
        if (kind == "none") return nullptr;
        if (kind == "dcgm") return dcgm_meter(place);
        std::unique_ptr<cards::PowerMeter> meter;
        if (kind == "auto") {  // this machine's meters do not measure other or simulated machines
            if (!facts().local || !facts().simulator_profile.empty()) return nullptr;
            meter = cards::gpu_power_meter();
            return meter ? std::move(meter) : cards::cpu_power_meter();
        }
        if (kind == "nvml") meter = place.empty() ? cards::gpu_power_meter() : cards::gpu_power_meter(place);
        if (kind == "rapl") meter = place.empty() ? cards::cpu_power_meter() : cards::cpu_power_meter(place);
        if (!meter)
            watcher_->warn(fmt::format("--power {}: {}", plan.power,
                                       kind == "nvml"
                                           ? "no NVIDIA driver library reports the power of a GPU here"
                                           : "no CPU package's energy counter can be read here"));
        return meter;
    }

    std::unique_ptr<cards::PowerMeter> dcgm_meter(const std::string& place) const {
        const http::Url url = metrics_url(place);
        const http::TlsContext* tls = tls_for(url, fmt::format("--power dcgm={}", place));
        return power::dcgm_power_meter(url, http::resolve(url).front(), tls);
    }

    /// Returns the cached prompt tokens of a request with its own salt, sent after the trial with another
    /// salt: they can only come from the chat template.
    std::optional<double> cached_by_template(LoadPlan asked) const {
        for (RequestClass& of : asked.classes) {
            of.dataset = {.name = "synthetic", .fields = {{"isl", "64"}, {"osl", "2"}}};
            of.dataset_path.clear();
        }
        asked.class_specs.clear();
        asked.salt = "probe-" + fresh_salt();
        const Load probe = load_of(asked, facts(), "");
        const Server& server = servers_.front();
        try {
            const auto cached =
                loadgen::try_one(server.endpoint, server.facts, probe.datasets.front()->request(kTrialIndex))
                    .cached_prompt;
            return cached ? std::optional(static_cast<double>(*cached)) : std::nullopt;
        } catch (const RuntimeError&) {  // occasional failures are judged by the load
            return std::nullopt;
        }
    }

    /// Returns the places where metrics are read, those of servers first. Throws RuntimeError for a URL whose
    /// host is unknown.
    std::vector<scrape::ScraperOptions> scraper_options(const LoadPlan& plan,
                                                        const ScrapePlaces& places) const {
        std::vector<scrape::ScraperOptions> all;
        // The metrics of one of several servers do not describe this load, which all of them serve.
        if (places.automatic && servers_.size() == 1 && metrics_base_)
            all.push_back({.place = {.url = metrics_at(*metrics_base_), .address = facts().address}});
        for (const std::string& url : places.servers) {
            all.push_back(scraper_at(url, ""));
            all.back().server = static_cast<std::uint32_t>(all.size() - 1);
        }
        for (const Exporter& exporter : places.exporters)
            all.push_back(scraper_at(exporter.url, exporter.name));
        for (scrape::ScraperOptions& options : all) {
            options.keep = plan.scrape_keep;
            if (plan.model == facts().body.model) options.model = plan.model;
            options.interval = plan.scrape_interval;
            const http::Url& page = options.place.url;
            options.place.tls = tls_for(page, fmt::format("--scrape {}", page.text()));
            for (const Server& server : servers_)
                if (options.place.credentials.empty())
                    options.place.credentials =
                        scrape::credentials_for(page, server.endpoint.url, server.endpoint.headers);
        }
        return all;
    }

    /// Returns the URL of the metrics of the only server, below a base.
    http::Url metrics_at(const std::string& base) const {
        http::Url url = servers_.front().endpoint.url;
        url.base = base + "/metrics";
        url.query.clear();
        return url;
    }

    /// Returns the known metrics at a URL; those of an empty scrape if there are none.
    ServerScrape known_metrics(const http::Url& url) const {
        constexpr auto kPatience = std::chrono::seconds(5);
        const loadgen::EndpointOptions& endpoint = servers_.front().endpoint;
        scrape::MetricsPage page(
            {.url = url,
             .address = facts().address,
             .tls = url.tls ? tls_.get() : nullptr,
             .credentials = scrape::credentials_for(url, endpoint.url, endpoint.headers)});
        const http::Fetched answer = page.read(kPatience);
        if (!answer.ok()) return {};
        return scrape::server_scrape_of(scrape::parse_prometheus(answer.body), Clock::now());
    }

    bool has_known_metrics(const std::string& base) const {
        return !known_metrics(metrics_at(base)).sources.empty();
    }

    /// Decides where the metrics of the only server are. Those of its base go before those of
    /// /prometheus/metrics, where trtllm-serve has them, and before those of the root, which may be those of
    /// another server. Returns the metrics of the root if only they are known.
    std::optional<ServerScrape> metrics_before(const LoadPlan& asked) {
        const std::string& base = servers_.front().endpoint.url.base;
        const bool is_unknown = facts().server_kind.empty();
        metrics_base_ = base;
        if (servers_.size() > 1 || !parse_scrape_places(asked.scrape).automatic ||
            (base.empty() && !is_unknown) || has_known_metrics(base))
            return std::nullopt;
        if (is_unknown && has_known_metrics(base + kPrometheus)) {
            metrics_base_ = base + kPrometheus;
            return std::nullopt;
        }
        if (base.empty()) return std::nullopt;
        ServerScrape root = known_metrics(metrics_at(""));
        if (root.sources.empty()) return std::nullopt;
        metrics_base_.reset();
        return root;
    }

    /// Returns whether a counter has grown between two scrapes.
    static bool moved(const ServerScrape& before, const ServerScrape& after) {
        const auto metrics = server_metrics();
        return std::ranges::any_of(metrics, [&](const ServerMetric& metric) {
            if (metric.kind != MetricKind::counter) return false;
            const std::string key(metric.key);
            const auto old = before.values.find(key);
            const auto now = after.values.find(key);
            return now != after.values.end() && now->second > (old == before.values.end() ? 0 : old->second);
        });
    }

    /// Returns the URL of metrics; the default path is /metrics.
    static http::Url metrics_url(const std::string& place) {
        http::Url url = http::parse_page_url(place);
        if (url.base.empty()) url.base = "/metrics";
        return url;
    }

    /// Returns the servers' TLS context for an https URL; null for others. `option` is named in the error.
    const http::TlsContext* tls_for(const http::Url& url, const std::string& option) const {
        if (!url.tls) return nullptr;
        if (!tls_)
            throw UsageError(
                fmt::format("{}: https is possible only if the server's URL is https too", option));
        return tls_.get();
    }

    static scrape::ScraperOptions scraper_at(const std::string& place, const std::string& name) {
        const http::Url url = metrics_url(place);
        return {.name = name, .place = {.url = url, .address = http::resolve(url).front()}};
    }

    /// Warns of a place that lacks wanted metrics, once for all runs. Hosted servers have no metrics, so that
    /// nothing is said of the server's own place if it cannot be read.
    void complain(const scrape::ScraperOptions& options, const ScrapePlaces& places,
                  const scrape::Scraper& scraper) const {
        const std::string& complaint = scraper.first_complaint();
        const bool is_own = options.name.empty() && places.automatic;
        if (complaint.empty() || (is_own && !scraper.began_well())) return;
        const std::string place = fmt::format("{}{}{}{}", is_own ? "" : "--scrape ", options.name,
                                              options.name.empty() ? "" : "=", options.place.url.text());
        warn_once(place, fmt::format("{}: {}", place, complaint));
    }

    /// Warns of a place, once for all runs.
    void warn_once(const std::string& place, const std::string& text) const {
        const std::lock_guard lock(complaining_);
        if (complained_of_.insert(place).second) watcher_->warn(secrets().redacted(text));
    }

    Watcher* watcher_;
    std::shared_ptr<CommandServer> server_;
    std::unique_ptr<http::TlsContext> tls_;
    std::vector<Server> servers_;
    std::optional<std::string> metrics_base_ = "";  ///< base of the only server's metrics; absent: none
    mutable std::mutex complaining_;                ///< guards complained_of_: intervals of a watch overlap
    mutable std::set<std::string> complained_of_;   ///< places warned of
};

}  // namespace

Target::Target(Secrets secrets) : secrets_(std::move(secrets)), opened_at_(utc_now()) {}

void Target::get_ready(Load& load) const {
    if (load.options.began) return;
    load.options.began = Clock::now();
    if (load.plan.fleet.start_at.empty()) return;
    const double left_s = seconds_until_start(load.plan);
    if (left_s < 0)
        throw RuntimeError(
            fmt::format("--start-at {}: this shard was ready {:.1f} s later; choose a later time for all",
                        load.plan.fleet.start_at, -left_s));
    *load.options.began += from_seconds(left_s);
}

double seconds_until_start(const LoadPlan& plan) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return parse_start_at(plan.fleet.start_at) - std::chrono::duration<double>(now).count();
}

namespace {

void require_near_start(const LoadPlan& asked) {
    constexpr double kDay = 86400;
    constexpr double kMost = 30 * kDay;
    const double left_s = seconds_until_start(asked);
    if (left_s < 0)
        throw UsageError(fmt::format("--start-at {}: this time has passed; choose a later one for all shards",
                                     asked.fleet.start_at));
    if (left_s > kMost)
        throw UsageError(
            fmt::format("--start-at {}: this time is {:.3g} days away, more than {:g}; a Unix time is in "
                        "seconds, not in milliseconds",
                        asked.fleet.start_at, left_s / kDay, kMost / kDay));
}

}  // namespace

std::unique_ptr<Target> open_target(const LoadPlan& asked, const Access& access, Watcher& watcher,
                                    const std::stop_token& stop, std::shared_ptr<CommandServer> server) {
    refuse_wrong_options(asked);
    if (!asked.fleet.start_at.empty()) require_near_start(asked);
    if (asked.virtual_time) return virtual_target(asked);
    return std::make_unique<SocketTarget>(asked, access, watcher, stop, std::move(server));
}

}  // namespace paretoken::experiments
