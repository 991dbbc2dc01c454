// What a file says about itself beside its numbers: general.*, the sampling its makers recommend.
#pragma once

#include "convert/draft.h"

namespace ingle {

// From the folder's name, the tensors drafted so far, README.md (license, languages, tags) and generation_config.json.
void add_description(Draft& draft, const HfFolder& folder);

}  // namespace ingle
