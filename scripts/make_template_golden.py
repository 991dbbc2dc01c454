#!/usr/bin/env python3
"""Renders templates with transformers and Jinja2; writes tests/text/data/templates/golden.json (conversations, snippets of
the language) and rendered.jsonl (a line for each template: every conversation through it).

Run by hand with a Python that has transformers 5.24 and Jinja2 3.1.6:
  make_template_golden.py TEMPLATES_FOLDER
"""

import copy
import datetime
import json
import pathlib
import sys

from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import (
    _compile_jinja_template,
    _normalize_chat_messages,
    render_jinja_template,
)

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests/text/data/templates"
NOW = datetime.datetime(2025, 3, 7, 9, 5, 3)

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
    "two users": {"messages": [HI, {"role": "user", "content": "Still there?"}], "add_generation_prompt": True},
    "two users and a system": {
        "messages": [SYSTEM, HI, HI, {"role": "assistant", "content": "Yes"}, {"role": "assistant", "content": "?"}, HI],
        "add_generation_prompt": True,
    },
    "system in the middle": {
        "messages": [HI, {"role": "assistant", "content": "a"}, SYSTEM, HI],
        "add_generation_prompt": True,
    },
    "no content": {
        "messages": [HI, {"role": "assistant"}, {"role": "user", "content": None}],
        "add_generation_prompt": True,
    },
    "no role": {"messages": [HI, {"content": "who says that?"}], "add_generation_prompt": True},
    "result without a name": {
        "messages": [HI, {"role": "assistant", "tool_calls": [call({})]}, {"role": "tool", "content": {"temp": [1, 2]}}],
        "tools": [TOOL],
        "add_generation_prompt": True,
    },
    "bare tools": {
        "messages": [HI],
        "tools": [TOOL["function"], {"name": "now", "description": "The time."}],
        "add_generation_prompt": True,
    },
    "image": {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Look."}]},
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " what? "}]},
            {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x.png"}}, {"type": "audio"}]},
        ],
        "add_generation_prompt": True,
    },
    "agent": {
        "messages": [
            SYSTEM,
            HI,
            {"role": "assistant", "reasoning_content": "look", "content": "", "tool_calls": [call({"city": "A", "days": 0})]},
            {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": [{"type": "text", "text": "1°"}]},
            {"role": "assistant", "reasoning_content": "again", "content": "One more.", "tool_calls": [call({"tags": ["a"]})]},
            {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "<b>2</b>"},
            {"role": "assistant", "content": "Done.", "reasoning_content": "fine"},
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": "Because.", "reasoning_content": "hm"},
        ],
        "tools": [TOOL],
        "add_generation_prompt": False,
    },
    "thinking by other names": {
        "messages": [SYSTEM, HI, {"role": "assistant", "content": "4", "thinking": "2+2"}, HI],
        "add_generation_prompt": True,
        "thinking": True,
        "reasoning_effort": "medium",
        "thinking_mode": "thinking",
        "preserve_thinking": True,
        "keep_past_thinking": True,
        "clear_thinking": False,
    },
    "no thinking by other names": {
        "messages": [SYSTEM, HI, {"role": "assistant", "content": "4", "reasoning": "2+2"}, HI],
        "add_generation_prompt": True,
        "thinking": False,
        "reasoning_effort": "none",
        "thinking_mode": "chat",
        "preserve_thinking": False,
        "keep_past_thinking": False,
        "clear_thinking": True,
    },
    "developer": {
        "messages": [{"role": "developer", "content": "Be nice."}, HI],
        "add_generation_prompt": True,
        "reasoning_effort": "high",
        "date_string": "26 Jul 2024",
    },
}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def failure(e):
    """What is kept of an exception: the text only where ours has to say the same."""
    keep = type(e).__name__ in ("TemplateError", "UndefinedError")
    return {"error": str(e) if keep else "", "kind": type(e).__name__}


def snippet(source, variables):
    variables = copy.deepcopy(variables)
    try:
        if "endgeneration" in source:
            texts, spans = render_jinja_template(
                [[]], chat_template=source, return_assistant_tokens_mask=True, **variables
            )
            return {"text": texts[0], "generated": spans[0]}
        return {"text": _compile_jinja_template(source).render(**variables)}
    except Exception as e:  # whatever Jinja2 or Python raise ends the rendering
        return failure(e)


def conversation(source, given):
    """The text transformers makes of a conversation, and what it takes for the assistant's where a template says so."""
    given = copy.deepcopy(given)
    messages = _normalize_chat_messages(given.pop("messages"))
    marks = "endgeneration" in source
    try:
        texts, spans = render_jinja_template(
            [messages], chat_template=source, return_assistant_tokens_mask=marks, **{**SPECIAL, **given}
        )
    except Exception as e:
        return failure(e)
    return {"text": texts[0], **({"generated": spans[0]} if marks else {})}


def rendered(path):
    source = path.read_bytes().decode()
    cases, seen = {}, {}
    for title, given in CONVERSATIONS.items():
        result = conversation(source, given)
        key = json.dumps(result)
        cases[title] = {"as": seen[key]} if key in seen else result
        seen.setdefault(key, title)
    return {"template": path.stem, "cases": cases}


def main():
    templates = [FOLDER / "SmolLM2-135M-Instruct.jinja", *sorted(pathlib.Path(sys.argv[1]).glob("*.jinja"))]
    with (FOLDER / "rendered.jsonl").open("w") as out:
        for path in templates:
            out.write(json.dumps(rendered(path), ensure_ascii=False) + "\n")
    snippets = []
    # One a line, a newline inside it written as ⏎.
    for line in (FOLDER / "snippets.txt").read_text().split("\n"):
        if not line.strip() or line.startswith("## "):
            continue
        source = line.replace("⏎", "\n")
        snippets.append({"source": source, **snippet(source, SNIPPET_VARIABLES)})
    golden = {
        "provenance": "scripts/make_template_golden.py, transformers 5.24, Jinja2 3.1.6",
        "now": NOW.isoformat(),
        "special": SPECIAL,
        "conversations": CONVERSATIONS,
        "snippet_variables": SNIPPET_VARIABLES,
        "snippets": snippets,
    }
    (FOLDER / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=0) + "\n")
    print(len(templates), "templates,", len(CONVERSATIONS), "conversations,", len(snippets), "snippets;",
          *(f"{f.name} {f.stat().st_size} bytes" for f in sorted(FOLDER.glob("*.json*"))))


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
