#include "microbench/cpu/memory.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"

namespace paretoken::microbench {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

struct Mapping {
    void* address = nullptr;
    std::size_t size = 0;
};

/// Memory that was given back: at most one mapping for each CPU.
class SpareMappings {
  public:
    /// Takes the mapping of this CPU if it is large enough, and unmaps it otherwise; empty if there is none.
    Mapping take(int cpu, std::size_t least) {
        const std::scoped_lock lock(mutex_);
        const auto found = by_cpu_.find(cpu);
        if (found == by_cpu_.end()) return {};
        const Mapping spare = found->second;
        by_cpu_.erase(found);
        if (spare.size >= least) return spare;
        munmap(spare.address, spare.size);
        return {};
    }

    /// Keeps the larger of two mappings of a CPU and unmaps the other.
    void give(int cpu, Mapping mapping) {
        const std::scoped_lock lock(mutex_);
        Mapping& kept = by_cpu_[cpu];
        if (kept.size < mapping.size) std::swap(kept, mapping);
        if (mapping.address != nullptr) munmap(mapping.address, mapping.size);
    }

  private:
    std::mutex mutex_;
    std::map<int, Mapping> by_cpu_;
};

SpareMappings& spare_mappings() {
    static SpareMappings spares;
    return spares;
}

Mapping new_mapping(std::size_t size) {
    void* const address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        throw RuntimeError(fmt::format("cannot map {} MiB of memory ({}): use a smaller --working-set",
                                       size >> 20, std::strerror(errno)));
    return {address, size};
}

}  // namespace

HugeMemory::HugeMemory(std::size_t size) : cpu_(sched_getcpu()), size_(size) {
    Mapping mapping = spare_mappings().take(cpu_, size + kHugePage);
    if (mapping.address == nullptr) mapping = new_mapping(size + kHugePage);
    mapping_ = mapping.address;
    mapped_ = mapping.size;
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    data_ = static_cast<std::byte*>(mapping_) + (kHugePage - address % kHugePage) % kHugePage;
    madvise(data_, size_, MADV_HUGEPAGE);  // may be refused: slower, but still right
}

HugeMemory::~HugeMemory() {
    if (mapping_ != nullptr) spare_mappings().give(cpu_, {mapping_, mapped_});
}

HugeMemory::HugeMemory(HugeMemory&& other) noexcept {
    *this = std::move(other);
}

HugeMemory& HugeMemory::operator=(HugeMemory&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(cpu_, other.cpu_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

std::optional<double> huge_page_share() {
    std::ifstream file("/proc/self/smaps_rollup");
    std::optional<double> all, huge;
    std::string line;
    std::getline(file, line);  // the range of addresses
    std::string key, unit;
    double kib = 0;
    while (file >> key >> kib >> unit) {
        if (key == "Anonymous:") all = kib;
        if (key == "AnonHugePages:") huge = kib;
    }
    if (!all || !huge || *all <= 0) return std::nullopt;
    return *huge / *all;
}

}  // namespace paretoken::microbench
