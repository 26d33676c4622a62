#include "datasets/files/file_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "datasets/files/conversation_index.h"
#include "datasets/files/row_notes.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kSaltWords = 4;
constexpr std::size_t kMostSlos =
    1000;  ///< largest number of different SLOs in a file, so that a run can hold each of them once

/// The sums of the first pass over the rows.
struct Seen {
    std::size_t rows = 0;
    std::size_t with_times = 0;
    double first_at_s = 0;
    double last_at_s = 0;
    std::size_t with_input = 0;
    std::size_t with_output = 0;
    double input_tokens = 0;
    double output_tokens = 0;
    std::unordered_set<std::string> slos = {};
};

void add(Seen& seen, const Row& row, const RowPlace& place) {
    if (row.at_s) {
        if (seen.with_times == 0) seen.first_at_s = seen.last_at_s = *row.at_s;
        if (*row.at_s < seen.last_at_s)
            place.refuse(fmt::format("the time goes back from {} s to {} s", seen.last_at_s, *row.at_s));
        seen.last_at_s = *row.at_s;
        ++seen.with_times;
    }
    ++seen.rows;
    if (seen.with_times != 0 && seen.with_times != seen.rows)
        place.refuse("some rows have a time and others have none");
    if (row.input_tokens) {
        ++seen.with_input;
        seen.input_tokens += static_cast<double>(*row.input_tokens);
    }
    if (row.output_tokens) {
        ++seen.with_output;
        seen.output_tokens += static_cast<double>(*row.output_tokens);
    }
    if (row.slo.empty() || seen.slos.contains(row.slo)) return;
    if (seen.slos.size() == kMostSlos)
        place.refuse(
            fmt::format("this \"slo\" is one more than the {} different ones that a file may hold; "
                        "round the limits",
                        kMostSlos));
    seen.slos.insert(row.slo);
}

/// Reads rows in the order of the file; remembers the header of a csv and counts the rows that hold no
/// request.
class RowReader {
  public:
    explicit RowReader(const RowFormat& format) : format_(format) {}

    /// Reads the next row; returns nothing for the header and for a row that holds no request.
    std::optional<Row> read(std::string_view text, const RowPlace& place) {
        if (format_.layout == RowLayout::csv && header_.empty()) {
            header_ = text;
            return std::nullopt;
        }
        Row row = cut(format_.read(text, header_, place));
        if (row.input_tokens == 0 || row.output_tokens == 0)
            row.unusable = "for they have 0 tokens, as failed requests of a trace do";
        notes_.add(row, place);
        if (!row.unusable.empty()) return std::nullopt;
        return row;
    }
    /// Ends the first pass: throws UsageError if no row of the file holds a request.
    void require_rows(const RowFile& file) const {
        if (notes_.left_out().size() < file.size()) return;
        throw UsageError(fmt::format("'{}' holds no requests: {}", file.path(), fmt::join(notes(), "; ")));
    }
    std::vector<std::string> notes() const { return notes_.texts(format_.known_fields); }
    const std::vector<std::size_t>& left_out() const { return notes_.left_out(); }
    /// Reads a row that was read before. Thread-safe.
    Row read_again(std::string_view text, const RowPlace& place) const {
        return cut(format_.read(text, header_, place));
    }

  private:
    Row cut(Row row) const {
        if (row.further.size() >= format_.most_turns) row.further.resize(format_.most_turns - 1);
        return row;
    }

    const RowFormat& format_;
    std::string header_;
    RowNotes notes_;
};

std::optional<std::int64_t> output_tokens_in(const DatasetOptions& options) {
    if (!options.spec.fields.contains("osl")) return std::nullopt;
    constexpr double kMost = 1e9;
    const std::string& text = options.spec.fields.at("osl");
    const auto refuse = [&] {
        throw UsageError(fmt::format("--osl {}: for dataset '{}' it is a whole number from 1 to 1G", text,
                                     options.spec.name));
    };
    double tokens = 0;
    try {
        tokens = parse_number(text);
    } catch (const UsageError&) {
        refuse();
    }
    if (!(tokens >= 1) || tokens > kMost || tokens != std::floor(tokens)) refuse();
    return static_cast<std::int64_t>(tokens);
}

