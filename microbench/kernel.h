#pragma once
// The work that a row of the CPU suite times. Each thread goes round its own ring of memory, cut into windows
// of about 4 MiB, which are equal for all. Kernels that compute are checked before they are timed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace paretoken::microbench {

/// The work between two barriers: one contiguous part of the streamed operand, or pages of it in some order.
struct Window {
    const std::byte* data = nullptr;
    std::size_t size = 0;                       ///< bytes of memory it occupies
    std::uint64_t bytes = 0;                    ///< of these, bytes that a kernel must read (no padding)
    double flops = 0;                           ///< 2 per multiply-add
    std::span<const std::uint32_t> pages = {};  ///< if not empty, page p lies at data + p · page_size
    std::size_t page_size = 0;
};

class Kernel {
  public:
    virtual ~Kernel() = default;

    /// Allocates and fills the memory of thread `thread`. Must be called once, on the pinned thread that
    /// will use the memory, because memory lies near the CPU that touches it first.
    virtual void prepare(std::size_t thread) = 0;
    /// Fills the outputs with NaN, runs every variant on the first copy of the operand, and compares the
    /// outputs with the fp64 reference. Returns the error, or nothing. prepare() must be called before.
    virtual std::optional<std::string> check(std::size_t thread) = 0;

    /// Returns the number of variants of the same work; the fastest depends on the CPU. run() uses the
    /// first one until choose() selects another. No thread may work during a call of choose().
    virtual std::size_t variant_count() const { return 1; }
    virtual void choose(std::size_t) {}
    /// Returns how many bytes ahead of a read the chosen variant prefetches; 0 if it does not prefetch.
    virtual std::size_t prefetch_bytes() const { return 0; }

    virtual std::size_t window_count() const = 0;
    virtual Window window(std::size_t thread, std::size_t index) const = 0;
    virtual void run(std::size_t thread, std::size_t index) = 0;

    /// Runs the chosen variant on a part of the thread's operand that fits into the caches, to measure its
    /// speed without memory. Returns the floating-point operations, or 0 if the kernel has no such part.
    virtual double run_cached(std::size_t /*thread*/) { return 0; }
};

}  // namespace paretoken::microbench
