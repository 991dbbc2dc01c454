// A backend that packs nothing: it says how much memory each weight would take. For answering "will it fit" without
// reading the weights.
#pragma once

#include "backend/backend.h"

namespace ingle {

class PlanningBackend : public Backend {
 public:
  explicit PlanningBackend(Backend& real) : real_(real) {}

  std::string_view name() const noexcept override { return real_.name(); }
  std::string description() const override { return real_.description(); }
  std::unique_ptr<Matrix> pack(std::string name, const ConstTensorView& w, Packing packing) override;
  std::unique_ptr<Matrix> table(std::string name, const ConstTensorView& w) override;
  KvLayout kv_layout(DType k_type, DType v_type, int64_t kv_heads, int64_t k_dim, int64_t v_dim) const override {
    return real_.kv_layout(k_type, v_type, kv_heads, k_dim, v_dim);
  }
  void clear_positions(const KvLayout& layout, std::byte* block, int32_t first) const override {
    real_.clear_positions(layout, block, first);
  }
  DType cache_type() const noexcept override { return real_.cache_type(); }
  std::unique_ptr<Ops> make_ops() override;
  Precision precision() const noexcept override { return real_.precision(); }

 private:
  Backend& real_;
};

}  // namespace ingle
