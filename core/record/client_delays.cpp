#include "core/record/client_delays.h"

#include <algorithm>

namespace paretoken {
namespace {

/// Returns whether the client's own delays may have changed the times of a request by more than is normal on
/// any host.
bool may_be_late(const RequestRecord& request) {
    constexpr Duration kNormalRead = std::chrono::microseconds(50);
    constexpr Duration kNormalLag = std::chrono::microseconds(200);
    return request.first_early > kNormalRead || request.last_early > kNormalRead ||
           loop_lag_of(request).value_or(Duration{}) > kNormalLag;
}

}  // namespace

void EarliestTimes::set(const RequestRecord& request) {
    differ = may_be_late(request);
    if (!differ) return;
    last_only = request;
    last_only.scheduled += loop_lag_of(request).value_or(Duration{});
    if (last_only.last_event) *last_only.last_event -= request.last_early.value_or(Duration{});
    all = last_only;
    if (all.first_event) *all.first_event -= request.first_early.value_or(Duration{});
    if (request.first_answer == request.first_event) all.first_answer = all.first_event;
}

void HeldBackLoad::add(const RequestRecord& request) {
    if (request.warmup || request.outcome == Outcome::cancelled) return;
    const auto lag = loop_lag_of(request);
    if (!lag && is_failure(request.outcome)) return;
    const bool is_due = window_.contains(request.scheduled);
    due_ += is_due ? 1 : 0;
    if (!lag) return;
    sent_ += window_.contains(request.scheduled + *lag) ? 1 : 0;
    // The server caused a second sending.
    if (!is_due || request.outcome != Outcome::ok || request.resent) return;
    answered_ += 1;
    empty_s_ += seconds(*lag);
    served_s_ += std::max(0.0, seconds(request.closed - request.scheduled - request.slot_wait - *lag));
}

double HeldBackLoad::share(bool open_loop) const {
    constexpr double kNormalDelay = 100e-6;  // seconds per request
    constexpr double kFewestShort = 2;       // requests; fewer are no share
    if (open_loop) return sent_ > 0 && due_ - sent_ >= kFewestShort ? due_ / sent_ - 1 : 0;
    return served_s_ > 0 && empty_s_ >= kNormalDelay * answered_ ? empty_s_ / served_s_ : 0;
}

std::optional<double> HeldBackLoad::achieved_rate() const {
    if (due_ <= 0) return std::nullopt;
    return sent_ / due_;
}

}  // namespace paretoken
