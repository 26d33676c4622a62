#pragma once
// The registers of a warp: a slot holds 32 cells, of 4 bytes each or, for 64-bit values, of 8. A 16-bit value
// lies in the low half of its cell, two of them in one of 4 bytes; a predicate is a bit per lane.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace paretoken::virtual_gpu {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffff;

/// Where a register's cells begin, in cells of 4 bytes; of a predicate, which one.
using Slot = std::int32_t;
inline constexpr Slot kNoSlot = -1;

class Lanes {
  public:
    Lanes(std::size_t cells, std::size_t predicates) : cells_(cells), predicates_(predicates) {}

    template <class Value>
    Value get(Slot slot, int lane) const {
        Value value;
        std::memcpy(static_cast<void*>(&value), cell<sizeof(Value)>(slot, lane), sizeof value);
        return value;
    }
    /// Values of less than 4 bytes fill their cell's high part with zeros.
    template <class Value>
    void set(Slot slot, int lane, Value value) {
        if constexpr (sizeof(Value) < 4) {
            std::uint32_t wide = 0;
            std::memcpy(&wide, &value, sizeof value);
            std::memcpy(cell<4>(slot, lane), &wide, 4);
        } else {
            std::memcpy(cell<sizeof(Value)>(slot, lane), &value, sizeof value);
        }
    }
    std::uint32_t& predicate(Slot slot) { return predicates_[static_cast<std::size_t>(slot)]; }
    std::uint32_t predicate(Slot slot) const { return predicates_[static_cast<std::size_t>(slot)]; }

    /// All lanes' values at once, so that loops over them can be of vectors.
    template <class Value>
    void get_all(Slot slot, Value (&values)[kLanes]) const {
        if constexpr (sizeof(Value) < 4) {
            const std::uint32_t* const cells = cells_.data() + slot;
            for (int lane = 0; lane < kLanes; ++lane)
                std::memcpy(static_cast<void*>(&values[lane]), cells + lane, sizeof(Value));
        } else {
            std::memcpy(static_cast<void*>(values), cells_.data() + slot, sizeof values);
        }
    }
    /// Those of the active lanes.
    template <class Value>
    void set_all(Slot slot, const Value (&values)[kLanes]) {
        if (active != kAllLanes || sizeof(Value) < 4) {
            for (int lane = 0; lane < kLanes; ++lane) {
                if ((active >> lane & 1) != 0) set(slot, lane, values[lane]);
            }
        } else {
            std::memcpy(cells_.data() + slot, values, sizeof values);
        }
    }

    std::uint32_t active = kAllLanes;  ///< lanes that the current instruction is for
    std::uint32_t bereft = 0;          ///< of an exchange: lanes that asked one which does not take part

  private:
    template <std::size_t kBytes>
    const std::uint32_t* cell(Slot slot, int lane) const {
        return cells_.data() + slot + lane * (kBytes == 8 ? 2 : 1);
    }
    template <std::size_t kBytes>
    std::uint32_t* cell(Slot slot, int lane) {
        return cells_.data() + slot + lane * (kBytes == 8 ? 2 : 1);
    }

    std::vector<std::uint32_t> cells_;
    std::vector<std::uint32_t> predicates_;
};

template <class Act>
void for_lanes(std::uint32_t lanes, Act act) {
    if (lanes == kAllLanes) {
        for (int lane = 0; lane < kLanes; ++lane) act(lane);
        return;
    }
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) act(__builtin_ctz(left));
}

}  // namespace paretoken::virtual_gpu
