// paretoken dataset: describes a file of requests, converts it to a file of JSON lines, and audits a log of
// requests for prefix caching.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "core/error.h"
#include "core/text/number_text.h"
#include "core/text/printable.h"
#include "datasets/audit/audit.h"
#include "datasets/catalog.h"
#include "datasets/describe.h"
#include "datasets/files/turn_file.h"
#include "datasets/recognise.h"

namespace paretoken::cli {
namespace {

using Json = nlohmann::ordered_json;
using datasets::FileDescription;
using datasets::LengthSummary;
using datasets::RateSummary;

struct DatasetCommand {
    std::string file;
    std::string to;
    std::string dataset;  ///< empty: guessed from the file
    std::string salt;
    std::uint64_t seed = 0;
    bool json = false;
};

Spec spec_of(const DatasetCommand& command) {
    return parse_spec(command.dataset.empty() ? datasets::guessed_format(command.file) : command.dataset);
}

/// Returns how the rows are made, if a generated dataset is named in place of a file.
std::optional<datasets::RowFormat> generated_in(const DatasetCommand& command) {
    const std::string name = command.file.substr(0, command.file.find(':'));
    if (!command.dataset.empty() || !is_plain_name(name) || std::filesystem::exists(command.file)) return {};
    if (!datasets::generated_format({name, {}}, command.seed)) return {};
    return datasets::generated_format(parse_spec(command.file), command.seed);
}

Json json_of(const LengthSummary& v) {
    return {{"mean", v.mean}, {"p50", v.p50}, {"p95", v.p95}, {"p99", v.p99}, {"max", v.max}};
}

Json json_of(const RateSummary& v) {
    return {{"mean", v.mean},
            {"peak_second", v.peak_second},
            {"peak_minute", v.peak_minute},
            {"peak_hour", v.peak_hour}};
}

Json json_of(const datasets::JobSummary& jobs) {
    Json json{{"jobs", jobs.jobs},
              {"agents", jobs.agents},
              {"background_agents", jobs.background_agents},
              {"turns", jobs.turns},
              {"depth", jobs.depth},
              {"waits_between_agents", jobs.waits_between_agents},
              {"shrinking_prompts", jobs.shrinking},
              {"agents_per_job", json_of(jobs.agents_per_job)},
              {"turns_per_job", json_of(jobs.turns_per_job)}};
    if (jobs.delay_s) json["delay_s"] = json_of(*jobs.delay_s);
    if (jobs.tool_s) json["tool_s"] = json_of(*jobs.tool_s);
    if (jobs.best_hit) json["best_possible_cache_hit"] = *jobs.best_hit;
    return json;
}

std::string json_text(const FileDescription& d) {
    Json json{{"schema", "paretoken/dataset/1"}, {"format", d.format}, {"rows", d.rows}};
    if (d.input) json["input_tokens"] = json_of(*d.input);
    if (d.output) json["output_tokens"] = json_of(*d.output);
    if (d.total) json["total_tokens"] = json_of(*d.total);
    if (d.seconds) json["seconds"] = *d.seconds;
    if (d.requests_per_s) json["requests_per_s"] = json_of(*d.requests_per_s);
    if (d.prompt_tokens_per_s) json["prompt_tokens_per_s"] = json_of(*d.prompt_tokens_per_s);
    if (d.block_hits) json["infinite_cache_block_hits"] = *d.block_hits;
    if (d.token_hits) json["infinite_cache_token_hits"] = *d.token_hits;
    if (d.jobs) json["jobs"] = json_of(*d.jobs);
    if (d.max_model_len) json["max_model_len"] = *d.max_model_len;
    if (!d.notes.empty()) json["notes"] = d.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string length_row(std::string_view name, const std::optional<LengthSummary>& v) {
    if (!v)
        return fmt::format("{:<22}not in the file; they depend on the model's tokenizer\n",
                           fmt::format("{} tokens", name));
    return fmt::format("{:<22}{:>10.0f}{:>10.0f}{:>10.0f}{:>10.0f}{:>10.0f}\n",
                       fmt::format("{} tokens", name), v->mean, v->p50, v->p95, v->p99, v->max);
}

std::string rate_row(std::string_view name, const std::optional<RateSummary>& v) {
    if (!v) return {};
    return fmt::format("{:<22}{:>10}{:>10}{:>10}{:>10}\n", name, number_text(v->mean),
                       number_text(v->peak_second), number_text(v->peak_minute), number_text(v->peak_hour));
}

std::string pause_row(std::string_view name, const std::optional<LengthSummary>& v) {
    if (!v) return {};
    return fmt::format("{:<22}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name, number_text(v->mean),
                       number_text(v->p50), number_text(v->p95), number_text(v->p99), number_text(v->max));
}

std::string text_of(const datasets::JobSummary& jobs) {
    std::string text = fmt::format("\n{} jobs of {} agents and {} turns", jobs.jobs, jobs.agents, jobs.turns);
    if (jobs.depth > 1) text += fmt::format("; agents start others, up to a depth of {}", jobs.depth);
    if (jobs.waits_between_agents > 0)
        text += fmt::format("; {} waits of turns for other agents", jobs.waits_between_agents);
    if (jobs.background_agents > 0)
        text += fmt::format("; {} agents of the background", jobs.background_agents);
    text += fmt::format("\n{:<22}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "mean", "p50", "p95", "p99", "max");
    text += pause_row("agents per job", jobs.agents_per_job) + pause_row("turns per job", jobs.turns_per_job);
    text +=
        pause_row("delay before turns, s", jobs.delay_s) + pause_row("tools before turns, s", jobs.tool_s);
    if (jobs.shrinking > 0)
        text += fmt::format("{} prompts are shorter than the one before in their agent.\n", jobs.shrinking);
    if (jobs.best_hit)
        text += fmt::format(
            "The best possible cache hit, with whole blocks and each job alone, is {:.2f} % of the prompt "
            "tokens.\n",
            100 * *jobs.best_hit);
    return text;
}

std::string text_of(const FileDescription& d) {
    std::string text = fmt::format("{} rows in the format of {}\n\n", d.rows, d.format);
    text += fmt::format("{:<22}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "mean", "p50", "p95", "p99", "max");
    text += length_row("input", d.input) + length_row("output", d.output);
    if (d.total) text += length_row("total", d.total);
    if (d.requests_per_s) {
        text += fmt::format("\n{:<22}{:>10}{:>10}{:>10}{:>10}\n", fmt::format("over {:.6g} s", *d.seconds),
                            "mean", "peak 1 s", "1 min", "1 h");
        text += rate_row("requests/s", d.requests_per_s) + rate_row("prompt tokens/s", d.prompt_tokens_per_s);
        if (d.jobs)
            text += "Later turns of jobs are counted after their pauses, as if answers took no time.\n";
    }
    if (d.block_hits)
        text += fmt::format(
            "\nAn unlimited prefix cache finds {:.2f} % of the blocks and {:.2f} % of the prompt tokens.\n",
            100 * *d.block_hits, 100 * d.token_hits.value_or(0));
    if (d.jobs) text += text_of(*d.jobs);
    if (d.max_model_len)
        text += fmt::format("\n--max-model-len {} holds 1.2 times the p99 of a prompt and its answer.\n",
                            *d.max_model_len);
    for (const std::string& note : d.notes) text += fmt::format("\nNote: {}.\n", note);
    return text;
}

void describe(const DatasetCommand& command) {
    const auto generated = generated_in(command);
    const FileDescription description = datasets::description_of(
        command.file, generated ? *generated : datasets::row_format_of(spec_of(command)));
    print("{}", command.json ? json_text(description) + "\n" : text_of(description));
    std::fflush(stdout);
}

Json json_of(const Messages& messages) {
    Json list = Json::array();
    for (const Message& message : messages) {
        Json object{{"role", message.role},
                    {"content", message.parts.empty() ? Json(message.content) : Json::parse(message.parts)}};
        object.update(Json::parse("{" + message.fields + "}"));
        list.push_back(std::move(object));
    }
    return list;
}

/// Writes a row: a prompt of messages, of a text or of token ids, or only its lengths and blocks.
Json json_of(const datasets::Row& turn, std::optional<Duration> at) {
    Json row = Json::object();
    if (at) row["at_s"] = seconds(*at);
    if (!turn.request_class.empty()) row["class"] = turn.request_class;
    if (!turn.slo.empty()) row["slo"] = turn.slo;
    if (!turn.model.empty()) row["model"] = turn.model;
    if (turn.prompt) {
        if (const auto* messages = std::get_if<Messages>(&*turn.prompt))
            row["messages"] = json_of(*messages);
        else if (const auto* ids = std::get_if<TokenIds>(&*turn.prompt))
            row["prompt"] = *ids;
        else
            row["prompt"] = std::get<std::string>(*turn.prompt);
    }
    if (turn.input_tokens) row["input_tokens"] = *turn.input_tokens;
    if (turn.output_tokens) row["output_tokens"] = *turn.output_tokens;
    if (!turn.blocks.empty()) row["hash_ids"] = turn.blocks;
    if (!turn.blocks.empty()) row["block_tokens"] = turn.block_tokens;
    if (!turn.blocks.empty() && turn.scope != 0) row["hash_scope"] = "job";
    if (!turn.blocks.empty() && turn.shared_blocks > 0) row["shared_blocks"] = turn.shared_blocks;
    if (!turn.body.empty()) row["body"] = Json::parse(turn.body);
    return row;
}

std::string id_of(std::uint64_t job, std::uint32_t turn) {
    return fmt::format("{}.{}", job, turn);
}

/// Adds the fields of a turn's part in its job.
void add_job_fields(Json& row, std::uint64_t job, std::uint32_t number, const datasets::JobGraph& graph,
                    bool has_jobs) {
    const datasets::JobTurn& turn = graph.turns[number];
    const auto is_before = [&](std::uint32_t other) { return graph.turns[other].agent == turn.agent; };
    row["conversation"] = has_jobs ? fmt::format("{}.{}", job, turn.agent) : fmt::format("{}", job);
    if (has_jobs) {
        row["job"] = fmt::format("{}", job);
        row["id"] = id_of(job, number);
    }
    for (const std::uint32_t other : turn.after)
        if (!is_before(other) && other != turn.history) row["after"].push_back(id_of(job, other));
    if (turn.history && !is_before(*turn.history)) row["fork_of"] = id_of(job, *turn.history);
    if (turn.delay > Duration{}) row["delay_s"] = seconds(turn.delay);
    if (turn.tool > Duration{}) row["tool_s"] = seconds(turn.tool);
    if (turn.background) row["background"] = true;
}

/// Returns the rows of a job's turns. A turn that continues another has only the messages that are new.
std::vector<Json> rows_of_job(const datasets::TurnFile& file, std::uint64_t job,
                              const datasets::RowFormat& format) {
    const auto graph = file.jobs().graph(job);
    const bool has_jobs = file.jobs().has_jobs();
    std::vector<Json> rows;
    for (std::uint32_t turn = 0; turn < graph->turns.size(); ++turn) {
        datasets::Row row = file.turn(job, turn);
        if (row.block_tokens == 0) row.block_tokens = format.block_tokens;
        rows.push_back(json_of(row, turn == 0 ? file.recorded_time(job) : std::nullopt));
        if (row.whole_prompt && graph->turns[turn].number > 0) rows.back()["whole_prompt"] = true;
        if (has_jobs || graph->turns.size() > 1) add_job_fields(rows.back(), job, turn, *graph, has_jobs);
    }
    return rows;
}

/// Writes the rows of a file of jobs or conversations, whose lengths, blocks and waits are kept.
void convert_jobs(const datasets::TurnFile& file, const datasets::RowFormat& format,
                  const std::function<void(const Json&)>& write) {
    for (std::uint64_t job = 0; job < file.jobs().size(); ++job)
        for (const Json& row : rows_of_job(file, job, format)) write(row);
}

/// Writes the rows of a file of single requests, for which prompts are made up where they are not in the
/// file.
void convert_requests(const DatasetCommand& command, const Spec& spec,
                      const std::function<void(const Json&)>& write) {
    const auto dataset = datasets::make_dataset(
        {.spec = spec, .salt = command.salt, .path = command.file, .live_replies = false});
    for (std::uint64_t i = 0; i < dataset->size(); ++i) {
        Request request = dataset->request(i);
        datasets::Row row{.prompt = std::move(request.prompt),
                          .input_tokens = request.wanted_input_tokens,
                          .output_tokens = request.wanted_output_tokens};
        row.request_class = std::move(request.request_class);
        row.slo = std::move(request.slo);
        row.model = std::move(request.model);
        row.body = std::move(request.body);
        write(json_of(row, dataset->recorded_time(i)));
    }
}

void convert(const DatasetCommand& command) {
    const bool to_output = command.to == "-";
    if (!to_output && std::filesystem::exists(command.to))
        throw UsageError(fmt::format("{} exists already; give another name", command.to));
    const auto generated = generated_in(command);
    const Spec spec = generated ? parse_spec(command.file) : spec_of(command);
    if (!command.salt.empty() && !datasets::makes_prompts(spec))
        throw UsageError(fmt::format(
            "--salt: it is for prompts that are made up, and {} holds its own; leave it out", command.file));
    const datasets::RowFormat format = generated ? *generated : datasets::row_format_of(spec);
    const datasets::TurnFile file(command.file, format, false, [](const auto&, const auto&) {});
    for (const std::string& note : file.notes())
        fmt::print(stderr, "paretoken: warning: {}: {}\n", command.file, note);
    std::ofstream out;
    if (!to_output) out.open(command.to, std::ios::binary);
    std::uint64_t rows = 0;
    const auto write = [&](const Json& row) {
        const std::string text = row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        ++rows;
        if (to_output)
            print("{}", text);
        else
            out << text;
    };
    const bool has_jobs = file.jobs().has_jobs() || file.jobs().has_conversations();
    if (has_jobs && !command.salt.empty())
        throw UsageError(
            fmt::format("--salt: {} holds jobs, of which the lengths and hash ids are written, not "
                        "prompts; leave it out",
                        command.file));
    if (has_jobs)
        convert_jobs(file, format, write);
    else
        convert_requests(command, spec, write);
    if (!to_output) out.close();
    if (!out)
        throw RuntimeError(fmt::format(
            "cannot write {}: check that its directory exists, can be written and has space", command.to));
    print(stderr, "{} rows written to {}\n", rows, to_output ? "standard output" : command.to);
    // The format that is written has no field for this, and continues with the server's answers by default.
    if (const std::string_view replies = generated ? "" : datasets::usual_replies(spec); !replies.empty())
        print(stderr, "Run them with --replies {}, as {} does: their follow-ups belong to these answers.\n",
              replies, spec.name);
}

// ---- audit

constexpr double kLittleServed = 0.6;  // share of the input; below it, prompts or routing should be checked

Json json_of(const datasets::AuditGroup& group) {
    Json json{{"requests", group.requests}, {"with_usage", group.with_usage}};
    if (const auto served = group.served()) {
        json["input_tokens"] = group.input_tokens;
        json["cached_tokens"] = group.cached_tokens;
        json["served_from_cache"] = *served;
    }
    return json;
}

std::string json_text(const datasets::LogAudit& audit) {
    Json json{{"schema", "paretoken/audit/1"},
              {"lines", audit.lines},
              {"prompts", audit.prompts},
              {"without_anything", audit.without_anything},
              {"impossible_usage", audit.impossible},
              {"all", json_of(audit.all)}};
    for (const auto& group : audit.groups) {
        json["groups"].push_back(json_of(group));
        json["groups"].back()["name"] = group.name;
    }
    for (const auto& stretch : audit.stretches) {
        json["stretches"].push_back(json_of(stretch));
        json["stretches"].back()["first_line"] = stretch.first_line;
        if (!stretch.name.empty()) json["stretches"].back()["time"] = stretch.name;
    }
    if (audit.cacheable) json["cacheable"] = *audit.cacheable;
    if (audit.cacheable_moved) json["cacheable_with_parts_moved_back"] = *audit.cacheable_moved;
    for (const auto& change : audit.changes)
        json["changes"].push_back({{"group", change.group},
                                   {"kind", datasets::name_of(change.kind)},
                                   {"example", change.example},
                                   {"before", change.before},
                                   {"at_byte", change.at},
                                   {"prompts", change.prompts}});
    if (audit.prompts > 0) {
        json["blocks_room"] = audit.blocks_room;
        json["blocks_forgotten"] = audit.blocks_forgotten;
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string served_text(const datasets::AuditGroup& group) {
    const auto served = group.served();
    if (!served) return "not reported";
    return fmt::format("{:.1f} %{}", *served * 100, *served < kLittleServed ? "  below 60 %" : "");
}

std::string text_of(const datasets::LogAudit& audit) {
    std::string text = fmt::format("{} lines, {} with the text of a prompt, {} with usage", audit.lines,
                                   audit.prompts, audit.all.with_usage);
    if (audit.without_anything > 0) text += fmt::format(", {} with neither", audit.without_anything);
    if (audit.impossible > 0)
        text += fmt::format("\n{} with more cached than input tokens in their usage, which is left out",
                            audit.impossible);
    text += fmt::format("\n\ninput served from the cache   {}\n", served_text(audit.all));
    if (audit.all.with_usage > 0 && audit.groups.size() > 1)
        for (const auto& group : audit.groups)
            text += fmt::format("  {:<27} {}\n",
                                printable_line(group.name.empty() ? "(no class)" : group.name, 27),
                                served_text(group));
    if (audit.all.with_usage > 0 && audit.stretches.size() > 1) {
        text += "over the log, by first line\n";
        for (const auto& stretch : audit.stretches)
            text += fmt::format("  {:<27} {}\n",
                                printable_line(fmt::format("{} {}", stretch.first_line, stretch.name), 27),
                                served_text(stretch));
    }
    if (!audit.cacheable) return text;
    text += fmt::format("\nprompt bytes that repeat the start of an earlier prompt  {:.1f} %\n",
                        *audit.cacheable * 100);
    if (audit.cacheable_moved)
        text += fmt::format("the same, with changing parts at the end of the prompt   {:.1f} %\n",
                            *audit.cacheable_moved * 100);
    for (const auto& change : audit.changes)
        text += fmt::format(
            "\n{}: a {} changes at byte {} (\"{}\", after \"{}\") in {} prompts. A prefix cache has no "
            "hits after this place: move the changing part to the end of the prompt.\n",
            printable_line(change.group.empty() ? "prompts" : change.group, 40),
            datasets::name_of(change.kind), change.at, printable_line(change.example, 40),
            printable_line(change.before, 40), change.prompts);
    if (audit.blocks_forgotten > 0)
        text += fmt::format(
            "\nThe table of {} blocks of 256 bytes was full, and {} blocks were dropped: the true shares may "
            "be higher.\n",
            audit.blocks_room, audit.blocks_forgotten);
    return text;
}

void audit(const DatasetCommand& command) {
    const datasets::LogAudit found = datasets::audit_of_log(command.file);
    print("{}", command.json ? json_text(found) + "\n" : text_of(found));
    std::fflush(stdout);
}

void add_file(CLI::App& sub, DatasetCommand& command) {
    sub.add_option("file", command.file, "File of requests, or generated jobs: agents:jobs=100,fanout=2")
        ->type_name("FILE")
        ->required();
    sub.add_option("--seed", command.seed, "Seed of generated jobs [0]");
    sub.add_option("--dataset", command.dataset,
                   fmt::format("Format of the file, one of {} [recognised by its first row]",
                               datasets::names_of_file_formats()))
        ->type_name("NAME");
}

}  // namespace

void add_dataset(CLI::App& app) {
    CLI::App* sub = app.add_subcommand("dataset", "Describe, convert or audit a file of requests");
    sub->require_subcommand(1);
    const auto command = std::make_shared<DatasetCommand>();

    CLI::App* described = sub->add_subcommand("describe",
                                              "Show lengths, rates and shared prefixes of the requests, and "
                                              "the context length that a server needs for them");
    add_file(*described, *command);
    described->add_flag("--json", command->json, "Print JSON");
    described->footer("`paretoken help datasets` has an example of each format's rows.");
    described->callback([command] { describe(*command); });

    CLI::App* audited = sub->add_subcommand(
        "audit",
        "Show what a prefix cache finds in a log's requests, and which changes near their start "
        "prevent hits");
    audited->add_option("file", command->file, "Log: JSON lines of requests, of usage, or of both")
        ->type_name("LOG")
        ->required();
    audited->add_flag("--json", command->json, "Print JSON");
    audited->callback([command] { audit(*command); });

    CLI::App* converted = sub->add_subcommand(
        "convert",
        "Write the requests as JSON lines, the format of --dataset custom; of traces of jobs, the lengths "
        "and waits, the format of --dataset turns");
    add_file(*converted, *command);
    converted->add_option("out", command->to, "File to write, or - for standard output")
        ->type_name("OUT.jsonl")
        ->required();
    converted->add_option("--salt", command->salt, "Text that makes generated prompts new to a prefix cache");
    converted->callback([command] { convert(*command); });
}

}  // namespace paretoken::cli
