#include "reports/analysis/first_look/first_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/result/figures.h"
#include "core/text/validity_reasons.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr double kHalf = 2;  // an answer takes so many times as long
constexpr double kMostFailed = .1;
constexpr double kSameLength = .1;  // relative difference of answers from the length that was asked for

std::optional<double> mean_of(const RunResult& result, std::string_view key) {
    const MetricSummary* const metric = result.metric(key);
    return metric == nullptr ? std::nullopt : metric->mean;
}

std::string time_text(double s) {
    return s < 1 ? fmt::format("{} ms", significant(s * 1e3, 2)) : fmt::format("{} s", significant(s, 2));
}

/// How a speed feels: people read about four words, which are five tokens, per second.
std::string_view reading_speed(double tok_per_s) {
    constexpr double kReading = 5;
    if (tok_per_s < kReading) return "slower than most people read";
    if (tok_per_s < 2 * kReading) return "about as fast as people read";
    return "faster than people read";
}

std::string one_person(const FirstLook& look) {
    const SpeedAtDepth& first = look.depths.front();
    if (!first.first_token_s || !first.generation_tok_per_s)
        return "The server gave no streamed answer from which a speed follows.";
    const double whole_s =
        *first.first_token_s + static_cast<double>(first.answer_tokens - 1) / *first.generation_tok_per_s;
    return fmt::format(
        "After a question of {} tokens the first word comes in {}, then {} tokens per second, which is {}. "
        "An answer of {} tokens takes {}.",
        first.prompt_tokens, time_text(*first.first_token_s), significant(*first.generation_tok_per_s),
        reading_speed(*first.generation_tok_per_s), first.answer_tokens, time_text(whole_s));
}

/// The table of speeds; its names are those of llama-bench.
std::string speeds(const FirstLook& look) {
    std::string lines;
    for (const SpeedAtDepth& depth : look.depths) {
        lines += fmt::format("  {:{}}{:<9}{:>9} tok/s    {:<16}{:>7} tok/s\n", lines.empty() ? "speed" : "",
                             kLabelledTextBegins - 2, fmt::format("pp{}", depth.prompt_tokens),
                             significant(depth.prompt_tok_per_s),
                             fmt::format("tg{} @ d{}", depth.answer_tokens, depth.prompt_tokens),
                             significant(depth.generation_tok_per_s));
    }
    return lines;
}

/// Returns how many people get at least half the speed of one, if `half` do by interpolation.
std::uint64_t whole_people(double half) {
    return static_cast<std::uint64_t>(half);
}

/// Whether the events of answers came together, so that the first one came when the answer was complete.
bool came_at_once(const RunResult& result) {
    return std::ranges::any_of(result.validity.reasons, [](const Reason& reason) {
        return reason.check == "bunched_stream" || reason.check == "buffered_stream";
    });
}

std::string crowd(const FirstLook& look) {
    if (look.crowds.empty() || !look.crowds.front().answer_s) return {};
    const SpeedOfCrowd& alone = look.crowds.front();
    const SpeedOfCrowd& most = look.crowds.back();
    const auto half = people_at_half_speed(look.crowds);
    const auto slowed = std::ranges::find_if(
        look.crowds, [&](const SpeedOfCrowd& of) { return is_slowed_to_half(alone, of); });
    if (!half) {
        const std::string why = look.out_of_time ? "; the time allowed no more people" : "";
        if (most.people == 1) return fmt::format("Only one person was measured{}.", why);
        return fmt::format(
            "With {} people at once each still gets more than half the speed of one: an answer takes {} "
            "instead of {}{}.",
            most.people, time_text(*most.answer_s), time_text(*alone.answer_s), why);
    }
    if (!slowed->answer_s)
        return fmt::format("With {} people at once, too many requests fail; with {}, an answer takes {}.",
                           slowed->people, std::prev(slowed)->people,
                           time_text(*std::prev(slowed)->answer_s));
    const std::string times = fmt::format("an answer takes {} instead of {}", time_text(*slowed->answer_s),
                                          time_text(*alone.answer_s));
    if (whole_people(*half) == 1)
        return fmt::format("With {} people at once each gets less than half the speed of one: {}.",
                           slowed->people, times);
    return fmt::format("Up to about {} people at once each get at least half the speed of one: with {}, {}.",
                       whole_people(*half), slowed->people, times);
}

std::string memory(const FirstLook& look) {
    const auto& speed = look.depths.front().generation_tok_per_s;
    if (!look.memory) return look.no_memory;
    if (!speed) return "No speed of generation was measured that could be compared with it.";
    const double most = look.memory->bytes_per_s / look.memory->bytes_per_token;
    return fmt::format(
        "The memory of {}, together with its caches, reads {} GB/s, and a token needs {} MB of it: "
        "at most {} tokens per second. {} is {:.0f} % of that.",
        look.memory->device, significant(look.memory->bytes_per_s / 1e9),
        significant(look.memory->bytes_per_token / 1e6), significant(most), significant(*speed),
        *speed / most * 100);
}

}  // namespace

