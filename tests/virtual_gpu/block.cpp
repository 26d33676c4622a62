#include "tests/virtual_gpu/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/random.h"

namespace paretoken::virtual_gpu {
namespace {

constexpr std::size_t kBanks = 32;
constexpr std::size_t kBankBytes = 4;
constexpr std::size_t kMatrixRowBytes = 16;  // a row of ldmatrix: eight 16-bit elements
constexpr int kMatrixRows = 8;

std::uint32_t lanes_below(unsigned count) {
    return count >= kLanes ? kAllLanes : (1U << count) - 1;
}

/// The position of an invalid address: " (4 bytes after the end of an allocation of 1024 bytes)".
std::string described(const Allocation* nearest, std::uint64_t address) {
    if (nearest == nullptr) return {};
    const auto begin = reinterpret_cast<std::uintptr_t>(nearest->data());
    if (address < begin)
        return fmt::format(" ({} bytes before an allocation of {} bytes)", begin - address, nearest->bytes());
    const std::uint64_t offset = address - begin;
    if (offset < nearest->bytes())
        return fmt::format(" (at offset {} in an allocation of {} bytes)", offset, nearest->bytes());
    return fmt::format(" ({} bytes after the end of an allocation of {} bytes)", offset - nearest->bytes(),
                       nearest->bytes());
}

/// Loads one part of a vector access into a register, for all active lanes. A value that is smaller than the
/// register is extended with its sign or with zeros.
template <class Stored>
void load_part(Lanes& lanes, Slot to, bool wide, const std::array<std::byte*, kLanes>& at,
               std::size_t offset) {
    for_lanes(lanes.active, [&](int lane) {
        Stored value;
        std::memcpy(&value, at[static_cast<std::size_t>(lane)] + offset, sizeof value);
        if (wide) {
            lanes.set(to, lane, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
        } else {
            lanes.set(to, lane, static_cast<std::uint32_t>(value));
        }
    });
}
using LoadPart = void (*)(Lanes&, Slot, bool, const std::array<std::byte*, kLanes>&, std::size_t);
LoadPart load_part_of(std::size_t bytes, bool is_signed) {
    switch (bytes) {
        case 1:
            return is_signed ? load_part<std::int8_t> : load_part<std::uint8_t>;
        case 2:
            return is_signed ? load_part<std::int16_t> : load_part<std::uint16_t>;
        case 4:
            return is_signed ? load_part<std::int32_t> : load_part<std::uint32_t>;
        default:
            return load_part<std::uint64_t>;
    }
}

template <std::size_t kBytes>
void store_part(const Lanes& lanes, Slot from, bool wide, const std::array<std::byte*, kLanes>& at,
                std::size_t offset) {
    for_lanes(lanes.active, [&](int lane) {
        const std::uint64_t value =
            wide ? lanes.get<std::uint64_t>(from, lane) : lanes.get<std::uint32_t>(from, lane);
        std::memcpy(at[static_cast<std::size_t>(lane)] + offset, &value, kBytes);
    });
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
        case Atomic::and_:
        case Atomic::or_:
        case Atomic::xor_:
            if constexpr (std::is_integral_v<Value>)
                value = what == Atomic::and_  ? value & operand
                        : what == Atomic::or_ ? value | operand
                                              : value ^ operand;
            break;
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
      shared_(kernel.static_shared + shape.dynamic_shared, settings.check_races, settings.check_initialised) {
    const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
    const unsigned count = (threads + kLanes - 1) / kLanes;
    for (unsigned i = 0; i < count; ++i) {
        Warp& warp = warps_.emplace_back(kernel);
        warp.index = static_cast<int>(i);
        warp.first_thread = static_cast<int>(i) * kLanes;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const unsigned thread = i * kLanes + lane;
            warp.places[0][lane] = thread % shape.block[0];
            warp.places[1][lane] = thread / shape.block[0] % shape.block[1];
            warp.places[2][lane] = thread / shape.block[0] / shape.block[1];
        }
    }
}

void Block::start(Warp& warp) {
    const unsigned threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
    warp.live = lanes_below(threads - static_cast<unsigned>(warp.first_thread));
    warp.groups.assign(1, {0, warp.live, 0});
    ++warp.epoch;
    warp.at_barrier = false;
    for (Copies& copies : warp.copies) copies.clear();
}

void Block::run(std::array<unsigned, 3> at) {
    at_ = at;
    rounds_ = 0;
    shared_.begin_block();
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
        shared_.pass_barrier();
        ++rounds_;
    }
    order_.end_block();
}

inline std::uint32_t Block::guarded(const Warp& warp, const Instruction& instruction) const {
    const std::uint32_t lanes = warp.groups.front().lanes;
    if (instruction.guard == kNoSlot) return lanes;
    const std::uint32_t set = warp.lanes.predicate(instruction.guard);
    return lanes & (instruction.guard_inverted ? ~set : set);
}

/// Chooses the group that runs next: among the groups that do not wait, the one that is furthest behind in
/// the program. It becomes the first group and takes in the lanes of all other groups at the same
/// instruction.
void Block::choose(Warp& warp) {
    auto& groups = warp.groups;
    const auto behind = [](const Group& a, const Group& b) { return a.at < b.at; };
    auto best = groups.end();
    for (auto group = groups.begin(); group != groups.end(); ++group) {
        if (group->awaits == 0 && (best == groups.end() || behind(*group, *best))) best = group;
    }
    if (best == groups.end()) {
        const Group& stuck = *std::min_element(groups.begin(), groups.end(), behind);
        current_ = &kernel_.instructions[static_cast<std::size_t>(stuck.at)];
        fail(FaultKind::divergence, warp, __builtin_ctz(stuck.lanes),
             fmt::format("lanes {:08x} wait here for lanes {:08x}, which wait elsewhere", stuck.lanes,
                         stuck.awaits));
    }
    std::swap(groups.front(), *best);
    for (std::size_t i = groups.size(); i-- > 1;) {
        if (groups[i].at != groups.front().at) continue;
        groups.front().lanes |= groups[i].lanes;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// Runs a warp to the next barrier of the block, or to its end.
void Block::run(Warp& warp) {
    while (!warp.groups.empty()) {
        if (warp.groups.size() > 1) choose(warp);
        if (step(warp)) return;
    }
}

/// Ends lanes of the first group. No other group waits for them any more.
void Block::leave(Warp& warp, std::uint32_t lanes) {
    warp.live &= ~lanes;
    warp.groups.front().lanes &= ~lanes;
    if (warp.groups.front().lanes == 0) warp.groups.erase(warp.groups.begin());
    for (Group& group : warp.groups) group.awaits &= warp.live;
}

/// Executes one instruction for the first group. Returns true if the whole warp has arrived at a barrier of
/// the block.
bool Block::step(Warp& warp) {
    Group& group = warp.groups.front();
    const auto at = static_cast<std::size_t>(group.at);
    if (at >= kernel_.instructions.size()) {
        leave(warp, group.lanes);
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
            for_lanes(active, [&](int lane) { warp.copies[static_cast<std::size_t>(lane)].commit(); });
            break;
        case Kind::wait_for_copies:
            for_lanes(active, [&](int lane) {
                if (instruction.open_copies) warp.copies[static_cast<std::size_t>(lane)].commit();
                finish_copies(warp, lane, static_cast<std::size_t>(instruction.displacement));
            });
            break;
        case Kind::leave:
            ++group.at;
            leave(warp, active);
            return false;
        case Kind::block_barrier:
            group.awaits = warp.live & ~group.lanes;
            if (group.awaits != 0) return false;
            if (active != group.lanes)
                fail(FaultKind::divergence, warp, __builtin_ctz(active),
                     fmt::format("lanes {:08x} of the warp skip the barrier", group.lanes & ~active));
            ++warp.epoch;
            warp.at_barrier = true;
            ++group.at;
            return true;
        case Kind::warp_barrier:
        case Kind::exchange:
        case Kind::load_matrices:
            if (!exchange(warp, instruction, active)) return false;
            break;
        case Kind::fence:
            order_.fenced(warp.index, rounds_);
            break;
        case Kind::branch:  // handled above
        case Kind::nothing:
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
    warp.groups.push_back({instruction.target, taken, 0});
}

/// Executes an exchange, for the lanes of one mask at a time. Returns false if lanes that the masks name have
/// not arrived yet.
bool Block::exchange(Warp& warp, const Instruction& instruction, std::uint32_t active) {
    const auto named_by = [&](int lane) {
        return instruction.members == kNoSlot ? instruction.named
                                              : warp.lanes.get<std::uint32_t>(instruction.members, lane);
    };
    std::uint32_t named = instruction.named;
    if (instruction.members != kNoSlot) {
        named = 0;
        for_lanes(active, [&](int lane) { named |= named_by(lane); });
    }
    Group& group = warp.groups.front();
    group.awaits = named & warp.live & ~group.lanes;
    if (group.awaits != 0) return false;
    if (instruction.whole_warp && active != kAllLanes)
        fail(FaultKind::divergence, warp, __builtin_ctz(active),
             fmt::format("needs all lanes of the warp, but only lanes {:08x} are here", active));
    for (std::uint32_t left = active; left != 0;) {
        const int first = __builtin_ctz(left);
        const std::uint32_t mask = named_by(first);
        std::uint32_t lanes = left;
        if (instruction.members != kNoSlot) {
            lanes = 0;
            for_lanes(left, [&](int lane) { lanes |= named_by(lane) == mask ? 1U << lane : 0; });
        }
        left &= ~lanes;
        if ((lanes & ~mask) != 0)
            fail(FaultKind::divergence, warp, __builtin_ctz(lanes & ~mask),
                 fmt::format("lanes {:08x} are here, but the mask {:08x} does not name them", lanes & ~mask,
                             mask));
        if (const std::uint32_t absent = mask & warp.live & ~lanes; absent != 0)
            fail(FaultKind::divergence, warp, first,
                 fmt::format("lanes {:08x} of the mask {:08x} do not take part", absent, mask));
        exchange_among(warp, instruction, lanes);
    }
    return true;
}

void Block::exchange_among(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
    warp.lanes.active = lanes;
    if (instruction.kind == Kind::warp_barrier) {
        if (lanes == warp.live) ++warp.epoch;  // a barrier of only some lanes does not order the others
        return;
    }
    if (instruction.kind == Kind::load_matrices) return load_matrices(warp, instruction);
    warp.lanes.bereft = 0;
    instruction.execute(instruction, warp.lanes);
    if (warp.lanes.bereft != 0)
        fail(FaultKind::divergence, warp, __builtin_ctz(warp.lanes.bereft),
             fmt::format("lanes {:08x} ask for values of lanes that do not take part; only lanes {:08x} do",
                         warp.lanes.bereft, lanes));
    if (instruction.multiplies) report_.mma_flops += 2ULL * 16 * 8 * 16;
}

void Block::set_special(Warp& warp, const Instruction& instruction) const {
    const auto axis = static_cast<std::size_t>(instruction.axis);
    std::uint32_t values[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        switch (instruction.special) {
            case Special::tid:
                values[lane] = warp.places[axis][lane];
                break;
            case Special::ntid:
                values[lane] = shape_.block[axis];
                break;
            case Special::ctaid:
                values[lane] = at_[axis];
                break;
            case Special::nctaid:
                values[lane] = shape_.grid[axis];
                break;
            case Special::laneid:
                values[lane] = static_cast<std::uint32_t>(lane);
                break;
        }
    }
    warp.lanes.set_all(instruction.to[0], values);
}

std::uint64_t Block::address(const Warp& warp, const Instruction& instruction, int lane) const {
    const std::uint64_t base = instruction.wide ? warp.lanes.get<std::uint64_t>(instruction.from[0], lane)
                                                : warp.lanes.get<std::uint32_t>(instruction.from[0], lane);
    return base + static_cast<std::uint64_t>(instruction.displacement);
}

void Block::require_aligned(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes) const {
    if ((address & (bytes - 1)) != 0)
        fail(FaultKind::misaligned, warp, lane, fmt::format("{:#x} is not a multiple of {}", address, bytes));
}

std::byte* Block::global_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes,
                            bool write) {
    if (bytes == 0) return nullptr;
    Allocation* const allocation = memory_.find(address, bytes);
    if (allocation == nullptr) {
        fail(FaultKind::out_of_bounds, warp, lane,
             fmt::format("{} bytes at {:#x} of device memory do not lie in one allocation{}", bytes, address,
                         described(memory_.nearest(address), address)));
    }
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(allocation->data());
    if (write) {
        allocation->mark_written(offset, bytes);
    } else if (settings_.check_initialised && !allocation->is_written(offset, bytes)) {
        fail(FaultKind::uninitialised, warp, lane,
             fmt::format(
                 "{} bytes at offset {} of an allocation of {} bytes include bytes that were never written",
                 bytes, offset, allocation->bytes()));
    }
    return allocation->data() + offset;
}

std::byte* Block::shared_at(const Warp& warp, int lane, std::uint64_t address, std::size_t bytes, Touch how) {
    if (!shared_.holds(address, bytes)) {
        fail(FaultKind::out_of_bounds, warp, lane,
             fmt::format("{} bytes at offset {} do not lie in the {} bytes of shared memory", bytes,
                         static_cast<std::int64_t>(address), shared_.size()));
    }
    const Accessor who{static_cast<std::int16_t>(warp.first_thread + lane),
                       static_cast<std::int16_t>(warp.index), warp.epoch};
    if (!shared_.touch(address, bytes, how, who)) {
        fail(shared_.trouble().uninitialised ? FaultKind::uninitialised : FaultKind::race, warp, lane,
             shared_.trouble().what);
    }
    return shared_.at(address);
}

const std::byte* Block::parameter_at(const Warp& warp, int lane, std::uint64_t address,
                                     std::size_t bytes) const {
    if (address > parameters_.size() || bytes > parameters_.size() - address)
        fail(FaultKind::out_of_bounds, warp, lane,
             fmt::format("{} bytes at offset {} do not lie in the {} bytes of parameters", bytes, address,
                         parameters_.size()));
    return parameters_.data() + address;
}

/// Finds the memory that the active lanes access, checks the access and counts it.
void Block::find_places(Warp& warp, const Instruction& instruction, std::size_t bytes, Touch how) {
    places_.globals = places_.shareds = 0;
    take_addresses(warp, instruction);
    if (find_in_one_allocation(warp, instruction, bytes, how))
        return require_order(warp, bytes, how, instruction.past_l1);
    for_lanes(warp.lanes.active, [&](int lane) {
        std::uint64_t at = places_.address[static_cast<std::size_t>(lane)];
        require_aligned(warp, lane, at, bytes);
        std::byte*& place = places_.at[static_cast<std::size_t>(lane)];
        const bool window = instruction.space == Space::generic && at >= kSharedWindow;
        if (window || instruction.space == Space::shared) {
            if (window) at -= kSharedWindow;
            place = shared_at(warp, lane, at, bytes, how);
            places_.shared[places_.shareds++] = at;
        } else {
            place = global_at(warp, lane, at, bytes, how == Touch::write);
            if (how == Touch::atomic) place = global_at(warp, lane, at, bytes, true);
            places_.global[places_.globals++] = at;
        }
    });
    if (how == Touch::atomic) return;
    if (places_.shareds != 0) count_shared({places_.shared.data(), places_.shareds}, bytes);
    if (places_.globals == 0) return;
    count_global({places_.global.data(), places_.globals}, bytes, how == Touch::write);
    require_order(warp, bytes, how, instruction.past_l1);
}

/// Checks the order between thread blocks: what a load reads must be visible to this block if another block
/// wrote it. The bytes of a store are recorded for the blocks that run later.
void Block::require_order(const Warp& warp, std::size_t bytes, Touch how, bool past_l1) {
    if (!settings_.check_races) return;
    const std::span<const std::uint64_t> places{places_.global.data(), places_.globals};
    if (how == Touch::write) {
        for (const std::uint64_t at : places) order_.stored(warp.index, rounds_, at, bytes);
        return;
    }
    const auto [lowest, highest] = std::minmax_element(places.begin(), places.end());
    if (!order_.concerns(*lowest, *highest - *lowest + bytes)) return;
    for (const std::uint64_t at : places) {
        if (const char* const why = order_.trouble(at, bytes, past_l1))
            fail(FaultKind::race, warp, __builtin_ctz(warp.lanes.active), fmt::format("{:#x}: {}", at, why));
    }
}

/// Computes the addresses of all lanes, including the inactive ones.
void Block::take_addresses(const Warp& warp, const Instruction& instruction) {
    const auto displacement = static_cast<std::uint64_t>(instruction.displacement);
    std::uint64_t base[kLanes];
    if (instruction.wide) {
        warp.lanes.get_all(instruction.from[0], base);
    } else {
        std::uint32_t narrow[kLanes];
        warp.lanes.get_all(instruction.from[0], narrow);
        for (int lane = 0; lane < kLanes; ++lane) base[lane] = narrow[lane];
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) places_.address[lane] = base[lane] + displacement;
}

/// The fast path for almost all accesses to device memory: one allocation contains the addresses of all
/// active lanes, and the access has no error. Returns false if that is not so; the lanes must then be checked
/// one by one, which also finds the lane with an error.
bool Block::find_in_one_allocation(const Warp& warp, const Instruction& instruction, std::size_t bytes,
                                   Touch how) {
    if (instruction.space == Space::shared || how == Touch::atomic) return false;
    std::uint64_t lowest = ~std::uint64_t{0};
    std::uint64_t highest = 0;
    std::uint64_t any = 0;
    for_lanes(warp.lanes.active, [&](int lane) {
        const std::uint64_t at = places_.address[static_cast<std::size_t>(lane)];
        lowest = std::min(lowest, at);
        highest = std::max(highest, at);
        any |= at;
        places_.global[places_.globals++] = at;
    });
    const bool shared = highest >= kSharedWindow;
    Allocation* const allocation =
        shared || (any & (bytes - 1)) != 0 ? nullptr : memory_.find(lowest, highest - lowest + bytes);
    const bool write = how == Touch::write;
    bool allowed = allocation != nullptr;
    if (allowed && !allocation->is_wholly_written() && (write || settings_.check_initialised)) {
        const auto begin = reinterpret_cast<std::uintptr_t>(allocation->data());
        for (std::size_t i = 0; i < places_.globals; ++i) {
            const std::size_t offset = places_.global[i] - begin;
            if (write) {
                allocation->mark_written(offset, bytes);
            } else {
                allowed = allowed && allocation->is_written(offset, bytes);
            }
        }
    }
    if (!allowed) {
        places_.globals = 0;
        return false;
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        places_.at[lane] = reinterpret_cast<std::byte*>(places_.address[lane]);
    count_global({places_.global.data(), places_.globals}, bytes, write);
    return true;
}

void Block::count_global(std::span<const std::uint64_t> addresses, std::size_t bytes, bool write) {
    sectors_.clear();
    bool sorted = true;
    for (const std::uint64_t address : addresses) {
        for (std::uint64_t sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector) {
            if (!sectors_.empty() && sectors_.back() == sector) continue;
            sorted = sorted && (sectors_.empty() || sectors_.back() < sector);
            sectors_.push_back(sector);
        }
    }
    if (!sorted) {
        std::sort(sectors_.begin(), sectors_.end());
        sectors_.erase(std::unique(sectors_.begin(), sectors_.end()), sectors_.end());
    }
    std::uint64_t touched = 0;
    for (const std::uint64_t sector : sectors_) {
        // Allocations begin at multiples of a sector; the last sector of an allocation may be incomplete.
        Allocation* const allocation = memory_.find(sector * kSector, 1);
        if (allocation == nullptr) continue;
        const std::uint64_t first = reinterpret_cast<std::uintptr_t>(allocation->data()) / kSector;
        if (allocation->touch_sector(sector - first, write)) ++touched;
    }
    (write ? report_.written_bytes : report_.read_bytes) += touched * kSector;
    (write ? report_.stored_bytes : report_.loaded_bytes) += addresses.size() * bytes;
    if (write) return;
    ++report_.load_requests;
    report_.load_sectors += sectors_.size();
}

/// Counts the wavefronts of an access to shared memory, which has 32 banks of 4 bytes. Lanes are served
/// together as long as they access at most 128 bytes in total, and each bank serves one word at a time.
void Block::count_shared(std::span<const std::uint64_t> addresses, std::size_t bytes) {
    const std::size_t words = std::max<std::size_t>(1, bytes / kBankBytes);
    const std::size_t together = kBanks / words;
    ++report_.shared_requests;
    for (std::size_t first = 0; first < addresses.size(); first += together) {
        // `wanted` holds the first word that is accessed in each bank; `more` holds the further distinct
        // words of banks in which several words are accessed.
        std::array<std::uint64_t, kBanks> wanted;
        std::uint32_t used = 0;
        std::vector<std::uint64_t> more;
        for (std::size_t i = first; i < std::min(addresses.size(), first + together); ++i) {
            for (std::uint64_t word = addresses[i] / kBankBytes; word < addresses[i] / kBankBytes + words;
                 ++word) {
                const std::uint64_t bank = word % kBanks;
                if ((used >> bank & 1) == 0) {
                    used |= 1U << bank;
                    wanted[bank] = word;
                } else if (wanted[bank] != word && std::find(more.begin(), more.end(), word) == more.end()) {
                    more.push_back(word);
                }
            }
        }
        std::array<std::uint8_t, kBanks> count{};
        std::uint8_t most = 0;
        for (const std::uint64_t word : more) most = std::max(most, ++count[word % kBanks]);
        report_.shared_wavefronts += 1U + most;
        ++report_.shared_least;
    }
}

void Block::load(Warp& warp, const Instruction& instruction) {
    const std::size_t bytes = static_cast<std::size_t>(instruction.bytes) * instruction.parts;
    const LoadPart part = load_part_of(instruction.bytes, instruction.is_signed);
    if (instruction.space == Space::parameter) {
        // The parameters are only read, so that the const_cast is safe.
        const auto place = [&](int lane) {
            return const_cast<std::byte*>(parameter_at(warp, lane, address(warp, instruction, lane), bytes));
        };
        if (instruction.same_place) {
            places_.at.fill(place(__builtin_ctz(warp.lanes.active)));
        } else {
            for_lanes(warp.lanes.active,
                      [&](int lane) { places_.at[static_cast<std::size_t>(lane)] = place(lane); });
        }
    } else {
        find_places(warp, instruction, bytes, Touch::read);
    }
    for (std::size_t i = 0; i < instruction.parts; ++i)
        part(warp.lanes, instruction.to[i], instruction.wide_values, places_.at, i * instruction.bytes);
}

void Block::store(Warp& warp, const Instruction& instruction) {
    find_places(warp, instruction, static_cast<std::size_t>(instruction.bytes) * instruction.parts,
                Touch::write);
    for (std::size_t i = 0; i < instruction.parts; ++i) {
        const auto part = instruction.bytes == 1   ? store_part<1>
                          : instruction.bytes == 2 ? store_part<2>
                          : instruction.bytes == 4 ? store_part<4>
                                                   : store_part<8>;
        part(warp.lanes, instruction.from[1 + i], instruction.wide_values, places_.at, i * instruction.bytes);
    }
}

void Block::atomic(Warp& warp, const Instruction& instruction) {
    find_places(warp, instruction, instruction.bytes, Touch::atomic);
    for_lanes(warp.lanes.active, [&](int lane) {
        std::byte* const at = places_.at[static_cast<std::size_t>(lane)];
        if (instruction.bytes == 8) {
            std::uint64_t old = 0;
            std::memcpy(&old, at, 8);
            const auto operand = warp.lanes.get<std::uint64_t>(instruction.from[1], lane);
            if (instruction.is_signed) {
                write_back(instruction.atomic, at, static_cast<std::int64_t>(operand));
            } else {
                write_back(instruction.atomic, at, operand);
            }
            if (instruction.to[0] != kNoSlot) warp.lanes.set(instruction.to[0], lane, old);
            return;
        }
        std::uint32_t old = 0;
        std::memcpy(&old, at, 4);
        const auto operand = warp.lanes.get<std::uint32_t>(instruction.from[1], lane);
        if (instruction.atomic == Atomic::add_float) {
            write_back(instruction.atomic, at, warp.lanes.get<float>(instruction.from[1], lane));
        } else if (instruction.is_signed) {
            write_back(instruction.atomic, at, static_cast<std::int32_t>(operand));
        } else {
            write_back(instruction.atomic, at, operand);
        }
        if (instruction.to[0] != kNoSlot) warp.lanes.set(instruction.to[0], lane, old);
    });
}

/// ldmatrix. Lane i + 8 · m gives the address of row i of matrix m. Each lane then receives two elements of
/// row lane / 4 of each matrix, or of each transposed matrix.
void Block::load_matrices(Warp& warp, const Instruction& instruction) {
    std::array<std::array<const std::byte*, kMatrixRows>, 4> rows{};
    places_.shareds = 0;
    for (int matrix = 0; matrix < instruction.parts; ++matrix) {
        for (int row = 0; row < kMatrixRows; ++row) {
            const int lane = matrix * kMatrixRows + row;
            std::uint64_t at = address(warp, instruction, lane);
            if (instruction.space == Space::generic) at -= kSharedWindow;
            require_aligned(warp, lane, at, kMatrixRowBytes);
            rows[static_cast<std::size_t>(matrix)][static_cast<std::size_t>(row)] =
                shared_at(warp, lane, at, kMatrixRowBytes, Touch::read);
            places_.shared[places_.shareds++] = at;
        }
    }
    count_shared({places_.shared.data(), places_.shareds}, kMatrixRowBytes);
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

/// Issues an asynchronous copy. The data arrives when the copy is waited for; until then, shared memory keeps
/// its old contents.
void Block::copy_async(Warp& warp, const Instruction& instruction) {
    places_.globals = places_.shareds = 0;
    for_lanes(warp.lanes.active, [&](int lane) {
        const std::uint64_t from = address(warp, instruction, lane);
        const auto to = warp.lanes.get<std::uint32_t>(instruction.from[1], lane);
        const auto wanted = warp.lanes.get<std::uint32_t>(instruction.from[2], lane);
        const auto read = static_cast<std::uint8_t>(std::min<std::uint32_t>(wanted, instruction.bytes));
        require_aligned(warp, lane, to, instruction.bytes);
        static_cast<void>(shared_at(warp, lane, to, instruction.bytes, Touch::copy));
        places_.shared[places_.shareds++] = to;
        if (read > 0) {
            require_aligned(warp, lane, from, instruction.bytes);
            static_cast<void>(global_at(warp, lane, from, read, false));
            places_.global[places_.globals++] = from;
        }
        warp.copies[static_cast<std::size_t>(lane)].issued.push_back({to, from, instruction.bytes, read});
    });
    count_shared({places_.shared.data(), places_.shareds}, instruction.bytes);
    if (places_.globals == 0) return;
    count_global({places_.global.data(), places_.globals}, instruction.bytes, false);
    require_order(warp, instruction.bytes, Touch::read, instruction.past_l1);
}

/// Lets all but the newest `pending` groups of a thread arrive.
void Block::finish_copies(Warp& warp, int lane, std::size_t pending) {
    Copies& copies = warp.copies[static_cast<std::size_t>(lane)];
    while (copies.ends.size() - copies.ended > pending) {
        for (; copies.arrived < copies.ends[copies.ended]; ++copies.arrived) {
            const Copy& copy = copies.issued[copies.arrived];
            std::byte* const to = shared_at(warp, lane, copy.shared, copy.bytes, Touch::arrival);
            std::memset(to, 0, copy.bytes);
            if (copy.read > 0)
                std::memcpy(to, global_at(warp, lane, copy.global, copy.read, false), copy.read);
        }
        ++copies.ended;
    }
    if (copies.arrived == copies.issued.size() && copies.ended == copies.ends.size()) copies.clear();
}

void Block::fail(FaultKind kind, const Warp& warp, int lane, const std::string& what) const {
    const auto index = static_cast<std::size_t>(current_ - kernel_.instructions.data());
    const std::string& source = kernel_.sources[index];
    throw FaultFound{
        {kind, fmt::format("{}: block ({}, {}, {}), thread {}, {}:{}{}: {}: {}", kernel_.name, at_[0], at_[1],
                           at_[2], warp.first_thread + lane, kernel_.file, current_->line,
                           source.empty() ? "" : fmt::format(" ({})", source), kernel_.texts[index], what)}};
}

}  // namespace paretoken::virtual_gpu
