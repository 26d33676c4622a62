#pragma once
// Shared memory of one thread block, and who touched what of it. Two accesses to a place, one of them no mere
// read, are in order when the same thread made both, when a barrier of the block lies between, or, for lanes
// of one warp, a barrier of the warp; two atomic ones always are. What is copied asynchronously belongs to
// nobody until it has arrived.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paretoken::virtual_gpu {

/// A thread, and the barriers that it has passed. Warps' epochs never go back, not even from block to block.
struct Accessor {
    std::int16_t thread = 0;
    std::int16_t warp = 0;
    std::uint32_t warp_epoch = 0;
};

enum class Touch : std::uint8_t {
    read,
    write,
    atomic,
    copy,     ///< cp.async: will be written some time from now on
    arrival,  ///< of such a copy
};

class SharedMemory {
  public:
    SharedMemory(std::size_t bytes, bool check_races, bool check_initialised);

    /// Another block's: nothing is written, nobody has touched it.
    void begin_block();
    void pass_barrier() { ++epoch_; }

    std::size_t size() const { return bytes_.size(); }
    bool holds(std::uint64_t at, std::size_t bytes) const { return at <= size() && bytes <= size() - at; }
    std::byte* at(std::uint64_t address) { return bytes_.data() + address; }

    /// False: not allowed, trouble() tells why. What is touched lies inside; at a multiple of 4 if it is of 4
    /// or more bytes.
    bool touch(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who);

    struct Trouble {
        bool uninitialised = false;  ///< else a race
        std::uint64_t byte = 0;
        std::string what = {};
    };
    const Trouble& trouble() const { return trouble_; }

  private:
    static constexpr std::int16_t kSeveral = -1;
    struct Access {
        std::uint32_t epoch = 0;  ///< of the block; 0: never
        std::uint32_t warp_epoch = 0;
        std::int16_t thread = 0;  ///< or kSeveral
        std::int16_t warp = 0;    ///< or kSeveral
    };
    struct Place {
        Access write = {};
        Access read = {};
        bool atomic = false;  ///< the write
        bool copied = false;  ///< has not arrived
        bool split = false;   ///< a word whose bytes are looked at one by one
    };

    bool ordered(const Access& earlier, const Accessor& who) const;
    void add(Access& access, const Accessor& who) const;
    bool touch_place(Place& place, std::uint64_t at, Touch how, const Accessor& who);
    bool touch_bytes(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who);
    bool fail(const Place& place, std::uint64_t at, const Access* other, const char* did);

    std::vector<std::byte> bytes_;
    std::vector<Place> words_;
    std::vector<Place> single_;  ///< of split words, a place per byte; empty while there is none
    std::uint32_t epoch_ = 0;    ///< barriers passed, by all blocks
    std::uint32_t first_epoch_ = 1;
    bool check_races_;
    bool check_initialised_;
    Trouble trouble_;
};

}  // namespace paretoken::virtual_gpu
