// The machine as ingle uses it: threads, device, log. Everything else hangs on an Engine; two can live in one process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/ceilings.h"
#include "ingle/error.h"

namespace ingle {

enum class LogLevel { kInfo, kWarning };

struct EngineOptions {
  int threads = 0;     // 0: one per physical core
  std::string isa;     // "": the best this processor has; otherwise one of isas()
  bool exact = false;  // f32 activations and cache instead of int8 and 16 bits: slower, equal to an f32 implementation
  std::function<void(LogLevel, std::string_view)> log;  // may be empty; called from the thread that calls the library
};

struct MachineInfo {
  std::string processor;  // "Intel(R) Xeon(R) Processor @ 2.80GHz"
  int physical_cores = 0;
  int logical_cores = 0;
  uint64_t memory_bytes = 0;
  uint64_t available_bytes = 0;  // that this process may still take, limits of its control group included; 0: unknown
  uint64_t memory_limit_bytes = 0;      // of the control group it runs in; 0: none
  double processor_limit = 0;           // processors' worth of time its control group may use; 0: no limit
  std::string features;                 // "avx2 fma f16c avx512f ... avx512_vnni"
  std::vector<std::string> other_isas;  // that this build has and this processor lacks
};

// Thread-safe to share by reference: sessions of several threads take turns, operation by operation. Models and
// sessions made with it must not outlive it.
class Engine {
 public:
  // Throws Error{kInvalidArgument} for an ISA this processor cannot run (names those it can) or a thread count out of
  // range.
  explicit Engine(EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::string device() const;  // "cpu: avx512_vnni, 2 threads"
  std::string isa() const;
  int threads() const noexcept;
  bool exact() const noexcept;
  // What these threads reach at most with this instruction set. Takes about a second. Nothing else of this engine may
  // run meanwhile. Throws Error{kOutOfMemory}.
  Ceilings measure_ceilings(const CeilingOptions& options = {}) const;
  static MachineInfo machine();
  static std::vector<std::string> isas();  // that this processor can run, best first

  struct Impl;
  Impl& impl() const noexcept { return *impl_; }  // the library's own

 private:
  std::unique_ptr<Impl> impl_;
};

std::string_view version() noexcept;  // "0.1.0"
std::string_view build() noexcept;    // compiler, type, flags

}  // namespace ingle
