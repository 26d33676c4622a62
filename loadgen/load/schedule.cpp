#include "loadgen/load/schedule.h"

#include <fmt/format.h>

namespace paretoken::loadgen {

std::string request_id(const std::string& prefix, std::uint64_t index, bool warmup) {
    return fmt::format("{}{}{}", prefix, warmup ? "w" : "", index);
}

Schedule::Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share,
                   const datasets::Dataset* dataset, Numbering numbering, std::optional<std::uint64_t> cap)
    : at_once_(arrivals.at_once),
      recorded_(arrivals.recorded),
      limits_(limits),
      seed_(seed),
      share_(share),
      slots_(arrivals.at_once ? cap : std::nullopt),
      warming_up_(arrivals.at_once && limits.warmup_duration),
      dataset_(dataset != nullptr && dataset->has_conversations() ? dataset : nullptr),
      numbering_(numbering) {
    if (!at_once_) times_ = arrivals.times(seed);
    if (arrivals.users && dataset_ != nullptr) {
        turn_period_ = from_seconds(static_cast<double>(*arrivals.users) / arrivals.rate);
        turns_to_come_.resize(*arrivals.users);
    }
    advance();
}

void Schedule::pop() {
    advance();
}

void Schedule::end_warmup() {
    if (!warming_up_) return;
    warming_up_ = false;
    position_ = 0;
    advance();
}

void Schedule::advance() {
    next_.reset();
    while (true) {
        const std::uint64_t position = position_;
        const std::optional<Duration> at = at_once_ ? Duration{} : times_();
        if (!at) return;
        if (is_time_of_a_turn()) continue;
        const bool warmup = is_warmup(position, *at);
        if (!warmup && !first_measured_) {
            first_measured_ = position;
            first_measured_at_ = *at;
        }
        const std::uint64_t number = warmup ? position : position - *first_measured_;
        if (!warmup && limits_.requests && number >= *limits_.requests) return;
        ++position_;
        const bool is_over =
            limits_.duration && first_measured_at_ && *at >= *first_measured_at_ + *limits_.duration;
        if (!is_over) latest_at_ = *at;
        const std::uint64_t place = place_of(position, number, warmup);
        const std::uint32_t turns = dataset_ != nullptr ? dataset_->turns(place) : 1;
        std::uint64_t& next_index = warmup ? next_warmup_index_ : next_index_;
        const std::uint64_t index = next_index;
        next_index += turns;
        if (turn_period_) turns_to_come_[user_] = turns - 1;
        if (!is_taken(position)) continue;
        const std::uint64_t first = numbering_.part + index * numbering_.parts;
        next_ = Planned{.index = first,
                        .opening = first,
                        .warmup = warmup,
                        .at = *at,
                        .place = place,
                        .part = numbering_.part,
                        .turn = 0,
                        .turns = turns};
        return;
    }
}

/// Advances to the next user. Returns whether the time is for a turn of that user's open conversation.
bool Schedule::is_time_of_a_turn() {
    if (!turn_period_) return false;
    if (++user_ >= turns_to_come_.size()) user_ = 0;
    std::uint32_t& left = turns_to_come_[user_];
    if (left == 0) return false;
    --left;
    return true;
}

/// Returns whether this worker takes an entry of the whole schedule. Slot k belongs to worker k modulo the
/// number of workers, as in Slots (loadgen/load/dispatch.h).
bool Schedule::is_taken(std::uint64_t position) const {
    const std::uint64_t slot = slots_ ? position % *slots_ : position;
    return slot % share_.workers == share_.worker;
}

bool Schedule::is_warmup(std::uint64_t position, Duration at) const {
    if (warming_up_) return true;
    if (limits_.warmup_duration) return !at_once_ && at < *limits_.warmup_duration;
    return position < limits_.warmups;
}

/// Returns the index in the dataset. Warm-up requests are far behind the measured ones, so that no prompt is
/// sent twice. A trace has one request for every time.
std::uint64_t Schedule::place_of(std::uint64_t position, std::uint64_t number, bool warmup) const {
    constexpr std::uint64_t kWarmups = std::uint64_t{1} << 40;
    if (recorded_) return position;
    return numbering_.first_place + (warmup ? kWarmups + number : number);
}

}  // namespace paretoken::loadgen
