#include "core/run/union.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"

namespace paretoken {
namespace {

// ---- what is refused

Shard shard_of(const RecordedPart& part) {
    return part.recorded.begun.shard.value_or(Shard{});
}

std::string text_of(const PlanEcho& plan, const std::string& field) {
    const auto found = plan.find(field);
    return found == plan.end() ? "not given" : fmt::format("'{}'", found->second);
}

/// Returns the first difference between two loads: "'isl' is '64' and '128'". Empty if there is none.
std::string difference_of(const Begun& a, const Begun& b) {
    for (const PlanEcho* const plan : {&a.plan, &b.plan})
        for (const auto& [field, text] : *plan)
            if (text_of(a.plan, field) != text_of(b.plan, field))
                return fmt::format("'{}' is {} and {}", field, text_of(a.plan, field),
                                   text_of(b.plan, field));
    if (a.workload.fingerprint != b.workload.fingerprint)
        return fmt::format("the workload fingerprint is '{}' and '{}'", a.workload.fingerprint,
                           b.workload.fingerprint);
    if (a.shape != b.shape) return "the kind of load differs";
    if (a.unknown_facts != b.unknown_facts) return "the facts that are unknown differ";
    return {};
}

void refuse_other_load(const RecordedPart& part, const RecordedPart& first) {
    const std::string difference = difference_of(first.recorded.begun, part.recorded.begun);
    if (difference.empty() && shard_of(part).count == shard_of(first).count) return;
    throw UsageError(
        fmt::format("part {} of {} and part {} of {} are not of one load{}{}; join the parts of one load",
                    shard_of(first).number, shard_of(first).count, shard_of(part).number,
                    shard_of(part).count, difference.empty() ? "" : ": ", difference));
}

void refuse_missing(std::span<const RecordedPart> parts) {
    const std::uint32_t count = shard_of(parts.front()).count;
    for (std::uint32_t number = 0; number < count; ++number) {
        const auto given = std::count_if(parts.begin(), parts.end(), [&](const RecordedPart& part) {
            return shard_of(part).number == number;
        });
        if (given != 1)
            throw UsageError(fmt::format("part {} of {} is {}; give each part of the load once", number,
                                         count, given == 0 ? "missing" : "given twice"));
    }
}

void refuse_common_requests(std::span<const RecordedPart> parts) {
    std::vector<std::pair<RequestKey, std::uint32_t>> keys;
    for (const RecordedPart& part : parts)
        for (std::size_t row = 0; row < part.recorded.observed.records.size(); ++row)
            keys.emplace_back(part.recorded.observed.records.key(row), shard_of(part).number);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == keys.end()) return;
    throw UsageError(fmt::format("{} {} is in part {} and in part {}; each request must be in one part",
                                 twice->first.warmup ? "warm-up request" : "request", twice->first.index,
                                 twice->second, std::next(twice)->second));
}

// ---- the common clock

void shift(RequestRecord& record, Duration offset) {
    for (TimePoint* const at : {&record.scheduled, &record.started, &record.ready, &record.closed})
        *at += offset;
    for (std::optional<TimePoint>* const at : {&record.sent, &record.headers, &record.first_event,
                                               &record.first_answer, &record.last_event, &record.finished})
        if (*at) **at += offset;
}

void shift(ServerScrapes& scraped, Duration offset) {
    for (ServerScrape& scrape : scraped.scrapes) scrape.at += offset;
    for (auto& [name, series] : scraped.kept)
        for (TimePoint& at : series.at) at += offset;
}

ClientReport moved(ClientReport client, Duration offset) {
    for (std::vector<CpuSample>& worker : client.cpu)
        for (CpuSample& sample : worker) sample.at += offset;
    return client;
}

/// The events of the parts, on the common clock.
class JoinedEvents final : public EventSource {
  public:
    explicit JoinedEvents(std::span<const RecordedPart> parts) {
        for (const RecordedPart& part : parts)
            if (part.recorded.events) sources_.emplace_back(part.recorded.events, part.offset);
    }

