"""What all golden models share: the vocabulary, long prompts, and how a file begins and ends."""
import gguf
import numpy as np

VOCAB = 133


def vocabulary():
    """Three control tokens, printable ASCII, space, newline, and as many merges as make 133."""
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens += [chr(c) for c in range(33, 127)] + ["Ġ", "Ċ"]
    merges = ["Ġ t", "h e", "Ġ a", "i n", "r e", "Ġt he", "o n", "e r", "Ġ s", "a t", "o r", "e n", "Ġ w", "Ġ c", "i t",
              "i s", "a n", "e s", "o u", "Ġ b", "e d", "Ġ f", "in g", "Ġ p", "o f", "Ġa n", "a l", "Ġ m", "an d", "Ġ o",
              "a r", "Ġt o", "u s", "e r s"]
    merges[-1] = "er s"
    tokens += [m.replace(" ", "") for m in merges]
    assert len(tokens) == len(set(tokens)) == VOCAB, (len(tokens), len(set(tokens)))
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (VOCAB - 3)
    return tokens, kinds, merges


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


def add_tokenizer(w):
    tokens, kinds, merges = vocabulary()
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
