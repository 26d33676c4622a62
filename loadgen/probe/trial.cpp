#include "loadgen/probe/trial.h"

#include <fmt/format.h>

#include <utility>

#include "loadgen/advice.h"
#include "loadgen/protocol/answer.h"
#include "loadgen/protocol/delta.h"

namespace paretoken::loadgen {

Trial attempt(Asker& asker, const protocol::BodyOptions& body, const Request& request, Need need) {
    Trial trial;
    const std::string path = target_of(asker.options());
    const std::string text = protocol::BodyWriter(body).body(request);
    const TimePoint began = Clock::now();
    trial.fetched = need == Need::must ? asker.post(path, text) : asker.post_if_quick(path, text);
    trial.took = Clock::now() - began;
    protocol::DeltaParser parser(asker.secrets(), *body.protocol);
    protocol::AnswerReader reader(parser);
    reader.begin(trial.record, {.stream = body.stream});
    trial.record.http_status = trial.fetched.head.status;
    protocol::PaddedBuffer padded;
    padded.append(trial.fetched.body);
    reader.on_body({padded.view().data(), padded.size()}, Clock::now(), false, true);
    reader.finish(!trial.fetched.failure);
    return trial;
}

Request small_request(Prompt prompt, const EndpointFacts& facts) {
    Request request;
    request.id = "probe";
    request.prompt = std::move(prompt);
    request.wanted_output_tokens = facts.fewest_output_tokens;
    return request;
}

void refuse_trial(const Asker& asker, const std::string& what, const Trial& trial, std::string_view remark) {
    constexpr Duration kWhile = std::chrono::milliseconds(200);
    const bool was_taken = trial.fetched.head.status != 0 || trial.took > kWhile || !remark.empty();
    if (trial.fetched.failure->kind != http::FetchFailure::Kind::disconnected || !was_taken)
        asker.refuse_failure(what, *trial.fetched.failure);
    if (!trial.record.finish_reason.empty())
        asker.refuse(fmt::format(
            "{}: the answer came to its finish_reason, but the connection was closed before the end of the "
            "HTTP message, without [DONE] ({}); a load would count such answers as failed, because they may "
            "be incomplete: make the server, or the program that passes its answers on, end the message",
            what, trial.fetched.failure->why));
    asker.refuse(cut_off_note(what, trial.took, trial.fetched, remark));
}

}  // namespace paretoken::loadgen
