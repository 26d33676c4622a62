#pragma once
// Emulates a thread block on the host. Every lane (thread of the block) is a fiber that runs the code of the
// kernel. Lanes wait for one another where the hardware synchronises them: in matrix instructions, shuffles
// and barriers. Between these points they run one after another, in random order. Asynchronous copies
// complete as late as the kernel's waits allow, and fill their destination with invalid bytes until then, so
// that a missing wait or barrier gives a wrong result. Register contents follow the PTX manual and are
// implemented independently of mma.h.
#include <ucontext.h>

#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/random.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/formats/dtypes.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define PARETOKEN_FIBERS_UNDER_ASAN 1
#endif

namespace paretoken::microbench::gpu {

/// The lanes of a thread block, their shared memory, and the order in which they run.
class EmulatedBlock {
  public:
    /// `lanes` is a multiple of 32. `seed` determines the order in which they run. Shared memory initially
    /// holds bytes 0xff.
    EmulatedBlock(std::size_t shared_bytes, std::uint64_t seed, int lanes = 128)
        : memory_(shared_bytes + 128, std::byte{0xff}),
          random_(seed),
          lane_count_(lanes),
          lanes_(static_cast<std::size_t>(lanes)) {
        void* at = memory_.data();
        std::size_t space = memory_.size();
        shared_ = static_cast<std::byte*>(std::align(128, shared_bytes, at, space));
    }
    EmulatedBlock(const EmulatedBlock&) = delete;
    EmulatedBlock& operator=(const EmulatedBlock&) = delete;

    std::byte* shared() const { return shared_; }

    /// Runs `body(index of the lane in the block)` on every lane until it returns. Throws std::logic_error if
    /// lanes wait for one another forever, for example because they wait in different instructions.
    void run(const std::function<void(int)>& body) {
        body_ = &body;
        for (int i = 0; i < lane_count_; ++i) start(i);
        std::vector<int> order(static_cast<std::size_t>(lane_count_));
        for (int i = 0; i < lane_count_; ++i) order[static_cast<std::size_t>(i)] = i;
        while (!all_done()) {
            for (std::size_t left = order.size(); left > 1; --left) {
                std::swap(order[left - 1], order[random_.below(left)]);
            }
            if (rounds_held_-- == 0) hold_a_warp();
            if (advance(order, held_warp_)) continue;
            rounds_held_ = 0;  // the other lanes wait for the held warp
            if (!advance(order, kNoWarp)) throw std::logic_error("lanes wait for one another forever");
        }
    }

    /// Synchronises the calling lane, whose index in the block is `index`. Returns when all lanes of its
    /// warp, or of the block, have called it with the same `name`, which is compared as a pointer.
    void meet(int index, const char* name, bool whole_block = false) {
        Lane& lane = lane_of(index);
        lane.waiting = name;
        const int first = whole_block ? 0 : index / 32 * 32;
        const int last = whole_block ? lane_count_ : first + 32;
        bool all = true;
        for (int i = first; i < last; ++i) all &= lane_of(i).waiting == name;
        if (all) {
            for (int i = first; i < last; ++i) lane_of(i).waiting = nullptr;
        }
        suspend(lane);
    }

    /// `show` stores the value that lane `index` gives to the other lanes in its next call of `meet`. After
    /// that call, `shown` returns to lane `index` the value that lane `of` gave.
    template <class Value>
    void show(int index, const Value& value) {
        Lane& lane = lane_of(index);
        ++lane.shown;
        static_assert(sizeof value <= sizeof lane.slots[0]);
        std::memcpy(lane.slots[lane.shown % 2].data(), &value, sizeof value);
    }
    template <class Value>
    Value shown(int index, int of) {
        Value value;
        std::memcpy(&value, shown_words(index, of), sizeof value);
        return value;
    }
    const std::uint32_t* shown_words(int index, int of) {
        return lane_of(of).slots[lane_of(index).shown % 2].data();
    }

