# SPDX-License-Identifier: Apache-2.0
"""podman as people use it, and what the CLI answers to people who err."""

import json

import world
from box import HOOK_LOG, POLICY, TCPMEM, ByHand, Box, ask, daemons, ended, journals, kinds, live, pids_of, run, start_daemon, stop_daemon

HOOKS_DIR = "/usr/local/share/containers/oci/hooks.d"
# as podman 4 wants JSON in --annotation, which it reads as CSV
JSON_AS_CSV = '"io.sockmem.policy={""tcpmem"":{""limit"":""48Mi"",""mode"":""soft""}}"'
ESCAPES = "\x1b]0;owned\x07\x1b[2Jid"


def podman(*words):
    return run("podman", "--cgroup-manager", "cgroupfs", *words)


def podman_run(runtime, name, box, annotation, *words):
    return podman(
        "--runtime", runtime, "run", *words, "--name", name, "--annotation", annotation, "--network", "none",
        "--hooks-dir", HOOKS_DIR, "--rootfs", box.folder / "rootfs", *box.args,
    )  # fmt: skip


def under_podman(test, here, runtime):
    """The short annotation, detached, with an enforcer that its hook has to start."""
    stop_daemon()
    box, name = Box(here, runtime, f"rootfs-{runtime}", None), f"podman-{runtime}"
    try:
        done = podman_run(runtime, name, box, f"{TCPMEM}=32Mi", "--detach")
        container = done.stdout.strip()
        test.check(f"podman with {runtime}: the container starts", done.returncode == 0 and len(container) == 64, done)
        test.check(f"podman with {runtime}: list shows it", live() == [container], live())
        report = ask("inspect", container[:12])
        test.check(f"podman with {runtime}: by the short id that podman shows", report["limit_bytes"] == 32 << 20, report)
        done = podman("stop", "--time", "5", name)
        test.check(f"podman with {runtime}: podman stop ends it", done.returncode == 0, done)
        world.wait_for(lambda: not live(), 5, "release")
        test.check(f"podman with {runtime}: released", not journals() and len(ended(container)) == 1, journals())
        world.wait_for(lambda: not pids_of("conmon"), 10, "end of conmon")
        test.check(f"podman with {runtime}: conmon does not wait for the enforcer", True)
    finally:
        podman("rm", "--force", name)
    bad = podman_run(runtime, f"bad-{name}", box, f"{TCPMEM}=64m", "--rm")
    test.check(f"podman with {runtime}: an invalid annotation fails", bad.returncode != 0, bad)
    shown = bad.stderr
    one = shown.count("sockmem-hook:") == 1 and TCPMEM in shown and "64m" in shown and "write Mi" in shown
    test.check(f"podman with {runtime}: the person reads why, once", one, shown)
    test.check(f"podman with {runtime}: and nothing is left of it", not live() and not journals(), live())


def json_under_podman(test, here, _):
    box = Box(here, "crun", "rootfs-json", None, "--duration", "1s")
    done = podman_run("crun", "json", box, JSON_AS_CSV, "--rm")
    test.check("podman: JSON quoted as CSV is taken", done.returncode == 0, done)
    records = [report for report in ask("list", "--ended") if report["policy"]["source"] == POLICY]
    test.check("podman: with what it says", records and records[0]["limit_bytes"] == 48 << 20, records[:1])