SpeedAtDepth speed_at_depth(const RunResult& result, std::uint64_t prompt_tokens,
                            std::uint64_t answer_tokens) {
    SpeedAtDepth speed{.prompt_tokens = prompt_tokens, .answer_tokens = answer_tokens};
    speed.first_token_s = result.percentile("ttft_s", .5);
    const double fresh = 1 - mean_of(result, "cache_hit_ratio").value_or(0);
    const double tokens = mean_of(result, "input_tokens_tok").value_or(static_cast<double>(prompt_tokens));
    if (speed.first_token_s && *speed.first_token_s > 0 && !came_at_once(result))
        speed.prompt_tok_per_s = tokens * fresh / *speed.first_token_s;
    if (const auto step = result.percentile("tpot_s", .5); step && *step > 0)
        speed.generation_tok_per_s = 1 / *step;
    const auto wanted = static_cast<double>(answer_tokens);
    if (const auto had = mean_of(result, "output_tokens_tok");
        had && std::abs(*had / wanted - 1) > kSameLength)
        speed.answer_tokens = static_cast<std::uint64_t>(std::max(1LL, std::llround(*had)));
    return speed;
}

void add_doubts(const RunResult& result, FirstLook& look) {
    constexpr std::array<std::string_view, 4> kOfLength = {"no_steady_state", "no_whole_answer", "partial",
                                                           "all_failed"};
    for (const Reason& reason : result.validity.reasons) {
        const bool is_of_length = std::ranges::find(kOfLength, reason.check) != kOfLength.end();
        if ((reason.severity == Verdict::invalid && !is_of_length) || tells_of_answers(reason.check) ||
            reason.check == "foreign_load")
            look.doubts.emplace(reason.check, reason.text);
    }
}

SpeedOfCrowd speed_of_crowd(const RunResult& result, std::uint64_t people) {
    SpeedOfCrowd speed{.people = people};
    const auto failed = static_cast<double>(result.counts.failed);
    if (failed <= kMostFailed * static_cast<double>(result.counts.requests))
        speed.answer_s = result.percentile("e2e_s", .5);
    speed.tok_per_s = result.whole_run.at(figure::kOutputTokens);
    return speed;
}

bool is_slowed_to_half(const SpeedOfCrowd& alone, const SpeedOfCrowd& crowd) {
    return !crowd.answer_s || (alone.answer_s && *crowd.answer_s >= kHalf * *alone.answer_s);
}

std::optional<double> people_at_half_speed(std::span<const SpeedOfCrowd> crowds) {
    for (std::size_t i = 1; i < crowds.size(); ++i) {
        if (!is_slowed_to_half(crowds.front(), crowds[i])) continue;
        const SpeedOfCrowd& low = crowds[i - 1];
        const SpeedOfCrowd& high = crowds[i];
        const auto low_people = static_cast<double>(low.people);
        if (!high.answer_s || *high.answer_s <= *low.answer_s) return low_people;
        const double share = std::log(kHalf * *crowds.front().answer_s / *low.answer_s) /
                             std::log(*high.answer_s / *low.answer_s);
        return low_people * std::pow(static_cast<double>(high.people) / low_people, std::max(share, 0.0));
    }
    return std::nullopt;
}

std::string first_look_title(const FirstLook& look) {
    const SpeedAtDepth& first = look.depths.front();
    if (!first.first_token_s || !first.generation_tok_per_s) return "A first look at " + look.server;
    std::string text = fmt::format("The first word comes in {}, then {} tokens per second",
                                   time_text(*first.first_token_s), significant(*first.generation_tok_per_s));
    if (const auto half = people_at_half_speed(look.crowds); half && whole_people(*half) > 1)
        text += fmt::format("; up to about {} people at once each get at least half of that",
                            whole_people(*half));
    return text;
}

std::string first_look_text(const FirstLook& look, std::size_t columns) {
    const bool is_named = look.server.find(look.model) != std::string::npos;
    const std::string title = is_named ? look.server : fmt::format("{} with {}", look.server, look.model);
    std::string text;
    for (const std::string& line : wrapped(printable(title), columns)) text += line + "\n";
    text += labelled_text("one person", one_person(look), columns);
    text += speeds(look);
    text += labelled_text("several", crowd(look), columns);
    text += labelled_text("memory", memory(look), columns);
    if (look.ends_early)
        text += labelled_text("note",
                              "The server ends its answers when the model does, although it accepts "
                              "ignore_eos, so that their lengths differ.",
                              columns);
    for (const auto& [check, sentence] : look.doubts)
        text += labelled_text("doubt", fmt::format("{}: {}", check, sentence), columns);
    // Commands and paths stay in one piece, so that they can be copied.
    if (!look.page.empty()) text += fmt::format("  {:{}}{}\n", "page", kLabelledTextBegins - 2, look.page);
    if (!look.next.empty()) text += fmt::format("  {:{}}{}\n", "next", kLabelledTextBegins - 2, look.next);
    return text;
}

}  // namespace paretoken::reports
