#include "runtime/state_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "gguf/atomic_file.h"
#include "gguf/byte_reader.h"
#include "runtime/xxh64.h"

namespace ingle {
namespace {

constexpr std::string_view kMagic = "INGLESEQ";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMostName = 4096;    // bytes
constexpr uint32_t kMostGroups = 4096;  // of layers
constexpr uint32_t kMostAdapters = 4096;
constexpr int64_t kMostPositions = int64_t{1} << 26;
constexpr size_t kHeadBytes = 32, kChecksumBytes = 8;

int64_t blocks_of(int64_t positions) { return (positions + kKvBlockPositions - 1) / kKvBlockPositions; }

size_t block_bytes(const KvGroupOptions& group) {
  return static_cast<size_t>(group.layers) * group.layout.block_bytes();
}

// Writes and sums up.
class Output {
 public:
  explicit Output(const std::filesystem::path& path) : file_(path, gguf::Readers::kOwner) {}  // what was said

  void bytes(std::span<const std::byte> bytes) {
    file_.write(bytes);
    hash_.add(bytes);
  }
  template <class T>
  void number(T value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    bytes(std::as_bytes(std::span(text)));
  }
  void finish() {
    number(hash_.value());
    file_.close();
    file_.commit();
  }

 private:
  gguf::AtomicFile file_;
  Xxh64 hash_;
};

}  // namespace

void write_state(const std::filesystem::path& path, const StateOwner& owner, const KvCache& cache, int32_t id,
                 std::string_view attachment, const Backend& backend) {
  const std::span<const int32_t> tokens = cache.tokens(id);
  const int64_t computed = cache.computed(id), blocks = blocks_of(computed);
  const std::string* names[] = {&owner.architecture, &owner.model, &owner.backend, &owner.cache_type_k,
                                &owner.cache_type_v};
  uint64_t size = kHeadBytes + 3 * sizeof(uint32_t) + 2 * sizeof(uint64_t) + tokens.size_bytes() + sizeof(uint64_t) +
                  attachment.size() + kChecksumBytes;
  for (const std::string* name : names) size += sizeof(uint64_t) + name->size();
  for (const StateOwner::Adapter& adapter : owner.adapters)
    size += 2 * sizeof(uint64_t) + adapter.name.size() + sizeof(float);
  for (size_t g = 0; g < cache.groups(); ++g)
    size +=
        8 * sizeof(int64_t) + static_cast<uint64_t>(blocks - cache.first_block(id, g)) * block_bytes(cache.group(g));

  Output out(path);
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.number(kVersion);
  out.number<uint32_t>(owner.exact);
  out.number(size);
  out.number(owner.fingerprint);
  for (const std::string* name : names) out.text(*name);
  out.number<uint32_t>(owner.long_rope);
  out.number(static_cast<uint32_t>(owner.adapters.size()));
  for (const StateOwner::Adapter& adapter : owner.adapters) {
    out.text(adapter.name);
    out.number(adapter.fingerprint);
    out.number(adapter.scale);
  }
  out.number(static_cast<uint32_t>(cache.groups()));
  for (size_t g = 0; g < cache.groups(); ++g) {
    const KvGroupOptions& group = cache.group(g);
    const int64_t first = cache.first_block(id, g);
    for (const int64_t number : {group.layers, int64_t{group.window}, group.layout.kv_heads, group.layout.k_dim,
                                 group.layout.v_dim, static_cast<int64_t>(block_bytes(group)), first, blocks - first})
      out.number(number);
  }
  out.number(computed);
  out.number<uint64_t>(tokens.size());
  out.bytes(std::as_bytes(tokens));
  out.text(attachment);
  for (size_t g = 0; g < cache.groups(); ++g) {
    const int64_t whole = computed / kKvBlockPositions;
    for (int64_t index = cache.first_block(id, g); index < whole; ++index) out.bytes(cache.block(id, g, index));
    if (whole == blocks) continue;
    const std::span<const std::byte> last = cache.block(id, g, whole);
    std::vector<std::byte> copy(last.begin(), last.end());
    const KvLayout& layout = cache.group(g).layout;
    for (int64_t layer = 0; layer < cache.group(g).layers; ++layer)
      backend.clear_positions(layout, copy.data() + static_cast<size_t>(layer) * layout.block_bytes(),
                              static_cast<int32_t>(computed % kKvBlockPositions));
    out.bytes(copy);
  }
  out.finish();
}

StateFile parse_state(std::span<const std::byte> bytes, std::string_view name) {
  gguf::ByteReader in(bytes, name);
  if (bytes.size() < kMagic.size() ||
      std::string_view(reinterpret_cast<const char*>(bytes.data()), kMagic.size()) != kMagic)
    throw_error(ErrorCode::kInvalidFile, "{}: not a saved state", name);
  in.take(kMagic.size(), "the magic");
  const auto version = in.read<uint32_t>("the version");
  if (version != kVersion)
    throw_error(ErrorCode::kUnsupported, "{}: a state of version {}; this build reads version {}", name, version,
                kVersion);
  const auto precision = in.read<uint32_t>("the precision");
  const auto size = in.read<uint64_t>("the size");
  if (size != bytes.size())
    throw_error(ErrorCode::kInvalidFile, "{}: has {} bytes and was written with {}", name, bytes.size(), size);
  if (size < kHeadBytes + kChecksumBytes) in.fail("too short for a state");
  const auto covered = bytes.first(bytes.size() - kChecksumBytes);
  uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + covered.size(), sizeof checksum);
  if (xxh64(covered) != checksum)
    throw_error(ErrorCode::kInvalidFile, "{}: damaged: its checksum does not match its contents", name);

