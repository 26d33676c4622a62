#include "virtual_gpu/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/random.h"

namespace paretoken::virtual_gpu {
namespace {

constexpr std::size_t kSector = 32;
constexpr std::size_t kBanks = 32;
constexpr std::size_t kBankBytes = 4;
constexpr std::size_t kMatrixRowBytes = 16;  // of ldmatrix: eight 16-bit elements
constexpr int kMatrixRows = 8;
constexpr int kPoison = 0xa5;

std::uint32_t lanes_below(unsigned count) {
    return count >= kLanes ? kAllLanes : (1U << count) - 1;
}

/// Two of the same thread, or with a barrier between, are ordered.
bool ordered(const SharedByte::Access& earlier, std::int16_t thread, std::int16_t warp,
             std::uint32_t block_epoch, std::uint32_t warp_epoch) {
    if (earlier.warp == SharedByte::kNobody || earlier.block_epoch != block_epoch) return true;
    if (earlier.warp != warp) return false;
    return earlier.thread == thread || earlier.warp_epoch != warp_epoch;
}

template <class Value>
void write_back(Atomic what, std::byte* at, Value operand) {
    Value value;
    std::memcpy(&value, at, sizeof value);
    switch (what) {
        case Atomic::add:
        case Atomic::add_float:
            value = static_cast<Value>(value + operand);
            break;
        case Atomic::min:
            value = std::min(value, operand);
            break;
        case Atomic::max:
            value = std::max(value, operand);
            break;
        case Atomic::exchange:
            value = operand;
            break;
        default:
            if constexpr (std::is_integral_v<Value>) {
                if (what == Atomic::and_) value &= operand;
                if (what == Atomic::or_) value |= operand;
                if (what == Atomic::xor_) value ^= operand;
            }
    }
    std::memcpy(at, &value, sizeof value);
}

}  // namespace

Block::Warp::Warp(const Kernel& kernel) : lanes(kernel.cells, kernel.predicates) {
    for (const Constant& constant : kernel.constants) {
        switch (constant.cell) {
            case Cell::predicate:
                lanes.predicate(constant.slot) = constant.value != 0 ? kAllLanes : 0;
                break;
            case Cell::narrow:
                for (int lane = 0; lane < kLanes; ++lane)
                    lanes.set(constant.slot, lane, static_cast<std::uint32_t>(constant.value));
                break;
            case Cell::wide:
                for (int lane = 0; lane < kLanes; ++lane) lanes.set(constant.slot, lane, constant.value);
                break;
        }
    }
}

Block::Block(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
             Memory& memory, const LaunchSettings& settings, LaunchReport& report)
    : kernel_(kernel),
      shape_(shape),
      parameters_(parameters),
      memory_(memory),
      settings_(settings),
      report_(report),
      shared_(kernel.static_shared + shape.dynamic_shared),
      shadow_(shared_.size()) {
    const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
    const unsigned count = (threads + kLanes - 1) / kLanes;
    for (unsigned i = 0; i < count; ++i) {
        Warp& warp = warps_.emplace_back(kernel);
        warp.index = static_cast<int>(i);
        warp.first_thread = static_cast<int>(i) * kLanes;
    }
}

void Block::start(Warp& warp) {
    const unsigned threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
    warp.live = lanes_below(threads - static_cast<unsigned>(warp.first_thread));
    warp.groups.assign(1, {0, warp.live, false});
    warp.epoch = 0;
    warp.at_barrier = false;
    for (Copies& copies : warp.copies) copies = {};
}

void Block::run(std::array<unsigned, 3> at) {
    at_ = at;
    epoch_ = 0;
    std::fill(shared_.begin(), shared_.end(), static_cast<std::byte>(kPoison));
    std::fill(shadow_.begin(), shadow_.end(), SharedByte{});
    for (Warp& warp : warps_) start(warp);
    std::vector<std::size_t> order(warps_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    Random random(settings_.seed + at[0] + 7919ULL * at[1] + 104729ULL * at[2]);
    bool waiting = true;
    while (waiting) {
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[random.below(left)]);
        waiting = false;
        for (const std::size_t i : order) {
            warps_[i].at_barrier = false;
            run(warps_[i]);
            waiting |= warps_[i].at_barrier;
        }
        ++epoch_;
    }
}

std::uint32_t Block::guarded(const Warp& warp, const Instruction& instruction) const {
    const std::uint32_t lanes = warp.groups.front().lanes;
    if (instruction.guard == kNoSlot) return lanes;
    const std::uint32_t set = warp.lanes.predicate(instruction.guard);
    return lanes & (instruction.guard_inverted ? ~set : set);
}

/// Puts a group that can go on in front: of several the one that is behind. False: none can.
bool Block::choose(Warp& warp) {
    auto& groups = warp.groups;
    std::size_t best = groups.size();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].waits) continue;
        if (best == groups.size() || groups[i].at < groups[best].at) best = i;
    }
    if (best == groups.size()) return false;
    std::swap(groups.front(), groups[best]);
    return true;
}

