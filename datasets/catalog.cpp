#include "datasets/catalog.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/error.h"
#include "datasets/files/agents/agent_messages.h"
#include "datasets/files/agents/agents.h"
#include "datasets/files/agents/otel_spans.h"
#include "datasets/files/agents/weka.h"
#include "datasets/files/columns.h"
#include "datasets/files/custom_jsonl.h"
#include "datasets/files/mooncake.h"
#include "datasets/files/sharegpt.h"
#include "datasets/files/token_traces.h"
#include "datasets/synthetic/multi_turn.h"
#include "datasets/synthetic/prefix_arms.h"
#include "datasets/synthetic/prefix_cycle.h"
#include "datasets/synthetic/recall.h"
#include "datasets/synthetic/shared_prefix.h"
#include "datasets/synthetic/synthetic.h"

namespace paretoken::datasets {
namespace {

constexpr std::array kCatalog = {
    CatalogRow{.name = "synthetic",
               .title = "Random prompts of a wanted length",
               .fields = "isl=512,osl=128,ratio=0",
               .make = make_synthetic},
    CatalogRow{.name = "shared_prefix",
               .title = "Random prompts that begin alike",
               .fields = "groups=8,levels=1000;500,unique=200,zipf=0,osl=128",
               .make = make_shared_prefix,
               .prompt_lengths = "its fields levels and unique"},
    CatalogRow{.name = "prefix_arms",
               .title = "Prompts of `paretoken cache`, which repeat prefixes in several ways",
               .fields = "prefixes=256;1024,suffix=64,osl=16,hits=0.5;0.9",
               .make = make_prefix_arms,
               .prompt_lengths = "its fields prefixes and suffix"},
    CatalogRow{.name = "prefix_cycle",
               .title = "A number of prefixes in turn, to find the working set that a cache holds",
               .fields = "prefixes=8,prefix=1024,suffix=64,osl=16",
               .make = make_prefix_cycle,
               .prompt_lengths = "its fields prefix and suffix"},
    CatalogRow{.name = "recall",
               .title = "Questions of `--probe recall`: values to be found in long texts",
               .fields = "ctx=4k,n=40,osl=64",
               .make = make_recall,
               .prompt_lengths = "its field ctx"},
    CatalogRow{.name = "multi_turn",
               .title = "Conversations of random messages",
               .fields = "turns=4,first=500,next=100,osl=128",
               .make = make_multi_turn,
               .conversations = true,
               .prompt_lengths = "its fields first and next"},
    CatalogRow{
        .name = "agents",
        .title = "Generated jobs of agents with tools, by lengths",
        .fields = "jobs=100,turns=8,fanout=2,subturns=3,prefix=1024,first=500,next=200,osl=128,tool=2s",
        .make = make_agents,
        .generated = agents_format,
        .conversations = true,
        .prompt_lengths = "its fields prefix, first and next"},
    CatalogRow{.name = "custom",
               .title = "Prompts from a file of JSON lines",
               .fields = "path=FILE,osl=128,unit=ms",
               .make = make_custom_jsonl,
               .format = custom_format,
               .makes_prompts = false,
               .conversations = true,
               .prompt_lengths = "the texts in its file",
               .example = R"({"prompt": "Which river is the longest?", "output_tokens": 64, "at_s": 0.5})"},
    CatalogRow{
        .name = "columns",
        .title = "Rows of a table or of JSON lines whose columns have other names, as with prompt=question",
        .fields = "path=FILE,prompt=NAME,input_tokens=NAME,output_tokens=NAME,timestamp=NAME,unit=ms",
        .make = make_columns,
        .format = columns_format,
        .conversations = true,
        .prompt_lengths = "the rows of its file",
        .example =
            R"(question,answer_tokens
Which river is the longest?,64)"},
    CatalogRow{
        .name = "sharegpt",
        .title = "ShareGPT's conversations, as many turns of each",
        .fields = "path=FILE,turns=1,osl=N",
        .make = make_sharegpt,
        .format = sharegpt_format,
        .makes_prompts = false,
        .conversations = true,
        .prompt_lengths = "the texts in its file",
        .example =
            R"({"conversations": [{"from": "human", "value": "Which river is the longest?"}, {"from": "gpt", "value": "The Nile."}]})"},
    CatalogRow{
        .name = "mooncake",
        .title = "Mooncake's traces: times, lengths and shared prefixes; Bailian's with block=16,unit=s",
        .fields = "path=FILE,block=512,unit=ms",
        .make = make_mooncake,
        .format = mooncake_format,
        .prompt_lengths = "the rows of its file",
        .example = R"({"timestamp": 500, "input_length": 1100, "output_length": 50, "hash_ids": [0, 1, 2]})"},
    CatalogRow{
        .name = "mooncake_session",
        .title = "Mooncake's rows with sessions: conversations with pauses",
        .fields = "path=FILE,block=512,unit=ms",
        .make = make_mooncake_session,
        .format = mooncake_session_format,
        .conversations = true,
        .prompt_lengths = "the rows of its file",
        .example =
            R"({"session_id": "a", "timestamp": 0, "input_length": 1024, "output_length": 50, "hash_ids": [0, 1]}
{"session_id": "a", "delay": 1200, "input_length": 1536, "output_length": 30, "hash_ids": [0, 1, 2]})"},
    CatalogRow{
        .name = "agentic_mooncake",
        .title = "Mooncake's rows with waits: jobs of agents with tools",
        .fields = "path=FILE,block=512,unit=ms",
        .make = make_agentic_mooncake,
        .format = agentic_mooncake_format,
        .conversations = true,
        .prompt_lengths = "the rows of its file",
        .example =
            R"({"request_id": "r1", "session_id": "a", "timestamp": 0, "input_length": 1024, "output_length": 60, "hash_ids": [0, 1]}
{"request_id": "r2", "session_id": "b", "wait_for": ["r1"], "tool_wait_ms": 1500, "input_length": 512, "output_length": 40})"},
    CatalogRow{
        .name = "weka",
        .title = "Weka's and AgentX's traces: jobs of agents, by lengths and hash ids",
        .fields = "path=FILE,t=agent",
        .make = make_weka,
        .format = weka_format,
        .conversations = true,
        .prompt_lengths = "the rows of its file",
        .example =
            R"({"id": "a", "block_size": 64, "requests": [{"t": 0, "in": 128, "out": 40, "hash_ids": [1, 2], "api_time": 2.5}]})"},
    CatalogRow{
        .name = "mlperf_agentic",
        .title = "MLPerf's agentic rows: jobs with tool messages and recorded answers",
        .fields = "path=FILE,osl=128",
        .make = make_mlperf_agentic,
        .format = mlperf_agentic_format,
        .makes_prompts = false,
        .conversations = true,
        .prompt_lengths = "the texts in its file",
        .replies = "recorded",
        .example =
            R"({"conversation_id": "a", "turn": 1, "role": "user", "content": "What is in src?", "max_new_tokens": 512}
{"conversation_id": "a", "turn": 2, "role": "assistant", "content": "A parser."})"},
    CatalogRow{
        .name = "dag_jsonl",
        .title = "AIPerf's dag_jsonl: agents that fork and spawn others",
        .fields = "path=FILE,osl=128",
        .make = make_dag_jsonl,
        .format = dag_jsonl_format,
        .makes_prompts = false,
        .conversations = true,
        .prompt_lengths = "the texts in its file",
        .example =
            R"({"session_id": "a", "turns": [{"messages": [{"role": "user", "content": "Compare two parsers."}], "max_tokens": 80}]})"},
    CatalogRow{.name = "otel_spans",
               .title = "OpenTelemetry's spans of generative AI: sessions with tools and sub-agents",
               .fields = "path=FILE,osl=128",
               .make = make_otel_spans,
               .format = otel_spans_format,
               .makes_prompts = false,
               .conversations = true,
               .prompt_lengths = "the texts in its file",
               .example =
                   R"({"trace_id": "a", "spans": [{"span_id": "s", "start_time": "2026-08-01T10:00:00Z",
 "end_time": "2026-08-01T10:00:02Z", "attributes": {"gen_ai.operation.name": "chat",
 "gen_ai.usage.output_tokens": 24, "gen_ai.input.messages": [{"role": "user",
 "parts": [{"type": "text", "content": "What is in src?"}]}]}}]})"},
    CatalogRow{
        .name = "turns",
        .title = "Turns of jobs by their lengths, as `paretoken dataset convert` writes them",
        .fields = "path=FILE,osl=128,unit=ms",
        .make = make_turns,
        .format = turns_format,
        .conversations = true,
        .prompt_lengths = "the rows of its file",
        .example =
            R"({"at_s": 0.5, "input_tokens": 1100, "output_tokens": 50, "hash_ids": [0, 1, 2], "block_tokens": 512})"},
    CatalogRow{.name = "azure",
               .title = "Azure's LLM traces: times and lengths",
               .fields = "path=FILE",
               .make = make_azure,
               .format = azure_format,
               .prompt_lengths = "the rows of its file",
               .example =
                   R"(TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44)"},
    CatalogRow{.name = "burstgpt",
               .title = "BurstGPT's traces: times and lengths",
               .fields = "path=FILE",
               .make = make_burstgpt,
               .format = burstgpt_format,
               .prompt_lengths = "the rows of its file",
               .example =
                   R"(Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log)"},
    CatalogRow{.name = "log",
               .title = "A gateway's log: times and lengths",
               .fields = "path=FILE",
               .make = make_log,
               .format = log_format,
               .prompt_lengths = "the rows of its file",
               .example = R"({"at": "2026-11-21T09:00:00Z", "prompt_tokens": 20, "completion_tokens": 5})"},
};

