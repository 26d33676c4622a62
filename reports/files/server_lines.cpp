#include "reports/files/server_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "cards/json_value.h"
#include "core/run/power_figures.h"
#include "core/run/server_figures.h"
#include "reports/files/json/json_lines.h"
#include "reports/files/json/json_text.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kSum = "_s_sum";
constexpr std::string_view kCount = "_s_count";

/// The quantities of a reading of power, by their keys in a line.
struct PowerField {
    const char* key;
    std::optional<double> PowerSample::*value;
};
constexpr PowerField kPowerFields[] = {{"power_w", &PowerSample::watts},
                                       {"energy_counter_j", &PowerSample::counter_j},
                                       {"gpu_utilization", &PowerSample::utilization},
                                       {"sm_clock_hz", &PowerSample::sm_clock_hz},
                                       {"memory_clock_hz", &PowerSample::memory_clock_hz},
                                       {"temperature_c", &PowerSample::temperature_c},
                                       {"gpu_memory_bytes", &PowerSample::memory_bytes}};

/// Builds the text of an object.
class ObjectText {
  public:
    void number(std::string_view key, double value) {
        if (std::isfinite(value)) add(key, fmt::format("{}", value));
    }
    void text(std::string_view key, const std::string& value) {
        if (!value.empty()) add(key, json_text(value));
    }
    void numbers(std::string_view key, const std::map<std::string, double>& values) {
        ObjectText object;
        for (const auto& [name, value] : values) object.number(name, value);
        if (!values.empty()) add(key, object.done());
    }
    void texts(std::string_view key, const std::map<std::string, std::string>& values) {
        ObjectText object;
        for (const auto& [name, value] : values) object.add(name, json_text(value));
        if (!values.empty()) add(key, object.done());
    }
    void add(std::string_view key, const std::string& value) {
        text_ += fmt::format("{}{}:{}", text_.size() == 1 ? "" : ",", json_text(std::string(key)), value);
    }
    std::string done() && { return std::move(text_) + "}"; }
    std::string done() const& { return text_ + "}"; }

  private:
    std::string text_ = "{";
};

/// Returns whether a key is one of the known quantities.
bool is_quantity(std::string_view key) {
    const auto metrics = server_metrics();
    return std::ranges::any_of(metrics, [&](const ServerMetric& metric) { return metric.key == key; });
}

std::map<std::string, double> numbers_in(const cards::JsonCursor& object) {
    std::map<std::string, double> numbers;
    for (const auto& [name, value] : object.members()) numbers[name] = value.number();
    return numbers;
}

std::map<std::string, std::string> texts_in(const cards::JsonCursor& object) {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : object.members()) texts[name] = value.string();
    return texts;
}

TimePoint time_in(const cards::JsonCursor& line, TimePoint zero) {
    return zero + from_seconds(line.at("at_s", "the time of the reading").number());
}

PowerReading power_in(const cards::JsonCursor& line, TimePoint zero) {
    PowerReading reading{.at = time_in(line, zero)};
    for (const PowerField& field : kPowerFields)
        if (const auto value = line.find(field.key)) reading.sample.*field.value = value->number();
    if (const auto devices = line.find("devices"))
        reading.sample.devices = static_cast<std::uint32_t>(devices->number());
    if (const auto throttled = line.find("throttled")) reading.sample.throttled = throttled->number() != 0;
    return reading;
}

ServerScrape scrape_in(const cards::JsonCursor& line, TimePoint zero) {
    ServerScrape scrape;
    scrape.at = time_in(line, zero);
    for (const auto& [name, value] : line.members()) {
        const std::string_view key = name;
        if (key == "place") scrape.place = value.string();
        if (key == "server") scrape.server = static_cast<std::uint32_t>(value.number());
        if (key == "engine") scrape.engine = value.string();
        if (key == "sources") scrape.sources = texts_in(value);
        if (key == "config") scrape.config = texts_in(value);
        if (key == "kept") scrape.kept = numbers_in(value);
        if (key == "by_engine")
            for (const auto& [quantity, values] : value.members())
                scrape.by_engine[quantity] = numbers_in(values);
        if (key == "accepted_by_position")
            for (const auto& element : value.elements())
                scrape.accepted_by_position.push_back(element.number());
        if (is_quantity(key)) scrape.values[name] = value.number();
        for (const auto& [suffix, member] :
             {std::pair(kSum, &ServerScrape::Sums::sum), std::pair(kCount, &ServerScrape::Sums::count)})
            if (key.ends_with(suffix) && is_quantity(key.substr(0, key.size() - suffix.size())))
                scrape.histograms[name.substr(0, name.size() - suffix.size())].*member = value.number();
    }
    return scrape;
}

}  // namespace

