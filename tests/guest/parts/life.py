# SPDX-License-Identifier: Apache-2.0
"""From a container's creation to what is left of it: nothing but its record."""

import os
import signal
import time

import world
from box import ENDED, HOOK_LOG, RUN_DIR, SOCKET, TCPMEM, ByHand, Box, ask, daemons, ended, host_sysctls, journals, kinds, live
from box import open_files, pids_of, qdiscs, receive_buffers, run, start_daemon, stop_daemon

START_AT_32_MIB = 32 << 10  # tcp_rmem[1]: limit / 1024


def rmem(here):
    return [int(word) for word in here.sysctl("tcp_rmem").split()]


def look_at_live(test, here, box, before):
    runtime, name = box.runtime, box.name
    test.check(f"{runtime}: list shows the running container, once", live() == [name], live())
    report = box.inspect()
    wanted = {"id": name, "ended": False, "backend": "soft", "limit_bytes": 32 << 20, "pid": box.pid, "memory_max_bytes": 152 << 20}
    found = {key: report.get(key) for key in wanted}
    test.check(f"{runtime}: inspect has its limit, backend and process", found == wanted, found)
    test.check(f"{runtime}: inspect says why no better backend", "BPF" in report["why_not_better"], report["why_not_better"])
    world.wait_for(lambda: box.inspect()["samples"] > report["samples"], 5, "further sample")
    test.check(f"{runtime}: it is sampled again and again", True)
    short = ask("inspect", name[:-2])
    test.check(f"{runtime}: a shortened id is enough", short["id"] == name, short["id"])
    test.check(f"{runtime}: events begin with its registration", kinds(name)[:1] == ["registered"], kinds(name))
    old, new = [int(word) for word in before["tcp_rmem"].split()], rmem(here)
    test.check(f"{runtime}: tcp_rmem[1] is lowered, the rest is not", new == [old[0], START_AT_32_MIB, old[2]], f"{old} -> {new}")


def look_at_connections(test, here, box):
    """What is accepted while nothing flows starts within the budget, in both families."""
    peers = [box.blast("--idle", "30s", "--stay", "30s", connections=4, to=to) for to in (world.CONTAINER4, world.CONTAINER6)]
    world.wait_for(lambda: len(receive_buffers(here.netns)) == 8, 10, "eight connections")
    found = receive_buffers(here.netns)
    test.check(f"{box.runtime}: accepted connections start with that buffer", set(found) == {START_AT_32_MIB}, found)
    for peer in peers:
        peer.kill()
        peer.communicate()


def look_at_end(test, here, box, before, queues):
    """Right after `runtime run` has returned."""
    runtime, name = box.runtime, box.name
    test.check(f"{runtime}: no live record is left", live() == [], live())
    test.check(f"{runtime}: the journal is empty", journals() == [], journals())
    after = here.sysctls()
    test.check(f"{runtime}: the namespace's sysctls are byte-identical", after == before, f"{before} -> {after}")
    test.check(f"{runtime}: no qdisc was added", qdiscs(here) == queues, qdiscs(here))
    records = ended(name)
    test.check(f"{runtime}: one ended record", len(records) == 1 and records[0]["ended"], records)
    test.check(f"{runtime}: inspect still shows it", box.inspect()["ended"])
    found = kinds(name)
    test.check(f"{runtime}: events end with its end", found[0] == "registered" and found[-1] == "ended", found)
    test.check(f"{runtime}: the values put back are an event", "restored" in found, found)


def life(test, here, runtime):
    """The first container of a guest without an enforcer: the hook starts one."""
    stop_daemon()
    before, queues, host = here.sysctls(), qdiscs(here), host_sysctls()
    box = Box(here, runtime, f"life-{runtime}", {TCPMEM: "32Mi"}).up()
    pipes = {os.readlink(f"/proc/self/fd/{end.fileno()}") for end in (box.process.stdout, box.process.stderr)}
    held = [pid for pid in daemons() + pids_of("sockmem-worker") if pipes & set(open_files(pid))]
    test.check(f"{runtime}: one enforcer was started", len(daemons()) == 1, daemons())
    test.check(f"{runtime}: it holds none of the runtime's pipes", not held, held)
    cgroup = world.pathlib.Path(f"/proc/{daemons()[0]}/cgroup").read_text(encoding="ascii").strip()
    test.check(f"{runtime}: it is in a cgroup of its own", cgroup == "0::/sockmem", cgroup)
    look_at_live(test, here, box, before)
    look_at_connections(test, here, box)
    test.check(f"{runtime}: the host's sysctls are byte-identical meanwhile", host_sysctls() == host, host_sysctls())
    began = time.monotonic()
    status = box.stop()
    seconds = time.monotonic() - began
    test.check(f"{runtime}: the runtime ends well", status == 0 and not box.said[1], f"{status}: {box.said[1]}")
    test.check(f"{runtime}: its pipes are at their end at once", seconds < 5, f"{seconds:.1f} s")
    look_at_end(test, here, box, before, queues)
    test.check(f"{runtime}: the host's sysctls are byte-identical afterwards", host_sysctls() == host, host_sysctls())


