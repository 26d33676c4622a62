#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "core/text/number_text.h"
#include "reports/analysis/cache/words.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

constexpr double kFewMilliseconds = 8;  // ratio of times from which their axis is logarithmic

Tone tone_of(const CacheVerdict& verdict) {
    if (verdict.code == "works") return Tone::good;
    for (const std::string_view code : {"off", "unknown", "contaminated", "response_cache"})
        if (verdict.code == code) return Tone::bad;
    return Tone::warning;
}

/// The hits by the three sources, and the time that cached tokens save.
Headlines headlines_of(const CacheLevel& level) {
    Headlines headlines{{{"Expected from the cache", percent_or_unknown(level.hits.expected),
                          "of prompt tokens, computed from earlier requests"},
                         {"Usage", percent_or_unknown(level.hits.usage), "as the answers report"},
                         {"Server", percent_or_unknown(level.hits.server), "by its own counters"}}};
    if (level.saved_ms_per_1k_cached)
        headlines.items.push_back(
            {"Saved by 1,000 cached tokens", number_text(*level.saved_ms_per_1k_cached) + " ms",
             level.saved_ms_per_1k_cached_ci95
                 ? fmt::format("95 %: {} to {} ms", number_text(level.saved_ms_per_1k_cached_ci95->low),
                               number_text(level.saved_ms_per_1k_cached_ci95->high))
                 : "of the time to first token"});
    return headlines;
}

void add_charts(Blocks& blocks, const std::vector<Picture>& pictures, const std::string& id,
                const CacheLevel* level) {
    Charts charts;
    for (const Picture& picture : pictures) {
        Chart chart{.id = fmt::format("{}-{}", id, picture.id), .picture = picture};
        if (level != nullptr) {
            chart.log_from = kFewMilliseconds;
            if (picture.id == "fit") chart.table = fit_table(*level);
        }
        charts.items.push_back(std::move(chart));
    }
    if (!charts.items.empty()) blocks.push_back({std::move(charts)});
}

void add_paragraphs(Blocks& blocks, const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) blocks.push_back({Paragraph{sentence}});
}

Part level_part(const CacheLevel& level, const std::vector<Picture>& pictures, const std::string& id) {
    Part part{.title = heading_of(level), .ruled = true, .blocks = {}};
    if (!level.invalid.empty())
        part.blocks.push_back({Notices{{{.text = invalid_sentence(level), .tone = Tone::bad}}}});
    part.blocks.push_back({headlines_of(level)});
    add_charts(part.blocks, pictures, id, &level);
    add_paragraphs(part.blocks, findings_of(level));
    part.blocks.push_back({Part{.title = "Every arm",
                                .blocks = {{Paragraph{std::string(kCacheCaption)}}, {cache_table(level)}}}});
    return part;
}

}  // namespace

Section cache_section(const CachePicture& cache, const std::string& id) {
    const CacheReport& report = cache.report;
    const auto listed = [](const std::string& name) { return name.empty() ? "" : ", " + name; };
    Section section{id,
                    "What prefix caching gives",
                    {{Paragraph{fmt::format("{}{}{}, measured by paretoken cache{}.", report.target,
                                            listed(report.model), listed(report.engine),
                                            cache.directory.empty() ? "" : " in " + cache.directory)}}}};
    Notices verdicts;
    for (const CacheVerdict& verdict : report.verdicts)
        verdicts.items.push_back({verdict.text, verdict.code, tone_of(verdict), verdict.evidence});
    if (!verdicts.items.empty()) section.blocks.push_back({std::move(verdicts)});
    for (std::size_t i = 0; i < report.levels.size(); ++i)
        section.blocks.push_back(
            {level_part(report.levels[i], cache.levels[i], fmt::format("{}-level-{}", id, i))});
    const std::vector<std::string> sentences = findings_of(report);
    if (!sentences.empty() || !cache.pictures.empty()) {
        Part whole{.title = "The cache as a whole", .ruled = true, .blocks = {}};
        add_paragraphs(whole.blocks, sentences);
        add_charts(whole.blocks, cache.pictures, id, nullptr);
        section.blocks.push_back({std::move(whole)});
    }
    return section;
}

std::vector<Section> cache_sections(const ReportModel& model) {
    std::vector<Section> sections;
    for (std::size_t i = 0; i < model.caches.size(); ++i)
        sections.push_back(cache_section(model.caches[i], fmt::format("cache-{}", i)));
    return sections;
}

}  // namespace paretoken::reports
