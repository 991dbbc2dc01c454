#include "apps/ingle/setup.h"

#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "apps/ingle/catalogue.h"
#include "apps/ingle/explain.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

std::vector<std::string> parse_order(std::string_view text) {
  const std::vector<std::string> known = SamplerOptions{}.order;
  std::vector<std::string> order;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(";,"), text.size());
    std::string name(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    std::erase(name, ' ');
    std::ranges::replace(name, '-', '_');
    if (name == "temp") name = "temperature";
    if (std::ranges::count(known, name) == 0)
      fail(ErrorCode::kInvalidArgument, "--samplers: '{}' is not known; there are {}", printable(name),
           fmt::join(known, ";"));
    if (std::ranges::count(order, name) != 0)
      fail(ErrorCode::kInvalidArgument, "--samplers: '{}' is there twice", name);
    order.push_back(std::move(name));
  }
  return order;
}

std::pair<TokenId, float> parse_bias(const std::string& text, int64_t vocabulary) {
  const size_t sign = text.find_first_of("+-", 1);
  TokenId token = 0;
  float bias = 0;
  bool good = sign != text.npos;
  if (good) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + sign, token);
    good = error == std::errc() && end == text.data() + sign;
  }
  if (good) {
    const char* begin = text.data() + sign + (text[sign] == '+' ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), bias);
    good = error == std::errc() && end == text.data() + text.size() && !std::isnan(bias) &&
           bias != std::numeric_limits<float>::infinity();
  }
  if (!good)
    fail(ErrorCode::kInvalidArgument,
         "--logit-bias: '{}' is not a token id, a sign and a number, such as 15043+1.5 or 15043-inf", printable(text));
  if (token < 0 || token >= vocabulary)
    fail(ErrorCode::kInvalidArgument, "--logit-bias: there is no token {}; the model has 0 to {}", token,
         vocabulary - 1);
  return {token, bias};
}

}  // namespace

EngineOptions engine_options(const Arguments& arguments, int64_t threads) {
  EngineOptions options;
  options.threads = static_cast<int>(threads != 0               ? threads
                                     : arguments.has("threads") ? arguments.integer("threads")
                                                                : 0);
  options.isa = arguments.text("isa");
  options.exact = arguments.flag("exact");
  options.log = log_to_stderr(arguments);
  return options;
}

std::function<void(LogLevel, std::string_view)> log_to_stderr(const Arguments& arguments) {
  // A message may come while a progress bar stands in the line: it takes the bar's place.
  return [verbose = arguments.flag("verbose"), clear = stderr_is_terminal() ? "\r\x1b[K" : ""](
             LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) {
      note("{}ingle: warning: {}", clear, printable(message));
    } else if (verbose) {
      note("{}{}", clear, printable(message));
    }
  };
}

std::filesystem::path model_path(const Arguments& arguments) {
  const std::optional<std::string> positional = arguments.positional(0);
  if (positional && arguments.typed("model"))
    fail(ErrorCode::kInvalidArgument, "two models: '{}' and -m '{}'; give one", printable(*positional),
         printable(arguments.text("model")));
  if (!positional && !arguments.given("model"))
    fail(ErrorCode::kInvalidArgument,
         "no model: ingle {0} MODEL, where MODEL is a GGUF file or smollm2 (see: ingle {0} --help)",
         arguments.syntax().name);
  return find_model(positional ? *positional : arguments.text("model"));
}

std::string given_text(const Arguments& arguments) {
  if (arguments.given("prompt") && arguments.given("file"))
    fail(ErrorCode::kInvalidArgument, "-p and -f: give one of them");
  if (arguments.given("prompt")) return arguments.text("prompt");
  return read_text(arguments.given("file") ? arguments.text("file") : "-");
}

namespace {

// With a progress bar; with --verbose says what was loaded, with --explain how.
template <class Open>
Model open_with_progress(Engine& engine, const Arguments& arguments, const std::string& doing, const std::string& done,
                         Open open) {
  Progress progress(doing);
  Model model = open([&](double fraction) {
    progress.update(fraction);
    return !interrupted();
  });
  progress.finish(fmt::format("{} in {}", done, format_seconds(progress.seconds())));
  if (arguments.flag("verbose")) {
    const ModelInfo& info = model.info();
    note("model: {} ({}, {}, {} parameters, {}), loaded in {}", printable(info.path), printable(info.architecture),
         printable(info.file_type), format_count(static_cast<double>(info.parameters)),
         format_bytes(static_cast<double>(info.file_bytes)), format_seconds(progress.seconds()));
    note("device: {}{}", engine.device(), engine.exact() ? ", exact" : "");
  }
  if (arguments.syntax().find("explain") && arguments.flag("explain"))
    write_stderr(explain_placements(model.explain()) + explain_rows(model.explain_rows()));
  return model;
}

}  // namespace

