#include "reports/cache/pages.h"

#include <fmt/format.h>

#include <utility>

#include "core/text/number_text.h"
#include "reports/cache/picture.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "reports/pages/picture.h"
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

std::string percent(const std::optional<double>& ratio) {
    return ratio ? share(ratio) + " %" : "unknown";
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
        percent(hits.expected), percent(hits.usage), percent(hits.server));
}

std::string invalid_sentence(const CacheLevel& level) {
    return fmt::format("INVALID: {}. The hits can be used, the times cannot.", level.invalid);
}

std::string working_set_sentence(const WorkingSet& set) {
    if (set.held == 0)
        return fmt::format(
            "With {} prefixes of {} tokens used in turn, less than half of the tokens are found again.",
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

std::string blocks_sentence(const CacheReport& report) {
    std::string text;
    if (report.granularity_tokens)
        text += fmt::format("The cache works in blocks of {} token{}.", *report.granularity_tokens,
                            *report.granularity_tokens == 1 ? "" : "s");
    if (report.least_cached_prefix)
        text += fmt::format("{}The shortest beginning with reused tokens has {} token{}.",
                            text.empty() ? "" : " ", *report.least_cached_prefix,
                            *report.least_cached_prefix == 1 ? "" : "s");
    return text;
}

std::string heading_of(const CacheLevel& level) {
    return fmt::format("{} request{} in flight", level.concurrency, level.concurrency == 1 ? "" : "s");
}

constexpr std::string_view kCaption =
    "Times to first token; prompt tokens that should come from the cache, and did, in %.";

/// The findings of a level, one sentence for each.
std::vector<std::string> findings_of(const CacheLevel& level) {
    std::vector<std::string> sentences;
    if (level.fit) sentences.push_back(fit_sentence(*level.fit));
    if (level.saved_ms_per_1k_cached) sentences.push_back(saved_sentence(level));
    sentences.push_back(hits_sentence(level.hits));
    if (std::string rate = rate_sentence(level); !rate.empty()) sentences.push_back(std::move(rate));
    return sentences;
}

/// The sentences below the table of a level. If the level is not valid, the first sentence says so.
std::vector<std::string> sentences_of(const CacheLevel& level) {
    std::vector<std::string> sentences = findings_of(level);
    if (!level.invalid.empty()) sentences.insert(sentences.begin(), invalid_sentence(level));
    return sentences;
}

/// The sentences about the cache as a whole.
std::vector<std::string> sentences_of(const CacheReport& report) {
    std::vector<std::string> sentences;
    if (std::string blocks = blocks_sentence(report); !blocks.empty()) sentences.push_back(std::move(blocks));
    if (report.working_set) sentences.push_back(working_set_sentence(*report.working_set));
    if (report.burst) sentences.push_back(burst_sentence(*report.burst));
    if (report.idle_time) sentences.push_back(idle_time_sentence(*report.idle_time));
    if (!report.price.empty()) sentences.push_back("Price: " + report.price + ".");
    return sentences;
}

// ---- HTML

/// The CSS class of a verdict's badge.
std::string_view badge_of(const CacheVerdict& verdict) {
    if (verdict.code == "works") return "valid";
    for (const std::string_view code : {"off", "unknown", "contaminated", "response_cache"})
        if (verdict.code == code) return "invalid";
    return "warn";
}

std::string verdicts_html(const std::vector<CacheVerdict>& verdicts) {
    std::string items;
    for (const CacheVerdict& verdict : verdicts)
        items += fmt::format("<li><span class=\"badge {}\">{}</span> {} <small>{}</small></li>\n",
                             badge_of(verdict), html_escaped(verdict.code), html_escaped(verdict.text),
                             html_escaped(verdict.evidence));
    return items.empty() ? "" : "<ul class=\"notices verdicts\">\n" + items + "</ul>\n";
}

std::string figure_item(std::string_view name, const std::string& value, const std::string& note) {
    return fmt::format("<div><dt>{}<dd>{} <small>{}</small></div>\n", name, html_escaped(value),
                       html_escaped(note));
}

/// The hits by the three sources, and the time that cached tokens save.
std::string level_figures(const CacheLevel& level) {
    std::string items = figure_item("Expected from the cache", percent(level.hits.expected),
                                    "of prompt tokens, computed from earlier requests") +
                        figure_item("Usage", percent(level.hits.usage), "as the answers report") +
                        figure_item("Server", percent(level.hits.server), "by its own counters");
    if (level.saved_ms_per_1k_cached)
        items += figure_item(
            "Saved by 1,000 cached tokens", number_text(*level.saved_ms_per_1k_cached) + " ms",
            level.saved_ms_per_1k_cached_ci95
                ? fmt::format("95 %: {} to {} ms", number_text(level.saved_ms_per_1k_cached_ci95->low),
                              number_text(level.saved_ms_per_1k_cached_ci95->high))
                : "of the time to first token");
    return "<dl class=\"figures\">\n" + items + "</dl>\n";
}

/// A table of the medians and of the fit's values for them.
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

std::string charts_html(const std::vector<Picture>& pictures, const std::string& id,
                        const CacheLevel* level) {
    if (pictures.empty()) return "";
    std::string html = "<div class=\"pair\">\n";
    for (const Picture& picture : pictures) {
        const std::string place = fmt::format("{}-{}", id, picture.id);
        html += picture.id == "fit" && level != nullptr
                    ? figure_html(place, fmt::format("{}, {}", picture.title, picture.y_title), "",
                                  fit_table(*level))
                    : picture_html(place, picture);
    }
    return html + "</div>\n";
}

std::string paragraphs(const std::vector<std::string>& sentences) {
    std::string html;
    for (const std::string& sentence : sentences)
        html += fmt::format("<p class=\"lead\">{}</p>\n", html_escaped(sentence));
    return html;
}

std::string level_html(const CacheLevel& level, const std::vector<Picture>& pictures, const std::string& id,
                       bool is_first_number) {
    std::string html = fmt::format("<div class=\"part device cache\"><h3>{}</h3>\n", heading_of(level));
    if (!level.invalid.empty())
        html += fmt::format("<ul class=\"notices\"><li class=\"error\">{}</li></ul>\n",
                            html_escaped(invalid_sentence(level)));
    html += level_figures(level) + charts_html(pictures, id, &level);
    html += paragraphs(findings_of(level));
    html += fmt::format("<h4{}>Every arm</h4>\n<p class=\"lead\">{}</p>\n{}</div>\n",
                        is_first_number ? " id=\"numbers\" tabindex=\"-1\"" : "", kCaption,
                        html_of(table_of(level)));
    return html;
}

std::string cache_section(const CachePicture& cache, std::size_t index, bool alone) {
    const CacheReport& report = cache.report;
    const std::string id = fmt::format("cache-{}", index);
    std::string html = fmt::format(
        "<section aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">What prefix caching gives</h2>\n<p "
        "class=\"lead\">{1}{2}{3}, measured by <code>paretoken cache</code> in {4}.</p>\n{5}",
        id, html_escaped(report.target), report.model.empty() ? "" : ", " + html_escaped(report.model),
        report.engine.empty() ? "" : ", " + html_escaped(report.engine), html_escaped(cache.directory),
        verdicts_html(report.verdicts));
    for (std::size_t i = 0; i < report.levels.size(); ++i)
        html += level_html(report.levels[i], cache.levels[i], fmt::format("{}-level-{}", id, i),
                           alone && index == 0 && i == 0);
    const std::vector<std::string> sentences = sentences_of(report);
    if (!sentences.empty() || !cache.pictures.empty())
        html += "<div class=\"part device cache\"><h3>The cache as a whole</h3>\n" + paragraphs(sentences) +
                charts_html(cache.pictures, id, nullptr) + "</div>\n";
    return html + "</section>\n";
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
        for (const std::string& sentence : sentences_of(level)) text += paragraph(sentence, 2);
    }
    const std::vector<std::string> whole = sentences_of(report);
    if (!whole.empty()) text += "\n";
    for (const std::string& sentence : whole) text += paragraph(sentence);
    return text;
}

std::string cache_markdown(const CacheReport& report, int depth) {
    const std::string heading(static_cast<std::size_t>(depth), '#');
    std::string text = fmt::format("{} Prefix caching of {}\n\n", heading, markdown_escaped(report.target));
    if (!report.model.empty()) text += fmt::format("Model {}.\n\n", markdown_escaped(report.model));
    for (const CacheVerdict& verdict : report.verdicts)
        text += fmt::format("- **{}**: {} ({})\n", markdown_escaped(verdict.code),
                            markdown_escaped(verdict.text), markdown_escaped(verdict.evidence));
    const CachePicture picture = picture_of(LoadedCache{.directory = {}, .report = report});
    for (std::size_t i = 0; i < report.levels.size(); ++i) {
        text += fmt::format("\n{}# {}\n\n", heading, heading_of(report.levels[i]));
        for (const Picture& one : picture.levels[i])
            if (one.id != "fit") text += picture_markdown(one);  // the table and a sentence below show it
        text += fmt::format("{}\n\n{}", kCaption, markdown_of(table_of(report.levels[i])));
        for (const std::string& sentence : sentences_of(report.levels[i]))
            text += "\n" + markdown_escaped(sentence) + "\n";
    }
    const std::vector<std::string> whole = sentences_of(report);
    if (!whole.empty()) text += fmt::format("\n{}# The cache as a whole\n", heading);
    for (const std::string& sentence : whole) text += "\n" + markdown_escaped(sentence) + "\n";
    if (!picture.pictures.empty()) text += "\n";
    for (const Picture& one : picture.pictures) text += picture_markdown(one);
    return text;
}

std::string cache_sections(const std::vector<CachePicture>& caches, bool alone) {
    std::string html;
    for (std::size_t i = 0; i < caches.size(); ++i) html += cache_section(caches[i], i, alone);
    return html;
}

}  // namespace paretoken::reports
