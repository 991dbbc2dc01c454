// ingle, all of it: an Engine opens a Model; a Session reads and continues sequences; generate() makes text.
#pragma once

#include "ingle/adapter.h"
#include "ingle/ceilings.h"
#include "ingle/convert.h"
#include "ingle/engine.h"
#include "ingle/error.h"
#include "ingle/generate.h"
#include "ingle/importance.h"
#include "ingle/inspect.h"
#include "ingle/model.h"
#include "ingle/prompt_template.h"
#include "ingle/quantize.h"
#include "ingle/sampling.h"
#include "ingle/session.h"
#include "ingle/synthetic.h"
#include "ingle/tensor_swap.h"
#include "ingle/tokenizer_file.h"
