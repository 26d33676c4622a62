#include "reports/pages/server_rows.h"

#include <fmt/format.h>

#include <optional>

#include "reports/pages/table.h"

namespace paretoken::reports {
namespace {

enum class As { count, share, milliseconds };

struct Row {
    const char* key;
    const char* title;
    As as;
    bool with_most = false;  ///< of a gauge: the highest reading, too
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
    return rows;
}

}  // namespace paretoken::reports
