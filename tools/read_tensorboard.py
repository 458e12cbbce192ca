#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the scalars of TensorBoard event files as lines `tag<TAB>step<TAB>value`.

    python3 tools/read_tensorboard.py runs/NAME            # all event files of a folder, in order
    python3 tools/read_tensorboard.py events.out.tfevents.1700000000.host.1

A reader of its own, in the standard library alone: it walks the protobuf wire format and verifies both
checksums of every record. A damaged file is an error (exit code 1) that names the byte; a record that is cut
off at the end of a file, as it may be while a run goes on, is left out with a message.
"""
import os
import struct
import sys

POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), bits reversed


class Damaged(Exception):
    pass


def make_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


TABLE = make_table()


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def records(data):
    """The payload of every record: length, its checksum, payload, its checksum."""
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            sys.stderr.write("byte %d: the last record is cut off\n" % at)
            return
        length, length_crc = struct.unpack_from("<QI", data, at)
        if masked_crc32c(data[at:at + 8]) != length_crc:
            raise Damaged("byte %d: the checksum of the length is wrong" % at)
        end = at + 12 + length
        if end + 4 > len(data):
            sys.stderr.write("byte %d: the last record is cut off\n" % at)
            return
        payload = data[at + 12:end]
        if masked_crc32c(payload) != struct.unpack_from("<I", data, end)[0]:
            raise Damaged("byte %d: the checksum of the payload is wrong" % at)
        yield payload
        at = end + 4


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged("a number that does not end")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a protobuf message; the value is an int, or bytes for all other wire types."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            if kind == 2:
                size, at = varint(data, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise Damaged("wire type %d" % kind)
            value, at = data[at:at + size], at + size
            if at > len(data):
                raise Damaged("a field longer than its message")
        yield key >> 3, value


def scalars(event):
    """(tag, step, value) of the simple values of an Event's summary."""
    step, summaries = 0, []
    for number, value in fields(event):
        if number == 2:
            step = value - (1 << 64) if value >> 63 else value
        elif number == 5:
            summaries.append(value)
    for summary in summaries:
        for number, entry in fields(summary):
            parts = dict(fields(entry)) if number == 1 else {}
            if 1 in parts and 2 in parts:
                yield parts[1].decode("utf-8"), step, struct.unpack("<f", parts[2])[0]


def event_files(path):
    if not os.path.isdir(path):
        return [path]
    return sorted(os.path.join(path, name) for name in os.listdir(path)
                  if name.startswith("events.out.tfevents."))


def read_file(path):
    with open(path, "rb") as file:
        data = file.read()
    for place, event in enumerate(records(data)):
        version = dict(fields(event)).get(3)
        if place == 0 and version != b"brain.Event:2":
            raise Damaged("the first record has no file_version brain.Event:2")
        for tag, step, value in scalars(event):
            print("%s\t%d\t%r" % (tag, step, value))


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    for argument in sys.argv[1:]:
        files = event_files(argument)
        if not files:
            sys.stderr.write("%s: no event files\n" % argument)
            return 1
        for path in files:
            try:
                read_file(path)
            except (Damaged, OSError) as error:
                sys.stderr.write("%s: %s\n" % (path, error))
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