/// The first group takes in those that stand where it does.
void Block::merge(Warp& warp) {
    auto& groups = warp.groups;
    for (std::size_t i = groups.size(); i-- > 1;) {
        if (groups[i].at != groups.front().at) continue;
        groups.front().lanes |= groups[i].lanes;
        groups.front().waits = false;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// To the next barrier of the block, or to the end.
void Block::run(Warp& warp) {
    while (!warp.groups.empty()) {
        if (!choose(warp)) {
            // Whoever waited did so for lanes that have left since, or for ever.
            for (Group& group : warp.groups) group.waits = false;
            std::swap(warp.groups.front(),
                      *std::min_element(warp.groups.begin(), warp.groups.end(),
                                        [](const Group& a, const Group& b) { return a.at < b.at; }));
            merge(warp);
            const Group before = warp.groups.front();
            if (step(warp)) return;
            if (!warp.groups.empty() && warp.groups.front().waits && warp.groups.front().at == before.at) {
                current_ = &kernel_.instructions[static_cast<std::size_t>(before.at)];
                fail(FaultKind::divergence, warp, __builtin_ctz(before.lanes),
                     fmt::format("lanes {:08x} wait here for lanes {:08x}, which are elsewhere", before.lanes,
                                 warp.live & ~before.lanes));
            }
            continue;
        }
        merge(warp);
        if (step(warp)) return;
    }
}

/// One instruction of the first group. True: the whole warp stands at a barrier of the block.
bool Block::step(Warp& warp) {
    Group& group = warp.groups.front();
    const auto at = static_cast<std::size_t>(group.at);
    if (at >= kernel_.instructions.size()) {
        warp.live &= ~group.lanes;
        warp.groups.erase(warp.groups.begin());
        return false;
    }
    const Instruction& instruction = kernel_.instructions[at];
    current_ = &instruction;
    const std::uint32_t active = guarded(warp, instruction);
    warp.lanes.active = active;
    ++report_.warp_instructions;
    if (settings_.most_instructions != 0 && report_.warp_instructions > settings_.most_instructions)
        fail(FaultKind::endless, warp, __builtin_ctz(group.lanes), "the launch does not end");
    if (instruction.kind == Kind::branch) {
        branch(warp, instruction, active);
        return false;
    }
    if (active == 0) {
        ++group.at;
        return false;
    }
    switch (instruction.kind) {
        case Kind::compute:
            instruction.execute(instruction, warp.lanes);
            break;
        case Kind::special:
            set_special(warp, instruction);
            break;
        case Kind::load:
            load(warp, instruction);
            break;
        case Kind::store:
            store(warp, instruction);
            break;
        case Kind::atomic:
            atomic(warp, instruction);
            break;
        case Kind::copy_async:
            copy_async(warp, instruction);
            break;
        case Kind::commit_copies:
            for_lanes(active, [&](int lane) {
                Copies& copies = warp.copies[static_cast<std::size_t>(lane)];
                copies.groups.push_back(std::exchange(copies.open, {}));
            });
            break;
        case Kind::wait_for_copies:
            for_lanes(active, [&](int lane) {
                finish_copies(warp, lane, static_cast<std::size_t>(instruction.displacement));
            });
            break;
        case Kind::leave:
            warp.live &= ~active;
            group.lanes &= ~active;
            ++group.at;
            if (group.lanes == 0) warp.groups.erase(warp.groups.begin());
            return false;
        case Kind::block_barrier:
            if (group.lanes != warp.live) {
                group.waits = true;
                return false;
            }
            ++warp.epoch;
            warp.at_barrier = true;
            ++group.at;
            return true;
        case Kind::warp_barrier:
        case Kind::exchange:
        case Kind::load_matrices: {
            const std::uint32_t members =
                instruction.members == kNoSlot
                    ? kAllLanes
                    : warp.lanes.get<std::uint32_t>(instruction.members, __builtin_ctz(active));
            if (instruction.members == kNoSlot && active != kAllLanes && group.lanes == warp.live)
                fail(FaultKind::divergence, warp, __builtin_ctz(active),
                     fmt::format("needs all lanes of the warp, {:08x} are here", active));
            if ((group.lanes & members & warp.live) != (members & warp.live)) {
                group.waits = true;
                return false;
            }
            if ((active & members) != active)
                fail(FaultKind::divergence, warp, __builtin_ctz(active),
                     fmt::format("lanes {:08x} are here, the mask names {:08x}", active, members));
            if (instruction.kind == Kind::warp_barrier) {
                ++warp.epoch;
            } else if (instruction.kind == Kind::load_matrices) {
                load_matrices(warp, instruction);
            } else {
                instruction.execute(instruction, warp.lanes);
                if (instruction.multiplies) report_.mma_flops += 2ULL * 16 * 8 * 16;
            }
            break;
        }
        default:
            break;
    }
    ++group.at;
    return false;
}

void Block::branch(Warp& warp, const Instruction& instruction, std::uint32_t taken) {
    Group& group = warp.groups.front();
    const std::uint32_t passed = group.lanes & ~taken;
    if (passed == 0) {
        group.at = instruction.target;
        return;
    }
    ++group.at;
    if (taken == 0) return;
    group.lanes = passed;
    warp.groups.push_back({instruction.target, taken, false});
}

void Block::set_special(Warp& warp, const Instruction& instruction) const {
    const auto axis = static_cast<std::size_t>(instruction.axis);
    for_lanes(warp.lanes.active, [&](int lane) {
        const auto thread = static_cast<unsigned>(warp.first_thread + lane);
        const std::array<unsigned, 3> place{thread % shape_.block[0],
                                            thread / shape_.block[0] % shape_.block[1],
                                            thread / shape_.block[0] / shape_.block[1]};
        std::uint32_t value = static_cast<std::uint32_t>(lane);
        switch (instruction.special) {
            case Special::tid:
                value = place[axis];
                break;
            case Special::ntid:
                value = shape_.block[axis];
                break;
            case Special::ctaid:
                value = at_[axis];
                break;
            case Special::nctaid:
                value = shape_.grid[axis];
                break;
            case Special::laneid:
                break;
        }
        warp.lanes.set(instruction.to[0], lane, value);
    });
}

std::uint64_t Block::address(const Warp& warp, const Instruction& instruction, int lane) const {
    const std::uint64_t base = instruction.wide ? warp.lanes.get<std::uint64_t>(instruction.from[0], lane)
                                                : warp.lanes.get<std::uint32_t>(instruction.from[0], lane);
    return base + static_cast<std::uint64_t>(instruction.displacement);
}

void Block::require_aligned(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes) const {
    if (address % bytes != 0)
        fail(FaultKind::misaligned, warp, lane, fmt::format("{:#x} is no multiple of {}", address, bytes));
}

std::byte* Block::global_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes,
                            bool write) {
    if (bytes == 0) return nullptr;
    Allocation* const allocation = memory_.find(address, bytes);
    if (allocation == nullptr) {
        fail(FaultKind::out_of_bounds, warp, lane,
             fmt::format("{} bytes at {:#x} of device memory lie in no allocation", bytes, address));
    }
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(allocation->data());
    if (write) {
        allocation->mark_written(offset, bytes);
    } else if (settings_.check_initialised && !allocation->is_written(offset, bytes)) {
        fail(FaultKind::uninitialised, warp, lane,
             fmt::format("{} bytes at offset {} of an allocation of {} were never written", bytes, offset,
                         allocation->bytes()));
    }
    return allocation->data() + offset;
}

std::byte* Block::shared_at(Warp& warp, int lane, std::uint64_t address, std::size_t bytes, bool write) {
    if (address > shared_.size() || bytes > shared_.size() - address) {
        fail(FaultKind::out_of_bounds, warp, lane,
             fmt::format("{} bytes at {} of {} bytes of shared memory", bytes, address, shared_.size()));
    }
    const auto thread = static_cast<std::int16_t>(warp.first_thread + lane);
    const auto index = static_cast<std::int16_t>(warp.index);
    for (std::size_t i = address; i < address + bytes; ++i) {
        SharedByte& byte = shadow_[i];
        if (settings_.check_races && !ordered(byte.write, thread, index, epoch_, warp.epoch))
            fail(FaultKind::race, warp, lane,
                 fmt::format("byte {} of shared memory: thread {} wrote it without a barrier since", i,
                             byte.write.thread));
        if (write) {
            if (settings_.check_races && !ordered(byte.read, thread, index, epoch_, warp.epoch))
                fail(FaultKind::race, warp, lane,
                     fmt::format("byte {} of shared memory: {} read it without a barrier since", i,
                                 byte.read.thread >= 0 ? fmt::format("thread {}", byte.read.thread)
                                                       : std::string("other threads")));
            byte.write = {thread, index, epoch_, warp.epoch};
            continue;
        }
        if (settings_.check_initialised && byte.write.warp == SharedByte::kNobody)
            fail(FaultKind::uninitialised, warp, lane,
                 fmt::format("byte {} of shared memory was never written", i));
        SharedByte::Access& read = byte.read;
        if (read.block_epoch != epoch_ || read.warp == SharedByte::kNobody) {
            read = {thread, index, epoch_, warp.epoch};
        } else if (read.warp != index) {
            read.warp = SharedByte::kSeveral;
            read.thread = SharedByte::kSeveral;
        } else if (read.warp_epoch != warp.epoch) {
            read = {thread, index, epoch_, warp.epoch};
        } else if (read.thread != thread) {
            read.thread = SharedByte::kSeveral;
        }
    }
    return shared_.data() + address;
}

void Block::count_global(std::span<const std::uint64_t> addresses, std::size_t bytes, bool write) {
    sectors_.clear();
    for (const std::uint64_t address : addresses) {
        for (std::uint64_t sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector)
            if (sectors_.empty() || sectors_.back() != sector) sectors_.push_back(sector);
    }
    std::sort(sectors_.begin(), sectors_.end());
    sectors_.erase(std::unique(sectors_.begin(), sectors_.end()), sectors_.end());
    for (const std::uint64_t sector : sectors_) {
        // Allocations begin at multiples of a sector; the last one may be cut by the end.
        Allocation* const allocation = memory_.find(sector * kSector, 1);
        if (allocation == nullptr) continue;
        const std::uint64_t first = reinterpret_cast<std::uintptr_t>(allocation->data()) / kSector;
        if (!allocation->touch_sector(sector - first, write)) continue;
        (write ? report_.written_bytes : report_.read_bytes) += kSector;
    }
    (write ? report_.stored_bytes : report_.loaded_bytes) += addresses.size() * bytes;
    if (write) return;
    ++report_.load_requests;
    report_.load_sectors += sectors_.size();
}

/// 32 banks of 4 bytes: lanes are served together as far as their bytes fill 128; of a bank one word at a
/// time.
void Block::count_shared(std::span<const std::uint64_t> addresses, std::size_t bytes) {
    const std::size_t words = std::max<std::size_t>(1, bytes / kBankBytes);
    const std::size_t together = kBanks / words;
    ++report_.shared_requests;
    for (std::size_t first = 0; first < addresses.size(); first += together) {
        std::array<std::array<std::uint64_t, kBanks>, kBanks> wanted;  // of each bank, distinct words
        std::array<std::uint8_t, kBanks> count{};
        std::uint8_t most = 0;
        for (std::size_t i = first; i < std::min(addresses.size(), first + together); ++i) {
            for (std::size_t part = 0; part < words; ++part) {
                const std::uint64_t word = addresses[i] / kBankBytes + part;
                auto& bank = wanted[word % kBanks];
                auto& distinct = count[word % kBanks];
                if (std::find(bank.begin(), bank.begin() + distinct, word) != bank.begin() + distinct)
                    continue;
                bank[distinct++] = word;
                most = std::max(most, distinct);
            }
        }
        report_.shared_wavefronts += most;
        ++report_.shared_least;
    }
}

void Block::load(Warp& warp, const Instruction& instruction) {
    const std::size_t bytes = static_cast<std::size_t>(instruction.bytes) * instruction.parts;
    addresses_.clear();
    bool shared = false;
    for_lanes(warp.lanes.active, [&](int lane) {
        std::uint64_t at = address(warp, instruction, lane);
        const std::byte* from = nullptr;
        if (instruction.space == Space::parameter) {
            if (at > parameters_.size() || bytes > parameters_.size() - at)
                fail(FaultKind::out_of_bounds, warp, lane,
                     fmt::format("{} bytes at {} of {} bytes of parameters", bytes, at, parameters_.size()));
            from = parameters_.data() + at;
        } else {
            require_aligned(warp, lane, at, bytes);
            const bool here_shared = instruction.space == Space::shared ||
                                     (instruction.space == Space::generic && at >= kSharedWindow);
            if (here_shared) {
                if (at >= kSharedWindow) at -= kSharedWindow;
                from = shared_at(warp, lane, at, bytes, false);
            } else {
                from = global_at(warp, lane, at, bytes, false);
            }
            shared = here_shared;
            addresses_.push_back(at);
        }
        for (std::size_t i = 0; i < instruction.parts; ++i) {
            const std::byte* const part = from + i * instruction.bytes;
            std::uint64_t value = 0;
            std::memcpy(&value, part, instruction.bytes);
            if (instruction.is_signed && instruction.bytes < 8) {
                const int spare = 64 - 8 * instruction.bytes;
                value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << spare) >> spare);
            }
            if (instruction.wide_values) {
                warp.lanes.set(instruction.to[i], lane, value);
            } else {
                warp.lanes.set(instruction.to[i], lane, static_cast<std::uint32_t>(value));
            }
        }
    });
    if (addresses_.empty()) return;
    if (shared) {
        count_shared(addresses_, bytes);
    } else {
        count_global(addresses_, bytes, false);
    }
}

