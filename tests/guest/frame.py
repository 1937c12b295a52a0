# SPDX-License-Identifier: Apache-2.0
"""The frame of a suite whose parts each have a world of their own, under one runtime or another."""

import os
import platform
import time

import box
import world


def left_over(host):
    """What no part may leave behind, whatever it was about."""
    found = []
    if box.journals():
        found.append(f"journals {[path.name for path in box.journals()]}")
    if box.live():
        found.append(f"live records {box.live()}")
    if box.host_sysctls() != host:
        found.append(f"the host's sysctls: {box.host_sysctls()}")
    return found


def run_part(test, name, part, runtime, host):
    label = f"{name} ({runtime})" if runtime else name
    began = time.monotonic()
    with test.part(label):
        with world.World() as here:
            part(test, here, runtime)
        try:
            world.wait_for(lambda: not left_over(host), 5, "clean host")
        except RuntimeError:
            test.check(f"{label}: nothing is left behind", False, "; ".join(left_over(host)))
            box.stop_daemon()
    print(f"# {label}: {time.monotonic() - began:.1f} s", flush=True)


def begin(kind=""):
    """Says where this is, and forgets what an earlier run in this guest has left."""
    print(f"# {platform.release()}, {os.cpu_count()} processors{kind}", flush=True)
    for record in box.ENDED.glob("*"):
        record.unlink()
