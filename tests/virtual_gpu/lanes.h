#pragma once
// The registers of a warp, which has 32 threads (lanes). A register has 32 cells, one per lane; a cell has 4
// bytes, or 8 bytes for 64-bit values. A 16-bit value lies in the low half of a 4-byte cell; a pair of 16-bit
// values fills it. A predicate register holds a truth value per lane, as one bit each.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace paretoken::virtual_gpu {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffff;  ///< a set of lanes has one bit per lane

/// The position of a register: the index of its first cell, counted in cells of 4 bytes. For a predicate
/// register, its index among the predicate registers.
using Slot = std::int32_t;
inline constexpr Slot kNoSlot = -1;

class Lanes {
  public:
    /// `cells` is the number of 4-byte cells of all registers together.
    Lanes(std::size_t cells, std::size_t predicates) : cells_(cells), predicates_(predicates) {}

    template <class Value>
    Value get(Slot slot, int lane) const {
        Value value;
        std::memcpy(static_cast<void*>(&value), cell<sizeof(Value)>(slot, lane), sizeof value);
        return value;
    }
    /// Sets the cell of one lane. A value of less than 4 bytes is extended with zeros to the whole cell.
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
    /// Returns a predicate register; bit i is the value of lane i.
    std::uint32_t& predicate(Slot slot) { return predicates_[static_cast<std::size_t>(slot)]; }
    std::uint32_t predicate(Slot slot) const { return predicates_[static_cast<std::size_t>(slot)]; }

    /// Reads the values of all lanes into an array, so that the compiler can vectorise loops over them.
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
    /// Writes the values of the active lanes.
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

    std::uint32_t active = kAllLanes;  ///< lanes that execute the current instruction
    std::uint32_t bereft = 0;  ///< after a shuffle: lanes that read from a lane that did not take part

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

/// Calls act(lane) for each lane whose bit is set.
template <class Act>
void for_lanes(std::uint32_t lanes, Act act) {
    if (lanes == kAllLanes) {
        for (int lane = 0; lane < kLanes; ++lane) act(lane);
        return;
    }
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) act(__builtin_ctz(left));
}

}  // namespace paretoken::virtual_gpu
