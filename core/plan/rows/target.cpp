#include "core/plan/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/plan/model_mix.h"
#include "core/plan/rows/refused.h"
#include "core/plan/rows/value.h"
#include "core/plan/session_names.h"
#include "core/text/command_secrets.h"
#include "core/text/secrets.h"

namespace paretoken::rows {
namespace {

using enum FieldKind;
using enum FieldType;

void known_route(const std::string& route) {
    if (route == "round-robin" || route == "least-in-flight" || route == "prefix" || route == "session")
        return;
    throw UsageError(fmt::format("'{}': expected round-robin, least-in-flight, prefix or session", route));
}

void model_mix(const std::string& text) {
    (void)parse_model_mix(text);
}

/// Checks headers. An invalid one is not quoted in the error, because it may be a key.
void headers_with_names(const std::vector<std::string>& headers) {
    for (const std::string& text : headers) {
        const auto colon = text.find(':');
        if (colon == std::string::npos || colon == 0 || text.find_first_of("\r\n") != std::string::npos)
            throw UsageError("expected 'Name: value' on one line");
    }
}

std::string without_value(std::string_view header) {
    return fmt::format("{}: {}", header.substr(0, header.find(':')), Secrets::kHidden);
}

void session_headers(const std::vector<std::string>& texts) {
    (void)session_headers_of(texts);
}

void session_fields(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) (void)parse_session_field(text);
}

void session_tokens(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) (void)parse_session_token(text);
}

/// Checks that entries are "NAME=VALUE" with a valid name of a variable.
void environment_entries(const std::vector<std::string>& entries) {
    for (const std::string& text : entries) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) throw UsageError("expected NAME=VALUE");
    }
}

/// "http://a:1,http://b:2": cut at the commas behind which an address begins.
std::vector<std::string> split_urls(std::string_view text) {
    constexpr std::array<std::string_view, 3> kBegins = {"http://", "https://", "sim:"};
    std::vector<std::string> urls;
    std::size_t begin = 0;
    for (std::size_t comma = text.find(','); comma != std::string_view::npos;
         comma = text.find(',', comma + 1)) {
        const std::string_view rest = text.substr(comma + 1);
        const bool another =
            std::ranges::any_of(kBegins, [&](std::string_view start) { return rest.starts_with(start); });
        if (!another) continue;
        urls.emplace_back(text.substr(begin, comma - begin));
        begin = comma + 1;
    }
    urls.emplace_back(text.substr(begin));
    return urls;
}

Texts get_targets(const LoadPlan& plan, std::size_t) {
    return {fmt::format("{}", fmt::join(plan.targets, ","))};
}

void set_targets(LoadPlan& plan, std::size_t, const Texts& texts) {
    constexpr std::size_t kMost = 64;
    plan.targets = split_urls(only(texts));
    if (plan.targets.size() > kMost) throw UsageError(fmt::format("there are more than {} servers", kMost));
}

std::string redacted_urls(std::string_view text) {
    std::vector<std::string> urls = split_urls(text);
    for (std::string& url : urls) url = redacted_url(url);
    return fmt::format("{}", fmt::join(urls, ","));
}

