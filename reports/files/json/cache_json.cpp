#include "reports/files/json/cache_json.h"

#include "core/version.h"
#include "reports/files/json/cache_fields.h"

namespace paretoken::reports {

std::string cache_json(const CacheReport& report) {
    Json json = {{"schema", std::string(kCacheSchema)}, {"version", version()}};
    json.update(Writer::json_of(report));
    return text_of(json, 1) + "\n";
}

CacheReport parse_cache_json(std::string_view text, const std::string& where) {
    const Json json = parsed(text, where);
    expect(json, "schema", kCacheSchema, where);
    return read_fields<CacheReport>(json, where);
}

}  // namespace paretoken::reports