def exit_codes(test, here, _):
    if not daemons():
        start_daemon()
    box = Box(here, "crun", "codes-1", {TCPMEM: "32Mi"}).up()

    def code(wanted, *words):
        done = run("sockmem", *words)
        label = " ".join(words) or "sockmem"
        test.check(f"{label}: exit {wanted}", done.returncode == wanted, done)
        told = done.stderr.count("\n") == 1 and done.stderr.startswith("sockmem: ") if wanted else not done.stderr
        test.check(f"{label}: says {'why in one line' if wanted else 'nothing else'}", told, done.stderr)
        return done

    for words in ((), ("no-verb",), ("list", "--no-option"), ("inspect",), ("list", "operand"), ("inspect", "a", "b"), ("check",)):
        code(2, *words)
    for verb in ("inspect", "events"):
        code(3, verb, "nobody")
        code(0, verb, "codes-1", "--json")
    code(1, "check", "64m")
    code(0, "check", "64Mi", "--json")
    code(0, "doctor")
    code(1, "check", "@/nonexistent")
    other = Box(here, "crun", "codes-2", {TCPMEM: "32Mi"}, own_netns=False).up()
    done = code(3, "inspect", "codes-")
    test.check("a beginning of two ids names them", "codes-1" in done.stderr and "codes-2" in done.stderr, done.stderr)
    other.stop()
    box.stop()
    stop_daemon()
    for words in (("list",), ("inspect", "nobody"), ("events", "nobody")):
        done = code(4, *words)
        test.check(f"{words[0]}: names the enforcer as what is missing", "enforcer is not running" in done.stderr, done.stderr)
    code(0, "list", "--ended", "--json")
    doctor = json.loads(run("sockmem", "doctor", "--json").stdout)
    test.check("doctor works without an enforcer", doctor["enforcer"]["running"] is False and doctor["auto"]["backend"] == "soft", doctor)


def is_safe(text):
    """Whether a text can be shown on a terminal."""
    return not [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]


def painted_ids(test, here, _):
    """An id that would paint on a terminal. crun takes what runc refuses; by hand it comes from the state all the same."""
    box = Box(here, "crun", "painted", {TCPMEM: "32Mi"}, "--duration", "500ms")
    here.ids.append(("crun", ESCAPES))
    status = here.start("crun", "run", "--bundle", box.folder, ESCAPES).wait(20)
    print(f"# crun {'refuses' if status else 'takes'} an id with escape sequences", flush=True)
    before = len(ended(ESCAPES))
    test.check("where crun takes such an id, its record is kept", before == (0 if status else 1), before)
    with ByHand(here, ESCAPES) as process:
        done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
        test.check("an id with escape sequences is registered", done.returncode == 0 and ESCAPES in live(), done)
        for words in (("list",), ("events",), ("inspect", ESCAPES), ("inspect", ESCAPES[:4])):
            done = run("sockmem", *words)
            label = words[0] + (" of it" if len(words) > 1 else "")
            test.check(f"{label}: nothing of it reaches the terminal", done.returncode == 0 and is_safe(done.stdout), repr(done.stdout))
            test.check(f"{label}: it is shown escaped", r"\x1b" in done.stdout, repr(done.stdout))
        done = run("sockmem", "inspect", ESCAPES + "\x1b[31m")
        test.check("an unknown one is escaped in the error", done.returncode == 3 and is_safe(done.stderr), repr(done.stderr))
        done = process.hook("createRuntime", annotations={TCPMEM: "\x1b[31m64m"})
        test.check("the hook's line is escaped", done.returncode == 1 and is_safe(done.stderr), repr(done.stderr))
        log = HOOK_LOG.read_text(encoding="utf-8")
        test.check("so is its log", is_safe(log), repr(log[-300:]))
    world.wait_for(lambda: not live(), 5, "end of the painted one")
    test.check("its record is found by its id", kinds(ESCAPES)[-1] == "ended", kinds(ESCAPES))
    names = [path.name for path in world.pathlib.Path("/run/sockmem/ended").iterdir()]
    test.check("no file is called by an id", all(set(name) <= set("0123456789-.json") for name in names), names)
    with ByHand(here, "../../etc/passwd") as process:
        done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
        test.check("an id like a path is only an id", done.returncode == 0 and live() == [process.name], done)
    world.wait_for(lambda: not live(), 5, "end of the one like a path")


PARTS = [
    ("podman", under_podman, True),
    ("podman-json", json_under_podman, False),
    ("exit-codes", exit_codes, False),
    ("painted-ids", painted_ids, False),
]
