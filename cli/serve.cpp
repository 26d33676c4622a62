// paretoken serve: the simulated server as a process of its own.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/plan/session_names.h"
#include "core/spec.h"
#include "simulator/answers/dialect.h"
#include "simulator/answers/protocol.h"
#include "simulator/engine/profile.h"
#include "simulator/server.h"

namespace paretoken::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

struct ServeOptions {
    std::string profile = "llama3-8b-h100-bf16";
    std::string host = "127.0.0.1";
    std::uint16_t port = 8000;
    std::string model;
    std::int64_t max_model_len = 0;
    std::string api_key;
    std::string api_key_env;
    std::string tls_certificate;
    std::string tls_key;
    std::optional<std::uint64_t> seed;
    std::string dialect = "vllm";
    std::string spin = "80us";
    std::vector<std::string> quirks;
    std::vector<std::string> faults;
    std::size_t replicas = 1;
    std::string affinity_header = "X-Session-Affinity";
    std::string session_token;
    bool until_stdin_closes = false;
};

sim::ServerOptions server_options(const ServeOptions& options) {
    sim::ServerOptions server;
    server.host = options.host;
    server.port = options.port;
    server.profile = sim::profile_named(options.profile);
    server.model = options.model;
    if (options.max_model_len > 0) server.max_model_len = options.max_model_len;
    server.api_key = options.api_key_env.empty() ? options.api_key : api_key_in(options.api_key_env, true);
    server.tls_certificate = options.tls_certificate;
    server.tls_key = options.tls_key;
    server.seed = options.seed.value_or(0);
    if (!options.seed) server.engine_seed = std::random_device()();  // two servers that are compared differ
    server.dialect = *sim::dialect_named(options.dialect);
    server.spin = naming("--spin", [&] { return parse_duration(options.spin); });
    server.replicas = options.replicas;
    if (options.affinity_header != "none") server.affinity_header = options.affinity_header;
    if (!options.session_token.empty())
        server.session_token =
            naming("--session-token", [&] { return parse_session_token(options.session_token); }).name;
    for (const auto& text : options.quirks)
        server.faults.push_back(sim::parse_fault(sim::FaultKind::quirk, text));
    for (const auto& text : options.faults)
        server.faults.push_back(sim::parse_fault(sim::FaultKind::fault, text));
    return server;
}

/// Calls `stop` at the end of standard input, whose content is ignored.
class StdinWatch {
  public:
    StdinWatch(asio::io_context& io, std::function<void()> stop)
        : input_(io, dup(STDIN_FILENO)), stop_(std::move(stop)) {
        read();
    }
    void cancel() {
        error_code ignored;
        input_.close(ignored);
    }

  private:
    void read() {
        input_.async_read_some(asio::buffer(bytes_), [this](error_code ec, std::size_t) {
            if (ec == asio::error::operation_aborted) return;
            if (ec) return stop_();
            read();
        });
    }

    asio::posix::stream_descriptor input_;
    std::function<void()> stop_;
    std::array<char, 256> bytes_{};
};

void serve(const ServeOptions& options) {
    const sim::ServerOptions server_is = server_options(options);
    asio::io_context io{1};
    sim::Server server(io, server_is);
    asio::signal_set signals(io, SIGINT, SIGTERM);
    std::unique_ptr<StdinWatch> input;
    const auto stop = [&] {
        server.stop();
        signals.cancel();
        if (input) input->cancel();
    };
    signals.async_wait([&](error_code ec, int) {
        if (!ec) stop();
    });
    if (options.until_stdin_closes) input = std::make_unique<StdinWatch>(io, stop);
    server.start();
    print("paretoken serve: {} profile {}\n", server.url(), server_is.profile.name);
    std::fflush(stdout);
    io.run();
}

}  // namespace

