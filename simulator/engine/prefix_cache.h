#pragma once
// The KV blocks of a batching engine and their content, managed as in vLLM v1. The name of a full block is a
// hash over every token up to its end. Invariant: a block is either in use (count above 0) or in the queue of
// idle blocks; an idle block keeps its name until it is allocated for other content or forget() is called.
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace paretoken::sim {

/// Names blocks by a running hash over tokens, taken at every block's end, so that a block's name depends on
/// its own tokens, on all tokens before them, and on the salt.
class BlockHasher {
  public:
    explicit BlockHasher(std::int64_t block_tokens = 16, std::uint64_t salt = 0)
        : block_tokens_(block_tokens), state_(salt) {}

    /// Returns the name of the block that this token completes, if it completes one.
    std::optional<std::uint64_t> add(std::uint64_t token);

    bool operator==(const BlockHasher&) const = default;

  private:
    std::int64_t block_tokens_;
    std::int64_t filled_ = 0;  ///< tokens of the current block
    std::uint64_t state_;
};

class PrefixCache {
  public:
    using Block = std::int32_t;

    explicit PrefixCache(std::int64_t blocks);

    /// Returns the length of the longest beginning of `names` that is completely in the cache.
    std::size_t contiguous_hit(std::span<const std::uint64_t> names) const;

    /// Appends to `held` the blocks named in `hit`, which must be in the cache, and the `fresh` blocks that
    /// were idle longest, without their names. Returns false and changes nothing if too few are idle.
    /// `displaced`, if given, gets the names that no block has any more.
    bool allocate(std::span<const std::uint64_t> hit, std::int64_t fresh, std::vector<Block>& held,
                  std::vector<std::uint64_t>* displaced = nullptr);

    /// Gives a name to a block in use, in place of its former one, so that contiguous_hit() finds it. Two
    /// blocks may have the same name; allocate() then uses the one that was named first.
    void name(Block block, std::uint64_t name);

    /// Releases all blocks of `held`, the last one first, so that a sequence's end is evicted first.
    void release(std::vector<Block>& held);

    /// Forgets all names; does nothing and returns false while a block is in use.
    bool forget();

    std::int64_t blocks() const { return static_cast<std::int64_t>(entries_.size()) - 1; }
    std::int64_t idle() const { return idle_; }  ///< blocks that can be allocated

  private:
    struct Entry {
        std::uint64_t name = 0;
        bool named = false;
        std::int32_t uses = 0;
        Block before = 0;  ///< neighbour in the queue of idle blocks; entry 0 is its head
        Block after = 0;
        Block same_before = 0;  ///< neighbour among blocks of one name, oldest first; 0 means none
        Block same_after = 0;
    };
    struct Ends {
        Block oldest = 0;
        Block youngest = 0;
    };

    void enqueue(Block block);
    void dequeue(Block block);
    void unname(Block block);

    std::vector<Entry> entries_;
    std::unordered_map<std::uint64_t, Ends> named_;
    std::int64_t idle_ = 0;
};

}  // namespace paretoken::sim
