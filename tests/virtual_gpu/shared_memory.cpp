#include "tests/virtual_gpu/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace paretoken::virtual_gpu {
namespace {

constexpr std::size_t kWord = 4;
constexpr int kPoison = 0xa5;

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes, bool check_races, bool check_initialised)
    : bytes_(bytes),
      words_((bytes + kWord - 1) / kWord),
      check_races_(check_races),
      check_initialised_(check_initialised) {}

void SharedMemory::begin_block() {
    first_epoch_ = ++epoch_;
    std::fill(bytes_.begin(), bytes_.end(), static_cast<std::byte>(kPoison));
}

inline bool SharedMemory::ordered(const Access& earlier, const Accessor& who) const {
    if (earlier.epoch != epoch_) return true;
    if (earlier.warp != who.warp) return false;
    return earlier.thread == who.thread || earlier.warp_epoch != who.warp_epoch;
}

/// Records an access. It replaces the recorded accesses if a barrier of the block, or a barrier of their
/// common warp, lies between them and the new one: a later access that races with a recorded one then also
/// races with the new one. Otherwise the accesses are merged.
inline void SharedMemory::add(Access& access, const Accessor& who) const {
    const bool first =
        access.epoch != epoch_ || (access.warp == who.warp && access.warp_epoch != who.warp_epoch);
    if (first) {
        access = {epoch_, who.warp_epoch, who.thread, who.warp};
    } else if (access.warp != who.warp) {
        access.warp = kSeveral;
        access.thread = kSeveral;
    } else if (access.thread != who.thread) {
        access.thread = kSeveral;
    }
}

bool SharedMemory::fail(const Place& place, std::uint64_t at, const Access* other, const char* did) {
    trouble_ = {.uninitialised = other == nullptr, .byte = at};
    if (other == nullptr) {
        trouble_.what = fmt::format("byte {} of shared memory was never written", at);
    } else {
        const std::string thread = other->thread == kSeveral ? std::string("several threads")
                                                             : fmt::format("thread {}", other->thread);
        trouble_.what =
            place.copied
                ? fmt::format(
                      "byte {} of shared memory: the asynchronous copy by {} to it has not been waited for",
                      at, thread)
                : fmt::format("byte {} of shared memory: {} {} it, and no barrier separates the two accesses",
                              at, thread, did);
    }
    return false;
}

inline bool SharedMemory::touch_place(Place& place, std::uint64_t at, Touch how, const Accessor& who) {
    const bool reads = how == Touch::read || how == Touch::atomic;
    if (check_races_ && how != Touch::arrival) {
        if (place.copied && place.write.epoch >= first_epoch_) return fail(place, at, &place.write, "");
        const bool both_atomic = how == Touch::atomic && place.atomic;
        if (!both_atomic && !ordered(place.write, who))
            return fail(place, at, &place.write, place.atomic ? "changed" : "wrote");
        if (how != Touch::read && !ordered(place.read, who)) return fail(place, at, &place.read, "read");
    }
    if (reads && check_initialised_ && place.write.epoch < first_epoch_) return fail(place, at, nullptr, "");
    if (how == Touch::read) {
        add(place.read, who);
    } else if (how == Touch::atomic && place.atomic) {
        add(place.write, who);
    } else if (how == Touch::atomic && place.write.epoch == epoch_) {
        // A plain write by this thread, or by its warp before a barrier of the warp, stays recorded: atomic
        // accesses of other warps race with it, but they would not race with an atomic one.
    } else {
        place.write = {epoch_, who.warp_epoch, who.thread, who.warp};
        place.atomic = how == Touch::atomic;
        place.copied = how == Touch::copy;
    }
    return true;
}

bool SharedMemory::touch(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who) {
    if (!check_races_ && !check_initialised_) return true;
    if (bytes < kWord || at % kWord != 0) return touch_bytes(at, bytes, how, who);
    for (std::uint64_t word = at / kWord; word < (at + bytes) / kWord; ++word) {
        Place& place = words_[word];
        if (place.split) {
            if (!touch_bytes(word * kWord, kWord, how, who)) return false;
        } else if (!touch_place(place, word * kWord, how, who)) {
            return false;
        }
    }
    return true;
}

bool SharedMemory::touch_bytes(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who) {
    if (single_.empty()) single_.resize(words_.size() * kWord);
    for (std::uint64_t byte = at; byte < at + bytes; ++byte) {
        Place& word = words_[byte / kWord];
        if (!word.split) {
            std::fill_n(single_.begin() + static_cast<std::ptrdiff_t>(byte / kWord * kWord), kWord, word);
            word.split = true;
        }
        if (!touch_place(single_[byte], byte, how, who)) return false;
    }
    return true;
}

}  // namespace paretoken::virtual_gpu
