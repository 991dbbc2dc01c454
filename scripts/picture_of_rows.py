#!/usr/bin/env python3
"""Draws docs/img/row-need.svg: which rows of three batches run in which layer of a model with shared caches.

    python3 scripts/picture_of_rows.py > docs/img/row-need.svg
"""
LAYERS, LAST_WRITER = 35, 14  # Gemma 4 E2B
CELL_W, CELL_H, LEFT, TOP, GAP = 11, 8, 64, 74, 64
FULL, WRITE, NONE = "#2f6f9f", "#9cc4de", "#eef1f4"

# A batch: runs of (name, rows, indices of the wanted ones).
BATCHES = [
    ("a prompt", [("A", 16, {15})]),
    ("two prompts and two answers", [("A", 9, {8}), ("B", 5, {4}), ("C", 1, {0}), ("D", 1, {0})]),
    ("the middle of a long prompt", [("A", 16, set())]),
]


def text(x, y, words, size=12, anchor="start", fill="#22303c", extra=""):
    return (f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" {extra}>{words}</text>')


def panel(x, title, runs):
    rows = sum(n for _, n, _ in runs)
    out = [text(x, TOP - 42, title, 13, extra='font-weight="600"')]
    column = 0
    for name, count, wanted in runs:
        left = x + column * CELL_W
        out.append(text(left + count * CELL_W / 2, TOP - 20, name, 11, "middle"))
        out.append(f'<path d="M{left + 1} {TOP - 14} H{left + count * CELL_W - 1}" stroke="#7b8a97" stroke-width="1.5"/>')
        for i in range(count):
            for layer in range(LAYERS):
                needed = layer < LAST_WRITER or i in wanted
                fill = FULL if needed else WRITE if layer == LAST_WRITER else NONE
                y = TOP + (LAYERS - 1 - layer) * CELL_H
                out.append(f'<rect x="{left + i * CELL_W + 1}" y="{y + 1}" width="{CELL_W - 2}" height="{CELL_H - 2}" '
                           f'fill="{fill}"/>')
            if i in wanted:
                out.append(text(left + (i + 0.5) * CELL_W, TOP - 3, "▾", 11, "middle", "#b3541e"))
        column += count
    return out, x + rows * CELL_W + GAP


def main():
    out, x = [], LEFT
    for title, runs in BATCHES:
        drawn, x = panel(x, title, runs)
        out += drawn
    bottom = TOP + LAYERS * CELL_H
    for layer in (0, LAST_WRITER, LAYERS - 1):
        y = TOP + (LAYERS - 1 - layer) * CELL_H + CELL_H - 1
        out.append(text(LEFT - 8, y, f"layer {layer}", 10, "end"))
    legend = [(FULL, "runs in full"), (WRITE, "keys and values only"), (NONE, "does not run")]
    at = LEFT
    for fill, words in legend:
        out.append(f'<rect x="{at}" y="{bottom + 16}" width="12" height="12" fill="{fill}" stroke="#c5ced6"/>')
        out.append(text(at + 18, bottom + 26, words, 11))
        at += 36 + 6.3 * len(words)
    out.append(text(at, bottom + 26, "▾ somebody reads this row's result", 11, fill="#b3541e"))
    width, height = x - GAP + 40, bottom + 44
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
          f'font-family="system-ui, sans-serif" role="img" aria-label="Rows of three batches by layer">')
    print(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    print("\n".join(out))
    print("</svg>")


if __name__ == "__main__":
    main()
