#include "reports/pages/html.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/beast/zlib/error.hpp>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <cassert>
#include <cmath>
#include <cstring>
#include <set>

#include "core/embedded.h"
#include "core/result/alerts.h"
#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/sections/sections.h"
#include "reports/document/section.h"
#include "reports/document/table.h"
#include "reports/files/json/report_json.h"
#include "reports/pages/report_columns.h"
#include "reports/pages/section_html.h"
#include "reports/pages/server_rows.h"

namespace paretoken::reports {
namespace {

// ---- assets and policy

std::string_view asset(std::string_view name_end) {
    for (const EmbeddedFile& file : embedded_reports())
        if (file.name.ends_with(name_end)) return file.text;
    assert(false && "asset is not embedded");
    return {};
}

/// A file that is embedded as gzip packed it: a header of 10 bytes, the deflated text, its checksum and size.
std::string unpacked(std::string_view name_end) {
    constexpr std::size_t kHeader = 10;
    constexpr std::size_t kTrailer = 8;
    const std::string_view packed = asset(name_end);
    std::uint32_t size = 0;
    std::memcpy(&size, packed.data() + packed.size() - sizeof size, sizeof size);
    std::string text(size, '\0');
    boost::beast::zlib::z_params z;
    z.next_in = packed.data() + kHeader;
    z.avail_in = packed.size() - kHeader - kTrailer;
    z.next_out = text.data();
    z.avail_out = text.size();
    boost::beast::zlib::inflate_stream inflater;
    boost::system::error_code error;
    inflater.write(z, boost::beast::zlib::Flush::finish, error);
    assert(error == boost::beast::zlib::error::end_of_stream && z.avail_out == 0);
    return text;
}

/// The hash of a text in the form of a Content-Security-Policy: 'sha256-…'.
std::string policy_hash(std::string_view text) {
    std::array<unsigned char, 32> digest{};
    unsigned int size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::array<unsigned char, 48> base64{};
    const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
    return fmt::format("'sha256-{}'", std::string_view(reinterpret_cast<const char*>(base64.data()),
                                                       static_cast<std::size_t>(length)));
}

std::string policy_for(std::string_view css, std::initializer_list<std::string_view> scripts, bool served) {
    std::string script_hashes;
    for (const std::string_view script : scripts) script_hashes += " " + policy_hash(script);
    return fmt::format(
        "default-src 'none'; script-src{}; style-src {}; base-uri 'none'; form-action 'none'{}",
        script_hashes, policy_hash(css), served ? "; connect-src 'self'" : "");
}

// ---- small pieces

std::string escaped(std::string_view text) {
    return html_escaped(text);
}

std::string badge(Verdict verdict) {
    return fmt::format("<span class=\"badge {0}\">{0}</span>", paretoken::name_of(verdict));
}

std::string share(const std::optional<double>& value) {
    return value ? significant(*value * 100) + " %" : "";
}

std::string milliseconds(const std::optional<double>& value) {
    return value ? significant(*value * 1e3) + " ms" : "";
}

std::size_t count_points(const ReportModel& model) {
    std::size_t count = 0;
    for (const Configuration& configuration : model.configurations) count += configuration.points.size();
    return count;
}

std::string plural(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string meta_of(const ReportModel& model) {
    const std::string date = model.generated_at.substr(0, 10);
    if (!model.sections.empty()) return date;
    const std::string caches = model.caches.empty() ? ""
                                                    : fmt::format(" · {} on prefix caching",
                                                                  plural(model.caches.size(), "experiment"));
    if (model.configurations.empty() && !(model.devices.empty() && model.caches.empty()))
        return date + caches +
               (model.devices.empty() ? "" : fmt::format(" · {}", plural(model.devices.size(), "device")));
    std::string meta = fmt::format("{} · {} · {}{}", date, plural(count_points(model), "run"),
                                   plural(model.configurations.size(), "configuration"), caches);
    if (model.price) meta += fmt::format(" · prices of {}, {}", model.price->as_of, model.price->basis);
    return meta;
}

// ---- 1. the answer

struct Figure {
    std::string name;
    std::string value;
    std::string note;
};

/// The point that fits with the largest `value`.
template <class Value>
const ReportPoint* best_point(const Configuration& configuration, Value value) {
    const ReportPoint* best = nullptr;
    for (const ReportPoint& point : configuration.points) {
        const std::optional<double> candidate = value(point);
        if (!candidate || !std::isfinite(*candidate) || !point.fits) continue;
        if (!best || *candidate > *value(*best)) best = &point;
    }
    return best;
}

constexpr std::string_view kNotProved = "; measured within, but not proved at 99 %";

std::vector<Figure> figures_of(const Configuration& configuration) {
    const auto usd = [](const ReportPoint& p) {
        return p.cost ? std::optional(p.cost->usd_per_m_output) : std::nullopt;
    };
    const auto rate = [](const ReportPoint& p) { return p.output_tokens_per_s; };
    const auto per_user = [](const ReportPoint& p) { return p.interactivity; };
    const auto of_limit = [](const ReportPoint& p) { return p.of_limit; };
    std::vector<Figure> figures;
    const auto named = [](const char* name, const ReportPoint& p) {
        return std::string(name) + (p.limits ? " within the limits" : "");
    };
    const auto note = [](const char* unit, const ReportPoint& p) {
        return fmt::format("{}, {}{}", unit, p.load_label, p.limits == SloVerdict::within ? kNotProved : "");
    };
    if (const ReportPoint* p = answer_point(configuration); p != nullptr && usd(*p))
        figures.push_back(
            {named("Cheapest", *p), "$" + dollars(*usd(*p)), note("all costs on output, per M tokens", *p)});
    if (const ReportPoint* p = best_point(configuration, per_user))
        figures.push_back({named("Fastest for a user", *p), significant(per_user(*p)), note("tok/s", *p)});
    if (const ReportPoint* p = best_point(configuration, rate))
        figures.push_back({named("Highest throughput", *p), significant(rate(*p)), note("tok/s", *p)});
    if (const ReportPoint* p = best_point(configuration, of_limit))
        figures.push_back(
            {"Nearest the hardware", significant(*of_limit(*p) * 100) + " %", "of limit, " + p->load_label});
    return figures;
}

/// The sentence of a configuration, with the configuration's title in bold at the beginning.
std::string sentence_of(const Configuration& configuration, std::size_t series) {
    std::string_view rest = configuration.answer;
    std::string head;
    if (rest.starts_with(configuration.title)) {
        head = fmt::format("<b>{}</b>", escaped(configuration.title));
        rest.remove_prefix(configuration.title.size());
    } else {
        head = fmt::format("<b>{}</b>{}", escaped(configuration.title), rest.empty() ? "" : ": ");
    }
    return fmt::format("<p class=\"sentence\">{}{}{}</p>\n", marker_html(series), head, html_text(rest));
}

std::string answer_of(const Configuration& configuration, std::size_t series) {
    std::string html = "<article class=\"answer\">\n" + sentence_of(configuration, series);
    html += fmt::format("<p class=\"workload\">{}</p>\n", html_text(configuration.workload));
    std::string figures;
    for (const Figure& figure : figures_of(configuration))
        figures += fmt::format("<div><dt>{}<dd>{} <small>{}</small></div>\n", escaped(figure.name),
                               html_text(figure.value), html_text(figure.note));
    if (!figures.empty()) html += fmt::format("<dl class=\"figures\">\n{}</dl>\n", figures);
    std::string notices;
    for (const std::string& error : configuration.errors)
        notices += fmt::format("<li class=\"error\">{}</li>\n", escaped(error));
    for (const std::string& missing : configuration.missing)
        notices += fmt::format("<li>{}</li>\n", escaped(missing));
    if (!notices.empty()) html += fmt::format("<ul class=\"notices\">\n{}</ul>\n", notices);
    return html + "</article>\n";
}

std::string answers_section(const ReportModel& model) {
    std::string html = "<section class=\"answers\" aria-label=\"The answer\">\n";
    for (std::size_t i = 0; i < model.configurations.size(); ++i)
        html += answer_of(model.configurations[i], i);
    return html + "</section>\n";
}

// ---- 2 and 3. the charts

/// The element that a chart is drawn in, with its text alternative. `what` describes the chart in words.
std::string figure_of(std::string_view id, std::string_view title, std::string_view what,
                      std::string_view css_class) {
    return fmt::format(
        "<figure class=\"{}\">\n{}<div class=\"canvas\"><canvas id=\"{}\" role=\"img\" aria-label=\"{}. The "
        "same numbers are in the table below.\"></canvas></div>\n<p class=\"nothing\" hidden>No run has the "
        "figures that this chart needs.</p>\n</figure>\n",
        css_class, title.empty() ? "" : fmt::format("<h3>{}</h3>\n", title), id, escaped(what));
}

std::string frontier_section(const ReportModel& model) {
    bool priced = false;
    bool limited = false;
    bool banded = false;
    for (const Configuration& configuration : model.configurations) {
        limited = limited || !configuration.hard_limit.empty();
        for (const ReportPoint& point : configuration.points) {
            priced = priced || point.cost.has_value();
            banded = banded || (point.cost && point.cost->price_band);
        }
    }
    std::string html = "<section aria-labelledby=\"frontier-title\">\n<h2 id=\"frontier-title\">";
    html += priced ? "What a token costs at every speed" : "How much at every speed";
    html += "</h2>\n<p class=\"lead\">Each marker is one run. <span id=\"directions\"></span>";
    if (limited) {
        html +=
            " <span id=\"limit-note\">The dashed curve is what the hardware allows; nothing can reach the "
            "shaded side.";
        if (!model.what_ifs.empty()) html += " Estimates are of other hardware, and may lie there.";
        html += "</span>";
    }
    html +=
        "</p>\n<div class=\"chart-head\"><ul class=\"legend\" id=\"frontier-legend\"></ul></div>\n<div "
        "class=\"chart-head switches\"><fieldset class=\"switch\" id=\"axis\" hidden><legend "
        "class=\"unseen\">Vertical axis</legend></fieldset><fieldset class=\"switch\" id=\"x-axis\" "
        "hidden><legend class=\"unseen\">Horizontal axis</legend></fieldset><fieldset class=\"switch\" "
        "id=\"limits\" hidden><legend class=\"unseen\">Limit that is drawn</legend></fieldset></div>\n";
    html += figure_of(
        "frontier", "",
        priced ? "Cost per million output tokens against tokens per second per user, one marker per run"
               : "Output tokens per second against tokens per second per user, one marker per run",
        "main");
    html +=
        "<ul class=\"key\"><li><span class=\"marker\" data-key=\"filled\"></span>on the Pareto "
        "front<li><span class=\"marker\" data-key=\"hollow\"></span>off the front; the tooltip and the table "
        "say why<li><span class=\"marker\" data-key=\"dashed\"></span>not certified; the tooltip says why";
    if (!model.choice.slos.empty())
        html +=
            "<li><span class=\"marker\" data-key=\"dotted\"></span>within the limits, not shown at 99 %"
            "<li><span class=\"marker\" data-key=\"slashed\"></span>misses a limit";
    html +=
        "<li><span class=\"marker\" data-key=\"crossed\"></span>invalid, off the line"
        "<li>bars: 95 % interval of throughput";
    if (model.configurations.size() > 1 && (model.front.separate.empty() || model.front.anyway))
        html += "<li>wide grey line: the runs that no run of any configuration beats, if they are of several";
    if (banded) html += "<li>pale bars: range of the card's prices; the limit shifts with it";
    if (!model.what_ifs.empty())
        html += "<li><span class=\"marker\" data-key=\"dashed\"></span>with “est.”: estimated, not measured";
    html += "</ul>\n";
    std::string separate;
    for (const std::string& text : model.front.separate)
        separate += fmt::format("<li>{}</li>\n", escaped(text));
    if (!separate.empty()) html += "<ul class=\"notices\">\n" + separate + "</ul>\n";
    return html + "</section>\n";
}

std::string load_section() {
    return "<section aria-labelledby=\"load-title\">\n<h2 id=\"load-title\">What load does</h2>\n"
           "<p class=\"lead\">Hollow markers are percentiles that are not certified; their tooltips say why. "
           "If a percentile lies among failed requests, it is not drawn.</p>\n"
           "<div class=\"chart-head\"><ul class=\"legend\" id=\"latency-legend\"></ul><fieldset "
           "class=\"switch\" id=\"percentile\" hidden><legend "
           "class=\"unseen\">Percentile</legend></fieldset></div>\n<div class=\"pair\">\n" +
           figure_of("ttft", "Time to first token", "Time to first token at p50, p95 and p99 against load",
                     "") +
           figure_of("itl", "Inter-token latency", "Inter-token latency at p50, p95 and p99 against load",
                     "") +
           "</div>\n<div class=\"part wide\"><h3>Throughput</h3>\n<div class=\"chart-head\"><ul "
           "class=\"legend\" id=\"throughput-legend\"></ul></div>\n" +
           figure_of("throughput", "",
                     "Output tokens per second against load, with the hardware's limit dashed", "") +
           "</div>\n</section>\n";
}

// ---- 5. every number

/// The first row of the table's head: the titles of groups above their columns.
std::string group_row(const std::vector<const ReportColumn*>& columns) {
    std::string html =
        "<tr><th class=\"first\" scope=\"col\" rowspan=\"2\">Run</th><th class=\"text\" "
        "scope=\"col\" rowspan=\"2\">Verdict</th>";
    for (std::size_t i = 0; i < columns.size();) {
        std::size_t end = i;
        while (end < columns.size() && columns[end]->group == columns[i]->group) ++end;
        std::string unit;
        const bool same_unit =
            std::all_of(columns.begin() + static_cast<std::ptrdiff_t>(i),
                        columns.begin() + static_cast<std::ptrdiff_t>(end),
                        [&](const ReportColumn* c) { return c->unit == columns[i]->unit; });
        if (same_unit && !columns[i]->unit.empty()) unit = fmt::format(", {}", columns[i]->unit);
        html += fmt::format("<th class=\"starts\" scope=\"colgroup\" colspan=\"{}\">{}{}</th>", end - i,
                            columns[i]->group, unit);
        i = end;
    }
    return html + "</tr>\n";
}

/// Whether the columns in this column's group have different units, so that each title must include its unit.
bool has_own_unit(const std::vector<const ReportColumn*>& columns, const ReportColumn& column) {
    return std::ranges::any_of(columns, [&column](const ReportColumn* other) {
        return other->group == column.group && other->unit != column.unit;
    });
}

std::string title_row(const std::vector<const ReportColumn*>& columns) {
    std::string html = "<tr>";
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const ReportColumn& column = *columns[i];
        const bool starts = i == 0 || columns[i - 1]->group != column.group;
        const std::string title = has_own_unit(columns, column) && !column.unit.empty()
                                      ? fmt::format("{}, {}", column.title, column.unit)
                                      : std::string(column.title);
        html += fmt::format(
            "<th{} scope=\"col\" data-column=\"{}\"><button type=\"button\" class=\"sort\" "
            "data-definition=\"{}\">{}</button></th>",
            starts ? " class=\"starts\"" : "", i + 2, escaped(column.definition), escaped(title));
    }
    return html + "</tr>\n";
}

std::string sort_value(const std::optional<double>& value) {
    if (!value || std::isnan(*value)) return "";
    return std::isinf(*value) ? "1e308" : fmt::format("{:.6g}", *value);
}

std::string point_row(const std::vector<const ReportColumn*>& columns, const Configuration& configuration,
                      const ReportPoint& point, std::size_t series) {
    std::string html = fmt::format(
        "<tr><th class=\"first\" scope=\"row\" title=\"{}\">{}{}{}</th><td class=\"verdict\">{}{}",
        escaped(configuration.title), marker_html(series), escaped(point.load_label),
        configuration.name.empty() ? "" : fmt::format(" <small>{}</small>", escaped(configuration.name)),
        badge(point.result.validity.verdict),
        point.why_not.empty() ? "" : fmt::format("<small>{}</small>", escaped(point.why_not)));
    if (!point.missed_own_slo.empty())
        html += fmt::format("<small>{}</small>", escaped(point.missed_own_slo));
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::optional<double> value = columns[i]->value(point);
        std::string css_class = i == 0 || columns[i - 1]->group != columns[i]->group ? "starts" : "";
        if (!value) css_class += css_class.empty() ? "absent" : " absent";
        html += fmt::format("<td{} data-value=\"{}\">{}",
                            css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class),
                            sort_value(value), escaped(cell_of(*columns[i], point)));
    }
    return html + "</tr>\n";
}

