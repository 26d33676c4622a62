#pragma once
// The kernels of a folder of PTX files, <folder>/sm_80/*.ptx, <folder>/sm_90/*.ptx. A kernel is found by the
// name under which nvcc's host code registers it. A file is parsed when one of its kernels is first needed.
// Several files may define the same kernel: nvcc writes an instance of a kernel template into every file that
// launches it. The definition in the file whose name comes first is then used.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/launch.h"

namespace paretoken::virtual_gpu {

/// Returns a mangled name without the hashes by which nvcc distinguishes the unnamed namespaces of different
/// files. The hashes depend on the folder of a source file; the name of the file remains.
std::string settled_name(std::string_view mangled);

/// The name of a kernel in reports: demangled, without the namespaces of the project's kernels.
std::string readable_name(std::string_view mangled);

/// The mangled names of the kernels that the text of a PTX file defines.
std::vector<std::string> entries_of(std::string_view ptx);

struct FoundKernel {
    const Kernel* kernel = nullptr;
    KernelFacts facts;
};

class KernelFolder {
  public:
    /// Takes the kernels for the highest architecture that is not above `capability` (compute capability ×
    /// 10), as a CUDA driver would. Throws a RuntimeError if the folder has no such architecture.
    KernelFolder(const std::filesystem::path& folder, int capability);

    /// Returns null if no file has the kernel. Throws a RuntimeError if its file contains PTX that is not
    /// supported. The result is valid as long as this object.
    const FoundKernel* find(std::string_view mangled);

  private:
    struct File {
        std::filesystem::path path;
        std::unique_ptr<LoadedModule> module;  ///< null until one of its kernels is needed
    };
    struct Entry {
        std::size_t file = 0;  ///< index in files_
        std::string name;      ///< mangled, as in the PTX
        FoundKernel found = {};
    };
    std::vector<File> files_;
    std::map<std::string, Entry, std::less<>> entries_;  ///< key: settled_name
};

}  // namespace paretoken::virtual_gpu
