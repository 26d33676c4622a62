#include "experiments/fleet/news.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "reports/files/json/record_lines.h"

namespace paretoken::experiments {
namespace {

using Json = nlohmann::json;

/// Reads a JSON text by `read`, whose exceptions become one that says what is wrong.
template <class Read>
auto read_json(const std::string& text, const char* what, const Read& read) {
    try {
        return read(Json::parse(text));
    } catch (const Json::exception& error) {
        throw UsageError(fmt::format("a shard sent {} that cannot be read: {}", what, error.what()));
    }
}

std::int64_t since(TimePoint zero, TimePoint at) {
    return (at - zero).count();
}

}  // namespace

ProgressCounts counts_of(const loadgen::Progress& progress) {
    return {.started = progress.started,
            .finished = progress.finished,
            .conversations = progress.conversations,
            .failed = progress.failed,
            .in_flight = progress.in_flight,
            .output_tokens = progress.output_tokens};
}

void add(loadgen::Progress& progress, const ProgressCounts& before, const ProgressCounts& now) {
    // The differences are added as unsigned numbers, so that the number in flight can fall.
    progress.started += now.started - before.started;
    progress.finished += now.finished - before.finished;
    progress.conversations += now.conversations - before.conversations;
    progress.failed += now.failed - before.failed;
    progress.in_flight += now.in_flight - before.in_flight;
    progress.output_tokens += now.output_tokens - before.output_tokens;
}

std::string text_of(const News& news, TimePoint zero) {
    const loadgen::StopMonitor::Told& told = news.told;
    Json due = Json::array();
    for (const TimePoint at : told.due) due.push_back(since(zero, at));
    Json ended = Json::array();
    for (const auto& end : told.ended)
        ended.push_back({since(zero, end.scheduled), since(zero, end.at), end.waited_s});
    Json records = Json::array();
    for (const RequestRecord& record : told.records) {
        std::string line;
        reports::append_record_line(line, record, zero);
        records.push_back(std::move(line));
    }
    Json json = {{"counted", {told.ended_requests, told.failed_requests, told.output_tokens}},
                 {"due", std::move(due)},
                 {"ended", std::move(ended)},
                 {"records", std::move(records)},
                 {"progress",
                  {news.counts.started, news.counts.finished, news.counts.conversations, news.counts.failed,
                   news.counts.in_flight, news.counts.output_tokens}}};
    if (told.last_arrival != TimePoint::min()) json["last_arrival"] = since(zero, told.last_arrival);
    return json.dump();
}

News parse_news(const std::string& text, TimePoint zero) {
    return read_json(text, "news", [&](const Json& json) {
        News news;
        loadgen::StopMonitor::Told& told = news.told;
        const auto counted = json.at("counted").get<std::array<std::uint64_t, 3>>();
        told.ended_requests = counted[0];
        told.failed_requests = counted[1];
        told.output_tokens = counted[2];
        for (const Json& at : json.at("due")) told.due.push_back(zero + Duration(at.get<std::int64_t>()));
        for (const Json& end : json.at("ended"))
            told.ended.push_back({zero + Duration(end.at(0).get<std::int64_t>()),
                                  zero + Duration(end.at(1).get<std::int64_t>()), end.at(2).get<double>()});
        for (const Json& line : json.at("records"))
            told.records.add(reports::parse_record_line(line.get<std::string>(), zero, "news of a shard"));
        if (json.contains("last_arrival"))
            told.last_arrival = zero + Duration(json["last_arrival"].get<std::int64_t>());
        const auto counts = json.at("progress").get<std::array<std::uint64_t, 6>>();
        news.counts = {counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
        return news;
    });
}

std::string text_of(const Stopped& stopped, TimePoint zero) {
    return Json{{"rule", stopped.rule}, {"at", since(zero, stopped.at)}, {"text", stopped.text}}.dump();
}

Stopped parse_stopped(const std::string& text, TimePoint zero) {
    return read_json(text, "a reason to stop", [&](const Json& json) {
        return Stopped{.rule = json.at("rule").get<std::string>(),
                       .at = zero + Duration(json.at("at").get<std::int64_t>()),
                       .text = json.at("text").get<std::string>()};
    });
}

}  // namespace paretoken::experiments
