# SPDX-License-Identifier: Apache-2.0
"""tests/demo, once what it needs is installed: runs the story in guests, prints the table, draws the picture."""

import argparse
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402
import picture  # noqa: E402
import story  # noqa: E402

# From nothing; a repetition takes about one minute on a quiet machine.
TIME_LIMIT_SEC = 25 * 60
REPETITION_SEC = 3 * 60
# Once, and all of them count: a bare guest's own rates differ by 5 %, so three leave the median to chance.
REPETITIONS_OF_RATES = 5


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--repeat", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--began", type=float, required=True)
    return parser.parse_args()


def label_of(step):
    name, number = step.rsplit("-", 1)
    label = next(run.label for run in story.RUNS if run.name == name)
    return label if number == "1" else f"{label} (again, {number})"


def warn_if_busy(progress):
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.75 * cpus:
        progress(f"note: this machine is busy (load {load:.1f} on {cpus} processors): emulated guests may be too slow for the rates")


def measure(options, progress):
    connections = story.CONNECTIONS[options.kernel]
    deadline = options.began + TIME_LIMIT_SEC + (options.repeat - 1) * REPETITION_SEC

    def in_guest(kernel, cgroup, first, count, names=None):
        steps = story.plan(cgroup, connections, first, count, names)
        return guest.run_plan(kernel, cgroup, steps, progress, deadline, label_of)

    rows = in_guest("bookworm", "v1", 1, options.repeat)
    rows += in_guest(options.kernel, "v2", 1, options.repeat)
    again = REPETITIONS_OF_RATES - options.repeat
    if again > 0 and story.only_rates_miss(story.figures_of(rows)):
        progress(f"a rate is just out of its bound, and one run decides nothing: {again} more of those")
        rows += in_guest(options.kernel, "v2", options.repeat + 1, again, ("free", "runc", "crun"))
    return rows


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * w for w in widths))


def conclude(options, rows):
    figures = story.figures_of(rows)
    found = story.reasons(figures)
    text = story.table(figures)
    record = {"kernel": options.kernel, "connections": story.CONNECTIONS[options.kernel], "limit": story.LIMIT}
    record.update(holds=not found, reasons=found, table=text, runs=rows, seconds=round(time.time() - options.began))
    (options.out / "demo.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    print()
    print_table(text)
    print()
    return found


def main():
    # As Ctrl-C does: the guest is taken down on the way out.
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(128 + signal.SIGTERM))
    options = parse_arguments()
    progress = guest.Progress(options.began)
    warn_if_busy(progress)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        rows = measure(options, progress)
        found = conclude(options, rows)
        picture.draw(rows, options.kernel, options.out)
    except (guest.GuestFailed, picture.DrawingFailed, OSError) as problem:
        progress(f"failed: {problem}")
        return 125
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    print(f"{options.out}/demo.svg, {options.out}/demo.png: the curves; {options.out}/demo.json: all figures")
    for reason in found:
        print(f"does not hold: {reason}")
    if not found:
        print("holds: v2 alone is OOM-killed; with sockmem the same container runs within its limit, at the same rate")
    progress("done")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
