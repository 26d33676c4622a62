#pragma once
// The scalar fields of a request and their keys in a line of requests.jsonl, in order. Every line has the
// fields that are passed to required(); one that is passed to part() is a member of an optional object. Keys
// that end with "_s" are in seconds. This file does not use JSON.
#include "core/record/record.h"

namespace paretoken::reports {

/// Passes all fields of `v`, which is a RequestRecord, to the archive. `v` is const if the archive writes.
template <class Archive, class Record>
void record_fields(Archive& a, Record& v) {
    a.required("index", v.index);
    a("id", v.id);
    a("class", v.request_class);
    a("slo", v.slo);
    a("worker", v.worker);
    a("target", v.target);
    a.part("conversation", v.turn, &Turn::conversation);
    a.part("turn", v.turn, &Turn::number);
    a.part("job", v.job, &JobPart::first);
    a.part("job_turns", v.job, &JobPart::turns);
    a.part("background", v.job, &JobPart::background);
    a.part("inside", v.job, &JobPart::inside);
    a("warmup", v.warmup);
    a.required("outcome", v.outcome);
    a("error", v.error);
    a("http_status", v.http_status);
    a("finish_reason", v.finish_reason);
    a("answered_model", v.answered_model);
    a.required("scheduled_s", v.scheduled);
    a("slot_wait_s", v.slot_wait);
    a("started_s", v.started);
    a("ready_s", v.ready);
    a("sent_s", v.sent);
    a("headers_s", v.headers);
    a("first_event_s", v.first_event);
    a("first_answer_s", v.first_answer);
    a("last_event_s", v.last_event);
    a("first_early_s", v.first_early);
    a("last_early_s", v.last_early);
    a("finished_s", v.finished);
    a.required("closed_s", v.closed);
    a.part("dns_s", v.connect, &ConnectTimes::dns);
    a.part("tcp_s", v.connect, &ConnectTimes::tcp);
    a.part("tls_s", v.connect, &ConnectTimes::tls);
    a("resent", v.resent);
    a("prompt_tokens", v.usage.prompt);
    a("cached_prompt_tokens", v.usage.cached_prompt);
    a("completion_tokens", v.usage.completion);
    a("reasoning_tokens", v.usage.reasoning);
    a("streamed_tokens", v.streamed_tokens);
    a("first_group_tokens", v.first_group_tokens);
    a("decoding_s", v.decoding);
    a("chunks", v.chunks);
    a("grouped_chunks", v.grouped_chunks);
    a("token_source", v.token_source);
    a("unseen_output", v.unseen_output);
    a("uncounted_output", v.uncounted_output);
    a("disputed_cache", v.disputed_cache);
    a("longest_gap_s", v.longest_gap);
    a("wanted_input_tokens", v.wanted_input_tokens);
    a("wanted_output_tokens", v.wanted_output_tokens);
    a("bytes_received", v.bytes_received);
}

}  // namespace paretoken::reports
