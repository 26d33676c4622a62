#include "reports/files/json/report_json.h"

#include "core/result/metrics.h"
#include "reports/files/json/report_fields.h"

namespace paretoken::reports {

std::string report_json(const ReportModel& model) {
    Json json = {{"schema", std::string(kReportSchema)}, {"definitions", std::string(kDefinitions)}};
    json.update(Writer::json_of(model));
    for (Json& configuration : json["configurations"])
        for (Json& point : configuration["points"]) point["run"].erase("series");
    return text_of(json, 1) + "\n";
}

}  // namespace paretoken::reports