    /// An asynchronous copy to shared memory.
    struct Copy {
        std::byte* to;
        const std::byte* from;  ///< null: the copy writes zeros
        std::size_t bytes = 16;
    };
    /// Starts a copy by lane `index`.
    void begin_copy(int index, const Copy& copy) {
        std::memset(copy.to, 0xff, copy.bytes);
        lane_of(index).open.push_back(copy);
    }
    /// Makes one group of the copies that a lane has started since its last call.
    void commit(int index) {
        Lane& lane = lane_of(index);
        lane.groups.push_back(std::move(lane.open));
        lane.open.clear();
    }
    /// Completes all but the newest `pending` groups of a lane.
    void wait(int index, int pending) {
        auto& groups = lane_of(index).groups;
        for (; static_cast<int>(groups.size()) > pending; groups.pop_front()) {
            for (const Copy& copy : groups.front()) {
                if (copy.from != nullptr) {
                    std::memcpy(copy.to, copy.from, copy.bytes);
                } else {
                    std::memset(copy.to, 0, copy.bytes);
                }
            }
        }
    }

  private:
    static constexpr std::size_t kStackBytes = 256 << 10;

    struct Lane {
        ucontext_t context{};
        std::unique_ptr<std::byte[]> stack;
        int index = 0;
        EmulatedBlock* block = nullptr;
        bool done = false;
        const char* waiting = nullptr;
        std::array<std::array<std::uint32_t, 8>, 2> slots{};
        unsigned shown = 0;
        std::vector<Copy> open;
        std::deque<std::vector<Copy>> groups;
        void* fake_stack = nullptr;
    };

    static constexpr int kNoWarp = -1;

    /// Stops one warp, or sometimes none, for a random number of rounds, because the warps of a GPU do not
    /// run in step.
    void hold_a_warp() {
        const auto choices = static_cast<std::uint64_t>(lane_count_ / 32 + 1);
        held_warp_ = static_cast<int>(random_.below(choices)) + kNoWarp;
        rounds_held_ = 1 + static_cast<int>(random_.below(200));
    }

    /// Runs every lane that is not waiting and not in warp `held`, until its next call of `meet`. Returns
    /// false if there was no such lane.
    bool advance(const std::vector<int>& order, int held) {
        bool ran = false;
        for (const int i : order) {
            Lane& lane = lane_of(i);
            if (lane.done || lane.waiting != nullptr || i / 32 == held) continue;
            resume(lane);
            ran = true;
        }
        return ran;
    }

    Lane& lane_of(int index) { return lanes_[static_cast<std::size_t>(index)]; }
    bool all_done() const {
        for (const Lane& lane : lanes_) {
            if (!lane.done) return false;
        }
        return true;
    }

    void start(int index) {
        Lane& lane = lane_of(index);
        if (!lane.stack) lane.stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
        lane.index = index;
        lane.block = this;
        lane.done = false;
        getcontext(&lane.context);
        lane.context.uc_stack.ss_sp = lane.stack.get();
        lane.context.uc_stack.ss_size = kStackBytes;
        lane.context.uc_link = nullptr;
        const auto at = reinterpret_cast<std::uintptr_t>(&lane);
        makecontext(&lane.context, reinterpret_cast<void (*)()>(&EmulatedBlock::enter), 2,
                    static_cast<unsigned>(at >> 32), static_cast<unsigned>(at));
    }

