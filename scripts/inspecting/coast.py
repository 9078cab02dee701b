#!/usr/bin/env python3
"""Writes the lines of Sources/BothyInspector/Page/coast.js from a shapefile: the edges that only one country has.

    scripts/inspecting/coast.py naturalearth_lowres.shp

The file is Natural Earth's, 1:110 million, which is in the public domain; geopandas 0.14 on PyPI carries it.
"""

import collections
import pathlib
import re
import struct
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "Sources/BothyInspector/Page/coast.js"
# The page reads the lines by the same letters and steps.
LETTERS = re.search(r'^const LETTERS = "(.+)";$', PAGE.read_text(), re.M).group(1)
UNIT = float(re.search(r"^const STEP = (.+);$", PAGE.read_text(), re.M).group(1))


def rings(data):
    """The rings of all polygons, in steps of the unit."""
    at = 100
    while at < len(data):
        length = struct.unpack(">i", data[at + 4:at + 8])[0] * 2
        body = data[at + 8:at + 8 + length]
        parts, points = struct.unpack("<ii", body[36:44])
        starts = [*struct.unpack(f"<{parts}i", body[44:44 + 4 * parts]), points]
        flat = struct.unpack(f"<{2 * points}d", body[44 + 4 * parts:44 + 4 * parts + 16 * points])
        for first, last in zip(starts, starts[1:]):
            ring = [(round(flat[2 * n] / UNIT), round(flat[2 * n + 1] / UNIT)) for n in range(first, last)]
            yield [point for n, point in enumerate(ring) if n == 0 or point != ring[n - 1]]
        at += 8 + length


def lines(data):
    """The edges that one ring alone has, joined; those at the edges of the map are none of a coast."""
    found = list(rings(data))
    count = collections.Counter(frozenset(edge) for ring in found for edge in zip(ring, ring[1:]))
    edge_of_map = lambda one, other: all(abs(each[0]) * UNIT > 179.9 for each in (one, other)) or min(one[1], other[1]) * UNIT < -85.1
    for ring in found:
        line = []
        for one, other in zip(ring, ring[1:]):
            if count[frozenset((one, other))] == 1 and not edge_of_map(one, other):
                line = line or [one]
                line.append(other)
            elif line:
                yield line
                line = []
        if line:
            yield line


def letters(number):
    value, text = (-number * 2 - 1 if number < 0 else number * 2), ""
    while value > 31:
        text += LETTERS[value & 31 | 32]
        value >>= 5
    return text + LETTERS[value]


def encoded(line):
    before, text = (0, 0), ""
    for point in line:
        text += letters(point[0] - before[0]) + letters(point[1] - before[1])
        before = point
    return text


if __name__ == "__main__":
    data = pathlib.Path(sys.argv[1]).read_bytes()
    text = " ".join(encoded(line) for line in lines(data))
    PAGE.write_text(re.sub(r'^const LINES = ".*";$', f'const LINES = "{text}";', PAGE.read_text(), flags=re.M))
    print(f"{PAGE.name}: {PAGE.stat().st_size} bytes")
