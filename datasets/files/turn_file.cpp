#include "datasets/files/turn_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {

namespace {

void leave_out_without_tokens(Row& turn) {
    if (turn.input_tokens == 0 || turn.output_tokens == 0)
        turn.unusable = "for they have 0 tokens, as failed requests of a trace do";
}

/// Refuses a prompt that has more blocks than fit into it; one more than it needs is accepted.
void refuse_surplus_blocks(const Row& turn, std::int64_t block, const RowPlace& place) {
    if (!turn.unusable.empty() || turn.prompt || turn.blocks.empty() || !turn.input_tokens) return;
    if (turn.block_tokens > 0) block = turn.block_tokens;
    const std::int64_t needed = (*turn.input_tokens + block - 1) / block;
    if (static_cast<std::int64_t>(turn.blocks.size()) > needed + 1)
        place.refuse(fmt::format("{} hash ids of {} tokens do not fit a prompt of {} tokens",
                                 turn.blocks.size(), block, *turn.input_tokens));
}

}  // namespace

std::optional<Row> RowReader::read(std::string_view text, const RowPlace& place) {
    if (format_.layout == RowLayout::csv && header_.empty()) {
        header_ = text;
        return std::nullopt;
    }
    Row row = cut(format_.read(text, header_, place));
    leave_out_without_tokens(row);
    for (Row& turn : row.further)
        if (!turn.conversation.empty()) leave_out_without_tokens(turn);
    refuse_surplus_blocks(row, format_.block_tokens, place);
    for (const Row& turn : row.further) refuse_surplus_blocks(turn, format_.block_tokens, place);
    notes_.add(row, place);
    if (format_.follow) notes_.add_remarks(format_.follow(row), place);
    return row;
}

Row RowReader::read_again(std::string_view text, const RowPlace& place) const {
    return cut(format_.read(text, header_, place));
}

std::vector<std::string> RowReader::notes() const {
    std::vector<std::string> notes = notes_.texts(format_.known_fields);
    if (!format_.note.empty()) notes.insert(notes.begin(), format_.note);
    return notes;
}

void RowReader::require_rows(const RowFile& file) const {
    if (format_.end) format_.end(file.path());
    if (notes_.left_out().size() < file.size()) return;
    throw UsageError(fmt::format("'{}' holds no requests: {}", file.path(), fmt::join(notes(), "; ")));
}

Row RowReader::cut(Row row) const {
    if (row.further.size() >= format_.most_turns) row.further.resize(format_.most_turns - 1);
    return row;
}

namespace {

RowFormat looked_at(const std::string& path, RowFormat format) {
    if (format.look) format.look(path, format);
    return format;
}

}  // namespace

TurnFile::TurnFile(const std::string& path, const RowFormat& format, bool with_replies,
                   const std::function<void(const Row& row, const RowPlace& place)>& visit)
    : path_(path), reader_(looked_at(path, format)), jobs_(format) {
    if (format.generate) {
        std::size_t number = 0;
        format.generate([&](Row row) { add(std::move(row), with_replies, {path_, ++number}, visit); });
        jobs_.finish(path_);
        return;
    }
    file_ = std::make_unique<RowFile>(path, reader_.format().layout,
                                      [&](std::string_view text, const RowPlace& place) {
                                          if (auto row = reader_.read(text, place))
                                              add(std::move(*row), with_replies, place, visit);
                                      });
    reader_.require_rows(*file_);
    jobs_.finish(path);
    file_->leave_out(reader_.left_out());
    release_parser();
}

void TurnFile::add(Row row, bool with_replies, const RowPlace& place,
                   const std::function<void(const Row& row, const RowPlace& place)>& visit) {
    const bool is_kept = holds_request(row);
    if (is_kept) visit(row, place);
    const bool begins = jobs_.add(row, with_replies, place);
    if (begins && (!reader_.format().jobs_by_edges || row.job.after.empty())) add_time(row, place);
    if (is_kept && reader_.format().keeps_turns) kept_.add(std::move(row));
}

void TurnFile::add_time(const Row& row, const RowPlace& place) {
    if (row.at_s) {
        if (timed_ == 0) first_at_s_ = last_at_s_ = *row.at_s;
        if (*row.at_s < last_at_s_)
            place.refuse(fmt::format("the time goes back from {} s to {} s; sort the rows by their time",
                                     last_at_s_, *row.at_s));
        constexpr double kLongest =
            1e8;  // seconds; longer than any log, and shorter than the time since 1970
        if (*row.at_s - last_at_s_ > kLongest)
            place.refuse(fmt::format("the time jumps from {} s to {} s; have all times the same unit?",
                                     last_at_s_, *row.at_s));
        last_at_s_ = *row.at_s;
        ++timed_;
    }
    ++seen_;
    if (timed_ != 0 && timed_ != seen_) place.refuse("some rows have a time and others have none");
}

std::vector<std::string> TurnFile::notes() const {
    constexpr std::size_t kFewest = 10;  // rows
    constexpr double kFastest = 100;     // rows per second; public traces have at most 50
    std::vector<std::string> notes = reader_.notes();
    std::ranges::copy(jobs_.notes(), std::back_inserter(notes));
    const double span = last_at_s_ - first_at_s_;
    const std::string& note = reader_.format().note_if_fast;
    if (!note.empty() && timed_ >= kFewest && span > 0 && static_cast<double>(timed_) > kFastest * span)
        notes.push_back(fmt::format("{} rows in {:.3g} s: {}", timed_, span, note));
    return notes;
}

Row TurnFile::row(TurnPlace at) const {
    if (reader_.format().keeps_turns) return kept_.turn(at.row, at.part);
    std::string text = file_->row(at.row);
    text.reserve(text.size() + RowFile::kPadding);
    Row row = reader_.read_again(text, {file_->path(), at.row + std::size_t{1}});
    if (at.part == 0) return row;
    Row part = std::move(row.further.at(at.part - 1));
    return part;
}

Row TurnFile::turn(std::size_t job, std::uint32_t turn) const {
    const TurnPlace at = jobs_.place_of(job, turn);
    Row row = this->row(at);
    if (turn > 0 && row.body.empty() && reader_.format().body_of_opening)
        row.body = this->row(jobs_.place_of(job, 0)).body;
    if (at.reply == TurnPlace::kNone) return row;
    Row reply = this->row({.row = at.reply});
    Messages messages = messages_of(std::move(*reply.prompt));
    Messages news = messages_of(std::move(*row.prompt));
    messages.insert(messages.end(), std::move_iterator(news.begin()), std::move_iterator(news.end()));
    row.prompt = std::move(messages);
    return row;
}

std::optional<Duration> TurnFile::recorded_time(std::size_t job) const {
    if (timed_ == 0) return std::nullopt;
    const auto of_job = jobs_.time_of(job);
    const double at_s = of_job ? *of_job : *row(jobs_.place_of(job, 0)).at_s;
    return from_seconds(at_s - first_at_s_);
}

}  // namespace paretoken::datasets