    static void enter(unsigned high, unsigned low) {
        auto& lane = *reinterpret_cast<Lane*>(static_cast<std::uintptr_t>(high) << 32 | low);
        EmulatedBlock& block = *lane.block;
        block.arrived_on_fiber(lane);
        (*block.body_)(lane.index);
        lane.done = true;
        block.suspend(lane);
    }

#if defined(PARETOKEN_FIBERS_UNDER_ASAN)
    void arrived_on_fiber(Lane& lane) {
        __sanitizer_finish_switch_fiber(lane.fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
    }
    void resume(Lane& lane) {
        __sanitizer_start_switch_fiber(&scheduler_fake_stack_, lane.stack.get(), kStackBytes);
        swapcontext(&scheduler_, &lane.context);
        __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
    }
    void suspend(Lane& lane) {
        __sanitizer_start_switch_fiber(lane.done ? nullptr : &lane.fake_stack, scheduler_stack_,
                                       scheduler_stack_bytes_);
        swapcontext(&lane.context, &scheduler_);
        arrived_on_fiber(lane);
    }
    void* scheduler_fake_stack_ = nullptr;
    const void* scheduler_stack_ = nullptr;
    std::size_t scheduler_stack_bytes_ = 0;
#else
    void arrived_on_fiber(Lane&) {}
    void resume(Lane& lane) {
        swapcontext(&scheduler_, &lane.context);
    }
    void suspend(Lane& lane) {
        swapcontext(&lane.context, &scheduler_);
    }
#endif

    std::vector<std::byte> memory_;
    std::byte* shared_ = nullptr;
    Random random_;
    int held_warp_ = kNoWarp;
    int rounds_held_ = 0;
    int lane_count_;
    std::vector<Lane> lanes_;
    ucontext_t scheduler_{};
    const std::function<void(int)>* body_ = nullptr;
};

/// The emulation of the class DeviceMachine in device/machine.cuh, which has the same functions. One
/// object is one lane. `kByShift` emulates GPUs without an instruction that converts e4m3.
template <bool kByShift>
class EmulatedMachine {
  public:
    static constexpr float kE4m3Unit = kByShift ? kRawE4m3Scale : 1;

    /// `index` is the index of the lane in its block, and `piece` the index of the block in the launch.
    EmulatedMachine(EmulatedBlock& block, int index, int piece)
        : block_(&block), index_(index), piece_(piece) {}

    int lane() const { return index_ % 32; }
    int warp() const { return index_ / 32; }
    int piece() const { return piece_; }
    std::byte* shared() const { return block_->shared(); }

    void sync_warp() const { block_->meet(index_, "sync_warp"); }
    void sync_block() const { block_->meet(index_, "sync_block", true); }

    void copy_async(std::byte* to, const std::byte* from, bool valid) const {
        block_->begin_copy(index_, {to, valid ? from : nullptr});
    }
    void copy_async_once(std::byte* to, const std::byte* from, bool valid) const {
        copy_async(to, from, valid);
    }
    void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) const {
        block_->begin_copy(index_, {to, from, bytes});
    }
    void commit_copies() const { block_->commit(index_); }
    void wait_for_copies(int pending) const { block_->wait(index_, pending); }

    float shuffle_xor(float value, int mask) const { return shuffle(value, lane() ^ mask); }
    float shuffle(float value, int from) const {
        block_->show(index_, value);
        block_->meet(index_, "shuffle");
        return block_->shown<float>(index_, first() + from);
    }
    bool any(bool value) const {
        block_->show(index_, value);
        block_->meet(index_, "any");
        bool result = false;
        for (int i = 0; i < 32; ++i) result |= block_->shown<bool>(index_, first() + i);
        return result;
    }

    /// Loads four 8 × 8 matrices of 16-bit elements. Lane i passes the address of row i % 8 of matrix i / 8.
    /// With c = 2 · (lane % 4), register r of a lane then holds the elements c and c + 1 of row lane / 4 of
    /// matrix r. With ldmatrix_transposed, these are elements of the transposed matrix.
    void ldmatrix(std::uint32_t (&r)[4], const std::byte* row) const {
        block_->show(index_, row);
        block_->meet(index_, "ldmatrix");
        for (int i = 0; i < 4; ++i) {
            std::memcpy(&r[i], matrix_row(i, lane() / 4) + lane() % 4 * 4, 4);
        }
        sync_warp();
    }
    void ldmatrix_transposed(std::uint32_t (&r)[4], const std::byte* row) const {
        block_->show(index_, row);
        block_->meet(index_, "ldmatrix.trans");
        for (int i = 0; i < 4; ++i) {
            const auto low = load_u16(matrix_row(i, lane() % 4 * 2) + lane() / 4 * 2);
            const auto high = load_u16(matrix_row(i, lane() % 4 * 2 + 1) + lane() / 4 * 2);
            r[i] = static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16;
        }
        sync_warp();
    }