  StateFile state;
  StateOwner& owner = state.owner;
  if (precision > 1) in.fail("precision {} is neither 0 nor 1", precision);
  owner.exact = precision == 1;
  owner.fingerprint = in.read<uint64_t>("the model's fingerprint");
  const auto text = [&](std::string& target, std::string_view what) { target = in.read_string(what, kMostName); };
  text(owner.architecture, "the architecture");
  text(owner.model, "the model's name");
  text(owner.backend, "the backend");
  text(owner.cache_type_k, "the type of keys");
  text(owner.cache_type_v, "the type of values");
  const auto long_rope = in.read<uint32_t>("the choice of ropes");
  if (long_rope > 1) in.fail("choice of ropes {} is neither 0 nor 1", long_rope);
  owner.long_rope = long_rope == 1;
  const auto adapters = in.read<uint32_t>("the number of adapters");
  if (adapters > kMostAdapters) in.fail("{} adapters, at most {} are allowed", adapters, kMostAdapters);
  for (uint32_t i = 0; i < adapters; ++i) {
    in.begin_record("adapter", i);
    StateOwner::Adapter& adapter = owner.adapters.emplace_back();
    text(adapter.name, "its name");
    adapter.fingerprint = in.read<uint64_t>("its fingerprint");
    adapter.scale = in.read<float>("its scale");
  }
  const auto groups = in.read<uint32_t>("the number of groups");
  if (groups > kMostGroups) in.fail("{} groups of layers, at most {} are allowed", groups, kMostGroups);
  std::vector<std::pair<int64_t, int64_t>> extents;  // blocks, and bytes of one
  for (uint32_t g = 0; g < groups; ++g) {
    in.begin_record("group", g);
    const auto number = [&](std::string_view what, int64_t most) {
      const auto value = in.read<int64_t>(what);
      if (value < 0 || value > most) in.fail("{}: {} is not from 0 to {}", what, value, most);
      return value;
    };
    KvGroupOptions group;
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    group.layers = number("layers", kMost);
    group.window = static_cast<int32_t>(number("window", kMost));
    group.layout.kv_heads = number("kv heads", kMost);
    group.layout.k_dim = number("size of a key", kMost);
    group.layout.v_dim = number("size of a value", kMost);
    const int64_t each = number("bytes of a block", kMost);
    state.first.push_back(number("first block", kMostPositions));
    extents.emplace_back(number("blocks", kMostPositions), each);
    owner.groups.push_back(group);
  }
  in.begin_record("tokens", 0);
  state.computed = in.read<int64_t>("positions computed");
  const auto count = in.read<uint64_t>("the number of tokens");
  if (count > static_cast<uint64_t>(kMostPositions))
    in.fail("{} tokens, at most {} are allowed", count, kMostPositions);
  if (state.computed < 0 || static_cast<uint64_t>(state.computed) > count)
    in.fail("{} positions computed of {}", state.computed, count);
  const auto tokens = in.take(count * sizeof(int32_t), "token ids");
  state.tokens.resize(count);
  if (count > 0) std::memcpy(state.tokens.data(), tokens.data(), tokens.size());
  in.begin_record("attachment", 0);
  state.attachment = in.read_string("the attachment", in.remaining());
  for (uint32_t g = 0; g < groups; ++g) {
    in.begin_record("blocks of group", g);
    const auto [blocks, each] = extents[g];
    if (state.first[g] + blocks != blocks_of(state.computed))
      in.fail("{} blocks from {} on, {} positions end in block {}", blocks, state.first[g], state.computed,
              blocks_of(state.computed));
    state.blocks.push_back(in.take(static_cast<uint64_t>(blocks) * static_cast<uint64_t>(each), "blocks"));
  }
  if (in.remaining() != kChecksumBytes) in.fail("{} bytes behind the last block", in.remaining());
  return state;
}

