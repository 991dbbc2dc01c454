#include "models/file_kind.h"

#include "base/error.h"

namespace ingle {

void check_is_model(const GgufFile& file) {
  const std::string_view type = file.find_string("general.type").value_or("model");
  const std::string_view architecture = file.find_string("general.architecture").value_or("");
  if (architecture == "clip" || type == "mmproj") {
    throw_error(ErrorCode::kUnsupported,
                "{}: is a projector for images or sound (mmproj), not a language model; open the model it belongs to",
                file.path());
  }
  if (type == "adapter") {
    throw_error(ErrorCode::kUnsupported, "{}: is an adapter (LoRA), not a whole model; open the model it was made for",
                file.path());
  }
  if (type == "imatrix" || architecture == "controlvector") {
    throw_error(ErrorCode::kUnsupported, "{}: is a {}, not a language model", file.path(),
                type == "imatrix" ? "table of quantization weights (imatrix)" : "control vector");
  }
}

}  // namespace ingle
