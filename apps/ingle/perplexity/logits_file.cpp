#include "apps/ingle/perplexity/logits_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "apps/ingle/fail.h"
#include "apps/ingle/perplexity/distribution.h"

namespace ingle::app {
namespace {

// Numbers go to the file as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "INGLELP1";
constexpr float kLeast = -200;  // nats; what is less likely still is kept as this

struct Header {
  char magic[8];
  uint32_t vocabulary, window, first, windows;
};
static_assert(sizeof(Header) == 24);

struct RowHead {
  float lowest, step;
  int32_t top;
};
static_assert(sizeof(RowHead) == 12);

uint64_t expected_bytes(const Header& h) {
  const uint64_t rows = uint64_t{h.windows} * (h.window - 1 - h.first);
  return sizeof(Header) + uint64_t{h.windows} * h.window * sizeof(TokenId) +
         rows * (sizeof(RowHead) + 2 * uint64_t{h.vocabulary});
}

Header header_of(const Windows& windows, int64_t vocabulary) {
  Header header{};
  kMagic.copy(header.magic, sizeof header.magic);
  header.vocabulary = static_cast<uint32_t>(vocabulary);
  header.window = static_cast<uint32_t>(windows.size);
  header.first = static_cast<uint32_t>(windows.first());
  header.windows = static_cast<uint32_t>(windows.count());
  return header;
}

}  // namespace

uint64_t LogitsWriter::file_bytes(const Windows& windows, int64_t vocabulary) {
  return expected_bytes(header_of(windows, vocabulary));
}

LogitsWriter::LogitsWriter(const std::filesystem::path& path, const Windows& windows, int64_t vocabulary)
    : file_(path), codes_(static_cast<size_t>(vocabulary)) {
  const Header header = header_of(windows, vocabulary);
  file_.write(&header, sizeof header);
  file_.write(windows.tokens.data(), windows.tokens.size() * sizeof(TokenId));
}

void LogitsWriter::add(std::span<const float> logits) {
  const double norm = log_sum_exp(logits);
  const auto log_probability = [&](float logit) { return std::max(static_cast<float>(logit - norm), kLeast); };
  const auto [low, high] = std::ranges::minmax(logits);
  RowHead head{log_probability(low), 0, top_token(logits)};
  head.step = std::max((log_probability(high) - head.lowest) / 65535.0f, 1e-30f);
  for (size_t i = 0; i < codes_.size(); ++i)
    codes_[i] = static_cast<uint16_t>(
        std::clamp(std::lround((log_probability(logits[i]) - head.lowest) / head.step), 0l, 65535l));
  file_.write(&head, sizeof head);
  file_.write(codes_.data(), codes_.size() * sizeof(uint16_t));
}

void LogitsWriter::commit() { file_.commit(); }

LogitsReader::LogitsReader(const std::filesystem::path& path)
    : name_(path.string()), file_(std::fopen(path.c_str(), "rbe"), std::fclose) {
  if (!file_) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    fail(absent ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: {}", name_,
         absent ? "no such file" : std::strerror(errno));
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    fail(ErrorCode::kInvalidFile, "{}: not a file of --save-logits: not a regular file", name_);
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(ErrorCode::kIo, "{}: {}", name_, error.message());
  Header h{};
  if (size < sizeof h) fail(ErrorCode::kInvalidFile, "{}: not a file of --save-logits: only {} bytes", name_, size);
  read(&h, sizeof h);
  if (std::string_view(h.magic, sizeof h.magic) != kMagic)
    fail(ErrorCode::kInvalidFile, "{}: not a file of --save-logits", name_);
  if (h.window < 2 || h.window > 1u << 24 || h.first != h.window / 2 || h.windows == 0 || h.windows > 1u << 24 ||
      h.vocabulary == 0 || h.vocabulary > 1u << 24 || expected_bytes(h) != size)
    fail(ErrorCode::kInvalidFile, "{}: damaged: {} windows of {} tokens with a vocabulary of {} do not make {} bytes",
         name_, h.windows, h.window, h.vocabulary, size);
  vocabulary_ = h.vocabulary;
  windows_.size = h.window;
  windows_.tokens.resize(size_t{h.windows} * h.window);
  read(windows_.tokens.data(), windows_.tokens.size() * sizeof(TokenId));
  for (const TokenId token : windows_.tokens)
    if (token < 0 || token >= vocabulary_)
      fail(ErrorCode::kInvalidFile, "{}: damaged: token {} of {}", name_, token, vocabulary_);
  codes_.resize(h.vocabulary);
  values_.resize(h.vocabulary);
}

void LogitsReader::read(void* bytes, size_t size) {
  if (std::fread(bytes, 1, size, file_.get()) != size)
    fail(std::ferror(file_.get()) ? ErrorCode::kIo : ErrorCode::kInvalidFile, "{}: ends too early", name_);
}

LogitsReader::Row LogitsReader::next() {
  RowHead head{};
  read(&head, sizeof head);
  read(codes_.data(), codes_.size() * sizeof(uint16_t));
  if (!std::isfinite(head.lowest) || !std::isfinite(head.step) || head.top < 0 || head.top >= vocabulary_)
    fail(ErrorCode::kInvalidFile, "{}: damaged: a row from {} in steps of {}, top token {}", name_, head.lowest,
         head.step, head.top);
  for (size_t i = 0; i < codes_.size(); ++i) values_[i] = head.lowest + head.step * static_cast<float>(codes_[i]);
  return {values_, head.top};
}

}  // namespace ingle::app
