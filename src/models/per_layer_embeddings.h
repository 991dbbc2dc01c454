// Per-layer embeddings of Gemma 3n and Gemma 4: besides the residual stream every layer gets a small vector of its own
// per token, half of it looked up, half projected from the token's embedding.
#pragma once

#include "models/model.h"

namespace ingle {

class PerLayerEmbeddings {
 public:
  // The inputs of one step. Layers before the split see every row; from the split on only the rows that go on are
  // looked up and projected.
  struct Inputs {
    Tensor before, all, wanted;  // [rows, layers * size]: layers < split; layers >= split, for every row or wanted ones
  };

  // `split`: the last layer that writes state, where rows are cropped unless somebody wants more of them.
  PerLayerEmbeddings(const Hparams& h, const Weights& w, int64_t size, int split);

  int64_t size() const noexcept { return size_; }
  // x: the tokens' embeddings [T, d_model]. The result lives as long as tensors do; call Ops::keep() after it.
  Inputs operator()(Ops& op, const Step& step, Tensor x) const;
  // activations [rows.out, size] = gelu(activations) * the layer's vector.
  void gate(Ops& op, const Step& step, const Inputs& inputs, int layer, Tensor activations) const;

 private:
  Tensor part(Ops& op, std::span<const int32_t> tokens, Tensor x, bool after) const;

  int64_t size_;
  int split_, layers_;
  const Matrix* table_;    // [vocab, layers * size], read row by row from the file
  Linear before_, after_;  // d_model -> the layers' slices before and after the split
  Norm norm_;
  float context_scale_;
};

}  // namespace ingle
