#!/usr/bin/env python3
"""Draws what a terminal shows as an SVG picture.

    tmux capture-pane -e -p -t SESSION | scripts/terminal_svg.py --title "ingle run" > docs/img/run.svg

Reads lines with ANSI colour sequences (SGR); other control sequences are dropped. Columns stay exact whatever font the
viewer has: each run of characters is given the width its columns take.
"""

import argparse
import re
import sys
import unicodedata
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

CELL_W, CELL_H, FONT = 8.4, 18, 14
MARGIN, BAR = 14, 34
BACKGROUND, FOREGROUND = "#1e2127", "#d7dae0"
# The sixteen colours: dark, then bright.
PALETTE = ["#1e2127", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
           "#5c6370", "#e88388", "#a8cf8c", "#edcf93", "#7dbef5", "#d291e4", "#70c6d0", "#ffffff"]
CONTROL = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x08\x0b-\x1f]")


@dataclass(frozen=True)
class Pen:
    fore: str | None = None
    back: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False


def cube(index):
    """A colour of the 256-colour table."""
    if index < 16:
        return PALETTE[index]
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    levels = [0, 95, 135, 175, 215, 255]
    index -= 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (index // 36, index // 6 % 6, index % 6))


def apply(pen, parameters):
    codes = [int(code or 0) for code in re.split("[;:]", parameters)]
    while codes:
        code = codes.pop(0)
        if code == 0:
            pen = Pen()
        elif code in (1, 2, 3, 4, 7):
            pen = replace(pen, **{{1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse"}[code]: True})
        elif code == 22:
            pen = replace(pen, bold=False, dim=False)
        elif code in (23, 24, 27):
            pen = replace(pen, **{{23: "italic", 24: "underline", 27: "inverse"}[code]: False})
        elif code in (38, 48):
            colour = None
            if codes[:1] == [5] and len(codes) >= 2:
                colour, codes = cube(codes[1] & 255), codes[2:]
            elif codes[:1] == [2] and len(codes) >= 4:
                colour, codes = "#" + "".join(f"{part & 255:02x}" for part in codes[1:4]), codes[4:]
            pen = replace(pen, **{"fore" if code == 38 else "back": colour})
        elif 30 <= code <= 37 or 90 <= code <= 97:
            pen = replace(pen, fore=PALETTE[code - 30 if code < 90 else code - 82])
        elif 40 <= code <= 47 or 100 <= code <= 107:
            pen = replace(pen, back=PALETTE[code - 40 if code < 100 else code - 92])
        elif code == 39:
            pen = replace(pen, fore=None)
        elif code == 49:
            pen = replace(pen, back=None)
    return pen


def columns(character):
    if unicodedata.combining(character) or character in "\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs(line, pen):
    """Cuts a line into (pen, text) runs; returns them and the pen that goes on to the next line."""
    found, at = [], 0
    for match in CONTROL.finditer(line):
        if match.start() > at:
            found.append((pen, line[at:match.start()]))
        if match.group(1) is not None:
            pen = apply(pen, match.group(1))
        at = match.end()
    if at < len(line):
        found.append((pen, line[at:]))
    return found, pen


def draw_run(pen, text, column, y):
    width = sum(map(columns, text)) * CELL_W
    x = MARGIN + column * CELL_W
    fore, back = pen.fore or FOREGROUND, pen.back
    if pen.inverse:
        fore, back = back or BACKGROUND, fore
    if back:
        yield f'<rect x="{x:.1f}" y="{y - 13.5:.1f}" width="{width:.1f}" height="{CELL_H}" fill="{back}"/>'
    style = f'fill="{fore}"'
    style += ' font-weight="bold"' if pen.bold else ""
    style += ' opacity="0.65"' if pen.dim else ""
    style += ' font-style="italic"' if pen.italic else ""
    style += ' text-decoration="underline"' if pen.underline else ""
    for match in re.finditer(r"\S+(?: \S+)*", text):  # wider gaps are positions, not characters that a viewer may fold
        start, width = (sum(map(columns, part)) * CELL_W for part in (text[:match.start()], match.group()))
        yield (f'<text x="{x + start:.1f}" y="{y:.1f}" textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs" {style}>'
               f"{escape(match.group())}</text>")


def picture(lines, title):
    body, pen, widest = [], Pen(), 40
    for number, line in enumerate(lines):
        found, pen = runs(line.expandtabs(), pen)
        column = 0
        for run_pen, text in found:
            body += draw_run(run_pen, text, column, BAR + MARGIN + 8 + number * CELL_H)
            column += sum(map(columns, text))
        widest = max(widest, column)
    width, height = 2 * MARGIN + widest * CELL_W, BAR + MARGIN + len(lines) * CELL_H + MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
           f' role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">')
    yield f'<rect width="100%" height="100%" rx="9" fill="{BACKGROUND}"/>'
    for index, colour in enumerate(("#e06c75", "#e5c07b", "#98c379")):
        yield f'<circle cx="{20 + 20 * index}" cy="{BAR / 2 + 1:.0f}" r="6" fill="{colour}"/>'
    yield (f'<text x="{width / 2:.0f}" y="{BAR / 2 + 5:.0f}" text-anchor="middle" font-family="sans-serif" font-size="13"'
           f' fill="#8a919e">{escape(title)}</text>')
    yield (f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{FONT}">')
    yield from body
    yield "</g></svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", default="", help="shown in the window's bar")
    arguments = parser.parse_args()
    lines = sys.stdin.read().split("\n")
    while lines and not CONTROL.sub("", lines[-1]).strip():
        lines.pop()
    if not lines:
        sys.exit("terminal_svg.py: nothing on standard input")
    sys.stdout.write("\n".join(picture(lines, arguments.title)) + "\n")


if __name__ == "__main__":
    main()
