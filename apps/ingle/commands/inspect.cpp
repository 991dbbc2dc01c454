// ingle inspect: what is in a model file, and what memory it would take. The weights are not loaded.
#include <boost/json.hpp>
#include <map>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "tensors", .help = "List every tensor"},
    {.name = "metadata", .help = "List every metadata entry, also the tokenizer's"},
    {.name = "json", .help = "Print one JSON object with everything"},
    kContextSize,
    kCacheTypeK,
    kCacheTypeV,
};
constexpr OptionGroup kInspectOptions{"Output", kOptions};

struct TypeSum {
  int64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;
};

std::map<std::string, TypeSum> by_type(const FileInfo& file) {
  std::map<std::string, TypeSum> sums;
  for (const TensorEntry& tensor : file.tensors) {
    TypeSum& sum = sums[tensor.type];
    ++sum.tensors;
    sum.elements += tensor.elements;
    sum.bytes += tensor.bytes;
  }
  return sums;
}

// An empty path is a shape's. A plan is worth having, but a file that nothing here can run is still worth looking at.
std::vector<MemoryUse> plan(const Arguments& arguments, const std::filesystem::path& path, std::string& why_not) {
  try {
    Engine engine(engine_options(arguments));
    const SessionOptions options = session_options(arguments);
    return path.empty() ? plan_synthetic(engine, synthetic_options(arguments), options)
                        : plan_memory(engine, path, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kInvalidArgument) throw;
    why_not = error.what();
    return {};
  }
}

boost::json::value json_or_text(const std::string& text) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  return error ? boost::json::value(to_valid_utf8(text)) : value;
}

std::string as_json(const FileInfo& file, const std::vector<MemoryUse>& memory, const std::string& why_not) {
  boost::json::object object{{"path", to_valid_utf8(file.path)},
                             {"version", file.version},
                             {"file_bytes", file.file_bytes},
                             {"alignment", file.alignment},
                             {"parameters", file.parameters}};
  boost::json::array metadata, tensors, uses;
  for (const MetadataEntry& entry : file.metadata)
    metadata.push_back({{"key", to_valid_utf8(entry.key)},
                        {"type", entry.type},
                        {"count", entry.count},
                        {"value", json_or_text(entry.value)}});
  for (const TensorEntry& t : file.tensors)
    tensors.push_back({{"name", to_valid_utf8(t.name)},
                       {"type", t.type},
                       {"shape", json_or_text(t.shape)},
                       {"elements", t.elements},
                       {"bytes", t.bytes},
                       {"offset", t.offset},
                       {"shard", t.shard}});
  boost::json::object types;
  for (const auto& [type, sum] : by_type(file))
    types[type] = {{"tensors", sum.tensors}, {"elements", sum.elements}, {"bytes", sum.bytes}};
  for (const MemoryUse& use : memory) uses.push_back({{"owner", use.owner}, {"bytes", use.bytes}, {"note", use.note}});
  object["metadata"] = std::move(metadata);
  object["types"] = std::move(types);
  object["tensors"] = std::move(tensors);
  if (why_not.empty()) {
    object["memory"] = std::move(uses);
  } else {
    object["memory_unknown_because"] = why_not;
  }
  return json_text(object) + "\n";
}

std::string shortened(std::string text, size_t most) {
  text = printable(text);
  if (static_cast<size_t>(display_width(text)) <= most) return text;
  // Cut between characters, not within one.
  size_t at = 0;
  while (at < text.size() && static_cast<size_t>(display_width(std::string_view(text).substr(0, at))) + 3 < most)
    at += first_character(std::string_view(text).substr(at)).length;
  return text.substr(0, at) + "...";
}

std::string metadata_text(const FileInfo& file, bool all) {
  Table table({"key", "type", "value"}, 3);
  size_t left_out = 0;
  for (const MetadataEntry& entry : file.metadata) {
    if (!all && entry.key.starts_with("tokenizer.ggml.") && entry.type.starts_with("arr")) {
      ++left_out;
      continue;
    }
    const bool counted = entry.type.starts_with("arr") || entry.count > 60;
    std::string value = shortened(entry.value, 60);
    if (counted) value += fmt::format(" ({})", entry.count);
    table.add({printable(entry.key), entry.type, std::move(value)});
  }
  std::string text = table.text();
  if (left_out > 0) text += fmt::format("(and {} lists of the tokenizer; --metadata shows them)\n", left_out);
  return text;
}

