#include "apps/ingle/perplexity/windows.h"

#include <algorithm>

#include "apps/ingle/fail.h"
#include "apps/ingle/signals.h"

namespace ingle::app {
namespace {

// The token that the model wants at the beginning of a text, if any.
std::optional<TokenId> beginning(const Model& model) {
  const std::vector<TokenId> with = model.tokenize("a", {.add_special = true});
  const std::vector<TokenId> without = model.tokenize("a", {.add_special = false});
  if (with.size() <= without.size() || std::equal(without.begin(), without.end(), with.begin())) return std::nullopt;
  return with.front();
}

}  // namespace

Windows cut_windows(const Model& model, std::string_view text, int64_t size, int64_t most, std::string_view remedy) {
  Windows windows{size, model.tokenize(text, {.add_special = true})};
  const int64_t total = static_cast<int64_t>(windows.tokens.size());
  if (total < size) fail(ErrorCode::kInvalidArgument, "the text has {} tokens, a window {}; {}", total, size, remedy);
  int64_t count = total / size;
  if (most > 0) count = std::min(count, most);
  windows.tokens.resize(static_cast<size_t>(count * size));
  if (const std::optional<TokenId> first = beginning(model))
    for (int64_t i = 0; i < count; ++i) windows.tokens[static_cast<size_t>(i * size)] = *first;
  return windows;
}

void score_windows(Session& session, const Windows& windows,
                   const std::function<void(int64_t window, std::span<const float> logits, TokenId next)>& each,
                   const std::function<void(int64_t window)>& after) {
  session.set_cancel(interrupted);
  const int64_t batch = session.options().batch;
  const SequenceId sequence = session.create();
  for (int64_t window = 0; window < windows.count(); ++window) {
    const std::span<const TokenId> tokens =
        std::span(windows.tokens)
            .subspan(static_cast<size_t>(window * windows.size), static_cast<size_t>(windows.size));
    session.truncate(sequence, 0);
    const auto read = [&](int64_t begin, int64_t end, Want want) {
      for (int64_t at = begin; at < end; at += batch) {
        const size_t size = static_cast<size_t>(std::min(batch, end - at));
        const RunRequest run{sequence, tokens.subspan(static_cast<size_t>(at), size), want};
        session.evaluate({&run, 1}, [&](const ResultRow& row) {
          each(window, row.logits, tokens[static_cast<size_t>(row.position) + 1]);
        });
      }
    };
    read(0, windows.first(), Want::kNothing);
    read(windows.first(), windows.size - 1, Want::kAll);  // the last token follows nothing and needs no reading
    after(window);
  }
  session.release(sequence);
}

}  // namespace ingle::app
