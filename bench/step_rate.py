"""Pairs a second of a run: step_rate.py FOLDER BATCH STEPS TIME, the last written by time -f '%U %S'."""

import glob
import struct
import sys


def step_times(folder):
    """{step: seconds since 1970} of a run, by its TensorBoard events."""
    times = {}
    for path in sorted(glob.glob(folder + "/events.out.tfevents.*")):
        data = open(path, "rb").read()
        at = 0
        while at + 12 <= len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            event = data[at + 12 : at + 12 + size]
            at += 16 + size
            if not event or event[0] != 0x09 or len(event) < 11 or event[9] != 0x10:
                continue
            (wall,) = struct.unpack_from("<d", event, 1)
            step, shift, place = 0, 0, 10
            while True:
                step |= (event[place] & 0x7F) << shift
                shift += 7
                if event[place] < 0x80:
                    break
                place += 1
            times.setdefault(step, wall)
    return times


def main():
    folder, batch, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    times = step_times(folder)
    first, last = 3, max(times)
    rate = batch * (last - first) / (times[last] - times[first])
    cpu = sum(map(float, open(sys.argv[4]).read().split()))
    print(f"{folder}: {rate:.1f} pairs/s, {1000 * cpu / (batch * steps):.1f} processor seconds for 1,000 pairs", flush=True)


if __name__ == "__main__":
    main()
