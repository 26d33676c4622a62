#include "loadgen/probe/settlement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "loadgen/advice.h"
#include "loadgen/probe/trial.h"

namespace paretoken::loadgen {
namespace {

/// Returns an option that the requests still have: the first whose name is in `message`, else the first.
const protocol::OptionalField* option_to_leave_out(const protocol::BodyOptions& body,
                                                   std::string_view message) {
    const protocol::OptionalField* chosen = nullptr;
    for (const protocol::OptionalField& option : body.protocol->optional_fields) {
        if (!(body.*option.flag)) continue;
        if (message.find(option.name) != std::string_view::npos) return &option;
        if (chosen == nullptr) chosen = &option;
    }
    return chosen;
}

/// Returns whether the protocol has two names for the limit on output tokens, and the requests have one.
bool has_other_limit(const protocol::BodyOptions& body) {
    if (body.protocol->limit_key == body.protocol->reasoning_limit_key) return false;
    const protocol::BodyWriter writer(body);
    const Request small = small_request(std::string(), {});
    Request longer = small;
    longer.wanted_output_tokens = *longer.wanted_output_tokens + 1;
    // An --extra-body with a limit of its own replaces it.
    return writer.asked_output_tokens(longer) != writer.asked_output_tokens(small);
}

std::string_view limit_name(const protocol::BodyOptions& body) {
    return body.max_completion_tokens ? body.protocol->reasoning_limit_key : body.protocol->limit_key;
}

bool names(const Trial& trial, std::string_view name) {
    return trial.fetched.body.find(name) != std::string::npos;
}

/// Finds the options that the server accepts: gives the limit on output tokens its other name if the server
/// refuses the first one, and leaves out the options that it refuses, one by one. Those that a refusal names
/// come first.
class Settlement {
  public:
    Settlement(Asker& asker, EndpointFacts& facts)
        : asker_(asker), facts_(facts), can_rename_(has_other_limit(facts.body)) {}

    Trial settled() {
        const protocol::BodyOptions all = facts_.body;
        const std::vector<std::string> refused = facts_.refused;
        Trial trial = left_out(ask());
        if (!trial.refused_options() || !can_rename_) return trial;
        // Not even the plainest request is accepted and no refusal has named the limit. All is tried again
        // with its other name.
        const EndpointFacts plainest = facts_;
        facts_.body = all;
        facts_.refused = refused;
        can_rename_ = false;
        rename();
        Trial renamed = left_out(ask());
        if (renamed.refused_options()) facts_ = plainest;
        if (renamed.refused_options()) return trial;
        note();
        return renamed;
    }

  private:
    Trial ask() {
        return attempt(asker_, facts_.body, small_request(std::string("Hello there, how are you?"), facts_),
                       Need::must);
    }

    void rename() { facts_.body.max_completion_tokens = !facts_.body.max_completion_tokens; }

    void note() {
        const std::string_view now = limit_name(facts_.body);
        facts_.notes.push_back(fmt::format("the server refuses {}, so that requests limit their output by {}",
                                           now == facts_.body.protocol->limit_key
                                               ? facts_.body.protocol->reasoning_limit_key
                                               : facts_.body.protocol->limit_key,
                                           now));
    }

    /// Returns whether the server refuses the options, if need be by another status and an option's name.
    bool refuses(const Trial& trial) const {
        const int status = trial.fetched.head.status;
        if (trial.fetched.failure || (status < 400 || is_busy(trial.fetched))) return false;
        return trial.refused_options() ||
               std::ranges::any_of(facts_.body.protocol->optional_fields,
                                   [&](const protocol::OptionalField& option) {
                                       return facts_.body.*option.flag && names(trial, option.name);
                                   });
    }

    Trial left_out(Trial trial) {
        constexpr std::int64_t kMore = 16;  // the fewest of OpenAI's Responses
        while (refuses(trial)) {
            if (facts_.fewest_output_tokens < kMore && wants_more_tokens(trial.fetched.body)) {
                facts_.fewest_output_tokens = kMore;
                trial = ask();
                continue;
            }
            if (can_rename_ && names(trial, limit_name(facts_.body))) {
                can_rename_ = false;
                rename();
                Trial renamed = ask();
                if (!renamed.refused_options() || !names(renamed, limit_name(facts_.body))) {
                    note();
                    trial = std::move(renamed);
                    continue;
                }
                rename();
            }
            const protocol::OptionalField* option = option_to_leave_out(facts_.body, trial.fetched.body);
            if (option == nullptr) break;
            facts_.body.*option->flag = false;
            facts_.refused.emplace_back(option->name);
            trial = ask();
        }
        return trial;
    }

    Asker& asker_;
    EndpointFacts& facts_;
    bool can_rename_;
};

}  // namespace

void settle_options(Asker& asker, EndpointOptions& options, EndpointFacts& facts) {
    if (facts.body.ignore_eos &&
        !protocol::has_field(*facts.body.protocol, &protocol::BodyOptions::ignore_eos)) {
        facts.body.ignore_eos = false;
        facts.refused.emplace_back("ignore_eos");
    }
    Trial trial = Settlement(asker, facts).settled();
    const http::ResponseHead& head = trial.fetched.head;
    if (head.status / 100 == 3 && http::only_adds_slash(options.url, target_of(options), head.location)) {
        options.path = facts.path = target_of(options) + "/";
        facts.notes.push_back(
            fmt::format("the server redirects to the path {}, which requests then have", facts.path));
        trial = Settlement(asker, facts).settled();
    }
    const std::string what = "POST " + target_of(asker.options());
    if (trial.fetched.failure) refuse_trial(asker, what, trial, "");
    if (!trial.accepted()) asker.refuse_status(what, target_of(asker.options()), trial.fetched);
    asker.refuse_compression(what, trial.fetched.head);
    if (trial.record.outcome == Outcome::malformed) {
        asker.refuse(
            fmt::format("the answer to {} is not one of the protocol {} ({}); check the URL, --endpoint and "
                        "--endpoint-type",
                        what, facts.body.protocol->name, trial.record.error));
    }
    if (trial.record.outcome == Outcome::stream_error) {
        asker.refuse(fmt::format("the answer to {} is an error: {}", what, trial.record.error));
    }
}

}  // namespace paretoken::loadgen
