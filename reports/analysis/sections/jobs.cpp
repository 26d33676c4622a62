#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/stable_sort.h"
#include "reports/analysis/model/join/figures_of_run.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

std::string share_cell(const std::optional<double>& share) {
    return share ? fmt::format("{:.0f} %", 100 * *share) : "–";
}

std::string per_gpu_cell(const ReportPoint& point) {
    const std::uint32_t gpus = point.result.provenance.hardware_count;
    const auto rate = point.result.jobs->jobs_per_hour;
    return gpus > 0 && rate ? significant(*rate / gpus) : "–";
}

std::string time_cell(const ReportPoint& point, double p) {
    const MetricSummary* const time = point.result.metric("job_time_s");
    const PercentileValue* const at = time == nullptr ? nullptr : time->at(p);
    if (at == nullptr) return "–";
    return at->value ? significant(*at->value) : "∞";
}

Table table_of_jobs(const ReportModel& model) {
    Table table{{{"Configuration", Align::left},
                 {"Load", Align::left},
                 {"Jobs per hour"},
                 {"per GPU"},
                 {"Job time p50, s"},
                 {"p95"},
                 {"$ per job, mean"},
                 {"p50"},
                 {"p95"},
                 {"Cached share"},
                 {"Best possible"},
                 {"Continued"},
                 {"Cached of it"}},
                {}};
    for (std::size_t i = 0; i < model.configurations.size(); ++i)
        for (const ReportPoint& point : model.configurations[i].points) {
            if (!point.result.jobs) continue;
            const JobResults& jobs = *point.result.jobs;
            const JobCost* const cost = point.cost && point.cost->per_job ? &*point.cost->per_job : nullptr;
            table.titles.push_back({i, model.configurations[i].workload});
            table.rows.push_back(
                {model.configurations[i].title, point.load_label, significant(jobs.jobs_per_hour),
                 per_gpu_cell(point), time_cell(point, .5), time_cell(point, .95),
                 cost != nullptr ? dollars(cost->mean) : "–", cost != nullptr ? dollars(cost->p50) : "–",
                 cost != nullptr ? dollars(cost->p95) : "–", share_cell(cached_share(point.result)),
                 share_cell(point.result.workload.best_possible_cached_ratio),
                 share_cell(jobs.continued_ratio), share_cell(jobs.cached_of_continued)});
        }
    return table;
}

/// The cost of a job against its time, a series for each configuration.
Picture front_of_jobs(const ReportModel& model) {
    Picture picture{.id = "job-cost",
                    .title = "Cost per job against job time",
                    .x_title = "Job time, p50, s",
                    .y_title = "$ per job",
                    .linear_x = true};
    for (const Configuration& configuration : model.configurations) {
        PictureSeries series{configuration.name.empty() ? configuration.title : configuration.name, {}};
        for (const ReportPoint& point : configuration.points) {
            const auto time = point.result.percentile("job_time_s", .5);
            if (!time || !point.cost || !point.cost->per_job) continue;
            series.points.push_back({.x = *time,
                                     .y = point.cost->per_job->mean,
                                     .valid = point.result.validity.verdict != Verdict::invalid,
                                     .row = point.load_label,
                                     .note = point.why_not});
        }
        sort_stably(series.points, {}, &PicturePoint::x);
        if (!series.points.empty()) picture.series.push_back(std::move(series));
    }
    return picture;
}

/// The rules of benchmarks that the runs were held against.
Table table_of_rules(const ReportModel& model) {
    Table table{{{"Load", Align::left},
                 {"Benchmark", Align::left},
                 {"Rule", Align::left},
                 {"Wanted", Align::left},
                 {"Kept", Align::left},
                 {"Found", Align::left}},
                {}};
    for (const Configuration& configuration : model.configurations)
        for (const ReportPoint& point : configuration.points)
            if (point.result.rules)
                for (const RuleResult& rule : point.result.rules->rules)
                    table.rows.push_back({point.load_label, point.result.rules->benchmark, rule.name,
                                          rule.wanted, rule.kept ? "yes" : "no", rule.found});
    return table;
}

Table table_of_apis(const CostSheet& sheet) {
    Table table{{{"API", Align::left}, {"Prices of", Align::left}, {"$ per job, mean"}, {"p50"}, {"p95"}},
                {}};
    for (const ApiLine& api : sheet.apis)
        if (api.per_job)
            table.rows.push_back({api.name, api.as_of, dollars(api.per_job->mean), dollars(api.per_job->p50),
                                  dollars(api.per_job->p95)});
    return table;
}

}  // namespace

std::vector<Section> job_sections(const ReportModel& model) {
    Table table = table_of_jobs(model);
    if (table.rows.empty()) return {};
    Section section{
        "jobs",
        "What jobs take and cost",
        {{Paragraph{
             "A job is a task of a user with all turns of its agents. The mean cost per job is the "
             "deployment's cost per hour over the jobs that ended well per hour. Jobs share it by their "
             "tokens, at the ratios that the prices of tokens have. The best possible cached share is that "
             "of the whole file with an unlimited cache, whole blocks and each job alone; beginnings that "
             "several jobs have in common can put the measured share above it. Continued is the part of "
             "the prompts that the turn before in the same agent had already, in turns that follow one: a "
             "cache that loses nothing serves at least this part."}},
         {std::move(table)}}};
    if (Picture picture = front_of_jobs(model); !picture.series.empty())
        section.blocks.push_back(
            {Charts{{{.id = "job-cost", .picture = std::move(picture), .drawn_only = true}}}});
    if (Table rules = table_of_rules(model); !rules.rows.empty())
        section.blocks.push_back(
            {Part{.title = "Rules of the benchmark", .blocks = Blocks{Block{std::move(rules)}}}});
    if (model.cost)
        if (Table apis = table_of_apis(*model.cost); !apis.rows.empty())
            section.blocks.push_back(
                {Part{.title = fmt::format("The same jobs at the prices of hosted APIs, as at {}",
                                           model.cost->load_label),
                      .blocks = Blocks{Block{std::move(apis)}}}});
    return {std::move(section)};
}

}  // namespace paretoken::reports