void Block::store(Warp& warp, const Instruction& instruction) {
    const std::size_t bytes = static_cast<std::size_t>(instruction.bytes) * instruction.parts;
    addresses_.clear();
    bool shared = false;
    for_lanes(warp.lanes.active, [&](int lane) {
        std::uint64_t at = address(warp, instruction, lane);
        require_aligned(warp, lane, at, bytes);
        shared = instruction.space == Space::shared ||
                 (instruction.space == Space::generic && at >= kSharedWindow);
        if (shared && at >= kSharedWindow) at -= kSharedWindow;
        std::byte* const to =
            shared ? shared_at(warp, lane, at, bytes, true) : global_at(warp, lane, at, bytes, true);
        addresses_.push_back(at);
        for (std::size_t i = 0; i < instruction.parts; ++i) {
            std::byte* const part = to + i * instruction.bytes;
            if (instruction.wide_values) {
                const auto value = warp.lanes.get<std::uint64_t>(instruction.from[1 + i], lane);
                std::memcpy(part, &value, instruction.bytes);
            } else {
                const auto value = warp.lanes.get<std::uint32_t>(instruction.from[1 + i], lane);
                std::memcpy(part, &value, instruction.bytes);
            }
        }
    });
    if (shared) {
        count_shared(addresses_, bytes);
    } else {
        count_global(addresses_, bytes, true);
    }
}

