#pragma once
// The part of a page that shows the measured figures of each device: charts with their tables, whole layers
// as stacks, ceilings. HTML for the report and for a separate page, Markdown for a pull request. Pure.
#include <string>
#include <vector>

#include "reports/micro/micro_picture.h"

namespace paretoken::reports {

/// The section as HTML; empty without devices.
std::string hardware_section(const std::vector<DevicePicture>& devices);

/// The section as Markdown tables; values that are not valid have an asterisk. Empty without devices.
std::string hardware_markdown(const std::vector<DevicePicture>& devices);

}  // namespace paretoken::reports
