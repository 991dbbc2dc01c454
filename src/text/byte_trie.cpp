// Entries are sorted; a node is a range of them that share their first `depth` bytes.
#include "text/byte_trie.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace ingle {

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.text < b.text; });
  struct Range {
    size_t begin, end;
  };
  std::vector<Range> level{{0, entries.size()}}, next;  // the nodes of one depth, the last ones made
  nodes_.emplace_back();
  labels_.push_back(0);
  for (size_t depth = 0; !level.empty(); ++depth) {
    next.clear();
    size_t node = nodes_.size() - level.size();
    for (auto [begin, end] : level) {
      if (begin < end && entries[begin].text.size() == depth) nodes_[node].value = entries[begin].value;
      while (begin < end && entries[begin].text.size() == depth) ++begin;
      nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
      while (begin < end) {
        const char byte = entries[begin].text[depth];
        size_t same = begin;
        while (same < end && entries[same].text[depth] == byte) ++same;
        if (nodes_.size() >= std::numeric_limits<uint32_t>::max())
          throw_error(ErrorCode::kInvalidFile, "vocabulary: its texts have more than {} bytes", nodes_.size());
        if (node == kRoot) from_root_[static_cast<unsigned char>(byte)] = static_cast<uint32_t>(nodes_.size());
        ++nodes_[node].children;
        nodes_.emplace_back();
        labels_.push_back(static_cast<unsigned char>(byte));
        next.push_back({begin, same});
        begin = same;
      }
      ++node;
    }
    std::swap(level, next);
  }
}

}  // namespace ingle
