# SPDX-License-Identifier: Apache-2.0
"""The enforcer while nothing changes, killed between any two of its writes, and beside a container that is in its way."""

import json
import os
import pathlib
import re
import signal
import sys
import time

import world
from box import POLICY, SOCKMEMD, TCPMEM, Box, ask, close_all, daemons, is_connection, is_locked, journal_of, journals, kinds
from box import live, pids_of, run, start_daemon, stop_daemon

STATE_FILES = ("/proc/sys/", "/sys/fs/cgroup/", "/run/sockmem/journal", "/run/sockmem/ended")
WRITERS = "write,pwrite64,writev,pwritev,rename,renameat,renameat2,unlink,unlinkat,ftruncate,fallocate"
LINE = re.compile(r"^(?:\d+ +)?(?P<when>\d+\.\d+) (?P<call>\w+)\((?P<rest>.*)$")


# -- a steady container costs no write --------------------------------------------------------------------------------


def trace(here, log):
    """strace of the enforcer and all that it starts, each line with its time; until it is killed."""
    words = ["strace", "-f", "-ttt", "-y", "-s", "128", "-o", log, "-e", f"trace={WRITERS},openat,setsockopt,sendto,sendmsg,sendmmsg"]
    for pid in daemons() + pids_of("sockmem-worker"):
        words += ["-p", str(pid)]
    tracer = here.start(*words)
    world.wait_for(lambda: all(traced(pid) for pid in daemons()), 10, "tracer")
    return tracer


