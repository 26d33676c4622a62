#include "datasets/files/file_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "datasets/files/seen_blocks.h"
#include "datasets/files/turn_file.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kSaltWords = 4;
constexpr std::size_t kMostSlos =
    1000;  ///< largest number of different SLOs in a file, so that a run can hold each of them once

/// The sums over the turns of a file.
struct Seen {
    std::size_t turns = 0;
    std::size_t with_input = 0;
    std::size_t with_output = 0;
    bool any_prompt = false;
    std::optional<std::size_t> line_of_token_ids = {};  ///< of the first prompt that has them
    bool any_shared_block = false;  ///< whether a turn has blocks whose content is the same in every play
    double input_tokens = 0;
    double output_tokens = 0;
    std::unordered_set<std::string> slos = {};
    SeenBlocks prompts = {};  ///< hashes of the prompts of rows without a time that belong to no conversation
    std::size_t again = 0;    ///< such rows whose prompt was there before
};

/// Returns a hash of a prompt and of what else decides the request, but its length.
std::uint64_t hash_of(const Row& row) {
    std::uint64_t hash = derived_seed(0, row.model);
    const auto add = [&](std::string_view text) { hash = derived_seed(hash, text); };
    add(row.body);
    if (const auto* const text = std::get_if<std::string>(&*row.prompt)) add(*text);
    if (const auto* const ids = std::get_if<TokenIds>(&*row.prompt))
        add({reinterpret_cast<const char*>(ids->data()), ids->size() * sizeof(ids->front())});
    if (const auto* const messages = std::get_if<Messages>(&*row.prompt))
        for (const Message& message : *messages) {
            add(message.role);
            add(message.content);
            add(message.parts);
            add(message.fields);
        }
    return hash;
}

