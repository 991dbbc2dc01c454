// Any bytes behind a head and a checksum that fit are a state that can be gone on with, or an Error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "ingle/ingle.h"
#include "runtime/fingerprint.h"
#include "runtime/model_impl.h"
#include "runtime/xxh64.h"

namespace {

using namespace ingle;

struct Machine {
  Engine engine{{.threads = 1}};
  Model model = Model::open(engine, std::string(INGLE_SOURCE_DIR) + "/tests/models/golden/mistral_window.gguf");
  Session session{model, {.context = 256, .cache_type_k = "q4_0", .cache_type_v = "q4_0"}};
  uint64_t fingerprint = ingle::fingerprint(model.impl().file);
  int file = memfd_create("state", 0);
};

}  // namespace

// The input is all that lies between the head (magic to fingerprint) and the checksum.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Machine machine;
  std::string bytes = "INGLESEQ";
  const auto append = [&](auto number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
  append(uint32_t{1});
  append(uint32_t{0});
  append(uint64_t{32 + size + 8});
  append(machine.fingerprint);
  bytes.append(reinterpret_cast<const char*>(data), size);
  append(xxh64(std::as_bytes(std::span(bytes))));
  if (ftruncate(machine.file, 0) != 0 ||
      pwrite(machine.file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  Session& session = machine.session;
  try {
    const SequenceId id = session.load_state("/proc/self/fd/" + std::to_string(machine.file)).sequence;
    const TokenId token = 1;
    const RunRequest run{id, {&token, 1}, Want::kLast};
    if (session.length(id) < session.options().context) session.evaluate({&run, 1}, [](const ResultRow&) {});
    session.release(id);
  } catch (const Error&) {
  }
  return 0;
}
