"""Models whose hidden rows are the result: BERT and its relatives, and decoders that were trained to embed or to rank."""
import math

import gguf
import numpy as np
import torch
import transformers

from golden import tiny

# How far f32 may be from f64, in units of a row's largest number.
FLOAT64_BOUND = 3e-6

POOLING = {"mean": 1, "cls": 2, "last": 3, "rank": 4}
CONTROL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "on", "mat", "dog", "ran", "far", "away", "bird", "sang"]


def word_pieces():
    """Words begin with a mark, what goes on in a word has none."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens = CONTROL + ["▁" + t for t in letters + [".", ",", "?"] + WORDS] + letters + ["ing", "ed", "er", "s's"]
    return tokens


def bert_names(head):
    return {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
            "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
            "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
            "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
            "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm", **head}


NOMIC_NAMES = {"embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types",
               "embeddings.LayerNorm": "token_embd_norm", "self_attn.o_proj": "attn_output",
               "post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm",
               "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
QWEN3_NAMES = {"embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm",
               "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
               "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
               "post_attention_layernorm": "ffn_norm",
               "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}

# What Qwen3-Reranker's page says that a question and a text are put into; in GGUF a template of its own name.
RERANK_TEMPLATE = (
    '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. '
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    '<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n'
    '<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n')

BERT = dict(arch="bert", names=bert_names({"pooler.dense": "cls", "classifier": "cls.output"}))
ROBERTA = dict(arch="bert", names=bert_names({"classifier.dense": "cls", "classifier.out_proj": "cls.output"}))
NOMIC = dict(arch="nomic-bert", names=NOMIC_NAMES)
QWEN3 = dict(arch="qwen3", names=QWEN3_NAMES)

# texts: tokens, and where the second of a pair begins. pairs: a question and a text. `store`: what holds the matrices.
MODELS = {
    "bert_tiny": dict(BERT, classes=("BertConfig", "BertModel"), d=40, ff=56, layers=3, heads=5, store="f16", pooling="mean",
                      texts=((70,), (9,), (150, 61)), config=dict(type_vocab_size=2, max_position_embeddings=160)),
    # One score for a pair of texts; its width is no multiple of a vector.
    "bert_rerank": dict(BERT, classes=("BertConfig", "BertForSequenceClassification"), d=30, ff=44, layers=2, heads=3,
                        store="f32", pooling="rank", labels=["relevance"], texts=((19, 7), (70, 12)),
                        config=dict(type_vocab_size=2, max_position_embeddings=96)),
    # Positions count from behind the padding token's, all tokens are of one type, the classifier has two layers.
    "roberta_labels": dict(ROBERTA, classes=("XLMRobertaConfig", "XLMRobertaForSequenceClassification"), d=24, ff=40, layers=2,
                           heads=4, store="f16", pooling="rank", labels=["no", "maybe", "yes"], texts=((19, 7), (70,)),
                           config=dict(type_vocab_size=1, max_position_embeddings=98, pad_token_id=1), first_position=2),
    # Queries and keys turn, the feed-forward blocks have gates, nothing has a bias.
    "nomic_tiny": dict(NOMIC, classes=("NomicBertConfig", "NomicBertModel"), d=36, ff=56, layers=2, heads=3, store="f16",
                       pooling="mean", texts=((70,), (19, 7)), theta=1000.0,
                       config=dict(type_vocab_size=2, max_position_embeddings=256)),
    "qwen3_embedding": dict(QWEN3, classes=("Qwen3Config", "Qwen3Model"), d=40, ff=56, layers=2, heads=5, kv=1, dim=12,
                            store="f16", pooling="last", texts=((19,), (70,)), theta=10000.0),
    # The output layer's rows of the last two tokens of the vocabulary, yes and no.
    "qwen3_rerank": dict(QWEN3, classes=("Qwen3Config", "Qwen3ForCausalLM"), d=40, ff=56, layers=2, heads=4, kv=2, dim=10,
                         store="f16", pooling="rank", labels=["yes", "no"], label_tokens=(131, 132), merges=("y es", "n o"),
                         texts=((19,), (70,)), pairs=(("what is a bird", "a bird is an animal."),), template=RERANK_TEMPLATE,
                         readme="# Qwen3-Reranker-Tiny\n\nRandom weights.\n", theta=10000.0),
}


def is_decoder(m):
    return m["arch"] == "qwen3"


def vocab_of(m):
    return tiny.VOCAB if is_decoder(m) else len(word_pieces())


def fast_tokenizer(m):
    return tiny.fast_tokenizer(m.get("merges", tiny.LAST_MERGES))


def tokens_of_pair(m, query, document):
    return fast_tokenizer(m)(m["template"].format(query=query, document=document))["input_ids"]


def build(m, seed):
    config_class, model_class = (getattr(transformers, name) for name in m["classes"])
    values = dict(vocab_size=vocab_of(m), hidden_size=m["d"], intermediate_size=m["ff"], num_hidden_layers=m["layers"],
                  num_attention_heads=m["heads"], layer_norm_eps=1e-5)
    if is_decoder(m):
        values.update(num_key_value_heads=m["kv"], head_dim=m["dim"], rms_norm_eps=1e-5, max_position_embeddings=512,
                      tie_word_embeddings=False)
    if "theta" in m:
        values["rope_parameters"] = dict(rope_type="default", rope_theta=m["theta"])
    if m.get("labels") and "label_tokens" not in m:
        values.update(id2label=dict(enumerate(m["labels"])), label2id={name: i for i, name in enumerate(m["labels"])})
    values.update(m.get("config", {}))
    config = config_class(**values)
    config._attn_implementation = "eager"
    model = model_class(config).eval().float()
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.lower().endswith("norm.weight"):
                w = 1 + 0.3 * rng.standard_normal(p.shape)
            elif name.endswith(".bias"):
                w = 0.3 * rng.standard_normal(p.shape)
            elif "embed" in name:
                w = rng.standard_normal(p.shape)
            else:
                w = rng.standard_normal(p.shape) * 1.3 / math.sqrt(p.shape[-1])
            w = w.astype(np.float16 if m["store"] == "f16" and len(p.shape) > 1 else np.float32).astype(np.float32)
            p.copy_(torch.from_numpy(w))
    return model


def segments(length, second):
    return [0] * second + [1] * (length - second) if second else [0] * length


def run(m, model, tokens, second):
    """Hidden rows as the output layer would read them, and the scores of a classifier."""
    if is_decoder(m):
        body = getattr(model, "model", model)
        hidden = body(torch.tensor([tokens])).last_hidden_state[0]
        scores = model.lm_head(hidden[-1])[list(m["label_tokens"])] if "label_tokens" in m else None
        return hidden.numpy(), None if scores is None else scores.numpy()
    types = segments(len(tokens), second if m["config"]["type_vocab_size"] > 1 else 0)
    out = model(torch.tensor([tokens]), token_type_ids=torch.tensor([types]), output_hidden_states=True)
    hidden = out.last_hidden_state if "last_hidden_state" in out else out.hidden_states[-1]
    return hidden[0].numpy(), out.logits[0].numpy() if "logits" in out else None


def tensors(m, model):
    base = {"BertForSequenceClassification": "bert.", "XLMRobertaForSequenceClassification": "roberta.",
            "Qwen3ForCausalLM": "model."}.get(m["classes"][1], "")
    fused = {}
    for name, t in model.state_dict().items():
        t = t.numpy()
        name = name.removeprefix(base)
        block = ""
        parts = name.split(".")
        for prefix in (["encoder", "layer"], ["layers"]):
            if parts[:len(prefix)] == prefix:
                block = f"blk.{parts[len(prefix)]}."
                name = ".".join(parts[len(prefix) + 1:])
        part, kind = name.rsplit(".", 1)
        if m["arch"] == "nomic-bert" and part in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
            fused.setdefault(block, {})[part[10]] = t
            continue
        if part == "pooler.dense" and not m.get("labels"):
            continue  # trained, and not read by any pooling
        if part == "lm_head":
            yield "cls.output.weight", t[list(m["label_tokens"])]
            continue
        if part == "embeddings.position_embeddings":
            t = t[m.get("first_position", 0):]
        yield f"{block}{m['names'][part]}.{kind}", t
    for block, t in fused.items():
        yield f"{block}attn_qkv.weight", np.concatenate([t["q"], t["k"], t["v"]])


def add_word_pieces(w):
    tokens = word_pieces()
    w.add_tokenizer_model("bert")
    w.add_token_list(tokens)
    w.add_token_types([gguf.TokenType.CONTROL] * len(CONTROL) + [gguf.TokenType.NORMAL] * (len(tokens) - len(CONTROL)))
    for role, token in (("pad", "[PAD]"), ("unk", "[UNK]"), ("bos", "[CLS]"), ("eos", "[SEP]"), ("sep", "[SEP]")):
        getattr(w, f"add_{role}_token_id")(tokens.index(token))


def write_gguf(path, m, model):
    w = tiny.open_writer(path, m["arch"])
    w.add_context_length(m.get("config", {}).get("max_position_embeddings", 512))
    w.add_embedding_length(m["d"])
    w.add_block_count(m["layers"])
    w.add_feed_forward_length(m["ff"])
    w.add_head_count(m["heads"])
    w.add_pooling_type(gguf.PoolingType(POOLING[m["pooling"]]))
    if m.get("labels"):
        w.add_classifier_output_labels(m["labels"])
    if "template" in m:
        w.add_chat_template([{"name": "rerank", "template": m["template"]}])
    if "theta" in m:
        w.add_rope_freq_base(m["theta"])
    if is_decoder(m):
        w.add_head_count_kv(m["kv"])
        w.add_key_length(m["dim"])
        w.add_value_length(m["dim"])
        w.add_layer_norm_rms_eps(1e-5)
        tiny.add_tokenizer(w, m.get("merges", tiny.LAST_MERGES))
    else:
        w.add_layer_norm_eps(1e-5)
        w.add_causal_attention(False)
        w.add_token_type_count(m["config"]["type_vocab_size"])
        add_word_pieces(w)
    for name, t in tensors(m, model):
        tiny.add_matrix_or_vector(w, name, t, m["store"] == "f16")
    tiny.close_writer(w)
