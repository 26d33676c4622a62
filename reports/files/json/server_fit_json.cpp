#include "reports/files/json/server_fit_json.h"

#include <nlohmann/json.hpp>

#include "core/version.h"

namespace paretoken::reports {
namespace {

using FitJson = nlohmann::ordered_json;

void put_known(FitJson& json, const char* key, const std::optional<double>& value) {
    if (value) json[key] = *value;
}

FitJson figures_json(const LoadFigures& figures) {
    FitJson json = FitJson::object();
    put_known(json, "output_tokens_per_s", figures.output_tokens_per_s);
    put_known(json, "ttft_p50_s", figures.ttft_p50_s);
    put_known(json, "itl_p50_s", figures.itl_p50_s);
    return json;
}

FitJson speeds_json(const FittedSpeeds& speeds) {
    FitJson json{{"memory_bytes_per_s", speeds.memory_bytes_per_s},
                 {"linear_flops_per_s", speeds.linear_flops_per_s},
                 {"step_s", speeds.step_s}};
    put_known(json, "row_s", speeds.row_s);
    put_known(json, "memory_share", speeds.memory_share);
    put_known(json, "linear_share", speeds.linear_share);
    return json;
}

FitJson level_json(const PredictedLevel& level) {
    FitJson json{{"load", level.load},
                 {"predicted", figures_json(level.predicted)},
                 {"low", figures_json(level.low)},
                 {"high", figures_json(level.high)}};
    if (level.measured) json["measured"] = figures_json(*level.measured);
    return json;
}

}  // namespace

std::string server_fit_json(const ServerFit& fit) {
    FitJson json{{"schema", kPredictionSchema},
                 {"version", version()},
                 {"estimated", true},
                 {"run", fit.run},
                 {"server", fit.server},
                 {"axis", fit.axis == "c" ? "concurrency" : "request_rate"},
                 {"load", fit.load},
                 {"measured", figures_json(fit.measured)},
                 {"after", figures_json(fit.after)},
                 {"speeds", speeds_json(fit.speeds)}};
    json["arithmetic_from"] = fit.by_throughput ? "output_tokens_per_s" : "ttft_p50_s";
    json["certainty"] = certainty_of(fit);
    json["doubts"] = doubts_of(fit);
    if (fit.before) json["before"] = figures_json(*fit.before);
    if (fit.usual) json["usual_speeds"] = speeds_json(*fit.usual);
    json["levels"] = FitJson::array();
    for (const PredictedLevel& level : fit.levels) json["levels"].push_back(level_json(level));
    if (!fit.profile.empty()) json["profile"] = fit.profile;
    return json.dump(2);
}

}  // namespace paretoken::reports
