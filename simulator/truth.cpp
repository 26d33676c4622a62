#include "simulator/truth.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "simulator/answers/json_text.h"

namespace paretoken::sim {
namespace {

void append_times(std::string& out, const char* key, const std::vector<TimePoint>& times) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":[", key);
    const char* comma = "";
    for (const TimePoint time : times) {
        out += comma;
        out += fmt::format_int(nanoseconds_since_boot(time)).c_str();
        comma = ",";
    }
    out += "]";
}

void append_entry(std::string& out, const TruthEntry& entry) {
    fmt::format_to(
        std::back_inserter(out),
        R"({{"id":{},"received_ns":{},"kernel_stamp":{},"admitted_ns":{},"prompt_tokens":{},"complete":{})",
        json_string(entry.id), nanoseconds_since_boot(entry.received), entry.kernel_stamp,
        nanoseconds_since_boot(entry.admitted), entry.prompt_tokens, entry.complete);
    if (entry.cached_tokens)
        fmt::format_to(std::back_inserter(out), ",\"cached_tokens\":{}", *entry.cached_tokens);
    if (entry.reasoning_tokens > 0)
        fmt::format_to(std::back_inserter(out), ",\"reasoning_tokens\":{}", entry.reasoning_tokens);
    for (const auto& [key, value] :
         {std::pair("affinity", &entry.affinity), std::pair("session_token", &entry.session_token),
          std::pair("set_session_token", &entry.set_session_token)})
        if (!value->empty()) fmt::format_to(std::back_inserter(out), ",\"{}\":{}", key, json_string(*value));
    if (!entry.cut_by.empty()) fmt::format_to(std::back_inserter(out), ",\"cut_by\":\"{}\"", entry.cut_by);
    append_times(out, "due_ns", entry.due);
    append_times(out, "written_ns", entry.written);
    if (entry.first_sent)
        fmt::format_to(std::back_inserter(out), ",\"first_sent_ns\":{}",
                       nanoseconds_since_boot(*entry.first_sent));
    fmt::format_to(std::back_inserter(out), ",\"tokens\":[{}]}}", fmt::join(entry.tokens, ","));
}

}  // namespace

TruthLog::TruthLog(std::size_t most_requests, std::size_t most_tokens)
    : most_requests_(most_requests), most_tokens_(most_tokens) {}

void TruthLog::add(TruthEntry entry) {
    tokens_ += entry.due.size();
    entries_.push_back(std::move(entry));
    while (entries_.size() > 1 && (entries_.size() > most_requests_ || tokens_ > most_tokens_)) {
        tokens_ -= entries_.front().due.size();
        entries_.pop_front();
        ++dropped_;
    }
}

void TruthLog::clear() {
    entries_.clear();
    tokens_ = 0;
    dropped_ = 0;
}

std::string TruthLog::json() const {
    std::string out = fmt::format("{{\"dropped\":{},\"requests\":[", dropped_);
    const char* comma = "";
    for (const TruthEntry& entry : entries_) {
        out += comma;
        append_entry(out, entry);
        comma = ",\n";
    }
    return out += "]}";
}

}  // namespace paretoken::sim
