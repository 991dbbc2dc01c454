#include "runtime/kv_cache.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ingle {
namespace {

constexpr int64_t kBlock = kKvBlockPositions;
// Blocks this far behind a window stay, so that going back a little (a rejected draft, an undone word) is exact without
// reading again.
constexpr int64_t kWindowSlack = kBlock;

int64_t blocks_for(int64_t positions) { return (positions + kBlock - 1) / kBlock; }

size_t total_blocks(std::span<const KvGroupOptions> groups) {
  size_t sum = 0;
  for (const KvGroupOptions& g : groups) sum += static_cast<size_t>(g.blocks);
  return sum;
}

}  // namespace

KvCache::KvCache(std::vector<KvGroupOptions> groups, int64_t context, int64_t sequences)
    : groups_(std::move(groups)),
      context_(context),
      // Nodes without a block are those behind windows, one per block of a live sequence at most.
      tree_(groups_.size(), total_blocks(groups_) + static_cast<size_t>(sequences * blocks_for(context)) + 16) {
  for (const KvGroupOptions& g : groups_)
    pools_.emplace_back(g.blocks, static_cast<size_t>(g.layers) * g.layout.block_bytes());
}

size_t KvCache::budget_bytes() const noexcept {
  size_t sum = 0;
  for (const BlockPool& pool : pools_) sum += static_cast<size_t>(pool.capacity()) * pool.block_bytes();
  return sum;
}

// --- sequences
// -----------------------------------------------------------------------------------------------------------------

KvCache::Sequence& KvCache::sequence(int32_t id) {
  return const_cast<Sequence&>(static_cast<const KvCache*>(this)->sequence(id));
}

const KvCache::Sequence& KvCache::sequence(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= sequences_.size() || !sequences_[static_cast<size_t>(id)].live)
    throw_error(ErrorCode::kInvalidArgument, "sequence {}: there is no such sequence", id);
  return sequences_[static_cast<size_t>(id)];
}

int32_t KvCache::new_sequence() {
  if (free_ids_.empty()) {
    Sequence s;
    s.tokens.reserve(static_cast<size_t>(context_));
    s.nodes.reserve(static_cast<size_t>(blocks_for(context_)));
    s.groups.resize(groups_.size());
    for (GroupTable& g : s.groups) g.table.reserve(static_cast<size_t>(blocks_for(context_)));
    sequences_.push_back(std::move(s));
    free_ids_.reserve(sequences_.size());
    free_ids_.push_back(static_cast<int32_t>(sequences_.size()) - 1);
  }
  const int32_t id = free_ids_.back();
  free_ids_.pop_back();
  sequences_[static_cast<size_t>(id)].live = true;
  tree_.add_user(sequences_[static_cast<size_t>(id)].root);
  return id;
}

int32_t KvCache::create() { return new_sequence(); }

void KvCache::set_key(int32_t id, uint64_t key) {
  Sequence& s = sequence(id);
  INGLE_CHECK(s.tokens.empty());
  const int32_t root = tree_.anchor(key);
  tree_.add_user(root);
  tree_.drop_user(std::exchange(s.root, root));
}

int32_t KvCache::fork(int32_t from) {
  sequence(from);
  const int32_t id = new_sequence();
  Sequence& copy = sequence(id);
  const Sequence& original = sequence(from);
  copy.tokens.assign(original.tokens.begin(), original.tokens.end());
  copy.nodes.assign(original.nodes.begin(), original.nodes.end());
  copy.computed = original.computed;
  tree_.add_user(original.root);
  tree_.drop_user(std::exchange(copy.root, original.root));
  for (int32_t node : copy.nodes) tree_.add_user(node);
  for (size_t g = 0; g < groups_.size(); ++g) {
    copy.groups[g].table.assign(original.groups[g].table.begin(), original.groups[g].table.end());
    copy.groups[g].first = original.groups[g].first;
    for (int32_t block : copy.groups[g].table) {
      if (block != kNoBlock) pools_[g].add_reference(block);
    }
  }
  return id;
}

