#include "core/record/request_table.h"

#include <algorithm>
#include <numeric>

#include "core/radix_sort.h"

namespace paretoken {
namespace {

constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
constexpr std::uint32_t kAbsentTarget = std::numeric_limits<std::uint8_t>::max();
constexpr std::int32_t kAbsentCount = std::numeric_limits<std::int32_t>::min();

std::int64_t packed_time(TimePoint at) {
    return nanoseconds_since_boot(at);
}
std::int64_t packed_time(const std::optional<TimePoint>& at) {
    return at ? nanoseconds_since_boot(*at) : kAbsent;
}
TimePoint time_of(std::int64_t nanoseconds) {
    return TimePoint(Duration(nanoseconds));
}
std::optional<TimePoint> optional_time(std::int64_t nanoseconds) {
    if (nanoseconds == kAbsent) return std::nullopt;
    return time_of(nanoseconds);
}

/// Packs a count of tokens. Counts are far below 2^31 (protocol::kMostTokens); larger ones are clamped to the
/// bound.
std::int32_t packed_count(std::int64_t count) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp(count, -kMost, kMost));
}
std::int32_t packed_count(const std::optional<std::int64_t>& count) {
    return count ? packed_count(*count) : kAbsentCount;
}
/// Packs a time in whole microseconds; 71 minutes or more are clamped.
std::uint32_t packed_microseconds(const std::optional<Duration>& time) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto whole = std::chrono::ceil<std::chrono::microseconds>(time.value_or(Duration{}));
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole.count(), 0, kMost));
}
std::optional<Duration> optional_microseconds(std::uint32_t time) {
    if (time == 0) return std::nullopt;
    return std::chrono::microseconds(time);
}
std::optional<std::int64_t> optional_count(std::int32_t count) {
    if (count == kAbsentCount) return std::nullopt;
    return count;
}
/// Copies a text only if it differs: the texts of consecutive rows are nearly always the same.
void assign(std::string& to, const std::string& text) {
    if (to != text) to = text;
}

}  // namespace

std::uint32_t RequestTable::Texts::number_of(const std::string& text, std::size_t most) {
    if (text.empty()) return 0;
    if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
    if (numbers_.size() >= most) return 0;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back(text);
    numbers_.emplace(text, number);
    return number;
}

RequestTable::RequestTable(std::span<const RequestRecord> records) {
    for (const auto& record : records) add(record);
}

RequestTable::RequestTable(const std::vector<RequestRecord>& records)
    : RequestTable(std::span<const RequestRecord>(records)) {}

RequestTable::Row RequestTable::packed(const RequestRecord& record) {
    Row row{};
    row.index = record.index;
    row.conversation = record.turn ? static_cast<std::int64_t>(record.turn->conversation) : kAbsent;
    row.turn = static_cast<std::uint16_t>(record.turn ? record.turn->number : 0);
    row.job_back = static_cast<std::uint32_t>(record.job ? record.index - record.job->first : 0);
    row.job_turns = record.job ? std::max(record.job->turns, std::uint32_t{1}) : 0;
    row.background = record.job && record.job->background;
    row.inside = record.job && record.job->inside;
    row.scheduled = packed_time(record.scheduled);
    row.slot_wait = record.slot_wait.count();
    row.started = packed_time(record.started);
    row.ready = packed_time(record.ready);
    row.sent = packed_time(record.sent);
    row.headers = packed_time(record.headers);
    row.first_event = packed_time(record.first_event);
    row.first_answer = packed_time(record.first_answer);
    row.last_event = packed_time(record.last_event);
    row.finished = packed_time(record.finished);
    row.closed = packed_time(record.closed);
    row.longest_gap = record.longest_gap ? record.longest_gap->count() : kAbsent;
    row.bytes_received = record.bytes_received;
    row.first_early = packed_microseconds(record.first_early);
    row.last_early = packed_microseconds(record.last_early);
    row.prompt = packed_count(record.usage.prompt);
    row.cached_prompt = packed_count(record.usage.cached_prompt);
    row.completion = packed_count(record.usage.completion);
    row.reasoning = packed_count(record.usage.reasoning);
    row.streamed_tokens = packed_count(record.streamed_tokens);
    row.first_group_tokens = packed_count(record.first_group_tokens);
    row.chunks = packed_count(record.chunks);
    row.grouped_chunks = packed_count(record.grouped_chunks);
    row.wanted_input_tokens = packed_count(record.wanted_input_tokens);
    row.wanted_output_tokens = packed_count(record.wanted_output_tokens);
    row.worker = static_cast<std::uint8_t>(record.worker);
    row.target = static_cast<std::uint8_t>(record.target.value_or(kAbsentTarget));
    row.http_status = static_cast<std::uint16_t>(record.http_status);
    row.outcome = record.outcome;
    row.token_source = record.token_source;
    row.warmup = record.warmup;
    row.resent = record.resent;
    row.unseen_output = record.unseen_output;
    row.uncounted_output = record.uncounted_output;
    row.disputed_cache = record.disputed_cache;
    return row;
}

