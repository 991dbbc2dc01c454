// Any bytes are an adapter of a small model or an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ingle/error.h"
#include "models/adapter.h"
#include "models/model.h"

namespace {

using namespace ingle;

struct Machine {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 1, .isa = {}});
  GgufFile file = GgufFile::open(std::string(INGLE_SOURCE_DIR) + "/tests/models/golden/qwen3moe_tiny.gguf");
  LoadedModel model = load_model(file, *backend, {});
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Machine machine;
  try {
    const GgufFile adapter = GgufFile::parse({reinterpret_cast<const std::byte*>(data), size}, "adapter");
    load_adapter(adapter, machine.file, *machine.model.weights, *machine.backend);
  } catch (const Error&) {
  }
  return 0;
}
