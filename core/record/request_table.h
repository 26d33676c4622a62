#pragma once
// The packed scalars of finished requests: all fields of a RequestRecord except its id, its answer and its
// events. A row takes kBytesPerRequest; one that opened a connection, or whose answer has several choices,
// takes 48 bytes in addition. Equal texts are stored once, up to the limits below; later texts become empty.
// Counts of tokens and events are clamped to 2^31 − 1. All other values are restored exactly, if the worker
// and the target are below 255 and the turn below 65536.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record.h"

namespace paretoken {

class RequestTable {
  public:
    static constexpr std::size_t kBytesPerRequest = 200;
    static constexpr std::size_t kMostErrors = 1000;
    static constexpr std::size_t kMostFinishReasons = 1000;
    static constexpr std::size_t kMostSlos = 65535;
    static constexpr std::size_t kMostModels = 255;

    RequestTable() = default;
    /// Converts implicitly, so that records in memory can be used as a table.
    RequestTable(std::span<const RequestRecord> records);       // NOLINT(google-explicit-constructor)
    RequestTable(const std::vector<RequestRecord>& records);    // NOLINT(google-explicit-constructor)
    RequestTable(std::initializer_list<RequestRecord> records)  // NOLINT(google-explicit-constructor)
        : RequestTable(std::span(records.begin(), records.size())) {}

    void add(const RequestRecord& record);
    /// Adds the rows of another table after its own.
    void append(const RequestTable& other);

    std::size_t size() const { return rows_.size(); }
    bool empty() const { return rows_.empty(); }
    RequestRecord operator[](std::size_t row) const;
    RequestRecord front() const { return (*this)[0]; }

    /// Writes a row into `record`, whose memory is reused; id and answer become empty, events stay.
    void unpack(std::size_t row, RequestRecord& record) const;
    /// The same; the row must not be read again, nor the table copied. The size stays, and the memory of rows
    /// next to each other that were all taken is freed.
    void take(std::size_t row, RequestRecord& record);

    RequestKey key(std::size_t row) const;
    TimePoint scheduled(std::size_t row) const;
    TimePoint started(std::size_t row) const;

    /// An input iterator: each step overwrites the record that it refers to.
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = RequestRecord;
        using difference_type = std::ptrdiff_t;
        using pointer = const RequestRecord*;
        using reference = const RequestRecord&;

        Iterator(const RequestTable& table, std::size_t row) : table_(&table), row_(row) { unpack(); }
        reference operator*() const { return record_; }
        pointer operator->() const { return &record_; }
        Iterator& operator++() {
            ++row_;
            unpack();
            return *this;
        }
        bool operator==(const Iterator& other) const { return row_ == other.row_; }

      private:
        void unpack() {
            if (row_ < table_->size()) table_->unpack(row_, record_);
        }
        const RequestTable* table_;
        std::size_t row_;
        RequestRecord record_;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }

    bool operator==(const RequestTable& other) const;

  private:
    /// Stores each text that requests share once. Text 0 is empty.
    class Texts {
      public:
        /// Returns the number of `text`, which is added; 0 if there are `most` other texts already.
        std::uint32_t number_of(const std::string& text, std::size_t most);
        const std::string& operator[](std::uint32_t number) const { return texts_[number]; }

      private:
        std::vector<std::string> texts_{std::string()};
        std::unordered_map<std::string, std::uint32_t> numbers_;
    };

    /// A packed record: times in nanoseconds since boot; absent values are the smallest of their type, an
    /// absent target is 255; texts are numbers (Texts), and `rare` is an index into `rares_`.
    struct Row {
        std::uint64_t index;
        std::int64_t conversation;
        std::uint32_t job_back;   ///< `index` − index of the job's first request
        std::uint32_t job_turns;  ///< 0 if it belongs to no job
        std::int64_t scheduled, slot_wait, started, ready, sent, headers, first_event, first_answer,
            last_event, finished, closed, longest_gap;
        std::uint64_t bytes_received;
        std::int32_t prompt, cached_prompt, completion, reasoning;
        std::int32_t streamed_tokens, first_group_tokens, chunks, grouped_chunks;
        std::int32_t wanted_input_tokens, wanted_output_tokens;
        std::uint32_t request_class, rare;
        std::uint32_t first_early, last_early;  ///< microseconds; 0 if absent
        std::uint16_t error, slo;
        std::uint8_t worker, target;
        std::uint16_t turn;
        std::uint16_t finish_reason, http_status;
        Outcome outcome;
        TokenSource token_source;
        bool warmup : 1, resent : 1, unseen_output : 1, uncounted_output : 1, disputed_cache : 1,
            background : 1, inside : 1;
        std::uint8_t answered_model;
    };
    static_assert(sizeof(Row) == kBytesPerRequest);

    /// The scalars that few requests have.
    struct Rare {
        std::optional<ConnectTimes> connect;
        std::optional<Duration> decoding;
    };

    static Row packed(const RequestRecord& record);

    /// Rows in blocks, which grow without a copy; a copy would need up to three times their memory.
    class Rows {
      public:
        void push_back(const Row& row) {
            if (size_ % kBlock == 0) blocks_.emplace_back().rows.reserve(kBlock);
            blocks_.back().rows.push_back(row);
            ++size_;
        }
        const Row& operator[](std::size_t at) const { return blocks_[at / kBlock].rows[at % kBlock]; }
        std::size_t size() const { return size_; }
        bool empty() const { return size_ == 0; }
        void release(std::size_t at) {
            Block& block = blocks_[at / kBlock];
            if (++block.released == block.rows.size()) block.rows = {};
        }

      private:
        static constexpr std::size_t kBlock = 1024;
        struct Block {
            std::vector<Row> rows;
            std::size_t released = 0;
        };
        std::vector<Block> blocks_;
        std::size_t size_ = 0;
    };

    Rows rows_;
    std::vector<Rare> rares_{Rare{}};  ///< entry 0: none
    Texts classes_;
    Texts slos_;
    Texts errors_;
    Texts finish_reasons_;
    Texts models_;
};

/// A selection of the requests of a table, in any order. The table must outlive it.
class RequestRows {
  public:
    RequestRows(const RequestTable& table, std::vector<std::uint32_t> rows)
        : table_(&table), rows_(std::move(rows)) {}
    /// Selects all requests, in the order of the table.
    explicit RequestRows(const RequestTable& table);

    std::size_t size() const { return rows_.size(); }
    bool empty() const { return rows_.empty(); }
    const RequestTable& table() const { return *table_; }
    const std::vector<std::uint32_t>& rows() const { return rows_; }

    /// Calls `visit(record)` for each request.
    template <class Visit>
    void for_each(Visit visit) const {
        RequestRecord record;
        for (const std::uint32_t row : rows_) {
            table_->unpack(row, record);
            visit(static_cast<const RequestRecord&>(record));
        }
    }
    /// Returns the requests for which `keep(record)` is true.
    template <class Keep>
    RequestRows filtered(Keep keep) const {
        std::vector<std::uint32_t> kept;
        RequestRecord record;
        for (const std::uint32_t row : rows_) {
            table_->unpack(row, record);
            if (keep(static_cast<const RequestRecord&>(record))) kept.push_back(row);
        }
        return {*table_, std::move(kept)};
    }
    /// Sorts by scheduled start, ascending; equal ones keep their order.
    void sort_by_schedule();

  private:
    const RequestTable* table_;
    std::vector<std::uint32_t> rows_;
};

}  // namespace paretoken
