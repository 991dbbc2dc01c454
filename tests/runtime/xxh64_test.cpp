#include "runtime/xxh64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace ingle {
namespace {

uint64_t hash_of(std::string_view text, uint64_t seed = 0) {
  Xxh64 hash(seed);
  hash.add(text);
  return hash.value();
}

std::string counting_text() {
  std::string text;
  for (int i = 0; i < 700; ++i) text += static_cast<char>(i % 100);
  return text;
}

// What libxxhash 0.8.1 gives.
TEST(Xxh64, GivesTheReferenceValues) {
  EXPECT_EQ(hash_of(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hash_of("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hash_of("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hash_of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
  EXPECT_EQ(hash_of("Nobody inspects the spammish repetition", 7), 0x26f1aeb39b9b1f5fu);
  EXPECT_EQ(hash_of(counting_text()), 0xcc85731e12e2785fu);
  EXPECT_EQ(hash_of(counting_text(), 7), 0x17085d6222117413u);
}

TEST(Xxh64, DoesNotDependOnHowTheBytesAreCut) {
  const std::string text = counting_text();
  for (const size_t piece : {1, 7, 31, 32, 33, 64, 100}) {
    Xxh64 hash;
    for (size_t at = 0; at < text.size(); at += piece) hash.add(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hash.value(), hash_of(text)) << "pieces of " << piece;
  }
}

}  // namespace
}  // namespace ingle
