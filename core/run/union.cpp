#include "core/run/union.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "core/result/overload.h"

namespace paretoken {
namespace {

// ---- what is refused

Shard shard_of(const RecordedPart& part) {
    return part.recorded.begun.shard.value_or(Shard{});
}

/// Returns whether a field decides the load or how it is measured. Shards may differ in others, such as
/// --out.
bool decides_load(const PlanField& field) {
    return field.kind == FieldKind::workload || field.kind == FieldKind::load ||
           field.kind == FieldKind::measuring;
}

std::string shown(const std::string& value) {
    return value.empty() ? "not given" : fmt::format("'{}'", value);
}

/// Returns the first difference between two loads: "--isl is '64' and '128'". Empty if there is none.
std::string difference_of(const Begun& a, const Begun& b) {
    const auto start = [](const Begun& begun) {
        const auto found = begun.plan.find("start_at");
        return found == begun.plan.end() ? std::string() : found->second;
    };
    // The salt follows from the start, so that this comes first.
    if (start(a) != start(b)) return fmt::format("--start-at is {} and {}", shown(start(a)), shown(start(b)));
    if (const auto differs = difference(a.plan, b.plan, decides_load))
        return fmt::format("{} is {} and {}", differs->name, shown(differs->before), shown(differs->after));
    if (a.provenance.version != b.provenance.version)
        return fmt::format("they are of version {} and {}", a.provenance.version, b.provenance.version);
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
        fmt::format("shard {} of {} and shard {} of {} are not of one load{}{}; join the shards of one load",
                    shard_of(first).number, shard_of(first).count, shard_of(part).number,
                    shard_of(part).count, difference.empty() ? "" : ": ", difference));
}

void refuse_twice(std::span<const RecordedPart> parts) {
    std::set<std::uint32_t> numbers;
    for (const RecordedPart& part : parts)
        if (!numbers.insert(shard_of(part).number).second)
            throw UsageError(fmt::format("shard {} of {} is given twice; give each shard of the load once",
                                         shard_of(part).number, shard_of(part).count));
}

/// Returns whether the processes of a load met, so that shard 0 keeps the parts and the others only what it
/// did not receive.
bool met(const RecordedPart& part) {
    const PlanEcho& plan = part.recorded.begun.plan;
    const auto found = plan.find("rendezvous");
    return found != plan.end() && !found->second.empty();
}

/// Returns a sentence on the parts that are not given; empty if all are.
std::string missing_of(std::span<const RecordedPart> parts) {
    const std::uint32_t count = shard_of(parts.front()).count;
    std::vector<bool> given(count);
    for (const RecordedPart& part : parts) given.at(shard_of(part).number) = true;
    std::vector<std::uint32_t> missing;
    for (std::uint32_t number = 0; number < count; ++number)
        if (!given[number]) missing.push_back(number);
    if (missing.empty()) return "";
    const bool one = missing.size() == 1;
    const std::string_view them = one ? "it" : "them";
    const std::string what = fmt::format("{} of {} {} missing: the requests of {} are not in this result",
                                         shards_text(missing), count, one ? "is" : "are", them);
    if (!met(parts.front()))
        return fmt::format(
            "{}; what was recorded of {} is in the output director{} of {}, which `paretoken "
            "merge` joins with the others",
            what, them, one ? "y" : "ies", one ? "that process" : "those processes");
    return fmt::format(
        "{0}; what was recorded of {1} is on {2} in OUT-shard-{3}, if OUT is the output directory, and "
        "`paretoken merge OUT OUT-shard-{3} --out WHOLE` joins it",
        what, them, one ? "its host" : "their hosts", one ? std::to_string(missing.front()) : "I");
}

void refuse_common_requests(std::span<const RecordedPart> parts) {
    std::vector<std::pair<RequestKey, std::uint32_t>> keys;
    for (const RecordedPart& part : parts)
        for (std::size_t row = 0; row < part.recorded.observed.records.size(); ++row)
            keys.emplace_back(part.recorded.observed.records.key(row), shard_of(part).number);
    std::ranges::sort(keys);
    const auto twice =
        std::ranges::adjacent_find(keys, [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == keys.end()) return;
    throw UsageError(fmt::format("{} {} is in shard {} and in shard {}; each request must be in one shard",
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

/// Takes the requests out of the parts, in the order in which they ended.
RequestTable requests_of(std::span<RecordedPart> parts, std::span<const PlacedRow> order) {
    RequestTable joined;
    RequestRecord record;
    for (const PlacedRow& placed : order) {
        RecordedPart& part = parts[placed.part];
        part.recorded.observed.records.take(placed.row, record);
        shift(record, part.offset);
        joined.add(record);
    }
    return joined;
}

/// Returns the part for which `size_of(observations)` is the largest.
template <class SizeOf>
const RecordedPart& most_of(std::span<const RecordedPart> parts, SizeOf size_of) {
    return *std::ranges::max_element(parts, [&](const RecordedPart& a, const RecordedPart& b) {
        return size_of(a.recorded.observed) < size_of(b.recorded.observed);
    });
}

int gravity_of(const Stopped& stopped) {
    if (stopped.rule == kDiverging) return 2;
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

Observations observed_by(std::span<RecordedPart> parts, std::span<const PlacedRow> order) {
    Observations all{.began = TimePoint::max(), .records = requests_of(parts, order)};
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

std::vector<PlacedRow> order_of(std::span<const RecordedPart> parts) {
    struct Ended {
        TimePoint at;
        RequestKey key;
        PlacedRow placed;
    };
    std::vector<Ended> ends;
    std::size_t requests = 0;
    for (const RecordedPart& part : parts) requests += part.recorded.observed.records.size();
    ends.reserve(requests);
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
        std::uint32_t row = 0;
        for (const RequestRecord& record : parts[part].recorded.observed.records)
            ends.push_back(
                {record.closed + parts[part].offset, {record.index, record.warmup}, {part, row++}});
    }
    std::ranges::sort(
        ends, [](const Ended& a, const Ended& b) { return std::tie(a.at, a.key) < std::tie(b.at, b.key); });
    std::vector<PlacedRow> order;
    order.reserve(ends.size());
    for (const Ended& end : ends) order.push_back(end.placed);
    return order;
}

// What the union has of its parts:
// - The requests are in the order in which they ended. Events stay where they are and are read part by part.
// - The reports of the clients are added (ClientReport::add).
// - All parts observe the same server. The readings of the server, of other exporters and of power are each
//   taken from the part that has the most, because together they would count the server several times.
// - The earliest times at which the load began and ran dry count. The load was interrupted, lacks records or
//   has not ended if one part was, does or has not. Of several reasons to stop, "diverging" counts before
//   "interrupted" and both before others; of equal ones, the earliest.
// - Other values, such as the provenance, are those of the first part; the probe is that of the first part
//   with one.
Recorded union_of(std::vector<RecordedPart> parts) {
    return union_of(parts, order_of(parts));
}

Recorded union_of(std::span<RecordedPart> parts, std::span<const PlacedRow> order) {
    for (const RecordedPart& part : parts) refuse_other_load(part, parts.front());
    refuse_twice(parts);
    refuse_common_requests(parts);
    Recorded all{.begun = parts.front().recorded.begun,
                 .observed = observed_by(parts, order),
                 .events = std::make_shared<JoinedEvents>(parts)};
    all.begun.shard.reset();
    if (std::string missing = missing_of(parts); !missing.empty()) {
        all.lost = std::move(missing);
        all.observed.interrupted = true;
    }
    for (const RecordedPart& part : parts) {
        const Recorded& own = part.recorded;
        all.ended = all.ended && own.ended;
        if (!all.probe) all.probe = own.probe;
        if (!own.lost.empty()) all.lost += (all.lost.empty() ? "" : "; ") + own.lost;
    }
    return all;
}

}  // namespace paretoken