void add(Seen& seen, const Row& row, const RowPlace& place) {
    if (row.is_reply) return;
    ++seen.turns;
    seen.any_prompt |= row.prompt.has_value();
    if (row.prompt && std::holds_alternative<TokenIds>(*row.prompt) && !seen.line_of_token_ids)
        seen.line_of_token_ids = place.line;
    seen.any_shared_block |= !row.blocks.empty() && row.scope == 0;
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
          outline_content_(options.outline_content),
          maker_(options),
          ids_maker_(in_form(options, PromptForm::token_ids)),
          file_(format.generate ? options.path : file_of(options.spec, options.path), format,
                !options.live_replies, [&](const Row& row, const RowPlace& place) {
                    add_turn(row, place);
                    if (row.prompt && row.further.empty() && !row.at_s && row.conversation.empty() &&
                        row.job == RowJob{})
                        seen_.again += seen_.prompts.insert(hash_of(row)).second ? 0 : 1;
                    for (const Row& turn : row.further) add_turn(turn, place);
                }) {
        seen_.prompts = {};
        if (osl_ && seen_.with_output == seen_.turns)
            throw UsageError(
                fmt::format("--osl {}: every row of '{}' has a number of output tokens of its own, so that "
                            "--osl has no effect; leave it out, or change the lengths in the file",
                            *osl_, file_.path()));
    }

    Request request(std::uint64_t index) const override { return opening(index, maker_); }
    Request outline(std::uint64_t index) const override { return opening(index, ids_maker_); }

    bool has_conversations() const override { return jobs().has_conversations(); }
    bool has_jobs() const override { return jobs().has_jobs(); }
    bool needs_replies() const override { return live_replies_ && has_conversations(); }

    std::uint32_t turns(std::uint64_t index) const override { return jobs().turns(index % jobs().size()); }
    std::shared_ptr<const JobGraph> job(std::uint64_t index) const override {
        return jobs().graph(index % jobs().size());
    }

    Request follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const override {
        return turn_of(index, turn, said, maker_);
    }
    Request outline_of_follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const override {
        return turn_of(index, turn, said, ids_maker_);
    }

    std::optional<std::uint64_t> size() const override { return jobs().size(); }

    std::optional<Duration> recorded_time(std::uint64_t index) const override {
        return file_.recorded_time(index);
    }

    std::optional<std::uint64_t> repeats_after() const override {
        const bool repeats = (seen_.any_prompt && !salt_prompts_) || seen_.any_shared_block;
        return repeats ? std::optional(jobs().size()) : std::nullopt;
    }

    std::optional<std::uint64_t> different_prompts() const override {
        if (!repeats_after() || seen_.again == 0) return std::nullopt;
        return jobs().size() - seen_.again;
    }

    std::string description() const override {
        const std::string& path = file_.path();
        if (format_.generate) return path;
        const std::string_view unit = has_jobs()            ? "jobs"
                                      : has_conversations() ? "conversations"
                                                            : "requests";
        return fmt::format("{}:path={},{}={}", format_.name, path.substr(path.rfind('/') + 1), unit,
                           jobs().size());
    }
    std::string content() const override { return file_.content(); }

    std::optional<std::size_t> line_of_token_ids() const override { return seen_.line_of_token_ids; }

    std::vector<std::string> notes() const override {
        std::vector<std::string> notes = file_.notes();
        for (std::string& note : notes) note.insert(0, file_.path() + ": ");
        return notes;
    }

    std::optional<double> best_possible_hit() const override {
        if (!has_conversations() || row_at(0, 0).blocks.empty()) return std::nullopt;
        JobCache cache;
        for (std::size_t index = 0; index < jobs().size(); ++index) {
            cache.next_job();
            const auto graph = jobs().graph(index);
            for (std::uint32_t turn = 0; turn < graph->turns.size(); ++turn)
                cache.add(row_at(index, turn), graph->turns[turn].agent, format_.block_tokens);
        }
        return cache.hit();
    }

    std::optional<double> mean_input_tokens() const override {
        if (seen_.with_input != seen_.turns) return std::nullopt;
        return seen_.input_tokens / static_cast<double>(seen_.turns);
    }
    std::optional<double> mean_output_tokens() const override {
        const std::size_t without = seen_.turns - seen_.with_output;
        if (without > 0 && !osl_) return std::nullopt;
        const double given = static_cast<double>(without) * static_cast<double>(osl_.value_or(0));
        return (seen_.output_tokens + given) / static_cast<double>(seen_.turns);
    }

  private:
    const JobIndex& jobs() const { return file_.jobs(); }

    void require_prose_for(std::int64_t tokens, const RowPlace& place) const {
        try {
            maker_.require_prose_for(tokens);
        } catch (const UsageError& error) {
            place.refuse(error.what());
        }
    }

    void add_turn(const Row& turn, const RowPlace& place) {
        if (!turn.unusable.empty()) return;
        add(seen_, turn, place);
        if (!turn.prompt && turn.input_tokens) require_prose_for(*turn.input_tokens, place);
    }

    /// Reads a turn of a job.
    Row row_at(std::uint64_t index, std::uint32_t turn) const {
        return file_.turn(index % jobs().size(), turn);
    }

    Request opening(std::uint64_t index, const PromptMaker& maker) const {
        Row row = row_at(index, 0);
        Request request = without_prompt(index, row);
        set_own_prompt(request, row, 0, maker);
        return request;
    }

    /// Sets the prompt of a turn that continues no other. In an outline, a prompt of which only the length
    /// is known stays empty.
    void set_own_prompt(Request& request, Row& row, std::uint32_t turn, const PromptMaker& maker) const {
        if (row.prompt) {
            request.prompt = std::move(*row.prompt);
            if (salt_prompts_) add_salt(request, request.index);
        } else if (&maker == &maker_ || (outline_content_ && !row.blocks.empty())) {
            request.prompt = made_up(row, request.index, turn, maker);
        }
    }

    Request turn_of(std::uint64_t index, std::uint32_t turn, const Said& said,
                    const PromptMaker& maker) const {
        Row row = row_at(index, turn);
        Request request = without_prompt(index, row);
        const auto history = job(index)->turns[turn].history;
        if (!history) {
            set_own_prompt(request, row, turn, maker);
            return request;
        }
        request.wanted_input_tokens.reset();  // the row has at most the length of its own part
        Messages news = messages_of(std::move(*row.prompt));
        Messages messages;
        if (live_replies_) {
            messages = messages_of(said.prompt);
            messages.push_back({.role = "assistant", .content = std::string(said.reply)});
            news.erase(news.begin(), news.begin() + static_cast<std::ptrdiff_t>(recorded_replies(news)));
        } else {
            messages = messages_of(*history == 0 ? opening(index, maker).prompt
                                                 : turn_of(index, *history, said, maker).prompt);
        }
        messages.insert(messages.end(), std::move_iterator(news.begin()), std::move_iterator(news.end()));
        request.prompt = std::move(messages);
        return request;
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

    Prompt made_up(const Row& row, std::uint64_t index, std::uint32_t turn, const PromptMaker& maker) const {
        const std::uint64_t own = turn == 0 ? index : derived_seed(index, "turn", turn);
        if (row.blocks.empty()) return maker.prompt(*row.input_tokens, own);
        const std::uint64_t play = index / jobs().size();
        Prompt prompt = maker.begin();
        std::int64_t left = *row.input_tokens - maker.overhead_tokens();
        for (std::size_t i = 0; i < row.blocks.size(); ++i) {
            const std::int64_t tokens =
                std::min(left, row.block_tokens > 0 ? row.block_tokens : format_.block_tokens);
            if (tokens > 0) maker.append(prompt, tokens, name_of_block(row, i, play));
            left -= tokens;
        }
        if (left > 0) maker.append(prompt, left, derived_seed(own, "beyond the blocks"));
        return prompt;
    }

    /// Puts a few words or ids before the prompt that no other run has; their number is always the same. A
    /// system prompt before the user's first message in a conversation or job has words of the pass over the
    /// file instead, so that all jobs of the pass share it, and the user's message those of the play.
    void add_salt(Request& request, std::uint64_t index) const {
        if (auto* ids = std::get_if<TokenIds>(&request.prompt)) {
            TokenIds salted = std::get<TokenIds>(salted_with(ids_maker_, index));
            salted.insert(salted.end(), ids->begin(), ids->end());
            *ids = std::move(salted);
            request.wanted_input_tokens = static_cast<std::int64_t>(ids->size());
            return;
        }
        const std::string words = salt_words("salt", index);
        if (auto* text = std::get_if<std::string>(&request.prompt)) {
            text->insert(0, words);
            return;
        }
        auto& messages = std::get<Messages>(request.prompt);
        const auto is_text = [](const Message& message) { return message.parts.empty(); };
        const auto first = std::ranges::find_if(messages, is_text);
        if (first == messages.end()) return;
        const auto of_user = std::find_if(first, messages.end(), [&](const Message& message) {
            return is_text(message) && message.role == "user";
        });
        const bool is_shared = has_conversations() && of_user != first && of_user != messages.end();
        if (is_shared) first->content.insert(0, salt_words("salt of pass", index / jobs().size()));
        (is_shared ? of_user : first)->content.insert(0, words);
    }

    std::string salt_words(const std::string& what, std::uint64_t number) const {
        return maker_.writer().of_words(kSaltWords, derived_seed(seed_, what + " opening " + salt_, number),
                                        Random(derived_seed(seed_, what + " " + salt_, number))) +
               ": ";
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
    bool outline_content_;
    PromptMaker maker_;
    PromptMaker ids_maker_;
    Seen seen_;
    TurnFile file_;
};

}  // namespace

bool holds_request(const Row& row) {
    return row.unusable.empty() || std::ranges::any_of(row.further, &std::string_view::empty, &Row::unusable);
}

std::uint64_t name_of_block(const Row& row, std::size_t i, std::uint64_t play) {
    const std::uint64_t block = row.blocks[i];
    if (row.scope == 0 || i < row.shared_blocks) return block;
    return derived_seed(derived_seed(row.scope, "play", play), "block", block);
}

std::unique_ptr<Dataset> make_file_dataset(const DatasetOptions& options, const RowFormat& format) {
    return std::make_unique<FileDataset>(options, format);
}

}  // namespace paretoken::datasets
