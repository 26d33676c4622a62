#include "experiments/fleet/hello.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cards/host.h"
#include "core/plan/plan_fields.h"
#include "core/version.h"

namespace paretoken::experiments {
namespace {

using Json = nlohmann::json;

bool must_be_equal(const PlanField& field) {
    return field.kind != FieldKind::none;
}

}  // namespace

Hello hello_of(const LoadPlan& asked, const std::string& token) {
    return {.token = token,
            .version = fmt::format("{} ({})", version(), commit()),
            .host = cards::this_host().name,
            .shard = shard_of(asked),
            .plan = echo_of(asked, must_be_equal)};
}

std::string text_of(const Hello& hello) {
    return Json{{"token", hello.token},         {"version", hello.version},   {"host", hello.host},
                {"number", hello.shard.number}, {"count", hello.shard.count}, {"plan", hello.plan}}
        .dump();
}

Hello parse_hello(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    try {
        if (json.is_object())
            return {.token = json.at("token").get<std::string>(),
                    .version = json.at("version").get<std::string>(),
                    .host = json.at("host").get<std::string>(),
                    .shard = {json.at("number").get<std::uint32_t>(), json.at("count").get<std::uint32_t>()},
                    .plan = json.at("plan").get<PlanEcho>()};
    } catch (const Json::exception&) {  // the message below is enough: it was no process of ours
    }
    throw UsageError("the first message of a process is no hello");
}

std::string objection_to(const Hello& hello, const Hello& leader) {
    const std::string who = fmt::format("shard {} on {}", hello.shard.number, hello.host);
    if (hello.version != leader.version)
        return fmt::format("{} is version {}, and shard 0 is {}; install one version on all hosts", who,
                           hello.version, leader.version);
    if (hello.shard.count != leader.shard.count)
        return fmt::format(
            "{} was started as one of {} shards, and shard 0 as one of {}; give all the same number", who,
            hello.shard.count, leader.shard.count);
    if (hello.shard.number == 0 || hello.shard.number >= hello.shard.count)
        return fmt::format("{} was started twice; start each shard once", who);
    const auto differs = difference(leader.plan, hello.plan, must_be_equal);
    if (!differs) return {};
    return fmt::format(
        "{} was started with other options than shard 0: {} is '{}' and '{}'; give all shards "
        "the same options and files",
        who, differs->name, differs->after, differs->before);
}

std::string text_of(const Error& error) {
    return Json{{"message", error.what()}, {"code", static_cast<int>(error.code())}}.dump();
}

Error parse_error(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("message") || !json["message"].is_string())
        return RuntimeError("it did not say why");
    const int code = json.value("code", static_cast<int>(ExitCode::runtime));
    return Error(static_cast<ExitCode>(code), json["message"].get<std::string>());
}

}  // namespace paretoken::experiments
