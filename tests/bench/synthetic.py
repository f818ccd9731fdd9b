"""Synthetic devices: their counters, and the text that a kernel would print for them. The same in every run."""

import random

START = 1_795_000_000


class Devices:
    """Synthetic devices, one in `busy_one_in` of them busy. The lines of the others are formatted only once."""

    def __init__(self, devices, columns, busy_one_in):
        rng = random.Random(7)
        self.fields = columns - 3
        self.format = " %d" * self.fields + "\n"
        self.names = [" 259 %7d nvme%dn1" % (n, n) for n in range(devices)]
        self.counters = [[rng.randrange(10**4, 10**8) for _ in range(17)] for _ in range(devices)]
        self.busy = range(0, devices, busy_one_in)
        maxima = [9000, 700, 400000, 5000, 3000, 900, 200000, 4000, 0, 900, 9000, 20, 2, 9000, 30, 30, 90]
        self.steps = [[rng.randrange(limit + 1) for limit in maxima] for _ in range(997)]
        self.lines = [self.line(n) for n in range(devices)]
        self.step = 0

    def line(self, n):
        return self.names[n] + self.format % tuple(self.counters[n][: self.fields])

    def text(self):
        """Advances the busy devices and returns the text of /proc/diskstats."""
        for n in self.busy:
            self.step = (self.step + 1) % len(self.steps)
            values = [a + b for a, b in zip(self.counters[n], self.steps[self.step])]
            values[8] = self.step % 32
            self.counters[n] = values
            self.lines[n] = self.line(n)
        return "".join(self.lines)


def write_capture(path, devices, columns, busy_one_in, megabytes=None, samples=None):
    """Writes a capture of this size or number of samples."""
    source = Devices(devices, columns, busy_one_in)
    size = count = 0
    with open(path, "w") as out:
        while (size < megabytes * 1e6) if megabytes else (count < samples):
            size += out.write(f"TS {START + count}.{count % 1000:09} 2026-11-20 12:00:00\n" + source.text())
            count += 1
    return path
