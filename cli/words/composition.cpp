#include "cli/words/composition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "core/error.h"
#include "core/result/slo.h"
#include "core/spec.h"

namespace paretoken::cli {
namespace {

void compose_sampling(const Composing& now) {
    Parts& parts = now.parts;
    for (const char* const name : {"top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty",
                                   "repetition_penalty", "logprobs"})
        if (const auto value = parts.take(name)) set_body_field(now, name, *value);
    for (const std::string& input : parts.take_all("extra_inputs")) {
        if (input.starts_with('{')) {
            parts.set("extra_body", with_json_object(parts.value("extra_body"), input));
            continue;
        }
        const auto colon = input.find(':');
        set_body_field(now, input.substr(0, colon),
                       colon == std::string::npos ? "" : input.substr(colon + 1));
    }
    if (now.whole(Tool::vllm) && !parts.has("ignore_eos")) {
        parts.set("ignore_eos", "false");
        now.note("without --ignore-eos, vllm lets answers end early; so does --no-ignore-eos");
    }
}

constexpr std::array kNamesInGoodput = {
    std::pair{"request_latency", "e2e"},
    std::pair{"time_to_first_token", "ttft"},
    std::pair{"inter_token_latency", "tpot"},
    std::pair{"output_token_throughput_per_user", "interactivity"},
};

void compose_result(const Composing& now) {
    Parts& parts = now.parts;
    const auto name = parts.take("result_name");
    const auto file = parts.take("result_file");
    for (const std::string& output : parts.take_all("outputs")) {
        const Group group = group_of(output).value_or(Group{});
        if (const auto path = group.find("path"); path != group.end() && !parts.has("out"))
            parts.set("out", std::filesystem::path(path->second).replace_extension());
    }
    if (file && !parts.has("out"))
        parts.set("out", std::filesystem::path(*file).has_extension()
                             ? std::filesystem::path(*file).replace_extension().string()
                             : *file);
    if (name) {
        const std::string stem = std::filesystem::path(*name).replace_extension();
        parts.set("out", (std::filesystem::path(parts.value("out")) / stem).string());
    }
    if (const std::string out = parts.value("out"); out == "." || out == "./") {
        parts.take("out");
        now.note("each result has a directory of its own; without --out it is runs/TIME");
    }
    if (const auto label = parts.take("label")) parts.add("metadata", "label=" + *label);
    Texts slos = parts.take_all("aiperf_goodput");
    for (const std::string& text : slos)
        for (std::string slo : slo_texts_in(text)) {
            for (const auto& [theirs, ours] : kNamesInGoodput)
                if (slo.starts_with(fmt::format("{}:", theirs)))
                    slo.replace(0, std::string_view(theirs).size(), ours);
            parts.add("goodput", slo);
        }
    if (const auto seed = group_of(parts.value("seed")); seed && seed->contains("value"))
        parts.set("seed", seed->find("value")->second);
}

}  // namespace

const ForeignValue* row_named(std::span<const ForeignValue> rows, std::string_view name) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const ForeignValue& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

double number(std::string_view option, const std::string& text) {
    return naming(std::string(option), [&] { return parse_number(text); });
}

std::string text_of_number(double value) {
    return fmt::format("{:.10g}", value);
}

std::string with_scheme(const std::string& url) {
    return url.find("://") == std::string::npos && !url.starts_with("sim:") ? "http://" + url : url;
}

std::optional<std::string> Parts::take(std::string_view name) {
    const auto found = texts.find(name);
    if (found == texts.end() || found->second.empty()) return std::nullopt;
    std::string last = std::move(found->second.back());
    texts.erase(found);
    return last;
}

Texts Parts::take_all(std::string_view name) {
    const auto found = texts.find(name);
    if (found == texts.end()) return {};
    Texts all = std::move(found->second);
    texts.erase(found);
    return all;
}

std::string Parts::value(std::string_view name) const {
    const auto found = texts.find(name);
    return found == texts.end() || found->second.empty() ? std::string() : found->second.back();
}

void Parts::set(std::string_view name, std::string value) {
    texts[std::string(name)] = {std::move(value)};
}

void Parts::set_if_absent(std::string_view name, std::string value) {
    if (!has(name)) set(name, std::move(value));
}

void Parts::add(std::string_view name, std::string value) {
    texts[std::string(name)].push_back(std::move(value));
}

void compose(Parts& parts, const Origin& origin, Translation& translation) {
    const Composing now{parts, origin, translation};
    compose_server(now);
    compose_requests(now);
    compose_load(now);
    compose_sampling(now);
    compose_result(now);
    for (const PlanField& field : plan_fields()) {
        const std::string value = field.type == FieldType::duration ? parts.value(field.name) : "";
        if (!value.empty() && std::isdigit(static_cast<unsigned char>(value.back())) != 0)
            parts.set(field.name, value + "s");
    }
    if (translation.several) translation.command = "sweep";
}

bool is_foreign_value(std::string_view part, std::string_view value) {
    if (part == "backend") return backend_named(value) != nullptr;
    if (part == "dataset") return dataset_named(value) != nullptr && value != "multi_turn";
    return true;
}

}  // namespace paretoken::cli
