#pragma once
// The kernels of a folder of PTX files, <folder>/sm_80/*.ptx, <folder>/sm_90/*.ptx: found by the name under
// which nvcc's host code registers them, read from their file when one of it is first asked for.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/launch.h"

namespace paretoken::virtual_gpu {

/// Without the digits by which nvcc tells files' unnamed namespaces apart: they depend on where a source
/// lies.
std::string settled_name(std::string_view mangled);

/// What a program reads: demangled, without the namespaces of the project.
std::string readable_name(std::string_view mangled);

/// Names of the kernels that a PTX file defines, as written.
std::vector<std::string> entries_of(std::string_view ptx);

struct FoundKernel {
    const Kernel* kernel = nullptr;
    KernelFacts facts;
};

class KernelFolder {
  public:
    /// Those of the highest architecture that is not above `capability`, as a driver would choose.
    /// RuntimeError where there is none.
    KernelFolder(const std::filesystem::path& folder, int capability);

    /// Null: no file has it. RuntimeError when its file holds what is not understood.
    const FoundKernel* find(std::string_view mangled);

  private:
    struct File {
        std::filesystem::path path;
        std::unique_ptr<LoadedModule> module;
    };
    struct Entry {
        std::size_t file = 0;
        std::string name;  ///< as written
        FoundKernel found = {};
    };
    std::vector<File> files_;
    std::map<std::string, Entry, std::less<>> entries_;  ///< by settled name
};

}  // namespace paretoken::virtual_gpu
