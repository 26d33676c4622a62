#pragma once
// The part of a page that shows what the hardware can do, per device: charts with their tables, whole layers
// as stacks, ceilings. HTML for the report and for a page of its own, Markdown for a pull request. Pure.
#include <string>
#include <vector>

#include "reports/micro/micro_picture.h"

namespace paretoken::reports {

/// Empty without devices.
std::string hardware_section(const std::vector<DevicePicture>& devices);

/// Tables; what is not valid is marked by an asterisk. Empty without devices.
std::string hardware_markdown(const std::vector<DevicePicture>& devices);

}  // namespace paretoken::reports