void Block::atomic(Warp& warp, const Instruction& instruction) {
    for_lanes(warp.lanes.active, [&](int lane) {
        std::uint64_t at = address(warp, instruction, lane);
        require_aligned(warp, lane, at, instruction.bytes);
        const bool shared = instruction.space == Space::shared ||
                            (instruction.space == Space::generic && at >= kSharedWindow);
        if (shared && at >= kSharedWindow) at -= kSharedWindow;
        std::byte* to = nullptr;
        if (shared) {
            // Atomics do not race with each other; plain accesses to the same place are not looked for.
            if (at > shared_.size() || instruction.bytes > shared_.size() - at)
                fail(FaultKind::out_of_bounds, warp, lane, fmt::format("byte {} of shared memory", at));
            to = shared_.data() + at;
        } else {
            to = global_at(warp, lane, at, instruction.bytes, false);
            static_cast<void>(global_at(warp, lane, at, instruction.bytes, true));
        }
        if (instruction.bytes == 8) {
            std::uint64_t old = 0;
            std::memcpy(&old, to, 8);
            if (instruction.to[0] != kNoSlot) warp.lanes.set(instruction.to[0], lane, old);
            const auto operand = warp.lanes.get<std::uint64_t>(instruction.from[1], lane);
            if (instruction.is_signed) {
                write_back(instruction.atomic, to, static_cast<std::int64_t>(operand));
            } else {
                write_back(instruction.atomic, to, operand);
            }
            return;
        }
        std::uint32_t old = 0;
        std::memcpy(&old, to, 4);
        const auto operand = warp.lanes.get<std::uint32_t>(instruction.from[1], lane);
        if (instruction.atomic == Atomic::add_float) {
            write_back(instruction.atomic, to, warp.lanes.get<float>(instruction.from[1], lane));
        } else if (instruction.is_signed) {
            write_back(instruction.atomic, to, static_cast<std::int32_t>(operand));
        } else {
            write_back(instruction.atomic, to, operand);
        }
        if (instruction.to[0] != kNoSlot) warp.lanes.set(instruction.to[0], lane, old);
    });
}

