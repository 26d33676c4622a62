#include "reports/files/refold.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/result/summary.h"
#include "core/version.h"
#include "reports/files/events.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"

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

// ---- whether the files are those of the run

using KeyedRow = std::pair<RequestKey, std::size_t>;

/// Returns the rows of a table, sorted by the keys of their requests. Refuses a request that the file has
/// twice.
std::vector<KeyedRow> rows_by_key(const RequestTable& requests, const std::filesystem::path& file) {
    std::vector<KeyedRow> rows;
    rows.reserve(requests.size());
    for (std::size_t row = 0; row < requests.size(); ++row) rows.emplace_back(requests.key(row), row);
    std::sort(rows.begin(), rows.end());
    const auto twice = std::adjacent_find(
        rows.begin(), rows.end(), [](const KeyedRow& a, const KeyedRow& b) { return a.first == b.first; });
    if (twice != rows.end())
        throw UsageError(
            fmt::format("{}:{}: request {} is on line {} already; restore the file that the run wrote",
                        file.string(), twice[1].second + 1, twice->first.index, twice->second + 1));
    return rows;
}

/// Returns the number of requests of any kind that a run counts.
std::uint64_t ended_in(const RunResult& result) {
    return result.counts.requests + result.counts.cancelled + result.counts.warmup;
}

/// Reads the requests of a run. Refuses a file with more or fewer lines than run.json has requests. Fewer are
/// accepted if the last line is cut off, or if the run itself said that it lost records.
RequestTable requests_of(const RunResult& result, const std::filesystem::path& file) {
    RequestTable requests;
    const bool is_cut =
        for_each_record(file, TimePoint{}, [&](RequestRecord&& record) { requests.add(record); });
    const auto& reasons = result.validity.reasons;
    const bool has_lost = std::any_of(reasons.begin(), reasons.end(),
                                      [](const Reason& reason) { return reason.check == "records_lost"; });
    const std::uint64_t ended = ended_in(result);
    if (requests.size() > ended || (requests.size() < ended && !is_cut && !has_lost))
        throw UsageError(
            fmt::format("{} holds {} requests, and the run.json beside it counts {}: it is not the "
                        "file of this run, or not all of it; restore the file that the run wrote",
                        file.string(), requests.size(), ended));
    return requests;
}

/// Refuses a file whose events are not those of `requests`, or are damaged. A last frame that is cut off is
/// accepted.
void require_events_of(const RequestTable& requests, const std::vector<KeyedRow>& rows,
                       const EventsFile& events, const std::filesystem::path& file) {
    constexpr Duration kRounding = std::chrono::microseconds(1);
    std::vector<bool> seen(requests.size());
    std::uint64_t frame = 0;
    RequestRecord record;
    const auto refuse = [&](const std::string& what) {
        throw UsageError(
            fmt::format("{}: frame {}: {}; restore the file that the run wrote, or remove it to count the "
                        "requests without events",
                        file.string(), frame, what));
    };
    events.for_each([&](const RequestKey& key, std::span<const StreamEvent> own) {
        ++frame;
        const auto row = std::lower_bound(rows.begin(), rows.end(), KeyedRow{key, 0});
        if (row == rows.end() || row->first != key) return;  // its line is cut off
        if (seen[row->second]) refuse(fmt::format("request {} has an earlier frame", key.index));
        seen[row->second] = true;
        requests.unpack(row->second, record);
        if (own.empty() || !record.first_event) return;
        if (std::chrono::abs(own.front().time - *record.first_event) > kRounding)
            refuse(
                fmt::format("the first event of request {} is at {:.6f} s, and line {} of {} says {:.6f} s",
                            key.index, seconds(own.front().time - TimePoint{}), row->second + 1,
                            kRecordsFileName, seconds(*record.first_event - TimePoint{})));
    });
    ++frame;
    if (events.extent().is_damaged) refuse("its checksum does not match");
}

/// Refuses requests that are not those of the run although their number is the same: another number of them
/// lies in its window. Other versions may count otherwise.
void require_counts_of(const RunResult& before, const Counts& now, const std::filesystem::path& file) {
    const Counts& counts = before.counts;
    if (before.provenance.version != version() || (counts.ok == now.ok && counts.in_window == now.in_window))
        return;
    throw UsageError(
        fmt::format("{} has {} successful requests, and {} in the window, and the run.json beside it "
                    "counts {} and {}: it is not the file of this run; restore the file that the "
                    "run wrote",
                    file.string(), now.ok, now.in_window, counts.ok, counts.in_window));
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
    const RequestTable requests = requests_of(result, files.lines);
    const EventsFile events(files.events, {});
    require_events_of(requests, rows_by_key(requests, files.lines), events, files.events);

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
    RunResult folded = result;
    fold_anew(folded, requests, events, TimePoint{}, anew);
    if (requests.size() >= ended_in(result)) require_counts_of(result, folded.counts, files.lines);
    result = std::move(folded);
}

}  // namespace paretoken::reports
