// What a session of some options is made of, known before anything is allocated: checked options, cache groups, memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ingle/session.h"
#include "models/model.h"
#include "runtime/kv_cache.h"

namespace ingle {

// Rows whose logits exist at once.
constexpr int64_t kLogitsRows = 32;

// The options with every default filled in. Throws Error{kInvalidArgument} naming the option and its range.
SessionOptions resolve_options(SessionOptions options, const Hparams& h, const Backend& backend);

// One entry per KV group of the model. Throws Error: kUnsupported (a cache type for these heads).
std::vector<KvGroupOptions> plan_cache(const ModelGraph& graph, const Backend& backend, const SessionOptions& options);
size_t cache_bytes(const std::vector<KvGroupOptions>& groups);
// "30 layers x 3 kv heads x (64 I16 + 64 I16) x 4096 positions"
std::string describe_cache(const std::vector<KvGroupOptions>& groups);

// Bytes of activations in the largest step: micro_batch rows, one wanted row per sequence. Found by a dry run of the
// model.
size_t plan_activations(const ModelGraph& graph, const Backend& backend, const SessionOptions& options);

// Throws Error{kOutOfMemory} when weights and cache cannot fit this machine: how much is wanted, there, and the longest
// context that fits.
void check_memory(uint64_t weight_bytes, uint64_t kv_bytes, const SessionOptions& options, uint64_t machine_bytes);

}  // namespace ingle
