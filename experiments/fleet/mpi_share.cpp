#include "experiments/fleet/mpi_share.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "core/error.h"
#include "experiments/server/child_process.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugIn = "paretoken-mpi.so";
constexpr std::size_t kLongestText = 8192;

fs::path plug_in() {
    if (auto found = installed_file(own_directory(), kPlugIn)) return *std::move(found);
    throw UsageError(fmt::format(
        "mpirun started this process, and {} is not installed, because paretoken was built without MPI; give "
        "--rendezvous HOST:PORT or a directory, or build it where libopenmpi-dev is installed",
        kPlugIn));
}

}  // namespace

std::string shared_by_mpi(const std::string& text) {
    const fs::path path = plug_in();
    // Open MPI opens components of its own, which need its symbols. The plug-in stays loaded.
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* const symbol = handle == nullptr ? nullptr : dlsym(handle, "paretoken_mpi_share");
    if (symbol == nullptr)
        throw RuntimeError(
            fmt::format("cannot load {}: {}; is the MPI that it was built with installed? Or "
                        "give --rendezvous",
                        path.string(), dlerror()));
    std::array<char, kLongestText> shared{};
    if (text.size() + 1 > shared.size())
        throw RuntimeError("the addresses of this host are too long for MPI");
    text.copy(shared.data(), text.size());
    const int failed = reinterpret_cast<MpiShare>(symbol)(shared.data(), static_cast<int>(shared.size()));
    if (failed != 0) throw RuntimeError(fmt::format("MPI failed with code {}; give --rendezvous", failed));
    return shared.data();
}

}  // namespace paretoken::experiments
