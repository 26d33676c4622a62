#include "loadgen/probe/models.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/text/printable.h"
#include "loadgen/advice.h"
#include "loadgen/protocol/answer.h"

namespace paretoken::loadgen {
namespace {

constexpr std::string_view kNameTheModel = "; if only its list of models fails, name the model with --model";

std::vector<http::Address> addresses_of(const EndpointOptions& options) {
    try {
        return http::resolve(options.url);
    } catch (const RuntimeError& error) {
        if (options.proxy_variable.empty()) throw;
        throw RuntimeError(
            fmt::format("{} ({} is set; proxies are not used)", error.what(), options.proxy_variable));
    }
}

/// Returns the paths that may have the list of models. The second one, if any, is beside the path of the
/// requests, or at the base without a version.
std::vector<std::string> models_paths(const EndpointOptions& options) {
    std::vector<std::string> paths{std::string(options.url.api_path("/v1/models"))};
    const std::string target = target_of(options);
    const protocol::Protocol* const protocol = protocol::protocol_of_address(target);
    if (protocol == nullptr) return paths;
    std::string beside = target.substr(0, target.size() - protocol->path_in_version().size()) + "/models";
    if (may_lack_version(options)) beside = kModels;
    if (beside != paths.front()) paths.push_back(std::move(beside));
    return paths;
}

/// Returns the first words of an answer that is a page for people, such as that of a login; empty for
/// another.
std::string page_note(const Asker& asker, const http::Fetched& answer) {
    constexpr std::size_t kShown = 80;
    if (!answer.ok() || answer.body.find("<html") == std::string::npos) return {};
    return fmt::format(", but a web page for people (\"{}\")",
                       printable_line(asker.words_of(answer), kShown));
}

}  // namespace

std::vector<protocol::ListedModel> ModelsAnswer::list() const {
    return fetched.ok() ? protocol::listed_models(fetched.body) : std::vector<protocol::ListedModel>();
}

bool may_lack_version(const EndpointOptions& options) {
    return options.path.empty() && !options.url.has_version();
}

ModelsAnswer first_contact(const EndpointOptions& options, http::Address& chosen) {
    using Kind = http::FetchFailure::Kind;
    const std::vector<std::string> paths = models_paths(options);
    ModelsAnswer answer{.path = paths.front()};
    for (const http::Address& address : addresses_of(options)) {
        chosen = address;
        answer.fetched = Asker(options, address).get(answer.path);
        if (!answer.fetched.failure || answer.fetched.failure->kind != Kind::connect_failed) break;
    }
    const auto& failure = answer.fetched.failure;
    const bool is_needed = options.body.model.empty();
    const bool is_only_the_list =
        failure && (failure->kind == Kind::disconnected || failure->kind == Kind::too_long ||
                    (failure->kind == Kind::timed_out && answer.fetched.was_sent));
    if (failure && (is_needed || !is_only_the_list))
        Asker(options, chosen).refuse_failure(answer.what(), *failure, is_only_the_list ? kNameTheModel : "");
    const int status = answer.fetched.head.status;
    const bool is_elsewhere =
        status == 404 || status == 405 || (answer.fetched.ok() && answer.list().empty());
    if (failure || !is_elsewhere || paths.size() == 1) return answer;
    ModelsAnswer second{.path = paths.back(), .fetched = Asker(options, chosen).get(paths.back())};
    return second.list().empty() ? answer : second;
}

std::optional<protocol::ListedModel> model_for(const Asker& asker, const ModelsAnswer& models) {
    const EndpointOptions& options = asker.options();
    const http::Fetched& answer = models.fetched;
    const std::vector<protocol::ListedModel> list = models.list();
    if (list.empty()) {
        if (!options.body.model.empty()) return std::nullopt;
        const int status = answer.head.status;
        if (is_busy(answer) || !answer.head.location.empty() || status == 401 || status == 403 ||
            status >= 500)
            asker.refuse_status(models.what(), models.path, answer, kNameTheModel);
        if (answer.ok() && protocol::is_model_list(answer.body))
            asker.refuse("the server lists no model; load or pull one, or name one with --model");
        std::string said = " without a model list" + page_note(asker, answer);
        const bool is_packed = http::is_compressed(answer.head);
        if (!answer.ok() || is_packed) said = asker.words_of(answer);
        if ((!answer.ok() || is_packed) && !said.empty()) said.insert(0, ": ");
        if (options.tls == nullptr && said.find("HTTPS") != std::string::npos)
            said += "; try https" + options.url.text().substr(4);
        throw RuntimeError(fmt::format(
            "{} does not look like an OpenAI-compatible server: GET {} gave HTTP {}{}; check the URL, or "
            "name the model with --model",
            options.url.text(), address_text(options.url, models.path), status, said));
    }
    return protocol::chosen_model(list, options.body.model);
}

bool lacks_version(Asker& asker) {
    const protocol::Protocol& protocol = *asker.options().body.protocol;
    const auto is_unknown = [&](std::string_view path) {
        const http::Fetched answer = asker.post(path, "{}");
        const int status = answer.head.status;
        return !answer.failure &&
               ((status == 404 || status == 405) && answer.body.find("model") == std::string::npos);
    };
    return is_unknown(protocol.path) && !is_unknown(protocol.path_in_version());
}

}  // namespace paretoken::loadgen