class FileDataset final : public Dataset {
  public:
    FileDataset(const DatasetOptions& options, const RowFormat& format)
        : format_(format),
          salt_(options.salt),
          salt_prompts_(options.salt_prompts),
          seed_(options.seed),
          osl_(output_tokens_in(options)),
          live_replies_(options.live_replies),
          maker_(options),
          ids_maker_(in_form(options, PromptForm::token_ids)),
          reader_(format_),
          file_(file_of(options.spec, options.path), format.layout,
                [&](std::string_view text, const RowPlace& place) {
                    const auto row = reader_.read(text, place);
                    if (!row) return;
                    add(seen_, *row, place);
                    if (!row->prompt && row->input_tokens) require_prose_for(*row->input_tokens, place);
                    conversations_.add(*row, !options.live_replies, place);
                }) {
        conversations_.finish();
        reader_.require_rows(file_);
        file_.leave_out(reader_.left_out());
        if (osl_ && seen_.with_output == seen_.rows)
            throw UsageError(
                fmt::format("--osl {}: every row of '{}' has a number of output tokens of its own, so that "
                            "--osl has no effect; leave it out, or change the lengths in the file",
                            *osl_, file_.path()));
    }

    Request request(std::uint64_t index) const override {
        Row row = row_at(index, 0);
        Request request = without_prompt(index, row);
        if (row.prompt) {
            request.prompt = std::move(*row.prompt);
            if (salt_prompts_) add_salt(request, index);
        } else {
            request.prompt = made_up(row, index, maker_);
        }
        return request;
    }

    Request outline(std::uint64_t index) const override {
        Row row = row_at(index, 0);
        Request request = without_prompt(index, row);
        if (row.prompt) {
            request.prompt = std::move(*row.prompt);
            if (salt_prompts_) add_salt(request, index);
        } else if (!row.blocks.empty()) {
            request.prompt = made_up(row, index, ids_maker_);
        }
        return request;
    }

    bool has_conversations() const override { return conversations_.has_conversations(); }
    bool needs_replies() const override { return live_replies_ && has_conversations(); }

    std::uint32_t turns(std::uint64_t index) const override {
        return conversations_.turns(index % conversations_.size());
    }

    Request follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const override {
        Row row = row_at(index, turn);
        Messages news = messages_in(row, turn);
        Request request = without_prompt(index, row);
        request.wanted_input_tokens.reset();  // the row has at most the length of its own part
        Messages messages;
        if (live_replies_) {
            messages = messages_of(said.prompt);
            messages.push_back({.role = "assistant", .content = std::string(said.reply)});
            news.erase(news.begin(), news.begin() + static_cast<std::ptrdiff_t>(recorded_replies(news)));
        } else {
            messages = messages_of(turn == 1 ? this->request(index).prompt
                                             : follow_up(index, turn - 1, said).prompt);
        }
        messages.insert(messages.end(), std::move_iterator(news.begin()), std::move_iterator(news.end()));
        request.prompt = std::move(messages);
        return request;
    }

    std::optional<std::uint64_t> size() const override { return conversations_.size(); }

    std::optional<Duration> recorded_time(std::uint64_t index) const override {
        if (seen_.with_times == 0) return std::nullopt;
        return from_seconds(*row_at(index, 0).at_s - seen_.first_at_s);
    }

    std::string description() const override {
        const std::string& path = file_.path();
        return fmt::format("{}:path={},{}={}", format_.name, path.substr(path.rfind('/') + 1),
                           has_conversations() ? "conversations" : "requests", conversations_.size());
    }
    std::string content() const override { return file_.content(); }

    std::vector<std::string> notes() const override {
        std::vector<std::string> notes = reader_.notes();
        for (std::string& note : notes) note.insert(0, file_.path() + ": ");
        return notes;
    }

    std::optional<double> mean_input_tokens() const override {
        if (seen_.with_input != seen_.rows) return std::nullopt;
        return seen_.input_tokens / static_cast<double>(seen_.rows);
    }
    std::optional<double> mean_output_tokens() const override {
        const std::size_t without = seen_.rows - seen_.with_output;
        if (without > 0 && !osl_) return std::nullopt;
        const double given = static_cast<double>(without) * static_cast<double>(osl_.value_or(0));
        return (seen_.output_tokens + given) / static_cast<double>(seen_.rows);
    }