/// The failures of all runs by class, each with an example.
std::string failures_of(const ReportModel& model) {
    Table table{{{"Run", Align::left}, {"Class", Align::left}, {"Requests"}, {"For example", Align::left}},
                {}};
    for (std::size_t series = 0; series < model.configurations.size(); ++series)
        for (const ReportPoint& point : model.configurations[series].points)
            for (const auto& [name, count] : point.result.counts.by_outcome) {
                const std::optional<Outcome> outcome = outcome_named(name);
                if (count == 0 || (outcome && !is_failure(*outcome))) continue;
                const auto example = point.result.counts.example_errors.find(name);
                table.titles.push_back({.series = series});
                table.rows.push_back(
                    {point.load_label, name, grouped(count),
                     example == point.result.counts.example_errors.end() ? "" : example->second});
            }
    if (table.rows.empty()) return "<p class=\"lead\">No request failed.</p>\n";
    return "<div class=\"part\"><h3>Failures by class</h3>\n" + html_of(table) + "</div>\n";
}

std::string definitions_of() {
    std::string rows;
    for (const Metric& metric : metrics())
        rows += fmt::format("<dt>{} <code>{}</code><dd>{}\n", escaped(metric.title), escaped(metric.tag),
                            escaped(metric.definition));
    for (const paretoken::Figure& figure : figures())
        rows += fmt::format("<dt>{} <code>{}</code><dd>{}\n", escaped(figure.title), escaped(figure.key),
                            escaped(figure.definition));
    return fmt::format(
        "<details><summary>What each figure means (definitions {})</summary>\n<dl "
        "class=\"definitions\">\n{}</dl></details>\n",
        escaped(kDefinitions), rows);
}