void RequestTable::add(const RequestRecord& record) {
    Row row = packed(record);
    row.request_class = classes_.number_of(record.request_class, std::numeric_limits<std::uint32_t>::max());
    row.slo = static_cast<std::uint16_t>(slos_.number_of(record.slo, kMostSlos));
    row.error = static_cast<std::uint16_t>(errors_.number_of(record.error, kMostErrors));
    row.finish_reason =
        static_cast<std::uint16_t>(finish_reasons_.number_of(record.finish_reason, kMostFinishReasons));
    row.answered_model = static_cast<std::uint8_t>(models_.number_of(record.answered_model, kMostModels));
    if (record.connect || record.decoding) {
        row.rare = static_cast<std::uint32_t>(rares_.size());
        rares_.push_back({record.connect, record.decoding});
    }
    rows_.push_back(row);
}

void RequestTable::append(const RequestTable& other) {
    RequestRecord record;
    for (std::size_t row = 0; row < other.size(); ++row) {
        other.unpack(row, record);
        add(record);
    }
}

void RequestTable::unpack(std::size_t at, RequestRecord& record) const {
    const Row& row = rows_[at];
    record.index = row.index;
    record.id.clear();
    record.answer.clear();
    record.target = std::nullopt;
    if (row.target != kAbsentTarget) record.target = row.target;
    record.turn = std::nullopt;
    if (row.conversation != kAbsent)
        record.turn = Turn{static_cast<std::uint64_t>(row.conversation), row.turn};
    record.job = std::nullopt;
    if (row.job_turns != 0)
        record.job = JobPart{row.index - row.job_back, row.job_turns, row.background, row.inside};
    assign(record.request_class, classes_[row.request_class]);
    assign(record.slo, slos_[row.slo]);
    record.worker = row.worker;
    record.warmup = row.warmup;
    record.outcome = row.outcome;
    assign(record.error, errors_[row.error]);
    record.http_status = row.http_status;
    assign(record.finish_reason, finish_reasons_[row.finish_reason]);
    assign(record.answered_model, models_[row.answered_model]);
    record.scheduled = time_of(row.scheduled);
    record.slot_wait = Duration(row.slot_wait);
    record.started = time_of(row.started);
    record.ready = time_of(row.ready);
    record.sent = optional_time(row.sent);
    record.headers = optional_time(row.headers);
    record.first_event = optional_time(row.first_event);
    record.first_answer = optional_time(row.first_answer);
    record.last_event = optional_time(row.last_event);
    record.finished = optional_time(row.finished);
    record.closed = time_of(row.closed);
    record.connect = rares_[row.rare].connect;
    record.decoding = rares_[row.rare].decoding;
    record.resent = row.resent;
    record.usage = {.prompt = optional_count(row.prompt),
                    .cached_prompt = optional_count(row.cached_prompt),
                    .completion = optional_count(row.completion),
                    .reasoning = optional_count(row.reasoning)};
    record.streamed_tokens = row.streamed_tokens;
    record.first_group_tokens = row.first_group_tokens;
    record.chunks = row.chunks;
    record.grouped_chunks = row.grouped_chunks;
    record.token_source = row.token_source;
    record.unseen_output = row.unseen_output;
    record.uncounted_output = row.uncounted_output;
    record.disputed_cache = row.disputed_cache;
    record.longest_gap = std::nullopt;
    if (row.longest_gap != kAbsent) record.longest_gap = Duration(row.longest_gap);
    record.wanted_input_tokens = optional_count(row.wanted_input_tokens);
    record.wanted_output_tokens = optional_count(row.wanted_output_tokens);
    record.bytes_received = row.bytes_received;
    record.first_early = optional_microseconds(row.first_early);
    record.last_early = optional_microseconds(row.last_early);
}

void RequestTable::take(std::size_t row, RequestRecord& record) {
    unpack(row, record);
    rows_.release(row);
}

RequestRecord RequestTable::operator[](std::size_t row) const {
    RequestRecord record;
    unpack(row, record);
    return record;
}

RequestKey RequestTable::key(std::size_t row) const {
    return {.index = rows_[row].index, .warmup = rows_[row].warmup};
}

TimePoint RequestTable::scheduled(std::size_t row) const {
    return time_of(rows_[row].scheduled);
}

TimePoint RequestTable::started(std::size_t row) const {
    return time_of(rows_[row].started);
}

bool RequestTable::operator==(const RequestTable& other) const {
    return size() == other.size() && std::equal(begin(), end(), other.begin());
}

RequestRows::RequestRows(const RequestTable& table) : table_(&table), rows_(table.size()) {
    std::iota(rows_.begin(), rows_.end(), 0U);
}

void RequestRows::sort_by_schedule() {
    struct Scheduled {
        std::int64_t at;  ///< nanoseconds since boot
        std::uint32_t row;
    };
    std::vector<Scheduled> rows;
    rows.reserve(rows_.size());
    for (const std::uint32_t row : rows_) rows.push_back({packed_time(table_->scheduled(row)), row});
    radix_sort(rows, [](const Scheduled& scheduled) { return radix_key(scheduled.at); });
    std::transform(rows.begin(), rows.end(), rows_.begin(),
                   [](const Scheduled& scheduled) { return scheduled.row; });
}

}  // namespace paretoken
