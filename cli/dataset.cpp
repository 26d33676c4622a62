// paretoken dataset: what a file of requests holds, and the same requests as a file of JSON lines.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/error.h"
#include "core/number_text.h"
#include "datasets/conversation_index.h"
#include "datasets/describe.h"

namespace paretoken::cli {
namespace {

using Json = nlohmann::ordered_json;
using datasets::FileDescription;
using datasets::LengthSummary;
using datasets::RateSummary;

struct DatasetCommand {
    std::string file;
    std::string to;
    std::string dataset;  ///< empty: guessed
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
    return json.dump(2);
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
            "\nA prefix cache that forgets nothing finds {:.2f} % of the blocks and {:.2f} % of the prompt "
            "tokens.\n",
            100 * *d.block_hits, 100 * d.token_hits.value_or(0));
    if (d.max_model_len)
        text += fmt::format("\n--max-model-len {} holds 1.2 times the p99 of a prompt and its answer.\n",
                            *d.max_model_len);
    return text;
}

void describe(const DatasetCommand& command) {
    const FileDescription description =
        datasets::description_of(command.file, datasets::row_format_of(spec_of(command)));
    fmt::print("{}", command.json ? json_text(description) + "\n" : text_of(description));
    std::fflush(stdout);
}

Json json_of(const Messages& messages) {
    Json list = Json::array();
    for (const Message& message : messages) {
        list.push_back(
            {{"role", message.role},
             {"content", message.parts.empty() ? Json(message.content) : Json::parse(message.parts)}});
    }
    return list;
}

Json json_of(const Request& request, std::optional<Duration> at) {
    Json row = Json::object();
    if (at) row["at_s"] = seconds(*at);
    if (!request.request_class.empty()) row["class"] = request.request_class;
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
        throw UsageError(fmt::format("{} is there already; give another name", command.to));
    const auto dataset = datasets::make_dataset(
        {.spec = spec_of(command), .salt = command.salt, .path = command.file, .live_replies = false});
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
    if (!out) throw RuntimeError(fmt::format("cannot write {}", command.to));
    fmt::print(stderr, "{} rows written to {}\n", rows, command.to);
}

void add_file(CLI::App& sub, DatasetCommand& command) {
    sub.add_option("file", command.file, "File of requests")->type_name("FILE")->required();
    sub.add_option("--dataset", command.dataset,
                   "Its format: custom, sharegpt, mooncake, azure, burstgpt or log [by its first row]")
        ->type_name("NAME");
}

}  // namespace

void add_dataset(CLI::App& app) {
    CLI::App* sub = app.add_subcommand("dataset", "Describe or convert a file of requests");
    sub->require_subcommand(1);
    const auto command = std::make_shared<DatasetCommand>();

    CLI::App* described = sub->add_subcommand(
        "describe", "Lengths, rates, shared prefixes, and the context that a server needs for them");
    add_file(*described, *command);
    described->add_flag("--json", command->json, "Print JSON");
    described->callback([command] { describe(*command); });

    CLI::App* converted =
        sub->add_subcommand("convert", "Write the requests as JSON lines, the format of --dataset custom");
    add_file(*converted, *command);
    converted->add_option("out", command->to, "File to write")->type_name("OUT.jsonl")->required();
    converted->add_option("--salt", command->salt, "Text that makes made-up prompts new to a prefix cache");
    converted->callback([command] { convert(*command); });
}

}  // namespace paretoken::cli
