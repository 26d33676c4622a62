#include "reports/pages/server_rows.h"

#include <fmt/format.h>

#include <optional>

#include "core/result/alerts.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

enum class As { count, share, milliseconds };

struct Row {
    const char* key;
    const char* title;
    As as;
    bool with_most = false;  ///< for a gauge: whether the highest reading is shown too
};

constexpr Row kRows[] = {{"running", "Requests running", As::count, true},
                         {"waiting", "Requests waiting", As::count, true},
                         {"kv_usage", "KV cache in use", As::share, true},
                         {"prefix_hit_ratio", "Prefix cache hits", As::share},
                         {"preemptions", "Preemptions", As::count},
                         {"acceptance_ratio", "Draft tokens accepted", As::share},
                         {"queue_mean_s", "Time in the queue, mean", As::milliseconds},
                         {"prefill_mean_s", "Prefill, mean", As::milliseconds},
                         {"decode_mean_s", "Decode, mean", As::milliseconds},
                         {"ttft_mean_s", "Time to first token, mean", As::milliseconds},
                         {"itl_mean_s", "Inter-token latency, mean", As::milliseconds}};

std::optional<double> at(const ServerFigures& server, const std::string& key) {
    const auto found = server.window.find(key);
    if (found == server.window.end()) return std::nullopt;
    return found->second;
}

std::string text_of(double value, As as) {
    switch (as) {
        case As::count:
            return significant(value);
        case As::share:
            return significant(value * 100) + " %";
        case As::milliseconds:
            return significant(value * 1e3) + " ms";
    }
    return "";
}

}  // namespace

std::vector<ServerRow> power_rows(const PowerFigures& power) {
    std::vector<ServerRow> rows;
    const auto add = [&rows](const char* title, const std::optional<double>& value, const char* unit,
                             double scale = 1) {
        if (value) rows.push_back({title, fmt::format("{} {}", significant(*value * scale), unit)});
    };
    add("Mean power", power.mean_w, "W");
    add("Energy", power.energy_j, "J");
    add("Energy per output token", power.j_per_output_token, "J");
    add("Energy per token", power.j_per_token, "J");
    add("Output per power", power.output_tokens_per_s_per_w, "tok/s per W");
    add("GPU utilization", power.utilization, "%", 100);
    if (power.throttled_share && *power.throttled_share > 0)
        add("Clocks held down", power.throttled_share, "% of readings", 100);
    if (!power.note.empty()) rows.push_back({"Not measured", power.note});
    return rows;
}

std::vector<std::string> alert_texts(const RunResult& run) {
    std::vector<std::string> texts;
    for (const AlertResult& alert : run.alerts)
        if (alert.state == AlertState::firing || alert.state == AlertState::pending)
            texts.push_back(text_of(alert));
    return texts;
}

std::vector<ServerRow> server_rows(const ServerFigures& server) {
    std::vector<ServerRow> rows;
    for (const auto& [key, title, as, with_most] : kRows) {
        const auto value = at(server, key);
        if (!value) continue;
        std::string text = text_of(*value, as);
        const auto most = with_most ? at(server, std::string(key) + "_max") : std::nullopt;
        if (most) text += fmt::format(", at most {}", text_of(*most, as));
        rows.push_back({title, text});
    }
    if (const auto imbalance = at(server, "running_imbalance"); server.engines && imbalance)
        rows.push_back({"Engines", fmt::format("{}, the busiest with {} times the mean number of requests",
                                               *server.engines, significant(*imbalance))});
    std::string positions;
    for (const double share : server.accepted_per_position)
        positions += (positions.empty() ? "" : ", ") + text_of(share, As::share);
    if (!positions.empty()) rows.push_back({"Accepted by position in a draft", positions});
    return rows;
}

}  // namespace paretoken::reports