const CatalogRow& row_of(const std::string& name) {
    std::string known;
    for (const CatalogRow& row : kCatalog) {
        if (row.name == name) return row;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    throw UsageError(fmt::format("--dataset '{}' is not a dataset; known are {}", name, known));
}

/// Refuses --isl and --range-ratio, which are the fields "isl" and "ratio", for a dataset whose prompts have
/// other lengths.
void refuse_lengths_of_prompts(const CatalogRow& row, const Spec& spec) {
    if (row.prompt_lengths.empty()) return;
    for (const auto& [field, option] : {std::pair{"isl", "--isl"}, std::pair{"ratio", "--range-ratio"}}) {
        const auto given = spec.fields.find(field);
        if (given == spec.fields.end()) continue;
        throw UsageError(fmt::format(
            "{} {}: the prompts of dataset '{}' get their lengths from {}; leave {} out, or use --dataset "
            "synthetic",
            option, given->second, row.name, row.prompt_lengths, option));
    }
}

}  // namespace

std::string_view name_of(PromptForm form) {
    return form == PromptForm::text ? "text" : "token ids";
}

DatasetOptions in_form(DatasetOptions options, PromptForm form) {
    options.form = form;
    return options;
}

std::span<const CatalogRow> catalog() {
    return kCatalog;
}