void add_serve(CLI::App& app) {
    auto options = std::make_shared<ServeOptions>();
    CLI::App* command =
        app.add_subcommand("serve", "Run the simulated server of OpenAI's and Anthropic's protocols");
    command->footer(fmt::format("It answers POST requests to {}.", sim::paths_of_protocols()));
    command
        ->add_option(
            "--profile", options->profile,
            fmt::format(
                "Server to simulate: {}; a model on GPUs, MODEL/GPU[xN][/WEIGHTS[/KV]], "
                "such as llama3-70b/h200x2/fp8, llama3-8b/h100/int4 or llama3-8b/h100/awq (a quantization: "
                "fp8, int8, int4, awq, nvfp4, mxfp4, q4_k and others); or a JSON file. Fields after a "
                "? change it: \"ideal?ttft=20ms&itl=10ms\", \"llama3-8b-h100-fp8?step_s=3ms\" (each step of "
                "the engine takes that long besides its work, so that decoding is slower) or "
                "\"llama3-8b-h100-fp8?reasoning=64tok&speculative_tokens=3&acceptance=.7&hiccup=20ms/2s\"",
                fmt::join(sim::profile_names(), ", ")))
        ->capture_default_str();
    command
        ->add_option("--host", options->host,
                     "Address to listen on. The default can be reached only from this machine, 0.0.0.0 from "
                     "every network of this machine")
        ->capture_default_str();
    command->add_option("--port", options->port, "Port to listen on; 0 takes a free port")
        ->capture_default_str();
    command->add_option("--model", options->model, "Name of the served model (default: the profile's)");
    command->add_option("--max-model-len", options->max_model_len, "Longest context (default: the profile's)")
        ->check(CLI::PositiveNumber);
    CLI::Option* api_key_env = command->add_option(
        "--api-key-env", options->api_key_env,
        "Environment variable with the key that requests must have in the Authorization header");
    command
        ->add_option("--api-key", options->api_key,
                     "The key itself; other users of this machine can read it in the list of processes")
        ->excludes(api_key_env);
    CLI::Option* certificate = command->add_option("--tls-cert", options->tls_certificate,
                                                   "Serve https with this certificate chain (PEM)");
    CLI::Option* key = command->add_option("--tls-key", options->tls_key, "The certificate's key (PEM)");
    certificate->needs(key);
    key->needs(certificate);
    command
        ->add_option("--dialect", options->dialect,
                     fmt::format("Engine whose events, headers, errors and metrics are imitated: {}",
                                 fmt::join(sim::dialect_names(), " or ")))
        ->check(CLI::IsMember(sim::dialect_names()))
        ->capture_default_str();
    command->add_option(
        "--seed", options->seed,
        "Seed of step jitter, hiccups, accepted drafts and texts [texts: 0; the others: a new "
        "one for every start]");
    command
        ->add_option("--spin", options->spin,
                     "Time before each deadline for which the server polls instead of sleeping")
        ->capture_default_str();
    command
        ->add_option("--quirk", options->quirks,
                     "Variation of the protocol that clients must accept, with a probability and a seed if "
                     "wanted: split:bytes=3,p=.1,seed=7; may be repeated:" +
                         sim::fault_help(sim::FaultKind::quirk))
        ->allow_extra_args(false);
    command
        ->add_option(
            "--fault", options->faults,
            "Failure of streamed answers, with the same settings: reset:p=.01,after=5tok; may be repeated:" +
                sim::fault_help(sim::FaultKind::fault))
        ->allow_extra_args(false);
    command
        ->add_option(
            "--replicas", options->replicas,
            "Number of equal engines behind the address, each with its own KV cache and its own steps")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command
        ->add_option(
            "--affinity-header", options->affinity_header,
            "With --replicas: header whose value decides the engine of a request; without a value, and "
            "with none, requests go to the engines in turn")
        ->capture_default_str();
    command->add_option(
        "--session-token", options->session_token,
        "Header (x-session-token) with a token that the first answer of a session sets and that later "
        "requests return. It decides the engine in place of --affinity-header; tokens that no answer has set "
        "are refused");
    command->add_flag("--until-stdin-closes", options->until_stdin_closes, "Exit when standard input ends");
    command->callback([options] { serve(*options); });
}

}  // namespace paretoken::cli
