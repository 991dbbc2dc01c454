// tokenizer.json: small files made here. What is refused and how it is named, what the flags do, what decoding gives,
// and that hostile files and texts cost bounded time.

#include "ingle/error.h"
#include "tests/text/hf_files.h"
#include "tests/text/text_support.h"
#include "text/hf_encoder.h"
#include "text/hf_tokenizer.h"

namespace ingle {
namespace {

using Ids = std::vector<TokenId>;
using test::HfFile;

std::string refusal(const HfFile& file, ErrorCode code) {
  try {
    read_tokenizer_json(file.json());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing thrown";
}

HfFile with(std::string HfFile::*part, std::string value) {
  HfFile file;
  file.*part = std::move(value);
  return file;
}

TEST(TokenizerJsonReader, UnknownTypesAreRefusedByNameAndPlace) {
  const auto unsupported = [](std::string HfFile::*part, const char* json) {
    return refusal(with(part, json), ErrorCode::kUnsupported);
  };
  EXPECT_EQ(
      unsupported(&HfFile::normalizer, R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Foo"}]})"),
      "tokenizer.json: normalizer.normalizers[1]: type \"Foo\" is not known here");
  EXPECT_EQ(unsupported(&HfFile::pre_tokenizer, R"({"type": "UnicodeScripts"})"),
            "tokenizer.json: pre_tokenizer: type \"UnicodeScripts\" is not known here");
  EXPECT_EQ(unsupported(&HfFile::post_processor, R"({"type": "Foo"})"),
            "tokenizer.json: post_processor: type \"Foo\" is not known here");
  EXPECT_EQ(unsupported(&HfFile::decoder, R"({"type": "CTC"})"),
            "tokenizer.json: decoder: type \"CTC\" is not known here");
  EXPECT_EQ(unsupported(&HfFile::model, R"({"type": "Foo", "vocab": {"a": 0}})"),
            "tokenizer.json: model: type \"Foo\" is not known here (BPE, Unigram, WordPiece, WordLevel are)");
  EXPECT_EQ(unsupported(&HfFile::normalizer, R"({"type": "NFC", "fast": true})"),
            "tokenizer.json: normalizer.fast: not known here");
  EXPECT_EQ(unsupported(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1})"),
            "tokenizer.json: model.dropout: leaves merges out at random, which only training wants");
  EXPECT_NE(unsupported(&HfFile::pre_tokenizer,
                        R"({"type": "Split", "pattern": {"Regex": "(a)\\1"}, "behavior": "Isolated", "invert": false})")
                .find("tokenizer.json: pre_tokenizer.pattern.Regex: regular expression: "),
            std::string::npos);
}

TEST(TokenizerJsonReader, WhatIsWrongInAFileIsNamed) {
  const auto invalid = [](std::string HfFile::*part, const char* json) {
    return refusal(with(part, json), ErrorCode::kInvalidFile);
  };
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})"),
            "tokenizer.json: model.merges[0]: \"ab\" is not in model.vocab");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "c"]]})"),
            "tokenizer.json: model.merges[0]: \"c\" is not in model.vocab");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})"),
            "tokenizer.json: model.merges[0]: \"a\" is not two texts with a space between them");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []})"),
            "tokenizer.json: model.vocab.b: id 0 again, \"a\" has it");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 0, "a": 1}, "merges": []})"),
            "tokenizer.json: model.vocab.a: the same text twice");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": 4294967295}, "merges": []})"),
            "tokenizer.json: model.vocab.a: id 4294967295, not from 0 to 16777215");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"),
            "tokenizer.json: model.vocab.a: id -1, not from 0 to 16777215");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "Unigram", "unk_id": 2, "vocab": [["a", -1]]})"),
            "tokenizer.json: model.unk_id: 2: the vocabulary has 1 entries");
  EXPECT_EQ(invalid(&HfFile::model, R"({"type": "WordLevel", "vocab": {}, "unk_token": "u"})"),
            "tokenizer.json: model: there are no tokens");
  EXPECT_EQ(invalid(&HfFile::normalizer, R"({"type": "Strip", "strip_left": 1, "strip_right": true})"),
            "tokenizer.json: normalizer.strip_left: is an integer, not true or false");
  EXPECT_EQ(invalid(&HfFile::normalizer, R"({"type": "Precompiled", "precompiled_charsmap": "AAA"})"),
            "tokenizer.json: normalizer.precompiled_charsmap: 3 characters, base64 has fours of them");
  EXPECT_EQ(invalid(&HfFile::post_processor, R"({"type": "BertProcessing", "sep": ["x", 999], "cls": ["y", 0]})"),
            "tokenizer.json: post_processor.sep[1]: 999: there are 260 tokens");
  HfFile file;
  file.added =
      R"({"id": 7, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})";
  EXPECT_EQ(refusal(file, ErrorCode::kInvalidFile),
            "tokenizer.json: added_tokens[0]: \"<x>\" has id 7, but is number 260");
}