Model open_model(Engine& engine, const std::filesystem::path& path, const Arguments& arguments, bool vocabulary_only) {
  const std::string name = printable(path.filename().string());
  return open_with_progress(engine, arguments, "loading " + name, "loaded " + name, [&](auto progress) {
    ModelOptions options{.vocabulary_only = vocabulary_only, .progress = progress};
    if (arguments.syntax().find("pre-tokenizer")) options.pre_tokenizer = arguments.text("pre-tokenizer");
    if (arguments.syntax().find("weights")) {
      const std::string where = arguments.text("weights");
      options.weights = where == "auto"     ? WeightMemory::kAuto
                        : where == "packed" ? WeightMemory::kPacked
                                            : WeightMemory::kMapped;
    }
    return Model::open(engine, path, std::move(options));
  });
}

bool wants_shape(const Arguments& arguments) {
  if (!arguments.given("shape")) {
    if (arguments.typed("type")) fail(ErrorCode::kInvalidArgument, "--type: goes with --shape");
    return false;
  }
  const std::optional<std::string> model = arguments.positional(0);
  if (model || arguments.typed("model"))
    fail(ErrorCode::kInvalidArgument, "--shape {} and the model '{}': give one", printable(arguments.text("shape")),
         printable(model ? *model : arguments.text("model")));
  return true;
}

SyntheticOptions synthetic_options(const Arguments& arguments) {
  SyntheticOptions options{.shape = arguments.text("shape"), .type = arguments.text("type")};
  if (arguments.syntax().find("seed")) options.seed = static_cast<uint64_t>(arguments.integer("seed"));
  return options;
}

Model open_shape(Engine& engine, const Arguments& arguments) {
  const SyntheticOptions synthetic = synthetic_options(arguments);
  const std::string name = printable(synthetic.shape);
  return open_with_progress(engine, arguments, "making " + name, "made " + name,
                            [&](auto progress) { return open_synthetic(engine, synthetic, {.progress = progress}); });
}

std::vector<AppliedAdapter> Adapters::applied() const {
  std::vector<AppliedAdapter> list;
  for (size_t i = 0; i < opened.size(); ++i) list.push_back({&opened[i], scales[i]});
  return list;
}

Adapters open_adapters(const Model& model, const Arguments& arguments) {
  Adapters adapters;
  const auto open = [&](const std::string& file, float scale) {
    adapters.opened.push_back(Adapter::open(model, file));
    adapters.scales.push_back(scale);
    const AdapterInfo& info = adapters.opened.back().info();
    if (arguments.flag("verbose"))
      note("adapter: {} ({} tensors, {}), times {}", printable(info.path), info.tensors,
           format_bytes(static_cast<double>(info.file_bytes)), scale);
  };
  for (const std::string& file : arguments.texts("lora")) open(file, 1);
  for (const std::string& both : arguments.texts("lora-scaled")) {
    const size_t colon = both.rfind(':');
    float scale = 0;
    bool good = colon != both.npos && colon > 0;
    if (good) {
      const char* end_of_text = both.data() + both.size();
      const auto [end, error] = std::from_chars(both.data() + colon + 1, end_of_text, scale);
      good = error == std::errc() && end == end_of_text && std::isfinite(scale);
    }
    if (!good)
      fail(ErrorCode::kInvalidArgument, "--lora-scaled: '{}' is not a file, a colon and a number, as style.gguf:0.5",
           printable(both));
    open(both.substr(0, colon), scale);
  }
  return adapters;
}

SessionOptions session_options(const Arguments& arguments, const Adapters& adapters) {
  SessionOptions options;
  options.adapters = adapters.applied();
  const Syntax& syntax = arguments.syntax();
  if (syntax.find("ctx-size")) options.context = arguments.integer("ctx-size");
  if (syntax.find("batch-size")) options.batch = arguments.integer("batch-size");
  if (syntax.find("ubatch-size")) options.micro_batch = arguments.integer("ubatch-size");
  if (syntax.find("cache-type-k")) options.cache_type_k = arguments.text("cache-type-k");
  if (syntax.find("cache-type-v")) options.cache_type_v = arguments.text("cache-type-v");
  if (syntax.find("all-rows")) options.every_row = arguments.flag("all-rows");
  return options;
}

SamplerOptions sampler_options(const Arguments& arguments, const Model& model) {
  SamplerOptions options;
  const std::vector<std::string> recommended = model.apply_recommended_sampling(options);
  if (arguments.flag("verbose") && !recommended.empty())
    note("sampling: {} as the model file recommends", fmt::join(recommended, ", "));
  const auto real = [&](std::string_view name, float& value) {
    if (arguments.given(name)) value = static_cast<float>(arguments.real(name));
  };
  const auto integer = [&](std::string_view name, auto& value) {
    if (arguments.given(name)) value = static_cast<std::remove_reference_t<decltype(value)>>(arguments.integer(name));
  };
  real("temp", options.temperature);
  integer("top-k", options.top_k);
  real("top-p", options.top_p);
  real("min-p", options.min_p);
  real("typical", options.typical_p);
  real("xtc-probability", options.xtc_probability);
  real("xtc-threshold", options.xtc_threshold);
  real("repeat-penalty", options.repetition_penalty);
  integer("repeat-last-n", options.penalty_last_n);
  real("presence-penalty", options.presence_penalty);
  real("frequency-penalty", options.frequency_penalty);
  real("dry-multiplier", options.dry_multiplier);
  real("dry-base", options.dry_base);
  integer("dry-allowed-length", options.dry_allowed_length);
  integer("dry-penalty-last-n", options.dry_penalty_last_n);
  integer("mirostat", options.mirostat);
  real("mirostat-lr", options.mirostat_eta);
  real("mirostat-ent", options.mirostat_tau);
  integer("min-keep", options.min_keep);
  if (arguments.given("samplers")) options.order = parse_order(arguments.text("samplers"));
  if (arguments.given("dry-sequence-breaker")) {
    options.dry_sequence_breakers = arguments.texts("dry-sequence-breaker");
    std::erase(options.dry_sequence_breakers, "none");
  }
  for (const std::string& bias : arguments.texts("logit-bias"))
    options.logit_bias.push_back(parse_bias(bias, model.info().vocabulary));
  if (arguments.given("seed")) options.seed = static_cast<uint64_t>(std::max<int64_t>(0, arguments.integer("seed")));
  return options;
}