/// Lane i % 8 + 8 · m gives row i % 8 of matrix m; each lane then holds two elements of row lane / 4.
void Block::load_matrices(Warp& warp, const Instruction& instruction) {
    std::array<std::array<const std::byte*, kMatrixRows>, 4> rows{};
    addresses_.clear();
    for (int matrix = 0; matrix < instruction.parts; ++matrix) {
        for (int row = 0; row < kMatrixRows; ++row) {
            const int lane = matrix * kMatrixRows + row;
            std::uint64_t at = address(warp, instruction, lane);
            if (at >= kSharedWindow) at -= kSharedWindow;
            require_aligned(warp, lane, at, kMatrixRowBytes);
            rows[static_cast<std::size_t>(matrix)][static_cast<std::size_t>(row)] =
                shared_at(warp, lane, at, kMatrixRowBytes, false);
            addresses_.push_back(at);
        }
    }
    count_shared(addresses_, kMatrixRowBytes);
    for (int lane = 0; lane < kLanes; ++lane) {
        for (std::size_t matrix = 0; matrix < instruction.parts; ++matrix) {
            std::uint16_t pair[2];
            for (int half = 0; half < 2; ++half) {
                const int row = instruction.transposed ? lane % 4 * 2 + half : lane / 4;
                const int column = instruction.transposed ? lane / 4 : lane % 4 * 2 + half;
                std::memcpy(&pair[half], rows[matrix][static_cast<std::size_t>(row)] + 2 * column, 2);
            }
            warp.lanes.set(instruction.to[matrix], lane, static_cast<std::uint32_t>(pair[1]) << 16 | pair[0]);
        }
    }
}