std::string tensors_text(const FileInfo& file) {
  Table table({"tensor", "type", "shape", "bytes"}, 3);
  for (const TensorEntry& tensor : file.tensors)
    table.add({printable(tensor.name), tensor.type, tensor.shape, std::to_string(tensor.bytes)});
  return table.text();
}

std::string types_text(const FileInfo& file) {
  Table table({"type", "tensors", "parameters", "size", "bits each"});
  TypeSum all;
  const auto row = [](const std::string& name, const TypeSum& sum) {
    return std::vector<std::string>{name, std::to_string(sum.tensors), format_count(static_cast<double>(sum.elements)),
                                    format_bytes(static_cast<double>(sum.bytes)),
                                    sum.elements > 0 ? fmt::format("{:.2f}", 8.0 * static_cast<double>(sum.bytes) /
                                                                                 static_cast<double>(sum.elements))
                                                     : ""};
  };
  for (const auto& [type, sum] : by_type(file)) {
    table.add(row(type, sum));
    all.tensors += sum.tensors;
    all.elements += sum.elements;
    all.bytes += sum.bytes;
  }
  table.add(row("all", all));
  return table.text();
}

std::string memory_text(const std::vector<MemoryUse>& memory, const std::string& why_not) {
  if (!why_not.empty()) return fmt::format("cannot be run here: {}\n", printable(why_not));
  uint64_t all = 0;
  std::string text;
  for (const MemoryUse& use : memory) {
    text += fmt::format("{}{:>10}  {}\n", pad(use.owner, 16), format_bytes(static_cast<double>(use.bytes)), use.note);
    all += use.bytes;
  }
  const uint64_t machine = Engine::machine().memory_bytes;
  return text + fmt::format("{}{:>10}  of {} in this machine{}\n", pad("all", 16),
                            format_bytes(static_cast<double>(all)), format_bytes(static_cast<double>(machine)),
                            all > machine ? ": does not fit" : "");
}

int inspect_file(const Arguments& arguments) {
  const bool synthetic = wants_shape(arguments);
  const std::filesystem::path path = synthetic ? std::filesystem::path() : model_path(arguments);
  const FileInfo file = synthetic ? inspect_synthetic(synthetic_options(arguments)) : inspect(path);
  std::string why_not;
  const std::vector<MemoryUse> memory = plan(arguments, path, why_not);
  if (arguments.flag("json")) {
    write_stdout(as_json(file, memory, why_not));
    return kSuccess;
  }
  put("{}: GGUF version {}, {}, {} parameters in {} tensors\n", printable(file.path), file.version,
      format_bytes(static_cast<double>(file.file_bytes)), format_count(static_cast<double>(file.parameters)),
      file.tensors.size());
  put("\nMetadata\n{}", metadata_text(file, arguments.flag("metadata")));
  put("\nTypes\n{}", types_text(file));
  if (arguments.flag("tensors")) put("\nTensors\n{}", tensors_text(file));
  const int64_t context = arguments.integer("ctx-size");
  const std::string size = context > 0 ? fmt::format("a context of {} tokens", context) : "the default context";
  put("\nMemory for {}\n{}", size, memory_text(memory, why_not));
  return kSuccess;
}

}  // namespace

Command inspect_command() {
  return {
      {.name = "inspect",
       .summary = "show what is in a model file, and what memory it would take",
       .description =
           "Metadata, a summary of tensor types, with --tensors every tensor, and the memory by owner for a context "
           "of -c tokens. Nothing is loaded, so this is quick for files of any size.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelFileOptions, &kShapeOptions, &kInspectOptions, &kMachineOptions, &kGeneralOptions},
       .examples = {{"ingle inspect smollm2", "an overview"},
                    {"ingle inspect model.gguf -c 32768 -ctk q8_0 -ctv q8_0", "will a long context fit?"},
                    {"ingle inspect --shape gemma4-e2b --type q4_k", "would a model of this shape fit?"},
                    {"ingle inspect model.gguf --json | jq '.types'", "for programs"}}},
      inspect_file};
}

}  // namespace ingle::app
