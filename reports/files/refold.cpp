#include "reports/files/refold.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "core/error.h"
#include "core/result/slo.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "reports/files/recorded_files.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kOption = "goodput";

std::string key_of_class(const std::string& name) {
    return fmt::format("{}.{}", name, kOption);
}

void append(std::vector<std::string>& to, const std::string& text) {
    for (std::string& one : slo_texts(text)) {
        (void)parse_goodput_slo(one);
        to.push_back(std::move(one));
    }
}

/// Returns the names of the classes that requests have.
std::set<std::string> classes_of(const RequestTable& requests) {
    std::set<std::string> classes;
    for (const RequestRecord& record : requests)
        if (!record.request_class.empty()) classes.insert(record.request_class);
    return classes;
}

void refuse_unknown_classes(const std::set<std::string>& known, const std::filesystem::path& directory,
                            const Refold& options) {
    for (const auto& [name, goodput] : options.classes)
        if (!known.contains(name))
            throw UsageError(fmt::format(
                "--goodput {}=…: the run in {} has no class of that name; {}", name, directory.string(),
                known.empty() ? "its requests have no classes"
                              : fmt::format("its classes are {}", fmt::join(known, ", "))));
}

/// Replaces the SLOs of all requests, or those of a class, and their text in the plan.
void judge_by(Judging& judging, const Refold& options) {
    if (options.goodput) {
        for (const auto& [name, own] : judging.class_goodput) judging.plan.erase(key_of_class(name));
        judging.class_goodput.clear();
        judging.goodput = *options.goodput;
        judging.plan[std::string(kOption)] = fmt::format("{}", fmt::join(judging.goodput, " "));
    }
    for (const auto& [name, goodput] : options.classes) {
        judging.class_goodput[name] = goodput;
        judging.plan[key_of_class(name)] = fmt::format("{}", fmt::join(goodput, " "));
    }
    judging.percentiles = options.percentiles;
}

}  // namespace

void add_goodput(Refold& refold, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0) throw UsageError(fmt::format("--goodput {}: expected CLASS=LIMITS or LIMITS", text));
    if (equals != std::string::npos) {
        append(refold.classes[text.substr(0, equals)], text.substr(equals + 1));
        return;
    }
    if (!refold.goodput) refold.goodput.emplace();
    append(*refold.goodput, text);
}

RunResult refolded(const std::filesystem::path& directory, const Refold& options) {
    StoredRun stored = read_recorded(directory);
    refuse_unknown_classes(classes_of(stored.recorded.observed.records), directory, options);
    judge_by(stored.judging, options);
    return result_of(stored.recorded, stored.judging);
}

}  // namespace paretoken::reports
