#pragma once
// The part of a page that shows what `paretoken micro` measured on each device: charts with their tables,
// whole decoder layers as stacks of their operations, and ceilings (the highest speeds that probes reached).
// Both the report and the page of `paretoken micro` contain it, as HTML or as Markdown. Pure.
#include <string>
#include <vector>

#include "reports/micro/micro_picture.h"

namespace paretoken::reports {

/// The section as HTML; empty without devices.
std::string hardware_section(const std::vector<DevicePicture>& devices);

/// The section as Markdown tables; values that are not valid have an asterisk. Empty without devices.
std::string hardware_markdown(const std::vector<DevicePicture>& devices);

}  // namespace paretoken::reports