TEST(TokenizerJsonReader, TwoProcessorsThatAddTokensAreRefused) {
  constexpr std::string_view kBert = R"({"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]})";
  const std::string two = fmt::format(R"({{"type": "Sequence", "processors": [{}, {}]}})", kBert, kBert);
  EXPECT_EQ(refusal(with(&HfFile::post_processor, two), ErrorCode::kUnsupported),
            "tokenizer.json: post_processor.processors[1]: adds tokens, and one before it did");
}

TEST(TokenizerJsonReader, GarbageInPlaceOfACharacterMapIsRefusedOrHarmless) {
  std::mt19937 random(11);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int i = 0; i < 300; ++i) {
    std::string map = "EAAA";  // sizes of nodes that may even fit
    for (size_t n = 4 * (random() % 40); n > 0; --n) map += kDigits[random() % 64];
    try {
      const auto tokenizer = read_tokenizer_json(
          with(&HfFile::normalizer, R"({"type": "Precompiled", "precompiled_charsmap": ")" + map + "\"}").json());
      tokenizer->encode(test::random_text(random, 100));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  }
}

TEST(TokenizerJsonReader, AMissingUnknownTokenIsAnErrorWhenItIsNeeded) {
  HfFile file;
  file.model = R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"})";
  const auto tokenizer = read_tokenizer_json(file.json());
  EXPECT_EQ(tokenizer->encode("a"), Ids{0});
  EXPECT_THROW(tokenizer->encode("b"), Error);
}

TEST(TokenizerJsonReader, ASpecialTokenIsNotMadeOfAWholeWordOfText) {
  HfFile file;
  file.model = R"({"type": "WordLevel", "vocab": {"[UNK]": 0, "[SEP]": 1, "a": 2}, "unk_token": "[UNK]"})";
  file.pre_tokenizer = R"({"type": "WhitespaceSplit"})";
  file.add(1, "[SEP]", {"special"});
  const auto tokenizer = read_tokenizer_json(file.json());
  EXPECT_EQ(tokenizer->encode("a [SEP]"), (Ids{2, 0}));
  EXPECT_EQ(tokenizer->encode("a [SEP]", {.parse_special = true}), (Ids{2, 1}));
}

TEST(TokenizerJsonReader, WhatGgufCanSayTakesTheFastWay) {
  const auto steps = [](const char* json) {
    const JsonDocument document(json, "x");
    return read_hf_pre_tokenizer(document.root());
  };
  constexpr const char* kByteLevel =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true})";
  EXPECT_EQ(gguf_pre_tokenizer(steps(kByteLevel), false, false), "gpt-2");
  constexpr const char* kLlama3 =
      R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]})";
  EXPECT_EQ(gguf_pre_tokenizer(steps(kLlama3), false, true), "llama-bpe");
  EXPECT_EQ(gguf_pre_tokenizer(steps(kLlama3), false, false), "dbrx");
  constexpr const char* kSmollm =
      R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true}]})";
  EXPECT_EQ(gguf_pre_tokenizer(steps(kSmollm), false, false), "starcoder");
  EXPECT_EQ(gguf_pre_tokenizer(steps(R"({"type": "WhitespaceSplit"})"), false, false), "");
  EXPECT_EQ(gguf_pre_tokenizer({}, false, false), "");
}

struct Decoding {
  const char* decoder;
  std::vector<const char*> tokens;
  const char* text;
};