    void for_each(const Visit& visit) const override {
        std::vector<StreamEvent> moved;
        for (const auto& [source, offset] : sources_)
            source->for_each(
                [&, moved_by = offset](const RequestKey& key, std::span<const StreamEvent> events) {
                    moved.assign(events.begin(), events.end());
                    for (StreamEvent& event : moved) event.time += moved_by;
                    visit(key, moved);
                });
    }

  private:
    std::vector<std::pair<std::shared_ptr<const EventSource>, Duration>> sources_;
};

// ---- what is joined

/// Returns the requests in the order in which they ended.
RequestTable requests_of(std::span<const RecordedPart> parts) {
    struct Ended {
        TimePoint at;
        RequestKey key;
        const RecordedPart* part;
        std::size_t row;
    };
    std::vector<Ended> order;
    for (const RecordedPart& part : parts) {
        std::size_t row = 0;
        for (const RequestRecord& record : part.recorded.observed.records)
            order.push_back({record.closed + part.offset, {record.index, record.warmup}, &part, row++});
    }
    std::sort(order.begin(), order.end(),
              [](const Ended& a, const Ended& b) { return std::tie(a.at, a.key) < std::tie(b.at, b.key); });
    RequestTable joined;
    RequestRecord record;
    for (const Ended& ended : order) {
        ended.part->recorded.observed.records.unpack(ended.row, record);
        shift(record, ended.part->offset);
        joined.add(record);
    }
    return joined;
}

/// Returns the part for which `size_of(observations)` is the largest.
template <class SizeOf>
const RecordedPart& most_of(std::span<const RecordedPart> parts, SizeOf size_of) {
    return *std::max_element(parts.begin(), parts.end(), [&](const RecordedPart& a, const RecordedPart& b) {
        return size_of(a.recorded.observed) < size_of(b.recorded.observed);
    });
}

int gravity_of(const Stopped& stopped) {
    if (stopped.rule == "diverging") return 2;
    return stopped.rule == "interrupted" ? 1 : 0;
}

void add_ending(Observations& all, const Observations& own, Duration offset) {
    all.began = std::min(all.began, own.began + offset);
    all.interrupted = all.interrupted || own.interrupted;
    if (own.ran_dry) all.ran_dry = std::min(all.ran_dry.value_or(TimePoint::max()), *own.ran_dry + offset);
    if (!own.stopped) return;
    Stopped stopped = *own.stopped;
    stopped.at += offset;
    const int graver = all.stopped ? gravity_of(stopped) - gravity_of(*all.stopped) : 1;
    if (graver > 0 || (graver == 0 && stopped.at < all.stopped->at)) all.stopped = std::move(stopped);
}

Observations observed_by(std::span<const RecordedPart> parts) {
    Observations all{.began = TimePoint::max(), .records = requests_of(parts)};
    for (const RecordedPart& part : parts) {
        all.client.add(moved(part.recorded.observed.client, part.offset));
        add_ending(all, part.recorded.observed, part.offset);
    }
    const auto& server = most_of(parts, [](const Observations& own) { return own.server.scrapes.size(); });
    all.server = server.recorded.observed.server;
    shift(all.server, server.offset);
    const auto& exporters = most_of(parts, [](const Observations& own) { return own.exporters.size(); });
    all.exporters = exporters.recorded.observed.exporters;
    for (ServerScrapes& exporter : all.exporters) shift(exporter, exporters.offset);
    const auto& power = most_of(parts, [](const Observations& own) { return own.power.readings.size(); });
    all.power = power.recorded.observed.power;
    for (PowerReading& reading : all.power.readings) reading.at += power.offset;
    return all;
}

}  // namespace

Recorded union_of(std::span<const RecordedPart> parts) {
    for (const RecordedPart& part : parts) refuse_other_load(part, parts.front());
    refuse_missing(parts);
    refuse_common_requests(parts);
    Recorded all{.begun = parts.front().recorded.begun,
                 .observed = observed_by(parts),
                 .events = std::make_shared<JoinedEvents>(parts)};
    all.begun.shard.reset();
    for (const RecordedPart& part : parts) {
        const Recorded& own = part.recorded;
        all.ended = all.ended && own.ended;
        if (!all.probe) all.probe = own.probe;
        if (!own.lost.empty()) all.lost += (all.lost.empty() ? "" : "; ") + own.lost;
    }
    return all;
}

}  // namespace paretoken
