#include "cli/words/meant.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/nearest.h"

namespace paretoken::cli {
namespace {

/// Names that people try and no load generator has, with the option that they mean and its value if that
/// helps, or with a whole command. Of several rows, the first counts whose option the command has.
struct TriedName {
    std::string_view tried;
    std::string_view meant;
};
constexpr std::array kTriedNames = {
    TriedName{"--clients", "--concurrency"},
    TriedName{"--connections", "--concurrency"},
    TriedName{"--streams", "--concurrency"},
    TriedName{"--threads", "--concurrency"},
    TriedName{"--users", "--concurrency"},
    TriedName{"--vus", "--concurrency"},
    TriedName{"--qps", "--request-rate"},
    TriedName{"--qps", "--demand 50rps"},
    TriedName{"--rps", "--request-rate"},
    TriedName{"--rps", "--demand 50rps"},
    TriedName{"--request-rate", "--demand 50rps"},
    TriedName{"--count", "--num-prompts"},
    TriedName{"--iterations", "--num-prompts"},
    TriedName{"--prompts", "--num-prompts"},
    TriedName{"--requests", "--num-prompts"},
    TriedName{"--seconds", "--duration"},
    TriedName{"--time", "--duration"},
    TriedName{"--in-tokens", "--isl"},
    TriedName{"--input-length", "--isl"},
    TriedName{"--input-tokens", "--isl"},
    TriedName{"--prompt-len", "--isl"},
    TriedName{"--prompt-length", "--isl"},
    TriedName{"--prompt-tokens", "--isl"},
    TriedName{"--gen-tokens", "--osl"},
    TriedName{"--out-tokens", "--osl"},
    TriedName{"--output-length", "--osl"},
    TriedName{"--tokens", "--osl"},
    TriedName{"--key", "--api-key"},
    TriedName{"--token", "--api-key"},
    TriedName{"--gpu-name", "--gpu"},
    TriedName{"--gpu-type", "--gpu"},
    TriedName{"--slo-ttft", "--slo"},
    TriedName{"--max-ttft", "--slo"},
    TriedName{"--slo", "--alerts FILE (`paretoken help alerts` shows such a file)"},
    TriedName{"--goodput", "--alerts FILE (`paretoken help alerts` shows such a file)"},
    TriedName{"--prompt", "--dataset-path"},
    TriedName{"--percentiles", "--metric-percentiles"},
    TriedName{"--speed", "--arrivals trace:scale=.5 (twice as fast)"},
    TriedName{"--replay-speed", "--arrivals trace:scale=.5 (twice as fast)"},
    TriedName{"--trace-speed", "--arrivals trace:scale=.5 (twice as fast)"},
    TriedName{"--trace-speedup", "--arrivals trace:scale=.5 (twice as fast)"},
    TriedName{"--speedup", "--arrivals trace:scale=.5 (twice as fast)"},
    TriedName{"--find-max", "--search slo --slo ttft_p95:800"},
    TriedName{"--find-max", "paretoken sweep URL --search slo --slo ttft_p95:800"},
    TriedName{"--save-baseline", "paretoken baseline save NAME DIR"},
    TriedName{"--price-per-hour", "--price 2.50"},
    TriedName{"--price-per-hour", "paretoken report DIR --price 2.50"},
    TriedName{"--usd-per-h", "--price 2.50"},
    TriedName{"--usd-per-h", "paretoken report DIR --price 2.50"},
    TriedName{"--usd-per-hour", "--price 2.50"},
    TriedName{"--usd-per-hour", "paretoken report DIR --price 2.50"},
    TriedName{"--price", "paretoken report DIR --price 2.50"},
    TriedName{"--out", "paretoken report DIR DIR --out FILE.html"},
};

/// Returns whether a command with these options can be told the name.
bool can_be_told(std::string_view meant, const std::vector<std::string>& options) {
    return !meant.starts_with('-') ||
           std::ranges::find(options, meant.substr(0, meant.find(' '))) != options.end();
}

}  // namespace

std::string meant_by(const std::string& name, const std::vector<std::string>& options) {
    for (const auto& [tried, meant] : kTriedNames)
        if (tried == name && can_be_told(meant, options)) return std::string(meant);
    return nearest(name, options);
}

}  // namespace paretoken::cli
