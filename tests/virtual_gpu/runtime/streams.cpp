#include "tests/virtual_gpu/runtime/streams.h"

#include <algorithm>
#include <utility>

namespace paretoken::virtual_gpu {

StreamNumber Streams::create(bool blocking) {
    streams_[++newest_] = {.blocking = blocking};
    return newest_;
}

bool Streams::destroy(StreamNumber stream) {
    if (!has(stream) || stream == kLegacyStream) return false;
    streams_.at(stream).destroyed = true;
    return true;
}

bool Streams::has(StreamNumber stream) const {
    const auto found = streams_.find(stream);
    return found != streams_.end() && !found->second.destroyed;
}

Place Streams::enqueue(StreamNumber stream, Task task, Place after) {
    Stream& own = streams_.at(stream);
    Waiting waiting{.ticket = ++tickets_, .after = {}, .issued_s = seen_s_, .task = std::move(task)};
    if (after.ticket != 0) waiting.after.push_back(after);
    if (own.blocking) {
        for (const auto& [number, other] : streams_) {
            const bool waited_for = stream == kLegacyStream ? other.blocking : number == kLegacyStream;
            if (waited_for && number != stream && other.last != 0)
                waiting.after.push_back({number, other.last});
        }
    }
    own.last = waiting.ticket;
    own.waiting.push_back(std::move(waiting));
    const Place place{stream, own.last};
    if (!lazy_) run_until(place);
    return place;
}

bool Streams::is_done(const Place& place) const {
    const auto found = streams_.find(place.stream);
    if (found == streams_.end()) return true;  // it was destroyed and all its work is done
    const std::deque<Waiting>& waiting = found->second.waiting;
    return waiting.empty() || waiting.front().ticket > place.ticket;
}

void Streams::run_until(const Place& place) {
    if (is_done(place)) return;
    Stream& stream = streams_.at(place.stream);
    while (!stream.waiting.empty() && stream.waiting.front().ticket <= place.ticket) {
        const Waiting next = std::move(stream.waiting.front());
        stream.waiting.pop_front();
        double begin_s = std::max(next.issued_s, stream.end_s);
        for (const Place& after : next.after) {
            run_until(after);
            const auto other = streams_.find(after.stream);
            if (other != streams_.end()) begin_s = std::max(begin_s, other->second.end_s);
        }
        stream.end_s = begin_s + next.task(begin_s);
    }
}

void Streams::wait_for(const Place& place) {
    run_until(place);
    const auto stream = streams_.find(place.stream);
    if (stream != streams_.end()) seen_s_ = std::max(seen_s_, stream->second.end_s);
}

void Streams::wait_for(StreamNumber stream) {
    wait_for(Place{stream, streams_.at(stream).last});
}

void Streams::wait_for_all() {
    for (auto stream = streams_.rbegin(); stream != streams_.rend(); ++stream) wait_for(stream->first);
    std::erase_if(streams_, [](const auto& stream) { return stream.second.destroyed; });
}

}  // namespace paretoken::virtual_gpu
