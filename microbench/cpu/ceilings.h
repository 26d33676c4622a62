#pragma once
// Rows that measure the machine itself: reading memory, reading sets that partly stay in the caches,
// computing.
#include <cstdint>
#include <memory>
#include <vector>

#include "microbench/collect.h"
#include "microbench/cpu/flops.h"
#include "microbench/cpu/isa.h"
#include "microbench/kernel.h"
#include "microbench/threads.h"

namespace paretoken::microbench {

/// Random memory with nothing to compute: `total_bytes` over all threads.
class ReadMemory final : public Kernel {
  public:
    ReadMemory(std::uint64_t total_bytes, std::size_t threads, std::uint64_t seed);
    ~ReadMemory() override;

    void prepare(std::size_t thread) override;
    std::optional<std::string> check(std::size_t) override { return std::nullopt; }
    std::size_t window_count() const override;
    Window window(std::size_t thread, std::size_t index) const override;
    void run(std::size_t, std::size_t) override {}

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// The fastest instructions of this CPU for a kind.
std::vector<PairedWindow> measured_flops(PinnedThreads& threads, FlopsKind kind, double seconds);

}  // namespace paretoken::microbench
