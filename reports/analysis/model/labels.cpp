#include "reports/analysis/model/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "core/text/natural_order.h"

namespace paretoken::reports {
namespace {

// Labels that every curve is grouped by in any case.
constexpr std::string_view kAlwaysGroupedBy[] = {"model", "hardware", "gpus"};
constexpr std::string_view kPairOfGate = "gate_pair";  // a number that is different in every pair of runs

void add(Labels& labels, const std::string& name, const std::string& value) {
    if (!value.empty()) labels.emplace(name, value);
}

bool describes_workload(const std::string& option) {
    const PlanField* const field = plan_field_named(option);
    return field != nullptr && field->kind == FieldKind::workload;
}

/// Whether the title of a configuration's workload (lengths, endpoint) or the runs' dataset tells this
/// option.
bool is_told_by_workload(const std::string& option) {
    constexpr std::string_view kTold[] = {"isl",     "osl",          "range_ratio",
                                          "dataset", "dataset_path", "endpoint_type"};
    return std::ranges::find(kTold, option) != std::end(kTold);
}

std::string value_in(const Labels& labels, const std::string& name) {
    const auto found = labels.find(name);
    return found == labels.end() ? "" : found->second;
}

bool holds(const Labels& labels, const Labels& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& label) {
        const auto found = labels.find(label.first);
        return found != labels.end() && found->second == label.second;
    });
}

std::set<std::string> names_in(const std::vector<Labels>& all) {
    std::set<std::string> names;
    for (const Labels& labels : all)
        for (const auto& [name, value] : labels) names.insert(name);
    return names;
}

std::string in_words(const std::vector<Labels>& all) {
    std::map<std::string, std::set<std::string, NaturalLess>> values;
    for (const Labels& labels : all)
        for (const auto& [name, value] : labels) values[name].insert(value);
    std::vector<std::string> parts;
    constexpr std::size_t kMostValues = 6;
    for (const auto& [name, of] : values)
        parts.push_back(of.size() > kMostValues ? fmt::format("{} ({} values)", name, of.size())
                                                : fmt::format("{}={}", name, fmt::join(of, "|")));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Labels> labels_of_all(const std::vector<LoadedRun>& runs) {
    std::vector<Labels> all;
    for (const LoadedRun& run : runs) all.push_back(labels_of(run));
    return all;
}

/// The properties that all runs of one curve have in common.
struct BaseKey {
    std::string hardware;
    std::uint32_t count = 1;
    std::string model;
    std::string fingerprint;

    auto operator<=>(const BaseKey&) const = default;
};

/// The key of runs that were made together: a cell of a sweep, or a run on its own.
std::string sweep_of(const LoadedRun& run) {
    if (run.sweep.empty()) return run.directory;
    return fmt::format("{}\n{}", run.sweep, text_of(run.cell));
}

bool is_constant(const std::vector<const Labels*>& sweep, const std::string& name) {
    return std::ranges::all_of(sweep, [&](const Labels* labels) {
        return value_in(*labels, name) == value_in(*sweep.front(), name);
    });
}

/// The labels that differ between the sweeps and are constant within each of them.
std::set<std::string> telling_labels(const std::map<std::string, std::vector<const Labels*>>& sweeps) {
    std::set<std::string> names;
    for (const auto& [name, sweep] : sweeps)
        for (const Labels* labels : sweep)
            for (const auto& [label, value] : *labels) names.insert(label);
    for (const std::string_view name : kAlwaysGroupedBy) names.erase(std::string(name));
    names.erase(std::string(kPairOfGate));
    std::erase_if(names, [&](const std::string& name) {
        const std::string first = value_in(*sweeps.begin()->second.front(), name);
        bool differs = false;
        for (const auto& [sweep_name, sweep] : sweeps) {
            if (!is_constant(sweep, name)) return true;
            differs = differs || value_in(*sweep.front(), name) != first;
        }
        return !differs;
    });
    return names;
}

bool is_part_of_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// Whether the text contains the word as a whole word. A number is never found, because it means nothing
/// without its name: the 2 of "2 cores" is not a number of threads.
bool holds_word(std::string_view text, std::string_view word) {
    if (std::ranges::none_of(word, [](unsigned char c) { return std::isalpha(c) != 0; })) return false;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !is_part_of_word(text[at - 1])) &&
            (end == text.size() || !is_part_of_word(text[end])))
            return true;
    }
    return false;
}