void warn_unweighted(int64_t matrices) {
  if (matrices == 0) return;
  note(
      "ingle: warning: {} matrices have fewer than three and a half bits and nothing says what matters in them: the "
      "model will be much worse than it could be; measure a larger file with ingle imatrix and quantize that with "
      "--imatrix",
      matrices);
}

uint64_t random_seed() { return std::random_device{}() & 0xffffffffu; }

boost::json::object to_json(const SamplerOptions& options) {
  // Floats as they were typed: 0.8, not 0.800000011920929.
  const auto real = [](float value) { return std::stod(fmt::format("{}", value)); };
  boost::json::object bias;
  for (const auto& [token, value] : options.logit_bias) {
    if (std::isinf(value)) {
      bias[std::to_string(token)] = "-inf";
    } else {
      bias[std::to_string(token)] = real(value);
    }
  }
  return {
      {"samplers", boost::json::array(options.order.begin(), options.order.end())},
      {"temp", real(options.temperature)},
      {"top_k", options.top_k},
      {"top_p", real(options.top_p)},
      {"min_p", real(options.min_p)},
      {"typical", real(options.typical_p)},
      {"xtc_probability", real(options.xtc_probability)},
      {"xtc_threshold", real(options.xtc_threshold)},
      {"repeat_penalty", real(options.repetition_penalty)},
      {"repeat_last_n", options.penalty_last_n},
      {"presence_penalty", real(options.presence_penalty)},
      {"frequency_penalty", real(options.frequency_penalty)},
      {"dry_multiplier", real(options.dry_multiplier)},
      {"dry_base", real(options.dry_base)},
      {"dry_allowed_length", options.dry_allowed_length},
      {"dry_penalty_last_n", options.dry_penalty_last_n},
      {"dry_sequence_breaker",
       boost::json::array(options.dry_sequence_breakers.begin(), options.dry_sequence_breakers.end())},
      {"mirostat", options.mirostat},
      {"mirostat_ent", real(options.mirostat_tau)},
      {"mirostat_lr", real(options.mirostat_eta)},
      {"logit_bias", std::move(bias)},
      {"min_keep", options.min_keep},
  };
}

boost::json::object to_json(const ModelInfo& info) {
  return {
      {"path", to_valid_utf8(info.path)},
      {"name", to_valid_utf8(info.name)},
      {"architecture", to_valid_utf8(info.architecture)},
      {"file_type", to_valid_utf8(info.file_type)},
      {"file_bytes", info.file_bytes},
      {"parameters", info.parameters},
  };
}

boost::json::object engine_json(const Engine& engine) {
  return {
      {"device", engine.device()},
      {"isa", engine.isa()},
      {"threads", engine.threads()},
      {"exact", engine.exact()},
  };
}

boost::json::object to_json(const SessionOptions& options) {
  boost::json::object object = {
      {"context", options.context},           {"batch", options.batch},
      {"micro_batch", options.micro_batch},   {"cache_type_k", options.cache_type_k},
      {"cache_type_v", options.cache_type_v}, {"all_rows", options.every_row},
  };
  for (const AppliedAdapter& applied : options.adapters) {
    boost::json::value& list = object["adapters"];
    if (list.is_null()) list.emplace_array();
    list.as_array().push_back({{"path", to_valid_utf8(applied.adapter->info().path)},
                               {"scale", std::stod(fmt::format("{}", applied.scale))}});
  }
  return object;
}

boost::json::object to_json(const RowCounts& rows) { return {{"computed", rows.computed}, {"skipped", rows.skipped}}; }

boost::json::array to_json(std::span<const OpCheck> checks) {
  boost::json::array list;
  for (const OpCheck& check : checks) {
    list.push_back(boost::json::object{{"op", check.op},
                                       {"layer", check.layer},
                                       {"calls", check.calls},
                                       {"unchecked", check.unchecked},
                                       {"error", check.error},
                                       {"weight", check.weight},
                                       {"step", check.step},
                                       {"row", check.row}});
  }
  return list;
}

}  // namespace ingle::app