std::string numbers_section(const ReportModel& model) {
    const std::vector<const ReportColumn*> columns = columns_in_use(model);
    std::string rows;
    for (std::size_t series = 0; series < model.configurations.size(); ++series)
        for (const ReportPoint& point : model.configurations[series].points)
            rows += point_row(columns, model.configurations[series], point, series);
    return "<section aria-labelledby=\"numbers\">\n<h2 id=\"numbers\" tabindex=\"-1\">Every number</h2>\n<p "
           "class=\"lead\">Three significant digits; a click on a title sorts. ∞ marks a percentile that "
           "falls among failed requests. Every digit is in the JSON file beside this page.</p>\n<div "
           "class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All runs\"><table "
           "class=\"numbers\">\n<thead>\n" +
           group_row(columns) + title_row(columns) + "</thead>\n<tbody>\n" + rows +
           "</tbody></table></div>\n" + failures_of(model) + definitions_of() + "</section>\n";
}

// ---- 6. can it be trusted

std::string reasons_of(const ReportPoint& point) {
    std::string items;
    for (const Reason& reason : point.result.validity.reasons)
        items += fmt::format("<li><code>{}</code> {}</li>", escaped(reason.check), escaped(reason.text));
    return items.empty() ? "" : fmt::format("<ul class=\"reasons\">{}</ul>", items);
}

