// Measures the opening of a file of requests: every row is checked, the file is hashed and its rows are
// indexed. items_per_second counts rows. `memory_mb`: growth of the process without the page cache.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "datasets/catalog.h"

namespace {

using namespace paretoken;
namespace fs = std::filesystem;

/// Returns the resident memory of this process in bytes.
double resident() {
    std::ifstream statm("/proc/self/statm");
    double size = 0;
    double pages = 0;
    statm >> size >> pages;
    return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// A file of rows of 300 bytes.
class RowsOnDisk {
  public:
    explicit RowsOnDisk(std::int64_t rows)
        : path_((fs::temp_directory_path() / fmt::format("paretoken-rows-{}", ::getpid())).string()) {
        constexpr std::size_t kBytes = 300;
        std::ofstream file(path_, std::ios::binary);
        for (std::int64_t i = 0; i < rows; ++i) {
            std::string row =
                fmt::format("{{\"at_s\": {}.5, \"output_tokens\": {}, \"prompt\": \"", i, 1 + i % 999);
            row.resize(kBytes - 3, 'w');
            file << row << "\"}\n";
        }
    }
    ~RowsOnDisk() { fs::remove(path_); }
    RowsOnDisk(const RowsOnDisk&) = delete;
    RowsOnDisk& operator=(const RowsOnDisk&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

void index_of_rows(benchmark::State& state) {
    const RowsOnDisk rows(state.range(0));
    double grown = 0;
    for (auto _ : state) {
        const double before = resident();
        const auto dataset = datasets::make_dataset({.spec = {"custom", {}}, .path = rows.path()});
        grown = resident() - before;
        if (dataset->size() != static_cast<std::uint64_t>(state.range(0)))
            state.SkipWithError("rows are missing");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
    state.counters["memory_mb"] = grown / 1e6;
}
BENCHMARK(index_of_rows)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
