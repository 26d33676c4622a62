// `vllm bench sweep`, which starts a server for each combination of options and measures it with others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"

namespace paretoken::cli {
namespace {

using Combination = std::vector<std::pair<std::string, std::string>>;

/// The options that a file of `vllm bench sweep` varies.
struct Varied {
    std::string file = {};     ///< empty: there is none
    std::string content = {};  ///< empty: it is not known
    bool is_named = false;     ///< whether its combinations have names: {"a": {…}, "b": {…}}
    std::vector<Combination> combinations = {};

    bool is_known() const { return !combinations.empty(); }
};

/// The values of the options of `vllm bench sweep`.
struct VllmSweep {
    std::string serve;
    std::string bench;
    Varied serve_params;
    Varied bench_params;
    std::string links;
    std::string out;
    std::string runs = "3";
    std::string variable;
    std::string limits;
    std::string ready_timeout;
    std::vector<std::string> other;
};

constexpr std::string_view kName = "_benchmark_name";  // of a combination; vLLM sets no option by it

void read_combinations(Varied& varied) {
    if (varied.content.empty()) return;
    const auto json = nlohmann::ordered_json::parse(varied.content, nullptr, false);
    varied.is_named = json.is_object();
    if (!json.is_structured())
        throw UsageError(fmt::format("{}: expected a list of JSON objects", varied.file));
    for (const auto& one : json) {
        if (!one.is_object())
            throw UsageError(fmt::format("{}: expected a list of JSON objects", varied.file));
        Combination combination;
        for (const auto& [key, value] : one.items()) {
            if (value.is_boolean())
                throw UsageError(
                    fmt::format("{}: {} is a flag, and our --grid and --cells vary options with values; "
                                "write \"{}\" once into --serve-cmd or --bench-cmd, and a sweep for each",
                                varied.file, key, key));
            if (key == kName)
                varied.is_named = true;  // so that the file is not one of cells
            else
                combination.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
        }
        varied.combinations.push_back(std::move(combination));
    }
}

VllmSweep vllm_sweep_of(const std::vector<std::string>& words) {
    VllmSweep sweep;
    const std::array<std::pair<std::string_view, std::string*>, 17> places = {{
        {"--serve-cmd", &sweep.serve},
        {"--bench-cmd", &sweep.bench},
        {"--serve-params", &sweep.serve_params.file},
        {"--bench-params", &sweep.bench_params.file},
        {"--serve-params-content", &sweep.serve_params.content},
        {"--bench-params-content", &sweep.bench_params.content},
        {"--link-vars", &sweep.links},
        {"--output-dir", &sweep.out},
        {"-o", &sweep.out},
        {"--num-runs", &sweep.runs},
        {"--workload-var", &sweep.variable},
        {"--sla-variable", &sweep.variable},
        {"--sla-params", &sweep.limits},
        {"--experiment-name", nullptr},
        {"-e", nullptr},
        {"--server-ready-timeout", &sweep.ready_timeout},
        {"--after-bench-cmd", nullptr},
    }};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string name = name_in(words[i]);
        const auto* const place =
            std::ranges::find_if(places, [&](const auto& one) { return one.first == name; });
        if (place == places.end()) {
            if (is_option(words[i])) sweep.other.push_back(name);
            continue;
        }
        const std::string value = value_after(words, i);
        if (words[i].find('=') == std::string::npos || !words[i].starts_with("--")) ++i;
        if (place->second != nullptr)
            *place->second = value;
        else
            sweep.other.push_back(name);
    }
    read_combinations(sweep.serve_params);
    read_combinations(sweep.bench_params);
    return sweep;
}

/// Our command line while it is made.
struct Line {
    Translation& out;

