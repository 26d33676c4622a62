#include "tests/virtual_gpu/launch.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "tests/virtual_gpu/block.h"
#include "tests/virtual_gpu/program.h"
#include "tests/virtual_gpu/ptx.h"

namespace paretoken::virtual_gpu {

struct Module {
    int capability = 0;
    std::vector<Kernel> kernels;
};

LoadedModule::LoadedModule(std::string_view ptx, std::string file) : module_(std::make_unique<Module>()) {
    const ModuleText text = parse_ptx(ptx, std::move(file));
    module_->capability = text.capability;
    module_->kernels.reserve(text.kernels.size());
    for (const KernelText& kernel : text.kernels) module_->kernels.push_back(assembled(text, kernel));
}
LoadedModule::~LoadedModule() = default;
LoadedModule::LoadedModule(LoadedModule&&) noexcept = default;
LoadedModule& LoadedModule::operator=(LoadedModule&&) noexcept = default;

std::vector<KernelFacts> LoadedModule::kernels() const {
    std::vector<KernelFacts> facts;
    for (const Kernel& kernel : module_->kernels) facts.push_back(facts_of(kernel));
    return facts;
}

const Kernel* LoadedModule::find(std::string_view mangled_name) const {
    for (const Kernel& kernel : module_->kernels) {
        if (kernel.name == mangled_name) return &kernel;
    }
    return nullptr;
}

int LoadedModule::capability() const {
    return module_->capability;
}

KernelFacts facts_of(const Kernel& kernel) {
    return {.name = kernel.name,
            .static_shared = kernel.static_shared,
            .parameter_bytes = kernel.parameter_bytes,
            .parameters = kernel.parameters,
            .max_threads = kernel.max_threads,
            .line = kernel.line};
}

LaunchReport run(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                 Memory& memory, const LaunchSettings& settings) {
    if (parameters.size() != kernel.parameter_bytes) {
        throw RuntimeError(fmt::format("{}: {} bytes of parameters were given, but {} were expected",
                                       kernel.name, parameters.size(), kernel.parameter_bytes));
    }
    LaunchReport report;
    memory.forget_touched();
    const std::uint64_t blocks = static_cast<std::uint64_t>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
    std::vector<std::uint32_t> order(blocks);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    Random random(settings.seed);
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.below(left)]);
    try {
        Block block(kernel, shape, parameters, memory, settings, report);
        for (const std::uint32_t index : order) {
            block.run({index % shape.grid[0], index / shape.grid[0] % shape.grid[1],
                       index / shape.grid[0] / shape.grid[1]});
        }
    } catch (const FaultFound& found) {
        report.fault = found.fault;
    }
    return report;
}

}  // namespace paretoken::virtual_gpu
