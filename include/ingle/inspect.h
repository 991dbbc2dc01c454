// What is in a model file, without loading it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ingle/session.h"

namespace ingle {

struct MetadataEntry {
  std::string key;
  std::string type;   // "u32", "str", "arr[str]"
  std::string value;  // JSON text; long arrays and strings are cut, with "..." and `count` telling the whole
  int64_t count = 1;  // elements of an array, bytes of a string
};

struct TensorEntry {
  std::string name, type, shape;  // shape outermost first: "[49152, 576]"
  int64_t elements = 0;
  uint64_t bytes = 0, offset = 0;
  int shard = 0;
};

struct FileInfo {
  std::string path;
  uint32_t version = 0;
  uint64_t file_bytes = 0, alignment = 0;
  int64_t parameters = 0;
  std::vector<MetadataEntry> metadata;
  std::vector<TensorEntry> tensors;
};

FileInfo inspect(const std::filesystem::path& path);

// Memory by owner that a session of these options would take, computed from the file's metadata alone.
std::vector<MemoryUse> plan_memory(Engine& engine, const std::filesystem::path& path, const SessionOptions& options);

}  // namespace ingle