std::string window_text(const Window& window) {
    if (window.run_s <= 0) return "";
    return fmt::format("{} to {} s of {} s, {}", significant(window.begin_s), significant(window.end_s),
                       significant(window.run_s), window.steady ? "steady" : "no steady state found");
}

/// The largest number of runs for which a page shows every run in full. A larger page shows only the most
/// important runs in full.
constexpr std::size_t kMostRunsInFull = 100;

/// Whether a run on a large page is shown in full: it is on a front, or its verdict is not "valid".
bool matters(const ReportPoint& point) {
    return point.on_front || point.on_own_front || point.result.validity.verdict != Verdict::valid;
}

/// The runs that are shown in full: all runs, or on a large page the first ones that matter.
std::set<const ReportPoint*> runs_in_full(const ReportModel& model) {
    std::set<const ReportPoint*> shown;
    const bool all = count_points(model) <= kMostRunsInFull;
    for (const Configuration& configuration : model.configurations)
        for (const ReportPoint& point : configuration.points)
            if (all || (matters(point) && shown.size() < kMostRunsInFull)) shown.insert(&point);
    return shown;
}

/// A sentence that says how many runs are shown: "100 of 1,000 runs: …"; empty if every run is shown.
std::string left_out(const ReportModel& model, std::size_t shown, std::string_view what) {
    const std::size_t all = count_points(model);
    if (shown >= all) return "";
    return fmt::format("<p class=\"lead\">{} of {} runs: {}. The JSON file beside this page has all.</p>\n",
                       grouped(shown), grouped(all), what);
}

