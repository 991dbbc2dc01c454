#include "runtime/fingerprint.h"

#include <algorithm>
#include <type_traits>

#include "runtime/xxh64.h"

namespace ingle {
namespace {

constexpr size_t kPieceBytes = 256;

// With its length, so that where one text ends and the next begins counts too.
void add_text(Xxh64& hash, std::string_view text) {
  hash.add_number<uint64_t>(text.size());
  hash.add(text);
}

void add_value(Xxh64& hash, const GgufValue& value) {
  hash.add_number(static_cast<uint32_t>(value.type));
  hash.add_number(static_cast<uint32_t>(value.element_type));
  const auto add_array = [&](const auto& elements) {
    hash.add_number<uint64_t>(elements.size());
    for (const auto& element : elements) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(element)>, std::string>) {
        add_text(hash, element);
      } else {
        hash.add_number(element);
      }
    }
  };
  const auto add = [&](const auto& held) {
    using Held = std::remove_cvref_t<decltype(held)>;
    if constexpr (std::is_same_v<Held, std::string>) {
      add_text(hash, held);
    } else if constexpr (std::is_same_v<Held, GgufValue::Array>) {
      std::visit(add_array, held);
    } else {
      hash.add_number(held);
    }
  };
  std::visit(add, value.value);
}

// The beginning, the middle and the end.
void add_pieces(Xxh64& hash, const ConstTensorView& view) {
  const std::span<const std::byte> bytes(view.data, view.bytes());
  const size_t piece = std::min(kPieceBytes, bytes.size());
  for (const size_t at : {size_t{0}, (bytes.size() - piece) / 2, bytes.size() - piece})
    hash.add(bytes.subspan(at, piece));
}

}  // namespace

uint64_t fingerprint(const GgufFile& file) {
  Xxh64 hash;
  for (const auto& [key, value] : file.metadata()) {
    add_text(hash, key);
    add_value(hash, value);
  }
  for (const GgufTensor& tensor : file.tensors()) {
    add_text(hash, tensor.name);
    hash.add_number(static_cast<uint32_t>(tensor.view.type));
    for (int i = 0; i < tensor.view.shape.rank; ++i) hash.add_number(tensor.view.shape[i]);
    add_pieces(hash, *file.find(tensor.name));  // asked for by name: a generated file makes its numbers then
  }
  return hash.value();
}

}  // namespace ingle
