#include "cli/words/meant.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/nearest.h"

namespace paretoken::cli {
namespace {

/// Names that people try and no load generator has, with the option that they mean.
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
    TriedName{"--rps", "--request-rate"},
    TriedName{"--count", "--num-prompts"},
    TriedName{"--iterations", "--num-prompts"},
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
    TriedName{"--prompt", "--dataset-path"},
    TriedName{"--percentiles", "--metric-percentiles"},
};

}  // namespace

std::string meant_by(const std::string& name, const std::vector<std::string>& options) {
    const auto tried = std::ranges::find(kTriedNames, name, &TriedName::tried);
    if (tried != kTriedNames.end() && std::ranges::find(options, tried->meant) != options.end())
        return std::string(tried->meant);
    return nearest(name, options);
}

}  // namespace paretoken::cli
