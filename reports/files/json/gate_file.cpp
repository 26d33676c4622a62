#include "reports/files/json/gate_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/version.h"
#include "reports/files/json/gate_fields.h"

namespace paretoken::reports {
namespace {

/// The file that a policy is read from, for messages.
struct Source {
    std::string_view text;
    const std::string& where;

    std::size_t line_at(std::size_t position) const {
        const std::string_view before = text.substr(0, std::min(position, text.size()));
        return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
    }
    /// The line of the first place that holds `quoted` as a string; 1 if there is none.
    std::size_t line_of(std::string_view quoted) const {
        const std::size_t found = text.find(fmt::format("\"{}\"", quoted));
        return found == std::string_view::npos ? 1 : line_at(found);
    }
    [[noreturn]] void refuse(std::string_view key, const std::string& why) const {
        throw UsageError(fmt::format("{}:{}: \"{}\" {}", where, line_of(key), key, why));
    }
};

double number_of(const Json& value, std::string_view key, const Source& source) {
    if (!value.is_number()) source.refuse(key, fmt::format("is {}; a number was expected", value.dump()));
    return value.get<double>();
}

std::string string_of(const Json& value, std::string_view key, const Source& source) {
    if (!value.is_string()) source.refuse(key, fmt::format("is {}; text was expected", value.dump()));
    return value.get<std::string>();
}

/// Calls `action`; to a UsageError about `name` it adds the file and the line that holds the name.
template <class Action>
void at_line_of(std::string_view name, const Source& source, const Action& action) {
    try {
        action();
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}:{}: {}", source.where, source.line_of(name), error.what()));
    }
}

GateMetric metric_of(const Json& object, const Source& source) {
    if (!object.is_object() || !object.contains("metric"))
        source.refuse("metrics", R"(must hold objects such as {"metric": "ttft_p95", "tolerance": 0.1})");
    GateMetric metric{.name = string_of(object.at("metric"), "metric", source)};
    for (const auto& [key, value] : object.items()) {
        if (key == "tolerance")
            metric.tolerance = number_of(value, key, source);
        else if (key == "floor")
            metric.floor = number_of(value, key, source);
        else if (key == "optional" && value.is_boolean())
            metric.optional = value.get<bool>();
        else if (key == "may_stay_undecided" && value.is_boolean())
            metric.may_stay_undecided = value.get<bool>();
        else if (key != "metric")
            source.refuse(key,
                          "is not a key of a metric; known: metric, tolerance, floor, optional, "
                          "may_stay_undecided");
    }
    at_line_of(metric.name, source, [&] {
        GatePolicy alone;
        alone.metrics = {metric};
        check(alone);
    });
    return metric;
}

void read(const std::string& key, const Json& value, const Source& source, GatePolicy& policy) {
    if (key == "schema") {
        if (value != Json(kGatePolicySchema))
            source.refuse(key, fmt::format("is {}, and this version of paretoken reads \"{}\"; "
                                           "--print-policy writes such a file",
                                           value.dump(), kGatePolicySchema));
    } else if (key == "alpha") {
        policy.alpha = number_of(value, key, source);
    } else if (key == "beta") {
        policy.beta = number_of(value, key, source);
    } else if (key == "day_spread") {
        policy.day_spread = number_of(value, key, source);
    } else if (key == "max_pairs") {
        if (!value.is_number_unsigned()) source.refuse(key, "must be a whole number");
        policy.max_pairs = value.get<std::uint64_t>();
    } else if (key == "metrics") {
        if (!value.is_array()) source.refuse(key, "must be a list");
        policy.metrics.clear();
        for (const Json& metric : value) policy.metrics.push_back(metric_of(metric, source));
    } else if (key == "limits") {
        if (!value.is_array()) source.refuse(key, "must be a list");
        policy.limits.clear();
        for (const Json& limit : value) {
            const std::string text = string_of(limit, key, source);
            at_line_of(text, source, [&] { policy.limits.push_back(parse_limit(text)); });
        }
    } else {
        source.refuse(
            key,
            "is not a key of a policy; known: schema, alpha, beta, max_pairs, day_spread, metrics, limits");
    }
}

Json json_of(const GatePolicy& policy) {
    Json metrics = Json::array();
    for (const GateMetric& metric : policy.metrics) {
        Json object{{"metric", metric.name}, {"tolerance", metric.tolerance}};
        if (metric.floor > 0) object["floor"] = metric.floor;
        if (metric.optional) object["optional"] = true;
        if (metric.may_stay_undecided) object["may_stay_undecided"] = true;
        metrics.push_back(std::move(object));
    }
    Json limits = Json::array();
    for (const GateLimit& limit : policy.limits) limits.push_back(text_of(limit));
    return {
        {"schema", kGatePolicySchema},   {"alpha", policy.alpha},           {"beta", policy.beta},
        {"max_pairs", policy.max_pairs}, {"day_spread", policy.day_spread}, {"metrics", std::move(metrics)},
        {"limits", std::move(limits)}};
}

}  // namespace

