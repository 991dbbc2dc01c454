"""Random chat templates for fuzz_templates.py: a grammar of statements and expressions that mostly fit their types.

Most arguments have the type that is wanted, so that renderings get somewhere; some have any type, so that complaints
are compared too. Numbers stay small where they say how much work there is: the reference has no limits.
"""

VARIABLES = {
    "messages": [
        {"role": "system", "content": "You are  <terse>.\n"},
        {"role": "user", "content": "Héllo 'you' & \"me\"\r\n\nline\ttwo 中文 🦙"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": [None, 2.5]}}}]},
        {"role": "tool", "content": [{"type": "text", "text": "x"}, {"type": "image"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}],
    "documents": None,
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "s": "Hello, Wörld! ",
    "t": "the quick-brown fox\njumps  over",
    "u": "ǆ ΑΣ straße İ ﬁ",
    "e": "",
    "digits": "42",
    "html": "<a href='x'>\"&\"</a> &amp; http://a.io",
    "i": 7,
    "z": 0,
    "m": -3,
    "f": 2.5,
    "g": -0.125,
    "yes": True,
    "no": False,
    "n": None,
    "l": [3, 1, 2],
    "w": ["b", "A", "c", "a"],
    "mixed": [1, "a", None, 2.5, [1], {"k": 1}],
    "nested": [[1, [2, 3]], [4], []],
    "d": {"b": 1, "a": [1, 2.5, None, True], "items": "x", "é": "ü", "B": 3},
    "empty": {},
    "people": [
        {"name": "Bo", "age": 3, "pet": {"kind": "cat"}},
        {"name": "al", "age": 1},
        {"name": "Cy", "age": 3, "pet": {"kind": "dog"}},
    ],
}

BY_TYPE = {
    "str": ["s", "t", "u", "e", "digits", "html", "bos_token"],
    "int": ["i", "z", "m"],
    "float": ["f", "g"],
    "bool": ["yes", "no", "add_generation_prompt"],
    "none": ["n", "documents"],
    "list": ["l", "w", "mixed", "nested", "people", "messages", "tools"],
    "dict": ["d", "empty", "people[0]", "messages[1]", "tools[0].function"],
}
TYPES = ["str", "str", "str", "int", "int", "float", "bool", "none", "list", "list", "dict", "undefined"]

PIECES = [
    "a",
    "b",
    " ",
    "  ",
    "\\n",
    "<",
    ">",
    "&",
    "'",
    '\\"',
    "é",
    "中",
    "🦙",
    "ß",
    "x",
    "A",
    "Z",
    "_",
    "0",
    "1",
    "9",
    ".",
    ",",
    "-",
    "%",
    "{",
    "}",
    "/",
    ":",
    "\\t",
    "\\r\\n",
    "\\u2028",
    "\\x7f",
    "ab",
    "aab",
    "Hello",
    "the quick brown fox",
    "http://x.org/a_(b)",
    "www.a.com",
    "a@b.org",
    "1.5",
    "-7",
    "0x1f",
    "\\N{BULLET}",
    "\\N{LATIN SMALL LETTER E WITH ACUTE}",
    "\\101",
    "\\q",
    "İ",
    "ΑΣ",
    "ǆ",
    "1e3",
    "#",
    "+",
    "=",
    "(",
    ")",
    "[",
    "]",
    "|",
    "~",
    "!",
]


def signatures(text):
    """A line "name: this, that" -> {"name": ["this", "that"]}."""
    pairs = (line.split(":", 1) for line in text.strip().split("\n"))
    return {name: [part.strip() for part in rest.split(",") if part.strip()] for name, rest in pairs}


# Methods: the types of their arguments; one with ? may be left out.
STRING_METHODS = signatures("""
strip: str?
lstrip: str?
rstrip: str?
split: sep?, small?
rsplit: sep?, small?
splitlines: bool?
startswith: str, small?, small?
endswith: str, small?, small?
replace: str, str, small?
find: str, small?, small?
rfind: str, small?, small?
index: str, small?
rindex: str, small?
count: str, small?, small?
join: strings
upper:
lower:
title:
capitalize:
swapcase:
casefold:
removeprefix: str
removesuffix: str
partition: sep
rpartition: sep
zfill: small
ljust: small, char?
rjust: small, char?
center: small, char?
expandtabs: small?
isdigit:
isalpha:
isalnum:
isspace:
isupper:
islower:
istitle:
isnumeric:
isdecimal:
isidentifier:
isascii:
isprintable:
""")
DICT_METHODS = signatures("""
get: key, any?
items:
keys:
values:
copy:
""")
LIST_METHODS = signatures("""
index: any, small?, small?
count: any
copy:
""")
# Filters: the type of the input, then names and types of the arguments; one without ! may be left out.
FILTERS = {name: (rest[0], [tuple(argument.split()) for argument in rest[1:]]) for name, rest in signatures("""
abs: number
attr: any, name! name
batch: list, linecount! small, fill_with any
capitalize: str
center: str, width small
default: any, default_value any, boolean bool
d: any, default_value any, boolean bool
dictsort: dict, case_sensitive bool, by by, reverse bool
escape: any
e: any
filesizeformat: number, binary bool
first: list
float: any, default any
forceescape: any
groupby: people, attribute! attribute, default any, case_sensitive bool
indent: str, width indent, first bool, blank bool
int: any, default any, base base
items: dict
join: list, d str, attribute attribute
last: list
length: any
count: any
list: list
lower: str
max: list, case_sensitive bool, attribute attribute
min: list, case_sensitive bool, attribute attribute
pprint: any
replace: str, old! str, new! str, count small
reverse: list
round: number, precision small, method method
safe: any
slice: list, slices! small, fill_with any
sort: list, reverse bool, case_sensitive bool, attribute attribute
string: any
striptags: str
sum: list, attribute attribute, start any
title: str
tojson: any, ensure_ascii bool, indent indent, separators separators, sort_keys bool
trim: str, chars str
truncate: str, length length, killwords bool, end end, leeway small
unique: list, case_sensitive bool, attribute attribute
upper: str
urlencode: any
urlize: str, trim_url_limit small, nofollow bool, target str, rel str, extra_schemes schemes
wordcount: str
wordwrap: str, width length, break_long_words bool, wrapstring str, break_on_hyphens bool
xmlattr: dict, autospace bool
""").items()}
TESTS = {
    **dict.fromkeys(
        (
            "boolean callable defined escaped even false filter float integer iterable lower mapping none number odd "
            "sequence string test true undefined upper"
        ).split(),
        [],
    ),
    **dict.fromkeys("eq equalto ge greaterthan gt in le lessthan lt ne sameas".split(), ["any"]),
    "divisibleby": ["small"],
}
LOOP = [
    "index",
    "index0",
    "revindex",
    "revindex0",
    "first",
    "last",
    "length",
    "depth",
    "depth0",
    "previtem",
    "nextitem",
    "cycle('a', 1)",
    "changed(x)",
    "nope",
]


class Generator:
    def __init__(self, random):
        self.r = random

    def one(self, choices):
        return self.r.choice(choices)

    def chance(self, share):
        return self.r.random() < share

    # --- a template ---

    def template(self):
        self.names = ["x", "y", "k", "v"]  # set somewhere, perhaps
        self.macros = []  # (name, parameters, mentions caller)
        self.loops = 0
        self.blocks = 0
        self.namespaces = []
        self.budget = self.one([6, 12, 25])
        return self.body(0, self.one([1, 1, 2, 3, 5]))

    def body(self, depth, count=None):
        return "".join(self.piece(depth) for _ in range(count or self.one([1, 1, 2, 3])))

    def text(self):
        return self.one(
            ["", "", "a", " ", "\n", "  \n", "\n  ", "x\n\n", " b ", "<|im|>", "}}", "%}", "{ ", "\t", "\r\n", "#}", "é\u00a0", "{{ '' }}"]
        )

    def piece(self, depth):
        roll = self.r.random()
        if roll < 0.25 or self.budget <= 0:
            return self.text()
        self.budget -= 1
        if roll < 0.62 or depth > 4:
            return self.out(self.expression(0))
        return self.text() + self.statement(depth + 1) + self.text()

    def tag(self, inside):
        return "{%" + self.one(["", "", "", "-", "+"]) + " " + inside + " " + self.one(["", "", "", "-", "+"]) + "%}"

    def out(self, inside):
        return self.one(["{{ %s }}", "{{ %s }}", "{{ %s }}", "{{- %s -}}", "{{%s}}", "{{ %s -}}", "{{\n%s\t}}"]).replace("%s", inside)

    def statement(self, depth):
        return self.one(
            [
                self.if_,
                self.if_,
                self.for_,
                self.for_,
                self.for_,
                self.set_,
                self.set_,
                self.set_block,
                self.macro,
                self.macro,
                self.call,
                self.filter,
                self.with_,
                self.namespace,
                self.namespace,
                self.generation,
                self.raw,
                self.comment,
                self.autoescape,
                self.block,
                self.loop_control,
                self.print_,
                self.recursive,
                self.scopes,
            ]
        )(depth)

    def if_(self, depth):
        out = self.tag("if " + self.condition()) + self.body(depth)
        if self.chance(0.3):
            out += self.tag("elif " + self.condition()) + self.body(depth)
        if self.chance(0.4):
            out += self.tag("else") + self.body(depth)
        return out + self.tag("endif")

    def condition(self):
        return self.one(
            [
                self.expression(1, "bool"),
                self.expression(1, "any"),
                self.expression(1, "any") + self.one([" is defined", " is none", " is string", ""]),
            ]
        )

    def for_(self, depth):
        target, items = self.one(
            [("x", "list"), ("x", "list"), ("x", "any"), ("k, v", "pairs"), ("x, y", "any"), ("(x, y)", "pairs"), ("k", "dict")]
        )
        head = f"for {target} in {self.parenthesised(items)}"
        if self.chance(0.2):
            head += " if " + self.one(["x", "x is defined", "loop.first", "x != 1", self.expression(1, "bool")])
        self.loops += 1
        body = self.body(depth)
        if self.chance(0.5):
            body += self.out("loop." + self.one(LOOP)) + self.out(target.split(",")[0].strip("("))
        if self.chance(0.1):
            body += self.tag("set x = x ~ 1") + self.out("x")
        self.loops -= 1
        out = self.tag(head) + body
        if self.chance(0.2):
            out += self.tag("else") + self.body(depth, 1)
        return out + self.tag("endfor")

    def parenthesised(self, kind):
        e = self.expression(1, kind)
        return f"({e})" if " if " in e else e

    def recursive(self, depth):
        inner = self.one(
            [
                "{{ loop(x) }}",
                "[{{ loop(x) }}]@{{ loop.depth }}",
                "{{ loop(x)|upper }}",
                "{{ loop(x)|length }}",
                "{% set o %}{{ loop(x) }}{% endset %}({{ o }})",
            ]
        )
        return (
            self.tag(f"for x in {self.one(['nested', 'nested', 'l', '[1, [2, [3]], []]', 'people'])} recursive")
            + self.tag("if x is iterable and x is not string and x is not mapping")
            + inner
            + self.tag("else")
            + "{{ x }}"
            + self.one(["", "{{ loop.index }}", ","])
            + self.body(depth, 1)
            + self.tag("endif")
            + self.tag("endfor")
        )

    def set_(self, depth):
        if self.chance(0.15):
            return self.tag(f"set x, y = {self.expression(1)}, {self.expression(1)}") + self.out("x") + self.out("y")
        name = self.one(["x", "y", "q", "l", "loopy"])
        self.names.append(name)
        return self.tag(f"set {name} = {self.expression(0)}") + self.out(name)

    def set_block(self, depth):
        name = self.one(["x", "y", "q"])
        filters = "".join("|" + self.filter_call("str", 1) for _ in range(self.one([0, 0, 1])))
        self.names.append(name)
        return self.tag(f"set {name}" + (" " + filters if filters else "")) + self.body(depth) + self.tag("endset") + f"[{self.out(name)}]"

    def macro(self, depth):
        name = self.one(["mac", "help", "outer"])
        parameters = self.one([[], ["a"], ["a", "b=2"], ["a=x", "b=a"], ["a", "b=[]", "c='c'"], ["x"]])
        saved, self.loops = self.loops, 0
        body = self.body(depth) + "".join(self.out(p.split("=")[0]) for p in parameters if self.chance(0.7))
        extra = self.one(["", "", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ caller(1) if caller }}"])
        self.loops = saved
        if self.chance(0.1) and parameters:
            body += "{% if a is number and a > 0 %}" + f"<{{{{ {name}(a - 1) }}}}>" + "{% endif %}"
        self.macros.append((name, parameters, "caller" in extra))
        return self.tag(f"macro {name}({', '.join(parameters)})") + body + extra + self.tag("endmacro") + self.out(self.macro_call())

    def macro_call(self):
        name, parameters, _ = self.one(self.macros) if self.macros else ("mac", [], False)
        arguments = [self.expression(2) for _ in range(self.one([len(parameters), len(parameters), 0, 1, 2]))]
        named = [p.split("=")[0] + "=" + self.expression(2) for p in parameters[len(arguments) :] if self.chance(0.3)]
        if self.chance(0.05):
            named.append("zz=1")
        return f"{name}({', '.join(arguments + named)})"

    def call(self, depth):
        head = self.one(["call ", "call ", "call(a) ", "call(a, b=3) "]) + self.macro_call()
        return (
            (
                self.tag("macro mac(a, b=2)") + "<{{ caller() if a is not number else caller(a) }}>{{ b }}" + self.tag("endmacro")
                if self.chance(0.5)
                else ""
            )
            + self.tag(head)
            + self.body(depth)
            + self.one(["", "{{ a }}", "{{ x }}"])
            + self.tag("endcall")
        )

    def filter(self, depth):
        return (
            self.tag("filter " + self.filter_call("str", 1) + ("|" + self.filter_call("str", 1) if self.chance(0.3) else ""))
            + self.body(depth)
            + self.tag("endfilter")
        )

    def with_(self, depth):
        return (
            self.tag("with " + self.one(["", f"x = {self.expression(1)}", f"x = {self.expression(1)}, y = x", "y = 1"]))
            + self.body(depth)
            + "{{ x }}"
            + self.tag("endwith")
            + self.out("x")
        )

    def namespace(self, depth):
        init = self.one(["", "a=1", "a='', b=[]", "d", "{'a': 2}", "a=l, b=none", "{'a': 1}, b=2"])
        write = f"{self.tag('set ns.a = ' + self.one(['ns.a ~ x', 'ns.a + 1', 'x', 'ns.a + [x]', self.expression(1)]))}"
        loop = self.tag(f"for x in {self.parenthesised('list')}") + write + self.tag("endfor") if self.chance(0.6) else write
        return (
            self.tag(f"set ns = namespace({init})")
            + loop
            + self.out(self.one(["ns.a", "ns", "ns.b", "ns['a']", "ns.a|string", "ns is mapping", "ns == ns"]))
        )

    def generation(self, depth):
        return self.tag("generation") + self.body(depth) + self.tag("endgeneration")

    def raw(self, depth):
        return self.tag("raw") + self.one(["{{ x }}", "\n {% if %} ", "{# c #}", " a "]) + self.tag("endraw")

    def comment(self, depth):
        return "{#" + self.one(["", "-", "+"]) + self.one([" c ", "", " {{ x }} ", "\n"]) + self.one(["", "-", "+"]) + "#}"

    def autoescape(self, depth):
        return (
            self.tag("autoescape " + self.one(["true", "true", "false"]))
            + self.body(depth)
            + "{{ html }}{{ html|safe }}"
            + self.tag("endautoescape")
        )

    def block(self, depth):
        self.blocks += 1
        name = f"blk{self.blocks}"
        return (
            self.tag(f"block {name}" + self.one(["", "", " scoped"]))
            + self.body(depth)
            + "{{ x }}"
            + self.tag("endblock" + self.one(["", f" {name}"]))
            + (self.out(f"self.{name}()") if self.chance(0.3) else "")
        )

    def loop_control(self, depth):
        if self.loops == 0 and self.chance(0.9):
            return self.text()
        return (
            self.tag("if " + self.one(["loop.index > 1", "x", "loop.last", self.condition()]))
            + self.tag(self.one(["break", "continue"]))
            + self.tag("endif")
        )

    def print_(self, depth):
        return self.tag("print " + ", ".join(self.expression(1) for _ in range(self.one([1, 1, 2]))))

    def scopes(self, depth):
        """Who sees which value of a name, and when."""
        return self.one(
            [
                "{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}",
                "{% if yes %}{% set x = 2 %}{% endif %}{{ x }}",
                "{% macro mac() %}{{ x }}{{ s }}{% endmacro %}{{ mac() }}{% set x = 3 %}{{ mac() }}{% set s = 4 %}{{ mac() }}",
                "{% for x in l %}{% macro mac() %}{{ x }}{% endmacro %}{{ mac() }}{% endfor %}{{ mac is defined }}",
                "{% set outer = loop %}{{ outer }}{% for x in w %}{% set outer = loop %}{% for y in l %}{{ outer.index }}{{ loop.index }}{% endfor %}{% endfor %}",
                "{% with %}{% set s = 1 %}{{ s }}{% endwith %}{{ s }}",
                "{% set q %}{% set x = 9 %}{{ x }}{% endset %}{{ q }}{{ x }}",
                "{% for x in l %}{% if loop.first %}{% set seen = x %}{% endif %}{{ seen }}{% else %}{{ seen }}{% endfor %}{{ seen }}",
                "{% for i in [1] %}{{ s }}{% endfor %}{% set s = 2 %}{{ s }}",
                "{% if no %}{% set s = 1 %}{% else %}{{ s }}{% endif %}{% for i in [1] %}{{ s }}{% endfor %}",
                "{% macro mac(x=s) %}{% set s = 5 %}{{ x }}{{ s }}{% endmacro %}{{ mac() }}{% set s = 6 %}{{ mac() }}",
                "{% call(y) mac(1) %}{{ y }}{{ x }}{% endcall %}",
                "{% for x in l %}{% set loop_ = loop %}{% endfor %}{{ loop_ is defined }}{{ loop is defined }}",
            ]
        )

    # --- expressions ---

    def expression(self, depth, kind="any"):
        if kind == "any" or self.chance(0.06):
            kind = self.one(TYPES)
        if depth >= 4:
            return self.atom(kind)
        roll = self.r.random()
        if roll < 0.3:
            return self.atom(kind)
        make = getattr(self, "make_" + kind, None)
        if make is not None and roll < 0.85:
            return make(depth + 1)
        if roll < 0.89:
            return f"({self.expression(depth + 1, kind)} if {self.expression(depth + 1, 'bool')} else {self.expression(depth + 1, kind)})"
        if roll < 0.91:
            return f"{self.expression(depth + 1, kind)} if {self.expression(depth + 1, 'bool')}" if depth == 0 else self.atom(kind)
        if roll < 0.94:
            return f"({self.expression(depth + 1)} {self.one(['or', 'and'])} {self.expression(depth + 1)})"
        if roll < 0.96:
            return f"({self.expression(depth + 1, kind)})"
        if roll < 0.98 and self.macros:
            return self.macro_call()
        return self.atom(kind)

    def atom(self, kind):
        if self.chance(0.06):
            return self.one(self.names + ["nope", "loop", "ns", "d.nope", "none"])
        if kind in BY_TYPE and self.chance(0.55):
            return self.one(BY_TYPE[kind])
        return {
            "str": self.string,
            "int": self.integer,
            "float": self.floating,
            "bool": lambda: self.one(["true", "false", "True", "False"]),
            "none": lambda: self.one(["none", "None"]),
            "undefined": lambda: self.one(["nope", "d.nope", "l[9]", "n.foo", "(1 if no)"]),
            "list": self.list_literal,
            "dict": self.dict_literal,
            "number": lambda: self.one([self.integer, self.floating])(),
            "small": self.small,
            "sep": lambda: self.one(["' '", "','", "'a'", "'\\n'", "'--'", "none", "''"]),
            "char": lambda: self.one(["'*'", "'é'", "' '", "'ab'", "'0'"]),
            "key": lambda: self.one(["'a'", "'b'", "'items'", "1", "none", "'nope'", "(1, 2)"]),
            "strings": lambda: self.one(["w", "['a', 'b']", "'abc'", "[]", "d", "('x', 'y')", "[1, 'a']", "w|map('upper')", "l"]),
            "name": lambda: self.one(["'upper'", "'items'", "'nope'", "'real'", "'_x'", "'append'"]),
            "attribute": lambda: self.one(["'name'", "'age'", "'pet.kind'", "'nope'", "0", "'0'", "none", "'age,name'", "1", "'name.0'"]),
            "by": lambda: self.one(["'key'", "'value'", "'key'", "'other'"]),
            "method": lambda: self.one(["'common'", "'ceil'", "'floor'", "'up'"]),
            "indent": lambda: self.one(["0", "1", "2", "4", "'>'", "none", "-1", "'\\t'"]),
            "base": lambda: self.one(["10", "16", "8", "2", "0", "36", "1"]),
            "separators": lambda: self.one(["(',', ':')", "none", "(', ', ': ')", "[';', '=']", "('a',)"]),
            "length": lambda: self.one(["1", "3", "5", "8", "10", "20", "255", "0", "-1"]),
            "end": lambda: self.one(["'...'", "''", "'é'", "'…'", "'>>>>'"]),
            "schemes": lambda: self.one(["none", "['tel:']", "['ftp:', 'x:']", "['bad']"]),
            "people": lambda: self.one(["people", "people", "w", "messages", "l", "nested"]),
            "pairs": lambda: self.one(
                [
                    "d.items()",
                    "d|items",
                    "d|dictsort",
                    "[(1, 2), (3, 4)]",
                    "[[1, 2]]",
                    "people[0].items()",
                    "w|map('upper')|batch(2)",
                    "['ab']",
                    "people|groupby('age')",
                ]
            ),
        }[kind]()

    def string(self):
        if self.chance(0.1):
            return f"{self.quoted()} {self.quoted()}"
        return self.quoted()

    def quoted(self):
        quote = self.one(["'", '"'])
        text = "".join(self.one(PIECES) for _ in range(self.one([0, 1, 1, 2, 3, 5])))
        return quote + text.replace('\\"', '"').replace(quote, "\\" + quote) + quote

    def integer(self):
        return self.one(["0", "1", "2", "3", "-1", "10", "255", "1_000", "0x1F", "0b101", "7", "42", "12345678901234567890", "-7"])

    def small(self):
        return self.one(["0", "1", "2", "3", "4", "5", "8", "-1", "-2", "12", "none", "true", "i"])

    def floating(self):
        return self.one(["0.0", "1.5", "2.5", "-0.5", "1e3", "1e-7", "1e16", "2.675", "0.1", "1e22", "123456.789", "1e300", "-0.0", "3.0"])

    def list_literal(self):
        items = [self.expression(3) for _ in range(self.one([0, 1, 2, 3]))]
        return self.one(["[%s]", "[%s]", "(%s,)" if items else "(%s)"]) % ", ".join(items)

    def dict_literal(self):
        return (
            "{"
            + ", ".join(
                f"{self.one([self.quoted(), self.quoted(), '1', 'none', '(1, 2)', '1.0', 'true', 's'])}: {self.expression(3)}"
                for _ in range(self.one([0, 1, 2, 3]))
            )
            + "}"
        )

    def argument_list(self, types, depth):
        arguments = []
        for t in types:
            if t.endswith("?") and self.chance(0.6):
                break
            arguments.append(self.typed(t.rstrip("?"), depth))
        if self.chance(0.02):
            arguments.append(self.expression(3))
        return ", ".join(arguments)

    def typed(self, kind, depth):
        """A value of a kind, sometimes of another."""
        if self.chance(0.04):
            return self.expression(depth + 1)
        if kind in ("any", "str", "list", "dict", "bool") or (kind == "number" and self.chance(0.5)):
            return self.expression(depth + 1, "int" if kind == "number" else kind)
        return self.atom(kind)

    def filter_call(self, kind, depth):
        """Some filter that suits the type, with arguments."""
        if kind == "list" and self.chance(0.35):
            return self.chooser(depth)
        suited = [
            name
            for name, (wanted, _) in FILTERS.items()
            if wanted in (kind, "any") or (kind in ("int", "float") and wanted == "number") or (kind == "list" and wanted == "people")
        ]
        name = self.one(suited) if suited and self.chance(0.9) else self.one(list(FILTERS))
        arguments, by_name = [], False
        for parameter, t in FILTERS[name][1]:
            if not parameter.endswith("!") and self.chance(0.5):
                by_name = True
                continue
            value = self.typed(t, depth)
            if by_name and parameter.endswith("!") is False or self.chance(0.2):
                by_name = True
            arguments.append(f"{parameter.rstrip('!')}={value}" if by_name else value)
        if self.chance(0.01):
            arguments.append(self.one(["zz=1", "*l", "**d", "**{'width': 3}"]))
        return name + (f"({', '.join(arguments)})" if arguments or self.chance(0.1) else "")

    def chooser(self, depth):
        test = self.one(
            [
                "'odd'",
                "'string'",
                "'defined'",
                "'none'",
                "'mapping'",
                "'gt', 1",
                "'equalto', 3",
                "'in', [1, 2]",
                "'==', 1",
                "'lt', 3",
                "'nope'",
                "'number'",
                "'upper'",
            ]
        )
        return self.one(
            [
                "select",
                f"select({test})",
                f"reject({test})",
                "reject",
                f"selectattr('age', {test})",
                "selectattr('pet')",
                f"rejectattr('name', {test})",
                "selectattr('pet.kind')",
                "rejectattr('age')",
                "selectattr()",
                "map(attribute='name')",
                "map(attribute='pet.kind', default='?')",
                "map(attribute='age', default=none)",
                "map(attribute=0)",
                "map('nope')",
                "map()",
                "map('" + self.one(list(FILTERS)) + "')",
                "map('" + self.one(["upper", "string", "length", "default('x')".split("(")[0]]) + "')",
                "map('replace', 'a', 'b')",
                "map('join', '-')",
                "map('round', 1)",
                "map('indent', first=true)",
                "map('default', 3, true)",
                "map(attribute='nope', zz=1)",
            ]
        )

    def filtered(self, kind, depth):
        out = self.expression(depth, kind)
        if " if " in out or " or " in out or " and " in out or out.startswith("-"):
            out = f"({out})"
        for _ in range(self.one([1, 1, 1, 2])):
            call = self.filter_call(kind, depth)
            out += self.one(["|", " | "]) + call
            if kind == "list" and self.chance(0.5):
                out += self.one(["|list", "|list", "|join(',')", "|first", "|length"])
        return out

    def method(self, owner, table, depth):
        name = self.one(list(table))
        return f"{owner}.{name}({self.argument_list(table[name], depth)})"

    def wrapped(self, kind, depth):
        e = self.expression(depth, kind)
        return e if e.isidentifier() or e[0] in "'\"" and " " not in e else f"({e})"

    def make_str(self, depth):
        return self.one(
            [
                lambda: self.filtered("str", depth),
                lambda: self.filtered("str", depth),
                lambda: self.filtered("any", depth),
                lambda: self.method(self.wrapped("str", depth), STRING_METHODS, depth),
                lambda: self.method(self.wrapped("str", depth), STRING_METHODS, depth),
                lambda: f"{self.wrapped('str', depth)}{self.subscript()}",
                lambda: f"{self.wrapped('str', depth)} + {self.wrapped('str', depth)}",
                lambda: f"{self.wrapped('any', depth)} ~ {self.wrapped('any', depth)}",
                lambda: f"{self.wrapped('str', depth)} * {self.small()}",
                lambda: self.percent(depth),
                lambda: self.braces(depth),
                lambda: f"{self.wrapped('str', depth)}|safe {self.one(['+', '~', '*'])} {self.wrapped('any', depth)}",
                lambda: f"({self.wrapped('str', depth)}|{self.one(['safe', 'e'])}).{self.one(list(STRING_METHODS))}({self.one(['', self.atom('str'), self.small()])})",
            ]
        )()

    def subscript(self):
        bound = lambda: self.one(["", "", "1", "2", "-1", "-2", "0", "9", "none"])
        if self.chance(0.4):
            return "[" + self.one(["0", "-1", "1", "i", "9", "'a'", "none", "true", "1.0"]) + "]"
        return f"[{bound()}:{bound()}" + self.one(["", "", ":-1", ":2", ":", ":-2", ":0"]) + "]"

    def percent(self, depth):
        flags = "".join(self.one(["", "", "", "-", "0", "+", " ", "#"]) for _ in range(2))
        spec = (
            "%"
            + flags
            + self.one(["", "", "5", "10", "*"])
            + self.one(["", "", ".2", ".0", ".5", ".*", "."])
            + self.one(list("sssrdiuxXoeEfFgGca%") + ["q", "ls", ""])
        )
        text = self.one(["", "a", "<%s>", "%%"]) + spec + self.one(["", " b", "é"])
        if self.chance(0.15):
            return f"'%(a)s %({self.one(['b', 'é', 'q', 'items'])}){self.one(['s', 'd', 'r', '5s'])}' % d"
        return f"'{text}' % {self.one([self.wrapped('any', depth), '(' + self.expression(depth) + ',)', '(' + self.expression(depth) + ', ' + self.expression(depth) + ')', self.wrapped('int', depth), self.wrapped('float', depth)])}"

    def braces(self, depth):
        spec = self.one(
            [
                "",
                "",
                ":>8",
                ":<5",
                ":^7",
                ":*^9",
                ":05d",
                ":+d",
                ":,",
                ":_",
                ":x",
                ":#x",
                ":b",
                ":o",
                ":.2f",
                ":10.3f",
                ":e",
                ":g",
                ":%",
                ":.1%",
                ":.3",
                ":n",
                ":c",
                ":é>4",
                ":=+6d",
                ": d",
                ":08.2f",
                ":{0}",
                ":E",
                ":G",
                ":s",
                ":d",
                ":#o",
                ":X",
                ":z",
                ":0>5",
                ":<05",
                ":,.2f",
                ":_x",
                ":.0f",
                ":#.3g",
            ]
        )
        field = (
            self.one(["", "", "", "0", "1", "a", "b[a]", "b.b", "a[0]", "0[k]", "0.x", "q"])
            + self.one(["", "", "", "!r", "!s", "!a", "!q"])
            + spec
        )
        text = (
            self.one(["", "a", "{{}}", "{{", "}"]).replace("{{", "{{ '{{' }}" if False else "{{")
            + "{"
            + field
            + "}"
            + self.one(["", "", "{}", "é"])
        )
        arguments = ", ".join(
            [self.typed("any", depth) for _ in range(self.one([0, 1, 1, 2]))]
            + (["a=" + self.typed("any", depth)] if self.chance(0.4) else [])
            + (["b=d"] if self.chance(0.3) else [])
        )
        return f"'{text}'.format({arguments})"

    def make_int(self, depth):
        return self.one(
            [
                lambda: f"{self.wrapped('number', depth)} {self.one(['+', '-', '*', '//', '%', '/'])} {self.wrapped('number', depth)}",
                lambda: f"-{self.wrapped('number', depth)}",
                lambda: f"{self.wrapped('number', depth)} ** {self.one(['0', '1', '2', '3', '-1', '0.5'])}",
                lambda: f"{self.wrapped('list', depth)}|length",
                lambda: f"{self.wrapped('any', depth)}|int",
                lambda: self.filtered("int", depth),
                lambda: f"{self.wrapped('list', depth)}|{self.one(['sum', 'min', 'max', 'first', 'last'])}",
                lambda: f"{self.wrapped('list', depth)}{self.subscript()}",
                lambda: f"1 + {self.expression(depth, 'int')} * 2 - {self.expression(depth, 'int')}",
                lambda: f"2 ~ {self.expression(depth, 'int')} + 1",
            ]
        )()

    def make_float(self, depth):
        return self.one(
            [
                lambda: self.filtered("float", depth),
                lambda: self.make_int(depth),
                lambda: f"{self.wrapped('number', depth)} / {self.wrapped('number', depth)}",
                lambda: f"{self.wrapped('any', depth)}|float",
            ]
        )()

    make_number = make_float

    def make_bool(self, depth):
        return self.one(
            [
                lambda: f"{self.wrapped('any', depth)} {self.one(['==', '!=', 'is eq', 'is ne'])} {self.wrapped('any', depth)}",
                lambda: f"{self.wrapped('number', depth)} {self.one(['<', '<=', '>', '>='])} {self.wrapped('number', depth)}",
                lambda: f"{self.wrapped('any', depth)} {self.one(['<', '<=', '>', '>='])} {self.wrapped('any', depth)}",
                lambda: f"{self.wrapped('any', depth)} {self.one(['in', 'not in'])} {self.wrapped('list', depth)}",
                lambda: f"{self.wrapped('str', depth)} in {self.wrapped('str', depth)}",
                lambda: f"not {self.wrapped('any', depth)}",
                lambda: f"{self.wrapped('number', depth)} < {self.wrapped('number', depth)} <= {self.wrapped('number', depth)}",
                lambda: self.test(depth),
                lambda: self.test(depth),
                lambda: self.test(depth),
            ]
        )()

    def test(self, depth):
        name = self.one(list(TESTS))
        negated = self.one(["", "", "not "])
        arguments = [self.typed(t, depth) for t in TESTS[name]]
        if self.chance(0.02):
            arguments.append("1")
        call = (
            f"({', '.join(arguments)})"
            if arguments and self.chance(0.7)
            else " " + self.atom("any" if False else self.one(["str", "int", "list"])) if arguments else ""
        )
        subject = self.one([self.wrapped("any", depth), self.wrapped("number", depth), self.wrapped("str", depth), "'upper'", "'odd'"])
        return f"{subject} is {negated}{name}{call}"

    def make_list(self, depth):
        return self.one(
            [
                lambda: self.filtered("list", depth),
                lambda: self.filtered("list", depth),
                lambda: f"{self.wrapped('list', depth)} + {self.wrapped('list', depth)}",
                lambda: f"{self.wrapped('list', depth)}{self.subscript()}",
                lambda: f"{self.wrapped('list', depth)} * {self.small()}",
                lambda: f"range({', '.join(self.one(['0', '1', '3', '5', '-2', 'i', '10']) for _ in range(self.one([1, 1, 2, 3])))})"
                + self.one(["", "|list", "[1:]", "[::-1]", "|length", "[-1]"]),
                lambda: self.method(self.wrapped("list", depth), LIST_METHODS, depth),
                lambda: f"{self.wrapped('str', depth)}.split({self.one(['', self.atom('sep')])})",
                lambda: f"{self.wrapped('dict', depth)}|{self.one(['list', 'dictsort', 'items|list'])}",
                lambda: f"people|groupby('age')" + self.one(["", "|list", "|map('last')|list", "|first", "|length"]),
                lambda: f"{self.wrapped('dict', depth)}.{self.one(['items', 'keys', 'values'])}()"
                + self.one(["", "|list", "|first", "|length", "|sort", "|reverse|list"]),
                lambda: self.list_literal(),
            ]
        )()

    def make_dict(self, depth):
        return self.one(
            [
                self.dict_literal,
                lambda: self.method(self.wrapped("dict", depth), DICT_METHODS, depth),
                lambda: f"dict({self.one(['a=1', 'd', 'd, z=2', '[(1, 2)]', '**d', 'people[0].items()', ''])})",
                lambda: f"dict.fromkeys({self.one(['w', 'l', 'd'])}{self.one(['', ', 1', ', []'])})",
                lambda: f"{self.wrapped('dict', depth)}{self.one(['.a', '.b', '.items', '[0]', '.get', '.nope', '.a.b', '.pet.kind', '[1]'])}",
                lambda: self.filtered("dict", depth),
                lambda: self.one(["messages[0]", "messages[-1].content", "messages[2].tool_calls[0].function.arguments", "tools[0]"])
                + self.one(["", "|tojson", "|string", "|items|list", ".items()|list", "|pprint"]),
            ]
        )()
