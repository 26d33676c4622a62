#include "reports/files/interop/readers/foreign_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "cards/gpu.h"
#include "core/text/command_secrets.h"
#include "core/text/content_hash.h"
#include "core/text/json_nesting.h"
#include "core/text/utc.h"
#include "core/version.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_request.h"

namespace paretoken::reports {

namespace {

/// The text as JSON parsers take it. Throws UsageError if it nests too deep for them.
std::string parsable(std::string text, const std::string& where) {
    if (nests_deeper_than(kDeepestJson, text))
        refuse_foreign(where, fmt::format("nested deeper than {} levels", kDeepestJson));
    return without_python_numbers(std::move(text));
}

[[noreturn]] void refuse_json(const std::string& where, const nlohmann::json::exception& error) {
    std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at line 1 …"
    if (what.starts_with('[')) what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
    refuse_foreign(where, fmt::format("invalid JSON ({}); is the file complete?", what));
}

}  // namespace

nlohmann::json foreign_json(std::string text, const std::string& where) {
    text = parsable(std::move(text), where);
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& error) {
        refuse_json(where, error);
    }
}

ForeignLoad with_real_limits(ForeignLoad load) {
    if (load.concurrency && *load.concurrency <= 0) load.concurrency.reset();
    if (load.request_rate && !(*load.request_rate > 0)) load.request_rate.reset();
    return load;
}

std::string without_secrets(std::string_view name, std::string_view value) {
    Secrets secrets;
    add_setting(secrets, name, value);
    return secrets.redacted(value.find("://") == value.npos ? std::string(value) : redacted_url(value));
}

std::map<std::string, std::string> other_values_in(const nlohmann::json& object, std::string_view known) {
    constexpr std::size_t kLongest = 200;
    std::map<std::string, std::string> values;
    if (!object.is_object()) return values;
    for (const auto& [key, value] : object.items()) {
        if (known.find(fmt::format(" {} ", key)) != known.npos) continue;
        std::string text = value.is_string()                                 ? value.get<std::string>()
                           : value.is_number_integer() || value.is_boolean() ? value.dump()
                                                                             : std::string();
        if (!text.empty() && text.size() <= kLongest) values.emplace(key, without_secrets(key, text));
    }
    return values;
}

namespace {

/// Names the hardware by its card. A name without a card stays among the metadata.
void add_hardware(Provenance& provenance, const ForeignLoad& load) {
    std::string name = load.hardware;
    std::uint32_t count = load.hardware_count;
    const std::size_t digits = name.find_first_not_of("0123456789");
    if (digits > 0 && digits < 6 && digits != std::string::npos &&
        (name[digits] == 'x' || name[digits] == 'X')) {
        count = static_cast<std::uint32_t>(std::stoul(name.substr(0, digits)));
        name.erase(0, digits + 1);
    }
    std::ranges::replace_if(
        name, [](char c) { return c == '_' || c == '-'; }, ' ');
    if (const auto card = cards::find_gpu(name)) {
        provenance.hardware = card->name;
        provenance.hardware_count = std::max(count, 1U);
    } else if (!load.hardware.empty()) {
        provenance.metadata["gpu"] = load.hardware;
    }
}

}  // namespace

