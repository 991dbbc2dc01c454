"""What all golden models share: the vocabulary, long prompts, and how a file begins and ends."""
import gguf
import numpy as np
import tokenizers
import transformers

VOCAB = 133
LAST_MERGES = ("u s", "er s")


def vocabulary(last=LAST_MERGES):
    """Three control tokens, printable ASCII, space, newline, and as many merges as make 133, `last` behind the others."""
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens += [chr(c) for c in range(33, 127)] + ["Ġ", "Ċ"]
    merges = ["Ġ t", "h e", "Ġ a", "i n", "r e", "Ġt he", "o n", "e r", "Ġ s", "a t", "o r", "e n", "Ġ w", "Ġ c", "i t",
              "i s", "a n", "e s", "o u", "Ġ b", "e d", "Ġ f", "in g", "Ġ p", "o f", "Ġa n", "a l", "Ġ m", "an d", "Ġ o",
              "a r", "Ġt o", *last]
    tokens += [m.replace(" ", "") for m in merges]
    assert len(tokens) == len(set(tokens)) == VOCAB, (len(tokens), len(set(tokens)))
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (VOCAB - 3)
    return tokens, kinds, merges


def fast_tokenizer(last=LAST_MERGES):
    """The same for transformers."""
    tokens, kinds, merges = vocabulary(last)
    model = tokenizers.models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges])
    t = tokenizers.Tokenizer(model)
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    t.add_special_tokens(tokens[:3])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, bos_token=tokens[1], eos_token=tokens[2])


def long_prompt(length, seed):
    """Tokens given by a formula, tests/models/golden.h has it too. In 32-bit unsigned arithmetic, for i = 0, 1, ...:

        s_0 = seed,  s_(i+1) = s_i * 1664525 + 1013904223,  t_i = 3 + (s_(i+1) >> 16) mod (VOCAB - 3)
    """
    tokens, state = [], seed
    for _ in range(length):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        tokens.append(3 + (state >> 16) % (VOCAB - 3))
    return tokens


def open_writer(path, arch):
    w = gguf.GGUFWriter(path, arch)
    w.add_name(f"golden {path.stem}")
    return w


def add_tokenizer(w, last=LAST_MERGES):
    tokens, kinds, merges = vocabulary(last)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types(kinds)
    w.add_token_merges(merges)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(False)


def add_matrix_or_vector(w, name, t, half):
    """Matrices in f16 if `half`; what has one dimension stays f32, as in real files."""
    w.add_tensor(name, np.ascontiguousarray(t.astype(np.float16 if half and t.ndim > 1 else np.float32)))


def close_writer(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
