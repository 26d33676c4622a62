#include "core/result/streaming.h"

#include <algorithm>
#include <vector>

namespace paretoken {

// There are three cases: most tokens came with the first arrival; all came in the last tenth of the
// end-to-end time, at less than a millisecond per token; or an early event (a blank, for example) was
// followed by silence and then by all others in this way. Real servers need more than a millisecond per
// token, except for short prompts on the fastest hardware, where the tokens fill most of the end-to-end time.
bool is_bunched(const RequestRecord& record) {
    constexpr std::int64_t kFewestTokens = 16;
    constexpr double kFastest = 1e-3;  // seconds per token
    constexpr double kShort = 0.1;     // of the end-to-end time
    if (!record.sent || !record.first_event || !record.last_event) return false;
    if (record.streamed_tokens < kFewestTokens || record.chunks == 0) return false;
    if (2 * record.first_group_tokens > record.streamed_tokens) return true;
    const auto later = static_cast<double>(record.streamed_tokens - record.first_group_tokens);
    const double e2e = seconds(*record.last_event - *record.sent);
    const double span = seconds(*record.last_event - *record.first_event);
    const double silence = record.longest_gap ? seconds(*record.longest_gap) : 0;
    const auto at_once = [&](double during) { return during < kShort * e2e && during < kFastest * later; };
    return at_once(span) || at_once(span - silence);
}

bool begins_early(const RequestRecord& record) {
    constexpr std::size_t kFewestGaps = 7;
    constexpr double kMost = 2. / 3;   // of the time to the second event
    constexpr double kMuchLonger = 5;  // times the median of the other gaps
    const auto& events = record.events;
    const auto gap_before = [&](std::size_t i) { return seconds(events[i].time - events[i - 1].time); };
    std::size_t second = 1;  // the first event that came in another read
    while (second < events.size() && events[second].same_read) ++second;
    if (!record.sent || second >= events.size()) return false;
    const double first = gap_before(second);
    if (first <= kMost * (seconds(events.front().time - *record.sent) + first)) return false;
    std::vector<double> gaps;  // of few answers, because most have ended here
    for (std::size_t i = second; i < events.size(); ++i)
        if (!events[i].same_read) gaps.push_back(gap_before(i));
    if (gaps.size() < kFewestGaps) return false;
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin() + 1, middle, gaps.end());
    return first > kMuchLonger * *middle;
}

}  // namespace paretoken
