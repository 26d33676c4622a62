#include "loadgen/load/mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/units.h"

namespace paretoken::loadgen {
namespace {

/// Returns the text of one JSON object with the fields of both; those of `own` override the others.
std::string merged(const std::string& common, const std::string& own) {
    constexpr std::string_view kEmpty = "{}";
    if (own.empty() || own == kEmpty) return common;
    if (common.empty()) return own;
    return fmt::format("{},{}", common.substr(0, common.size() - 1), own.substr(1));
}

}  // namespace

Mix::Mix(const std::vector<ClassLoad>& classes, Share share, TimePoint begin) {
    const auto count = static_cast<std::uint32_t>(classes.size());
    for (const ClassLoad& of : classes) {
        const Numbering numbering{static_cast<std::uint32_t>(parts_.size()), count, of.first_place};
        parts_.push_back(
            {.dispatcher = {Schedule(of.arrivals, of.limits, of.seed, share, of.dataset, numbering,
                                     of.concurrency),
                            of.limits, of.concurrency, of.pacing, begin},
             .jobs = Jobs(*of.dataset, count),
             .name = of.name,
             .body = of.priority ? fmt::format("{{\"priority\":{}}}", *of.priority) : std::string(),
             .models = of.models,
             .seed = of.seed});
    }
}

Step Mix::next(TimePoint now) {
    std::optional<TimePoint> until;
    bool done = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const std::size_t part = (turn_ + i) % parts_.size();
        const Step step = parts_[part].dispatcher.next(now);
        if (std::holds_alternative<Start>(step)) {
            turn_ = (part + 1) % parts_.size();
            return step;
        }
        const auto* wait = std::get_if<Wait>(&step);
        if (wait == nullptr) continue;
        done = false;
        if (wait->until) until = std::min(until.value_or(*wait->until), *wait->until);
    }
    if (done) return Done{};
    return Wait{until};
}

std::optional<Planned> Mix::next_planned(std::size_t part) const {
    return parts_[part].dispatcher.next_planned();
}

Request Mix::request(const Planned& planned, bool outline) const {
    const Part& part = parts_[planned.part];
    Request request = part.jobs.request(planned, outline);
    request.index = planned.index;
    if (part.models.size() > 1 && request.model.empty())
        request.model = model_of(part.models, part.seed, planned.place);
    if (!part.name.empty()) request.request_class = part.name;
    if (!part.body.empty()) request.body = merged(part.body, request.body);
    return request;
}

RequestRecord Mix::record_of(const Start& start) const {
    RequestRecord record;
    record.index = start.planned.index;
    record.warmup = start.planned.warmup || parts_[start.planned.part].jobs.is_primer(start.planned);
    parts_[start.planned.part].jobs.place(record, start.planned);
    record.scheduled = start.scheduled;
    record.slot_wait = start.slot_wait;
    return record;
}

bool Mix::needs_answer(const Planned& planned) const {
    return parts_[planned.part].jobs.needs_answer(planned);
}

std::optional<Session> Mix::session_of(const Planned& planned) const {
    return parts_[planned.part].jobs.session_of(planned);
}

const std::string* Mix::token_of(const Planned& planned, const TokenKey& key) const {
    return parts_[planned.part].jobs.token_of(planned, key);
}

void Mix::keep_token(const RequestRecord& record, const TokenKey& key, const std::string& token) {
    const RequestKey request = planned_key({.index = record.index, .warmup = record.warmup});
    part_of(request).jobs.keep_token(record, request.warmup, key, token);
}

void Mix::started(const Start& start, Prompt prompt) {
    Part& part = parts_[start.planned.part];
    if (part.jobs.is_primer(start.planned)) primers_.insert(start.planned.index);
    const auto others = part.jobs.started(start.planned, std::move(prompt));
    for (const FollowUp& other : others) part.dispatcher.follow(other, start.scheduled + start.slot_wait);
}

RequestKey Mix::planned_key(const RequestKey& request) const {
    return {.index = request.index, .warmup = request.warmup && !primers_.contains(request.index)};
}

void Mix::on_first_token(const RequestKey& request, TimePoint at) {
    part_of(request).dispatcher.on_first_token(planned_key(request), at);
}

void Mix::finished(RequestRecord& record, TimePoint slot_free, bool takes_answer) {
    const RequestKey key = planned_key({.index = record.index, .warmup = record.warmup});
    Part& part = part_of(key);
    const bool warmup = std::exchange(record.warmup, key.warmup);
    const Ended ended = part.jobs.ended(record, takes_answer);
    record.warmup = warmup;
    primers_.erase(record.index);
    part.dispatcher.finished(key, slot_free, is_failure(record.outcome), ended);
}

void Mix::stop() {
    for (Part& part : parts_) part.dispatcher.stop();
}

const Mix::Part* Mix::first_dry() const {
    const Part* first = nullptr;
    for (const Part& part : parts_) {
        const auto dry = part.dispatcher.ran_dry();
        if (dry && (first == nullptr || *dry < *first->dispatcher.ran_dry())) first = &part;
    }
    return first;
}

bool Mix::has_started_all() const {
    return std::ranges::all_of(parts_, [](const Part& part) { return part.dispatcher.has_started_all(); });
}

std::optional<TimePoint> Mix::ran_dry() const {
    const Part* const first = first_dry();
    return first == nullptr ? std::nullopt : first->dispatcher.ran_dry();
}

std::optional<StopKind> Mix::ended_by() const {
    const Part* const first = first_dry();
    return first == nullptr ? std::nullopt : first->dispatcher.ended_by();
}

}  // namespace paretoken::loadgen