def without_enforcer(test, here, runtime):
    """What an ended container went through is readable with the enforcer gone."""
    if not daemons():
        start_daemon()
    box = Box(here, runtime, f"past-{runtime}", {TCPMEM: "32Mi"}).up()
    box.stop()
    stop_daemon()
    test.check(f"{runtime}: an enforcer that is told to end removes its socket", not SOCKET.exists())
    done = run("sockmem", "list", "--json")
    test.check(f"{runtime}: list says that no enforcer runs (4)", done.returncode == 4 and "not running" in done.stderr, done)
    test.check(f"{runtime}: list --ended works without it", len(ended(box.name)) == 1, ended(box.name))
    test.check(f"{runtime}: inspect works without it", box.inspect()["ended"])
    test.check(f"{runtime}: events works without it", kinds(box.name)[-1] == "ended", kinds(box.name))
    table = run("sockmem", "inspect", box.name)
    test.check(f"{runtime}: so does the table for people", table.returncode == 0 and box.name in table.stdout, table)


def idle(test, here, runtime):
    """An enforcer without containers leaves, and nothing of it stays."""
    stop_daemon()
    start_daemon("--idle", "2")
    box = Box(here, runtime, f"idle-{runtime}", {TCPMEM: "32Mi"}).up()
    time.sleep(3)
    test.check(f"{runtime}: it stays as long as a container lives", len(daemons()) == 1, daemons())
    box.stop()
    began = time.monotonic()
    world.wait_for(lambda: not daemons(), 10, "leaving of the idle enforcer")
    seconds = time.monotonic() - began
    test.check(f"{runtime}: it leaves after --idle", 1 < seconds < 6, f"{seconds:.1f} s")
    left = [pid for name in ("sockmemd", "sockmem-worker") for pid in pids_of(name)]
    test.check(f"{runtime}: no process of it is left", not left, left)
    test.check(f"{runtime}: nor its socket, nor a journal", not SOCKET.exists() and not journals(), os.listdir(RUN_DIR))
    again = Box(here, runtime, f"again-{runtime}", {TCPMEM: "32Mi"}).up()
    test.check(f"{runtime}: the next container starts another", live() == [again.name] and len(daemons()) == 1, live())
    again.stop()


def both_stages(test, here, runtime):
    """C07: prestart and createRuntime both registered."""
    hook = [{"path": world.HOOK, "args": ["sockmem-hook"]}]
    stages = {"prestart": hook, "createRuntime": hook, "poststop": hook + hook}
    before = here.sysctls()
    box = Box(here, runtime, f"both-{runtime}", {TCPMEM: "32Mi"}, hooks=stages).up()
    test.check(f"{runtime}: prestart and createRuntime give one record", live() == [box.name], live())
    found = kinds(box.name).count("registered")
    test.check(f"{runtime}: it was registered once", found == 1, found)
    status = box.stop()
    test.check(f"{runtime}: poststop twice is fine", status == 0 and not box.said[1], box.said)
    test.check(f"{runtime}: one record of its end", len(ended(box.name)) == 1, ended(box.name))
    test.check(f"{runtime}: its values are back", here.sysctls() == before, here.sysctls())