    /// mma.m16n8k16 with A row-major and B column-major. The registers of lane 4r + i hold these
    /// elements, in this order:
    /// - A: (r, 2i), (r + 8, 2i), (r, 2i + 8), (r + 8, 2i + 8), each with its right neighbour;
    /// - B: (2i, r), (2i + 8, r), each with the element below it;
    /// - C: (r, 2i), (r, 2i + 1), (r + 8, 2i), (r + 8, 2i + 1).
    template <bool kBf16>
    void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) const {
        block_->show(index_, std::array<std::uint32_t, 6>{a[0], a[1], a[2], a[3], b0, b1});
        block_->meet(index_, "mma");
        double sum[4] = {c[0], c[1], c[2], c[3]};
        const std::vector<double>& numbers = kBf16 ? bf16_numbers() : fp16_numbers();
        for (int k = 0; k < 16; k += 2) {
            const int holder = first() + k % 8 / 2;
            for (int i = 0; i < 4; ++i) {
                const int row = lane() / 4 + i / 2 * 8;
                const int column = lane() % 4 * 2 + i % 2;
                const std::uint32_t x =
                    block_->shown_words(index_, holder + row % 8 * 4)[row / 8 + k / 8 * 2];
                const std::uint32_t y = block_->shown_words(index_, holder + column * 4)[4 + k / 8];
                sum[i] += numbers[x & 0xffff] * numbers[y & 0xffff] + numbers[x >> 16] * numbers[y >> 16];
            }
        }
        for (int i = 0; i < 4; ++i) c[i] = static_cast<float>(sum[i]);
    }

    template <bool kBf16>
    std::uint32_t pack(float low, float high) const {
        const auto bits = [](float x) { return std::uint32_t{kBf16 ? bf16_of(x) : f16_of(x)}; };
        return bits(low) | bits(high) << 16;
    }
    std::uint32_t e4m3_pair(std::uint32_t word, int pair) const {
        if constexpr (kByShift) return raw_e4m3_pair(word, pair);
        const auto number = [&](int byte) {
            return static_cast<float>(value_of_e4m3(word >> (8 * byte) & 0xff));
        };
        return pack<false>(number(2 * pair), number(2 * pair + 1));
    }
    std::uint32_t subtract_halves(std::uint32_t x, std::uint32_t y) const {
        const auto half = [](std::uint32_t bits) { return float_of_f16(static_cast<std::uint16_t>(bits)); };
        return pack<false>(half(x & 0xffff) - half(y & 0xffff), half(x >> 16) - half(y >> 16));
    }
    float exp2(float x) const { return std::exp2(x); }
    float log2(float x) const { return std::log2(x); }

    void publish() const {}
    std::int32_t raise(std::int32_t* counter) const { return (*counter)++; }
    float load_fresh(const float* at) const { return *at; }

  private:
    int first() const { return index_ / 32 * 32; }
    const std::byte* matrix_row(int matrix, int row) const {
        return block_->shown<const std::byte*>(index_, first() + matrix * 8 + row);
    }
    static const std::vector<double>& bf16_numbers() {
        static const std::vector<double> kNumbers =
            numbers_by([](std::uint16_t bits) { return float_of_bf16(bits); });
        return kNumbers;
    }
    static const std::vector<double>& fp16_numbers() {
        static const std::vector<double> kNumbers =
            numbers_by([](std::uint16_t bits) { return float_of_f16(bits); });
        return kNumbers;
    }
    template <class NumberOf>
    static std::vector<double> numbers_by(NumberOf number_of) {
        std::vector<double> numbers;
        for (unsigned bits = 0; bits < 65536; ++bits) {
            numbers.push_back(static_cast<double>(number_of(static_cast<std::uint16_t>(bits))));
        }
        return numbers;
    }

    EmulatedBlock* block_;
    int index_;
    int piece_;
};

}  // namespace paretoken::microbench::gpu
