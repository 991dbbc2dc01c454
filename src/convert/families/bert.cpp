// Encoders: BERT, RoBERTa and XLM-RoBERTa, Nomic's, each alone or with a classifier behind its first row.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "convert/family.h"

namespace ingle {
namespace {

using Storage = DraftTensor::Storage;

struct Part {
  const char *to, *from;
};

constexpr Part kBertLayer[] = {
    {"attn_q", "attention.self.query"},
    {"attn_k", "attention.self.key"},
    {"attn_v", "attention.self.value"},
    {"attn_output", "attention.output.dense"},
    {"attn_output_norm", "attention.output.LayerNorm"},
    {"ffn_up", "intermediate.dense"},
    {"ffn_down", "output.dense"},
    {"layer_output_norm", "output.LayerNorm"},
};
constexpr Part kNomicLayer[] = {
    {"attn_qkv", "attn.Wqkv"}, {"attn_output", "attn.out_proj"}, {"attn_output_norm", "norm1"},  {"ffn_up", "mlp.fc11"},
    {"ffn_gate", "mlp.fc12"},  {"ffn_down", "mlp.fc2"},          {"layer_output_norm", "norm2"},
};

// A setting under its name, or under the one that GPT-2's configuration gave it.
std::string_view name_of(const HfConfig& c, std::string_view name, std::string_view other) {
  return c.has(name) || other.empty() ? name : other;
}
int64_t count_of(const HfConfig& c, std::string_view name, std::string_view other) {
  return c.integer(name_of(c, name, other));
}

struct OtherNames {
  const char *layers, *d_model, *d_ff, *heads, *eps;
};

// The keys every encoder has; returns the number of layers.
int64_t encoder_keys(Draft& draft, const OtherNames& other) {
  const HfConfig& c = draft.config();
  const int64_t layers = draft.repeats(name_of(c, "num_hidden_layers", other.layers));
  draft.count("block_count", layers);
  draft.count("embedding_length", count_of(c, "hidden_size", other.d_model));
  draft.count("feed_forward_length", count_of(c, "intermediate_size", other.d_ff));
  draft.count("attention.head_count", count_of(c, "num_attention_heads", other.heads));
  draft.real("attention.layer_norm_epsilon",
             c.has("layer_norm_eps") || *other.eps == '\0' ? c.number("layer_norm_eps") : c.number(other.eps));
  draft.flag("attention.causal", false);
  draft.set("tokenizer.ggml.token_type_count",
            gguf_value<uint32_t>(static_cast<uint32_t>(std::clamp<int64_t>(c.integer("type_vocab_size", 0), 0, 1024))));
  return layers;
}

// The classifier's last layer, and what its numbers are called, in their order.
void classifier_output(Draft& draft, std::string_view part) {
  const int64_t count = draft.rows(fmt::format("{}.weight", part)).shape.rows();
  draft.linear("cls.output", part);
  const std::optional<HfConfig> names = draft.config().object("id2label");
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    labels.push_back(names && names->has(number) ? names->text(number) : "LABEL_" + number);
  }
  draft.set(fmt::format("{}.classifier.output_labels", draft.architecture()), gguf_array<std::string>(labels));
  draft.count("pooling_type", 4);  // a score in place of a vector
}

bool has_prefix(const Draft& draft, const std::string& prefix) {
  return draft.has(prefix + "embeddings.word_embeddings.weight");
}

// Tables of a few rows are added to embeddings: they stay as they are.
void add_table(Draft& draft, std::string_view name, Rows rows) {
  draft.add(fmt::format("{}.weight", name), std::move(rows), Storage::kFloat);
}

void bert_layers(Draft& draft, const std::string& prefix, int64_t first_position) {
  const HfConfig& c = draft.config();
  if (c.text("hidden_act", "gelu") != "gelu") c.refuse("hidden_act", "gelu");
  if (c.text("position_embedding_type", "absolute") != "absolute") c.refuse("position_embedding_type", "absolute");
  const int64_t layers = encoder_keys(draft, {"", "", "", "", ""});
  draft.linear("token_embd", prefix + "embeddings.word_embeddings");
  Rows positions = draft.rows(prefix + "embeddings.position_embeddings.weight");
  const int64_t learned = positions.shape.rows() - first_position;
  if (learned < 1) c.refuse("max_position_embeddings", fmt::format("more than {}", first_position));
  draft.count("context_length", learned);
  add_table(draft, "position_embd", part(std::move(positions), first_position, learned));
  add_table(draft, "token_types", draft.rows(prefix + "embeddings.token_type_embeddings.weight"));
  draft.linear("token_embd_norm", prefix + "embeddings.LayerNorm");
  draft.ignore(prefix + "embeddings.position_ids");  // 0, 1, 2, ...
  for (int64_t i = 0; i < layers; ++i) {
    for (const Part& part : kBertLayer)
      draft.linear(fmt::format("blk.{}.{}", i, part.to), fmt::format("{}encoder.layer.{}.{}", prefix, i, part.from));
  }
}

void bert(Draft& draft) {
  const std::string prefix = has_prefix(draft, "") ? "" : "bert.";
  bert_layers(draft, prefix, 0);
  draft.leave_out(prefix + "pooler.");  // trained to tell whether sentences follow each other; no pooling reads it
  draft.leave_out("cls.");              // the heads of its training
}

void bert_classifier(Draft& draft) {
  bert_layers(draft, "bert.", 0);
  draft.linear("cls", "bert.pooler.dense");
  classifier_output(draft, "classifier");
}

// Positions count from behind the padding token's.
int64_t roberta_first(const Draft& draft) {
  const int64_t padding = draft.config().integer("pad_token_id", 1);
  if (padding < 0 || padding > HfConfig::kMostOfAnything) draft.config().refuse("pad_token_id", "a token's number");
  return padding + 1;
}

void roberta(Draft& draft) {
  const std::string prefix = has_prefix(draft, "") ? "" : "roberta.";
  bert_layers(draft, prefix, roberta_first(draft));
  draft.leave_out(prefix + "pooler.");
  draft.leave_out("lm_head.");
}

void roberta_classifier(Draft& draft) {
  bert_layers(draft, "roberta.", roberta_first(draft));
  draft.linear("cls", "classifier.dense");
  classifier_output(draft, "classifier.out_proj");
}

void nomic(Draft& draft) {
  const HfConfig& c = draft.config();
  const std::string activation = c.text("activation_function", c.text("hidden_act", "silu"));
  if (activation != "swiglu" && activation != "silu") c.refuse("activation_function", "swiglu");
  if (c.integer("num_experts", 0) > 0) c.refuse("num_experts", "0");
  if (c.flag("prenorm", false)) c.refuse("prenorm", "false");
  if (c.number("rotary_emb_fraction", 1) != 1) c.refuse("rotary_emb_fraction", "1");
  if (c.flag("rotary_emb_interleaved", false)) c.refuse("rotary_emb_interleaved", "false");
  const int64_t layers = encoder_keys(draft, {"n_layer", "n_embd", "n_inner", "n_head", "layer_norm_epsilon"});
  // Longer texts ask for a rope that changes with their length: what the model was trained with is what it holds.
  const int64_t positions = count_of(c, "max_position_embeddings", "n_positions");
  draft.count("context_length", std::min(positions, c.integer("max_trained_positions", positions)));
  const std::optional<HfConfig> rope = c.object("rope_parameters");
  draft.real("rope.freq_base", rope ? rope->number("rope_theta", 1000) : c.number("rotary_emb_base", 1000));
  draft.linear("token_embd", "embeddings.word_embeddings");
  add_table(draft, "token_types", draft.rows("embeddings.token_type_embeddings.weight"));
  draft.linear("token_embd_norm", "emb_ln");
  for (int64_t i = 0; i < layers; ++i) {
    for (const Part& part : kNomicLayer)
      draft.linear(fmt::format("blk.{}.{}", i, part.to), fmt::format("encoder.layers.{}.{}", i, part.from));
  }
}

}  // namespace

std::span<const HfFamily> bert_families() {
  static constexpr HfFamily kRows[] = {
      {"BertModel", "bert", bert},
      {"BertForMaskedLM", "bert", bert},
      {"BertForSequenceClassification", "bert", bert_classifier},
      {"RobertaModel", "bert", roberta},
      {"RobertaForSequenceClassification", "bert", roberta_classifier},
      {"XLMRobertaModel", "bert", roberta},
      {"XLMRobertaForSequenceClassification", "bert", roberta_classifier},
      {"NomicBertModel", "nomic-bert", nomic},
  };
  return kRows;
}

}  // namespace ingle