  private:
    void require_prose_for(std::int64_t tokens, const RowPlace& place) const {
        try {
            maker_.require_prose_for(tokens);
        } catch (const UsageError& error) {
            place.refuse(error.what());
        }
    }

    /// Reads the row of a turn.
    Row row_at(std::uint64_t index, std::uint32_t turn) const {
        const std::size_t at = conversations_.row_of(index % conversations_.size(), turn);
        std::string text = file_.row(at);
        text.reserve(text.size() + RowFile::kPadding);
        return reader_.read_again(text, {file_.path(), at + 1});
    }

    /// Returns the messages that a follow-up adds, with the recorded reply before them.
    static Messages messages_in(Row& row, std::uint32_t turn) {
        if (row.further.empty()) return messages_of(std::move(*row.prompt));
        return std::move(row.further.at(turn - 1));
    }

    Request without_prompt(std::uint64_t index, Row& row) const {
        Request request;
        request.index = index;
        request.id = request_id(salt_, index);
        request.request_class = std::move(row.request_class);
        request.slo = std::move(row.slo);
        request.model = std::move(row.model);
        request.body = std::move(row.body);
        request.wanted_input_tokens = row.input_tokens;
        request.wanted_output_tokens = row.output_tokens ? row.output_tokens : osl_;
        return request;
    }

    Prompt made_up(const Row& row, std::uint64_t index, const PromptMaker& maker) const {
        if (row.blocks.empty()) return maker.prompt(*row.input_tokens, index);
        Prompt prompt = maker.begin();
        std::int64_t left = *row.input_tokens - maker.overhead_tokens();
        for (const std::uint64_t block : row.blocks) {
            const std::int64_t tokens = std::min(left, format_.block_tokens);
            if (tokens > 0) maker.append(prompt, tokens, block);
            left -= tokens;
        }
        if (left > 0) maker.append(prompt, left, derived_seed(index, "beyond the blocks"));
        return prompt;
    }

    /// Puts a few words or ids before the prompt that no other run has; their number is always the same.
    void add_salt(Request& request, std::uint64_t index) const {
        if (auto* ids = std::get_if<TokenIds>(&request.prompt)) {
            TokenIds salted = std::get<TokenIds>(salted_with(ids_maker_, index));
            salted.insert(salted.end(), ids->begin(), ids->end());
            *ids = std::move(salted);
            request.wanted_input_tokens = static_cast<std::int64_t>(ids->size());
            return;
        }
        const std::string words =
            maker_.writer().of_words(kSaltWords, derived_seed(seed_, "salt opening " + salt_, index),
                                     Random(derived_seed(seed_, "salt " + salt_, index))) +
            ": ";
        if (auto* text = std::get_if<std::string>(&request.prompt)) {
            text->insert(0, words);
            return;
        }
        for (Message& message : std::get<Messages>(request.prompt)) {
            if (!message.parts.empty()) continue;
            message.content.insert(0, words);
            return;
        }
    }

    Prompt salted_with(const PromptMaker& maker, std::uint64_t index) const {
        return maker.prompt(static_cast<std::int64_t>(kSaltWords), index);
    }

    RowFormat format_;
    std::string salt_;
    bool salt_prompts_;
    std::uint64_t seed_;
    std::optional<std::int64_t> osl_;
    bool live_replies_;
    PromptMaker maker_;
    PromptMaker ids_maker_;
    RowReader reader_;
    Seen seen_;
    ConversationIndex conversations_;
    RowFile file_;
};

}  // namespace

std::unique_ptr<Dataset> make_file_dataset(const DatasetOptions& options, const RowFormat& format) {
    return std::make_unique<FileDataset>(options, format);
}

std::vector<std::string> for_each_row(
    const std::string& path, const RowFormat& format,
    const std::function<void(const Row& row, const RowPlace& place)>& visit) {
    RowReader reader(format);
    const RowFile file(path, format.layout, [&](std::string_view text, const RowPlace& place) {
        if (const auto row = reader.read(text, place)) visit(*row, place);
    });
    reader.require_rows(file);
    return reader.notes();
}

}  // namespace paretoken::datasets