void KvCache::release(int32_t id) {
  Sequence& s = sequence(id);
  keep_tail(s);
  drop_all(s);
  s.tokens.clear();
  tree_.drop_user(std::exchange(s.root, PrefixTree::kRoot));
  s.live = false;
  free_ids_.push_back(id);
}

std::span<const int32_t> KvCache::tokens(int32_t id) const { return sequence(id).tokens; }
int64_t KvCache::computed(int32_t id) const { return sequence(id).computed; }

// The first block a query at `position` can see.
int64_t KvCache::first_needed(size_t group, int64_t position) const noexcept {
  const int64_t window = groups_[group].window;
  return window == 0 ? 0 : std::max<int64_t>(0, position - window + 1) / kBlock;
}

void KvCache::truncate(int32_t id, int64_t length) {
  Sequence& s = sequence(id);
  const auto size = static_cast<int64_t>(s.tokens.size());
  if (length < 0 || length > size)
    throw_error(ErrorCode::kInvalidArgument, "sequence {}: cannot be cut to {} tokens, it has {}", id, length, size);
  s.tokens.resize(static_cast<size_t>(length));
  if (length >= s.computed) return;
  bool reaches = true;
  for (size_t g = 0; g < groups_.size(); ++g) reaches &= first_needed(g, length) >= s.groups[g].first;
  if (reaches) {
    cut_tables(s, length);
    return;
  }
  // A window has passed what is needed now: take what the cache still has by content, the rest is read again.
  drop_all(s);
  PrefixReuse ignored;
  s.computed = adopt(s, s.tokens, length, ignored);
  name_blocks(s);
}

// --- blocks
// --------------------------------------------------------------------------------------------------------------------

int32_t KvCache::take(size_t group) {
  const BlockPool::Taken taken = pools_[group].take();
  if (taken.forgotten != kNoNode) tree_.set_block(taken.forgotten, group, kNoBlock);
  return taken.block;
}

void KvCache::cut_tables(Sequence& s, int64_t length) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    std::vector<int32_t>& table = s.groups[g].table;
    // From the back: of the kept blocks the last are forgotten first, so that a prefix stays useful.
    while (static_cast<int64_t>(table.size()) > blocks_for(length)) {
      if (table.back() != kNoBlock) pools_[g].drop_reference(table.back());
      table.pop_back();
    }
    s.groups[g].first = std::min(s.groups[g].first, static_cast<int64_t>(table.size()));
  }
  while (static_cast<int64_t>(s.nodes.size()) > length / kBlock) {
    tree_.drop_user(s.nodes.back());
    s.nodes.pop_back();
  }
  s.computed = std::min(s.computed, length);
}

void KvCache::drop_all(Sequence& s) { cut_tables(s, 0); }

int64_t KvCache::needed_blocks(std::span<const Append> appends, size_t group) const {
  int64_t needed = 0;
  for (const Append& a : appends) {
    const Sequence& s = sequence(a.id);
    if (a.rows == 0) continue;
    const std::vector<int32_t>& table = s.groups[group].table;
    needed += blocks_for(s.computed + a.rows) - static_cast<int64_t>(table.size());
    if (s.computed % kBlock == 0) continue;
    // The tail is shared: everybody who appends copies it, but for the last when nobody else is left.
    const int32_t tail = table[static_cast<size_t>(s.computed / kBlock)];
    const int32_t references = pools_[group].references(tail);
    if (references == 1) continue;
    int32_t before = 0;
    for (const Append* other = appends.data(); other != &a; ++other) {
      const Sequence& o = sequence(other->id);
      before += other->rows > 0 && o.computed % kBlock != 0 &&
                o.groups[group].table[static_cast<size_t>(o.computed / kBlock)] == tail;
    }
    needed += before + 1 < references;
  }
  return needed;
}

void KvCache::check_room(std::span<const Append> appends) const {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].window != 0) continue;
    const int64_t needed = needed_blocks(appends, g);
    const int64_t available = pools_[g].available();
    if (needed <= available) continue;
    throw_error(
        ErrorCode::kOutOfMemory,
        "key/value cache: {} more blocks of {} positions are wanted, {} of {} are available; release or shorten "
        "sequences, or make the context larger",
        needed, kBlock, available, pools_[g].capacity());
  }
}

