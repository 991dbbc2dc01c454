// Data beside the checkout (../shared/data): real vocabularies. Tests that use it are skipped where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ingle::test {

inline std::filesystem::path shared_data() { return std::string(INGLE_SOURCE_DIR) + "/../shared/data"; }

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What an .xz file holds, by way of the program xz; empty when file or program is missing.
inline std::string unpacked(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  std::string out;
  FILE* pipe = ::popen(("xz -dc '" + path.string() + "' 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  char buffer[1 << 16];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  return ::pclose(pipe) == 0 ? out : std::string();
}

}  // namespace ingle::test
