#pragma once
// The shared memory of one thread block, with a record of which threads accessed which bytes. Two accesses to
// the same byte, of which at least one is not a read, are ordered if the same thread made both, if a barrier
// of the block lies between them, or if both threads are lanes of one warp and a barrier of that warp lies
// between them. Two atomic accesses are always ordered. Two accesses that are not ordered are a race. No
// thread may access the destination of an asynchronous copy until the thread that issued the copy has waited
// for it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paretoken::virtual_gpu {

/// A thread and the epoch of its warp, which grows at each barrier that the warp passes. The epoch of a warp
/// never decreases, not even when the next block begins.
struct Accessor {
    std::int16_t thread = 0;  ///< index in the block
    std::int16_t warp = 0;    ///< index in the block
    std::uint32_t warp_epoch = 0;
};

/// The kinds of accesses. All but `read` count as writes.
enum class Touch : std::uint8_t {
    read,
    write,
    atomic,
    copy,     ///< cp.async is issued: the bytes will be written at some later time
    arrival,  ///< the data of a cp.async is written
};

class SharedMemory {
  public:
    SharedMemory(std::size_t bytes, bool check_races, bool check_initialised);

    /// Starts another block: no byte counts as written, and no thread has accessed the memory.
    void begin_block();
    /// Records that all threads have passed a barrier of the block.
    void pass_barrier() { ++epoch_; }

    std::size_t size() const { return bytes_.size(); }
    /// Returns whether all these bytes lie in the memory. Addresses count from its first byte.
    bool holds(std::uint64_t at, std::size_t bytes) const { return at <= size() && bytes <= size() - at; }
    std::byte* at(std::uint64_t address) { return bytes_.data() + address; }

    /// Checks and records an access. Returns false if the access is an error; trouble() then says why. The
    /// bytes must lie inside the memory. Their number must be a multiple of 4 if it is larger than 4.
    bool touch(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who);

    struct Trouble {
        bool uninitialised = false;  ///< true: a read of a byte that was never written; false: a race
        std::uint64_t byte = 0;      ///< address
        std::string what = {};       ///< description for messages
    };
    const Trouble& trouble() const { return trouble_; }

  private:
    static constexpr std::int16_t kSeveral = -1;
    /// The last access to a byte or word, or several accesses that no barrier separates.
    struct Access {
        std::uint32_t epoch = 0;  ///< value of epoch_ at the access; 0: there was no access
        std::uint32_t warp_epoch = 0;
        std::int16_t thread = 0;  ///< kSeveral: several threads
        std::int16_t warp = 0;    ///< kSeveral: several warps
    };
    /// The accesses to a word of 4 bytes, or to a byte of a split word.
    struct Place {
        Access write = {};
        Access read = {};
        bool atomic = false;  ///< `write` was an atomic access
        bool copied = false;  ///< `write` is an asynchronous copy that has not been waited for
        bool split = false;   ///< the bytes of this word are recorded one by one, in single_
    };

    bool ordered(const Access& earlier, const Accessor& who) const;
    void add(Access& access, const Accessor& who) const;
    bool touch_place(Place& place, std::uint64_t at, Touch how, const Accessor& who);
    bool touch_bytes(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who);
    bool fail(const Place& place, std::uint64_t at, const Access* other, const char* did);

    std::vector<std::byte> bytes_;
    std::vector<Place> words_;
    std::vector<Place> single_;      ///< one Place per byte, for split words; empty while no word is split
    std::uint32_t epoch_ = 0;        ///< number of blocks begun and of barriers passed by all of them
    std::uint32_t first_epoch_ = 1;  ///< value of epoch_ when the current block began
    bool check_races_;
    bool check_initialised_;
    Trouble trouble_;
};

}  // namespace paretoken::virtual_gpu
