#pragma once
// The work of the rows that measure the machine itself: reading memory and caches, and computing.
#include <cstdint>
#include <memory>
#include <vector>

#include "microbench/collect.h"
#include "microbench/cpu/flops.h"
#include "microbench/kernel.h"
#include "microbench/threads.h"

namespace paretoken::microbench {

/// The options of a row that only reads memory. The threads share `total_bytes` of memory equally. Every
/// thread's share holds copies of one random piece of at most 64 KiB.
struct ReadOptions {
    std::uint64_t total_bytes = 0;
    std::size_t threads = 1;
    std::uint64_t seed = 0;
    std::uint64_t window_bytes = 0;  ///< window of all threads together; 0 means 4 MiB for each thread
    std::size_t page_bytes =
        0;  ///< size of pages in random order, whole KiB that divide 64 KiB; 0 means in order
};

/// Memory of random numbers: one ring for each thread, cut into windows. prepare() fills a thread's ring and
/// must come first. run() does nothing: the timing functions read the windows.
class ReadMemory final : public Kernel {
  public:
    explicit ReadMemory(const ReadOptions& options);
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

/// Runs the variants of `kind` that this CPU supports in turn on all threads for about `seconds`, and returns
/// the windows of the fastest, with the operations of all threads, no bytes and no ceiling.
std::vector<PairedWindow> measured_flops(PinnedThreads& threads, FlopsKind kind, double seconds);

}  // namespace paretoken::microbench
