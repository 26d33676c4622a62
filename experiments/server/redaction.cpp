#include "experiments/server/redaction.h"

#include <utility>

#include "core/plan/scrape_places.h"
#include "core/run/recorded.h"
#include "core/text/command_secrets.h"

namespace paretoken::experiments {
namespace {

void redact(std::string& text, const Secrets& secrets) {
    text = secrets.redacted(text);
}

template <class Map>
void redact_values(Map& map, const Secrets& secrets) {
    for (auto& [key, value] : map) redact(value, secrets);
}

}  // namespace

Secrets secrets_of(const LoadPlan& plan, const std::string& api_key) {
    Secrets secrets;
    secrets.add(api_key);
    for (const std::string& header : plan.headers) {
        const auto colon = header.find(':');
        if (colon != std::string::npos) secrets.add_header(header.substr(0, colon), header.substr(colon + 1));
    }
    for (const std::string& url : plan.targets) secrets.add_url(url);
    const ScrapePlaces places = parse_scrape_places(plan.scrape);
    for (const std::string& url : places.servers) secrets.add_url(url);
    for (const Exporter& exporter : places.exporters) secrets.add_url(exporter.url);
    secrets.add_url(plan.endpoint_path);
    secrets.add_url(plan.server.ready_url);
    for (const std::string& entry : plan.server.environment) add_variable(secrets, entry);
    add_command(secrets, plan.server.command);
    add_command(secrets, plan.server.after_run_command);
    add_json(secrets, plan.sampling.extra_body);
    for (const auto& [name, value] : plan.metadata) add_setting(secrets, name, value);
    return secrets;
}

void redact(PlanEcho& options, const Secrets& secrets) {
    redact_values(options, secrets);
}

void redact(Begun& begun, const Secrets& secrets) {
    if (secrets.empty()) return;
    Provenance& from = begun.provenance;
    for (std::string& argument : from.argv) redact(argument, secrets);
    for (std::string* text : {&from.command, &from.url, &from.model, &from.server_kind})
        redact(*text, secrets);
    if (from.server) redact(from.server->command, secrets);
    redact_values(from.metadata, secrets);
    redact_values(begun.plan, secrets);
    redact_values(begun.server_config, secrets);
    for (std::string& url : begun.shape.targets) redact(url, secrets);
}

void redact(ServerScrape& scrape, const Secrets& secrets) {
    if (!scrape.config.empty() && !secrets.empty()) redact_values(scrape.config, secrets);
}

void redact(Recorded& recorded, const Secrets& secrets) {
    if (secrets.empty()) return;
    ServerScrapes& server = recorded.observed.server;
    redact(server.last_failure, secrets);
    if (!server.scrapes.empty()) redact(server.scrapes.front(), secrets);
    if (recorded.observed.stopped) redact(recorded.observed.stopped->text, secrets);
    if (recorded.probe) redact(recorded.probe->failure, secrets);
    redact(recorded.lost, secrets);
}

void redact(RunResult& result, const Secrets& secrets) {
    if (secrets.empty()) return;
    redact_values(result.counts.example_errors, secrets);
    for (auto& [name, scope] : result.classes) redact_values(scope.counts.example_errors, secrets);
    for (Scope& scope : result.turns) redact_values(scope.counts.example_errors, secrets);
    for (Scope& scope : result.targets) redact_values(scope.counts.example_errors, secrets);
}

void RedactingSink::record(RequestRecord&& record) {
    if (!record.error.empty()) redact(record.error, secrets_);
    if (!record.answer.empty()) redact(record.answer, secrets_);
    to_.record(std::move(record));
}

}  // namespace paretoken::experiments