constexpr std::array kTargetRows = {
    PlanField{.name = "url",
              .flags = "url,--url",
              .synonyms = "--base-url:vllm,sglang --target:guidellm",
              .kind = load,
              .help = "Server: http://HOST:PORT or https://…, with or without the version at its end, or the "
                      "whole address of an endpoint; several servers with commas between them. "
                      "sim:PROFILE starts the simulated server and loads it (PROFILE as for `serve "
                      "--profile`: llama3-8b-h100-bf16, llama3-70b/h200x2/fp8, …)",
              .value = {.get = get_targets, .set = set_targets},
              .shown = redacted_urls},
    PlanField{.name = "route",
              .kind = load,
              .help = "Rule by which a request goes to one of several servers: round-robin, least-in-flight, "
                      "prefix (requests that begin alike go to the same server), or session (those of a "
                      "conversation or agent do)",
              .value = checked<known_route, &LoadPlan::route>},
    PlanField{.name = "model",
              .kind = load,
              .help = "Model that requests name, or a mix of several with their shares, such as LoRA "
                      "adapters: A=.7,B=.3 [the first of /v1/models]",
              .value = checked<model_mix, &LoadPlan::model>},
    PlanField{.name = "endpoint_type",
              .kind = workload,
              .help = "Protocol of the API, one of {names}",
              .value = member<&LoadPlan::endpoint_type>},
    PlanField{.name = "endpoint",
              .kind = load,
              .help = "Path of requests [that of the endpoint type]",
              .value = member<&LoadPlan::endpoint_path>},
    PlanField{.name = "header",
              .flags = "-H,--header",
              .kind = load,
              .help = "Further HTTP header, 'Name: value'; may be repeated",
              .value = checked<headers_with_names, &LoadPlan::headers>,
              .shown = without_value},
    PlanField{.name = "session_header",
              .kind = load,
              .help =
                  "HTTP header with the id of the request's conversation or agent, NAME, or of its job or "
                  "its parent agent, NAME=job, NAME=parent, or with true in the last turn of an agent, "
                  "NAME=final; may be repeated; none sends none "
                  "[X-Session-Affinity and X-Correlation-ID, if the dataset has conversations or jobs]",
              .value = checked<session_headers, &LoadPlan::session_headers>},
    PlanField{.name = "session_field",
              .kind = load,
              .help = "Field of the body with such an id, prompt_cache_key=agent, cache_salt=job; may be "
                      "repeated",
              .value = checked<session_fields, &LoadPlan::session_fields>},
    PlanField{.name = "session_token",
              .kind = load,
              .help = "Header that the server sets in an answer and that later requests of the same "
                      "conversation or agent return, NAME (x-session-token), or those of the same job, "
                      "NAME=job; may be repeated",
              .value = checked<session_tokens, &LoadPlan::session_tokens>},
    PlanField{.name = "api_key_env",
              .help = "Environment variable that holds the API key [OPENAI_API_KEY, if it is set]",
              .value = member<&LoadPlan::api_key_env>},
    PlanField{.name = "insecure", .help = "Accept any TLS certificate", .value = member<&LoadPlan::insecure>},
    PlanField{.name = "ca_file",
              .help = "PEM file with certificate authorities to trust besides the system's",
              .value = member<&LoadPlan::ca_file>},
    PlanField{.name = "virtual",
              .kind = measuring,
              .help = "With sim:PROFILE: compute the run in virtual time, without sockets or waiting",
              .value = member<&LoadPlan::virtual_time>},
    PlanField{.name = "turnaround",
              .kind = measuring,
              .help = "With --virtual, in a closed loop: time from the end of an answer to the arrival of "
                      "the next request",
              .value = member<&LoadPlan::turnaround>},
    PlanField{.name = "write_time",
              .kind = measuring,
              .help = "With --virtual: time that the server takes to write an event; the events of a step "
                      "are written one after another",
              .value = member<&LoadPlan::write_time>},
    PlanField{.name = "server_cmd",
              .group = "Server",
              .kind = load,
              .help = "Command that starts the server. It is split into words as a shell would do, and "
                      "{port} in it becomes a free port. The server is stopped when the measurement ends",
              .value = member<&LoadPlan::server, &ServerLaunch::command>,
              .shown = command_to_show},
    PlanField{.name = "server_env",
              .group = "Server",
              .kind = load,
              .help = "NAME=VALUE for the environment of the server's command; may be repeated",
              .value = checked<environment_entries, &LoadPlan::server, &ServerLaunch::environment>,
              .shown = variable_to_show},
    PlanField{
        .name = "ready_url",
        .group = "Server",
        .help = "URL or path that the server answers with 200 when it is ready [/health, else /v1/models]",
        .value = member<&LoadPlan::server, &ServerLaunch::ready_url>},
    PlanField{.name = "ready_timeout",
              .synonyms = "--ready-check-timeout-sec:vllm",
              .group = "Server",
              .help = "Longest wait for the server to be ready [10m for a server's command; a URL must be "
                      "ready at once]",
              .value = checked<above_zero, &LoadPlan::server, &ServerLaunch::ready_timeout>},
    PlanField{.name = "reset_cache",
              .synonyms = "--flush-cache:sglang",
              .group = "Server",
              .kind = load,
              .help =
                  "Empty the server's prefix cache before every run (vLLM's /reset_prefix_cache, SGLang's "
                  "/flush_cache)",
              .value = member<&LoadPlan::server, &ServerLaunch::reset_cache>},
    PlanField{.name = "after_run_cmd",
              .group = "Server",
              .kind = load,
              .help = "Command to run after every run. It is split into words as a shell would do",
              .value = member<&LoadPlan::server, &ServerLaunch::after_run_command>,
              .shown = command_to_show},
};

}  // namespace

std::span<const PlanField> target_rows() {
    return kTargetRows;
}

}  // namespace paretoken::rows
