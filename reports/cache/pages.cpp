#include "reports/cache/pages.h"

#include <fmt/format.h>

#include "core/text/number_text.h"
#include "reports/pages/markdown.h"
#include "reports/pages/table.h"

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

std::string name_of(const CacheArm& arm) {
    return arm.arm == "shared" ? fmt::format("shared {:.0f} %", 100 * arm.hit) : arm.arm;
}

Table table_of(const CacheLevel& level) {
    Table table{{{"prefix"},
                 {"arm", Align::left},
                 {"n"},
                 {"p50, ms"},
                 {"95 %"},
                 {"p95, ms"},
                 {"expected"},
                 {"cached"},
                 {"", Align::left}},
                {}};
    for (const CacheArm& arm : level.arms)
        table.rows.push_back(
            {fmt::format("{}", arm.prefix), name_of(arm),
             arm.failed > 0 ? fmt::format("{} ({} failed)", arm.n, arm.failed) : fmt::format("{}", arm.n),
             ms(arm.ttft_p50_s), ms_interval(arm.ttft_p50_ci95), ms(arm.ttft_p95_s), share(arm.hits.expected),
             share(arm.hits.usage),
             arm.arm == "cold" || !arm.p_value ? ""
             : arm.differs                     ? "differs"
                                               : "as cold"});
    return table;
}

std::string per_1k(const FitTerm& term) {
    return fmt::format("{} ms ({} to {})", number_text(1e6 * term.value), number_text(1e6 * term.ci95.low),
                       number_text(1e6 * term.ci95.high));
}

std::string fit_sentence(const TtftFit& fit) {
    std::string text = fmt::format(
        "The time to first token is {} ms and {} more for each 1,000 tokens that are not "
        "cached",
        number_text(1e3 * fit.base_s.value), per_1k(fit.per_token_s));
    if (fit.per_token2_s)
        text += fmt::format(", and grows faster than that: {} ms more for the square of 1,000 tokens",
                            number_text(1e9 * fit.per_token2_s->value));
    return text + fmt::format(" (least squares over {} requests, 95 % intervals).", fit.n);
}

std::string hits_sentence(const CacheHits& hits) {
    return fmt::format(
        "Share of prompt tokens from the cache, of all requests: expected {} %, by usage {} %, by the "
        "server's counters {} %.",
        share(hits.expected), share(hits.usage), share(hits.server));
}

std::string invalid_sentence(const CacheLevel& level) {
    return fmt::format("INVALID: {}. The hits stand, the times do not.", level.invalid);
}

std::string working_set_sentence(const WorkingSet& set) {
    if (set.held == 0)
        return fmt::format(
            "Of {} prefixes of {} tokens that are used in turn, less than half is found again.",
            set.lost.value_or(0), set.prefix_tokens);
    std::string text =
        fmt::format("The cache holds {} prefix{} of {} tokens that {} used in turn", set.held,
                    set.held == 1 ? "" : "es", set.prefix_tokens, set.held == 1 ? "is" : "are");
    text += set.lost ? fmt::format(", and not {}: about {} tokens.", *set.lost,
                                   set.held * static_cast<std::uint64_t>(set.request_tokens))
                     : std::string(", the most that were tried.");
    return text;
}

std::string time_text(double seconds) {
    return seconds < 120 ? fmt::format("{} s", number_text(seconds))
                         : fmt::format("{} min", number_text(seconds / 60));
}

std::string idle_time_sentence(const IdleTime& time) {
    if (!time.held_s)
        return fmt::format("A prefix that nobody used for {} was gone.", time_text(time.lost_s.value_or(0)));
    return fmt::format("A prefix that nobody used for {} was found again{}.", time_text(*time.held_s),
                       time.lost_s ? fmt::format(", and after {} it was gone", time_text(*time.lost_s))
                                   : std::string(", the longest time that was tried"));
}

std::string burst_sentence(const CacheBurst& burst) {
    constexpr double kWorse = .1;
    std::string text = fmt::format(
        "Of {} prefixes in turn at {} requests per second, {} % of the tokens were found; {} % while four "
        "times as "
        "many came for 30 s, {} % after that.",
        burst.prefixes, number_text(burst.rate), share(burst.before), share(burst.during),
        share(burst.after));
    if (burst.before && burst.during && *burst.during < *burst.before - kWorse)
        text += " What the burst adds drives prefixes out of the cache.";
    return text;
}

