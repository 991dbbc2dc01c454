// Sequences of tokens being read and continued: the cache, and steps over any number of sequences at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/adapter.h"
#include "ingle/model.h"

namespace ingle {

struct SessionOptions {
  int64_t context = 0;        // positions a sequence may reach; 0: 4096 or the model's, whichever is smaller
  int64_t sequences = 1;      // for the cache budget: sequences of full length that fit at once
  int64_t batch = 2048;       // most tokens one evaluate() takes into a step queue at once
  int64_t micro_batch = 512;  // most tokens computed together
  std::string cache_type_k =
      "";  // "f32", "f16", "i16", "q8_0", "q4_0"; "": i16 or f16, whichever is faster here; f32 when exact
  std::string cache_type_v = "";
  bool every_row = false;  // compute rows nobody reads, for comparison
  // When set, nothing is computed: rows come without numbers, prefixes are worth nothing, and this gets what each
  // micro-batch would have taken.
  std::function<void(const StepWork&)> count_work = {};
  // Gets a line for every operation when it is done: step, layer, name, weights and shapes.
  std::function<void(std::string_view)> trace = {};
  // Compute every operation a second time, from the same inputs, by the scalar definition, and compare: op_checks().
  // Slow. Results are the same.
  bool check_ops = false;
  std::vector<AppliedAdapter> adapters = {};  // of every new sequence: see set_adapters()
};

using SequenceId = int32_t;

enum class Want { kNothing, kFirst, kLast, kAll };  // of the rows of a run

struct RunRequest {
  SequenceId sequence;
  std::span<const TokenId> tokens;  // appended to the sequence
  Want want = Want::kLast;          // rows whose logits are wanted
  Want hidden = Want::kNothing;     // rows whose last hidden state is wanted: embeddings, a drafter's input
  Want scores = Want::kNothing;     // rows that the model's classifier is to score
  // Where the second of two texts begins that are read as a pair, as an index into `tokens`; 0: there is one text. It
  // matters to models that tell the texts of a pair apart.
  int64_t second_text = 0;
};

struct ResultRow {
  size_t run;                     // index into the requests
  int32_t position;               // of the token that was read; the logits are for the next one
  std::span<const float> logits;  // [vocabulary], or empty where they are not wanted; valid during the call
  std::span<const float> hidden;  // [d_model], normed as the output layer reads it; empty where not wanted
  std::span<const float> scores;  // [ModelInfo::labels], as they come; empty where not wanted
};

// The rows that came into one layer in one micro-batch, of one run.
struct TappedRows {
  int layer;
  size_t run;                     // index into the requests
  int32_t position;               // of the first row
  std::span<const float> hidden;  // [rows, d_model], valid during the call
};

struct RowCounts {       // since the session began
  int64_t computed = 0;  // layer rows computed in full
  int64_t skipped = 0;   // layer rows that nobody needed
  int64_t tokens = 0;
  std::vector<int64_t> by_layer;  // computed, of each layer

