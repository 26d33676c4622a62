#include "reports/document/section.h"

namespace paretoken::reports {
namespace {

/// Calls `visit` for every block, also for those inside of others, in the order of the page.
template <class Visit>
void for_each_block(const Blocks& blocks, const Visit& visit) {
    for (const Block& block : blocks) {
        visit(block);
        if (const auto* part = std::get_if<Part>(&block.content)) for_each_block(part->blocks, visit);
        if (const auto* folded = std::get_if<Folded>(&block.content)) for_each_block(folded->blocks, visit);
        if (const auto* menu = std::get_if<Menu>(&block.content))
            for (const Part& option : menu->options) for_each_block(option.blocks, visit);
    }
}

}  // namespace

std::vector<const Chart*> charts_of(const std::vector<Section>& sections) {
    std::vector<const Chart*> charts;
    for (const Section& section : sections)
        for_each_block(section.blocks, [&charts](const Block& block) {
            if (const auto* row = std::get_if<Charts>(&block.content))
                for (const Chart& chart : row->items) charts.push_back(&chart);
        });
    return charts;
}

std::vector<const BarChart*> bar_charts_of(const std::vector<Section>& sections) {
    std::vector<const BarChart*> charts;
    for (const Section& section : sections)
        for_each_block(section.blocks, [&charts](const Block& block) {
            if (const auto* chart = std::get_if<BarChart>(&block.content)) charts.push_back(chart);
        });
    return charts;
}

}  // namespace paretoken::reports
