// Any bytes are a file of kept distributions or an Error, and every row of it can be compared.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "apps/ingle/perplexity/distribution.h"
#include "apps/ingle/perplexity/logits_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle::app;
  static const int kFile = memfd_create("logits", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (ftruncate(kFile, 0) != 0 || pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  try {
    LogitsReader reader(kPath);
    for (int64_t i = 0; i < reader.windows().count() * reader.windows().scored(); ++i) {
      const LogitsReader::Row row = reader.next();
      kl_divergence(row.log_probabilities, row.log_probabilities);
    }
  } catch (const ingle::Error&) {
  }
  return 0;
}