    bool gives(std::string_view option) const {
        return std::ranges::find(out.words, option) != out.words.end();
    }
    std::string value(std::string_view option) const {
        const auto found = std::ranges::find(out.words, option);
        return found == out.words.end() || found + 1 == out.words.end() ? "" : *(found + 1);
    }
    void drop(std::string_view option) const {
        const auto found = std::ranges::find(out.words, option);
        if (found != out.words.end()) out.words.erase(found, found + 2);
    }
    void add(std::string option, std::string value) const {
        out.words.insert(out.words.end(), {std::move(option), std::move(value)});
    }
};

std::string with_underscores(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
}

/// Returns the command of the server with a placeholder in place of the value of each option that is varied.
std::string with_placeholders(std::string command, const Varied& varied) {
    std::vector<std::string> keys;
    for (const Combination& combination : varied.combinations)
        for (const auto& [key, value] : combination)
            if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    for (const std::string& key : keys) {
        std::string option = "--" + key;
        std::ranges::replace(option, '_', '-');
        const std::string place = "{" + with_underscores(key) + "}";
        const std::string rest = command + ' ';
        std::size_t at = std::string::npos;
        for (const char* const separator : {" ", "="}) at = std::min(at, rest.find(' ' + option + separator));
        if (at == std::string::npos) {
            command += fmt::format(" {} {}", option, place);
            continue;
        }
        const std::size_t begin = at + 1 + option.size() + 1;
        const std::size_t end = std::min(command.find(' ', begin), command.size());
        command.replace(begin, end - begin, place);
    }
    return command;
}

/// Returns the only option that a file varies, and its values; nothing if it varies several, or a value has a
/// comma, which separates values here.
std::optional<std::pair<std::string, Texts>> only_option_of(const Varied& varied) {
    std::pair<std::string, Texts> only;
    for (const Combination& combination : varied.combinations) {
        if (combination.size() != 1) return std::nullopt;
        const auto& [key, value] = combination.front();
        if (value.empty() || value.find(',') != std::string::npos) return std::nullopt;
        if (!only.first.empty() && only.first != key) return std::nullopt;
        only.first = key;
        only.second.push_back(value);
    }
    return only;
}

/// The name of our option that a key of --bench-params means; the key itself if it is none.
std::string field_of(const std::string& key) {
    const PlanField* const field = plan_field_called(with_underscores(key));
    return field == nullptr ? key : std::string(field->name);
}

/// Makes the load of the combinations the one that the sweep varies.
void set_axis(const Line& line, const Varied& bench, bool is_axis_of_line) {
    const auto is_load = [](const auto& option) {
        const std::string field = field_of(option.first);
        return field == "concurrency" || field == "request_rate";
    };
    for (const Combination& combination : bench.combinations)  // one without has the load of the line
        if (std::ranges::none_of(combination, is_load)) return;
    for (const Combination& combination : bench.combinations)
        for (const auto& [key, value] : combination) {
            const std::string field = field_of(key);
            if (!is_load(std::pair(key, value))) continue;
            if (!is_axis_of_line) line.drop("--concurrency");
            if (!is_axis_of_line) line.drop("--ramp-up");
            if (field == "concurrency" && line.value("--request-rate") == "inf") line.drop("--request-rate");
            if (!line.gives("--concurrency") && !line.gives("--request-rate"))
                line.add(field == "concurrency" ? "--concurrency" : "--request-rate", value);
            return;
        }
}

/// A file that varies one option, as an axis of the sweep or a grid.
void set_grid(const Line& line, const std::string& key, const Texts& values) {
    const std::string field = field_of(key);
    const std::string list = fmt::format("{}", fmt::join(values, ","));
    if (field == "request_rate" && line.gives("--concurrency")) {
        std::string arrivals;
        for (const std::string& rate : values)
            arrivals += fmt::format("{}poisson:rate={}", arrivals.empty() ? "" : ",", rate);
        return line.add("--grid", "arrivals=" + arrivals);
    }
    if (field != "request_rate" && field != "concurrency")
        return line.add("--grid", fmt::format("{}={}", field, list));
    if (const std::string rate = line.value("--request-rate"); field == "concurrency" && !rate.empty()) {
        line.drop("--request-rate");  // of which the numbers in flight are caps
        line.add("--grid", "arrivals=poisson:rate=" + rate);
    }
    const std::string option = field == "concurrency" ? "--concurrency" : "--request-rate";
    line.drop(option);
    line.add(option, list);
}

/// Says how jq writes all combinations of the files as one file of cells.
void need_cells(const Line& line, const VllmSweep& asked) {
    constexpr const char* kFile = "cells.json";
    const bool both = !asked.serve_params.file.empty() && !asked.bench_params.file.empty();
    std::string conditions;
    for (const std::string& link : list_of(asked.links)) {
        const auto equals = link.find('=');
        if (equals != std::string::npos)
            conditions += fmt::format("select($x[\"{}\"] == $y[\"{}\"]) | ", link.substr(0, equals),
                                      link.substr(equals + 1));
    }
    const std::string bare = fmt::format("del(.{})", kName);
    const std::string& one = asked.serve_params.file + asked.bench_params.file;
    line.out.absent.push_back(fmt::format(
        "{}: a sweep reads its combinations from one list: {} > {}",
        both ? "--serve-params and --bench-params" : one,
        both ? fmt::format("jq -n --slurpfile s {} --slurpfile b {} '[$s[0][] as $x | $b[0][] as $y | {}$x + "
                           "$y | {}]'",
                           shell_line({asked.serve_params.file}), shell_line({asked.bench_params.file}),
                           conditions, bare)
             : fmt::format("jq '[.[] | {}]' {}", bare, shell_line({one})),
        kFile));
    line.out.file = kFile;
    line.add("--cells", kFile);
}

/// The options that the files vary. `had_load` tells whether the line to be repeated has a load of its own.
void set_variations(const Line& line, const VllmSweep& asked, bool had_load) {
    const Varied& serve = asked.serve_params;
    const Varied& bench = asked.bench_params;
    for (const Varied* const varied : {&serve, &bench})
        if (!varied->file.empty() && !varied->is_known()) {  // a file that is not here
            line.add("--cells", varied->file);
            if (varied == &serve)
                line.out.notes.push_back(
                    fmt::format("--server-cmd needs a placeholder for each key of {}: --max-num-seqs "
                                "{{max_num_seqs}}",
                                varied->file));
            if (!serve.file.empty() && !bench.file.empty())
                line.out.notes.emplace_back("both files together are all combinations in one --cells file");
            return;
        }
    if (serve.file.empty() && bench.file.empty()) return;
    set_axis(line, bench, had_load);
    const auto of_serve = only_option_of(serve);
    const auto of_bench = only_option_of(bench);
    if (asked.links.empty() && of_serve && of_bench) {
        if (!serve.file.empty()) set_grid(line, of_serve->first, of_serve->second);
        if (!bench.file.empty()) set_grid(line, of_bench->first, of_bench->second);
        return;
    }
    const bool is_one = serve.file.empty() != bench.file.empty();
    if (is_one && !serve.is_named && !bench.is_named) return line.add("--cells", serve.file + bench.file);
    need_cells(line, asked);
}

}  // namespace

