#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "cli/words/reading.h"
#include "core/plan/plan_arguments.h"

namespace paretoken::cli {
namespace {

constexpr std::string_view kNative =
    "its own protocol is not sent; give the server's OpenAI-compatible address and leave this out";
constexpr std::string_view kProcess = "a server is measured, not a Python process";
constexpr std::array kBackends = {
    ForeignValue{"openai", "completions"},
    ForeignValue{"vllm", "completions"},
    ForeignValue{"sglang", "completions",
                 "/generate of SGLang is not sent; the same server's /v1/completions is"},
    ForeignValue{"sglang-native", "completions",
                 "/generate of SGLang is not sent; the same server's /v1/completions is"},
    ForeignValue{"sgl-jax", "completions",
                 "/generate of SGLang is not sent; the same server's /v1/completions is"},
    ForeignValue{"sglang-oai", "completions"},
    ForeignValue{"lmdeploy", "completions"},
    ForeignValue{"deepspeed-mii", "completions"},
    ForeignValue{"scalellm", "completions"},
    ForeignValue{"llama.cpp", "completions"},
    ForeignValue{"openai-chat", "chat"},
    ForeignValue{"openai-responses", "responses"},
    ForeignValue{"vllm-chat", "chat"},
    ForeignValue{"sglang-oai-chat", "chat"},
    ForeignValue{"lmdeploy-chat", "chat"},
    ForeignValue{"openai_http", "chat"},
    ForeignValue{"chat_completions", "chat"},
    ForeignValue{"/v1/chat/completions", "chat"},
    ForeignValue{"text_completions", "completions"},
    ForeignValue{"/v1/completions", "completions"},
    ForeignValue{"/v1/responses", "responses"},
    ForeignValue{"anthropic-messages", "messages"},
    ForeignValue{"openai_websocket", "", kText},
    ForeignValue{"vllm_python", "", kProcess},
    ForeignValue{"hf", "", kProcess},
    ForeignValue{"mii", "", kProcess},
    ForeignValue{"vision", "chat", "requests have texts only"},
    ForeignValue{"multimodal", "chat", "requests have texts only"},
    ForeignValue{"tgi", "", kNative},
    ForeignValue{"huggingface_generate", "", kNative},
    ForeignValue{"tensorrt-llm", "", kNative},
    ForeignValue{"trt", "", kNative},
    ForeignValue{"truss", "", kNative},
    ForeignValue{"gserver", "", kNative},
};

/// The ports on which SGLang's load generator expects other engines.
constexpr std::array kPortsOfSglang = {std::pair{"vllm", "8000"},      std::pair{"vllm-chat", "8000"},
                                       std::pair{"lmdeploy", "23333"}, std::pair{"lmdeploy-chat", "23333"},
                                       std::pair{"trt", "8000"},       std::pair{"gserver", "9988"},
                                       std::pair{"truss", "8080"}};

constexpr std::array kProtocols = {"chat", "completions", "responses", "messages"};

void set_protocol(const Composing& now, const std::string& name) {
    if (std::ranges::find(kProtocols, name) != kProtocols.end()) return now.parts.set("endpoint_type", name);
    if (is_to_fill_in(name)) return now.absent(fmt::format("protocol {}: {}", name, kValueNeeded));
    const ForeignValue* const row = backend_named(name);
    if (row == nullptr || row->ours.empty())
        return now.absent(fmt::format("protocol {}: {}", name, row == nullptr ? kNative : row->why));
    now.parts.set_if_absent("endpoint_type", std::string(row->ours));
    if (!row->why.empty()) now.note(fmt::format("--backend {}: {}", name, row->why));
}

/// The fields of GuideLLM's backend.
void set_backend(const Composing& now, const Group& group) {
    for (const auto& [key, value] : group) {
        if (key == "kind" || key == "type") {
            if (!group.contains("request_format")) set_protocol(now, value);
        } else if (key == "target") {
            now.parts.set_if_absent("url", value);
        } else if (key == "model") {
            now.parts.set_if_absent("model", value);
        } else if (key == "api_key") {
            now.parts.set("api_key", value);
        } else if (key == "request_format" || key == "request_type") {
            set_protocol(now, value);
        } else if (key == "timeout") {
            now.parts.set_if_absent("timeout", value);
        } else if (key == "verify") {
            if (value == "false") now.parts.set("insecure", "true");
        } else if (key == "max_tokens") {
            now.parts.set_if_absent("osl", value);
        } else if (key == "stream") {
            if (value == "false") now.note(std::string(kStreams));
        } else if (key.starts_with("extras.body.") || key.starts_with("extra_body.")) {
            std::string field = key.substr(key.find("body.") + 5);
            for (const char* const format : {"chat_completions.", "text_completions."})
                if (field.starts_with(format)) field.erase(0, std::string_view(format).size());
            set_body_field(now, field, value);
        } else if (key.starts_with("extras.headers.") || key.starts_with("headers.")) {
            now.parts.add("header", fmt::format("{}: {}", key.substr(key.find("headers.") + 8), value));
        } else if (key == "server_history" || key == "tool_call_missing_behavior" ||
                   key == "multiturn_reasoning") {
            now.note(fmt::format("--backend {} is left out; conversations are sent whole in each turn", key));
        } else if (key == "validate_backend" || key == "follow_redirects" || key == "timeout_connect" ||
                   key == "http2" || key.starts_with("api_routes")) {
            now.out.unneeded.push_back("--backend " + key);
        } else {
            now.absent(fmt::format("--backend {}: it has no counterpart", key));
        }
    }
}

}  // namespace

void set_body_field(const Composing& now, const std::string& name, const std::string& value) {
    if (name == "ignore_eos" && (value == "true" || value == "false" || value == "True" || value == "False"))
        return now.parts.set("ignore_eos", value == "true" || value == "True" ? "true" : "false");
    if (name == "temperature") return now.parts.set("temperature", value);
    if (name == "max_tokens" || name == "max_completion_tokens") return now.parts.set("osl", value);
    now.parts.set("extra_body", with_json_field(now.parts.value("extra_body"), name, value));
}

const ForeignValue* backend_named(std::string_view name) {
    constexpr std::array kWithoutText = {"embed",   "rerank", "rank", "pooling",  "score",
                                         "classif", "audio",  "clip", "retrieval"};
    static constexpr ForeignValue kOther{"", "", kText};
    if (const ForeignValue* const row = row_named(kBackends, name)) return row;
    const bool is_other = std::ranges::any_of(
        kWithoutText, [&](const char* word) { return name.find(word) != std::string_view::npos; });
    return is_other ? &kOther : nullptr;
}

std::string mix_of(const Texts& models) {
    if (models.size() == 1) return models.front();
    std::string mix;
    for (const std::string& name : models)
        mix += fmt::format("{}{}{}", mix.empty() ? "" : ",", name, name.find('=') == name.npos ? "=1" : "");
    return mix;
}

namespace {

/// Several addresses, of which none is left out, and the models that are asked in turn.
void compose_addresses(const Composing& now) {
    Parts& parts = now.parts;
    Texts models;
    std::string urls;
    const auto add_url = [&](const std::string& url) {
        urls += (urls.empty() ? "" : ",") + with_scheme(url);
    };
    for (const std::string& text : parts.take_all("urls")) {
        if (text.starts_with("sim:")) urls.clear();  // the simulated server is not one of several
        add_url(text);
    }
    for (const std::string& name : parts.take_list("models")) {
        if (names_server(name))
            add_url(name);  // the server's address stood behind the model's name
        else
            models.push_back(name);
    }
    if (!urls.empty()) parts.set("url", urls);
    if (!models.empty()) parts.set("model", mix_of(models));
    if (const auto served = parts.take("served_model")) parts.set("model", *served);
}

/// The command that starts the server which the other tool would have started itself.
void compose_started_server(const Composing& now) {
    Parts& parts = now.parts;
    Texts options;
    for (std::size_t i = 0; i < now.out.server.size(); ++i) {
        const std::string& word = now.out.server[i];
        if ((word == "--model-path" || word == "--model") && i + 1 < now.out.server.size())
            parts.set_if_absent("model", now.out.server[++i]);
        else
            options.push_back(word);
    }
    if (parts.value("model") == "None") parts.take("model");
    const std::string loaded = parts.value("model");
    for (std::size_t i = 0; i < options.size(); ++i)
        if (name_in(options[i]) == "--served-model-name") parts.set("model", value_after(options, i));
    if (parts.has("url")) {
        for (const std::string& word : options)
            if (word.starts_with('-')) now.out.unneeded.push_back(word);
        return;
    }
    const std::string model = loaded.empty() ? "MODEL" : loaded;
    if (model == "MODEL") now.note("the line names no model; write one in place of MODEL");
    const std::string start = now.is(Tool::sglang) ? "python3 -m sglang.launch_server --model-path " + model
                                                   : "vllm serve " + model;
    parts.set("server_cmd",
              fmt::format("{} --port {{port}}{}{}", start, options.empty() ? "" : " ", shell_line(options)));
    now.note("the other tool starts the model itself; here --server-cmd starts a server for it");
}

/// The headers by which AIPerf tells a router to which conversation a request belongs.
void compose_routing(const Composing& now) {
    std::string name;
    for (const std::string& option : now.parts.take_all("routing_option"))
        if (option.starts_with("header_name=")) name = option.substr(option.find('=') + 1);
    for (const std::string& mode : now.parts.take_list("session_routing")) {
        if (mode == "dynamo_headers") {
            now.parts.add("session_header", "X-Dynamo-Session-ID");
            now.parts.add("session_header", "X-Dynamo-Parent-Session-ID=parent");
        } else if (mode == "smg_routing_key") {
            now.parts.add("session_header", "X-SMG-Routing-Key");
        } else if (mode == "session_id_header" && !name.empty()) {
            now.parts.add("session_header", name);
        } else {
            now.absent(
                fmt::format("--session-routing {}: ids of conversations are sent in headers "
                            "(--session-header) or fields of the body (--session-field)",
                            mode));
        }
    }
}

/// The version with which an address ends: "/v1", which the other tools keep before the path of --endpoint,
/// and which our --endpoint replaces; empty if there is none.
std::string version_of(std::string_view url) {
    url = url.substr(0, url.find(','));
    while (url.ends_with('/')) url.remove_suffix(1);
    return url.ends_with("/v1") ? "/v1" : "";
}

}  // namespace

void compose_server(const Composing& now) {
    Parts& parts = now.parts;
    const std::string engine = now.is(Tool::sglang) ? parts.value("backend") : "";
    if (const std::string wait = parts.value("ready_timeout"); now.is(Tool::vllm) && wait == "0") {
        parts.take("ready_timeout");
        now.out.unneeded.emplace_back("--ready-check-timeout-sec 0");
    }
    compose_addresses(now);
    const bool may_not_stream = now.whole(Tool::aiperf) || now.whole(Tool::perf_analyzer);
    const bool streams = parts.take("streamed").has_value();
    if (streams) now.out.unneeded.emplace_back("--streaming");
    if (parts.take("unstreamed") || (may_not_stream && !streams)) now.note(std::string(kStreams));
    if (now.origin.starts_server()) {
        const std::string backend = parts.take("backend").value_or("");
        if (const ForeignValue* const row = backend_named(backend); row != nullptr && row->why == kProcess)
            now.absent(fmt::format("--backend {}: {}", backend, kProcess));
        if (backend == "vllm-chat") parts.set_if_absent("endpoint_type", "chat");
        compose_started_server(now);
    }
    for (const char* const part : {"backend_args", "backend"}) {
        const auto text = parts.take(part);
        if (!text) continue;
        const auto group =
            text->find('=') != std::string::npos || text->starts_with('{') ? group_of(*text) : std::nullopt;
        if (group)
            set_backend(now, *group);
        else if (text->starts_with('$'))
            now.note(fmt::format("{} is left out{}", *text,
                                 part == std::string_view("backend")
                                     ? "; --endpoint-type names the protocol: chat or completions"
                                     : ""));
        else
            set_protocol(now, *text);
    }
    if (const auto type = parts.take("request_type")) set_protocol(now, *type);
    const auto host = parts.take("host");
    const auto port = parts.take("port");
    if (!parts.has("url") && !parts.has("server_cmd") && (host || port || now.origin.whole)) {
        std::string address(now.origin.tool ? row_of(*now.origin.tool).address : "http://127.0.0.1:8000");
        const auto colon = address.rfind(':');
        const auto* const usual =
            std::ranges::find_if(kPortsOfSglang, [&](const auto& one) { return one.first == engine; });
        const std::string usual_port =
            usual == kPortsOfSglang.end() ? address.substr(colon + 1) : usual->second;
        std::string name = host.value_or(address.substr(0, colon));
        if (name == "0.0.0.0") name = "127.0.0.1";
        parts.set("url", fmt::format("{}{}:{}", names_server(name) ? "" : "http://", name,
                                     port.value_or(usual_port)));
    }
    if (parts.has("url")) parts.set("url", with_scheme(parts.value("url")));
    for (const std::string& url : parts.take_list("metrics_urls"))
        if (url != "true") parts.add("scrape", with_scheme(url));  // an option without a value
    if (parts.take("no_server_metrics")) parts.set("scrape", "none");
    compose_routing(now);
    if (const std::string path = parts.value("endpoint");
        !path.empty() && !path.starts_with('/') && !path.starts_with('$'))
        parts.set("endpoint", "/" + path);
    if (const std::string version = version_of(parts.value("url"));
        parts.has("endpoint") && !parts.value("endpoint").starts_with(version + '/') && now.origin.tool)
        parts.set("endpoint", version + parts.value("endpoint"));
    const std::string path = parts.value("endpoint");
    if (!path.empty() && !parts.has("endpoint_type")) {
        if (path.ends_with("/chat/completions"))
            parts.set("endpoint_type", "chat");
        else if (path.ends_with("/completions"))
            parts.set("endpoint_type", "completions");
        else if (path.ends_with("/responses"))
            parts.set("endpoint_type", "responses");
    }
    if (now.origin.whole && (now.is(Tool::vllm) || now.is(Tool::sglang)))
        parts.set_if_absent("endpoint_type", "completions");
    constexpr std::array kPaths = {std::pair{"chat", "/v1/chat/completions"},
                                   std::pair{"completions", "/v1/completions"},
                                   std::pair{"responses", "/v1/responses"}};
    for (const auto& [protocol, own] : kPaths)  // the path that the protocol has anyway
        if (path == own && parts.value("endpoint_type") == protocol) parts.take("endpoint");
    for (const char* const other : {"/embeddings", "/rerank", "/pooling", "/audio/transcriptions", "/score"})
        if (path.ends_with(other)) now.absent(fmt::format("--endpoint {}: {}", path, kText));
    for (const std::string& header : parts.take_all("headers")) {
        const auto end = header.find_first_of(":=");
        const std::string name = header.substr(0, end);
        std::string value = end == std::string::npos ? "" : header.substr(end + 1);
        value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
        parts.add("header", fmt::format("{}: {}", name, value));
    }
    if (const auto draw = parts.take("adapter_draw"); draw && (*draw == "skewed" || *draw == "distinct"))
        now.absent(
            fmt::format("adapters drawn {}: they are drawn by their shares: --model A=.7,B=.3", *draw));
    else if (draw == "round-robin")
        now.note("adapters are drawn at random with equal shares, not in turn");
    if (parts.take("zipf_alpha")) now.out.unneeded.emplace_back("--lora-zipf-alpha");
    const Texts adapters = parts.take_all("adapters");
    if (!adapters.empty()) parts.set("model", mix_of(adapters));
}

}  // namespace paretoken::cli
