#include "reports/files/json/sweep_json.h"

#include "reports/files/json/sweep_fields.h"

namespace paretoken::reports {

std::string sweep_json(const SweepFile& sweep) {
    Json json = {{"schema", std::string(kSweepSchema)}};
    json.update(Writer::json_of(sweep));
    return text_of(json, 1) + "\n";
}

SweepFile parse_sweep_json(std::string_view text, const std::string& where) {
    const Json json = parsed(text, where);
    expect(json, "schema", kSweepSchema, where);
    return read_fields<SweepFile>(json, where);
}

}  // namespace paretoken::reports
