# SPDX-License-Identifier: Apache-2.0
"""Hosts where what sockets hold is not counted, or not on cgroup v2: refused with the reason, shown as unknown, or held by v1."""

import json

import world
from box import HOOK_LOG, POLICY, TCPMEM, Box, ask, journals, live, run, start_daemon


def last_complaint():
    return HOOK_LOG.read_text(encoding="ascii").splitlines()[-1]


def refused(test, here, runtime, label, needle):
    before = here.sysctls()
    box = Box(here, runtime, f"refused-{runtime}", {TCPMEM: "32Mi"})
    status = box.start().wait(20)
    line = last_complaint()
    test.check(f"{runtime}: {label}: creation fails", status != 0, box.said)
    test.check(f"{runtime}: {label}: with the reason", needle in line and box.name in line, line)
    test.check(f"{runtime}: {label}: nothing is held or changed", not live() and not journals() and here.sysctls() == before, live())


def nosocket(test, here, runtime):
    """C20: sock is 0, whatever the sockets hold."""
    refused(test, here, runtime, "auto", "nosocket")
    observe = json.dumps({"tcpmem": {"limit": "32Mi", "mode": "observe"}})
    box = Box(here, runtime, f"unknown-{runtime}", {POLICY: observe}, "--rate", "1M", memory_max=None).up()
    peer = box.blast("--duration", "3s", "--stay", "30s", connections=10)
    world.wait_for(here.dialled.exists, 10, "connections")
    report = box.inspect()
    world.wait_for(lambda: box.inspect()["stat_reads"] > report["stat_reads"] + 1, 10, "looks")
    report = box.inspect()
    found = {key: report[key] for key in ("sock_bytes", "sock_peak_bytes")}
    test.check(f"{runtime}: what its sockets hold is unknown, not 0", found == {"sock_bytes": None, "sock_peak_bytes": None}, found)
    test.check(f"{runtime}: inspect says why", any("nosocket" in text for text in report["skipped"]), report["skipped"])
    for words in (("list",), ("inspect", box.name), ("events", box.name)):
        done = run("sockmem", *words)
        test.check(f"{runtime}: {words[0]} shows it as unknown", "unknown" in done.stdout or "not known" in done.stdout, done.stdout)
    peer.kill()
    box.stop()


def hybrid(test, here, runtime):
    """The memory controller is on v1, cgroup2 beside it: the hierarchy that has memory counts (tests/guest/v1 has the rest)."""
    box = Box(here, runtime, f"hybrid-{runtime}", {TCPMEM: "32Mi"}).up()
    report = box.inspect()
    found = (report["backend"], report["cgroup"])
    test.check(f"{runtime}: memory on v1: held by the kernel's own limit", found == ("v1", f"/sys/fs/cgroup/memory/skm/{box.name}"), found)
    box.stop()
    doctor = json.loads(run("sockmem", "doctor", "--json").stdout)
    test.check(f"{runtime}: doctor says the same", doctor["auto"]["backend"] == "v1" and doctor["memory_controller"] == "v1", doctor)


NOSOCKET = [("nosocket", nosocket, "crun")]
HYBRID = [("hybrid", hybrid, "runc")]
