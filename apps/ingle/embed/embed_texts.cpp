#include "apps/ingle/embed/embed_texts.h"

#include <algorithm>

#include "apps/ingle/signals.h"

namespace ingle::app {
namespace {

// Every sequence of a session may grow to the same context, so cache for (texts x the longest of them) is set aside.
// 16384 positions are some 400 MB for a model of 135 M parameters and 2 GB for one of 8 B; a single text may take more.
constexpr int64_t kMostPositions = 16384;
constexpr int64_t kMostTexts = 256;

int64_t length(const Tokens& text) { return static_cast<int64_t>(text.size()); }

// One evaluate() over all of `texts`.
RowCounts embed_together(const Model& model, std::span<const Tokens> texts, const EmbedOptions& options,
                         std::vector<Pooler>& poolers) {
  Session session = session_for(model, texts, options.session);
  std::vector<RunRequest> runs;
  for (const Tokens& text : texts)
    runs.push_back(
        {.sequence = session.create(), .tokens = text, .want = Want::kNothing, .hidden = wanted_rows(options.pooling)});
  session.evaluate(runs, [&](const ResultRow& row) { poolers[row.run].add(row.hidden); });
  return session.rows();
}

}  // namespace

Session session_for(const Model& model, std::span<const Tokens> texts, SessionOptions options) {
  options.sequences = static_cast<int64_t>(texts.size());
  options.context = length(*std::ranges::max_element(texts, {}, length));
  if (!model.info().causal) {
    options.batch = std::max(options.batch, options.context);
    options.micro_batch = std::max(options.micro_batch, options.context);
  }
  Session session(model, options);
  session.set_cancel(interrupted);
  return session;
}

void add(RowCounts& sum, const RowCounts& rows) {
  sum.computed += rows.computed;
  sum.skipped += rows.skipped;
  sum.tokens += rows.tokens;
  sum.by_layer.resize(rows.by_layer.size());
  for (size_t l = 0; l < rows.by_layer.size(); ++l) sum.by_layer[l] += rows.by_layer[l];
}

size_t texts_together(std::span<const Tokens> texts, int64_t batch, int64_t short_context) {
  const auto is_long = [&](const Tokens& text) { return short_context > 0 && length(text) > short_context; };
  int64_t count = 0, tokens = 0, longest = 0;
  for (const Tokens& text : texts) {
    tokens += length(text);
    longest = std::max(longest, length(text));
    const bool fits = count < kMostTexts && tokens <= batch && (count + 1) * longest <= kMostPositions &&
                      is_long(text) == is_long(texts.front());
    if (count > 0 && !fits) break;
    ++count;
  }
  return static_cast<size_t>(count);
}

RowCounts embed_texts(const Model& model, std::span<const Tokens> texts, const EmbedOptions& options,
                      const std::function<void(size_t index, std::vector<float> embedding)>& each) {
  RowCounts rows;
  for (size_t done = 0; done < texts.size();) {
    const std::span<const Tokens> left = texts.subspan(done);
    const std::span<const Tokens> together =
        left.first(texts_together(left, options.session.batch, model.info().short_context));
    std::vector<Pooler> poolers(together.size(), Pooler(options.pooling));
    add(rows, embed_together(model, together, options, poolers));
    for (const Pooler& pooler : poolers) each(done++, pooler.embedding(options.normalize));
  }
  return rows;
}

}  // namespace ingle::app