TEST(TokenizerJsonReader, DecodersGiveWhatTheLibraryGives) {
  // Expected texts are those of `tokenizers` 0.23.
  const Decoding decodings[] = {
      {R"({"type": "Metaspace", "replacement": "▁"})", {"▁He", "llo", "▁wor", "▁▁ld", "!"}, "Hello wor  ld!"},
      {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})", {"▁He", "llo"}, " Hello"},
      {R"({"type": "Metaspace", "replacement": "▁"})", {"▁▁a▁", "▁b"}, "a b"},
      {R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
       {"▁▁He", "<0xE2>", "<0x82>", "<0xAC>", "▁x", "<0x0A>"},
       " He€ x\n"},
      {R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
       {"do", "##n", "not", "##t", "'", "s", ".", "n't", "a", "'m", "##b"},
       "don nott ' s.n't a'mb"},
      {R"({"type": "WordPiece", "prefix": "##", "cleanup": false})", {"do", "##n", ".", "a"}, "don . a"},
      {R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a</w>", "b", "c</w>", "d</w>e", "f</w>"}, "a bc d ef"},
      {R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})",
       {"Ġhi", "Ã©", "Ċ", "<x y>", "日"},
       " hié\n<x y>日"},
      {R"({"type": "Strip", "content": "a", "start": 2, "stop": 1})", {"aaab", "aab", "ba", "xaa"}, "abbbxa"},
      {R"({"type": "Replace", "pattern": {"Regex": "\\d+"}, "content": "#"})", {"a12", "3b"}, "a##b"},
      {"null", {"a", "b"}, "a b"},
  };
  for (const Decoding& d : decodings) {
    HfFile file;
    file.decoder = d.decoder;
    std::string vocabulary;
    for (size_t i = 0; i < d.tokens.size(); ++i) {
      vocabulary += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", d.tokens[i], i);
    }
    file.model = R"({"type": "WordLevel", "unk_token": "u", "vocab": {)" + vocabulary + "}}";
    const auto tokenizer = read_tokenizer_json(file.json());
    Ids ids(d.tokens.size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
    EXPECT_EQ(tokenizer->decode(ids), d.text) << d.decoder;
  }
}

// One letter, spaces, marks, pairs, digits; a quarter of a megabyte of each. Quadratic work would take minutes.
// A reader of quadratic time takes hours for these, longer than ctest waits.
TEST(TokenizerJsonReader, LongRunsTakeLinearTime) {
  const std::string patterns[] = {"a", " ", "\u0301", "a b ", "7", "\n", "\u00e9", "'", "z"};
  HfFile bytes, marks, words, pieces;
  words.normalizer =
      R"({"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": true, "strip_right": true}]})";
  words.pre_tokenizer =
      R"({"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "Digits", "individual_digits": false}, {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}]})";
  words.add(260, "the ", {"lstrip", "rstrip", "normalized"});
  words.add(261, "zz", {"single_word"});
  marks.model = test::fallback_bpe();
  marks.normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  marks.pre_tokenizer = "null";
  pieces.model =
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1], ["aa", -1.5], ["▁", -2], ["▁a", -2.5], ["7", -3]]})";
  pieces.pre_tokenizer = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": false})";
  for (const HfFile* file : {&bytes, &words, &marks, &pieces}) {
    for (const bool general : {false, true}) {
      const auto tokenizer = read_tokenizer_json(file->json(), {}, {.general_only = general});
      for (const std::string& pattern : patterns) {
        std::string text = test::repeat(pattern, (1 << 18) / pattern.size());
        text.insert(text.begin(), 'x');
        EXPECT_FALSE(tokenizer->encode(text).empty()) << pattern;
      }
    }
  }
}

TEST(TokenizerJsonReader, AHundredThousandAddedTokensLoad) {
  std::string json = R"({"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}, "added_tokens": [)";
  constexpr int kTokens = 100'000;
  for (int i = 1; i <= kTokens; ++i) {
    json += fmt::format(
        R"({}{{"id":{},"content":"<{}>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}})",
        i == 1 ? "" : ",", i, i);
  }
  const auto tokenizer = read_tokenizer_json(json + "]}");
  EXPECT_EQ(tokenizer->encode("<100000><1><77>"), (Ids{100000, 1, 77}));
}

TEST(TokenizerJsonReader, TextsThatGrowWithoutMeasureAreRefused) {
  const auto tokenizer =
      read_tokenizer_json(with(&HfFile::normalizer, R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                                                        std::string(1000, 'b') + "\"}")
                              .json());
  EXPECT_EQ(tokenizer->encode("a", {.add_special = false}).size(), 1000u);
  EXPECT_THROW(tokenizer->encode(std::string(100'000, 'a')), Error);
}

TEST(TokenizerJsonReader, BrokenUtf8IsReadAsReplacementCharacters) {
  const auto tokenizer = read_tokenizer_json(HfFile().json());
  EXPECT_EQ(tokenizer->encode("a\xE2\x82x\xFF"), tokenizer->encode("a\uFFFDx\uFFFD"));
}

}  // namespace
}  // namespace ingle
