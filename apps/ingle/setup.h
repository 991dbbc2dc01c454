// From options to the library's own: engine, model, session, sampling. What several commands do in the same way.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/ingle/options.h"
#include "ingle/ingle.h"

namespace ingle::app {

// Takes over --threads, --isa, --exact, --verbose. `threads` overrides where a command has its own list of them.
EngineOptions engine_options(const Arguments& arguments, int64_t threads = 0);

// Warnings, and with --verbose everything.
std::function<void(LogLevel, std::string_view)> log_to_stderr(const Arguments& arguments);

// The MODEL argument or --model. Throws Error: kInvalidArgument (neither or both), kNotFound.
std::filesystem::path model_path(const Arguments& arguments);

// The text of -p, -f or standard input. Throws Error: kInvalidArgument (-p and -f together, not UTF-8), kNotFound, kIo.
std::string given_text(const Arguments& arguments);

// Loads with a progress bar on stderr; with --verbose says what was loaded, with --explain how.
Model open_model(Engine& engine, const std::filesystem::path& path, const Arguments& arguments,
                 bool vocabulary_only = false);

// Whether --shape takes the place of a model. Throws Error{kInvalidArgument} when both are given, or --type without
// --shape.
bool wants_shape(const Arguments& arguments);
SyntheticOptions synthetic_options(const Arguments& arguments);  // --shape, --type, --seed where the command has it
// As open_model(), for --shape.
Model open_shape(Engine& engine, const Arguments& arguments);

// Adapters and what each is multiplied by. Must outlive the sessions that use them.
struct Adapters {
  std::vector<Adapter> opened;
  std::vector<float> scales;

  std::vector<AppliedAdapter> applied() const;  // while `opened` stays where it is
};
// --lora and --lora-scaled; with --verbose says what was opened. Throws Error: kInvalidArgument (no scale), and what
// Adapter::open() throws.
Adapters open_adapters(const Model& model, const Arguments& arguments);

// --ctx-size, --batch-size, --ubatch-size, --cache-type-k, --cache-type-v, --all-rows, those of them that the command
// has.
SessionOptions session_options(const Arguments& arguments, const Adapters& adapters = {});

// Defaults, over them what the file recommends, over them what was given. An absent or negative seed stays 0: the
// caller draws one. Throws Error{kInvalidArgument} for a sampler name, or a biased token, that does not exist.
SamplerOptions sampler_options(const Arguments& arguments, const Model& model);

// A warning when so many matrices have so few bits that importance should have steered their rounding.
void warn_unweighted(int64_t matrices);

uint64_t random_seed();  // below 2^32: short enough to be typed again

// Without the seed. Keys are the options' names, with _ for -.
boost::json::object to_json(const SamplerOptions& options);
boost::json::object to_json(const ModelInfo& info);
boost::json::object engine_json(const Engine& engine);
boost::json::object to_json(const SessionOptions& options);
boost::json::object to_json(const RowCounts& rows);
boost::json::array to_json(std::span<const OpCheck> checks);

}  // namespace ingle::app