/// The parts of a configuration's name, the most informative part first.
std::vector<std::string> name_parts(const Configuration& configuration) {
    const std::string named = configuration.hardware + " " + configuration.model;
    return {configuration.hardware, configuration.model, text_of(configuration.labels, named),
            configuration.workload};
}

}  // namespace

Labels labels_of(const LoadedRun& run) {
    const Provenance& from = run.result.provenance;
    Labels labels = from.metadata;
    for (const auto& [option, value] : run.cell)
        if (!is_told_by_workload(option)) add(labels, option, value);
    add(labels, "model", from.model);
    add(labels, "hardware", from.hardware);
    if (from.hardware_count > 1) add(labels, "gpus", fmt::format("{}", from.hardware_count));
    add(labels, "engine",
        run.result.server && !run.result.server->engine.empty() ? run.result.server->engine
                                                                : from.server_kind);
    if (from.model_card) {
        add(labels, "weights", from.model_card->weights);
        add(labels, "kv", from.model_card->kv);
    }
    if (const auto drafts = from.simulator.find("drafts");
        drafts != from.simulator.end() && drafts->second > 0)
        add(labels, "speculation", fmt::format("{:g} drafts", drafts->second));
    if (const auto cancel = run.result.plan.find("cancel"); cancel != run.result.plan.end())
        add(labels, "cancel", cancel->second);
    return labels;
}

std::string known_labels(const std::vector<LoadedRun>& runs) {
    return in_words(labels_of_all(runs));
}

CardSpec parse_card_spec(const std::string& text) {
    const auto colon = text.find(':');
    const std::string head = text.substr(0, colon);
    if (colon == std::string::npos || head.find('=') == std::string::npos) return {{}, text};
    CardSpec spec{{}, text.substr(colon + 1)};
    for (std::size_t begin = 0; begin <= head.size();) {
        const std::size_t end = std::min(head.find(',', begin), head.size());
        const std::string label = head.substr(begin, end - begin);
        const auto equals = label.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == label.size())
            throw UsageError(fmt::format(
                "--model-card {}: \"{}\" selects no runs; write LABEL=VALUE:CARD, as precision=q8_0:FILE",
                text, label));
        spec.selector[label.substr(0, equals)] = label.substr(equals + 1);
        begin = end + 1;
    }
    if (spec.card.empty()) throw UsageError(fmt::format("--model-card {}: no card follows the colon", text));
    return spec;
}

const cards::ModelCard* selected_card(const LoadedRun& run, const std::vector<CardChoice>& choices) {
    const Labels labels = labels_of(run);
    const CardChoice* found = nullptr;
    for (const bool selects : {true, false}) {  // a card with a selector takes precedence
        for (const CardChoice& choice : choices) {
            if (choice.selector.empty() == selects || !holds(labels, choice.selector)) continue;
            if (found != nullptr)
                throw UsageError(
                    fmt::format("--model-card {} and --model-card {} are both for the run in {}; "
                                "select with labels that only one of them has",
                                found->text, choice.text, run.directory));
            found = &choice;
        }
        if (found != nullptr) break;
    }
    return found == nullptr ? nullptr : &found->card;
}

void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<CardChoice>& choices) {
    const std::vector<Labels> all = labels_of_all(runs);
    for (const CardChoice& choice : choices) {
        const bool found =
            std::ranges::any_of(all, [&](const Labels& labels) { return holds(labels, choice.selector); });
        if (!found && !all.empty())
            throw UsageError(fmt::format("--model-card {}: no run has {}; the labels are {}", choice.text,
                                         text_of(choice.selector), in_words(all)));
    }
}

