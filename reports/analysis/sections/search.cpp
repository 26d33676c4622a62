#include "reports/analysis/sections/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace paretoken::reports {

std::vector<Section> search_sections(const ReportModel& model) {
    if (model.searches.empty()) return {};
    bool hollow = false;
    for (const SearchPicture& search : model.searches)
        for (const Picture& picture : search.pictures)
            for (const PictureSeries& series : picture.series)
                hollow =
                    hollow || std::ranges::any_of(series.points, std::logical_not{}, &PicturePoint::valid);
    Section section{"search",
                    "The highest load within the limits",
                    {{Paragraph{fmt::format(
                        "Each marker is one run of the search. A run meets a limit where its requests "
                        "show that at 99 % confidence{}.",
                        hollow ? "; hollow markers are of runs with too few requests" : "")}}}};
    for (std::size_t i = 0; i < model.searches.size(); ++i) {
        const SearchPicture& search = model.searches[i];
        Part part{.title = {}, .blocks = {{Paragraph{search.text}}}};
        Charts charts;
        for (const Picture& picture : search.pictures)
            charts.items.push_back({fmt::format("search-{}-{}", i, picture.id), picture});
        if (!charts.items.empty()) part.blocks.push_back({std::move(charts)});
        const auto offer = [&](const char* purpose, const std::string& command) {
            if (command.empty()) return;
            part.blocks.push_back({Paragraph{purpose}});
            part.blocks.push_back({Command{command}});
        };
        offer("This run may certify the highest load that was measured within the limits:", search.certify);
        offer("To continue the search:", search.narrow);
        section.blocks.push_back({std::move(part)});
    }
    return {std::move(section)};
}

}  // namespace paretoken::reports
