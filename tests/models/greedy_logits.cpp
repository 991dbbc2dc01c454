// What scripts compare with other engines: the likeliest token again and again after a prompt, and the logits it was
// chosen by.
//   greedy_logits MODEL[+ADAPTER] COUNT OUT ID...    prints COUNT ids; OUT gets COUNT rows of float32
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "ingle/ingle.h"

int main(int count, char** words) {
  if (count < 5) return std::fprintf(stderr, "usage: greedy_logits MODEL[+ADAPTER] COUNT OUT ID...\n"), 2;
  try {
    ingle::Engine engine({.threads = 0, .isa = "", .exact = true, .log = {}});
    const std::string files = words[1];
    const size_t plus = files.find('+');
    const ingle::Model model = ingle::Model::open(engine, files.substr(0, plus));
    std::optional<ingle::Adapter> adapter;
    if (plus != files.npos) adapter = ingle::Adapter::open(model, files.substr(plus + 1));
    std::vector<ingle::TokenId> tokens;
    for (int i = 4; i < count; ++i) tokens.push_back(std::atoi(words[i]));
    const int wanted = std::atoi(words[2]);
    ingle::Session session(model, {.context = static_cast<int64_t>(tokens.size()) + wanted});
    const ingle::SequenceId sequence = session.create();
    if (adapter) session.set_adapters(sequence, {{.adapter = &*adapter}});
    std::ofstream out(words[3], std::ios::binary);
    for (int i = 0; i < wanted; ++i) {
      const ingle::RunRequest run{sequence, tokens};
      ingle::TokenId next = 0;
      session.evaluate({&run, 1}, [&](const ingle::ResultRow& row) {
        out.write(reinterpret_cast<const char*>(row.logits.data()),
                  static_cast<std::streamsize>(row.logits.size_bytes()));
        next = static_cast<ingle::TokenId>(std::ranges::max_element(row.logits) - row.logits.begin());
      });
      std::printf("%d ", next);
      tokens = {next};
    }
    std::printf("\n");
    return out ? 0 : 1;
  } catch (const ingle::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