std::string server_line(const ServerScrape& scrape, TimePoint zero, bool whole) {
    ObjectText line;
    line.number("at_s", seconds(scrape.at - zero));
    line.text("place", scrape.place);
    if (scrape.server > 0) line.number("server", scrape.server);
    for (const auto& [key, value] : scrape.values) line.number(key, value);
    for (const auto& [key, sums] : scrape.histograms) {
        line.number(key + std::string(kSum), sums.sum);
        line.number(key + std::string(kCount), sums.count);
    }
    line.numbers("kept", scrape.kept);
    if (!scrape.by_engine.empty()) {
        ObjectText by_engine;
        for (const auto& [key, values] : scrape.by_engine) by_engine.numbers(key, values);
        line.add("by_engine", by_engine.done());
    }
    if (!scrape.accepted_by_position.empty())
        line.add("accepted_by_position", fmt::format("[{}]", fmt::join(scrape.accepted_by_position, ",")));
    if (whole) {
        line.text("engine", scrape.engine);
        line.texts("sources", scrape.sources);
        line.texts("config", scrape.config);
    }
    return std::move(line).done();
}

std::string power_line(const std::string& source, const PowerReading& reading, TimePoint zero) {
    ObjectText line;
    line.number("at_s", seconds(reading.at - zero));
    line.text("source", source);
    const PowerSample& sample = reading.sample;
    if (sample.devices) line.number("devices", *sample.devices);
    for (const PowerField& field : kPowerFields)
        if (const auto value = sample.*field.value) line.number(field.key, *value);
    if (sample.throttled) line.number("throttled", *sample.throttled ? 1 : 0);
    return std::move(line).done();
}

ServerLines::ServerLines(std::filesystem::path path, TimePoint zero) : path_(std::move(path)), zero_(zero) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

void ServerLines::append(const std::string& line) {
    if (!file_.is_open()) file_.open(path_, std::ios::app);
    file_ << line << '\n' << std::flush;
}

void ServerLines::add(const ServerScrape& scrape) {
    const std::lock_guard lock(mutex_);
    append(server_line(scrape, zero_, begun_.emplace(scrape.place, scrape.server).second));
}

void ServerLines::add(const std::string& source, const PowerReading& reading) {
    const std::lock_guard lock(mutex_);
    append(power_line(source, reading, zero_));
}

void read_server_lines(const std::filesystem::path& path, TimePoint zero, Observations& observed) {
    std::vector<ServerScrapes> servers;
    const auto exporter_named = [&](const std::string& name) -> ServerScrapes& {
        for (ServerScrapes& known : observed.exporters)
            if (known.name == name) return known;
        observed.exporters.emplace_back().name = name;
        return observed.exporters.back();
    };
    for_each_line(path, [&](const std::string& text, const std::string& where) {
        const cards::JsonValue json = cards::parse_json_value(text, where);
        const cards::JsonCursor line(json, where);
        if (const auto source = line.find("source")) {
            observed.power.source = source->string();
            add_reading(observed.power, power_in(line, zero));
            return;
        }
        ServerScrape scrape = scrape_in(line, zero);
        if (!scrape.place.empty()) {
            ServerScrapes& exporter = exporter_named(scrape.place);
            add_scrape(exporter, std::move(scrape));
            return;
        }
        constexpr std::uint32_t kMostServers = 10'000;
        const std::size_t number = std::min(scrape.server, kMostServers);
        servers.resize(std::max(servers.size(), number + 1));
        add_scrape(servers[number], std::move(scrape));
    });
    if (servers.empty()) return;
    ServerScrapes read = combined(std::move(servers));
    read.failed = observed.server.failed;
    read.last_failure = observed.server.last_failure;
    observed.server = std::move(read);
}

}  // namespace paretoken::reports
