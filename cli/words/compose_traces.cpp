// The parts of lines that replay traces and jobs of agents.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/words/composing.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

/// vLLM reads times of a trace as seconds, which it multiplies, and 16 tokens for each hash id. Returns the
/// unit of the times, and sets the factor besides.
std::string unit_of_timed_trace(const Composing& now, bool replays) {
    const auto given = now.parts.take("time_unit");
    const double factor = given ? number("--timed-trace-sec-multiplier", *given) : 1;
    if (!(factor > 0)) throw UsageError("--timed-trace-sec-multiplier must be above 0");
    constexpr double kMostOfMilliseconds = 0.01;
    const bool in_ms = factor < kMostOfMilliseconds;
    if (replays) now.parts.set("time_scale", text_of_number(in_ms ? 1000 * factor : factor));
    return in_ms ? "" : "s";
}

/// AIPerf replays a part of a trace; here the part is a file of its own.
void cut_trace(const Composing& now) {
    const auto begin = now.parts.take("window_begin");
    const auto end = now.parts.take("window_end");
    if (!begin && !end) return;
    const std::string condition =
        begin && end ? fmt::format(".timestamp >= {} and .timestamp <= {}", *begin, *end)
                     : fmt::format(".timestamp {} {}", begin ? ">=" : "<=", begin.value_or(end.value_or("")));
    now.absent(
        fmt::format("--fixed-schedule-start-offset and --fixed-schedule-end-offset: a trace is replayed "
                    "whole; cut the part out of its file: jq -c 'select({})' {} > part.jsonl",
                    condition, now.parts.value("dataset_path")));
    now.parts.set("dataset_path", "part.jsonl");
    now.out.file = "part.jsonl";
}

}  // namespace

void compose_scenario(const Composing& now) {
    const auto scenario = now.parts.take("scenario");
    if (!scenario) return;
    if (!scenario->starts_with("inferencex-agentx"))
        return now.absent(
            fmt::format("--scenario {}: the options that it sets are not known here", *scenario));
    for (const auto& [field, value] :
         {std::pair{"ignore_eos", "true"}, std::pair{"duration", "1800s"},
          std::pair{"idle_system_cap", "10s"}, std::pair{"inside_from", "0"}, std::pair{"inside_to", "1"}})
        now.parts.set_if_absent(field, value);
    const auto& parts = now.parts;
    if (parts.has("dataset_path") || parts.has("public_dataset") || parts.has("weka_on_hub")) return;
    now.need_file("--scenario " + *scenario, "save its traces of agents as agents.jsonl", "agents.jsonl");
    now.parts.set("dataset", "weka");
}

void compose_replay(const Composing& now, std::string_view kind) {
    Parts& parts = now.parts;
    bool replay = parts.take("replay").has_value();
    // AIPerf replays a trace with times also beside a rate or a number of requests in flight. One with
    // several levels has no times.
    const bool is_trace = kind == "mooncake_trace" || kind == "bailian_trace" || kind == "burst_gpt_trace";
    const auto has_several = [&](const char* field) { return list_of(parts.value(field)).size() > 1; };
    const bool has_levels = has_several("concurrency") || has_several("request_rate");
    if (now.is(Tool::aiperf) && now.origin.form != Form::genai_perf && is_trace && !has_levels && !replay &&
        !parts.has("no_replay") && parts.has("dataset_path")) {
        replay = true;
        const bool has_rate = parts.take("request_rate").has_value();
        parts.take("pattern");
        if (has_rate || parts.has("concurrency"))
            now.note(
                "aiperf sends the requests of a trace at their times, also beside a rate or a concurrency; "
                "without times in the file, leave out --arrivals trace");
    }
    cut_trace(now);
    const bool is_timed = parts.take("timed_trace").has_value();
    const std::string unit = is_timed ? unit_of_timed_trace(now, replay) : "";
    auto scale = parts.take("time_scale");
    if (const auto faster = parts.take("speedup"))
        scale = text_of_number(1 / std::max(1e-9, number("a speed-up", *faster)));
    if (replay && !parts.has("dataset") && kind.empty()) parts.set("dataset", "mooncake");
    if (scale && number("the scale of time", *scale) != 1)
        parts.set("arrivals", fmt::format("trace:scale={}", *scale));
    else if (replay)
        parts.set_if_absent("arrivals", "trace");
    if (parts.value("arrivals").starts_with("trace") && parts.take("num_warmups"))
        now.out.unneeded.emplace_back("--num-warmups (a trace has no requests besides its own)");
    const bool has_load = parts.has("request_rate") || parts.has("concurrency") || parts.has("profile");
    const bool no_delays = parts.take("no_delays").has_value();
    if ((parts.take("no_replay") || no_delays) && !has_load) parts.set("concurrency", "1");
    if (no_delays) parts.set("tool_scale", "0");
    const auto turns = parts.take("agent_warmup");
    if (const auto from = parts.take("inside_from"), to = parts.take("inside_to"); from || to || turns)
        parts.set("start_inside", fmt::format("{}..{}{}", from.value_or("0.25"), to.value_or("0.75"),
                                              turns ? "+" + *turns : ""));
    if (parts.value("dataset").starts_with("mooncake"))  // its requests have no turns
        for (const char* const field :
             {"idle_cap", "idle_job_cap", "idle_system_cap", "tool_scale", "start_inside"})
            if (parts.take(field)) now.out.unneeded.push_back(option_of(*plan_field_named(field)));
    const auto block = parts.take("block");
    if (parts.value("dataset") == "mooncake") {
        std::string fields = block ? "block=" + *block : is_timed ? "block=16" : "";
        if (!unit.empty()) fields += ",unit=" + unit;
        if (!fields.empty()) parts.set("dataset", "mooncake:" + fields);
    }
}

}  // namespace paretoken::cli
