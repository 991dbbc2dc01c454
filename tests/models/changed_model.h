// A model's file written again with some keys set.
#pragma once

#include <filesystem>
#include <functional>

#include "gguf/gguf.h"
#include "gguf/writer.h"

namespace ingle::test {

inline void write_changed(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::function<void(GgufWriter&)>& keys) {
  const GgufFile source = GgufFile::open(from);
  GgufWriter writer(to);
  writer.copy_metadata(source);
  keys(writer);
  for (const GgufTensor& t : source.tensors())
    writer.add_tensor(t.name, t.view.type, t.view.shape, {t.view.data, t.view.bytes()});
  writer.finish();
}

}  // namespace ingle::test
