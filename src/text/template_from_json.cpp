#include "text/template_from_json.h"

#include "base/error.h"
#include "text/template_operators.h"

namespace ingle::jinja {
namespace {

Value long_integer(JsonValue value) {
  try {
    return Value::of_int(*parse_int(value.digits(), 10));
  } catch (const Failure& failure) {
    value.fail(failure.message);
  }
}

Value value_of(Heap& heap, JsonValue value, bool trusted) {
  const Heap::Level level(heap);
  heap.spend(1);
  if (value.is_null()) return Value::none();
  if (value.is_boolean()) return Value::of(value.boolean());
  if (value.is_integer()) return Value::of_int(value.integer());
  if (value.is_long_integer()) return long_integer(value);
  if (value.is_string()) return heap.text(value.string(), trusted);
  if (value.is_array()) {
    std::vector<Value> items;
    for (JsonValue item : value.items()) heap.push(items, value_of(heap, item, trusted));
    return heap.list(std::move(items));
  }
  if (!value.is_object()) return Value::of_float(value.number());
  auto* dict = heap.make<Dict>();
  for (JsonValue member : value.members())
    dict->set(heap, heap.text(member.key(), trusted), value_of(heap, member, trusted));
  return Value(Kind::kDict, dict);
}

}  // namespace

Value from_json(Heap& heap, std::string_view text, std::string name, bool trusted, JsonDocument::Strings strings) {
  try {
    const JsonDocument document(text, std::move(name), strings);
    return value_of(heap, document.root(), trusted);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidFile) throw;  // a limit
    throw Failure{error.what()};
  }
}

Value normalize_messages(Heap& heap, const Value& messages) {
  if (!messages.is(Kind::kList)) fail("messages: not an array");
  if (messages.sequence().items.empty()) fail("the conversation is empty");
  const Value reasoning_key = heap.text("reasoning_content", false), thinking_key = heap.text("thinking", false);
  std::vector<Value> out;
  for (const Value& message : messages.sequence().items) {
    if (!message.is(Kind::kDict)) fail("message {} is not an object", out.size());
    const Dict& given = message.dict();
    const auto member = [&](std::string_view key) {
      const Value* found = given.find(heap, key);
      return found != nullptr && !found->is(Kind::kNone) ? found : nullptr;
    };
    const Value* thinking = member("thinking");
    const Value* reasoning = member("reasoning_content");
    if (reasoning == nullptr) reasoning = thinking;
    if (reasoning == nullptr) reasoning = member("reasoning");
    auto* cleaned = heap.make<Dict>();
    // `thinking` comes first in any case, an added reasoning_content last: the order the reference prints.
    if (reasoning != nullptr) cleaned->set(heap, thinking_key, thinking != nullptr ? *thinking : *reasoning);
    for (const auto& [key, value] : given.entries)
      if (!value.is(Kind::kNone)) cleaned->set(heap, key, value);
    if (reasoning != nullptr) cleaned->set(heap, reasoning_key, *reasoning);
    heap.push(out, Value(Kind::kDict, cleaned));
  }
  return heap.list(std::move(out));
}

}  // namespace ingle::jinja
