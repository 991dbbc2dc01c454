// Entries at the front of a text, and no others.
#include "text/byte_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace ingle {
namespace {

TEST(ByteTrie, AgreesWithAMapOnRandomEntriesAndTexts) {
  std::mt19937 random(1);
  const auto text = [&](size_t most) {
    std::string out;
    for (size_t n = random() % most + 1; n > 0; --n)
      out += static_cast<char>(random() % 4 == 0 ? random() : 'a' + random() % 3);
    return out;
  };
  std::vector<std::string> texts;
  std::map<std::string, int32_t> expected;
  for (int32_t i = 0; i < 2000; ++i) {
    texts.push_back(text(6));
    expected.try_emplace(texts.back(), i);
  }
  std::vector<ByteTrie::Entry> entries;
  for (int32_t i = 0; i < 2000; ++i) entries.push_back({texts[static_cast<size_t>(i)], i});
  const ByteTrie trie(entries);
  for (int round = 0; round < 2000; ++round) {
    const std::string t = text(9);
    std::vector<std::pair<size_t, int32_t>> found, want;
    trie.prefixes(t, [&](size_t length, int32_t value) { found.emplace_back(length, value); });
    for (size_t n = 1; n <= t.size(); ++n) {
      if (const auto it = expected.find(t.substr(0, n)); it != expected.end()) want.emplace_back(n, it->second);
    }
    EXPECT_EQ(found, want);
    EXPECT_EQ(trie.longest(t).length, want.empty() ? 0 : want.back().first);
  }
}

TEST(ByteTrie, WithoutEntriesMatchesNothing) {
  EXPECT_EQ(ByteTrie().longest("a").length, 0u);
  EXPECT_EQ(ByteTrie().longest("").value, -1);
}

}  // namespace
}  // namespace ingle
