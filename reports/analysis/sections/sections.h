#pragma once
// The sections of a report, as values. A new one is a function in a file here and a row in sections.cpp.
#include <vector>

#include "reports/analysis/model/report_model.h"
#include "reports/document/section.h"

namespace paretoken::reports {

enum class SectionPlace { top, before_answers, after_front, after_load };

/// The sections of the model at a place, in order, without empty ones.
std::vector<Section> sections_at(SectionPlace place, const ReportModel& model);

// Each function returns nothing if the model has nothing to show in the section.

/// The ranking of configurations, if there are several of them or limits.
std::vector<Section> choice_sections(const ReportModel& model);
/// The deployments that carry a rate of requests (--demand).
std::vector<Section> demand_sections(const ReportModel& model);
/// The cost of tokens for the chosen run of each configuration, and the prices of hosted APIs.
std::vector<Section> cost_sections(const ReportModel& model);
std::vector<Section> job_sections(const ReportModel& model);
/// Runs of which only the summary of another program is known.
std::vector<Section> reported_sections(const ReportModel& model);
/// Estimates for other deployments (--what-if).
std::vector<Section> what_if_sections(const ReportModel& model);
std::vector<Section> search_sections(const ReportModel& model);
std::vector<Section> course_sections(const ReportModel& model);
/// The parts of a step's time between the hardware limit and the measurement.
std::vector<Section> gap_sections(const ReportModel& model);
std::vector<Section> cache_sections(const ReportModel& model);
std::vector<Section> hardware_sections(const ReportModel& model);

/// The section of one experiment on prefix caching. `id` must be unique on the page.
Section cache_section(const CachePicture& cache, const std::string& id);

}  // namespace paretoken::reports
