#include "ingle/ceilings.h"

#include <algorithm>
#include <numeric>

#include "runtime/engine_impl.h"

namespace ingle {

double Ceilings::int8_multiply_adds_per_second(int bits) const noexcept {
  for (const Int8& entry : int8) {
    if (entry.bits >= bits) return entry.multiply_adds_per_second;
  }
  return int8.empty() ? 0 : int8.back().multiply_adds_per_second;
}

double Ceilings::float_multiply_adds_per_second() const noexcept {
  return std::max(f32_multiply_adds_per_second, bf16_multiply_adds_per_second.value_or(0));
}

Ceilings higher(const Ceilings& a, const Ceilings& b) {
  Ceilings most = a;
  most.read_bytes_per_second = std::max(a.read_bytes_per_second, b.read_bytes_per_second);
  for (size_t i = 0; i < std::min(a.int8.size(), b.int8.size()); ++i) {
    double& rate = most.int8[i].multiply_adds_per_second;
    rate = std::max(rate, b.int8[i].multiply_adds_per_second);
  }
  most.f32_multiply_adds_per_second = std::max(a.f32_multiply_adds_per_second, b.f32_multiply_adds_per_second);
  most.bf16_multiply_adds_per_second = std::max(a.bf16_multiply_adds_per_second, b.bf16_multiply_adds_per_second);
  most.huge_pages = std::max(a.huge_pages, b.huge_pages);
  return most;
}

double StepWork::multiply_adds() const noexcept {
  return std::accumulate(int8_multiply_adds.begin(), int8_multiply_adds.end(),
                         float_multiply_adds + attention_multiply_adds);
}

double floor_seconds(const StepWork& work, const Ceilings& ceilings) noexcept {
  double computing = 0;
  const auto add = [&](double multiply_adds, double rate) {
    if (rate > 0) computing += multiply_adds / rate;
  };
  for (size_t bits = 0; bits < work.int8_multiply_adds.size(); ++bits)
    add(work.int8_multiply_adds[bits], ceilings.int8_multiply_adds_per_second(static_cast<int>(bits)));
  add(work.float_multiply_adds + work.attention_multiply_adds, ceilings.float_multiply_adds_per_second());
  const double bytes = work.weight_bytes + work.cache_bytes;
  return ceilings.read_bytes_per_second > 0 ? std::max(computing, bytes / ceilings.read_bytes_per_second) : computing;
}

Ceilings Engine::measure_ceilings(const CeilingOptions& options) const {
  // The memory that is read comes on top of everything the process has: an eighth of what is left is no danger to it.
  constexpr uint64_t kLeast = uint64_t{32} << 20;
  const uint64_t available = machine().available_bytes;
  uint64_t bytes = options.read_bytes;
  if (available > 0) bytes = std::min(bytes, available / 8);
  if (bytes < std::min(kLeast, options.read_bytes)) bytes = 0;
  const DeviceCeilings measured = impl_->backend->measure_ceilings(
      {.seconds_each = options.seconds_each, .read_bytes = static_cast<size_t>(bytes / 64 * 64)});
  Ceilings ceilings;
  ceilings.isa = isa();
  ceilings.threads = threads();
  ceilings.read_bytes_per_second = measured.read_bytes_per_second;
  ceilings.huge_pages = measured.huge_pages;
  for (const DeviceCeilings::Product& product : measured.products) {
    if (product.bits == 32) {
      ceilings.f32_multiply_adds_per_second = product.multiply_adds_per_second;
    } else if (product.bits == 16) {
      ceilings.bf16_multiply_adds_per_second = product.multiply_adds_per_second;
    } else {
      ceilings.int8.push_back({product.bits, product.multiply_adds_per_second});
    }
  }
  return ceilings;
}

}  // namespace ingle
