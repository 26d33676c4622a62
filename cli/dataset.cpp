// paretoken dataset: describes a file of requests, converts it to a file of JSON lines, and audits a log of
// requests for prefix caching.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/print.h"
#include "core/error.h"
#include "core/text/number_text.h"
#include "core/text/printable.h"
#include "datasets/audit/audit.h"
#include "datasets/catalog.h"
#include "datasets/describe.h"
#include "datasets/files/conversation_index.h"

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
    bool json = false;
};

Spec spec_of(const DatasetCommand& command) {
    return parse_spec(command.dataset.empty() ? datasets::guessed_format(command.file) : command.dataset);
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

std::string text_of(const FileDescription& d) {
    std::string text = fmt::format("{} rows in the format of {}\n\n", d.rows, d.format);
    text += fmt::format("{:<22}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "mean", "p50", "p95", "p99", "max");
    text += length_row("input", d.input) + length_row("output", d.output);
    if (d.total) text += length_row("total", d.total);
    if (d.requests_per_s) {
        text += fmt::format("\n{:<22}{:>10}{:>10}{:>10}{:>10}\n", fmt::format("over {:.6g} s", *d.seconds),
                            "mean", "peak 1 s", "1 min", "1 h");
        text += rate_row("requests/s", d.requests_per_s) + rate_row("prompt tokens/s", d.prompt_tokens_per_s);
    }
    if (d.block_hits)
        text += fmt::format(
            "\nAn unlimited prefix cache finds {:.2f} % of the blocks and {:.2f} % of the prompt "
            "tokens.\n",
            100 * *d.block_hits, 100 * d.token_hits.value_or(0));
    if (d.max_model_len)
        text += fmt::format("\n--max-model-len {} holds 1.2 times the p99 of a prompt and its answer.\n",
                            *d.max_model_len);
    for (const std::string& note : d.notes) text += fmt::format("\nNote: {}.\n", note);
    return text;
}

void describe(const DatasetCommand& command) {
    const FileDescription description =
        datasets::description_of(command.file, datasets::row_format_of(spec_of(command)));
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

Json json_of(const Request& request, std::optional<Duration> at) {
    Json row = Json::object();
    if (at) row["at_s"] = seconds(*at);
    if (!request.request_class.empty()) row["class"] = request.request_class;
    if (!request.slo.empty()) row["slo"] = request.slo;
    if (!request.model.empty()) row["model"] = request.model;
    if (const auto* messages = std::get_if<Messages>(&request.prompt)) {
        row["messages"] = json_of(*messages);
    } else if (const auto* ids = std::get_if<TokenIds>(&request.prompt)) {
        row["prompt"] = *ids;
    } else {
        row["prompt"] = std::get<std::string>(request.prompt);
    }
    if (request.wanted_input_tokens) row["input_tokens"] = *request.wanted_input_tokens;
    if (request.wanted_output_tokens) row["output_tokens"] = *request.wanted_output_tokens;
    if (!request.body.empty()) row["body"] = Json::parse(request.body);
    return row;
}

void convert(const DatasetCommand& command) {
    if (std::filesystem::exists(command.to))
        throw UsageError(fmt::format("{} exists already; give another name", command.to));
    const Spec spec = spec_of(command);
    if (!command.salt.empty() && !datasets::makes_prompts(spec))
        throw UsageError(fmt::format(
            "--salt: it is for prompts that are made up, and {} holds its own; leave it out", command.file));
    const auto dataset = datasets::make_dataset(
        {.spec = spec, .salt = command.salt, .path = command.file, .live_replies = false});
    for (const std::string& note : dataset->notes()) fmt::print(stderr, "paretoken: warning: {}\n", note);
    std::ofstream out(command.to, std::ios::binary);
    std::uint64_t rows = 0;
    const auto write = [&](const Json& row) {
        out << row.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
        ++rows;
    };
    for (std::uint64_t i = 0; i < dataset->size(); ++i) {
        const Request opening = dataset->request(i);
        Json row = json_of(opening, dataset->recorded_time(i));
        const std::uint32_t turns = dataset->turns(i);
        if (turns > 1) row["conversation"] = fmt::format("{}", i);
        write(row);
        std::size_t said = turns > 1 ? datasets::messages_of(opening.prompt).size() : 0;
        for (std::uint32_t turn = 1; turn < turns; ++turn) {
            Request request = dataset->follow_up(i, turn, {.prompt = opening.prompt, .reply = {}});
            Messages& messages = std::get<Messages>(request.prompt);
            const std::size_t all = messages.size();
            messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(said));
            said = all;
            Json follow_up = json_of(request, dataset->recorded_time(i));
            follow_up["conversation"] = fmt::format("{}", i);
            write(follow_up);
        }
    }
    out.close();
    if (!out)
        throw RuntimeError(fmt::format(
            "cannot write {}: check that its directory exists, can be written and has space", command.to));
    print(stderr, "{} rows written to {}\n", rows, command.to);
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
    sub.add_option("file", command.file, "File of requests")->type_name("FILE")->required();
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

    CLI::App* converted =
        sub->add_subcommand("convert", "Write the requests as JSON lines, the format of --dataset custom");
    add_file(*converted, *command);
    converted->add_option("out", command->to, "File to write")->type_name("OUT.jsonl")->required();
    converted->add_option("--salt", command->salt, "Text that makes generated prompts new to a prefix cache");
    converted->callback([command] { convert(*command); });
}

}  // namespace paretoken::cli