def restarts(test, here, runtime):
    """C09: the same id five times, every other time without poststop and by SIGKILL."""
    before, name, seen = here.sysctls(), f"loop-{runtime}", []
    for i in range(5):
        stages = ("createRuntime",) if i % 2 else ("createRuntime", "poststop")
        hooks = {stage: [{"path": world.HOOK, "args": ["sockmem-hook", stage]}] for stage in stages}
        box = Box(here, runtime, name, {TCPMEM: "32Mi"}, hooks=hooks).up()
        seen.append(live())
        box.stop(signal.SIGKILL if i % 2 else signal.SIGTERM)
        if i % 2:
            world.sh(runtime, "delete", "--force", name, check=False)
    test.check(f"{runtime}: never more than one live record of an id", seen == [[name]] * 5, seen)
    world.wait_for(lambda: not live(), 5, "end of the last one's record")
    test.check(f"{runtime}: five ended records", len(ended(name)) == 5, len(ended(name)))
    test.check(f"{runtime}: no journal after five starts", journals() == [], journals())
    test.check(f"{runtime}: the values are back after five starts", here.sysctls() == before, here.sysctls())


def early_poststop(test, here, _):
    """C09: poststop is a hint."""
    before = here.sysctls()
    with ByHand(here) as process:
        done = process.hook("createRuntime", annotations={})
        test.check("a hook without a policy does nothing and says nothing", done.returncode == 0 and not done.stderr, done)
        test.check("and leaves no record", live() == [], live())
        done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
        test.check("the hook by hand registers", done.returncode == 0 and live() == [process.name], done)
        for words in (("poststop",), ("poststop",), ()):
            done = process.hook(*words, status="stopped")
            test.check(f"an early poststop ({words}) succeeds in silence", done.returncode == 0 and not done.stderr, done)
        done = process.hook("poststop", text='{"ociVersion":"1.0.2","id":"nobody","status":"stopped","bundle":"/"}')
        test.check("poststop of an unknown id succeeds", done.returncode == 0 and not done.stderr, done)
        test.check("the living container keeps its record", live() == [process.name], live())
        test.check("and its sysctls", here.sysctls() != before)
        again = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
        test.check("registering again is idempotent", again.returncode == 0 and kinds(process.name).count("registered") == 1, again)
    world.wait_for(lambda: not live(), 5, "end without any poststop")
    test.check("a container that ends without poststop gives back", here.sysctls() == before, here.sysctls())


def poor_environment(test, here, _):
    """C08: an empty environment, closed descriptors; what the hook links."""
    with ByHand(here, "poor") as process:
        text = process.state(annotations={TCPMEM: "32Mi"})
        done = run("sh", "-c", f"exec env -i {world.HOOK} createRuntime >&- 2>&-", input=text)
        test.check("the hook works under env -i with stdout and stderr closed", done.returncode == 0 and live() == ["poor"], done)
        bad = process.state(annotations={TCPMEM: "64m"}, id="closed")
        done = run("sh", "-c", f"exec env -i {world.HOOK} createRuntime >&- 2>&-", input=bad)
        log = HOOK_LOG.read_text(encoding="ascii").splitlines()[-1]
        test.check("an error there is kept in the hook's log", done.returncode == 1 and "closed" in log and "64m" in log, log)
        done = run("sh", "-c", f"exec env -i {world.HOOK} createRuntime <&-", input="")
        test.check("a closed stdin is one clear line", done.returncode == 1 and done.stderr.count("\n") == 1, done)
        doctor = run("sockmem", "doctor")
        test.check("doctor shows the hook's complaint", "64m" in doctor.stdout, doctor.stdout)
    world.wait_for(lambda: not live(), 5, "end of the container by hand")
    linked, program = run("ldd", world.HOOK), world.pathlib.Path(world.HOOK).read_bytes()
    heavy = [name for name in ("libbpf", "libnl", "libcgroup", "nl_recvmsgs") if name in linked.stdout or name.encode() in program]
    test.check("the hook links none of libbpf, libnl, libcgroup", not heavy, f"{heavy}: {linked}")
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (RUN_DIR, ENDED, SOCKET)}
    wanted = {"sockmem": "0o700", "ended": "0o700", "sockmemd.sock": "0o600"}
    test.check("what lies in /run is root's alone", modes == wanted, modes)


PARTS = [
    ("life", life, True),
    ("without-enforcer", without_enforcer, True),
    ("idle", idle, True),
    ("both-stages", both_stages, True),
    ("restarts", restarts, True),
    ("early-poststop", early_poststop, False),
    ("poor-environment", poor_environment, False),
]
