#!/usr/bin/env python3
"""Renders templates with Jinja2 as transformers sets it up; writes tests/text/data/templates/golden.json.

Run by hand with a Python that has transformers 5.24 and Jinja2 3.1.6:
  make_template_golden.py TEMPLATES_FOLDER            write the golden file
  make_template_golden.py TEMPLATES_FOLDER --all OUT  every template of the folder, to a file outside the repository
"""

import copy
import datetime
import json
import pathlib
import sys

from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import _compile_jinja_template

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests/text/data/templates/golden.json"
NOW = datetime.datetime(2025, 3, 7, 9, 5, 3)

MAIN = [
    "meta-llama-Llama-3.2-3B-Instruct",
    "meta-llama-Llama-3.3-70B-Instruct",
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen-Qwen3-0.6B",
    "Qwen3-Coder",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "google-gemma-2-2b-it",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
    "microsoft-Phi-3.5-mini-instruct",
]


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(*NOW.timetuple()[:6])


chat_template_utils.datetime = FixedDate if not hasattr(chat_template_utils.datetime, "datetime") else None
assert chat_template_utils.datetime is FixedDate

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Says what the weather is like. Don't <guess>!",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where, e.g. Zürich"},
                "days": {"type": "integer", "default": 1, "minimum": 0, "maximum": 1.5},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["city"],
        },
    },
}


