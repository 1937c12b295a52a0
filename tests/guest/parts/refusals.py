# SPDX-License-Identifier: Apache-2.0
"""Containers that must not start: what the person at the terminal reads, and that nothing was changed."""

import errno
import fcntl
import os
import pty
import select
import signal
import termios
import time

import world
from box import HOOK_LOG, MIB, POLICY, TCPMEM, ByHand, Box, daemons, journals, live, qdiscs, run, start_daemon

# annotation, text, what its line names: the place, and what would be right. All but the empty size are read as JSON or as a size
# by `check` too.
INVALID = [
    ("a size with m", TCPMEM, "64m", ["64m", "Mi"]),
    ("an empty size", TCPMEM, "", ["empty", "64Mi"]),
    ("a misspelt key", POLICY, '{"tcpmem": {"limit": "64Mi", "mod": "soft"}}', ["$.tcpmem.mod", "mode"]),
    ("JSON that was cut", POLICY, '{"tcpmem": {"limit": "64Mi", "mo', ["cut", "32"]),
    ("a wrong type", POLICY, '{"tcpmem": {"limit": ["64Mi"]}}', ["$.tcpmem.limit", "64Mi"]),
    ("a mode that is none", POLICY, '{"tcpmem": {"limit": "64Mi", "mode": "sotf"}}', ["$.tcpmem.mode", "did you mean soft?"]),
]


def on_terminal(words, seconds=20):
    """Runs words with a terminal for stdin, stdout and stderr; its exit status, what the terminal showed, and how long it took."""
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    began = time.monotonic()
    process = world.subprocess.Popen([str(w) for w in words], stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)
    os.close(slave)
    shown = b""
    while time.monotonic() - began < seconds:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError as error:  # nobody holds the other side any more
            if error.errno == errno.EIO:
                break
            raise
        shown += data
    took = time.monotonic() - began
    process.kill()
    os.close(master)
    return process.wait(), shown.decode(), took


def start_refused(here, runtime, name, annotations, **bundle):
    """`RUNTIME run` on a terminal of a container that is to be refused; (status, shown, seconds)."""
    box = Box(here, runtime, name, annotations, **bundle)
    here.ids.append((runtime, name))
    return on_terminal([runtime, "run", "--bundle", box.folder, name])


def line_of(shown):
    """The hook's line on the terminal, behind what runc says before it; None where there is none or more than one."""
    return shown[shown.index("sockmem-hook:") :].splitlines()[0].rstrip() if shown.count("sockmem-hook:") == 1 else None


def is_plain(line):
    return all(" " <= character <= "~" for character in line)


def traces(here, runtime, name):
    """What a refused container must not leave."""
    found = []
    if name in world.sh(runtime, "list", "-q").split():
        found.append(f"{runtime} list still shows it")
    if here.cgroup_dir(name).exists():
        found.append("its cgroup")
    if journals():
        found.append(f"journals {journals()}")
    if name in live():
        found.append("a live record")
    return found


def check_refused(test, label, here, runtime, name, outcome, needles, before):
    """One refusal: it failed, the one line says what and why, nothing was changed."""
    status, shown, _ = outcome
    line = line_of(shown)
    test.check(f"{runtime}: {label}: creation fails", status != 0, f"exit {status}: {shown!r}")
    test.check(f"{runtime}: {label}: the terminal shows one line of the hook's, once", line is not None and is_plain(line), repr(shown))
    missing = [needle for needle in needles if needle not in (line or "")]
    test.check(f"{runtime}: {label}: it says what and what to do", not missing, f"{missing} not in {line!r}")
    after = here.sysctls()
    left = traces(here, runtime, name) + ([f"sysctls {before} -> {after}"] if after != before else [])
    test.check(f"{runtime}: {label}: nothing is changed", not left, "; ".join(left))


def same_text(verdict, line, annotation):
    """Whether `check` and the hook say the same of a document that each calls by another name."""
    return verdict.removeprefix("POLICY: ") in line and f"annotation {annotation}" in line


