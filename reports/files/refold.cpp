#include "reports/files/refold.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/result/summary.h"
#include "reports/files/events.h"
#include "reports/files/records.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kOption = "goodput";

std::string key_of_class(const std::string& name) {
    return fmt::format("{}.{}", name, kOption);
}

Goodput goodput_of(const std::string& text) {
    Goodput goodput;
    for (std::string& one : slo_texts(text)) {
        goodput.slos.push_back(parse_request_slo(one));
        goodput.texts.push_back(std::move(one));
    }
    return goodput;
}

void append(Goodput& to, Goodput from) {
    std::move(from.texts.begin(), from.texts.end(), std::back_inserter(to.texts));
    std::move(from.slos.begin(), from.slos.end(), std::back_inserter(to.slos));
}

/// The SLOs in the plan of a run under this key.
Goodput goodput_in(const PlanEcho& plan, const std::string& key) {
    const auto found = plan.find(key);
    return found == plan.end() ? Goodput{} : goodput_of(found->second);
}

void refuse_unknown_classes(const RunResult& result, const std::filesystem::path& directory,
                            const Refold& options) {
    std::vector<std::string> known;
    for (const auto& [name, scope] : result.classes) known.push_back(name);
    for (const auto& [name, goodput] : options.classes)
        if (!result.classes.contains(name))
            throw UsageError(fmt::format(
                "--goodput {}=…: the run in {} has no class of that name; {}", name, directory.string(),
                known.empty() ? "its requests have no classes"
                              : fmt::format("its classes are {}", fmt::join(known, ", "))));
}

void write(const Goodput& goodput, const std::string& key, PlanEcho& plan) {
    if (goodput.texts.empty())
        plan.erase(key);
    else
        plan[key] = fmt::format("{}", fmt::join(goodput.texts, " "));
}

}  // namespace

void add_goodput(Refold& refold, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0) throw UsageError(fmt::format("--goodput {}: expected CLASS=LIMITS or LIMITS", text));
    if (equals != std::string::npos) {
        append(refold.classes[text.substr(0, equals)], goodput_of(text.substr(equals + 1)));
        return;
    }
    if (!refold.goodput) refold.goodput.emplace();
    append(*refold.goodput, goodput_of(text));
}

void refold(RunResult& result, const std::filesystem::path& directory, const Refold& options) {
    refuse_unknown_classes(result, directory, options);
    const RecordFiles files = record_files_in(directory);
    const RequestTable requests = read_requests(files.lines);
    const EventsFile events(files.events, {});

    FoldAnew anew{.percentiles = options.percentiles};
    const Goodput all = options.goodput ? *options.goodput : goodput_in(result.plan, std::string(kOption));
    anew.slos = all.slos;
    write(all, std::string(kOption), result.plan);
    for (const auto& [name, scope] : result.classes) {
        const std::string key = key_of_class(name);
        const auto own = options.classes.find(name);
        const Goodput goodput = own != options.classes.end() ? own->second
                                : options.goodput            ? *options.goodput
                                                             : goodput_in(result.plan, key);
        anew.class_slos[name] = goodput.slos;
        if (!options.goodput || own != options.classes.end())
            write(goodput, key, result.plan);
        else
            result.plan.erase(key);
    }
    if (result.stop && result.stop->rule == "diverging") {
        judge_anew(result, requests, events, TimePoint{}, anew.slos, anew.class_slos);
        return;
    }
    fold_anew(result, requests, events, TimePoint{}, anew);
}

}  // namespace paretoken::reports