/// What is copied arrives only when it is waited for; who reads it before sees what was there.
void Block::copy_async(Warp& warp, const Instruction& instruction) {
    std::vector<std::uint64_t> shared;
    addresses_.clear();
    for_lanes(warp.lanes.active, [&](int lane) {
        const std::uint64_t from = address(warp, instruction, lane);
        const auto to = warp.lanes.get<std::uint32_t>(instruction.from[1], lane);
        const auto wanted = warp.lanes.get<std::uint32_t>(instruction.from[2], lane);
        const auto read = static_cast<std::uint8_t>(std::min<std::uint32_t>(wanted, instruction.bytes));
        require_aligned(warp, lane, to, instruction.bytes);
        static_cast<void>(shared_at(warp, lane, to, instruction.bytes, true));
        shared.push_back(to);
        if (read > 0) {
            require_aligned(warp, lane, from, instruction.bytes);
            static_cast<void>(global_at(warp, lane, from, read, false));
            addresses_.push_back(from);
        }
        warp.copies[static_cast<std::size_t>(lane)].open.push_back({to, from, instruction.bytes, read});
    });
    count_shared(shared, instruction.bytes);
    if (!addresses_.empty()) count_global(addresses_, instruction.bytes, false);
}

void Block::finish_copies(Warp& warp, int lane, std::size_t pending) {
    Copies& copies = warp.copies[static_cast<std::size_t>(lane)];
    while (copies.groups.size() > pending) {
        for (const Copy& copy : copies.groups.front()) {
            std::byte* const to = shared_at(warp, lane, copy.shared, copy.bytes, true);
            std::memset(to, 0, copy.bytes);
            if (copy.read > 0)
                std::memcpy(to, global_at(warp, lane, copy.global, copy.read, false), copy.read);
        }
        copies.groups.erase(copies.groups.begin());
    }
}

void Block::fail(FaultKind kind, const Warp& warp, int lane, const std::string& what) const {
    const auto index = static_cast<std::size_t>(current_ - kernel_.instructions.data());
    throw FaultFound{{kind, fmt::format("{}: block ({}, {}, {}), thread {}, {}:{}: {}: {}", kernel_.name,
                                        at_[0], at_[1], at_[2], warp.first_thread + lane, kernel_.file,
                                        current_->line, kernel_.texts[index], what)}};
}

}  // namespace paretoken::virtual_gpu
