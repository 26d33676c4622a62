#pragma once
// Intel's tile registers (AMX): eight of up to 16 rows of 64 bytes (Intel 64 and IA-32 Software Developer's
// Manual, volume 1, chapter 18). Kernels are templates over the class Tiles, for tests with an emulation.
#include <cstddef>
#include <cstdint>

#include "microbench/cpu/isa.h"

namespace paretoken::microbench {

inline constexpr int kTiles = 8;

/// Rows and bytes per row of each tile register, as LDTILECFG reads them; 0 rows: not used.
struct alignas(64) TileConfiguration {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};

    constexpr TileConfiguration& set(int tile, std::uint8_t row_count, std::uint16_t bytes_per_row) {
        rows[tile] = row_count;
        row_bytes[tile] = bytes_per_row;
        return *this;
    }
};
static_assert(sizeof(TileConfiguration) == 64);

#if defined(PARETOKEN_X86)

/// The calling thread's tile registers. Only for CPUs on which available(Isa::amx) holds.
class Tiles {
  public:
    explicit Tiles(const TileConfiguration& configuration) {
        asm volatile("ldtilecfg %0" : : "m"(configuration));
    }
    ~Tiles() { asm volatile("tilerelease"); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;

    template <int kTile>
    void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
    }
    /// Loads the rows, which lie `stride` bytes apart.
    template <int kTile>
    void load(const void* from, std::size_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
    }
    template <int kTile>
    void store(void* to, std::size_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
    }
    /// sum[m][n] += Σ over pairs of a[m][pair] · b[pair][n], where each element of a and b is two bf16.
    template <int kSum, int kA, int kB>
    void add_product_bf16() {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
    }
};

#endif

}  // namespace paretoken::microbench
