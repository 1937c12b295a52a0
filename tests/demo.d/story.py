# SPDX-License-Identifier: Apache-2.0
"""What the demo runs, and what must come of it. Pure: no files, no processes."""

import statistics

MIB = 1 << 20
LIMIT = 32 * MIB
MEMORY_V1 = 120 * MIB  # the program's memory; v1 counts its sockets beside it
MEMORY_V2 = MEMORY_V1 + LIMIT  # what migration guides say: the sum
READER_RATE = 20e6
PEAK_BOUND = 1.10
RATE_BOUND = 0.98
# A bare guest reads at 19.1 to 20.0 MB/s; one that does not come near is too slow for the burst, too.
GUEST_RATE = 0.9
# Below it the senders were no faster than the reader, and the limit had nothing to hold. sockmem acts from 0.7 of the limit on.
BURST_PEAK = LIMIT // 2
# What a burst needs to fill 152 MiB: 7.x lets buffers grow more slowly (FACTS: 50 connections on 6.1 and 6.12).
CONNECTIONS = {"bookworm": 50, "trixie": 50, "backports": 200}


class Run:
    """One kind of run: what scenario is told, and what the table and the picture call it."""

    def __init__(self, name, label, limit, cgroup, args):
        self.name, self.label, self.limit, self.cgroup, self.args = name, label, limit, cgroup, args


RUNS = [
    # crun: Debian's runc (1.1) drops kernelTCP with a warning, on v1 too.
    Run("v1", "v1, its own limit", "32 MiB", "v1", ["--runtime", "crun", "--memory-max", MEMORY_V1, "--kernel-tcp", LIMIT]),
    Run("free", "v2, no memory limit", "none", "v2", ["--memory-max", 0]),
    Run("bare", "v2", "none", "v2", ["--memory-max", MEMORY_V2]),
    Run("runc", "v2, sockmem, runc", "32 MiB", "v2", ["--runtime", "runc", "--memory-max", MEMORY_V2, "--tcpmem", "32Mi"]),
    Run("crun", "v2, sockmem, crun", "32 MiB", "v2", ["--runtime", "crun", "--memory-max", MEMORY_V2, "--tcpmem", "32Mi"]),
]


def plan(cgroup, connections, first, count, names=None):
    """The steps of one guest, interleaved: each kind once, then each again; NAME-1 is the first of its kind."""
    return [
        {"name": f"{run.name}-{i}", "args": [str(a) for a in (*run.args, "--connections", connections)]}
        for i in range(first, first + count)
        for run in RUNS
        if run.cgroup == cgroup and (names is None or run.name in names)
    ]


def rows_of(rows, name):
    return [row for row in rows if row["name"].rsplit("-", 1)[0] == name]


class Figures:
    """All runs of one kind: the worst of the peaks and the outcomes, the median of the rates."""

    def __init__(self, run, rows):
        self.run = run
        results = [row["result"] for row in rows]
        self.outcomes = [r["outcome"] for r in results]
        peaks = [r["peak_sock"] or 0 for r in results]
        self.peak, self.least_peak = max(peaks), min(peaks)
        rates = [r["rate"] for r in results if r["rate"]]
        self.rate = statistics.median(rates) if rates else None
        self.oom_kills = sum(r["oom_kills"] for r in results)
        self.watch = results[-1]["watch"]
        self.reports = [r.get("sockmem") for r in results]

    @property
    def outcome(self):
        return next((o for o in self.outcomes if o != "runs"), "runs")


def figures_of(rows):
    return {run.name: Figures(run, rows_of(rows, run.name)) for run in RUNS}


def reasons(figures):
    """Why the demo does not show what it should; empty where it does."""
    found = []
    v1, bare, free = figures["v1"], figures["bare"], figures["free"]
    if free.outcome != "runs" or not free.rate:
        found.append(f"no rate to compare with: without a memory limit the container {free.outcome}")
    elif free.rate < GUEST_RATE * READER_RATE:
        found.append(f"the machine is too busy: a bare guest's reader has {free.rate / 1e6:.1f} of {READER_RATE / 1e6:.0f} MB/s")
    if v1.outcome != "runs" or not v1.watch.get("failcnt"):
        found.append(f"the reference proves nothing: under v1 the container {v1.outcome}, failcnt {v1.watch.get('failcnt')}")
    if set(bare.outcomes) != {"OOM-killed"}:
        found.append(f"the demo proves nothing: without sockmem the container {bare.outcome} on v2 instead of being OOM-killed")
    for name in ("runc", "crun"):
        found += reasons_of_sockmem(figures[name], free.rate)
    return found


def reasons_of_sockmem(one, bare_rate):
    found = []
    if one.outcome != "runs" or one.oom_kills:
        found.append(f"with sockmem under {one.run.name} the container {one.outcome}, {one.oom_kills} OOM kills")
    if one.outcome == "runs" and one.least_peak < BURST_PEAK:
        found.append(f"the demo proves nothing: under {one.run.name} there was no burst to hold, peak {one.least_peak / MIB:.1f} MiB")
    if not all(report and "error" not in report for report in one.reports):
        found.append(f"under {one.run.name} sockmem knows nothing of the container")
    if one.peak > PEAK_BOUND * LIMIT:
        found.append(f"under {one.run.name} the peak is {one.peak / LIMIT:.3f} of the limit, more than {PEAK_BOUND:.2f}")
    if rate_misses(one, bare_rate):
        share = (one.rate or 0) / bare_rate
        found.append(f"under {one.run.name} the reader has {share:.3f} of its rate on a bare guest, less than {RATE_BOUND}")
    return found


def rate_misses(one, bare_rate):
    return bool(bare_rate) and (one.rate or 0) < RATE_BOUND * bare_rate


def only_rates_miss(figures):
    """One run decides nothing about a rate (a bare guest's own differ by some percent), so these are measured again."""
    free = figures["free"].rate
    slow = [name for name in ("runc", "crun") if figures[name].outcome == "runs" and rate_misses(figures[name], free)]
    return bool(slow) and len(reasons(figures)) == len(slow)


def table(figures):
    """Rows of text, the first one the header."""
    bare_rate = figures["free"].rate
    rows = [["run", "outcome", "peak sock", "limit", "peak/32 MiB", "reader", "of bare", "OOM kills"]]
    for one in figures.values():
        rate = [f"{one.rate / 1e6:.1f} MB/s", f"{one.rate / bare_rate:.3f}" if bare_rate else "-"] if one.rate else ["-", "-"]
        peak = [f"{one.peak / MIB:.1f} MiB", one.run.limit, f"{one.peak / LIMIT:.2f}"]
        rows.append([one.run.label, one.outcome, *peak, *rate, str(one.oom_kills)])
    return rows
