#include "backend/cpu/cpu_backend.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/ceilings.h"
#include "backend/cpu/cpu_ops.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

constexpr int kMostThreads = 512;

class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuKernels& kernels, int threads, Precision precision)
      : kernels_(kernels), precision_(precision), pool_(threads) {}

  std::string_view name() const noexcept override { return "cpu"; }
  std::string description() const override {
    return fmt::format("{}, {} thread{}", kernels_.name, pool_.size(), pool_.size() == 1 ? "" : "s");
  }
  std::unique_ptr<Matrix> pack(std::string name, const ConstTensorView& w, Packing packing) override {
    if (packing == Packing::kPerUse) return map_matrix(std::move(name), w, kernels_, precision_);
    return pack_matrix(std::move(name), w, kernels_, precision_, memory_, pool_);
  }
  std::unique_ptr<Matrix> table(std::string name, const ConstTensorView& w) override {
    return table_matrix(std::move(name), w);
  }
  KvLayout kv_layout(DType k_type, DType v_type, int64_t kv_heads, int64_t k_dim, int64_t v_dim) const override {
    const KvFormat& k = kv_format(k_type);
    const KvFormat& v = kv_format(v_type);
    return {
        k_type, v_type, kv_heads, k_dim, v_dim, (k.k_bytes(k_dim) + 63) / 64 * 64, (v.v_bytes(v_dim) + 63) / 64 * 64};
  }
  void clear_positions(const KvLayout& layout, std::byte* block, int32_t first) const override {
    const KvFormat& k = kv_format(layout.k_type);
    const KvFormat& v = kv_format(layout.v_type);
    const std::vector<float> zeros(static_cast<size_t>(std::max(layout.k_dim, layout.v_dim)));  // every row
    for (int64_t head = 0; head < layout.kv_heads; ++head) {
      auto* k_part = reinterpret_cast<uint8_t*>(block) + static_cast<size_t>(head) * (layout.k_bytes + layout.v_bytes);
      for (int32_t position = first, count; position < kKvBlockPositions; position += count) {
        count = kAppendRows - position % kAppendRows;
        k.append_k(zeros.data(), 0, count, layout.k_dim, position, k_part);
        v.append_v(zeros.data(), 0, count, layout.v_dim, position, k_part + layout.k_bytes);
      }
    }
  }
  DType cache_type() const noexcept override {
    return precision_ == Precision::kExact ? DType::kF32 : kernels_.cache_type;
  }
  std::unique_ptr<Ops> make_ops() override { return std::make_unique<CpuOps>(pool_, kernels_); }
  Precision precision() const noexcept override { return precision_; }
  DeviceCeilings measure_ceilings(const CeilingProbe& probe) override {
    return cpu::measure_ceilings(kernels_, pool_, probe);
  }

 private:
  const KvFormat& kv_format(DType type) const {
    std::string known;
    for (int i = 0; i < kernels_.kv_format_count; ++i) {
      if (kernels_.kv_formats[i].type == type) return kernels_.kv_formats[i];
      known += (i > 0 ? ", " : "") + std::string(format_of(kernels_.kv_formats[i].type).name);
    }
    throw_error(ErrorCode::kUnsupported, "cache type {}: the CPU has kernels for {}", format_of(type).name, known);
  }

  const CpuKernels& kernels_;
  const Precision precision_;
  MatrixStorage memory_;
  ThreadPool pool_;
};

}  // namespace

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::set<std::string> cores;  // by the list of their hyper-threads
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string siblings;
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

std::unique_ptr<Backend> make_cpu_backend(const CpuKernels& kernels, int threads, Precision precision) {
  return std::make_unique<CpuBackend>(kernels, threads, precision);
}

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads) {
    throw_error(ErrorCode::kInvalidArgument, "threads: {} is outside 1..{} (0: one per core)", options.threads,
                kMostThreads);
  }
  const CpuFeatures features = detect_features();
  const CpuKernels* kernels = select_kernels(options.isa, features);
  if (kernels == nullptr) {
    std::string usable;
    for (const IsaEntry& entry : isa_entries()) {
      if (entry.runs(features)) usable += (usable.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw_error(ErrorCode::kInvalidArgument, "isa '{}': this processor can run {}", options.isa, usable);
  }
  return make_cpu_backend(*kernels, options.threads > 0 ? options.threads : physical_cores(), options.precision);
}

}  // namespace ingle::cpu