std::string validity_table(const ReportModel& model) {
    std::string rows;
    std::size_t shown = 0;
    const bool all = count_points(model) <= kMostRunsInFull;
    for (std::size_t series = 0; series < model.configurations.size(); ++series)
        for (const ReportPoint& point : model.configurations[series].points) {
            const std::string reasons = reasons_of(point);
            if (!all && reasons.empty() && point.result.validity.verdict == Verdict::valid) continue;
            ++shown;
            rows += fmt::format(
                "<tr><th class=\"text\" scope=\"row\">{} {}<td class=\"text\">{}{}<td class=\"text\">{}<td "
                "class=\"text line\">{}</tr>\n",
                marker_html(series), escaped(point.load_label), badge(point.result.validity.verdict),
                point.result.partial ? " partial" : "", reasons.empty() ? "Every check passed." : reasons,
                escaped(window_text(point.result.window)));
        }
    if (rows.empty())
        return "<div class=\"part\"><h3>Validity</h3>\n<p class=\"lead\">Every run passed every "
               "check.</p></div>\n";
    return "<div class=\"part\"><h3>Validity</h3>\n" +
           left_out(model, shown, "those with a check that was not passed") +
           "<div class=\"scroll\"><table class=\"loose\"><thead><tr><th class=\"text\">Run<th "
           "class=\"text\">Verdict<th class=\"text\">Reasons<th class=\"text\">Steady "
           "window</tr></thead>\n<tbody>\n" +
           rows + "</tbody></table></div></div>\n";
}

