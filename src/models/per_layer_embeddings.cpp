// PL_l = (RMSw(projection(x)[slice l] / sqrt(d)) + table[token][slice l] * sqrt(size)) / sqrt(2)
#include "models/per_layer_embeddings.h"

#include <cmath>

namespace ingle {

PerLayerEmbeddings::PerLayerEmbeddings(const Hparams& h, const Weights& w, int64_t size, int split)
    : size_(size),
      split_(split),
      layers_(static_cast<int>(h.layer_count())),
      table_(w.table("per_layer_token_embd", size * h.layer_count(), h.vocab)),
      norm_(w.norm("per_layer_proj_norm", size, h.norm_eps)),
      context_scale_(1.0f / std::sqrt(static_cast<float>(h.d_model))) {
  const int64_t columns = size * layers_, first = size * split_;
  // The way in is small and its rounding shows: 15 bits of input.
  if (split_ > 0) before_ = fine(w.linear_part("per_layer_model_proj", h.d_model, columns, 0, first));
  after_ = fine(w.linear_part("per_layer_model_proj", h.d_model, columns, first, columns - first));
}

Tensor PerLayerEmbeddings::part(Ops& op, std::span<const int32_t> tokens, Tensor x, bool after) const {
  const int64_t slices = after ? layers_ - split_ : split_;
  Tensor context = op.linear(after ? after_ : before_, x);
  op.apply(kScale, context, {.a = context_scale_});
  context = op.norm(norm_, Ops::split_heads(context, slices));
  context.shape = {context.rows(), slices * size_};
  op.embed(*table_, tokens,
           {.first_column = after ? split_ * size_ : 0,
            .columns = slices * size_,
            .scale = std::sqrt(static_cast<float>(size_))},
           {.add_to = context});
  op.apply(kScale, context, {.a = std::sqrt(0.5f)});
  return context;
}

PerLayerEmbeddings::Inputs PerLayerEmbeddings::operator()(Ops& op, const Step& step, Tensor x) const {
  Inputs inputs;
  if (split_ > 0) inputs.before = part(op, step.batch.tokens, x, false);
  if (step.need.crop_layer() > split_) inputs.all = part(op, step.batch.tokens, x, true);
  if (step.need.crop_layer() < layers_ && !step.need.wanted().empty()) {
    const LayerRows selection = step.need.selection();
    inputs.wanted = part(op, selection.out.tokens, selection.crop(op, x), true);
  }
  return inputs;
}

void PerLayerEmbeddings::gate(Ops& op, const Step& step, const Inputs& inputs, int layer, Tensor activations) const {
  const bool cropped = layer >= step.need.crop_layer();
  const Tensor& vectors = layer < split_ ? inputs.before : cropped ? inputs.wanted : inputs.all;
  op.apply(kGeluMul, activations, {.y = vectors, .column = (layer < split_ ? layer : layer - split_) * size_});
}

}  // namespace ingle
