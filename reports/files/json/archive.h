#pragma once
// The archives that turn a value into JSON and back. `fields(archive, value)` names every field of a value
// once: Writer makes JSON of it, LineWriter the text of a line, Reader fills the value from JSON.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/histogram.h"
#include "core/result/alerts.h"
#include "core/result/result.h"
#include "core/result/slo.h"
#include "core/units.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/plan_file.h"

/// Passes members whose keys are their names: PARETOKEN_FIELDS(a, v, n, mean) is a("n", v.n); a("mean",
/// v.mean). The first argument may also be a.required.
#define PARETOKEN_FIELDS(call, value, ...) PARETOKEN_SCAN(PARETOKEN_FIELD(call, value, __VA_ARGS__))
#define PARETOKEN_FIELD(call, value, member, ...) \
    call(#member, value.member);                  \
    __VA_OPT__(PARETOKEN_NEXT_FIELD PARETOKEN_PARENTHESES(call, value, __VA_ARGS__))
#define PARETOKEN_NEXT_FIELD() PARETOKEN_FIELD
#define PARETOKEN_PARENTHESES ()
// Each scan expands one further member, up to 85.
#define PARETOKEN_SCAN(...) \
    PARETOKEN_SCAN_16(PARETOKEN_SCAN_16(PARETOKEN_SCAN_16(PARETOKEN_SCAN_16(__VA_ARGS__))))
#define PARETOKEN_SCAN_16(...) \
    PARETOKEN_SCAN_4(PARETOKEN_SCAN_4(PARETOKEN_SCAN_4(PARETOKEN_SCAN_4(__VA_ARGS__))))
#define PARETOKEN_SCAN_4(...) \
    PARETOKEN_SCAN_1(PARETOKEN_SCAN_1(PARETOKEN_SCAN_1(PARETOKEN_SCAN_1(__VA_ARGS__))))
#define PARETOKEN_SCAN_1(...) __VA_ARGS__

namespace paretoken::reports {

using Json = nlohmann::ordered_json;

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T, std::less<>>> = true;

inline void enum_named(std::string_view name, std::optional<Verdict>& value) {
    value = verdict_named(name);
}
inline void enum_named(std::string_view name, std::optional<Outcome>& value) {
    value = outcome_named(name);
}
inline void enum_named(std::string_view name, std::optional<TokenSource>& value) {
    value = token_source_named(name);
}
inline void enum_named(std::string_view name, std::optional<Fact>& value) {
    value = fact_named(name);
}
inline void enum_named(std::string_view name, std::optional<PointState>& value) {
    value = point_state_named(name);
}
inline void enum_named(std::string_view name, std::optional<SloVerdict>& value) {
    value = slo_verdict_named(name);
}
inline void enum_named(std::string_view name, std::optional<AlertState>& value) {
    value = alert_state_named(name);
}
inline void enum_named(std::string_view name, std::optional<AlertSeverity>& value) {
    value = alert_severity_named(name);
}
inline void enum_named(std::string_view name, std::optional<AlertComparison>& value) {
    value = alert_comparison_named(name);
}

/// The Scope part of a result, which is const if the result is const.
template <class T>
auto& as_scope(T& result) {
    if constexpr (std::is_const_v<T>)
        return static_cast<const Scope&>(result);
    else
        return static_cast<Scope&>(result);
}

inline constexpr std::string_view kIntervalSuffix = "_ci95";
inline constexpr std::string_view kInstrumentSuffix = "_instrument";

/// The label of a percentile: "p50" for .5, "p999" for .999.
std::string percentile_label(double p);
std::optional<double> percentile_labelled(std::string_view label);

/// The text of `json`, in which bytes that are not UTF-8 (of a server's error text) become U+FFFD.
std::string text_of(const Json& json, int indent);

/// The JSON of a text. Throws a UsageError that names the file.
Json parsed(std::string_view text, const std::string& where);

/// Throws a UsageError unless `key` of `json` is the string `expected`.
void expect(const Json& json, const char* key, std::string_view expected, const std::string& where);

/// Makes JSON of values.
class Writer {
  public:
    /// Points in time are written in seconds since `epoch`.
    explicit Writer(TimePoint epoch = {}) : epoch_(epoch) {}

    Json take() { return std::move(object_); }

    template <class T>
    void operator()(const char* key, const T& value) {
        if constexpr (kIsOptional<T>) {
            if (value) (*this)(key, *value);
        } else {
            object_[key] = json_of(value, epoch_);
        }
    }
    template <class T>
    void required(const char* key, const T& value) {
        (*this)(key, value);
    }

    void unless_empty(const char* key, const std::string& text) {
        if (!text.empty()) (*this)(key, text);
    }
    /// Writes a map as an array of objects with two keys.
    template <class X>
    void pairs(const char* key, const char* first, const char* second, const std::map<X, double>& map) {
        Json array = Json::array();
        for (const auto& [x, y] : map) array.push_back({{first, json_of(x)}, {second, json_of(y)}});
        object_[key] = std::move(array);
    }

    /// Writes the plan with the JSON types of its fields.
    void plan(const PlanEcho& echo) { object_["plan"] = Json::parse(echo_json(echo)); }

    template <class Summary>
    void metrics(const std::vector<Summary>& metrics) {
        Json object = Json::object();
        for (const Summary& metric : metrics) object[metric.key] = json_of(metric);
        object_["metrics"] = std::move(object);
    }
    void percentiles(const std::vector<PercentileValue>& percentiles) {
        for (const PercentileValue& percentile : percentiles)
            object_[percentile_label(percentile.p)] = percentile.value ? json_of(*percentile.value) : Json();
    }
    void percentile_notes(const std::vector<PercentileValue>& percentiles) {
        Json intervals = Json::object();
        Json certified = Json::object();
        for (const PercentileValue& percentile : percentiles) {
            if (percentile.ci95) intervals[percentile_label(percentile.p)] = json_of(*percentile.ci95);
            certified[percentile_label(percentile.p)] = percentile.certified;
        }
        object_["ci95"] = std::move(intervals);
        object_["certified"] = std::move(certified);
        percentile_note("instrument", percentiles, &PercentileValue::instrument);
        percentile_note("effective_n", percentiles, &PercentileValue::effective_n);
        percentile_note("enough_n", percentiles, &PercentileValue::enough_n);
        percentile_note("decided", percentiles, &PercentileValue::decided);
    }
    /// Writes a member of the percentiles that have it; nothing if none has it.
    template <class T>
    void percentile_note(const char* name, const std::vector<PercentileValue>& percentiles,
                         std::optional<T> PercentileValue::*member) {
        Json notes = Json::object();
        for (const PercentileValue& percentile : percentiles)
            if (percentile.*member) notes[percentile_label(percentile.p)] = json_of(*(percentile.*member));
        if (!notes.empty()) object_[name] = std::move(notes);
    }

    void histogram(const Histogram& histogram) {
        Json buckets = Json::object();
        for (const auto& [bucket, count] : histogram.buckets()) buckets[std::to_string(bucket)] = count;
        object_["buckets"] = std::move(buckets);
        (*this)("sum_s", histogram.sum());
        (*this)("max_s", histogram.max());
    }

    template <class T>
    static Json json_of(const T& value, TimePoint epoch = {}) {
        if constexpr (std::same_as<T, TimePoint>) {
            return seconds(value - epoch);
        } else if constexpr (std::same_as<T, Duration>) {
            return seconds(value);
        } else if constexpr (std::is_enum_v<T>) {
            return std::string(name_of(value));
        } else if constexpr (std::same_as<T, double>) {
            return std::isfinite(value) ? Json(value) : Json();
        } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
            return value;
        } else if constexpr (std::same_as<T, Interval>) {
            return Json::array({json_of(value.low), json_of(value.high)});
        } else if constexpr (std::same_as<T, Figures>) {
            Json object = Json::object();
            for (const FigureValue& figure : value.values) {
                object[figure.key] = json_of(figure.value);
                if (figure.ci95) object[figure.key + std::string(kIntervalSuffix)] = json_of(*figure.ci95);
                if (figure.instrument)
                    object[figure.key + std::string(kInstrumentSuffix)] = json_of(*figure.instrument);
            }
            return object;
        } else if constexpr (kIsVector<T>) {
            Json array = Json::array();
            for (const auto& element : value) array.push_back(json_of(element, epoch));
            return array;
        } else if constexpr (kIsMap<T>) {
            Json object = Json::object();
            for (const auto& [key, element] : value) object[key] = json_of(element, epoch);
            return object;
        } else {
            Writer writer(epoch);
            fields(writer, value);
            return writer.take();
        }
    }

  private:
    TimePoint epoch_;
    Json object_ = Json::object();
};

/// Writes lines of requests.jsonl fast, without building a tree. Absent and empty values are left out.
class LineWriter {
  public:
    LineWriter(std::string& out, TimePoint epoch) : out_(out), epoch_(epoch) { out_ += '{'; }
    void close() { out_ += '}'; }

    template <class T>
    void operator()(const char* key, const T& value) {
        if constexpr (kIsOptional<T>) {
            if (value) (*this)(key, *value);
        } else if constexpr (std::is_enum_v<T>) {
            add_text(key, name_of(value));
        } else if constexpr (std::same_as<T, std::string>) {
            if (!value.empty()) add_text(key, value);
        } else if constexpr (std::same_as<T, bool>) {
            if (value) add(key, "true");
        } else if constexpr (std::same_as<T, TimePoint>) {
            add(key, seconds(value - epoch_));
        } else if constexpr (std::same_as<T, Duration>) {
            add(key, seconds(value));
        } else {
            static_assert(std::integral<T>);
            add(key, value);
        }
    }
    template <class T>
    void required(const char* key, const T& value) {
        (*this)(key, value);
    }
    template <class T, class Part>
    void part(const char* key, const std::optional<T>& whole, Part T::*member) {
        if (whole) (*this)(key, (*whole).*member);
    }

  private:
    void add_key(const char* key) {
        if (out_.back() != '{') out_ += ',';
        out_.append(1, '"').append(key).append("\":");
    }
    template <class T>
    void add(const char* key, const T& value) {
        add_key(key);
        fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
    }
    void add_text(const char* key, std::string_view text) {
        add_key(key);
        const auto is_plain = [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
        if (std::ranges::all_of(text, is_plain))
            out_.append(1, '"').append(text) += '"';
        else
            out_ += text_of(Json(text), -1);
    }

    std::string& out_;
    TimePoint epoch_;
};

/// What the error says of a file that cannot be a result of this program.
inline constexpr std::string_view kForeign =
    "the file was not written by paretoken, or was changed: restore it, or measure again";

/// Fills values from JSON. An absent value stays as it was; a value of another type throws a UsageError with
/// the file and the path of the key.
class Reader {
  public:
    Reader(const Json& object, std::string where, std::string prefix, TimePoint epoch)
        : object_(object), where_(std::move(where)), prefix_(std::move(prefix)), epoch_(epoch) {
        if (!object.is_object()) refuse(object, prefix_, "an object");
    }

    template <class T>
    void operator()(const char* key, T& value) const {
        if (const auto found = object_.find(key); found != object_.end()) fill(*found, path_of(key), value);
    }
    template <class T>
    void required(const char* key, T& value) const {
        require(key);
        (*this)(key, value);
    }
    template <class T, class Part>
    void part(const char* key, std::optional<T>& whole, Part T::*member) const {
        if (!object_.contains(key)) return;
        if (!whole) whole.emplace();
        (*this)(key, (*whole).*member);
    }

    void unless_empty(const char* key, std::string& text) const { (*this)(key, text); }
    template <class X>
    void pairs(const char* key, const char* first, const char* second, std::map<X, double>& map) const {
        const auto found = object_.find(key);
        if (found == object_.end()) return;
        if (!found->is_array()) refuse(*found, path_of(key), "an array");
        map.clear();
        for (std::size_t i = 0; i < found->size(); ++i) {
            const Reader pair((*found)[i], where_, fmt::format("{}[{}]", path_of(key), i), epoch_);
            X x{};
            double y = 0;
            pair.required(first, x);
            pair.required(second, y);
            if constexpr (std::same_as<X, double>)
                if (!std::isfinite(x)) refuse((*found)[i].at(first), pair.path_of(first), "a number");
            map[x] = y;
        }
    }

    void histogram(Histogram& histogram) const {
        std::map<std::string, std::uint64_t> named;
        Duration sum{};
        Duration max{};
        (*this)("buckets", named);
        (*this)("sum_s", sum);
        (*this)("max_s", max);
        std::map<std::uint32_t, std::uint64_t> buckets;
        for (const auto& [name, count] : named) {
            std::uint32_t bucket = 0;
            const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), bucket);
            if (error == std::errc{} && end == name.data() + name.size()) buckets[bucket] = count;
        }
        histogram = Histogram::restored(buckets, sum, max);
    }

    void plan(PlanEcho& echo) const {
        require("plan");
        const Json& object = object_.at("plan");
        if (!object.is_object()) refuse(object, path_of("plan"), "an object");
        for (const auto& [key, value] : object.items())
            echo[key] = value.is_string() ? value.template get<std::string>() : value.dump();
    }

    template <class Summary>
    void metrics(std::vector<Summary>& metrics) const {
        require("metrics");
        const Json& object = object_.at("metrics");
        if (!object.is_object()) refuse(object, path_of("metrics"), "an object");
        metrics.clear();
        for (const auto& [key, summary] : object.items()) {
            metrics.emplace_back().key = key;
            fill(summary, path_of("metrics." + key), metrics.back());
        }
    }
    void percentiles(std::vector<PercentileValue>& percentiles) const {
        for (const auto& [key, value] : object_.items())
            if (const std::optional<double> p = percentile_labelled(key)) {
                percentiles.emplace_back().p = *p;
                fill(value, path_of(key), percentiles.back().value);
            }
    }
    void percentile_notes(std::vector<PercentileValue>& percentiles) const {
        percentile_note<Interval>("ci95", percentiles, &PercentileValue::ci95);
        percentile_note<bool>("certified", percentiles, &PercentileValue::certified);
        percentile_note<double>("effective_n", percentiles, &PercentileValue::effective_n);
        percentile_note<std::uint64_t>("enough_n", percentiles, &PercentileValue::enough_n);
        percentile_note<Interval>("decided", percentiles, &PercentileValue::decided);
        percentile_note<double>("instrument", percentiles, &PercentileValue::instrument);
    }
    /// Sets a member, a T or an optional one, of the percentiles that the object `name` has.
    template <class T, class Member>
    void percentile_note(const char* name, std::vector<PercentileValue>& percentiles,
                         Member PercentileValue::*member) const {
        std::map<std::string, T> notes;
        (*this)(name, notes);
        for (PercentileValue& percentile : percentiles)
            if (const auto found = notes.find(percentile_label(percentile.p)); found != notes.end())
                percentile.*member = found->second;
    }

  private:
    std::string path_of(const std::string& key) const { return prefix_.empty() ? key : prefix_ + "." + key; }

    /// Refuses a file without this key.
    void require(const char* key) const {
        if (!object_.contains(key))
            throw UsageError(fmt::format("{}: key \"{}\" is missing; {}", where_, path_of(key), kForeign));
    }

    [[noreturn]] void refuse(const Json& json, const std::string& path, std::string_view expected) const {
        throw UsageError(fmt::format("{}: {} is {}, {} was expected; {}", where_,
                                     path.empty() ? "the content" : fmt::format("key \"{}\"", path),
                                     kind_of(json), expected, kForeign));
    }
    static std::string kind_of(const Json& json) {
        const std::string name = json.type_name();
        if (name == "null") return name;
        return (name == "array" || name == "object" ? "an " : "a ") + name;
    }

    template <class T>
    void fill(const Json& json, const std::string& path, T& value) const {
        if constexpr (kIsOptional<T>) {
            if (json.is_null())
                value.reset();
            else
                fill(json, path, value.emplace());
        } else if constexpr (std::is_enum_v<T>) {
            if (!json.is_string()) refuse(json, path, "a string");
            std::optional<T> named;
            enum_named(json.get_ref<const std::string&>(), named);
            if (!named)
                throw UsageError(
                    fmt::format("{}: key \"{}\" is \"{}\", which this version of paretoken does not know; "
                                "use the version that wrote the file",
                                where_, path, json.get_ref<const std::string&>()));
            value = *named;
        } else if constexpr (std::same_as<T, std::string>) {
            if (!json.is_string()) refuse(json, path, "a string");
            value = json.get<std::string>();
        } else if constexpr (std::same_as<T, bool>) {
            if (!json.is_boolean()) refuse(json, path, "true or false");
            value = json.get<bool>();
        } else if constexpr (std::same_as<T, double>) {
            if (!json.is_number() && !json.is_null()) refuse(json, path, "a number");
            value = json.is_null() ? kInfinity : json.get<double>();
        } else if constexpr (std::integral<T>) {
            fill_integer(json, path, value);
        } else if constexpr (std::same_as<T, TimePoint>) {
            value = epoch_ + duration_of(json, path);
        } else if constexpr (std::same_as<T, Duration>) {
            value = duration_of(json, path);
        } else if constexpr (std::same_as<T, Interval>) {
            if (!json.is_array() || json.size() != 2) refuse(json, path, "an array of two numbers");
            fill(json[0], path + "[0]", value.low);
            fill(json[1], path + "[1]", value.high);
        } else if constexpr (std::same_as<T, Figures>) {
            fill_figures(json, path, value);
        } else if constexpr (kIsVector<T>) {
            if (!json.is_array()) refuse(json, path, "an array");
            value.clear();
            for (std::size_t i = 0; i < json.size(); ++i)
                fill(json[i], fmt::format("{}[{}]", path, i), value.emplace_back());
        } else if constexpr (kIsMap<T>) {
            if (!json.is_object()) refuse(json, path, "an object");
            value.clear();
            for (const auto& [key, element] : json.items()) fill(element, path + "." + key, value[key]);
        } else {
            Reader reader(json, where_, path, epoch_);
            fields(reader, value);
        }
    }
    void fill_figures(const Json& json, const std::string& path, Figures& figures) const {
        if (!json.is_object()) refuse(json, path, "an object");
        figures.values.clear();
        for (const auto& [key, element] : json.items()) {
            if (key.ends_with(kIntervalSuffix) || key.ends_with(kInstrumentSuffix)) continue;
            FigureValue figure{key, 0, std::nullopt};
            fill(element, path + "." + key, figure.value);
            const std::string& name = key;
            const auto fill_note = [&](std::string_view suffix, auto& value) {
                const std::string note = name + std::string(suffix);
                if (json.contains(note)) fill(json.at(note), path + "." + note, value);
            };
            fill_note(kIntervalSuffix, figure.ci95);
            fill_note(kInstrumentSuffix, figure.instrument);
            figures.values.push_back(std::move(figure));
        }
    }
    template <class T>
    void fill_integer(const Json& json, const std::string& path, T& value) const {
        const bool fits =
            std::is_unsigned_v<T>
                ? json.is_number_unsigned() && json.get<std::uint64_t>() <= std::numeric_limits<T>::max()
                : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
        if (!fits) refuse(json, path, std::is_unsigned_v<T> ? "a whole number ≥ 0" : "a whole number");
        value = json.get<T>();
    }
    Duration duration_of(const Json& json, const std::string& path) const {
        constexpr double kLongest = 9e9;  // seconds; more would overflow 64 bits of nanoseconds
        if (!json.is_number() || std::abs(json.get<double>()) > kLongest)
            refuse(json, path, "a time in seconds");
        return from_seconds(json.get<double>());
    }

    const Json& object_;
    std::string where_;
    std::string prefix_;
    TimePoint epoch_;
};

/// Reads a T from `json`, which holds the fields of T.
template <class T>
T read_fields(const Json& json, const std::string& where, TimePoint epoch = {}) {
    T value;
    Reader reader(json, where, "", epoch);
    fields(reader, value);
    return value;
}

}  // namespace paretoken::reports
