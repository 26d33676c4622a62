#pragma once
// Helpers of the tests of the weight kernels: the functions of an emulated machine (emulated_machine.h) that
// only the weight kernels need, operands as the words that the kernels load, and thread blocks that run one
// after the other in random order.
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/random.h"
#include "microbench/gpu/weights/weights_body.h"
#include "tests/microbench/gpu/emulated_machine.h"

namespace paretoken::microbench::gpu {

/// The emulation of the machine in weights.cuh, which extends the one in device/machine.cuh.
template <bool kByShift>
class EmulatedWeightsMachine : public EmulatedMachine<kByShift> {
  public:
    using EmulatedMachine<kByShift>::EmulatedMachine;

    void copy_streamed(std::byte* to, const Words* from) const {
        this->copy_async(to, reinterpret_cast<const std::byte*>(from), true);
    }
    void copy_word(std::byte* to, const std::uint32_t* from) const {
        this->copy_bytes(to, reinterpret_cast<const std::byte*>(from), sizeof *from);
    }
    template <int kPending>
    void wait_until_pending() const {
        this->wait_for_copies(kPending);
    }
    template <class Value>
    Value load_cached(const Value* at) const {
        return *at;
    }
    std::uint32_t add_halves(std::uint32_t x, std::uint32_t y) const {
        return multiply_add_halves(x, both_halves(kFp16One), y);
    }
    std::uint32_t multiply_add_halves(std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
        const auto half = [&](int shift) {
            return static_cast<float>(value_of_fp16(x >> shift & 0xffff) *
                                          value_of_fp16(y >> shift & 0xffff) +
                                      value_of_fp16(z >> shift & 0xffff));
        };
        return this->template pack<false>(half(0), half(16));
    }
    float float_of_half(std::uint32_t bits) const { return static_cast<float>(value_of_fp16(bits)); }
    float float_of_bits(std::uint32_t bits) const { return std::bit_cast<float>(bits); }
};

/// Return operands in words of 16 bytes. The number of values must fill whole words.
inline std::vector<Words> words_of(const std::vector<std::uint32_t>& values) {
    std::vector<Words> words(values.size() / 4);
    for (std::size_t i = 0; i < values.size(); ++i) words[i / 4].w[i % 4] = values[i];
    return words;
}
inline std::vector<Words> words_of(const std::vector<std::uint16_t>& values) {
    std::vector<Words> words(values.size() / 8);
    for (std::size_t i = 0; i < values.size(); ++i)
        words[i / 8].w[i % 8 / 2] |= std::uint32_t{values[i]} << (16 * (i % 2));
    return words;
}

/// Runs `body(block, lane, piece)` on every lane of every thread block of a launch. `lane` is the index of
/// the lane in its block of `lanes` lanes, and `piece` the index of the block. The blocks run one after the
/// other in random order.
template <class Body>
void run_thread_blocks(std::uint32_t thread_blocks, int lanes, std::size_t shared_bytes, std::uint64_t seed,
                       Body body) {
    std::vector<int> order(thread_blocks);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    Random random(seed);
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.below(left)]);
    for (const int piece : order) {
        const auto block = std::make_unique<EmulatedBlock>(shared_bytes, random(), lanes);
        block->run([&](int lane) { body(*block, lane, piece); });
    }
}

}  // namespace paretoken::microbench::gpu
