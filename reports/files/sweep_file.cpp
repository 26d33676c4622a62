#include "reports/files/sweep_file.h"

#include <fmt/format.h>

#include <array>

namespace paretoken::reports {
namespace {

constexpr std::array<std::string_view, 4> kStateNames{"pending", "running", "done", "failed"};

}  // namespace

std::string_view name_of(PointState state) {
    return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<PointState> point_state_named(std::string_view name) {
    for (std::size_t i = 0; i < kStateNames.size(); ++i)
        if (kStateNames[i] == name) return static_cast<PointState>(i);
    return std::nullopt;
}

std::string load_label_of(const RunResult& result) {
    if (result.request_rate) return fmt::format("{:g} req/s", *result.request_rate);
    if (result.concurrency) return fmt::format("c={}", *result.concurrency);
    return "all at once";
}

SweepPoint sweep_point_of(const RunResult& result, std::string directory, double load) {
    return {.directory = std::move(directory),
            .load_label = load_label_of(result),
            .load = load,
            .state = PointState::done,
            .error = {},
            .requests_per_s = result.throughput.at(figure::kRequests),
            .output_tokens_per_s = result.throughput.at(figure::kOutputTokens),
            .interactivity_tok_per_s = result.percentile("interactivity_tok_per_s", .9),
            .ttft_p50_s = result.percentile(headline_key("ttft", result.open_loop()), .5),
            .ttft_p99_s = result.percentile(headline_key("ttft", result.open_loop()), .99),
            .itl_p50_s = result.percentile("itl_s", .5),
            .itl_p99_s = result.percentile("itl_s", .99),
            .requests = result.counts.requests,
            .failed = result.counts.failed,
            .verdict = result.validity.verdict};
}

}  // namespace paretoken::reports
