#include "reports/analysis/cache/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/number_text.h"
#include "reports/analysis/cache/picture.h"

namespace paretoken::reports {
namespace {

std::string ms(const std::optional<double>& seconds) {
    return seconds ? number_text(1e3 * *seconds) : "–";
}

std::string ms_interval(const std::optional<Interval>& interval) {
    return interval
               ? fmt::format("{} to {}", number_text(1e3 * interval->low), number_text(1e3 * interval->high))
               : "–";
}

std::string share(const std::optional<double>& ratio) {
    return ratio ? fmt::format("{:.1f}", 100 * *ratio) : "–";
}

std::string per_1k(const FitTerm& term) {
    return fmt::format("{} ms ({} to {})", number_text(1e6 * term.value), number_text(1e6 * term.ci95.low),
                       number_text(1e6 * term.ci95.high));
}

std::string fit_sentence(const TtftFit& fit) {
    std::string text = fmt::format("TTFT ≈ {} ms + {} per 1,000 uncached tokens",
                                   number_text(1e3 * fit.base_s.value), per_1k(fit.per_token_s));
    if (fit.per_token2_s)
        text +=
            fmt::format(" + {} ms per (1,000 uncached tokens)²", number_text(1e9 * fit.per_token2_s->value));
    return text +
           fmt::format(". This is a least-squares fit over {} requests, with the 95 % interval.", fit.n);
}

std::string saved_sentence(const CacheLevel& level) {
    const std::string saved = number_text(*level.saved_ms_per_1k_cached);
    if (!level.saved_prompt_tokens)
        return fmt::format("1,000 tokens from the cache save {} ms of the time to first token.", saved);
    if (*level.saved_prompt_tokens < 1000)
        return fmt::format(
            "Tokens from the cache save {} ms per 1,000 tokens of the time to first token of a prompt of "
            "{:.0f} tokens, the longest that was measured.",
            saved, *level.saved_prompt_tokens);
    return fmt::format(
        "1,000 tokens from the cache save {} ms of the time to first token of a prompt of {:.0f} tokens, the "
        "longest that was measured.",
        saved, *level.saved_prompt_tokens);
}

std::string hits_sentence(const CacheHits& hits) {
    return fmt::format(
        "Share of prompt tokens from the cache, of all requests: expected {}, by usage {}, by the "
        "server's counters {}.",
        percent_or_unknown(hits.expected), percent_or_unknown(hits.usage), percent_or_unknown(hits.server));
}

std::string working_set_sentence(const WorkingSet& set) {
    if (set.held == 0)
        return fmt::format(
            "With {} prefixes of {} tokens used in turn, less than half of the tokens are found again.",
            set.lost.value_or(0), set.prefix_tokens);
    std::string text =
        fmt::format("The cache holds {} prefix{} of {} tokens that {} used in turn", set.held,
                    set.held == 1 ? "" : "es", set.prefix_tokens, set.held == 1 ? "is" : "are");
    text += set.lost ? fmt::format(", and not {}: at least {} tokens of prefixes.", *set.lost,
                                   set.held * static_cast<std::uint64_t>(set.prefix_tokens))
                     : std::string(", the most that were tried.");
    return text;
}

std::string time_text(double seconds) {
    return seconds < 120 ? fmt::format("{} s", number_text(seconds))
                         : fmt::format("{} min", number_text(seconds / 60));
}

std::string idle_time_sentence(const IdleTime& time) {
    if (!time.held_s)
        return fmt::format("A prefix that was not used for {} was gone.", time_text(time.lost_s.value_or(0)));
    return fmt::format("A prefix that was not used for {} was found again{}.", time_text(*time.held_s),
                       time.lost_s ? fmt::format(", and after {} it was gone", time_text(*time.lost_s))
                                   : std::string(", the longest time that was tried"));
}

std::string burst_sentence(const CacheBurst& burst) {
    constexpr double kWorse = .1;
    std::string text = fmt::format(
        "With {} prefixes used in turn at {} requests per second, {} % of the tokens were found; {} % while "
        "four times as many requests came for 30 s, {} % after that.",
        burst.prefixes, number_text(burst.rate), share(burst.before), share(burst.during),
        share(burst.after));
    if (burst.before && burst.during && *burst.during < *burst.before - kWorse)
        text += " The additional requests of the burst evict prefixes from the cache.";
    return text;
}

/// A sentence on the output rate without the cache and with a whole prefix in it; empty if one of them is not
/// known.
std::string rate_sentence(const CacheLevel& level) {
    const auto of = [&](std::string_view name) -> const CacheArm* {
        const CacheArm* longest = nullptr;
        for (const CacheArm& arm : level.arms)
            if (arm.arm == name && (longest == nullptr || arm.prefix > longest->prefix)) longest = &arm;
        return longest;
    };
    const CacheArm* const cold = of("cold");
    const CacheArm* const warm = of("warm");
    if (cold == nullptr || warm == nullptr || !cold->output_tokens_per_s || !warm->output_tokens_per_s)
        return {};
    const auto dollars_of = [](const CacheArm& arm) {
        return arm.usd_per_m_output ? fmt::format(" (${} per million)", dollars(*arm.usd_per_m_output)) : "";
    };
    return fmt::format(
        "If all prompts with a prefix of {} tokens were cold, the rate would be {} output tokens per "
        "second{}; if all were warm, {}{}.",
        cold->prefix, number_text(*cold->output_tokens_per_s), dollars_of(*cold),
        number_text(*warm->output_tokens_per_s), dollars_of(*warm));
}

/// The mean length of the longest prompts, with which the shortest reused beginning was searched; nothing if
/// it is not known.
std::optional<double> longest_prompt(const CacheReport& report) {
    std::optional<double> longest;
    for (const CacheLevel& level : report.levels)
        for (const CacheArm& arm : level.arms)
            if (arm.prompt_tokens) longest = std::max(longest.value_or(0), *arm.prompt_tokens);
    return longest;
}

std::string blocks_sentence(const CacheReport& report) {
    std::string text;
    const auto longest = longest_prompt(report);
    if (report.granularity_tokens)
        text += fmt::format("The cache works in blocks of {} token{}.", *report.granularity_tokens,
                            *report.granularity_tokens == 1 ? "" : "s");
    if (report.least_cached_prefix)
        text += fmt::format("{}The shortest beginning with reused tokens{} has {} token{}.",
                            text.empty() ? "" : " ",
                            longest ? fmt::format(", in prompts of {:.0f} tokens,", *longest) : "",
                            *report.least_cached_prefix, *report.least_cached_prefix == 1 ? "" : "s");
    return text;
}

/// Whether the warm prompts with the longest prefix were compared with cold ones and do not differ.
bool is_warm_as_cold(const CacheLevel& level) {
    const CacheArm* longest = nullptr;
    for (const CacheArm& arm : level.arms)
        if (arm.arm == "warm" && (longest == nullptr || arm.prefix > longest->prefix)) longest = &arm;
    return longest != nullptr && longest->p_value && !longest->differs;
}

/// The sentences below the table of a level on the console. If the level is not valid, the first sentence
/// says so.
std::vector<std::string> sentences_of(const CacheLevel& level) {
    std::vector<std::string> sentences = findings_of(level);
    if (!level.invalid.empty()) sentences.insert(sentences.begin(), invalid_sentence(level));
    return sentences;
}

}  // namespace

std::string percent_or_unknown(const std::optional<double>& ratio) {
    return ratio ? share(ratio) + " %" : "unknown";
}

std::string heading_of(const CacheLevel& level) {
    return fmt::format("{} request{} in flight", level.concurrency, level.concurrency == 1 ? "" : "s");
}

std::string invalid_sentence(const CacheLevel& level) {
    return fmt::format("INVALID: {}. The hits can be used, the times cannot.", level.invalid);
}

Table cache_table(const CacheLevel& level) {
    Table table{{{"prefix"},
                 {"arm", Align::left},
                 {"n"},
                 {"p50, ms"},
                 {"95 %"},
                 {"p95, ms"},
                 {"expected"},
                 {"cached"},
                 {"vs cold", Align::left}},
                {}};
    for (const CacheArm& arm : level.arms)
        table.rows.push_back(
            {fmt::format("{}", arm.prefix), name_of(arm),
             arm.failed > 0 ? fmt::format("{} ({} failed)", arm.n, arm.failed) : fmt::format("{}", arm.n),
             ms(arm.ttft_p50_s), ms_interval(arm.ttft_p50_ci95), ms(arm.ttft_p95_s), share(arm.hits.expected),
             share(arm.hits.usage),
             arm.arm == "cold" || !arm.p_value ? ""
             : arm.differs                     ? "differs"
                                               : "not shown to differ"});
    return table;
}

Table fit_table(const CacheLevel& level) {
    Table table{{{"arm", Align::left}, {"prefix"}, {"not cached, tokens"}, {"p50, ms"}, {"fit, ms"}}, {}};
    for (const CacheArm& arm : level.arms) {
        const auto uncached = uncached_tokens(arm);
        if (!uncached || !arm.ttft_p50_s || arm.arm == "repeat") continue;
        table.rows.push_back({name_of(arm), fmt::format("{}", arm.prefix), number_text(*uncached),
                              ms(arm.ttft_p50_s), ms(seconds_at(*level.fit, *uncached))});
    }
    return table;
}

std::vector<std::string> findings_of(const CacheLevel& level) {
    std::vector<std::string> sentences;
    if (level.fit) sentences.push_back(fit_sentence(*level.fit));
    if (level.saved_ms_per_1k_cached)
        sentences.push_back(saved_sentence(level));
    else if (is_warm_as_cold(level))
        sentences.emplace_back(samples_to_differ(level)
                                   ? "No saving was measured: the samples are too few to show any difference "
                                     "between the times to first token."
                                   : "No saving was measured: the times to first token show no difference "
                                     "that is larger than their uncertainty.");
    sentences.push_back(hits_sentence(level.hits));
    if (std::string rate = rate_sentence(level); !rate.empty()) sentences.push_back(std::move(rate));
    return sentences;
}

std::vector<std::string> findings_of(const CacheReport& report) {
    std::vector<std::string> sentences;
    if (std::string blocks = blocks_sentence(report); !blocks.empty()) sentences.push_back(std::move(blocks));
    if (report.working_set) sentences.push_back(working_set_sentence(*report.working_set));
    if (report.burst) sentences.push_back(burst_sentence(*report.burst));
    if (report.idle_time) sentences.push_back(idle_time_sentence(*report.idle_time));
    if (!report.price.empty()) sentences.push_back("Price: " + report.price + ".");
    return sentences;
}

std::string cache_console(const CacheReport& report, bool verbose) {
    std::string text;
    for (const CacheLevel& level : report.levels) {
        if (!verbose) break;
        text += fmt::format("{}.\n{}{}", heading_of(level), paragraph(kCacheCaption, 2),
                            text_of(cache_table(level), 2));
        for (const std::string& sentence : sentences_of(level)) text += paragraph(sentence, 2);
        text += "\n";
    }
    const std::vector<std::string> whole = findings_of(report);
    for (const std::string& sentence : whole) text += paragraph(sentence);
    if (!whole.empty()) text += "\n";
    for (const CacheVerdict& verdict : report.verdicts) {
        text += paragraph(fmt::format("{}: {}", verdict.code, verdict.text));
        text += paragraph(verdict.evidence, 2);
    }
    return text;
}

}  // namespace paretoken::reports
