#include "cli/words/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace paretoken::cli {
namespace {

using PlainJson = nlohmann::json;

/// A field of a configuration file, and the option that means the same; empty: nothing is needed.
struct FieldOption {
    std::string_view field;
    std::string_view option;
};

constexpr std::array kAiperfFields = {
    FieldOption{"random_seed", "--random-seed"},
    FieldOption{"benchmark.random_seed", "--random-seed"},
    FieldOption{"benchmark.model", "--model"},
    FieldOption{"benchmark.models", "--model"},
    FieldOption{"benchmark.endpoint.url", "--url"},
    FieldOption{"benchmark.endpoint.urls", "--url"},
    FieldOption{"benchmark.endpoint.type", "--endpoint-type"},
    FieldOption{"benchmark.endpoint.path", "--endpoint"},
    FieldOption{"benchmark.endpoint.api_key", "--api-key"},
    FieldOption{"benchmark.endpoint.timeout", "--request-timeout-seconds"},
    FieldOption{"dataset.path", "--input-file"},
    FieldOption{"dataset.format", "--custom-dataset-type"},
    FieldOption{"dataset.prompts.isl", "--isl"},
    FieldOption{"dataset.prompts.isl.mean", "--isl"},
    FieldOption{"dataset.prompts.isl.stddev", "--isl-stddev"},
    FieldOption{"dataset.prompts.osl", "--osl"},
    FieldOption{"dataset.prompts.osl.mean", "--osl"},
    FieldOption{"dataset.prompts.osl.stddev", "--osl-stddev"},
    FieldOption{"dataset.prefix_prompts.length", "--prefix-prompt-length"},
    FieldOption{"dataset.prefix_prompts.pool_size", "--num-prefix-prompts"},
    FieldOption{"benchmark.artifacts.dir", "--artifact-dir"},
    FieldOption{"sweep.parameters.concurrency", "--concurrency"},
    FieldOption{"sweep.parameters.rate", "--request-rate"},
    FieldOption{"sweep.parameters.phases.profiling.concurrency", "--concurrency"},
    FieldOption{"sweep.parameters.phases.profiling.rate", "--request-rate"},
    FieldOption{"multi_run.num_runs", "--num-profile-runs"},
    FieldOption{"schema_version", ""},
    FieldOption{"benchmark.endpoint.streaming", ""},
    FieldOption{"dataset.name", ""},
    FieldOption{"dataset.type", ""},
    FieldOption{"dataset.entries", ""},
    FieldOption{"sweep.type", ""},
};
constexpr std::array kProfilingFields = {
    FieldOption{"concurrency", "--concurrency"},
    FieldOption{"prefill_concurrency", "--prefill-concurrency"},
    FieldOption{"requests", "--request-count"},
    FieldOption{"sessions", "--num-sessions"},
    FieldOption{"duration", "--benchmark-duration"},
    FieldOption{"grace_period", "--benchmark-grace-period"},
    FieldOption{"users", "--num-users"},
    FieldOption{"smoothness", "--arrival-smoothness"},
    FieldOption{"concurrency_ramp", "--concurrency-ramp-duration"},
    FieldOption{"rate_ramp", "--request-rate-ramp-duration"},
    FieldOption{"cancellation.rate", "--request-cancellation-rate"},
    FieldOption{"cancellation.delay", "--request-cancellation-delay"},
    FieldOption{"name", ""},
    FieldOption{"kind", ""},
};
constexpr std::array kWarmupFields = {
    FieldOption{"concurrency", "--warmup-concurrency"},
    FieldOption{"requests", "--warmup-request-count"},
    FieldOption{"duration", "--warmup-duration"},
    FieldOption{"rate", "--warmup-request-rate"},
    FieldOption{"name", ""},
    FieldOption{"kind", ""},
    FieldOption{"type", ""},
    FieldOption{"exclude_from_results", ""},
};

void add(Configured& out, std::string_view option, std::string_view value) {
    out.words.insert(out.words.end(), {std::string(option), std::string(value)});
}

/// Adds the option of a field, or the field to those without a counterpart. AIPerf computes values in braces.
void add_field(Configured& out, std::span<const FieldOption> known, const std::string& field,
               const std::string& value) {
    const auto row = std::ranges::find(known, field, &FieldOption::field);
    if (row == known.end() || value.find("{{") != std::string::npos)
        out.left_out.push_back(field);
    else if (!row->option.empty())
        add(out, row->option, value);
}

/// Writes the names of fields as with_underscores.
Group in_snake_case(const Group& fields) {
    Group renamed;
    for (const auto& [name, value] : fields) {
        std::string snake;
        for (const char c : name) {
            const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
            if (upper) snake += '_';
            snake += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
        renamed[snake] = value;
    }
    return renamed;
}

/// Removes the fields below `prefix`, and returns them without it.
Group take_below(Group& fields, std::string_view prefix) {
    Group below;
    std::erase_if(fields, [&](const auto& field) {
        if (!field.first.starts_with(prefix)) return false;
        below[field.first.substr(prefix.size())] = field.second;
        return true;
    });
    return below;
}

/// Removes the objects at `name`, and returns the fields of each: those of a list, or one object's own.
std::vector<Group> take_objects(Group& fields, const std::string& name) {
    std::vector<Group> objects;
    if (const auto list = fields.extract(name)) {
        const PlainJson elements = PlainJson::parse(list.mapped(), nullptr, false);
        if (elements.is_array())
            for (const PlainJson& one : elements)
                objects.push_back(in_snake_case(group_of(one.dump()).value_or(Group{})));
    } else if (Group one = take_below(fields, name + "."); !one.empty()) {
        objects.push_back(std::move(one));
    }
    return objects;
}

bool is_warmup(const Group& phase) {
    const auto has = [&](const char* field) {
        const auto found = phase.find(field);
        return found != phase.end() && found->second == "warmup";
    };
    return has("kind") || (!phase.contains("kind") && has("name"));
}

void add_phase(Configured& out, const Group& phase) {
    const auto type = phase.find("type");
    const std::string kind = type == phase.end() ? "concurrency" : type->second;
    for (const auto& [field, value] : phase) {
        if (field == "rate")
            add(out, kind == "user_centric" ? "--user-centric-rate" : "--request-rate", value);
        else if (field != "type")
            add_field(out, kProfilingFields, field, value);
    }
    if (kind == "fixed_schedule")
        out.words.emplace_back("--fixed-schedule");
    else if (kind == "poisson" || kind == "constant" || kind == "gamma")
        add(out, "--arrival-pattern", kind);
}

void add_phases(Configured& out, const std::vector<Group>& phases) {
    bool any = false;
    for (const Group& phase : phases) {
        if (is_warmup(phase)) {
            for (const auto& [field, value] : phase) add_field(out, kWarmupFields, field, value);
        } else if (std::exchange(any, true)) {
            const auto name = phase.find("name");
            out.left_out.push_back(fmt::format("the further phase {} (make a run for each phase)",
                                               name == phase.end() ? "" : name->second));
        } else {
            add_phase(out, phase);
        }
    }
}

}  // namespace

Configured aiperf_configuration(const Group& file) {
    Configured out;
    Group own = file;
    // The names below these two are those of the server.
    const Group headers = take_below(own, "benchmark.endpoint.headers.");
    const Group extra = take_below(own, "benchmark.endpoint.extra.");
    Group fields = in_snake_case(own);
    add_phases(out, take_objects(fields, "benchmark.phases"));
    for (const char* const name : {"benchmark.dataset", "benchmark.datasets"})
        for (const Group& dataset : take_objects(fields, name))
            for (const auto& [field, value] : dataset)
                add_field(out, kAiperfFields, "dataset." + field, value);
    for (const auto& [name, value] : headers) add(out, "--header", fmt::format("{}: {}", name, value));
    for (const auto& [name, value] : extra) add(out, "--extra-inputs", fmt::format("{}:{}", name, value));
    for (const auto& [name, value] : take_below(fields, "benchmark.slos."))
        add(out, "--goodput", fmt::format("{}:{}", name, value));
    for (const auto& [field, value] : fields) add_field(out, kAiperfFields, field, value);
    return out;
}

Configured guidellm_configuration(const std::string& json) {
    Configured out;
    PlainJson file = PlainJson::parse(json, nullptr, false);
    if (!file.is_object()) return out;
    if (const auto spec = file.find("spec"); spec != file.end() && spec->is_object()) file = PlainJson(*spec);
    for (const auto& [key, value] : file.items()) {
        if (value.is_null() || (value.is_array() && value.empty())) continue;
        std::string option = "--" + key;
        std::ranges::replace(option, '_', '-');
        const bool objects = value.is_array() && value.front().is_object();
        if (objects)
            for (const PlainJson& one : value) add(out, option, one.dump());
        else if (value.is_object())
            add(out, option, value.dump());
        else if (const auto group = group_of(PlainJson{{"v", value}}.dump()); group && !group->empty())
            add(out, option, group->begin()->second);
    }
    return out;
}

std::optional<Configured> guidellm_scenario(std::string_view name) {
    constexpr std::string_view kChat =
        "kind=synthetic_text,prompt_tokens=512,prompt_tokens_stdev=128,prompt_tokens_min=1,"
        "prompt_tokens_max=1024,output_tokens=256,output_tokens_stdev=64,output_tokens_min=1,"
        "output_tokens_max=1024";
    constexpr std::string_view kRag =
        "kind=synthetic_text,prompt_tokens=4096,prompt_tokens_stdev=512,prompt_tokens_min=2048,"
        "prompt_tokens_max=6144,output_tokens=512,output_tokens_stdev=128,output_tokens_min=1,"
        "output_tokens_max=1024";
    if (name != "chat" && name != "rag") return std::nullopt;
    Configured out;
    add(out, "--profile", "kind=sweep");
    add(out, "--data", name == "chat" ? kChat : kRag);
    return out;
}

Configured vllm_configuration(const std::string& json) {
    Configured out;
    const PlainJson file = PlainJson::parse(json, nullptr, false);
    if (!file.is_object()) return out;
    const auto text_of = [](const PlainJson& value) {
        return value.is_string() ? value.get<std::string>() : value.dump();
    };
    for (const auto& [key, value] : file.items()) {
        if (value.is_null() || value == false) continue;
        std::string option = "--" + key;
        std::ranges::replace(option, '_', '-');
        out.words.push_back(std::move(option));
        if (value.is_array())
            for (const PlainJson& one : value) out.words.push_back(text_of(one));
        else if (!value.is_boolean())
            out.words.push_back(text_of(value));
    }
    return out;
}

}  // namespace paretoken::cli
