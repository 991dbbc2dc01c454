#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cpp (what the normal forms need) from the unicodedata of Python 3.11. Usage: generate_unicode.py OUTPUT.cpp

Regular expressions take their categories from PCRE2, so only decomposition, combining classes and composition are here. Hangul syllables are arithmetic (Unicode 3.12) and left out.
"""

import sys
import unicodedata as ud

import unicode_tables
from unicode_tables import rows

HANGUL = range(0xAC00, 0xAC00 + 11172)


def canonical(code):
    """The one-level canonical decomposition, [] when there is none."""
    fields = ud.decomposition(chr(code)).split()
    return [int(f, 16) for f in fields] if fields and not fields[0].startswith("<") else []


def main():
    unicode_tables.require(ud, "14.0.0")  # src/text/unicode.h says why
    decompositions, compositions, compatible = [], [], []
    for code in range(unicode_tables.LAST):
        if code in HANGUL or 0xD800 <= code < 0xE000:
            continue
        if ud.normalize("NFKD", chr(code)) != ud.normalize("NFD", chr(code)):
            compatible.append((code, [ord(c) for c in ud.normalize("NFKD", chr(code))]))
        if not canonical(code):
            continue
        decompositions.append((code, [ord(c) for c in ud.normalize("NFD", chr(code))]))
        pair = canonical(code)
        # A pair composes unless the composite is excluded, in which case NFC takes it apart.
        if len(pair) == 2 and ud.normalize("NFC", chr(code)) == chr(code):
            compositions.append((pair[0], pair[1], code))
    compositions.sort()

    # NFC quick check: a character that NFC changes, or that may join the one before it.
    unsafe = {code for code, _ in decompositions if ud.normalize("NFC", chr(code)) != chr(code)}
    unsafe |= {second for _, second, _ in compositions}
    unsafe |= set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))

    properties = [(0, 0)]

    def property_of(code):
        value = (ud.combining(chr(code)), int(code in unsafe))
        if value not in properties:
            properties.append(value)
        return properties.index(value)

    pages = unicode_tables.two_stages("Nfc", property_of)
    assert len(properties) < 256

    pool = []

    def indexed(table):
        for code, sequence in table:
            yield code, len(pool), len(sequence)
            pool.extend(sequence)

    index, compatible_index = list(indexed(decompositions)), list(indexed(compatible))

    tables = [
        *pages,
        f"const NfcProperties kNfcProperties[{len(properties)}] = {{",
        rows([f"{{{c}, {'true' if u else 'false'}}}," for c, u in properties], 8),
        "};",
        f"static const Decomposition kDecompositionArray[{len(index)}] = {{",
        rows([f"{{0x{c:X}, {o}, {n}}}," for c, o, n in index], 6),
        "};",
        f"static const Decomposition kCompatibleArray[{len(compatible_index)}] = {{",
        rows([f"{{0x{c:X}, {o}, {n}}}," for c, o, n in compatible_index], 6),
        "};",
        f"const char32_t kDecomposed[{len(pool)}] = {{",
        rows([f"0x{c:X}," for c in pool], 14),
        "};",
        f"static const Composition kCompositionArray[{len(compositions)}] = {{",
        rows([f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}," for a, b, c in compositions], 5),
        "};",
    ]
    after = [
        "const std::span<const Decomposition> kDecompositions = kDecompositionArray;",
        "const std::span<const Decomposition> kCompatibleDecompositions = kCompatibleArray;",
        "const std::span<const Composition> kCompositions = kCompositionArray;",
    ]
    unicode_tables.write(sys.argv[1], "generate_unicode.py", ud.unidata_version, "unicode.h", tables, after)


if __name__ == "__main__":
    main()