def invalid(test, here, runtime):
    if not daemons():
        start_daemon()
    before = here.sysctls()
    for i, (label, annotation, text, needles) in enumerate(INVALID):
        name = f"bad-{i}-{runtime}"
        outcome = start_refused(here, runtime, name, {annotation: text})
        check_refused(test, label, here, runtime, name, outcome, [annotation, name] + needles, before)
        done = run("sockmem", "check", "--json", "--", text)
        verdict = world.json.loads(done.stdout)
        test.check(f"{runtime}: {label}: check refuses it too", done.returncode == 1 and verdict["valid"] is False, done)
        line = line_of(outcome[1]) or ""
        test.check(f"{runtime}: {label}: in the same words", same_text(verdict["error"]["text"], line, annotation), f"{verdict} {line!r}")
    log = HOOK_LOG.read_text(encoding="ascii")
    test.check(f"{runtime}: the hook's log has every one", all(f"bad-{i}-{runtime}" in log for i in range(len(INVALID))), log)


def refused(test, here, runtime):
    """Valid policies that this container cannot have."""
    if not daemons():
        start_daemon()
    before, queues = here.sysctls(), qdiscs(here)

    def attempt(label, name, annotations, needles, **bundle):
        outcome = start_refused(here, runtime, f"{name}-{runtime}", annotations, **bundle)
        check_refused(test, label, here, runtime, f"{name}-{runtime}", outcome, needles, before)

    attempt("a percentage of no limit", "percent", {TCPMEM: "25%"}, ["percentage", "memory.max", "64Mi"], memory_max=None)
    attempt("a mode of no build", "hard", {POLICY: '{"tcpmem": {"limit": "64Mi", "mode": "hard"}}'}, ["mode hard", "use auto, soft"])
    attempt("a limit below the charge slack", "small", {TCPMEM: "256Ki"}, ["256.0 KiB", "memory.stat", "at least 512.0 KiB", "observe"])
    share = Box(here, runtime, f"share-{runtime}", {TCPMEM: "25%"}).up()
    limit = share.inspect()["limit_bytes"]
    test.check(f"{runtime}: a percentage is of memory.max", limit == 38 * MIB, limit)
    share.stop()
    test.check(f"{runtime}: refusals add no qdisc", qdiscs(here) == queues, qdiscs(here))


def stopped_enforcer(test, here, runtime):
    """One that accepts and never answers: SIGSTOP."""
    if not daemons():
        start_daemon()
    before, enforcer = here.sysctls(), daemons()
    bare = Box(here, runtime, f"bare-{runtime}", None, "--duration", "1ms", hooks=False)
    began = time.monotonic()
    bare.start().wait()
    usual = time.monotonic() - began
    for pid in enforcer:
        os.kill(pid, signal.SIGSTOP)
    try:
        with ByHand(here) as process:
            done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
        test.check(f"{runtime}: the hook gives up within its 2 s", 1 < done.seconds < 2.5, f"{done.seconds:.2f} s")
        name = f"stuck-{runtime}"
        outcome = start_refused(here, runtime, name, {TCPMEM: "32Mi"}, hooks=only_create())
        seconds = outcome[2] - usual
        test.check(f"{runtime}: creation fails within 2.5 s of the hook's time", outcome[0] != 0 and seconds < 2.5, f"{seconds:.2f} s")
        line = line_of(outcome[1])
        test.check(f"{runtime}: with one clear line", line is not None and "did not answer within" in line and name in line, repr(outcome[1]))
        box = Box(here, runtime, f"pipes-{runtime}", {TCPMEM: "32Mi"}).start()
        status = box.wait(10)  # raises where somebody holds the pipes
        test.check(f"{runtime}: nobody holds the runtime's pipes", status != 0, box.said)
        test.check(f"{runtime}: no second enforcer was started", daemons() == enforcer, f"{enforcer} -> {daemons()}")
    finally:
        for pid in enforcer:
            os.kill(pid, signal.SIGCONT)
    world.wait_for(lambda: not live() and not journals(), 5, "forgetting of the requests that nobody waits for")
    test.check(f"{runtime}: after SIGCONT nothing of them is held", here.sysctls() == before, here.sysctls())
    box = Box(here, runtime, f"cont-{runtime}", {TCPMEM: "32Mi"}).up()
    test.check(f"{runtime}: after SIGCONT the next container is held", live() == [box.name], live())
    box.stop()


def only_create():
    """Without poststop, whose hook would wait for the enforcer too."""
    return {"createRuntime": [{"path": world.HOOK, "args": ["sockmem-hook", "createRuntime"]}]}


PARTS = [("invalid", invalid, True), ("refused", refused, True), ("stopped-enforcer", stopped_enforcer, True)]