std::string names_of_file_formats() {
    std::string names;
    for (const CatalogRow& row : kCatalog)
        if (row.format != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    return names;
}

std::unique_ptr<Dataset> make_dataset(const DatasetOptions& options) {
    const CatalogRow& row = row_of(options.spec.name);
    const std::string file = file_of(options.spec, options.path);
    refuse_lengths_of_prompts(row, options.spec);
    try {
        return row.make(options);
    } catch (const UsageError& error) {
        const std::string_view what = error.what();
        if (what.starts_with("--") || (!file.empty() && what.starts_with(file))) throw;
        throw UsageError(fmt::format("--dataset {}: {}", row.name, what));
    }
}

bool makes_prompts(const Spec& spec) {
    const bool names_texts = spec.fields.contains("prompt") || spec.fields.contains("messages");  // columns
    return row_of(spec.name).makes_prompts && !names_texts;
}

bool has_conversations(const Spec& spec) {
    return row_of(spec.name).conversations;
}

std::string_view usual_replies(const Spec& spec) {
    return row_of(spec.name).replies;
}

RowFormat row_format_of(const Spec& spec) {
    const CatalogRow& row = row_of(spec.name);
    if (row.format == nullptr) throw UsageError(fmt::format("--dataset '{}' is not a file", spec.name));
    return row.format(spec);
}

std::optional<RowFormat> generated_format(const Spec& spec, std::uint64_t seed) {
    for (const CatalogRow& row : kCatalog)
        if (row.name == spec.name && row.generated != nullptr) return row.generated(spec, seed);
    return std::nullopt;
}

std::string file_of(const Spec& spec, const std::string& path) {
    const CatalogRow& row = row_of(spec.name);
    const auto field = spec.fields.find("path");
    if (row.format == nullptr) return {};
    if (!path.empty()) return path;
    if (field != spec.fields.end() && !field->second.empty()) return field->second;
    throw UsageError(
        fmt::format("--dataset '{}' needs a file: {}:path=FILE, or --dataset-path", spec.name, spec.name));
}

}  // namespace paretoken::datasets
