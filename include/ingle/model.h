// A model file opened for use: weights in the machine's layout, tokenizer, chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/engine.h"
#include "ingle/prompt_template.h"
#include "ingle/sampling.h"

namespace ingle {

// Where weights are kept. Packed is fast and takes their size in memory; mapped reads the file's pages and packs a part
// of a matrix whenever it is used: slowly, in next to no memory. Results are the same bits where the packed product is
// an int8 one, and the same to f32 rounding elsewhere (float weights, and everything in exact precision).
enum class WeightMemory {
  kAuto,  // packed where available memory holds it, else mapped, with a warning
  kPacked,
  kMapped,
};

struct ModelOptions {
  bool vocabulary_only = false;                   // tokenizer and template only; sessions cannot be made
  std::function<bool(double fraction)> progress;  // 0..1 while loading; returning false cancels (Error{kCancelled})
  WeightMemory weights = WeightMemory::kAuto;
  // How text is cut into words before byte-pair merging, as in tokenizer.ggml.pre ("llama-bpe"), in place of what the
  // file says; empty: what the file says. A name that is not known is refused with those that are.
  std::string pre_tokenizer;
  std::optional<uint64_t> available_bytes;  // what kAuto counts on; none: what Engine::machine() says; 0: unknown
};

struct ModelInfo {
  std::string path, name, architecture, file_type;  // file_type: the most common tensor type, e.g. "Q4_1"
  uint64_t file_bytes = 0;
  int64_t parameters = 0;
  int64_t layers = 0, d_model = 0, heads = 0, kv_heads = 0, vocabulary = 0;
  int64_t context_length = 0;  // that the model was trained for
  // LongRoPE: a session whose context is longer turns keys by the factors for long texts, and so gives the same tokens
  // other numbers. 0: the context makes no difference.
  int64_t short_context = 0;
  bool has_chat_template = false;
  bool causal = true;     // false: reads in both directions, a text at once
  bool generates = true;  // false: an encoder, for embed and rerank
  std::string pooling;    // what its file says makes a vector of a text's rows: "mean", "cls", "last", "rank"; or ""
  // What its classifier scores, by name where the file has names; empty: it has no classifier.
  std::vector<std::string> labels;
};

struct TokenizeOptions {
  bool add_special = true;     // the begin/end tokens the model wants
  bool parse_special = false;  // control tokens written out in the text become tokens
  // The most tokens, begin and end among them: what is too much is cut from the text's own end. 0: all there are.
  int64_t most = 0;
};

// Two texts as one list of tokens.
struct TokenPair {
  std::vector<TokenId> tokens;
  int64_t second_text = 0;  // for RunRequest
};

// One line of --explain: which layout and kernels serve a tensor, and why.
struct TensorPlacement {
  std::string name, type, shape, layout, reason;
  uint64_t file_bytes = 0, memory_bytes = 0;
};

// Layers that do the same with the rows of a prompt, for --explain.
struct LayerRowsPlan {
  int first = 0, last = 0;
  std::string rows;   // "every row", "wanted rows only", ...
  std::string cache;  // "own", or whose they read
};

struct MemoryUse {
  std::string owner;  // "weights", "kv cache", "activations", "logits", ...
  uint64_t bytes = 0;
  std::string note;  // "30 layers x 3 kv heads x 64 x 2 x f16 x 4096 positions"
};

struct SyntheticOptions;

// Immutable and thread-safe; must not outlive its Engine.
class Model {
 public:
  // Throws Error: kNotFound, kIo, kInvalidFile, kUnsupported (architecture, tokenizer), kOutOfMemory, kCancelled.
  static Model open(Engine& engine, const std::filesystem::path& path, ModelOptions options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const ModelInfo& info() const noexcept;
  Engine& engine() const noexcept;

  // Throws Error{kInvalidArgument} where `most` has no room for the text beside what begins and ends it.
  std::vector<TokenId> tokenize(std::string_view text, TokenizeOptions options = {}) const;
  // A question and a text that may answer it, as a reranker reads them: by the template in its file (under the name
  // rerank) or with the tokens that part two texts. With `most` what is too much is cut from the end of `text`. Throws
  // Error{kInvalidArgument} where `most` has no room for any of it.
  TokenPair tokenize_pair(std::string_view query, std::string_view text, int64_t most = 0) const;
  std::string piece(TokenId id, bool special = false) const;  // bytes; may be part of a character
  const std::string& token_text(TokenId id) const;            // as in the file
  std::string_view token_kind(TokenId id) const;              // "normal", "control", "byte", ...
  std::string detokenize(std::span<const TokenId> ids, bool special = false) const;
  bool is_end_of_generation(TokenId id) const;

  // The prompt for a conversation, by the file's chat template; ChatML where the file has none. What comes from
  // messages is never parsed for control tokens. Throws what PromptTemplate does; also Error{kInvalidFile} when the
  // file's template is broken, which open() only warns of.
  std::vector<TokenId> tokenize_chat(const ChatRequest& request) const;
  std::string render_chat(const ChatRequest& request) const;
  // What of an answer is thinking, text and calls; and which control tokens generate() has to show for a parser to see
  // it. Throws what prompt_template() throws.
  AnswerFormat answer_format() const;
  std::vector<TokenId> mark_tokens(const AnswerFormat& format) const;
  const PromptTemplate& prompt_template() const;

  // The sampler options the file recommends (general.sampling.*) over the given ones; returns the names of those it
  // set.
  std::vector<std::string> apply_recommended_sampling(SamplerOptions& options) const;

  std::vector<TensorPlacement> explain() const;
  std::vector<LayerRowsPlan> explain_rows() const;  // which rows run in which layer, first layer first

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }  // the library's own

 private:
  friend Model open_synthetic(Engine& engine, const SyntheticOptions& synthetic, ModelOptions options);
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
