// Keys and values of many sequences in fixed-size blocks, shared by content: prefixes, forks and rollback are one
// mechanism.
//
// A sequence is a list of tokens and, per layer group, a table position / 64 -> block. Blocks are reference-counted;
// writing to a shared block copies it first. A full block is named by its tokens and everything before it (PrefixTree),
// and stays, in nobody's use, until its memory is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "batch/kv_view.h"
#include "runtime/block_pool.h"
#include "runtime/prefix_tree.h"

namespace ingle {

struct KvGroupOptions {
  KvLayout layout;     // of one layer's block
  int64_t layers = 0;  // layer l of block b starts at (b * layers + l) * layout.block_bytes()
  int32_t window = 0;  // blocks behind it are let go; 0: none
  int32_t blocks = 0;  // the budget
};

// What a request for a prefix found.
struct PrefixReuse {
  int64_t reused = 0;   // tokens taken over
  int64_t matched = 0;  // tokens the cache knows of, whether or not their blocks are still there
  struct Difference {
    int64_t position;
    int32_t cached, wanted;
  };
  std::optional<Difference>
      difference;  // the first, against the closest content; none when there is nothing to compare
};

// Not thread-safe. `context` bounds a sequence's length; the memory of `sequences` such sequences' lists is reserved
// when they are made, so that appending allocates nothing.
class KvCache {
 public:
  KvCache(std::vector<KvGroupOptions> groups, int64_t context, int64_t sequences);

  // Every function that takes an id throws Error{kInvalidArgument} for one that is not there.
  int32_t create();
  int32_t fork(int32_t from);
  void release(int32_t id);
  std::span<const int32_t> tokens(int32_t id) const;
  // Positions whose keys and values are there. It is tokens().size() but for a sequence with a window that was
  // truncated further back than its blocks reach: then the tokens from computed() on must be read again.
  int64_t computed(int32_t id) const;
  void truncate(int32_t id, int64_t length);

  // What is computed for an empty sequence from now on is shared only with sequences of the same key, which stands for
  // all that makes keys and values besides the tokens. Forks have their original's; new sequences have 0.
  void set_key(int32_t id, uint64_t key);
  // Makes an empty sequence start with what is there of `prompt`, at most `limit` tokens.
  PrefixReuse reuse_prefix(int32_t id, std::span<const int32_t> prompt, int64_t limit);

  struct Append {
    int32_t id;
    int64_t rows;  // after computed()
  };
  // Gives every sequence (each at most once) its own blocks for the rows it is about to get. Throws Error{kOutOfMemory}
  // (wanted and available) and changes nothing then.
  void prepare(std::span<const Append> appends);
  // The blocks that prepare(appends) would need and those that are there, for the group that is worst off: for an early
  // "no". Windows are left out, what they need at once depends on how the appends are cut.
  void check_room(std::span<const Append> appends) const;
  // After the step: these tokens' keys and values are there now.
  void commit(int32_t id, std::span<const int32_t> tokens);
  // Instead of commit(): back to computed().
  void abandon(int32_t id);

  // A sequence as it lies outside the cache. A group's blocks from `first` on are there, up to the one of the last
  // computed position.
  struct Stored {
    std::span<const int32_t> tokens;
    int64_t computed = 0;
    std::span<const int64_t> first;  // [groups], indices of blocks
  };
  int64_t first_block(int32_t id, size_t group) const { return sequence(id).groups[group].first; }
  std::span<const std::byte> block(int32_t id, size_t group, int64_t index) const;
  // Makes an empty sequence what was stored; `fill` writes the blocks that are there, group by group, and must not
  // throw. Throws Error: kInvalidArgument (more tokens than the context, a window's blocks missing), kOutOfMemory; then
  // nothing has changed.
  void restore(int32_t id, const Stored& stored,
               const std::function<void(size_t group, int64_t index, std::span<std::byte> block)>& fill);

  size_t groups() const noexcept { return groups_.size(); }
  std::span<const int32_t> table(int32_t id, size_t group) const { return sequence(id).groups[group].table; }
  std::byte* base(size_t group) const noexcept { return pools_[group].base(); }
  const KvGroupOptions& group(size_t group) const noexcept { return groups_[group]; }
  const BlockPool& pool(size_t group) const noexcept { return pools_[group]; }
  size_t budget_bytes() const noexcept;
  size_t nodes() const noexcept { return tree_.size(); }

 private:
  struct GroupTable {
    std::vector<int32_t> table;  // covers computed (and, between prepare and commit, what is prepared)
    int64_t first = 0;           // index of the first block not yet let go
  };
  struct Sequence {
    bool live = false;
    int32_t root = PrefixTree::kRoot;  // by its key; it is a user of it
    std::vector<int32_t> tokens;
    int64_t computed = 0;
    std::vector<GroupTable> groups;
    std::vector<int32_t> nodes;  // of the full blocks: computed / 64 of them
  };
  struct Adoption;

  Sequence& sequence(int32_t id);
  const Sequence& sequence(int32_t id) const;
  int32_t new_sequence();
  int64_t first_needed(size_t group, int64_t position) const noexcept;
  int32_t take(size_t group);
  void own_tail(Sequence& s, size_t group, int64_t spare);
  void cut_tables(Sequence& s, int64_t length);
  void name_blocks(Sequence& s);
  void drop_all(Sequence& s);
  int64_t adopt(Sequence& s, std::span<const int32_t> prompt, int64_t limit, PrefixReuse& report);
  void keep_tail(Sequence& s);
  int64_t needed_blocks(std::span<const Append> appends, size_t group) const;

  std::vector<KvGroupOptions> groups_;
  int64_t context_;
  std::vector<BlockPool> pools_;
  PrefixTree tree_;
  std::vector<Sequence> sequences_;
  std::vector<int32_t> free_ids_;
};

}  // namespace ingle
