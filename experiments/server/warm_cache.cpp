#include "experiments/server/warm_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/result/figures.h"
#include "datasets/catalog.h"
#include "experiments/server/lifecycle.h"
#include "experiments/server/provenance.h"
#include "loadgen/http/address.h"
#include "loadgen/http/url.h"
#include "reports/files/file_io.h"
#include "reports/files/json/run_json.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

/// Returns the hashes of those files of a plan that hold prompts.
std::set<std::string> files_of(const LoadPlan& plan) {
    std::set<std::string> files;
    for (const RequestClass& of : plan.classes)
        if (!of.dataset_content.empty() && !datasets::makes_prompts(of.dataset))
            files.insert(of.dataset_content);
    return files;
}

bool used_a_file(const PlanEcho& plan, const std::set<std::string>& files) {
    return std::ranges::any_of(plan, [&](const auto& option) {
        return option.first.ends_with("dataset_content") && files.contains(option.second);
    });
}

/// Returns a URL in one form for all names of the loopback.
std::string address_of(const std::string& url) {
    if (names_simulator(url)) return url;
    try {
        http::Url parsed = http::parse_url(url);
        if (http::is_loopback(parsed)) parsed.host = "localhost";
        return parsed.text();
    } catch (const UsageError&) {  // another version wrote it
        return url;
    }
}

/// Returns the addresses of the servers of a run, whose URLs have commas between them.
std::set<std::string> addresses_of(const std::string& urls) {
    std::set<std::string> addresses;
    std::istringstream stream(urls);
    for (std::string url; std::getline(stream, url, ',');) addresses.insert(address_of(url));
    return addresses;
}

/// Returns whether two runs had the same servers. A command starts a new server at the same URL.
bool same_servers(const Provenance& a, const Provenance& b) {
    if (addresses_of(a.url) != addresses_of(b.url) || a.server.has_value() != b.server.has_value())
        return false;
    return !a.server || (a.server->command == b.server->command && a.server->ready_s == b.server->ready_s &&
                         a.server->restarts == b.server->restarts);
}

/// Returns the directories in which the runs of the same session may lie.
std::vector<fs::path> directories_beside(const fs::path& directory) {
    const fs::path beside = fs::absolute(directory).lexically_normal().parent_path();
    std::vector<fs::path> found;
    std::error_code error;
    const auto add = [&](const fs::path& below) {
        for (const auto& entry : fs::directory_iterator(below, error))
            if (entry.is_directory(error)) found.push_back(entry.path());
    };
    if (beside.parent_path().filename() == "pairs") {  // of a gate: pairs/01/baseline
        for (const auto& pair : fs::directory_iterator(beside.parent_path(), error)) add(pair.path());
    } else {
        add(beside);
    }
    std::ranges::sort(found);
    return found;
}

/// Returns what the words before the prompts of a file depend on; nothing if there are no such words.
std::string words_before_prompts(const Workload& workload, bool salt_prompts) {
    return salt_prompts ? fmt::format("{} {}", workload.seed, workload.salt) : "";
}

bool has_salted_prompts(const PlanEcho& plan) {
    const auto found = plan.find("salt_prompts");
    return found != plan.end() && found->second == "true";
}

/// Returns the result of a run, ended or not. If none of its requests ended, the result has no figures.
std::optional<RunResult> result_in(const fs::path& directory) {
    try {
        return reports::read_run_directory(directory);
    } catch (const Error&) {  // it is no run, or one without an ended request
    }
    try {
        const fs::path path = directory / reports::kBegunFileName;
        const Begun begun = reports::parse_begun_json(reports::read_file(path), path.string()).begun;
        RunResult result;
        result.provenance = begun.provenance;
        result.plan = begun.plan;
        result.workload = begun.workload;
        return result;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

std::vector<EarlierRun> earlier_runs_of(const Begun& begun, const LoadPlan& plan,
                                        const std::string& opened_at, const fs::path& directory) {
    std::vector<EarlierRun> earlier;
    const std::set<std::string> files = files_of(plan);
    if (plan.server.reset_cache || files.empty()) return earlier;
    // A simulated server began with its target; how long another one has been running is not known.
    const std::string since =
        std::max(names_simulator(begun.provenance.url) ? opened_at : "", utc_now(std::chrono::days(1)));
    for (const fs::path& place : directories_beside(directory)) {
        const auto run = result_in(place);
        if (!run || run->provenance.started_at < since || run->client.timing == "virtual" ||
            !same_servers(run->provenance, begun.provenance) || !used_a_file(run->plan, files) ||
            words_before_prompts(run->workload, has_salted_prompts(run->plan)) !=
                words_before_prompts(begun.workload, plan.salt_prompts))
            continue;
        earlier.push_back({place.filename().string(), run->throughput.at(figure::kCachedPromptRatio)});
    }
    return earlier;
}

}  // namespace paretoken::experiments