Begun begun_of(const ForeignLoad& load, std::initializer_list<Fact> unknown) {
    Begun begun;
    begun.provenance.version = std::string(version());
    begun.provenance.measured_by = load.tool;
    begun.provenance.started_at = load.started_at;
    begun.provenance.model = load.model;
    begun.provenance.url = load.url;
    begun.provenance.server_kind = load.server_kind;
    begun.provenance.metadata = load.metadata;
    add_hardware(begun.provenance, load);
    begun.shape.open_loop = load.request_rate.has_value();
    begun.shape.request_rate = load.request_rate;
    begun.shape.stationary = load.stationary;
    if (!load.stationary)  // no part of a run has one rate
        begun.shape.constant_rate = {{.begin = std::chrono::days(365)}};
    if (load.concurrency) {
        begun.shape.concurrency = static_cast<std::uint64_t>(*load.concurrency);
        begun.plan["concurrency"] = std::to_string(*load.concurrency);
        if (!load.request_rate) begun.shape.kept_in_flight = begun.shape.concurrency;
    }
    if (!load.arrivals.empty()) begun.plan["arrivals"] = load.arrivals;
    if (load.request_rate && load.stationary)
        begun.plan["request_rate"] = fmt::format("{}", *load.request_rate);
    if (load.all_at_once && !load.concurrency && !load.request_rate) begun.plan["request_rate"] = "inf";
    if (load.burstiness && *load.burstiness != 1)
        begun.plan["burstiness"] = fmt::format("{}", *load.burstiness);
    if (load.requests > 0) begun.plan["num_prompts"] = std::to_string(load.requests);
    if (!load.model.empty()) begun.plan["model"] = load.model;
    begun.workload.dataset = "unknown (measured by " + load.tool + ")";
    begun.workload.endpoint = load.endpoint;
    begun.workload.fingerprint = content_hash(load.tool + "\n" + load.endpoint);
    begun.workload.length_source = load.length_source;
    begun.unknown_facts = unknown;
    return begun;
}

std::string load_name(const ForeignLoad& load) {
    if (load.request_rate) return fmt::format("rate_{:g}", *load.request_rate);
    if (load.concurrency) return fmt::format("concurrency_{}", *load.concurrency);
    return "run";
}

void number_equal_names(std::vector<ForeignRun>& runs) {
    std::map<std::string, int> seen;
    for (ForeignRun& run : runs)
        if (const int n = ++seen[run.name]; n > 1) run.name += fmt::format("-{}", n);
}

void for_each_foreign_object(std::string text, const std::string& where,
                             const std::function<void(nlohmann::json, const std::string&)>& visit) {
    std::istringstream rest(parsable(std::move(text), where));
    for (int number = 1; !(rest >> std::ws).eof(); ++number) {
        const std::string place = number == 1 ? where : fmt::format("{}, object {}", where, number);
        nlohmann::json json;
        try {
            rest >> json;
        } catch (const nlohmann::json::exception& error) {
            refuse_json(place, error);
        }
        visit(std::move(json), place);
    }
}

void for_each_foreign_line(const std::filesystem::path& file,
                           const std::function<void(const nlohmann::json&, const std::string&)>& visit) {
    std::ifstream in(file);
    std::uint64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const std::string where = fmt::format("{}:{}", file.string(), number);
        const nlohmann::json json = foreign_json(std::move(line), where);
        visit(json, where);
        line.clear();
    }
}

std::string utc_of_epoch(double seconds) {
    if (!(seconds > 0 && seconds < 4e9)) return {};
    return utc_text(static_cast<std::time_t>(seconds));
}

std::string utc_of_iso(const std::string& time) {
    std::tm parts{};
    const char* rest = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == nullptr) return {};
    if (*rest == '.')
        while (*++rest >= '0' && *rest <= '9') {
        }
    int hours = 0;
    int minutes = 0;
    const bool has_zone = *rest == '+' || *rest == '-';
    if (has_zone && std::sscanf(rest + 1, "%2d:%2d", &hours, &minutes) != 2) return {};
    const int east_s = (hours * 60 + minutes) * 60 * (*rest == '-' ? -1 : 1);
    return utc_text(timegm(&parts) - east_s);
}

std::string utc_of_vllm_date(const std::string& date) {
    if (date.size() != 15 || date[8] != '-') return {};
    for (std::size_t i = 0; i < date.size(); ++i)
        if (i != 8 && (date[i] < '0' || date[i] > '9')) return {};
    const std::string utc =
        fmt::format("{}-{}-{}T{}:{}:{}Z", date.substr(0, 4), date.substr(4, 2), date.substr(6, 2),
                    date.substr(9, 2), date.substr(11, 2), date.substr(13, 2));
    return utc_of_iso(utc) == utc ? utc : std::string();  // the 99th of a month is no day
}

}  // namespace paretoken::reports