Table terms_table(const std::vector<SourcedTerm>& terms) {
    Table table{{{"Term", Align::left}, {"Value"}, {"Unit", Align::left}, {"Where from", Align::left}}, {}};
    for (const SourcedTerm& term : terms)
        table.rows.push_back({term.name, significant(term.value), term.unit, term.source});
    return table;
}

std::string joined(const std::vector<std::string>& texts) {
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string limit_of(const Configuration& configuration, std::size_t series) {
    if (configuration.limit_terms.empty() && configuration.dropped_terms.empty()) return "";
    std::string html = fmt::format("<div class=\"part\"><h3>{} The limit of {}</h3>\n", marker_html(series),
                                   escaped(configuration.title));
    if (!configuration.limit_terms.empty()) html += html_of(terms_table(configuration.limit_terms));
    if (!configuration.dropped_terms.empty())
        html += fmt::format("<p class=\"lead\">Left out, for want of a figure: {}.</p>\n",
                            escaped(joined(configuration.dropped_terms)));
    return html + "</div>\n";
}

std::string price_of(const std::optional<PriceNote>& price) {
    if (!price) return "";
    std::string html = "<div class=\"part\"><h3>Price card</h3>\n";
    html += html_of(Facts{{{"Card", price->card},
                           {"As of", price->as_of},
                           {"Basis", price->basis},
                           {"Power", price->power},
                           {"Currency", price->currency},
                           {"Source", price->source}}});
    if (!price->rates.empty()) html += html_of(terms_table(price->rates));
    return html + "</div>\n";
}

Facts server_facts(const std::optional<ServerFigures>& server) {
    if (!server) return {};
    Facts facts{{{"Engine", server->engine}}};
    for (const auto& [title, text] : server_rows(*server)) facts.items.emplace_back(title, text);
    std::string settings;
    for (const auto& [name, value] : server->config)
        settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", name, value);
    facts.items.emplace_back("Settings", settings);
    facts.items.emplace_back("Readings of /metrics", grouped(server->scrapes));
    return facts;
}

Facts power_facts(const std::optional<PowerFigures>& power) {
    if (!power) return {};
    Facts facts{{{"Read from", power->source}}};
    for (const auto& [title, text] : power_rows(*power)) facts.items.emplace_back(title, text);
    return facts;
}

Facts alert_facts(const RunResult& run) {
    Facts facts;
    for (const AlertResult& alert : run.alerts)
        if (alert.state == AlertState::firing || alert.state == AlertState::pending)
            facts.items.emplace_back(alert.name, text_of(alert));
    return facts;
}

Facts client_facts(const ClientHealth& client) {
    return {{{"Clock of events", client.timing},
             {"Events with a kernel stamp", share(client.kernel_stamp_share)},
             {"Loop lag p99", milliseconds(client.loop_lag_p99_s)},
             {"Refill lag, mean", milliseconds(client.refill_lag_mean_s)},
             {"Achieved ÷ intended rate", share(client.achieved_rate_ratio)},
             {"User-space delay p99", milliseconds(client.user_delay_p99_s)},
             {"Wait for a connection p99", milliseconds(client.connection_wait_p99_s)},
             {"Wait for a slot p99", milliseconds(client.slot_wait_p99_s)},
             {"Events sharing a read", share(client.grouped_share)},
             {"… because the client read late", share(client.late_grouped_share)},
             {"CPU of the busiest worker", share(client.cpu_share)},
             {"100 ms windows above 85 % CPU", share(client.cpu_windows_above_85)},
             {"Time lost to the host", share(client.hiccup_share)},
             {"TCP segments sent again", share(client.retransmit_share)},
             {"Connections opened", grouped(client.connections_opened)},
             {"… before a request needed them", grouped(client.connections_opened_ahead)},
             {"Workers", grouped(client.workers)}}};
}

Facts origin_facts(const RunResult& run) {
    const Provenance& from = run.provenance;
    Facts facts{
        {{"Started", from.started_at},
         {"paretoken", from.version + " " + from.commit},
         {"Load made on",
          fmt::format("{}, {} ({} cores), {}", from.host, from.host_cpu, from.host_cores, from.kernel)},
         {"Clock", from.clock},
         {"Endpoint", from.url},
         {"Server", from.server_kind},
         {"Model", from.model},
         {"Served by", from.hardware_count > 1 ? fmt::format("{} × {}", from.hardware_count, from.hardware)
                                               : from.hardware}}};
    for (const auto& [key, value] : from.metadata) facts.items.emplace_back(key, value);
    return facts;
}

Facts workload_facts(const RunResult& run) {
    const Workload& load = run.workload;
    const auto lengths = [](const std::optional<double>& achieved, const std::optional<double>& wanted) {
        if (!achieved) return std::string();
        return significant(achieved, 1, 4) +
               (wanted ? fmt::format(" of {} wanted", significant(wanted, 1, 4)) : "");
    };
    return {{{"Fingerprint", load.fingerprint},
             {"Dataset", load.dataset},
             {"Endpoint", load.endpoint},
             {"Prompts", load.prompt_form},
             {"Lengths by", load.length_source},
             {"Input tokens, mean", lengths(load.achieved_input_tokens, load.wanted_input_tokens)},
             {"Output tokens, mean", lengths(load.achieved_output_tokens, load.wanted_output_tokens)},
             {"Seed", fmt::format("{}", load.seed)},
             {"Salt", load.salt}}};
}

/// Every metric of a run with its intervals. Closing tags that HTML does not require are left out, because
/// these tables are most of a page.
std::string metrics_table(const RunResult& run) {
    std::string rows;
    for (const MetricSummary& summary : run.metrics) {
        if (summary.n == 0) continue;
        rows += fmt::format("<tr><th class=\"text\">{}<td>{}<td>{}<td>{}", escaped(summary.key),
                            grouped(summary.n), significant(summary.mean), significant(summary.std));
        for (const double p : {.5, .75, .9, .95, .99, .999}) {
            const PercentileValue* held = summary.at(p);
            const bool among_failures = held && !held->value && falls_among_failures(summary, p);
            rows +=
                fmt::format("<td>{}{}", among_failures ? "∞" : significant(held ? held->value : std::nullopt),
                            held && held->value && !held->certified ? "*" : "");
        }
        rows += fmt::format("<td>{}\n", significant(summary.max));
    }
    if (rows.empty()) return "";
    return fmt::format("<div><h4>Metrics (* not certified: {})</h4>", kWhyUncertified) +
           "<div class=\"scroll\"><table><thead><tr><th class=\"text\">"
           "Metric<th>n<th>mean<th>std<th>p50<th>p75<th>p90<th>p95<th>p99<th>p99.9<th>max</"
           "thead>\n<tbody>\n" +
           rows + "</tbody></table></div></div>\n";
}

std::string titled(std::string_view title, const std::string& html) {
    return html.empty() ? "" : fmt::format("<div><h4>{}</h4>{}</div>\n", title, html);
}

std::string run_details(const ReportPoint& point, std::size_t series) {
    const RunResult& run = point.result;
    return fmt::format("<details><summary>{} {} {} <span class=\"where\">{}</span></summary>\n<div>\n",
                       marker_html(series), escaped(point.load_label), badge(run.validity.verdict),
                       escaped(point.directory)) +
           titled("Command", html_of(Command{run.provenance.command})) + metrics_table(run) +
           titled("The client", html_of(client_facts(run.client))) +
           titled("The server's own metrics", html_of(server_facts(run.server))) +
           titled("Power", html_of(power_facts(run.power))) + titled("Alerts", html_of(alert_facts(run))) +
           titled("Where and when", html_of(origin_facts(run))) +
           titled("What was asked", html_of(workload_facts(run))) + "</div></details>\n";
}

std::string trust_section(const ReportModel& model) {
    std::string html =
        "<section aria-labelledby=\"trust-title\">\n<h2 id=\"trust-title\">Can it be trusted</h2>\n<p "
        "class=\"lead\">A run is valid when its client proved not to be the bottleneck. Each run can be "
        "repeated with the command given.</p>\n" +
        validity_table(model);
    for (std::size_t i = 0; i < model.configurations.size(); ++i)
        html += limit_of(model.configurations[i], i);
    html += price_of(model.price);
    const std::set<const ReportPoint*> in_full = runs_in_full(model);
    html +=
        "<div class=\"part\"><h3>Each run</h3>\n" +
        left_out(model, in_full.size(), "those on a front and those with a warning or an invalid verdict");
    for (std::size_t i = 0; i < model.configurations.size(); ++i)
        for (const ReportPoint& point : model.configurations[i].points)
            if (in_full.contains(&point)) html += run_details(point, i);
    html += "</div>\n";
    if (!model.notes.empty()) {
        html += "<div class=\"part\"><h3>Notes</h3>\n<ul class=\"notices\">\n";
        for (const std::string& note : model.notes) html += fmt::format("<li>{}</li>\n", escaped(note));
        html += "</ul></div>\n";
    }
    return html + "</section>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '\0':
                out += "\xef\xbf\xbd";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string html_text(std::string_view text) {
    std::string out = html_escaped(text);
    for (std::size_t at = 0; (at = out.find(" %", at)) != std::string::npos;)
        if (at > 0 && out[at - 1] >= '0' && out[at - 1] <= '9')
            out.replace(at, 1, "\u00a0");
        else
            at += 2;
    return out;
}

std::string filled_in(std::string_view template_text,
                      const std::vector<std::pair<std::string_view, std::string_view>>& values) {
    std::string out;
    while (true) {
        const std::size_t open = template_text.find("{{");
        out += template_text.substr(0, open);
        if (open == std::string_view::npos) return out;
        const std::size_t close = template_text.find("}}", open);
        assert(close != std::string_view::npos && "a placeholder that never ends");
        const std::string_view name = template_text.substr(open + 2, close - open - 2);
        const auto value = std::ranges::find_if(values, [name](const auto& v) { return v.first == name; });
        assert(value != values.end() && "a placeholder without a value");
        if (value != values.end()) out += value->second;
        template_text.remove_prefix(close + 2);
    }
}

namespace {

/// The whole page. `state` is the version of a served page, and empty in a file.
std::string page_of(const ReportModel& model, std::string_view state) {
    static const std::string css = unpacked("/report.css.gz");
    static const std::string report_js = unpacked("/report.js.gz");
    static const std::string chart_js = unpacked("/chart.min.js.gz");
    const std::string policy = policy_for(css, {chart_js, report_js}, !state.empty());
    const std::string served = state.empty() ? "" : fmt::format(" data-served=\"{}\"", escaped(state));
    const std::string title = escaped(model.title);
    const std::string version = escaped(model.version);
    const std::string generated_at = escaped(model.generated_at);
    const std::string meta = escaped(meta_of(model));
    const std::string definitions = escaped(kDefinitions);
    std::vector<Section> sections;
    const auto at = [&](SectionPlace place) {
        std::string html;
        for (Section& section : sections_at(place, model)) {
            html += html_of(section, model.configurations.empty() && sections.empty());
            sections.push_back(std::move(section));
        }
        return html;
    };
    const std::string top = at(SectionPlace::top);
    const std::string before_answers = at(SectionPlace::before_answers);
    const std::string after_front = at(SectionPlace::after_front);
    const std::string after_load = at(SectionPlace::after_load);
    const bool has_runs = !model.configurations.empty() || sections.empty();
    const bool has_many = model.configurations.size() > 1;  // the chart compares them at a glance
    const std::string body =
        !has_runs  // page that shows only experiments on caches, and devices
            ? top + before_answers + after_front + after_load
            : top +
                  (has_many ? frontier_section(model) + before_answers + answers_section(model)
                            : before_answers + answers_section(model) + frontier_section(model)) +
                  after_front + load_section() + after_load + numbers_section(model) + trust_section(model);
    constexpr std::size_t kLongTitle = 50;
    const std::string data = chart_json(model, sections);
    return filled_in(asset("report.html"),
                     {{"policy", policy},
                      {"served", served},
                      {"title", title},
                      {"title_class", title.size() > kLongTitle ? " class=\"long\"" : ""},
                      {"version", version},
                      {"generated_at", generated_at},
                      {"definitions", definitions},
                      {"meta", meta},
                      {"css", css},
                      {"body", body},
                      {"data", data},
                      {"chart_js", chart_js},
                      {"report_js", report_js}});
}

}  // namespace

std::string html_report(const ReportModel& model) {
    return page_of(model, "");
}

std::string served_html_report(const ReportModel& model, std::string_view version) {
    return page_of(model, version);
}

}  // namespace paretoken::reports
