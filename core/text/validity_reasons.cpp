#include "core/text/validity_reasons.h"

#include <algorithm>
#include <array>

namespace paretoken {
namespace {

constexpr std::string_view kUnknown = "unknown_FACT";
constexpr std::string_view kFreeTheHost =
    "Close other programs on the client's machine, or measure from another machine; --host-noise accept "
    "takes the figures as they are.";
constexpr std::string_view kLonger =
    "Make the run longer (--num-prompts, --duration), or use a longer trace.";

constexpr std::array kReasons = {
    // The client and its host.
    ValidityReason{"instrument",
                   "The client's own delays may have changed throughput, a median or a p95 by more than 2 % "
                   "(warn) or 10 % (invalid), or a p99 or the goodput by more than 10 % (warn).",
                   kFreeTheHost},
    ValidityReason{"loop_lag", "Requests were sent late for the client's own reasons.", kFreeTheHost},
    ValidityReason{"refill_lag",
                   "A free slot of a closed loop was used again late, so that the throughput may be too low.",
                   kFreeTheHost},
    ValidityReason{"achieved_rate", "Requests of an open loop were not sent in time.",
                   "Give the client more threads (--workers), or lower the rate."},
    ValidityReason{"unstamped_delay", "Events without a kernel receive timestamp were read late.",
                   kFreeTheHost},
    ValidityReason{"late_grouping", "Events were merged because the client read late.",
                   "Give the client more threads (--workers) or a free core."},
    ValidityReason{"client_cpu", "A worker was busy nearly all the time.",
                   "Give the client more threads (--workers), or measure a lower load."},
    ValidityReason{"hiccups", "The host paused the client for a noticeable share of the run.", kFreeTheHost},
    ValidityReason{"clock_jump", "The clock behind the kernel's receive timestamps jumped.",
                   "Wait until the time service has settled, and measure again."},
    ValidityReason{"connection_wait", "Requests waited for a connection.",
                   "Leave connections open (no --no-keepalive), or raise the server's limit on connections."},
    ValidityReason{"slot_wait", "Requests of an open loop waited for the cap on requests in flight.",
                   "Raise --concurrency, or leave it out."},
    ValidityReason{"shard_client", "The client of one of several processes was too slow.",
                   "Give that process more cores or another host, or divide the load into more shards."},
    // The network and the stream.
    ValidityReason{"retransmits", "The network lost TCP segments.",
                   "Measure from a machine that is nearer to the server."},
    ValidityReason{"resent", "The server closed kept-alive connections just when requests were sent.",
                   "Raise the server's keep-alive limits; the times count from the first sending."},
    ValidityReason{"no_stream", "Answers came in one piece.",
                   "Switch streaming on in the server and in proxies before it."},
    ValidityReason{"bunched_stream", "Tokens came together after they had been computed.",
                   "Switch buffering off in proxies (nginx: proxy_buffering off, tcp_nodelay on)."},
    ValidityReason{"early_first_event", "The first event of most answers came long before all others.",
                   "Read an answer's beginning (--keep-answers): the first event may not be a token."},
    ValidityReason{
        "starved", "Requests waited through the whole window while others were served.",
        "Raise the server's threads or connections, lower --concurrency, or look for a hung replica."},
    ValidityReason{"buffered_stream", "Many events came in one read with the event before.",
                   "Switch buffering off in proxies, or give the server's own address, without the proxy."},
    ValidityReason{
        "disputed_counts", "The server's usage is missing, or contradicts the text that it streamed.",
        "Read output tokens as estimates; let usage through gateways (stream_options.include_usage)."},
    ValidityReason{"disputed_cache", "The server's usage counts more cached tokens than the prompt has.",
                   "Do not use the cached share; ask whether a gateway changes the usage."},
    ValidityReason{
        "unseen_output", "Output came under a name that is not known, or was not streamed.",
        "Do not trust the times to the first and last token; switch off hidden reasoning if you can."},
    ValidityReason{"uncounted_output", "More events with text came than the usage counts tokens.",
                   "Read one answer (--keep-answers): its text may come twice, or be cut into letters."},
    ValidityReason{"no_finish_reason", "Answers end without a finish_reason, which others of the run have.",
                   "Look in the log of the server or gateway for streams that were cut off."},
    // The amount of evidence.
    ValidityReason{"no_requests", "No request came to its end.", kLonger},
    ValidityReason{"all_failed", "Every request failed.",
                   "Read the example of an error in the summary, and try one request by hand."},
    ValidityReason{"errors", "More than 1 % of the requests failed; more than --max-failed are invalid.",
                   "Read the failures in the summary; lower the load if the server refuses requests."},
    ValidityReason{"no_steady_state",
                   "No part of the run was steady, so that figures are those of the whole run.", kLonger},
    ValidityReason{"diverging", "The server did not keep up with the arrivals, and its queue grew.",
                   "Lower --request-rate; percentiles are left out."},
    ValidityReason{"in_step", "The requests of a closed loop were all sent together, round after round.",
                   "Let lengths vary (--range-ratio 0.1), and leave --ramp-up at auto."},
    ValidityReason{"no_whole_answer", "Users hung up on every request that did not fail (--cancel).",
                   "Lower p= or raise after= of --cancel."},
    ValidityReason{"interrupted", "The run was killed or is still running.",
                   "Wait for its end, or measure again."},
    ValidityReason{"shard", "The run is one part of a load that several processes made.",
                   "Join the parts with paretoken merge."},
    ValidityReason{"partial", "The run was interrupted before its end.",
                   "Measure again; the figures are those of what was measured."},
    // The work.
    ValidityReason{"input_length", "Prompts had another length than was asked for.",
                   "Compare with --prompt-form token-ids, or take the measured length."},
    ValidityReason{"prompt_growth",
                   "Prompts grew from turn to turn by another length than the dataset states.",
                   "Look at the chat template; compare only with runs whose prompts grow alike."},
    ValidityReason{"output_length", "Answers had another length than was asked for.",
                   "Check that the server accepts ignore_eos and the limit on tokens."},
    ValidityReason{"other_model", "Answers name another model than the requests asked for.",
                   "Name the model that shall answer (--model), or measure without the gateway."},
    ValidityReason{"artificial_text", "Prompts of random words may route to other experts than real text.",
                   "Take a dataset of real text, or --text FILE."},
    ValidityReason{"probe_failed", "Questions of the probe were not answered.",
                   "See probe.jsonl, and ask again with a lower load."},
    // The server's cache, its metrics and other clients.
    ValidityReason{"cache_contaminated", "Prompts that share nothing were found in the prefix cache.",
                   "Leave --salt out or give another one, or empty the cache (--reset-cache)."},
    ValidityReason{"warm_cache", "An earlier run sent the same prompts, and they may be in the cache.",
                   "Empty the cache before each run (--reset-cache), or give --salt-prompts."},
    ValidityReason{"repeated_prompts", "The run sent the prompts of its file more than once.",
                   "Give --salt-prompts, or send at most as many requests as the file has prompts."},
    ValidityReason{"kv_thrash", "The server's KV cache filled and emptied again and again.",
                   "Lower the load, or give the server a larger cache."},
    ValidityReason{"foreign_load", "The server made tokens for somebody else meanwhile.",
                   "Measure when nobody else uses the server."},
    ValidityReason{"foreign_client", "Another load generator made the run, whose client is not judged.",
                   "Measure with paretoken, if it matters how late the client was."},
    ValidityReason{"summary_only", "The imported file has only figures that another program computed.",
                   "Let the program keep its requests, or measure with paretoken."},
    ValidityReason{"token_counts", "The server's own counter lacks tokens that its usage reports.",
                   "Check that all servers behind the address are scraped (--scrape)."},
    ValidityReason{"scrape", "Readings of the server's metrics failed.",
                   "Raise --scrape-interval, or give the right address (--scrape)."},
    ValidityReason{"impossible_metrics", "Counters of the server's metrics cannot be true.",
                   "Do not use the shares of the server; check which process --scrape reads."},
    ValidityReason{"energy_counter", "Readings of power differ from the driver's counter of energy.",
                   "Make the run longer, so that more readings count."},
    // The files.
    ValidityReason{"events_missing", "events.bin is gone or incomplete.",
                   "Put the file back and delete run.json, which is then made again."},
    ValidityReason{"records_lost",
                   "Records are missing: they could not be written, or those of a shard are not there.",
                   "Merge the missing shards, too, if their files exist, or measure again with enough space "
                   "on the disk."},
    ValidityReason{kUnknown, "The source of an imported run does not know this fact.",
                   "Nothing is wrong; figures that need the fact are absent."},
};

constexpr std::array<std::string_view, 11> kOfAnswers = {
    "no_stream",       "bunched_stream",     "early_first_event", "buffered_stream",
    "disputed_counts", "disputed_cache",     "unseen_output",     "uncounted_output",
    "other_model",     "impossible_metrics", "no_finish_reason"};

}  // namespace

std::span<const ValidityReason> validity_reasons() {
    return kReasons;
}

const ValidityReason* validity_reason(std::string_view check) {
    constexpr std::string_view kAnyFact = "unknown_";
    const std::string_view row = check.starts_with(kAnyFact) ? kUnknown : check;
    const auto found = std::ranges::find(kReasons, row, &ValidityReason::check);
    return found == kReasons.end() ? nullptr : &*found;
}

bool is_explained(std::string_view check) {
    return validity_reason(check) != nullptr;
}

bool tells_of_answers(std::string_view check) {
    return std::ranges::find(kOfAnswers, check) != kOfAnswers.end();
}

}  // namespace paretoken
