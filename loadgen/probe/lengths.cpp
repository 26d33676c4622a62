#include "loadgen/probe/lengths.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.h"
#include "datasets/synthetic/synthetic.h"
#include "datasets/synthetic/text.h"
#include "loadgen/probe/trial.h"
#include "loadgen/protocol/tokenize.h"

namespace paretoken::loadgen {
namespace {

/// Returns whether the server accepts token ids. Tries ids from both ends of the range of prompts.
bool takes_token_ids(Asker& asker, const EndpointFacts& facts) {
    const datasets::IdRange range = datasets::safe_token_ids(std::nullopt);
    TokenIds ids;
    for (std::int32_t i = 0; i < 4; ++i) {
        ids.push_back(range.low + i);
        ids.push_back(range.high - 1 - i);
    }
    const auto expected = static_cast<std::int64_t>(ids.size());
    const Trial trial = attempt(asker, facts.body, small_request(std::move(ids), facts), Need::if_quick);
    // The server may add a BOS; if it read the ids as text, it would count many more tokens.
    return trial.accepted() && trial.record.usage.prompt && *trial.record.usage.prompt >= expected &&
           *trial.record.usage.prompt <= expected + 1;
}

std::optional<datasets::Calibration> calibration_by_tokenizer(Asker& asker, const EndpointFacts& facts) {
    for (const auto dialect : {protocol::TokenizeDialect::vllm, protocol::TokenizeDialect::llama_cpp}) {
        const std::string body =
            protocol::tokenize_body(dialect, facts.body.model, datasets::calibration_text());
        const http::Fetched answer = asker.ask_tokenizer(body);
        if (answer.failure) return std::nullopt;
        if (!answer.ok()) continue;
        const auto tokens = protocol::parse_tokenization(answer.body);
        if (!tokens) continue;
        if (auto calibration = datasets::calibration_from_pieces(tokens->pieces)) return calibration;
    }
    return std::nullopt;
}

/// Finds the tokens that the chat template or a BOS adds, from the server's counts for texts of known length.
void find_overhead(Asker& asker, const EndpointFacts& facts, datasets::Calibration& calibration) {
    const datasets::TextWriter writer(calibration);
    std::vector<datasets::OverheadSample> samples;
    for (const std::size_t words : {8, 24}) {
        const std::string text = writer.of_words(words, words, Random(derived_seed(0, "calibration", words)));
        const Trial trial = attempt(asker, facts.body, small_request(text, facts), Need::if_quick);
        if (!trial.accepted() || !trial.record.usage.prompt) continue;
        samples.push_back({.expected_text_tokens = writer.expected_tokens(text),
                           .prompt_tokens = static_cast<double>(*trial.record.usage.prompt)});
    }
    if (const auto overhead = datasets::overhead_from(samples)) calibration.overhead_tokens = *overhead;
}

std::optional<datasets::Calibration> calibration_by_usage(Asker& asker, const EndpointFacts& facts) {
    const datasets::TextWriter writer(datasets::uncalibrated());
    std::vector<datasets::CountSample> samples;
    for (const std::size_t words : {16, 64, 160}) {
        const std::string text = writer.of_words(words, words, Random(derived_seed(0, "calibration", words)));
        const Trial trial = attempt(asker, facts.body, small_request(text, facts), Need::if_quick);
        if (!trial.accepted() || !trial.record.usage.prompt) continue;
        samples.push_back(
            {.words = static_cast<double>(words), .tokens = static_cast<double>(*trial.record.usage.prompt)});
    }
    return datasets::calibration_from_counts(samples);
}

/// Finds the tokens per word of the prose that prompts are cut from. Without an answer it takes the mean of
/// our words.
void find_prose_cost(Asker& asker, const EndpointFacts& facts, datasets::Calibration& calibration) {
    const std::vector<double>& own = calibration.word_tokens;
    if (!own.empty())
        calibration.prose_word_tokens =
            std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
    const std::string& text = asker.options().prose;
    const auto words = static_cast<double>(1 + std::ranges::count(text, ' '));
    const Trial trial = attempt(asker, facts.body, small_request(text, facts), Need::if_quick);
    if (!trial.accepted() || !trial.record.usage.prompt) return;
    const double tokens = static_cast<double>(*trial.record.usage.prompt) - calibration.overhead_tokens;
    if (tokens > 0) calibration.prose_word_tokens = tokens / words;
}

}  // namespace

void settle_lengths(Asker& asker, EndpointFacts& facts) {
    const EndpointOptions& options = asker.options();
    if (options.token_ids && facts.body.protocol->takes_token_ids && takes_token_ids(asker, facts)) {
        facts.prompt_form = datasets::PromptForm::token_ids;
        return;
    }
    if (!options.calibrate) return;
    facts.calibration = calibration_by_tokenizer(asker, facts);
    if (facts.calibration) {
        find_overhead(asker, facts, *facts.calibration);
    } else {
        facts.calibration = calibration_by_usage(asker, facts);
    }
    if (facts.calibration && !options.prose.empty()) find_prose_cost(asker, facts, *facts.calibration);
}

}  // namespace paretoken::loadgen