  RowCounts operator-(const RowCounts& earlier) const;  // what has come since
};

// What reuse_prefix() found, to say why a prompt had to be read again.
struct PrefixReport {
  int64_t reused = 0;                // tokens taken over
  int64_t matched = 0;               // tokens the cache knew of; more than reused when their blocks had to make room
  int64_t difference = -1;           // position of the first difference from the closest cached text; -1: there is none
  TokenId cached = -1, wanted = -1;  // the tokens there
};

// A sequence that was kept in a file, loaded.
struct LoadedState {
  SequenceId sequence;
  std::string attachment;  // what was kept with it
};

struct ProfileLine {
  std::string op;
  int layer = -1;  // -1: outside layers
  int64_t calls = 0, rows = 0;
  double seconds = 0, bytes = 0, operations = 0;
  // Of a mixture of experts: how often an expert got so many rows in a call (0 too), and how often the weights of its
  // gate and up, and of its down, streamed past these rows ("gemv") instead of being expanded for tiles of rows.
  std::map<int64_t, int64_t> expert_rows = {};
  int64_t streamed_gates = 0, streamed_downs = 0;
};

// How far one operation was from its scalar definition in one layer, with SessionOptions::check_ops.
struct OpCheck {
  std::string op;  // "append": what attention reads of the keys and values that were written
  int layer = -1;  // -1: outside layers
  int64_t calls = 0;
  int64_t unchecked = 0;  // further calls, by weights that are not the model's: an adapter's
  // The largest difference in any row, in units of the largest number that row has by the definition; infinite where
  // that is no number, or zero. Where it was: the weight ("" where there is none), the step and the row of its batch.
  double error = 0;
  std::string weight;
  int64_t step = 0, row = 0;
};

// Not thread-safe. Must not outlive its Model.
class Session {
 public:
  // Throws Error: kInvalidArgument (names the option and its range), kOutOfMemory (says how much the context wants and
  // what fits).
  explicit Session(const Model& model, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;

  const Model& model() const noexcept;
  const SessionOptions& options() const noexcept;  // with the defaults filled in

  SequenceId create();               // an empty sequence
  SequenceId fork(SequenceId from);  // shares every block; a block is copied when one of them writes to it
  void truncate(SequenceId id, int64_t length);
  void release(SequenceId id);
  // What an empty sequence will be read with, in place of the options' adapters; forks have the same. Sequences with
  // different adapters go together in one evaluate(), and share no prefix. The adapters must outlive the session.
  // Throws Error{kInvalidArgument}: a sequence that has tokens, another model's adapter, a scale that is no number.
  void set_adapters(SequenceId id, std::vector<AppliedAdapter> adapters);
  std::span<const AppliedAdapter> adapters(SequenceId id) const;
  int64_t length(SequenceId id) const;
  std::span<const TokenId> tokens(SequenceId id) const;

  // Makes an empty sequence start with what the cache already holds of `prompt` (by content, from any sequence, also
  // released ones); returns how many tokens are there now (at most prompt size - 1, so that there is something to
  // read). None where the model reads in both directions: what a token is depends on all that follows.
  int64_t reuse_prefix(SequenceId id, std::span<const TokenId> prompt);
  PrefixReport last_reuse() const noexcept;  // of the last reuse_prefix(), or of generate()'s own

  // Appends the runs' tokens and computes; cuts them into micro-batches itself, evenly over the runs. `each` sees the
  // wanted rows micro-batch by micro-batch, in each of them run by run, a run's rows in ascending position; it may be
  // empty if nothing is wanted, and must not call the session it came from. On an error (also one thrown by `each`) no
  // sequence has changed.
  // A model that reads in both directions (ModelInfo::causal is false) reads a text in one step: a run is the whole of
  // its sequence, and not longer than a micro-batch. Runs of one micro-batch never see one another.
  // Throws Error: kInvalidArgument (token id, context or micro-batch exceeded: names the numbers), kUnsupported (logits
  // of a model without an output layer, scores of one without a classifier), kOutOfMemory (cache budget), kCancelled,
  // kInvalidFile (a wanted row has numbers that are not finite: weights are damaged, or too large for the precision).
  void evaluate(std::span<const RunRequest> runs, const std::function<void(const ResultRow&)>& each);
  void set_cancel(std::function<bool()> cancelled);  // asked between micro-batches
  // From now on `take` gets every row that comes into these layers, whether or not its result is wanted, before the
  // micro-batch's results; all rows are computed up to the last of them. No layers: off. Throws Error{kInvalidArgument}
  // for a layer that is not there.
  void set_tap(std::vector<int> layers, std::function<void(const TappedRows&)> take);

  // Keeps a sequence in a file: its tokens, its cache, and `attachment`, which is the caller's own. The file appears
  // complete or not at all; a new one is for its owner alone. What a sampler remembers is not in it: its history is the
  // tokens, its random numbers are the caller's. Throws Error: kIo (names the file: full disk, permission),
  // kInvalidArgument (no such sequence; a file of the model or of its adapters).
  void save_state(SequenceId id, const std::filesystem::path& path, std::string_view attachment = {}) const;
  // A new sequence that goes on where the kept one stood: on the same instruction set its logits are the same bits.
  // The file must be of the same model, adapters (those given, or the options'), cache types and precision; everything
  // is checked before anything changes. (A
  // checksum finds damage, not intent: trust the file as you trust the model's.) Throws Error: kNotFound, kIo,
  // kInvalidFile (damaged, or no such file), kUnsupported (version), kInvalidArgument (says what differs),
  // kOutOfMemory.
  LoadedState load_state(const std::filesystem::path& path);
  LoadedState load_state(const std::filesystem::path& path, std::vector<AppliedAdapter> adapters);

  std::vector<MemoryUse> memory() const;
  RowCounts rows() const;
  void set_profile(bool on);  // starts from zero
  std::vector<ProfileLine> profile() const;
  std::vector<OpCheck> op_checks() const;  // since the session began, the worst first; none without check_ops

  struct Impl;
  Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
