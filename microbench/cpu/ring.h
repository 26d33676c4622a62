#pragma once
// A thread's share of the working set: copies of one operand, end to end, in the thread's own memory, cut
// into pieces (the memory of one kernel call) and windows (several pieces, timed together).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/cpu/memory.h"
#include "microbench/kernel.h"

namespace paretoken::microbench {

inline constexpr std::size_t kWindowBytes = 4 << 20;
/// The bytes of the part of an operand that Kernel::run_cached() (microbench/kernel.h) uses, at least one
/// unit of it. They fit beside activations in the L2 of a server's core.
inline constexpr std::size_t kCachedBytes = 256 << 10;

/// A contiguous part of the operand; pieces follow each other without gaps.
struct Piece {
    std::size_t size = 0;     ///< bytes of memory
    std::uint64_t bytes = 0;  ///< bytes without padding
    double flops = 0;

    bool operator==(const Piece&) const = default;
};

class Ring {
  public:
    /// Holds whole pieces of at most `bytes` in total, but at least one piece. Each window has at least the
    /// smaller of `window_bytes` and a quarter of the ring; pieces that remain at the end and are too small
    /// for a window belong to none. Allocates nothing yet. `pieces` must outlive the ring.
    Ring(std::span<const Piece> pieces, std::size_t bytes, std::size_t window_bytes = kWindowBytes);

    /// Allocates the memory and fills it with copies of `operand`, the last of which may be cut, followed
    /// by 128 bytes of zeros. Must be called on the thread that will read the memory.
    void fill(std::span<const std::byte> operand);

    std::size_t size() const { return size_; }
    std::size_t window_count() const { return windows_.size(); }
    Window window(std::size_t index) const;
    /// Calls `work(piece index, its memory)` for each piece of a window.
    template <class Work>
    void for_each(std::size_t index, Work work) const {
        const Stretch& stretch = windows_[index];
        const std::byte* at = memory_.data() + stretch.offset;
        for (std::size_t i = 0; i < stretch.count; ++i) {
            const std::size_t piece = (stretch.first + i) % pieces_.size();
            work(piece, at);
            at += pieces_[piece].size;
        }
    }

    /// Return the number of pieces of the first copy that are in the ring, which may be too small for all,
    /// and the beginning of the ring's memory, where that copy begins; the latter is valid after fill().
    std::size_t pieces_of_first_copy() const;
    std::byte* first_copy() { return memory_.data(); }
    const std::byte* first_copy() const { return memory_.data(); }

  private:
    struct Stretch {
        std::size_t first = 0;  // piece, counted round the ring
        std::size_t count = 0;
        std::size_t offset = 0;
        std::size_t size = 0;
    };
    std::span<const Piece> pieces_;
    std::size_t size_ = 0;
    std::size_t piece_count_ = 0;
    std::vector<Stretch> windows_;
    HugeMemory memory_;
};

}  // namespace paretoken::microbench
