// The inside of an Engine.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "ingle/engine.h"

namespace ingle {

struct Engine::Impl {
  EngineOptions options;
  std::unique_ptr<Backend> backend;
  std::string isa;

  void log(LogLevel level, std::string_view message) const {
    if (options.log) options.log(level, message);
  }
};

}  // namespace ingle
