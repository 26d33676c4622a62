#pragma once
// Runs a kernel of a PTX module on the host and reports its first fault and its costs. The thread blocks run
// one after another, in a random order that a seed determines, because a kernel must not depend on the order.
// A fault, such as an access out of bounds, ends the launch.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/launch_types.h"
#include "tests/virtual_gpu/memory.h"

namespace paretoken::virtual_gpu {

struct Module;  // tests/virtual_gpu/launch.cpp
struct Kernel;  // tests/virtual_gpu/program.h

/// The kernels of one PTX file. The constructor throws a RuntimeError that names the file and the line if it
/// does not support a part of the PTX, such as an instruction.
class LoadedModule {
  public:
    /// `ptx` is the text of the file and `file` its name, for messages.
    LoadedModule(std::string_view ptx, std::string file);
    ~LoadedModule();
    LoadedModule(LoadedModule&&) noexcept;
    LoadedModule& operator=(LoadedModule&&) noexcept;

    std::vector<KernelFacts> kernels() const;
    /// Returns null if there is no such kernel. The pointer is valid as long as the module exists, even if
    /// the module is moved.
    const Kernel* find(std::string_view mangled_name) const;
    /// The compute capability × 10 from .target in the PTX.
    int capability() const;

  private:
    std::unique_ptr<Module> module_;
};

KernelFacts facts_of(const Kernel& kernel);

/// Runs a launch. `parameters` is the parameter memory of the kernel, laid out as in the PTX: it has
/// KernelFacts::parameter_bytes bytes. Throws a RuntimeError if it has another size; faults of the kernel are
/// in the report. `memory` holds all memory that the kernel may access through pointers.
LaunchReport run(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                 Memory& memory, const LaunchSettings& settings = {});

}  // namespace paretoken::virtual_gpu