void check_owner(const StateOwner& kept, const StateOwner& here, std::string_view name) {
  const auto refuse = [&](std::string_view what, std::string_view was, std::string_view is) {
    throw_error(ErrorCode::kInvalidArgument, "{}: was saved with {} {}, here it is {}", name, what, was, is);
  };
  if (kept.fingerprint != here.fingerprint) {
    const auto describe = [](const StateOwner& owner) {
      return fmt::format("'{}' ({}, fingerprint {:016x})", owner.model, owner.architecture, owner.fingerprint);
    };
    refuse("the model", describe(kept), describe(here));
  }
  if (kept.backend != here.backend) refuse("the backend", kept.backend, here.backend);
  const auto precision = [](const StateOwner& owner) { return owner.exact ? "exact" : "default"; };
  if (kept.exact != here.exact) refuse("the precision", precision(kept), precision(here));
  if (kept.cache_type_k != here.cache_type_k) refuse("the cache type for keys", kept.cache_type_k, here.cache_type_k);
  if (kept.cache_type_v != here.cache_type_v) refuse("the cache type for values", kept.cache_type_v, here.cache_type_v);
  const auto adapters = [](const StateOwner& owner) {
    std::string text;
    for (const StateOwner::Adapter& a : owner.adapters)
      text +=
          fmt::format("{}{} (fingerprint {:016x}) times {}", text.empty() ? "" : ", ", a.name, a.fingerprint, a.scale);
    return text.empty() ? "none" : text;
  };
  const auto same = [](const StateOwner::Adapter& a, const StateOwner::Adapter& b) {
    return a.fingerprint == b.fingerprint && a.scale == b.scale;
  };
  if (!std::ranges::equal(kept.adapters, here.adapters, same)) refuse("the adapters", adapters(kept), adapters(here));
  const auto rope = [](const StateOwner& owner) { return owner.long_rope ? "long texts" : "short texts"; };
  if (kept.long_rope != here.long_rope)
    refuse("a context whose rope factors are those for", rope(kept), fmt::format("one for {}", rope(here)));
  const auto describe = [](const StateOwner& owner) {
    std::string text;
    for (const KvGroupOptions& g : owner.groups)
      text += fmt::format("{}{} layers x {} heads x ({} + {}), window {}", text.empty() ? "" : "; ", g.layers,
                          g.layout.kv_heads, g.layout.k_dim, g.layout.v_dim, g.window);
    return text;
  };
  if (describe(kept) != describe(here)) refuse("a cache of", describe(kept), describe(here));
}

}  // namespace ingle