// Makes the partly filled last block the sequence's own. `spare`: blocks left once everything that must be taken is
// taken.
void KvCache::own_tail(Sequence& s, size_t group, int64_t spare) {
  if (s.computed % kBlock == 0) return;
  BlockPool& pool = pools_[group];
  int32_t& tail = s.groups[group].table[static_cast<size_t>(s.computed / kBlock)];
  const bool shared = pool.references(tail) > 1;
  const int32_t node = pool.node(tail);
  if (!shared && node == kNoNode) return;
  if (!shared && spare == 0) {  // the last use of this content, and no room to keep it
    pool.set_node(tail, kNoNode);
    tree_.set_block(node, group, kNoBlock);
    return;
  }
  const int32_t copy = take(group);
  pool.copy(tail, copy);
  pool.drop_reference(tail);
  tail = copy;
}

void KvCache::prepare(std::span<const Append> appends) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int64_t needed = needed_blocks(appends, g);
    if (needed <= pools_[g].available()) continue;
    throw_error(
        ErrorCode::kOutOfMemory,
        "key/value cache: {} more blocks of {} positions are wanted, {} of {} are available; release or shorten "
        "sequences, or make the context larger",
        needed, kBlock, pools_[g].available(), pools_[g].capacity());
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int64_t spare = pools_[g].available() - needed_blocks(appends, g);
    for (const Append& a : appends) {
      if (a.rows == 0) continue;
      Sequence& s = sequence(a.id);
      own_tail(s, g, spare);
      std::vector<int32_t>& table = s.groups[g].table;
      while (static_cast<int64_t>(table.size()) < blocks_for(s.computed + a.rows)) table.push_back(take(g));
    }
  }
}

void KvCache::abandon(int32_t id) {
  Sequence& s = sequence(id);
  cut_tables(s, s.computed);
}

void KvCache::commit(int32_t id, std::span<const int32_t> tokens) {
  Sequence& s = sequence(id);
  for (int32_t token : tokens) {
    if (s.computed < static_cast<int64_t>(s.tokens.size())) {
      INGLE_CHECK(s.tokens[static_cast<size_t>(s.computed)] == token);
    } else {
      s.tokens.push_back(token);
    }
    ++s.computed;
  }
  name_blocks(s);
  for (size_t g = 0; g < groups_.size(); ++g) {
    GroupTable& group = s.groups[g];
    const int64_t keep = first_needed(g, std::max<int64_t>(0, s.computed - kWindowSlack));
    for (; group.first < keep; ++group.first) {
      int32_t& block = group.table[static_cast<size_t>(group.first)];
      if (block != kNoBlock) pools_[g].drop_reference(block);
      block = kNoBlock;
    }
  }
}

// --- outside the cache
// ---------------------------------------------------------------------------------------------------------

std::span<const std::byte> KvCache::block(int32_t id, size_t group, int64_t index) const {
  const BlockPool& pool = pools_[group];
  const int32_t block = sequence(id).groups[group].table[static_cast<size_t>(index)];
  return {pool.base() + static_cast<size_t>(block) * pool.block_bytes(), pool.block_bytes()};
}

void KvCache::restore(int32_t id, const Stored& stored,
                      const std::function<void(size_t, int64_t, std::span<std::byte>)>& fill) {
  Sequence& s = sequence(id);
  const auto length = static_cast<int64_t>(stored.tokens.size());
  INGLE_CHECK(s.tokens.empty() && stored.first.size() == groups_.size());
  if (length > context_) {
    throw_error(ErrorCode::kInvalidArgument, "the sequence has {} tokens, the context holds {}; make it larger", length,
                context_);
  }
  const int64_t blocks = blocks_for(stored.computed);
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int64_t first = stored.first[g], needed = first_needed(g, stored.computed);
    if (first < 0 || first > std::min(blocks, needed)) {
      throw_error(ErrorCode::kInvalidArgument, "layer group {}: blocks from {} on are there, those from {} on are read",
                  g, first, std::min(blocks, needed));
    }
    if (blocks - first > pools_[g].available()) {
      throw_error(
          ErrorCode::kOutOfMemory,
          "key/value cache: {} blocks of {} positions are wanted, {} of {} are available; release sequences, or "
          "make the context larger",
          blocks - first, kBlock, pools_[g].available(), pools_[g].capacity());
    }
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    GroupTable& group = s.groups[g];
    group.first = stored.first[g];
    group.table.assign(static_cast<size_t>(group.first), kNoBlock);
    for (int64_t index = group.first; index < blocks; ++index) {
      const int32_t block = take(g);
      group.table.push_back(block);
      fill(g, index,
           {pools_[g].base() + static_cast<size_t>(block) * pools_[g].block_bytes(), pools_[g].block_bytes()});
    }
  }
  s.tokens.assign(stored.tokens.begin(), stored.tokens.end());
  s.computed = stored.computed;
  name_blocks(s);
}

