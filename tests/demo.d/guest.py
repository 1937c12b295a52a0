# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a plan in one guest of tests/vm/run, with progress as it goes."""

import json
import pathlib
import queue
import subprocess
import threading
import time

import story

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A step that says nothing for so long is told to be alive: images take minutes when they are made for the first time.
QUIET_SEC = 30


class Progress:
    def __init__(self, began_unix):
        self.began = began_unix

    def __call__(self, text):
        print(f"[{time.time() - self.began:4.0f} s] {text}", flush=True)


class GuestFailed(Exception):
    """The guest or a step in it came to nothing; the text says why."""


def pump(stream, kind, lines):
    for line in stream:
        lines.put((kind, line.rstrip("\n")))
    lines.put((kind, None))


def stop(process):
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def next_line(lines, deadline, progress, doing):
    """The next of (kind, text); says every QUIET_SEC that `doing` still goes on."""
    while True:
        left = deadline - time.time()
        if left <= 0:
            raise GuestFailed(f"the time is over: {doing} took too long")
        try:
            return lines.get(timeout=min(QUIET_SEC, left))
        except queue.Empty:
            if time.time() < deadline:
                progress(f"... still {doing}")


def describe(row):
    result = row["result"]
    rate = f", reader {result['rate'] / 1e6:.1f} MB/s" if result.get("rate") else ""
    return f"{result['outcome']}, peak sock {(result['peak_sock'] or 0) / 2**20:.1f} MiB{rate}"


def take(text, progress, rows, labels):
    """One line of story-data's; returns what the guest does now."""
    message = json.loads(text)
    if "begin" in message:
        return "running " + labels(message["begin"])
    if "again" in message:
        progress(f"{labels(message['again'])}: peak sock {message['peak'] / 2**20:.1f} MiB, the senders made no burst; once more")
        return "running " + labels(message["again"])
    if "error" in message:
        raise GuestFailed(f"{labels(message['name'])}: {message['error']}")
    rows.append(message)
    progress(f"{labels(message['name'])}: {describe(message)}")
    return "waiting for the guest"


def run_plan(kernel, cgroup, steps, progress, deadline, labels):
    """Boots a guest and runs the steps; returns story-data's rows. `labels` maps a step's name to words for a person."""
    words = ["tests/vm/run", "--kernel", kernel, "--cgroup", cgroup, "--", "tests/guest/story-data", json.dumps(steps), str(story.BURST_PEAK)]
    doing = f"preparing a guest with cgroup {cgroup} ({kernel} kernel)"
    progress(doing)
    process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, rows, open_streams = queue.Queue(), [], 2
    for stream, kind in ((process.stdout, "out"), (process.stderr, "err")):
        threading.Thread(target=pump, args=(stream, kind, lines), daemon=True).start()
    try:
        while open_streams:
            kind, text = next_line(lines, deadline, progress, doing)
            if text is None:
                open_streams -= 1
            elif kind == "out":
                doing = take(text, progress, rows, labels)
            else:
                progress(text)
        if process.wait() != 0 or len(rows) != len(steps):
            raise GuestFailed(f"the guest ended with {process.returncode} after {len(rows)} of {len(steps)} runs")
    finally:
        if process.poll() is None:
            stop(process)
    return rows
