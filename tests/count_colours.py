#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how many pixels of a PNG have about each of the colours given, as one line of numbers.

    python3 tests/count_colours.py page.png 0072b2 d55e00

Reads 8-bit RGB and RGBA without interlacing, in the standard library alone.
"""
import collections
import struct
import sys
import zlib

TOLERANCE = 48  # of each channel: the edges of thin lines are mixed with what is below


def read_chunks(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit("not a PNG")
    at = 8
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def paeth(a, b, c):
    estimate = a + b - c
    return min((abs(estimate - a), 0, a), (abs(estimate - b), 1, b), (abs(estimate - c), 2, c))[2]


def unfilter(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = (0, left, above[i], (left + above[i]) // 2,
                 paeth(left, above[i], corner) if kind == 4 else 0)[kind]
        line[i] = (line[i] + guess) & 0xFF
    return line


def rows(path):
    packed, step, width = b"", 0, 0
    for kind, content in read_chunks(open(path, "rb").read()):
        if kind == b"IHDR":
            width, _, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", content)
            if depth != 8 or colour not in (2, 6) or interlace:
                sys.exit("expected 8-bit RGB or RGBA without interlacing")
            step = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += content
    data, size = zlib.decompress(packed), width * step
    line = bytearray(size)
    for at in range(0, len(data), size + 1):
        raw = bytearray(data[at + 1:at + 1 + size])
        line = raw if data[at] == 0 else unfilter(data[at], raw, line, step)
        yield line, step


def main():
    colours = [bytes.fromhex(text) for text in sys.argv[2:]]
    counts = [0] * len(colours)
    for line, step in rows(sys.argv[1]):
        pixels = collections.Counter(bytes(line[i:i + 3]) for i in range(0, len(line), step))
        for pixel, times in pixels.items():
            for place, colour in enumerate(colours):
                near = all(abs(a - b) <= TOLERANCE for a, b in zip(pixel, colour))
                counts[place] += times if near else 0
    print(*counts)


if __name__ == "__main__":
    main()
