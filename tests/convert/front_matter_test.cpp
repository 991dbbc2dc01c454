#include "convert/front_matter.h"

#include <gtest/gtest.h>

namespace ingle {
namespace {

using Texts = std::vector<std::string>;

TEST(FrontMatter, HasTextsAndListsInBothSpellings) {
  const FrontMatter m = read_front_matter(
      "---\r\nlicense: apache-2.0\nlanguage:\n- en\n  - 'de'\n# a remark\ntags: [\"a b\", c]\n---\nx: y");
  EXPECT_EQ(m.at("license"), Texts{"apache-2.0"});
  EXPECT_EQ(m.at("language"), (Texts{"en", "de"}));
  EXPECT_EQ(m.at("tags"), (Texts{"a b", "c"}));
  EXPECT_EQ(m.size(), 3u);
}

TEST(FrontMatter, WhatLiesDeeperIsPassedOver) {
  const FrontMatter m = read_front_matter("---\nmodel-index:\n- name: x\n  results:\n  - task: y\nlicense: mit\n---\n");
  EXPECT_EQ(m.at("model-index"), Texts{});
  EXPECT_EQ(m.at("license"), Texts{"mit"});
  EXPECT_EQ(m.count("results"), 0u);
}

TEST(FrontMatter, WithoutTwoLinesOfDashesThereIsNone) {
  for (const char* text : {"", "# Title\nlicense: mit\n", "---\nlicense: mit\n", "---"})
    EXPECT_TRUE(read_front_matter(text).empty()) << text;
}

}  // namespace
}  // namespace ingle