// --- content
// -------------------------------------------------------------------------------------------------------------------

void KvCache::name_blocks(Sequence& s) {
  for (auto index = static_cast<int64_t>(s.nodes.size()); (index + 1) * kBlock <= s.computed; ++index) {
    const auto tokens = std::span<const int32_t>(s.tokens).subspan(static_cast<size_t>(index * kBlock), kBlock);
    const int32_t parent = s.nodes.empty() ? s.root : s.nodes.back();
    int32_t node = tree_.find(parent, tokens);
    if (node == kNoNode) node = tree_.add(parent, tokens);
    tree_.add_user(node);
    s.nodes.push_back(node);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const int32_t block = s.groups[g].table[static_cast<size_t>(index)];
      if (block == kNoBlock || tree_.block(node, g) != kNoBlock || pools_[g].node(block) != kNoNode) continue;
      tree_.set_block(node, g, block);
      pools_[g].set_node(block, node);
    }
  }
}

// A released sequence's last block is worth keeping too: the next turn of a conversation begins with it.
void KvCache::keep_tail(Sequence& s) {
  const int64_t index = s.computed / kBlock;
  if (s.computed % kBlock == 0) return;
  const auto tokens = std::span<const int32_t>(s.tokens).subspan(static_cast<size_t>(index * kBlock),
                                                                 static_cast<size_t>(s.computed % kBlock));
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int32_t block = s.groups[g].table[static_cast<size_t>(index)];
    if (pools_[g].references(block) > 1 || pools_[g].node(block) != kNoNode) return;
  }
  const int32_t parent = s.nodes.empty() ? s.root : s.nodes.back();
  if (tree_.closest(parent, tokens).length == static_cast<int32_t>(tokens.size())) return;
  const int32_t node = tree_.add(parent, tokens);
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int32_t block = s.groups[g].table[static_cast<size_t>(index)];
    tree_.set_block(node, g, block);
    pools_[g].set_node(block, node);
  }
}

PrefixReuse KvCache::reuse_prefix(int32_t id, std::span<const int32_t> prompt, int64_t limit) {
  Sequence& s = sequence(id);
  if (!s.tokens.empty()) {
    throw_error(ErrorCode::kInvalidArgument, "sequence {}: has {} tokens; only an empty one can take over a prefix", id,
                s.tokens.size());
  }
  PrefixReuse report;
  limit = std::clamp<int64_t>(limit, 0, std::min(static_cast<int64_t>(prompt.size()), context_));
  report.reused = s.computed = adopt(s, prompt, limit, report);
  s.tokens.assign(prompt.begin(), prompt.begin() + s.computed);
  name_blocks(s);
  return report;
}

// Where a partly equal block can be copied from: a block in every group.
struct KvCache::Adoption {
  int32_t length = 0;
  int32_t next = -1;  // the token after the equal ones, -1 if there is none
  int32_t node = kNoNode;
  const Sequence* live = nullptr;
};