/// Without the cache and with all of a prefix in it; empty where one is not known.
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
        "Were all prompts of prefix {} cold, {} output tokens per second would come{}; warm, {}{}.",
        cold->prefix, number_text(*cold->output_tokens_per_s), dollars_of(*cold),
        number_text(*warm->output_tokens_per_s), dollars_of(*warm));
}

std::string blocks_sentence(const CacheReport& report) {
    std::string text;
    if (report.granularity_tokens)
        text += fmt::format("The cache works in blocks of {} token{}.", *report.granularity_tokens,
                            *report.granularity_tokens == 1 ? "" : "s");
    if (report.least_cached_prefix)
        text += fmt::format("{}The shortest beginning of which something was reused has {} token{}.",
                            text.empty() ? "" : " ", *report.least_cached_prefix,
                            *report.least_cached_prefix == 1 ? "" : "s");
    return text;
}

std::string heading_of(const CacheLevel& level) {
    return fmt::format("{} request{} in flight", level.concurrency, level.concurrency == 1 ? "" : "s");
}

constexpr std::string_view kCaption =
    "Times to first token; prompt tokens that should come from the cache, and did, in %.";

std::string markdown_table(const Table& table) {
    std::string text = "|";
    for (const TableColumn& column : table.columns) text += " " + column.title + " |";
    text += "\n|";
    for (const TableColumn& column : table.columns) text += column.align == Align::left ? "---|" : "---:|";
    for (const auto& row : table.rows) {
        text += "\n|";
        for (const std::string& cell : row) text += " " + markdown_escaped(cell) + " |";
    }
    return text + "\n";
}

}  // namespace

std::string cache_console(const CacheReport& report) {
    std::string text;
    for (const CacheVerdict& verdict : report.verdicts) {
        text += paragraph(fmt::format("{}: {}", verdict.code, verdict.text));
        text += paragraph(verdict.evidence, 2);
    }
    for (const CacheLevel& level : report.levels) {
        text += fmt::format("\n{}. {}\n{}", heading_of(level), kCaption, text_of(table_of(level), 2));
        if (!level.invalid.empty()) text += paragraph(invalid_sentence(level), 2);
        if (level.fit) text += paragraph(fit_sentence(*level.fit), 2);
        text += paragraph(hits_sentence(level.hits), 2);
        if (const std::string rate = rate_sentence(level); !rate.empty()) text += paragraph(rate, 2);
    }
    if (const std::string blocks = blocks_sentence(report); !blocks.empty()) text += "\n" + paragraph(blocks);
    if (report.working_set) text += paragraph(working_set_sentence(*report.working_set));
    if (report.burst) text += paragraph(burst_sentence(*report.burst));
    if (report.idle_time) text += paragraph(idle_time_sentence(*report.idle_time));
    if (!report.price.empty()) text += paragraph("Price: " + report.price + ".");
    return text;
}

std::string cache_markdown(const CacheReport& report) {
    std::string text = fmt::format("# Prefix caching of {}\n\n", markdown_escaped(report.target));
    if (!report.model.empty()) text += fmt::format("Model {}.\n\n", markdown_escaped(report.model));
    for (const CacheVerdict& verdict : report.verdicts)
        text += fmt::format("- **{}**: {} ({})\n", verdict.code, markdown_escaped(verdict.text),
                            markdown_escaped(verdict.evidence));
    for (const CacheLevel& level : report.levels) {
        text +=
            fmt::format("\n## {}\n\n{}\n\n{}", heading_of(level), kCaption, markdown_table(table_of(level)));
        if (!level.invalid.empty()) text += "\n" + markdown_escaped(invalid_sentence(level)) + "\n";
        if (level.fit) text += "\n" + fit_sentence(*level.fit) + "\n";
        text += "\n" + hits_sentence(level.hits) + "\n";
        if (const std::string rate = rate_sentence(level); !rate.empty()) text += "\n" + rate + "\n";
    }
    if (const std::string blocks = blocks_sentence(report); !blocks.empty()) text += "\n" + blocks + "\n";
    if (report.working_set) text += "\n" + working_set_sentence(*report.working_set) + "\n";
    if (report.burst) text += "\n" + burst_sentence(*report.burst) + "\n";
    if (report.idle_time) text += "\n" + idle_time_sentence(*report.idle_time) + "\n";
    if (!report.price.empty()) text += "\nPrice: " + markdown_escaped(report.price) + ".\n";
    return text;
}

}  // namespace paretoken::reports