def traced(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return re.search(r"^TracerPid:\s*[1-9]", status, re.M) is not None


NETLINK = re.compile(r"^(\d+<[^>]*>), \{msg_name=\{sa_family=AF_NETLINK")


def changes(line, netlink):
    """Whether a line of the trace is a change: of a cgroup file, a sysctl, the journal, a socket, or by netlink.

    netlink: libnl's own sockets, which it sets up for each dump."""
    call, rest = line["call"], line["rest"]
    if call == "setsockopt":
        return rest.split(",", 1)[0] not in netlink
    if call in WRITERS.split(","):
        return any(name in rest for name in STATE_FILES)
    if call == "openat":
        return any(name in rest for name in STATE_FILES) and ("O_WRONLY" in rest or "O_CREAT" in rest)
    # strace does not know the flags of every family by name: NLM_F_DUMP is 0x300
    return "nlmsg_flags" in rest and not re.search(r"nlmsg_flags=[A-Z_|]*(NLM_F_DUMP|0x300)\b", rest)


def read_trace(log):
    lines = (LINE.match(line) for line in pathlib.Path(log).read_text(encoding="utf-8", errors="replace").splitlines())
    return [line.groupdict() for line in lines if line]


def settle(box):
    """Until nothing was written for four seconds, as the program itself counts it; at most twenty."""
    written, since = None, time.monotonic()
    deadline = since + 20
    while time.monotonic() < min(deadline, since + 4):
        report = box.inspect()
        now = [report[key] for key in ("sysctl_writes", "squeezed_sockets", "decisions")]
        if now != written:
            written, since = now, time.monotonic()
        time.sleep(0.5)


def steady(test, here, runtime):
    """The same trace sees the writes at the beginning of a burst, and none in ten seconds once its sockets are as full as they may be:
    their reader has stopped reading."""
    if not daemons():
        start_daemon()
    box = Box(here, runtime, f"steady-{runtime}", {TCPMEM: "16Mi"}, "--rate", "10M", "--stop-reading", "4s:90s", memory_max=None).up()
    log = here.dir / "trace"
    tracer = trace(here, log)
    peer = box.blast("--duration", "50s")
    world.wait_for(here.dialled.exists, 10, "connections")
    world.wait_for(lambda: box.inspect()["squeezed_sockets"] > 0, 15, "squeezed sockets")
    settle(box)
    before, began = box.inspect(), time.time()
    time.sleep(10)
    ended_at, after = time.time(), box.inspect()
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    peer.kill()
    lines = read_trace(log)
    netlink = {found[1] for line in lines if (found := NETLINK.match(line["rest"]))}
    first = [line for line in lines if float(line["when"]) < began and changes(line, netlink)]
    seen = {line["call"] for line in first}
    test.check(f"{runtime}: the trace sees what the burst's beginning writes", "setsockopt" in seen and seen & {"write", "pwrite64"}, seen)
    steps = [before["decision"]["step"], after["decision"]["step"]]
    test.check(f"{runtime}: it is throttled before and after the ten seconds", "none" not in steps, steps)
    test.check(f"{runtime}: and looked at meanwhile", after["samples"] > before["samples"] + 20, after["samples"] - before["samples"])
    wrote = [f"{line['when']} {line['call']}({line['rest']}" for line in lines if began < float(line["when"]) < ended_at and changes(line, netlink)]
    told = [event["text"] for event in ask("events", box.name)][-6:]
    test.check(f"{runtime}: ten steady seconds change nothing", not wrote, f"{len(wrote)}: {wrote[:8]} {told}")
    box.stop()


# -- killed between any two writes ------------------------------------------------------------------------------------

NODE_FILE = pathlib.Path("/etc/sockmem/sockmem.json")
PARENT = world.CGROUP / "skm"
# A system call of the enforcer, and the how-manieth of its kind kills it before it is made: sysctls and memory files are written
# by pwrite64 and write, the journal by write, fsync and renameat.
KILL_POINTS = [("renameat", 1), ("renameat", 2), ("renameat", 3), ("renameat", 5), ("fsync", 1), ("fsync", 4), ("fsync", 7), ("pwrite64", 1)]
KILL_POINTS += [("pwrite64", 2), ("pwrite64", 3), ("pwrite64", 4), ("write", 3), ("write", 4), ("write", 5), ("write", 7), ("write", 9)]
EVERYTHING = {"tcpmem": "8Mi", "memory": {"low": "16Mi", "high": "120Mi", "propagate": True}}


def start_doomed(here, call, count):
    """An enforcer that strace kills before its count-th such call. It may not get as far as to listen."""
    words = ["strace", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={count}", SOCKMEMD, "--on-demand"]
    process = here.start(*words)
    world.wait_for(lambda: process.poll() is not None or run("sockmem", "list").returncode == 0, 20, "enforcer")
    return process


def state_of(here):
    """What outlives a container: the sysctls of its namespace, which has a name, and its ancestor's protection."""
    return here.sysctls() | {"low of its parent": (PARENT / "memory.low").read_text(encoding="ascii").strip()}


def memory_files(box):
    folder = PARENT / box.name
    return {name: (folder / name).read_text(encoding="ascii").strip() for name in ("memory.low", "memory.high")}


def burst_until_killed(box, doomed):
    """Up to six seconds of a burst. Returns the peer and whether the enforcer died of its own accord."""
    peer = box.blast("--duration", "4s", "--stay", "40s")
    deadline = time.monotonic() + 6
    while doomed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return peer, doomed.poll() is not None


def locked(box):
    sockets = box.sockets()
    try:
        return [one.fileno() for one in sockets if is_connection(one) and is_locked(one)]
    finally:
        close_all(sockets)


def check_adopted(test, label, box, before):
    """The next enforcer holds it with the first one's baselines; let go, all of it is as it was while it lives on."""
    test.check(f"{label}: it is held again", live() == [box.name] and "adopted" in kinds(box.name), f"{live()} {kinds(box.name)}")
    kept = {key: value["baseline"] for key, value in journal_of(box.name)["sysctls"].items() if value["baseline"]}
    test.check(f"{label}: with the first one's baselines", kept.items() <= before.items(), f"{kept} of {before}")
    released = run("sockmem", "release", box.name)
    test.check(f"{label}: it can be let go", released.returncode == 0, released.stderr)
    files = memory_files(box)
    test.check(f"{label}: its memory files are as its runtime set them", files == {"memory.low": "0", "memory.high": "max"}, files)
    test.check(f"{label}: none of its sockets is locked", not locked(box), locked(box))


def one_kill(test, here, runtime, call, count, ends_first):
    label = f"{runtime}, killed before {call} {count}"
    before = state_of(here)
    doomed = start_doomed(here, call, count)
    box = Box(here, runtime, f"{call}-{count}-{runtime}", {POLICY: json.dumps(EVERYTHING)}, "--rate", "10M").start()
    world.wait_for(lambda: box.ready.exists() or box.process.poll() is not None, 20, "container or its refusal")
    up, peer, died = box.ready.exists(), None, True
    if up:
        box.pid = int(box.pid_file.read_text(encoding="ascii"))
        peer, died = burst_until_killed(box, doomed)
    if not died:
        stop_daemon(signal.SIGKILL)
    if ends_first and up:
        box.stop(signal.SIGKILL)
    stop_daemon(signal.SIGKILL)  # the container's hook may have started another
    start_daemon()
    if up and not ends_first:
        check_adopted(test, label, box, before)
        box.stop(signal.SIGKILL)
    world.wait_for(lambda: not journals(), 10, "end of the journal")
    after = state_of(here)
    test.check(f"{label}: {'ended meanwhile, ' if ends_first else ''}everything is back", after == before, f"{before} -> {after}")
    if peer:
        peer.kill()
        peer.communicate()
    stop_daemon()
    return died and up


def killed_anywhere(test, here, runtime):
    stop_daemon()
    NODE_FILE.parent.mkdir(exist_ok=True)
    NODE_FILE.write_text(json.dumps({"allow": ["tcpmem", "memory", "throttle"]}), encoding="ascii")
    PARENT.mkdir(exist_ok=True)
    (world.CGROUP / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
    points = [point for i, point in enumerate(KILL_POINTS) if i % 2 == (runtime == "crun")]
    died = [one_kill(test, here, runtime, *point, ends_first=i % 2 == 1) for i, point in enumerate(points)]
    NODE_FILE.unlink()
    test.check(f"{runtime}: some of the points were in the life of a container", sum(died) >= 3, died)


# -- a container that is in the way -----------------------------------------------------------------------------------

# Connections whose close lingers: each fills its send buffer to a peer that does not read, and closes with SO_LINGER.
LINGER = """
import os, random, socket, struct, sys, threading, time
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
def linger():
    while True:
        one = socket.create_connection((sys.argv[2], 7009))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 7))
        one.setblocking(False)
        try:
            while True:
                one.send(bytes(65536))
        except BlockingIOError:
            pass
        time.sleep(random.random())
        one.setblocking(True)
        one.close()
for _ in range(40):
    threading.Thread(target=linger).start()
"""
READ_STAT = re.compile(r"/skm/(?P<box>[^/>]+)/memory\.stat>")


def gaps(log, name):
    """The longest time between two looks at a container's memory.stat while it is looked at often, in seconds."""
    times = [float(line["when"]) for line in read_trace(log) if (found := READ_STAT.search(line["rest"])) and found["box"] == name]
    return max((b - a for a, b in zip(times, times[1:])), default=0.0), len(times)


def looks_in_burst(here, runtime, name):
    """What gaps() says of a burst of three seconds."""
    box = Box(here, runtime, name, {TCPMEM: "8Mi"}, "--rate", "5M", memory_max=None).up()
    log = here.dir / f"trace-{name}"
    tracer = here.start("strace", "-f", "-ttt", "-y", "-s", "16", "-o", log, "-e", "trace=pread64", *[w for pid in daemons() for w in ("-p", str(pid))])
    world.wait_for(lambda: all(traced(pid) for pid in daemons()), 10, "tracer")
    peer = box.blast("--duration", "4s", "--stay", "20s", connections=20)
    world.wait_for(lambda: box.inspect()["decision"]["step"] != "none", 10, "step")
    time.sleep(3)
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    peer.kill()
    peer.communicate()
    box.stop()
    return gaps(log, name)


def in_the_way(here, runtime):
    """A container whose process is stopped in the middle of a burst, and whose other sockets linger."""
    bad = Box(here, runtime, f"bad-{runtime}", {TCPMEM: "4Mi"}, "--rate", "5M", memory_max=None).up()
    here.start_peer("serve", "--port", "7009", "--rate", "1")
    time.sleep(0.5)
    words = ["ip", "netns", "exec", here.netns, sys.executable, "-c", LINGER, str(PARENT / bad.name), world.PEER4]
    here.start(*words)
    bad.blast("--duration", "600s", connections=30)
    world.wait_for(lambda: bad.inspect()["squeezed_sockets"] > 0, 20, "squeezed sockets of the bad one")
    os.kill(bad.pid, signal.SIGSTOP)
    return bad


def others_are_not_delayed(test, here, runtime):
    with world.World("skm-other") as other:
        alone = [looks_in_burst(other, runtime, f"alone-{i}-{runtime}") for i in range(3)]
        bad = in_the_way(here, runtime)
        beside = [looks_in_burst(other, runtime, f"beside-{i}-{runtime}") for i in range(3)]
        held = bad.inspect()["decision"]["step"]
        os.kill(bad.pid, signal.SIGCONT)
        bad.stop(signal.SIGKILL)
    figures = f"longest gaps alone {[f'{gap * 1000:.0f} ms of {n}' for gap, n in alone]}, beside {[f'{gap * 1000:.0f} ms of {n}' for gap, n in beside]}"
    print(f"# {runtime}: {figures}", flush=True)
    test.check(f"{runtime}: it was looked at often enough to tell", min(n for _, n in alone + beside) >= 12, figures)
    test.check(f"{runtime}: the one in the way is throttled meanwhile", held != "none", held)
    longer = min(gap for gap, _ in beside) - max(gap for gap, _ in alone)
    test.check(f"{runtime}: its neighbour's looks come at most 100 ms later", longer <= 0.1, figures)


PARTS = [
    ("steady", steady, True),
    ("killed-anywhere", killed_anywhere, True),
    ("others", others_are_not_delayed, True),
]
