// What goes in comes out, whatever else went in; and where words may be cut, nothing joins.
#include "text/word_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "text/join_filter.h"

namespace ingle {
namespace {

TEST(WordCache, GivesBackTheIdsOfThatWordOrNone) {
  std::mt19937 random(2);
  WordCache cache;
  std::map<std::pair<std::string, bool>, std::vector<int32_t>> all;
  size_t found = 0;
  for (int i = 0; i < 60000; ++i) {
    std::string word;
    for (size_t n = 1 + random() % WordCache::kLongestWord; n > 0; --n) word += static_cast<char>('a' + random() % 2);
    if (random() % 4 == 0) word += '\0';
    word.resize(std::min(word.size(), WordCache::kLongestWord));
    const bool part = random() % 2 == 0;
    const WordCache::Key key(word, part ? WordCache::Space::kPart : WordCache::Space::kWord);
    const auto known = all.find({word, part});
    const std::span<const int32_t> ids = cache.find(key);
    if (ids.data() != nullptr) {
      ASSERT_NE(known, all.end()) << word;
      EXPECT_EQ(std::vector<int32_t>(ids.begin(), ids.end()), known->second);
      ++found;
    }
    if (known == all.end()) {
      std::vector<int32_t> made(random() % (WordCache::kMostIds + 1), i);
      cache.insert(key, made);
      all[{word, part}] = std::move(made);
    }
  }
  EXPECT_GT(found, 5000u);
}

TEST(WordCache, AWordOfManyIdsIsNotKept) {
  WordCache cache;
  const WordCache::Key key("word", WordCache::Space::kWord);
  cache.insert(key, std::vector<int32_t>(WordCache::kMostIds + 1));
  EXPECT_EQ(cache.find(key).data(), nullptr);
  cache.insert(key, {});
  EXPECT_NE(cache.find(key).data(), nullptr);
}

TEST(JoinFilter, CutsOnlyWhereNoMergeReachesAcross) {
  JoinFilter filter;
  filter.add("中", "文");
  filter.add("本", "\xE6");  // a part of a character
  filter.add("a", "語");
  const std::string word = "中文日本日x語語";
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = filter.part_end(word, begin);
    parts.push_back(word.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"中文", "日", "本日x", "語", "語"}));
}

TEST(JoinFilter, WithoutMergesEveryLongCharacterStandsAlone) {
  EXPECT_EQ(JoinFilter().part_end("中文", 0), 3u);
  EXPECT_EQ(JoinFilter().part_end("中", 0), 3u);
  EXPECT_EQ(JoinFilter().part_end("plain", 0), 5u);
}

}  // namespace
}  // namespace ingle
