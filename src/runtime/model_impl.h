// The inside of a Model.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "ingle/model.h"
#include "models/model.h"
#include "runtime/chat.h"
#include "runtime/engine_impl.h"
#include "text/tokenizer.h"

namespace ingle {

struct Model::Impl {
  Impl(Engine& engine, GgufFile file, const ModelOptions& options);

  Backend& backend() const noexcept { return *engine->impl().backend; }

  Engine* engine;
  GgufFile file;
  ModelInfo info;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::optional<Chat> chat;         // absent: the file's template is broken
  std::optional<Error> chat_error;  // then, why
  LoadedModel loaded;               // empty for a vocabulary
};

ModelInfo describe_model(const GgufFile& file);

}  // namespace ingle