std::string policy_json(const GatePolicy& policy) {
    return json_of(policy).dump(2) + "\n";
}

GatePolicy parse_policy_json(std::string_view text, const std::string& where) {
    const Source source{text, where};
    Json object;
    try {
        object = Json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        throw UsageError(
            fmt::format("{}:{}: not JSON; correct the syntax there", where, source.line_at(error.byte)));
    } catch (const nlohmann::json::out_of_range&) {
        throw UsageError(fmt::format("{}: a number is beyond what a double holds (1.8e308)", where));
    }
    if (!object.is_object()) throw UsageError(fmt::format("{}:1: expected a JSON object", where));
    GatePolicy policy = default_policy();
    for (const auto& [key, value] : object.items()) read(key, value, source, policy);
    for (const std::string_view key : {"alpha", "beta", "max_pairs", "day_spread"})
        if (object.contains(key)) {
            GatePolicy with_it = default_policy();
            read(std::string(key), object.at(std::string(key)), source, with_it);
            at_line_of(key, source, [&] { check(with_it); });
        }
    return policy;
}

std::string gate_json(const GateReport& report, const std::optional<GateAsked>& asked) {
    Json object{{"schema", kGateSchema}, {"version", version()}};
    object.update(Writer::json_of(report));
    object["policy"] = json_of(report.policy);
    if (asked) {
        Json options = Json::object();
        for (const auto& [key, value] : asked->options) options[key] = value;
        object["asked"] = {{"baseline", asked->baseline},
                           {"candidate", asked->candidate},
                           {"command", asked->command},
                           {"started_at", asked->started_at},
                           {"options", std::move(options)}};
    }
    return text_of(object, 2) + "\n";
}

GateReport parse_gate_json(std::string_view text, const std::string& where) {
    const Json object = parsed(text, where);
    expect(object, "schema", kGateSchema, where);
    GateReport report = read_fields<GateReport>(object, where);
    if (object.contains("policy")) report.policy = parse_policy_json(object.at("policy").dump(), where);
    return report;
}

GateAsked parse_gate_asked(std::string_view text, const std::string& where) {
    const Json object = Json::parse(text, nullptr, false);
    const auto refuse = [&]() -> UsageError {
        return UsageError(
            fmt::format("{} is not that of a gate which this command can continue; give another --out, or "
                        "--overwrite to replace it",
                        where));
    };
    try {
        if (object.at("schema") != kGateSchema) throw refuse();
        const Json& asked = object.at("asked");
        GateAsked read{.baseline = asked.at("baseline"),
                       .candidate = asked.at("candidate"),
                       .command = asked.at("command"),
                       .started_at = asked.at("started_at")};
        for (const auto& [key, value] : asked.at("options").items()) read.options[key] = value;
        return read;
    } catch (const nlohmann::json::exception&) {
        throw refuse();
    }
}

}  // namespace paretoken::reports
