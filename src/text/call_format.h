// Finds out how the model of a chat template writes calls of tools.
#pragma once

#include <string_view>

#include "ingle/answer.h"
#include "text/answer_probes.h"

namespace ingle {

// Fills in what `format` says of calls; its thinking must be known. False, and no change: no conversation shows any.
bool find_call_format(const probes::Prober& prober, const probes::Turn& turn, std::string_view source,
                      AnswerFormat& format);

}  // namespace ingle
