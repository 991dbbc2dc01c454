#!/usr/bin/env python3
"""Writes src/text/unicode_classes.cpp, the general category of every code point. Usage: generate_unicode_classes.py OUTPUT.cpp

From the package `unicodedata2` with Unicode 16 (src/text/unicode_classes.h says why). White space that is a control character (U+0009-000D, U+0085) has a category of its own, so that one look-up tells all.
"""

import sys

import unicodedata2 as ud

import unicode_tables

# In the order of enum Category.
CATEGORIES = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co space".split()


def category(code):
    return "space" if code in (9, 10, 11, 12, 13, 0x85) else ud.category(chr(code))


def main():
    unicode_tables.require(ud, "16.0.0")
    tables = unicode_tables.two_stages("Category", lambda code: CATEGORIES.index(category(code)))
    unicode_tables.write(sys.argv[1], "generate_unicode_classes.py", ud.unidata_version, "unicode_classes.h", tables)


if __name__ == "__main__":
    main()