std::vector<RunGroup> grouped_runs(std::vector<LoadedRun> runs,
                                   const std::optional<std::vector<std::string>>& by,
                                   std::string (*hardware_of)(std::string_view)) {
    const std::vector<Labels> all = labels_of_all(runs);
    if (by && !runs.empty())
        for (const std::string& name : *by)
            if (!names_in(all).contains(name))
                throw UsageError(fmt::format("--group-by {}: no run has this label; the labels are {}", name,
                                             in_words(all)));
    const auto base_of = [&](const LoadedRun& run) {
        const Provenance& from = run.result.provenance;
        return BaseKey{hardware_of(from.hardware), from.hardware_count, from.model,
                       run.result.workload.fingerprint};
    };
    const auto without_workload = [](BaseKey base) {
        base.fingerprint.clear();
        return base;
    };
    using Sweeps = std::map<std::string, std::vector<const Labels*>>;
    std::map<BaseKey, Sweeps> sweeps;
    std::map<BaseKey, Sweeps> of_all_workloads;
    Sweeps of_all;  // what tells these apart names curves of other hardware, models and workloads too
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const BaseKey base = base_of(runs[i]);
        sweeps[base][sweep_of(runs[i])].push_back(&all[i]);
        of_all_workloads[without_workload(base)][sweep_of(runs[i])].push_back(&all[i]);
        of_all[sweep_of(runs[i])].push_back(&all[i]);
    }
    const std::set<std::string> telling_all = telling_labels(of_all);
    std::map<BaseKey, std::set<std::string>> telling;
    for (const auto& [base, of] : sweeps) {
        telling[base] = by ? std::set<std::string>(by->begin(), by->end()) : telling_labels(of);
        if (by) continue;
        telling[base].insert(telling_all.begin(), telling_all.end());
        for (const std::string& name : telling_labels(of_all_workloads[without_workload(base)]))
            if (describes_workload(name)) telling[base].insert(name);
    }

    std::map<std::pair<BaseKey, Labels>, std::size_t> places;
    std::vector<RunGroup> groups;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const BaseKey base = base_of(runs[i]);
        Labels labels;
        for (const std::string& name : telling[base]) add(labels, name, value_in(all[i], name));
        const auto [place, is_new] = places.emplace(std::pair(base, labels), groups.size());
        if (is_new) groups.push_back({labels, {}});
        groups[place->second].runs.push_back(std::move(runs[i]));
    }
    return groups;
}

std::string text_of(const Labels& labels, std::string_view said) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : labels)
        if (!holds_word(said, value)) parts.push_back(fmt::format("{}={}", name, value));
    return fmt::format("{}", fmt::join(parts, ", "));
}

void name_configurations(std::vector<Configuration>& configurations) {
    std::vector<std::vector<std::string>> parts;
    for (const Configuration& configuration : configurations) parts.push_back(name_parts(configuration));
    for (Configuration& configuration : configurations) configuration.name.clear();
    for (std::size_t part = 0; !parts.empty() && part < parts.front().size(); ++part) {
        const bool differs =
            std::ranges::any_of(parts, [&](const auto& of) { return of[part] != parts.front()[part]; });
        // The workload is added only to a name that two configurations would share without it.
        const bool is_workload = part + 1 == parts.front().size();
        std::map<std::string, std::size_t> held;
        for (const Configuration& configuration : configurations) ++held[configuration.name];
        for (std::size_t i = 0; differs && i < parts.size(); ++i) {
            std::string& name = configurations[i].name;
            if (parts[i][part].empty() || (is_workload && held[name] == 1)) continue;
            name += (name.empty() ? "" : is_workload ? ", " : " ") + parts[i][part];
        }
    }
}

}  // namespace paretoken::reports