// Fills the tables of an empty sequence with what is there of `prompt`; returns how many positions that is.
int64_t KvCache::adopt(Sequence& s, std::span<const int32_t> prompt, int64_t limit, PrefixReuse& report) {
  std::vector<int32_t>& path = s.nodes;
  for (int64_t at = 0; at + kBlock <= limit; at += kBlock) {
    const int32_t node =
        tree_.find(path.empty() ? s.root : path.back(), prompt.subspan(static_cast<size_t>(at), kBlock));
    if (node == kNoNode) break;
    path.push_back(node);
  }
  const auto nearest = [&](int64_t index) {  // among what continues the first `index` blocks
    const int32_t parent = index == 0 ? s.root : path[static_cast<size_t>(index) - 1];
    const auto rest = prompt.subspan(static_cast<size_t>(index * kBlock));
    const PrefixTree::Match match = tree_.closest(parent, rest);
    Adoption best{match.length, -1, match.node, nullptr};
    if (match.node != kNoNode && match.length < static_cast<int32_t>(tree_.tokens(match.node).size()))
      best.next = tree_.tokens(match.node)[static_cast<size_t>(match.length)];
    for (const Sequence& other : sequences_) {
      if (!other.live || &other == &s || other.computed <= index * kBlock) continue;
      if ((index > 0 ? other.nodes[static_cast<size_t>(index) - 1] : other.root) != parent) continue;
      const auto have = std::span<const int32_t>(other.tokens)
                            .subspan(static_cast<size_t>(index * kBlock),
                                     static_cast<size_t>(std::min(kBlock, other.computed - index * kBlock)));
      const int32_t length = common_start(have, rest);
      const bool there = std::ranges::all_of(
          other.groups, [&](const GroupTable& g) { return g.table[static_cast<size_t>(index)] != kNoBlock; });
      if (!there || length < best.length || (length == best.length && best.node != kNoNode)) continue;
      best = {length, length < static_cast<int32_t>(have.size()) ? have[static_cast<size_t>(length)] : -1, kNoNode,
              &other};
    }
    return best;
  };
  const auto known = static_cast<int64_t>(path.size());
  Adoption tail = nearest(known);
  report.matched = std::min(limit, known * kBlock + tail.length);
  const int64_t position = known * kBlock + tail.length;
  if (tail.next >= 0 && position < static_cast<int64_t>(prompt.size()))
    report.difference = {position, tail.next, prompt[static_cast<size_t>(position)]};

  // The longest start whose blocks are all there, as far back as each group's window reaches.
  int64_t depth = known;
  const auto reaches = [&] {
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (int64_t i = first_needed(g, depth * kBlock); i < depth; ++i) {
        if (tree_.block(path[static_cast<size_t>(i)], g) == kNoBlock) return false;
      }
    }
    return true;
  };
  while (!reaches()) --depth;  // an empty start always does
  if (depth < known) tail = nearest(depth);

  path.resize(static_cast<size_t>(depth));
  for (int32_t node : path) tree_.add_user(node);
  for (size_t g = 0; g < groups_.size(); ++g) {
    GroupTable& group = s.groups[g];
    group.first = std::min(depth, first_needed(g, depth * kBlock));
    for (int64_t i = 0; i < depth; ++i) {
      const int32_t block = i < group.first ? kNoBlock : tree_.block(path[static_cast<size_t>(i)], g);
      group.table.push_back(block);
      if (block != kNoBlock) pools_[g].add_reference(block);
    }
  }

  const int64_t partial = std::min<int64_t>(tail.length, limit - depth * kBlock);
  if (partial <= 0) return depth * kBlock;
  // Hold what is copied from, so that making room cannot take it.
  const auto source = [&](size_t g) {
    return tail.live != nullptr ? tail.live->groups[g].table[static_cast<size_t>(depth)] : tree_.block(tail.node, g);
  };
  std::vector<int32_t> sources;
  bool room = true;
  for (size_t g = 0; g < groups_.size(); ++g) {
    sources.push_back(source(g));
    pools_[g].add_reference(sources.back());
    room &= pools_[g].available() > 0;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (room) {
      s.groups[g].table.push_back(take(g));
      pools_[g].copy(sources[g], s.groups[g].table.back());
    }
    pools_[g].drop_reference(sources[g]);
  }
  if (!room) return depth * kBlock;
  return depth * kBlock + partial;
}

}  // namespace ingle
