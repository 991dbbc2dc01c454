// Stop strings as one automaton, so that text is looked at once whatever the number of stops and however it is cut.
#include <algorithm>

#include "base/error.h"
#include "runtime/sampler.h"

namespace ingle {
namespace {

bool byte_less(const std::pair<unsigned char, uint32_t>& edge, unsigned char byte) { return edge.first < byte; }

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : prefixes_(1) {
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty())
      throw_error(ErrorCode::kInvalidArgument, "stop string {} of {} is empty", i + 1, stops.size());
    stop_bytes_.push_back(stops[i].size());
    uint32_t state = 0;
    for (const char c : stops[i]) {
      const auto byte = static_cast<unsigned char>(c);
      auto& longer = prefixes_[state].longer;
      auto edge = std::lower_bound(longer.begin(), longer.end(), byte, byte_less);
      if (edge == longer.end() || edge->first != byte) {
        edge = longer.insert(edge, {byte, static_cast<uint32_t>(prefixes_.size())});
        const size_t length = prefixes_[state].length + 1;
        state = edge->second;  // before the vector of prefixes moves
        prefixes_.emplace_back().length = length;
      } else {
        state = edge->second;
      }
    }
    if (!prefixes_[state].stop) prefixes_[state].stop = i;  // of equal strings the first is named
  }
  // Shorter prefixes first: the suffix of a prefix is shorter than it.
  std::vector<uint32_t> queue = {0};
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t state = queue[i];
    for (const auto& [byte, next] : prefixes_[state].longer) {
      Prefix& prefix = prefixes_[next];
      prefix.shorter = state == 0 ? 0 : after(prefixes_[state].shorter, byte);
      if (!prefix.stop) prefix.stop = prefixes_[prefix.shorter].stop;
      queue.push_back(next);
    }
  }
}

uint32_t StopMatcher::after(uint32_t state, unsigned char byte) const {
  for (;; state = prefixes_[state].shorter) {
    const auto& longer = prefixes_[state].longer;
    const auto edge = std::lower_bound(longer.begin(), longer.end(), byte, byte_less);
    if (edge != longer.end() && edge->first == byte) return edge->second;
    if (state == 0) return 0;
  }
}

StopMatcher::Result StopMatcher::push(std::string_view text) {
  const size_t before = held_.size();
  held_ += text;
  for (size_t i = before; i < held_.size(); ++i) {
    state_ = after(state_, static_cast<unsigned char>(held_[i]));
    if (const std::optional<size_t> stop = prefixes_[state_].stop) {
      Result result{held_.substr(0, i + 1 - stop_bytes_[*stop]), stop};
      finish();
      return result;
    }
  }
  const size_t safe = held_.size() - prefixes_[state_].length;
  Result result{held_.substr(0, safe), std::nullopt};
  held_.erase(0, safe);
  return result;
}

std::string StopMatcher::finish() {
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace ingle
