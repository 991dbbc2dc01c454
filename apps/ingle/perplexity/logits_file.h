// Distributions kept in a file, to compare another model or another way of computing with. Little endian:
//
//   0   8  "INGLELP1"
//   8   4  u32 vocabulary
//  12   4  u32 window            tokens in each window
//  16   4  u32 first             the first position whose next token is scored
//  20   4  u32 windows
//  24      i32 tokens[windows * window]
//          then windows * (window - 1 - first) rows of
//            f32 lowest, f32 step, i32 top, u16 code[vocabulary]    log p = lowest + step * code; top: the likeliest
//            token
//
// 16 bits over a row's own range (some 30 nats) are steps of 0.0005. Rounding makes the rows sum to 1 only nearly; the
// reader of a row normalizes it, after which the error of a divergence is about step^2 / 24: 1e-8.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/ingle/files.h"
#include "apps/ingle/perplexity/windows.h"

namespace ingle::app {

class LogitsWriter {
 public:
  LogitsWriter(const std::filesystem::path& path, const Windows& windows, int64_t vocabulary);
  void add(std::span<const float> logits);  // in the order of score_windows
  void commit();                            // without it nothing is left

  static uint64_t file_bytes(const Windows& windows, int64_t vocabulary);

 private:
  AtomicFile file_;
  std::vector<uint16_t> codes_;
};

class LogitsReader {
 public:
  // Throws Error: kNotFound, kIo, kInvalidFile (not such a file, or not of the size its header says).
  explicit LogitsReader(const std::filesystem::path& path);

  int64_t vocabulary() const noexcept { return vocabulary_; }
  const Windows& windows() const noexcept { return windows_; }

  struct Row {
    std::span<const float> log_probabilities;  // nearly normalized; valid until the next call
    TokenId top;
  };
  Row next();  // Throws Error{kIo, kInvalidFile}

 private:
  void read(void* bytes, size_t size);

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  int64_t vocabulary_ = 0;
  Windows windows_;
  std::vector<uint16_t> codes_;
  std::vector<float> values_;
};

}  // namespace ingle::app
