// A model that says what a script says: each token has one successor. For tests of what becomes of an answer, where a
// trained model would say something else every time and a random one nothing.
#pragma once

#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gguf/writer.h"
#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace ingle::test {

// Thinks before it answers, unless enable_thinking is false.
inline constexpr const char* kThinkingTemplate =
    "{%- if tools %}{{ tools|tojson }}\n{% endif %}"
    "{%- for m in messages -%}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{%- for c in m.tool_calls or [] %}<tool_call>\n"
    "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}\n</tool_call>{% endfor "
    "%}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}{% endif %}";

struct ScriptToken {
  std::string text;  // each once in a script
  bool control = false;
};

// Behind the prompt's last newline comes the first token of the script, and so on. "<|im_end|>" ends an answer.
inline void write_scripted_model(const std::filesystem::path& path, const std::vector<ScriptToken>& script,
                                 const std::string& chat_template = kThinkingTemplate) {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  constexpr int32_t kNormal = 1, kControl = 3;
  const auto add = [&](std::string text, int32_t kind) {
    tokens.push_back(std::move(text));
    kinds.push_back(kind);
    return tokens.size() - 1;
  };
  for (const unsigned character : kByteToCharacter) {
    std::string text;
    append_utf8(text, character);
    add(text, kNormal);
  }
  add("qq", kNormal);  // a merge, because a file without any is warned of
  add("<|im_start|>", kControl);
  size_t before = '\n';  // ids of bytes are the bytes
  std::map<size_t, size_t> before_of;
  for (const ScriptToken& token : script) {
    std::string text = token.text;
    if (!token.control) {
      text.clear();
      for (const char c : token.text) append_utf8(text, kByteToCharacter[static_cast<unsigned char>(c)]);
    }
    const size_t id = add(text, token.control ? kControl : kNormal);
    before_of[id] = before;
    before = id;
  }
  const size_t end = add("<|im_end|>", kControl);
  before_of[end] = before;

  // Codes of 64 signs tell a few hundred tokens apart: a token's own code gives 64, another's 20 or so.
  constexpr size_t kWidth = 64;
  std::mt19937 random(1);
  std::vector<float> codes(tokens.size() * kWidth), next(tokens.size() * kWidth, 0.0f), ones(kWidth, 1.0f),
      zeros(kWidth * kWidth, 0.0f);
  for (float& sign : codes) sign = random() % 2 ? 1.0f : -1.0f;
  for (const auto& [id, predecessor] : before_of)
    for (size_t i = 0; i < kWidth; ++i) next[id * kWidth + i] = codes[predecessor * kWidth + i];

  GgufWriter writer(path);
  writer.set<std::string>("general.architecture", "llama");
  writer.set<std::string>("general.name", "scripted");
  writer.set<uint32_t>("llama.block_count", 1);
  writer.set<uint32_t>("llama.context_length", 4096);
  writer.set<uint32_t>("llama.embedding_length", kWidth);
  writer.set<uint32_t>("llama.feed_forward_length", kWidth);
  writer.set<uint32_t>("llama.attention.head_count", 1);
  writer.set<uint32_t>("llama.attention.head_count_kv", 1);
  writer.set<float>("llama.attention.layer_norm_rms_epsilon", 1e-6f);
  writer.set<std::string>("tokenizer.ggml.model", "gpt2");
  writer.set<std::string>("tokenizer.ggml.pre", "gpt-2");
  writer.set_array<std::string>("tokenizer.ggml.tokens", tokens);
  writer.set_array<int32_t>("tokenizer.ggml.token_type", kinds);
  writer.set_array<std::string>("tokenizer.ggml.merges", {"q q"});
  writer.set<uint32_t>("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(end));
  writer.set<bool>("tokenizer.ggml.add_bos_token", false);
  writer.set<std::string>("tokenizer.chat_template", chat_template);
  const auto tensor = [&](const char* name, std::vector<int64_t> shape, const std::vector<float>& values) {
    const Shape extents = shape.size() == 1 ? Shape{shape[0]} : Shape{shape[0], shape[1]};
    writer.add_tensor(name, DType::kF32, extents, std::as_bytes(std::span(values)));
  };
  const int64_t vocab = static_cast<int64_t>(tokens.size()), width = kWidth;
  tensor("token_embd.weight", {vocab, width}, codes);
  tensor("output_norm.weight", {width}, ones);
  tensor("output.weight", {vocab, width}, next);
  for (const char* norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"}) tensor(norm, {width}, ones);
  for (const char* matrix :
       {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.attn_output.weight",
        "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"})
    tensor(matrix, {width, width}, zeros);
  writer.finish();
}

// Thinks, answers.
inline std::vector<ScriptToken> thinking_script() {
  return {{"<think>", true}, {"Two"}, {" and"}, {" two."}, {"</think>", true}, {"Four"}, {", it"}, {" is."}};
}
// Thinks, answers, calls a tool.
inline std::vector<ScriptToken> calling_script() {
  return {{"<think>", true},
          {"The"},
          {" weather."},
          {"</think>", true},
          {"Let me"},
          {" see."},
          {"<tool_call>", true},
          {"{\"name\":"},
          {" \"weather\","},
          {" \"arguments\":"},
          {" {\"city\": \"Bern\"}}"},
          {"</tool_call>", true}};
}

}  // namespace ingle::test
