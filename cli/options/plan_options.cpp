#include "cli/options/plan_options.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdlib>

#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "cli/options/recipes.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "core/text/secrets.h"
#include "datasets/catalog.h"
#include "loadgen/http/url.h"
#include "loadgen/load/arrival.h"
#include "loadgen/protocol/protocol.h"
#include "reports/files/file_io.h"
#include "reports/files/plan_file.h"

namespace paretoken::cli {
namespace {

std::string type_name_of(FieldType type) {
    switch (type) {
        case FieldType::text:
        case FieldType::list:
            return "TEXT";
        case FieldType::count:
            return "COUNT";
        case FieldType::number:
            return "NUMBER";
        case FieldType::duration:
            return "DURATION";
        case FieldType::flag:
            break;
    }
    return "";
}

std::string with_fields(std::string_view name, std::string_view fields) {
    return fmt::format("{}{}{}", name, fields.empty() ? "" : ":", fields);
}

std::string names_of_arrivals() {
    std::vector<std::string> names;
    for (const loadgen::ArrivalRow& row : loadgen::arrival_table())
        names.push_back(with_fields(row.name, row.fields));
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_of_datasets() {
    std::vector<std::string> made;
    for (const datasets::CatalogRow& row : datasets::catalog())
        if (row.format == nullptr) made.push_back(with_fields(row.name, row.fields));
    return fmt::format("{}; with --dataset-path one of {}", fmt::join(made, ", "),
                       datasets::names_of_file_formats());
}

/// The fields whose names are in a table of another room.
constexpr std::array<std::pair<std::string_view, std::string (*)()>, 3> kNamesOf{{
    {"endpoint_type", protocol::names_of_protocols},
    {"arrivals", names_of_arrivals},
    {"dataset", names_of_datasets},
}};

std::string help_of(const PlanField& field, Levels levels) {
    for (const auto& [name, names] : kNamesOf)
        if (name == field.name) return fmt::format(fmt::runtime(field.help), fmt::arg("names", names()));
    if (!field.levels || levels == Levels::one) return std::string(field.help);
    if (field.type == FieldType::count)
        return "Numbers of requests in flight to measure: a list (1,2,4), a range by doubling (1..64), or a "
               "range in steps (8..64:8) [1..64]; with --search the lowest and the highest load of it "
               "(32..256)";
    return "Request rates to measure, in requests per second (open loop, Poisson arrivals): a list, a range "
           "by doubling, or a range in steps; or auto:8, which means eight rates from one request at a time "
           "to saturation";
}

/// Returns the default that --help shows: nothing if the help text explains it.
std::string shown_default(const PlanField& field) {
    static const LoadPlan kDefault;
    const Texts texts = field.value.get(kDefault, 0);
    return texts.empty() || field.help.ends_with(']') ? std::string() : texts.front();
}

void add_field(CLI::App& command, const PlanField& field, PlanTexts& given, Levels levels) {
    const std::string name(field.name);
    std::string flags(field.flags);
    for (const Synonym& synonym : synonyms_of(field)) flags += fmt::format(",{}", synonym.name);
    const std::string help = help_of(field, levels);
    if (field.type == FieldType::flag) {
        const auto set = [&given, name](std::int64_t count) { given[name] = {count > 0 ? "true" : "false"}; };
        command.add_flag_function(flags, set, help)->group(std::string(field.group));
        return;
    }
    CLI::Option* option = nullptr;
    if (field.type == FieldType::list) {
        const auto set = [&given, name](const Texts& texts) { given[name] = texts; };
        option = command.add_option_function<Texts>(flags, set, help)->allow_extra_args(field.words);
    } else {
        const auto set = [&given, name](const std::string& text) { given[name] = {text}; };
        option = command.add_option_function<std::string>(flags, set, help);
    }
    option->group(std::string(field.group))->type_name(type_name_of(field.type));
    if (const std::string text = shown_default(field); !text.empty()) option->default_str(text);
}

/// Makes the key that of this process. A warning says what is better, once.
void take_api_key(const std::string& key) {
    (void)setenv("OPENAI_API_KEY", key.c_str(), 1);
    print(stderr,
          "paretoken: warning: other users of this machine may have seen the key on the command line; "
          "set OPENAI_API_KEY instead of giving --api-key\n");
}

std::string recipes_help() {
    std::string text =
        "Name of a set of options for a typical load; options on the command line take precedence";
    for (const Recipe& recipe : recipes()) text += fmt::format(". {}: {}", recipe.name, recipe.title);
    return text;
}

/// The parts of the whole address of an endpoint, as a user pastes it.
struct PastedAddress {
    std::string url;                               ///< address of the server, which requests' paths follow
    const protocol::Protocol* protocol = nullptr;  ///< null if the text is no whole address
    bool has_version = false;                      ///< whether the URL ends with the version of the API
};

PastedAddress pasted_address(const std::string& text) {
    std::string_view place = text;
    place = place.substr(0, place.find('?'));
    const std::string_view query = std::string_view(text).substr(place.size());
    place = place.substr(0, place.find_last_not_of("/ \t\r\n") + 1);
    if (text.starts_with("sim:")) return {.url = text};
    for (const std::string_view page : {"/docs", "/redoc", "/openapi.json", "/health", "/metrics"})
        if (place.ends_with(page))  // a page of the server, which the browser showed
            return {.url = fmt::format("{}{}", place.substr(0, place.size() - page.size()), query)};
    const protocol::Protocol* const protocol = protocol::protocol_of_address(place);
    if (protocol == nullptr) return {.url = text};
    place.remove_suffix(protocol->path_in_version().size());
    const std::string url = fmt::format("{}{}", place, query);
    return {.url = url,
            .protocol = protocol,
            .has_version = place.ends_with("/v1") || http::parse_url(url).has_version()};
}

/// Replaces whole addresses ("http://HOST/v1/chat/completions", or of a page) by those of the servers, and
/// takes the protocol and the path of requests from them unless they are given.
void split_addresses(PlanTexts& texts) {
    if (!texts.contains("url")) return;
    const LoadPlan plan = plan_of({{"url", texts["url"]}});
    std::vector<std::string> urls;
    std::optional<PastedAddress> first;
    for (const std::string& target : plan.targets) {
        const PastedAddress address = pasted_address(target);
        if (urls.empty()) first = address;
        if (address.protocol != first->protocol || address.has_version != first->has_version)
            throw UsageError(
                fmt::format("the addresses {} and {} have different paths of requests; give the addresses of "
                            "the servers only, and the path with --endpoint",
                            redacted_url(plan.targets.front()), redacted_url(target)));
        urls.push_back(address.url);
    }
    if (urls != plan.targets) texts["url"] = {fmt::format("{}", fmt::join(urls, ","))};
    if (!first || first->protocol == nullptr) return;
    if (!texts.contains("endpoint_type")) texts["endpoint_type"] = {std::string(first->protocol->name)};
    const protocol::Protocol* const protocol = protocol::protocol_named(texts["endpoint_type"].front());
    if (!first->has_version && !texts.contains("endpoint") && protocol != nullptr)
        texts["endpoint"] = {std::string(protocol->path_in_version())};
}

}  // namespace

void add_plan_options(CLI::App& command, PlanOptions& options, Levels levels,
                      const std::set<std::string_view>& without) {
    for (const PlanField& field : plan_fields()) {
        if (field.flags.empty() || without.contains(field.name)) continue;
        if (levels == Levels::several && field.name == "arrivals") continue;  // the axis of a sweep sets them
        add_field(command, field, options.given, levels);
    }
    command
        .add_option_function<std::string>(
            "--api-key", [](const std::string& key) { take_api_key(key); },
            "The API key itself. Better is the variable OPENAI_API_KEY, which no list of processes shows")
        ->type_name("KEY")
        ->group("Target");
    const char* group = "Configuration";
    if (!without.contains("recipe"))
        command.add_option("--recipe", options.recipe, recipes_help())->type_name("NAME")->group(group);
    command
        .add_option("--config", options.config,
                    "JSON file with values of these options, as --print-config writes it; options on the "
                    "command line take precedence")
        ->type_name("FILE")
        ->group(group);
    command
        .add_flag("--print-config", options.print_config,
                  "Print the options as a file for --config and do nothing else; secrets are left out")
        ->group(group);
}

std::set<std::string_view> and_those_of_shards(std::set<std::string_view> names) {
    names.insert({"shard", "shards", "rendezvous", "rendezvous_timeout", "start_at"});
    return names;
}

PlanTexts texts_of(const PlanOptions& options) {
    PlanTexts texts;
    if (!options.config.empty())
        texts = reports::parse_plan_json(reports::read_option_file(options.config, "--config"),
                                         options.config, options.further);
    if (!options.recipe.empty()) {
        const Recipe& recipe = recipe_named(options.recipe);
        const bool has_file = texts.contains("dataset_path") || options.given.contains("dataset_path") ||
                              texts.contains("dataset") || options.given.contains("dataset");
        if (!recipe.file.empty() && !has_file)
            throw UsageError(fmt::format("--recipe {}: it is for {}; give the file with --dataset-path FILE",
                                         recipe.name, recipe.file));
        texts.merge(texts_of(recipe));  // keeps existing ones
    }
    for (const auto& [name, values] : options.given) texts.erase(name);
    restore_secrets(texts, variable_of_environment);
    for (const auto& [name, values] : options.given) texts[name] = values;
    split_addresses(texts);
    return texts;
}

std::string config_text(const LoadPlan& asked, const PlanTexts& levels) {
    PlanTexts texts = texts_of(asked);
    texts.insert(levels.begin(), levels.end());
    return reports::plan_json(texts);
}

}  // namespace paretoken::cli
