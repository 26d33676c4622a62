#include "experiments/server/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "experiments/server/command_line.h"
#include "experiments/server/companions.h"
#include "experiments/server/lifecycle.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/server_command.h"

namespace paretoken::experiments {
namespace {

/// Refuses options that only a server process has.
void refuse_in_virtual_time(const ServerLaunch& server) {
    for (const auto& [given, option] :
         {std::pair{!server.command.empty(), "--server-cmd"}, std::pair{server.reset_cache, "--reset-cache"},
          std::pair{server.ready_timeout.has_value(), "--ready-timeout"},
          std::pair{!server.after_run_command.empty(), "--after-run-cmd"}})
        if (given)
            throw UsageError(fmt::format(
                "{}: --virtual starts no server process; leave out one of the two options", option));
}

/// Refuses options of the client's sockets and of what it reads beside the load. A run in virtual time has
/// none of them.
void refuse_sockets_in_virtual_time(const LoadPlan& plan) {
    const LoadPlan otherwise;
    for (const char* const name :
         {"spin", "user_timestamps", "no_keepalive", "no_preconnect", "traceparent", "server_profile",
          "endpoint", "header", "insecure", "ca_file", "scrape", "scrape_keep", "scrape_interval", "power"}) {
        const PlanField& field = *plan_field_named(name);
        const Texts given = field.value.get(plan, 0);
        if (given == field.value.get(otherwise, 0) || given == Texts{"none"}) continue;
        throw UsageError(fmt::format(
            "{0}: --virtual computes the run without sockets and reads nothing beside it, so that "
            "{0} has no effect; leave it or --virtual out",
            option_of(field)));
    }
}

/// Refuses a rule of routing for a single server.
void refuse_route_of_one(const LoadPlan& plan) {
    if (plan.targets.size() > 1 || plan.route == LoadPlan{}.route) return;
    throw UsageError(
        fmt::format("--route {}: the option distributes requests over several servers, but only one server "
                    "is given; give several URLs with commas between them, or leave --route out",
                    plan.route));
}

/// Refuses options of a run in virtual time for one with sockets.
void refuse_virtual_options(const LoadPlan& plan) {
    const LoadPlan otherwise;
    for (const char* const name : {"turnaround", "write_time"}) {
        const PlanField& field = *plan_field_named(name);
        if (field.value.get(plan, 0) == field.value.get(otherwise, 0)) continue;
        throw UsageError(
            fmt::format("{0} sets a time that only --virtual computes with; add --virtual, or leave {0} out",
                        option_of(field)));
    }
}

void check_command(const std::string& option, const std::string& command) {
    if (command.empty()) return;
    naming(option, [&] { (void)words_of(command); });
}

}  // namespace

void refuse_options_without_effect(const LoadPlan& plan) {
    if (plan.virtual_time)
        refuse_sockets_in_virtual_time(plan);
    else
        refuse_virtual_options(plan);
    refuse_route_of_one(plan);
}

LoadPlan with_server(LoadPlan plan, bool url_given) {
    const ServerLaunch& server = plan.server;
    if (plan.virtual_time) refuse_in_virtual_time(server);
    refuse_options_without_effect(plan);
    check_command("--server-cmd", server.command);
    check_command("--after-run-cmd", server.after_run_command);
    if (server.command.empty()) {
        if (!server.environment.empty())
            throw UsageError(
                "--server-env is for the server that --server-cmd starts, but --server-cmd is not given");
        const bool local = !plan.targets.empty() && names_simulator(plan.targets.front());
        if (local && (server.ready_timeout || !server.ready_url.empty()))
            throw UsageError(
                "--ready-timeout and --ready-url have no effect on the simulated server; leave them out, or "
                "give the URL of a server");
        return plan;
    }
    if (!url_given) {
        plan.targets.clear();
        return plan;
    }
    if (plan.targets.size() > 1)
        throw UsageError("--server-cmd starts one server, and several URLs are given; give one of them");
    if (names_simulator(plan.targets.front()))
        throw UsageError(
            fmt::format("{} starts the simulated server, and --server-cmd another one; give one of them",
                        plan.targets.front()));
    if (placeholders_in(server.command).contains("port"))
        throw UsageError(
            "--server-cmd has {port}, for which a free port is chosen, so that a URL cannot be given; leave "
            "the URL out, or write its port in the command instead of {port}");
    return plan;
}

std::string server_key(const ServerLaunch& server) {
    if (server.command.empty()) return {};
    return fmt::format("{}\n{}", server.command, fmt::join(server.environment, "\n"));
}

ServerLauncher::ServerLauncher(Access access, Watcher& watcher, std::stop_token stop,
                               std::shared_ptr<Companions> companions)
    : access_(std::move(access)),
      watcher_(watcher),
      stop_(std::move(stop)),
      companions_(std::move(companions)) {}

ServerLauncher::~ServerLauncher() {
    end_server();
}

void ServerLauncher::end_server() {
    if (server_) server_->end();
    server_.reset();
}

void ServerLauncher::start(const LoadPlan& asked, const std::filesystem::path& directory) {
    end_server();
    std::filesystem::create_directories(directory);
    server_ = std::make_shared<CommandServer>(
        ServerCommandLine{.text = asked.server.command,
                          .log = directory / kServerLogName,
                          .patience = asked.server.ready_timeout.value_or(kServerPatience),
                          .environment = asked.server.environment,
                          .url = asked.targets.empty() ? "" : asked.targets.front(),
                          .ready_url = asked.server.ready_url,
                          .secrets = secrets_of(asked, access_.api_key)},
        watcher_, stop_);
    server_->start().restarts = starts_++;
    key_ = server_key(asked.server);
}

std::unique_ptr<Target> ServerLauncher::opened(const LoadPlan& asked,
                                               std::shared_ptr<CommandServer> server) const {
    auto target = open_target(asked, access_, watcher_, stop_, std::move(server));
    target->set_companions(companions_);
    return target;
}

std::unique_ptr<Target> ServerLauncher::open(const LoadPlan& asked, const std::filesystem::path& directory,
                                             bool anew) {
    if (asked.server.command.empty()) {
        if (asked.server.ready_timeout)
            for (const std::string& url : asked.targets)
                wait_until_ready(url, asked.server.ready_url, *asked.server.ready_timeout, watcher_, stop_);
        return opened(asked, nullptr);
    }
    LoadPlan there = asked;
    if (asked.targets.empty())
        there.targets = {"http://127.0.0.1"};  // until the server says where it listens
    (void)with_load(with_dataset(there));
    const auto failed = [&](const std::string& why) {
        return ServerFailed(secrets_of(asked, access_.api_key).redacted(why));
    };
    try {
        if (!server_ || anew || key_ != server_key(asked.server) || server_->has_ended())
            start(asked, directory);
        there.targets = {server_->url()};
        return opened(there, server_);
    } catch (const Error& error) {
        if (stop_.stop_requested()) throw;
        if (server_ && server_->has_ended()) throw failed(server_->how_it_ended());
        throw failed(error.what());
    }
}

}  // namespace paretoken::experiments
