#include "convert/reranker.h"

#include <algorithm>

#include "base/error.h"

namespace ingle {
namespace {

// As its makers give it, with their usual instruction.
constexpr const char* kTemplate =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a "
    "web "
    "search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: "
    "{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

int64_t id_of(const Draft& draft, std::string_view text) {
  const auto key = std::ranges::find(draft.metadata, std::string_view("tokenizer.ggml.tokens"),
                                     &std::pair<std::string, GgufValue>::first);
  INGLE_CHECK(key != draft.metadata.end());
  const auto& tokens = std::get<std::vector<std::string>>(std::get<GgufValue::Array>(key->second.value));
  const auto found = std::ranges::find(tokens, text);
  if (found == tokens.end())
    throw_error(ErrorCode::kInvalidFile, "the vocabulary has no \"{}\", whose logit a reranker's answer is made of",
                text);
  return found - tokens.begin();
}

}  // namespace

bool is_reranker(const HfFolder& folder) {
  if (folder.architecture() != "Qwen3ForCausalLM") return false;
  constexpr std::string_view kHeading = "\n# Qwen3-Reranker";
  const std::optional<std::string> page = folder.read("README.md");
  return page && ('\n' + *page).find(kHeading) != std::string::npos;
}

void make_reranker(Draft& draft) {
  const int64_t yes = id_of(draft, "yes"), no = id_of(draft, "no");
  const auto tensor = [&](std::string_view name) { return std::ranges::find(draft.tensors, name, &DraftTensor::name); };
  const Rows embedding = tensor("token_embd.weight")->rows;
  const auto output = tensor("output.weight");
  const Rows all = output == draft.tensors.end() ? embedding : output->rows;  // tied when "output" is absent
  if (all.shape != embedding.shape)
    throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, the embedding {}", all.sources.front()->name,
                to_string(all.shape), to_string(embedding.shape));
  Rows both = stacked({part(all, yes, 1), part(all, no, 1)});
  both.shape = Shape{2, all.shape.columns()};
  if (output != draft.tensors.end()) draft.tensors.erase(output);
  draft.add("cls.output.weight", std::move(both));
  draft.per_layer<std::string>("classifier.output_labels", {"yes", "no"});
  draft.count("pooling_type", 4);  // a score in place of a vector
  draft.set("tokenizer.chat_template.rerank", gguf_value<std::string>(kTemplate));
  draft.notes.push_back(
      "a Qwen3-Reranker by the heading of its README.md: of the output layer the rows of yes and no are kept, as a "
      "classifier");
}

}  // namespace ingle
