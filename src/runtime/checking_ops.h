// Operations that are computed twice: by a backend, and from the same inputs by the scalar definition of its
// arithmetic. What goes on is the backend's result, so an operation that is wrong shows where it stands and not in all
// that follow.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "ingle/session.h"
#include "models/model.h"
#include "runtime/forwarding_ops.h"

namespace ingle {

class CheckingOps final : public ForwardingOps {
 public:
  // `weights` are what `file` was loaded as for the backend of `inner`; both must outlive this. They are read a second
  // time, in the mapped file. Tensors of `inner` must be in memory that the host reads, and its cache blocks laid out
  // as the CPU's. Throws what load_model() throws.
  CheckingOps(std::unique_ptr<Ops> inner, const GgufFile& file, const WeightStore& weights, int threads,
              Precision precision);

  // By layer and operation, the worst first.
  std::vector<OpCheck> checks() const;

  void begin_step() override;
  void set_layer(int layer) override;
  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override;
  Tensor linear(const Linear& w, Tensor x, Into into) override;
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Routes route(Tensor scores, int64_t used, const RouteOptions& options) override;
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;
  Tensor norm(const Norm& n, Tensor x, Into into) override;
  void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) override;
  void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) override;
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override;
  Tensor gather_rows(Tensor x, std::span<const int32_t> rows) override;
  Tensor columns(std::initializer_list<Columns> parts) override;
  void apply(const RowOp& op, Tensor x, const RowOperands& operands) override;
  Tensor stream(Tensor streams, int64_t index) override;
  Tensor stack(std::span<const Tensor> rows) override;
  Tensor mix(Tensor streams, Tensor weights) override;
  void add_to_streams(Tensor streams, Tensor y, Tensor weights) override;
  void add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) override;

 private:
  // The blocks of some sequences of one layer, copied and numbered anew.
  struct Blocks {
    Blocks(const KvLayer& kv, const RowSet& rows);
    KvLayer layer() const;

    KvLayout layout;
    AlignedBuffer memory;
    std::vector<std::vector<int32_t>> tables;        // by slot
    std::vector<std::span<const int32_t>> borrowed;  // of `tables`
  };

  // Each operation is a step of its own to the reference: what the one before gave is forgotten.
  Ops& reference();
  // The reference's form of a weight; nullptr where it has none.
  const Matrix* twin(const Matrix* weight) const;
  // The same of all; none where it lacks any.
  std::vector<Linear> twins(std::span<const Linear> all) const;
  // `expected` without data: the reference could not compute it.
  void compare(std::string_view op, const Tensor& x, const Tensor& expected, std::string_view weight = {});
  // A product by all of these weights: `compute` gets an Ops, its form of them, x and where the result goes.
  template <class Compute>
  Tensor product(std::string_view op, std::span<const Linear> weights, Tensor x, Into into, Compute&& compute);

  std::unique_ptr<Backend> backend_;
  LoadedModel model_;
  std::unique_ptr<Ops> reference_;
  std::unordered_map<const Matrix*, const Matrix*> twins_;
  std::unordered_map<const std::byte*, Blocks> written_;  // by the layer's cache: as the reference would have left it
  std::map<std::pair<int, std::string>, OpCheck> lines_;
  int64_t step_ = -1;
  int layer_ = -1;
};

}  // namespace ingle
