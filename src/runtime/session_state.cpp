// Session::save_state and load_state: a sequence to a file and back.
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "ingle/input_files.h"
#include "models/rope.h"
#include "runtime/adapter_impl.h"
#include "runtime/fingerprint.h"
#include "runtime/model_impl.h"
#include "runtime/session_impl.h"
#include "runtime/state_file.h"

namespace ingle {
namespace {

// What the sequence's cache depends on.
StateOwner owner_of(const Session& session, SequenceId id) {
  const Model::Impl& model = session.model().impl();
  const Session::Impl& s = session.impl();
  StateOwner owner{.fingerprint = fingerprint(model.file),
                   .architecture = model.info.architecture.substr(0, 256),
                   .model = model.info.name.substr(0, 256),
                   .backend = std::string(model.backend().name()),
                   .cache_type_k = s.options.cache_type_k,
                   .cache_type_v = s.options.cache_type_v,
                   .exact = model.backend().precision() == Precision::kExact,
                   .long_rope = turns_for_long_texts(model.file, s.graph->hparams(), s.options.context),
                   .groups = {}};
  for (const AppliedAdapter& applied : session.adapters(id)) {
    const Adapter::Impl& adapter = applied.adapter->impl();
    const std::string name = std::filesystem::path(adapter.info.path).filename().native();
    owner.adapters.push_back({name.substr(0, 256), adapter.fingerprint, applied.scale});
  }
  for (size_t g = 0; g < s.cache.groups(); ++g) owner.groups.push_back(s.cache.group(g));
  return owner;
}

void check_computes(const Session& session) {
  if (session.impl().counting != nullptr)
    throw_error(ErrorCode::kInvalidArgument, "a session that only counts its work has no state to save or load");
}

void check_state(const StateFile& state, const KvCache& cache, int64_t vocabulary, std::string_view name) {
  for (const int32_t token : state.tokens) {
    if (token < 0 || token >= vocabulary)
      throw_error(ErrorCode::kInvalidFile, "{}: token {} is not from 0 to {}", name, token, vocabulary - 1);
  }
  for (size_t g = 0; g < cache.groups(); ++g) {
    const int64_t blocks = (state.computed + kKvBlockPositions - 1) / kKvBlockPositions - state.first[g];
    const size_t expected = static_cast<size_t>(blocks) * cache.pool(g).block_bytes();
    if (state.blocks[g].size() != expected)
      throw_error(ErrorCode::kInvalidFile, "{}: the blocks of group {} have {} bytes, here they would have {}", name, g,
                  state.blocks[g].size(), expected);
  }
}

}  // namespace

void Session::save_state(SequenceId id, const std::filesystem::path& path, std::string_view attachment) const {
  check_computes(*this);
  std::vector<std::filesystem::path> keep = model_files(model().info().path);
  for (const AppliedAdapter& applied : adapters(id)) keep.emplace_back(applied.adapter->info().path);
  refuse_to_replace(path, keep);
  write_state(path, owner_of(*this, id), impl_->cache, id, attachment, model().impl().backend());
}

LoadedState Session::load_state(const std::filesystem::path& path) { return load_state(path, impl_->options.adapters); }

LoadedState Session::load_state(const std::filesystem::path& path, std::vector<AppliedAdapter> adapters) {
  check_computes(*this);
  const MappedFile file = MappedFile::open(path);
  const StateFile state = parse_state(file.bytes(), path.native());
  KvCache& cache = impl_->cache;
  const auto fill = [&](size_t group, int64_t index, std::span<std::byte> block) {
    const size_t at = static_cast<size_t>(index - state.first[group]) * block.size();
    std::memcpy(block.data(), state.blocks[group].data() + at, block.size());
  };
  const SequenceId id = create();
  try {
    set_adapters(id, std::move(adapters));
    check_owner(state.owner, owner_of(*this, id), path.native());
    check_state(state, cache, impl_->graph->hparams().vocab, path.native());
    try {
      cache.restore(id, {.tokens = state.tokens, .computed = state.computed, .first = state.first}, fill);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", path.native(), error.what()));
    }
  } catch (...) {
    release(id);
    throw;
  }
  return {id, std::string(state.attachment)};
}

}  // namespace ingle