Translation translated_sweep(const std::vector<std::string>& words) {
    const VllmSweep asked = vllm_sweep_of(words);
    if (asked.bench.empty()) throw UsageError("vllm bench sweep: --bench-cmd is missing");
    if (asked.bench.starts_with('$'))
        throw UsageError(fmt::format("vllm bench sweep: --bench-cmd {}: {}", asked.bench, kValueNeeded));
    Translation out = translation_of(commands_in(asked.bench));
    out.command = "sweep";
    out.several = true;
    const Line line{out};
    if (!asked.serve.empty()) {
        if (!out.words.empty() && out.words.front().find("://") != std::string::npos)
            out.words.erase(out.words.begin());
        const bool has_port = asked.serve.find("--port") != std::string::npos;
        out.words.insert(out.words.begin(),
                         {"--server-cmd", with_placeholders(asked.serve, asked.serve_params) +
                                              (has_port ? "" : " --port {port}")});
        if (has_port)
            out.notes.emplace_back(
                "write --port {port} in --server-cmd, so that each server has a free port");
        if (!asked.ready_timeout.empty()) line.add("--ready-timeout", asked.ready_timeout + "s");
    }
    const bool varies_load = !asked.variable.empty();
    const bool has_rate = line.gives("--request-rate") && line.value("--request-rate") != "inf";
    const bool had_load = !varies_load && (line.gives("--concurrency") || has_rate);
    if (varies_load || !has_rate) line.drop("--request-rate");
    std::erase_if(out.notes, [](const std::string& note) {
        return note.find("--request-rate inf") != std::string::npos;
    });
    if (varies_load) {
        line.drop("--concurrency");
        line.add(asked.variable == "request_rate" ? "--request-rate" : "--concurrency",
                 asked.variable == "request_rate" ? "auto:10" : "1..256");
    } else if (!had_load) {
        const std::string count = line.value("--num-prompts");
        line.add("--concurrency", count.empty() ? "1000" : count);
        line.add("--ramp-up", "0s");
    }
    if (!asked.limits.empty()) {
        line.add("--search", "slo");
        line.add("--slo", "e2e_p99:1000");
        out.notes.push_back(fmt::format("give the limits of {} with --slo, in ms", asked.limits));
    }
    set_variations(line, asked, had_load || varies_load);
    if (asked.runs != "1" && asked.limits.empty()) line.add("--repeat", asked.runs);
    if (!asked.out.empty()) {
        line.drop("--out");
        line.add("--out", asked.out);
    }
    out.words.emplace_back("--reset-cache");
    for (const std::string& name : asked.other) out.unneeded.push_back(name);
    return out;
}

}  // namespace paretoken::cli