def call(arguments, with_id=True):
    c = {"type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    if with_id:
        c["id"] = "abcdefgh1"
    return c


SYSTEM = {"role": "system", "content": "You are terse."}
HI = {"role": "user", "content": "Hello <|im_end|> & 'you'"}
CONVERSATIONS = {
    "plain": {"messages": [HI], "add_generation_prompt": True},
    "no prompt": {"messages": [HI], "add_generation_prompt": False},
    "system": {"messages": [SYSTEM, HI], "add_generation_prompt": True},
    "multi-turn": {
        "messages": [
            SYSTEM,
            HI,
            {"role": "assistant", "content": "  Hi.\n"},
            {"role": "user", "content": "ünïcödé 🦙 中文\u2028\n\n  x "},
            {"role": "assistant", "content": "<think>\nhm\n</think>\n\nyes"},
            {"role": "user", "content": ""},
        ],
        "add_generation_prompt": True,
    },
    "ends with assistant": {
        "messages": [HI, {"role": "assistant", "content": "Well"}],
        "add_generation_prompt": False,
    },
    "no thinking": {"messages": [SYSTEM, HI], "add_generation_prompt": True, "enable_thinking": False},
    "thinking": {"messages": [HI], "add_generation_prompt": True, "enable_thinking": True},
    "reasoning": {
        "messages": [
            HI,
            {"role": "assistant", "content": "4", "reasoning_content": "2+2\n"},
            {"role": "user", "content": "and then?"},
            {"role": "assistant", "content": "5", "reasoning_content": "+1"},
        ],
        "add_generation_prompt": False,
    },
    "parts": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
        "add_generation_prompt": True,
    },
    "tools": {"messages": [SYSTEM, HI], "tools": [TOOL], "add_generation_prompt": True},
    "tools without system": {"messages": [HI], "tools": [TOOL, TOOL], "add_generation_prompt": True},
    "tool call": {
        "messages": [
            SYSTEM,
            HI,
            {"role": "assistant", "content": None, "tool_calls": [call({"city": "Zürich", "days": 2, "ok": True})]},
            {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": '{"temp": -3.5}'},
        ],
        "tools": [TOOL],
        "add_generation_prompt": True,
    },
    "tool calls": {
        "messages": [
            HI,
            {
                "role": "assistant",
                "content": "Let me see.",
                "reasoning_content": "two cities",
                "tool_calls": [
                    call({"city": "A\n\"B\"", "where": {"lat": 1e-7, "x": [1, None, 2.0]}}),
                    call({"city": "B"}),
                ],
            },
            {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "cold"},
            {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "warm"},
            {"role": "assistant", "content": "Cold and warm."},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [TOOL],
        "add_generation_prompt": True,
    },
    "arguments as text": {
        "messages": [
            HI,
            {"role": "assistant", "content": "", "tool_calls": [call('{"city": "A"}', False)]},
            {"role": "tool", "content": "cold"},
        ],
        "tools": [TOOL],
        "add_generation_prompt": True,
    },
    "documents": {
        "messages": [HI],
        "documents": [{"title": "T", "text": "body", "doc_id": 1}],
        "add_generation_prompt": True,
    },
    "developer": {
        "messages": [{"role": "developer", "content": "Be nice."}, HI],
        "add_generation_prompt": True,
        "reasoning_effort": "high",
        "date_string": "26 Jul 2024",
    },
}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def normalized(messages):
    """What transformers does to messages before a template sees them."""
    out = []
    for message in messages:
        message = {k: v for k, v in message.items() if v is not None}
        for key in ("reasoning_content", "thinking", "reasoning"):
            if message.get(key) is not None:
                value = message[key]
                message = {"thinking": message.get("thinking", value), **message}
                message["reasoning_content"] = value
                break
        out.append(message)
    return out


def render(source, variables):
    try:
        template = _compile_jinja_template(source)
        return {"text": template.render(**copy.deepcopy(variables))}
    except Exception as e:  # whatever Jinja2 or Python raise ends the rendering
        kind = type(e).__name__
        message = str(e)
        keep = kind == "TemplateError" or kind == "UndefinedError"
        return {"error": message if keep else "", "kind": kind}


def conversation(source, given):
    variables = {"tools": None, "documents": None, "add_generation_prompt": False, **SPECIAL, **given}
    sent = dict(variables)
    variables["messages"] = normalized(variables["messages"])
    result = render(source, variables)
    sent = {k: v for k, v in sent.items() if k not in SPECIAL and v is not None}
    return sent, result


def smollm2_template(folder):
    import gguf

    path = next(pathlib.Path(folder).rglob("*.gguf"))
    field = gguf.GGUFReader(path).fields["tokenizer.chat_template"]
    return bytes(field.parts[field.data[0]]).decode()


def templates(folder, names, inline=()):
    out = []
    for name in names:
        source = inline[name] if name in inline else (folder / (name + ".jinja")).read_bytes().decode()
        cases = []
        for title, given in CONVERSATIONS.items():
            variables, result = conversation(source, given)
            cases.append({"conversation": title, **result})
        entry = {"template": name, "cases": cases}
        if name in inline:
            entry["source"] = source
        out.append(entry)
    return out


def main():
    folder = pathlib.Path(sys.argv[1])
    golden = {
        "provenance": "scripts/make_template_golden.py, transformers 5.24, Jinja2 3.1.6",
        "now": NOW.isoformat(),
        "special": SPECIAL,
        "conversations": CONVERSATIONS,
    }
    if "--all" in sys.argv:
        golden["templates"] = templates(folder, sorted(p.stem for p in folder.glob("*.jinja")))
        pathlib.Path(sys.argv[sys.argv.index("--all") + 1]).write_text(json.dumps(golden, ensure_ascii=False))
        return
    inline = {"SmolLM2-135M-Instruct": smollm2_template("/tmp/smol")} if pathlib.Path("/tmp/smol").exists() else {}
    snippets = []
    # One a line, a newline inside it written as ⏎.
    for line in (OUT.parent / "snippets.txt").read_text().split("\n"):
        if not line.strip() or line.startswith("## "):
            continue
        source = line.replace("⏎", "\n")
        snippets.append({"source": source, **render(source, SNIPPET_VARIABLES)})
    golden["snippet_variables"] = SNIPPET_VARIABLES
    golden["snippets"] = snippets
    golden["templates"] = templates(folder, list(inline) + MAIN, inline)
    text = json.dumps(golden, ensure_ascii=False, indent=0)
    OUT.write_text(text + "\n")
    print(OUT, len(text), "bytes", len(snippets), "snippets")


SNIPPET_VARIABLES = {
    "l": [3, 1, 2],
    "w": ["b", "A", "c"],
    "d": {"b": 1, "a": [1, 2.5, None, True], "items": "x", "é": "ü"},
    "s": "Hello, Wörld! ",
    "e": "",
    "n": None,
    "i": 7,
    "f": 2.5,
    "t": True,
    "people": [
        {"name": "Bo", "age": 3, "pet": {"kind": "cat"}},
        {"name": "al", "age": 1},
        {"name": "Cy", "age": 3, "pet": {"kind": "dog"}},
    ],
    "html": "<a href='x'>\"&\"</a>",
    "big": 12345678901234567890,
    "passed": "P",
}

if __name__ == "__main__":
    main()
