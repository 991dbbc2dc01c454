#include "apps/ingle/tools.h"

#include <boost/json.hpp>

#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/json_reading.h"

namespace ingle::app {
namespace {

bool is_tool(const boost::json::value& value) {
  const boost::json::object* tool = value.if_object();
  if (!tool) return false;
  const boost::json::value* function = tool->if_contains("function");
  if (function && function->is_object()) tool = &function->get_object();
  const boost::json::value* name = tool->if_contains("name");
  return name && name->is_string() && !name->get_string().empty();
}

}  // namespace

std::string read_tools(const std::string& file) {
  std::string text = read_text(file);
  const boost::json::value root = parse_json(text, file);
  const boost::json::array* tools = root.if_array();
  if (!tools) fail(ErrorCode::kInvalidFile, "{}: no JSON array of tools", file);
  for (size_t i = 0; i < tools->size(); ++i)
    if (!is_tool((*tools)[i]))
      fail(ErrorCode::kInvalidFile,
           "{}: tool {} has no name; write {{\"type\": \"function\", \"function\": {{\"name\": ...}}}}", file, i);
  return tools->empty() ? "[]" : std::move(text);
}

}  // namespace ingle::app
