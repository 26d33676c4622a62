#include "reports/analysis/sections/sections.h"

#include <array>
#include <iterator>

namespace paretoken::reports {
namespace {

struct SectionRow {
    SectionPlace place;
    std::vector<Section> (*sections)(const ReportModel&);
};

std::vector<Section> own_sections(const ReportModel& model) {
    return model.sections;
}

constexpr std::array kRows{
    SectionRow{SectionPlace::top, own_sections},
    SectionRow{SectionPlace::before_answers, demand_sections},
    SectionRow{SectionPlace::before_answers, choice_sections},
    SectionRow{SectionPlace::after_front, reported_sections},
    SectionRow{SectionPlace::after_front, job_sections},
    SectionRow{SectionPlace::after_front, cost_sections},
    SectionRow{SectionPlace::after_front, what_if_sections},
    SectionRow{SectionPlace::after_front, search_sections},
    SectionRow{SectionPlace::after_load, course_sections},
    SectionRow{SectionPlace::after_load, gap_sections},
    SectionRow{SectionPlace::after_load, cache_sections},
    SectionRow{SectionPlace::after_load, hardware_sections},
};

}  // namespace

std::vector<Section> sections_at(SectionPlace place, const ReportModel& model) {
    std::vector<Section> all;
    for (const SectionRow& row : kRows) {
        if (row.place != place) continue;
        std::vector<Section> some = row.sections(model);
        all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return all;
}

}  // namespace paretoken::reports
