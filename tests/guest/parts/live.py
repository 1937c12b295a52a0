# SPDX-License-Identifier: Apache-2.0
"""The node file and what it makes of annotations; set, release and adopt on containers that run, with traffic."""

import json
import os
import pathlib
import signal
import time

import world
from box import MIB, POLICY, PORT, TCPMEM, ByHand, Box, ask, close_all, daemons, ended, is_connection, is_locked, journal_of, journals, live, run
from box import rcvbuf, start_daemon, stop_daemon
from parts.managers import podman

NODE_FILE = pathlib.Path("/etc/sockmem/sockmem.json")
HOOKS_DIR = "/usr/local/share/containers/oci/hooks.d"
PROFILE = "io.sockmem.profile"
SECONDS = 10  # for what an unloaded guest does in one or two


def sockmem(*words):
    """`sockmem WORDS`, which has to succeed; what it printed."""
    done = run("sockmem", *words)
    if done.returncode != 0:
        raise RuntimeError(f"sockmem {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def events(container, kind):
    return [event["text"] for event in ask("events", container) if event["kind"] == kind]


def sysctls_of(pid):
    """Of the network namespace of a process, as the kernel shows them."""
    words = ["nsenter", "--target", str(pid), "--net", "cat"] + [f"/proc/sys/net/ipv4/{key}" for key in world.NETNS_SYSCTLS]
    return world.sh(*words).splitlines()


# -- the same annotation under each runtime -----------------------------------------------------------------------------


WHOLE = json.dumps({
    "tcpmem": {"limit": "25%", "mode": "soft"}, "throttle": {"reclaim": False, "floor": "20Mbit"}, "pressure": {"some": "20%"},
    "memory": {"high": "100Mi"}, "onError": "fail",
})  # fmt: skip


def seen(container, pid, cgroup):
    """What a container got: all of its report that does not count or name things, and what stands in the kernel."""
    report = ask("inspect", container)
    same = ("backend", "limit_bytes", "memory_max_bytes", "policy", "in_force", "sources", "kernel_tcp_bytes", "skipped")
    files = {name: (cgroup / name).read_text(encoding="ascii") for name in ("memory.max", "memory.high", "memory.low")}
    return {key: report[key] for key in same} | {"sysctls": sysctls_of(pid), "files": files}


def cgroup_of(pid):
    text = pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii")
    return world.CGROUP / next(line for line in text.splitlines() if line.startswith("0::"))[len("0::/") :]


def same_result(test, here):
    """One annotation under runc, crun and podman (hooks.d)."""
    found = {}
    for runtime in ("runc", "crun"):
        box = Box(here, runtime, f"same-{runtime}", {POLICY: WHOLE}, own_netns=False).up()
        found[runtime] = seen(box.name, box.pid, cgroup_of(box.pid))
        box.stop()
    box = Box(here, "crun", "same-rootfs", None)
    csv = '"' + f"{POLICY}={WHOLE}".replace('"', '""') + '"'
    done = podman(
        "run", "--detach", "--name", "same-podman", "--annotation", csv, "--network", "none", "--memory", "152m",
        "--hooks-dir", HOOKS_DIR, "--rootfs", box.folder / "rootfs", *box.args,
    )  # fmt: skip
    try:
        test.check("podman: the container starts", done.returncode == 0, done)
        pid = int(podman("inspect", "--format", "{{.State.Pid}}", "same-podman").stdout)
        found["podman"] = seen(done.stdout.strip(), pid, cgroup_of(pid))
    finally:
        podman("rm", "--force", "--time", "2", "same-podman")
    first = found["runc"]
    test.check("the limit is a quarter of memory.max", first["limit_bytes"] == 38 * MIB, first["limit_bytes"])
    test.check("memory.high is as it was asked for, and the limit", int(first["files"]["memory.high"]) == 138 * MIB, first["files"])
    test.check("and tcp_rmem[1] is the limit's", first["sysctls"][0].split("\t")[1] == str(38 * MIB // 1024), first["sysctls"])
    for runtime in ("crun", "podman"):
        differs = {key: (first[key], found[runtime][key]) for key in first if found[runtime].get(key) != first[key]}
        test.check(f"same result under runc and {runtime}", not differs, differs)


# -- the node file ------------------------------------------------------------------------------------------------------


def write_node(rules):
    NODE_FILE.parent.mkdir(exist_ok=True)
    NODE_FILE.write_text(rules if isinstance(rules, str) else json.dumps(rules), encoding="utf-8")


def reload_node():
    for pid in daemons():
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.3)


def node_said():
    return json.loads(run("sockmem", "doctor", "--json").stdout)["enforcer"]["node"]


def refused(test, label, here, annotations, *needles, **bundle):
    """The container does not start; its line says what and why."""
    box = Box(here, "runc", f"refused-{len(here.ids)}", annotations, **bundle).start()
    status = box.wait(20)
    line = box.said[1]
    missing = [needle for needle in needles if needle not in line]
    test.check(f"{label}: creation fails", status != 0, box.said)
    test.check(f"{label}: the line says what and why", not missing and line.count("sockmem-hook:") == 1, f"{missing} not in {line!r}")
    test.check(f"{label}: nothing is held", live() == [] and not journals(), live())


def hooks(*words):
    """For a bundle, with these arguments."""
    return {stage: [{"path": world.HOOK, "args": ["sockmem-hook", *words]}] for stage in ("createRuntime", "poststop")}


def limit_of(here, name, annotations, runtime="crun", **bundle):
    """Starts a container, looks at it and ends it: (limit_bytes, report, policy events, what inspect shows)."""
    box = Box(here, runtime, name, annotations, **bundle).up()
    try:
        report = box.inspect()
        return report["limit_bytes"], report, events(name, "policy"), sockmem("inspect", name)
    finally:
        box.stop()
        world.wait_for(lambda: not live(), 5, "its end")


def node_rules(test, here):
    """Ceilings, the allow list, profiles."""
    write_node({
        "ceilings": {"tcpmem": "64Mi", "memory": {"high": "80Mi"}},
        "allow": ["tcpmem", "memory.high"],
        "profiles": {"small": {"tcpmem": {"limit": "16Mi", "mode": "soft"}}, "large": {"tcpmem": "1Gi", "throttle": {"sockets": False}}},
    })  # fmt: skip
    start_daemon()
    for asked, shown in (("1Gi", "1.0 GiB"), ("max", "none")):
        limit, report, told, text = limit_of(here, f"ceiling-{asked}", {TCPMEM: asked})
        test.check(f"ceiling: {asked} is cut to 64Mi", limit == 64 * MIB, limit)
        in_force = report["in_force"]["tcpmem.limit"]
        test.check(f"ceiling: {asked}: the report says so", in_force["cut"] and in_force["cut_by"] == "ceiling", in_force)
        line = f"tcpmem.limit: {shown} was asked for and cut to 64.0 MiB, the node's ceiling"
        test.check(f"ceiling: {asked}: an event says so", told == [line], told)
        test.check(f"ceiling: {asked}: inspect says so", f"asked for as {shown} and cut to 64.0 MiB, the node's ceiling" in text, text)
    limit, report, told, _ = limit_of(here, "below", {TCPMEM: "63Mi"})
    test.check("ceiling: what is below it is left alone", limit == 63 * MIB and not told, (limit, told))
    _, report, _, _ = limit_of(here, "high", {POLICY: '{"tcpmem": "8Mi", "memory": {"high": "100Mi"}}'})
    test.check("ceiling: of memory.high", report["in_force"]["memory.high"]["bytes"] == 80 * MIB, report["in_force"])
    refused(test, "allow", here, {POLICY: '{"tcpmem": "8Mi", "throttle": {"sockets": false}, "memory": {"low": "1Mi"}}'},
            "memory.low, throttle.sockets", "allow", str(NODE_FILE))  # fmt: skip
    limit, report, told, text = limit_of(here, "profile", {PROFILE: "large"})
    test.check("profile: the node's own is not cut", limit == 1024 * MIB and not told, (limit, told))
    where = (report["policy"]["source"], report["sources"]["throttle.sockets"], report["sources"]["tcpmem.mode"])
    test.check("profile: each value says where it came from", where == (PROFILE, PROFILE, "none") and "profile large" in text, where)
    refused(test, "profile: one that is not there", here, {PROFILE: "larg"}, "larg", "small", "large")
    kernel_tcp(test, here)
    NODE_FILE.unlink()
    reload_node()
    refused(test, "no node file: nothing is taken from neighbours", here, {POLICY: '{"memory": {"min": "1Mi", "propagate": true}}'},
            "memory.min, memory.propagate", "allow")  # fmt: skip
    _, report, told, _ = limit_of(here, "raises", {POLICY: '{"memory": {"max": "1Gi"}}'})
    in_force = report["in_force"]["memory.max"]
    test.check("no node file: memory.max may not be raised", (in_force["bytes"], in_force["cut_by"]) == (152 * MIB, "runtime"), in_force)
    test.check("no node file: and that is said", any("which the runtime set" in text for text in told), told)


def kernel_tcp(test, here):
    """What v1 users have in the bundle, with ceilings of 64 MiB: alone, and beside an annotation."""
    limit, report, told, _ = limit_of(here, "bundle", None, kernel_tcp=128 * MIB, runtime="runc", hooks=hooks("--node-defaults"))
    cut = report["in_force"]["tcpmem.limit"]["cut_by"]
    test.check("kernelTCP: a bundle is a tenant's too", (limit, cut, report["policy"]["source"]) == (64 * MIB, "ceiling", "kernelTCP"), report)
    limit, report, told, text = limit_of(here, "both", {TCPMEM: "32Mi"}, kernel_tcp=48 * MIB, runtime="runc")
    test.check("kernelTCP: an annotation counts", limit == 32 * MIB and report["kernel_tcp_bytes"] == 48 * MIB, report)
    line = f"config.json says kernelTCP 48.0 MiB, the limit in force is 32.0 MiB by {TCPMEM}"
    test.check("kernelTCP: and the difference is told", told == [line], told)
    test.check("kernelTCP: and shown", "config.json says kernelTCP 48.0 MiB" in text, text)


def defaults(test, here):
    """Containers that ask for nothing, with an administrator who changes one of them."""
    write_node({"defaults": {"tcpmem": "40Mi"}, "ceilings": {"tcpmem": "16Mi"}})
    start_daemon()
    box = Box(here, "runc", "plain", None, hooks=hooks("--node-defaults")).up()
    report = box.inspect()
    test.check("defaults: who asks for nothing gets them, uncut", (report["limit_bytes"], report["policy"]["source"]) == (40 * MIB, "defaults"), report)
    test.check("defaults: list shows it", live() == ["plain"] and "plain" in sockmem("list"), live())
    sockmem("set", "plain", "24Mi")
    report = box.inspect()
    where = (report["sources"]["tcpmem.limit"], report["policy"]["source"], report["limit_bytes"])
    test.check("defaults: no ceiling bounds the administrator", where == ("administrator", "defaults", 24 * MIB), where)
    box.stop()
    write_node({})
    reload_node()
    box = Box(here, "runc", "bare", None, hooks=hooks("--node-defaults")).up()
    test.check("defaults: without them a container is left alone", live() == [] and not journals(), live())
    box.stop()


def sighup(test, here):
    """Rules that change, and a file that breaks, while containers run and while none does."""
    write_node({"ceilings": {"tcpmem": "64Mi"}})
    start_daemon()
    old = Box(here, "crun", "old", {TCPMEM: "1Gi"}).up()
    test.check("sighup: the file at the start is in force", old.inspect()["limit_bytes"] == 64 * MIB, old.inspect()["in_force"])
    write_node({"ceilings": {"tcpmem": "32Mi"}})
    new = Box(here, "crun", "new", {TCPMEM: "1Gi"}, own_netns=False).up()
    test.check("sighup: a file is read when it is said, not before", new.inspect()["limit_bytes"] == 64 * MIB, new.inspect()["in_force"])
    new.stop()
    reload_node()
    new = Box(here, "crun", "newer", {TCPMEM: "1Gi"}, own_netns=False).up()
    limits = [box.inspect()["limit_bytes"] // MIB for box in (old, new)]
    test.check("sighup: new containers get the new rules, living ones keep theirs", limits == [64, 32], limits)
    new.stop()
    write_node('{"ceilings": {"tcpmem": "64Mi"}, "alow": []}')
    reload_node()
    said = node_said()
    test.check("sighup: a broken file is said", "$.alow" in (said["trouble"] or ""), said)
    test.check("sighup: in doctor's table too", "NOT IN FORCE" in run("sockmem", "doctor").stdout, run("sockmem", "doctor").stdout)
    new = Box(here, "crun", "newest", {TCPMEM: "1Gi"}, own_netns=False).up()
    test.check("sighup: and changes nothing", new.inspect()["limit_bytes"] == 32 * MIB, new.inspect()["in_force"])
    new.stop()
    stop_daemon(signal.SIGKILL)
    start_daemon()
    test.check("a broken file at the start is said", "$.alow" in (node_said()["trouble"] or ""), node_said())
    test.check("what was granted outlives the enforcer and its file", old.inspect()["limit_bytes"] == 64 * MIB, old.inspect()["in_force"])
    new = Box(here, "crun", "last", {TCPMEM: "1Gi"}, own_netns=False).up()
    test.check("the ceilings of the last valid file still hold", new.inspect()["limit_bytes"] == 32 * MIB, new.inspect()["in_force"])
    new.stop()
    write_node({})
    reload_node()
    test.check("a mended file is in force", node_said()["trouble"] is None, node_said())
    old.stop()


# -- set, release, adopt ------------------------------------------------------------------------------------------------


def burst(here, name, annotations, seconds, **bundle):
    """A container whose 50 connections send for some seconds faster than it reads, and stay open."""
    box = Box(here, "crun", name, annotations, "--rate", "20M", memory_max=None, **bundle).up()
    peer = box.blast("--duration", f"{seconds}s", "--stay", "60s")
    world.wait_for(here.dialled.exists, 10, "connections")
    return box, peer


def locked_sockets(box):
    sockets = box.sockets()
    try:
        return [rcvbuf(one) for one in sockets if is_connection(one) and is_locked(one)]
    finally:
        close_all(sockets)


def sock_of(box):
    text = (box.here.cgroup_dir(box.name) / "memory.stat").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("sock "))


def smallest_rmem(here):
    return int(here.sysctl("tcp_rmem").split()[2])


def set_in_burst(test, here):
    before = here.sysctls()
    box, peer = burst(here, "set", {POLICY: '{"tcpmem": {"limit": "64Mi", "mode": "soft"}}'}, 15)
    world.wait_for(lambda: box.inspect()["decision"]["step"] != "none", SECONDS, "step")
    held = sock_of(box)
    test.check("set: a size answers in one line", sockmem("set", "set", "8Mi") == "set: limit 8.0 MiB, backend soft\n", held)
    world.wait_for(lambda: sock_of(box) <= 10 * MIB, SECONDS, f"sockets at the new limit; they held {held}")
    test.check("set: a lower limit is reached in the burst", held > 16 * MIB, f"{held} bytes before")
    report = box.inspect()
    test.check("set: mode and its source stay", (report["policy"]["tcpmem"]["mode"], report["sources"]["tcpmem.mode"]) == ("soft", POLICY), report)
    test.check("set: the limit is the administrator's", report["sources"]["tcpmem.limit"] == "administrator", report["sources"])
    journal = journal_of(box.name)
    test.check("set: the journal has it", journal["in_force"]["tcpmem.limit"]["bytes"] == 8 * MIB, journal["in_force"])
    done = run("sockmem", "set", "set", "64Ki")
    test.check("set: what cannot be held is refused", done.returncode == 1 and "may lag behind" in done.stderr, done)
    test.check("set: and the limit in force is the old one", box.inspect()["limit_bytes"] == 8 * MIB, box.inspect()["in_force"])
    world.wait_for(lambda: smallest_rmem(here) < MIB // 4, SECONDS, "small cap")
    sockmem("set", "set", "64Mi")
    world.wait_for(lambda: smallest_rmem(here) > MIB // 2, SECONDS, "larger cap")
    test.check("set: a higher limit is felt in the burst", True)
    sockmem("set", "set", '{"tcpmem": {"limit": "8Mi", "mode": "observe"}}')
    after = here.sysctls()
    test.check("set: observe puts the sysctls back at once", after == before, f"{before} -> {after}")
    world.wait_for(lambda: not locked_sockets(box), SECONDS, "free sockets")
    test.check("set: and the sockets", journal_of(box.name)["sockets"] == [], journal_of(box.name)["sockets"])
    sockmem("set", "set", '{"tcpmem": "8Mi"}')
    world.wait_for(lambda: locked_sockets(box), SECONDS, "squeezed socket")
    test.check("set: and back again in the same burst", here.sysctls() != before, here.sysctls())
    told = [text for text in events(box.name, "policy") if text.startswith("set by the administrator")]
    test.check("set: each change is an event", len(told) == 4 and "mode soft -> observe" in told[2], told)
    peer.kill()
    box.stop()
    test.check("set: after the end the sysctls are byte-identical", here.sysctls() == before, here.sysctls())


def set_memory(test, here):
    """memory.high knows of the limit, and all or nothing means the files too."""
    box = Box(here, "crun", "memory", {TCPMEM: "8Mi"}).up()
    files = here.cgroup_dir(box.name)

    def stands(name):
        return (files / name).read_text(encoding="ascii").strip()

    sockmem("set", "memory", '{"tcpmem": "8Mi", "memory": {"low": "16Mi", "high": "100Mi"}}')
    test.check("set memory: high and the limit", (stands("memory.high"), stands("memory.low")) == (str(108 * MIB), str(16 * MIB)), stands("memory.high"))
    sockmem("set", "memory", "16Mi")
    test.check("set memory: a new limit moves memory.high", stands("memory.high") == str(116 * MIB), stands("memory.high"))
    done = run("sockmem", "set", "memory", '{"tcpmem": "32Mi", "memory": {"low": "200Mi", "high": "100Mi"}}')
    test.check("set memory: what contradicts itself is refused", done.returncode == 1 and "memory.low" in done.stderr, done)
    kept = (stands("memory.high"), stands("memory.low"), box.inspect()["limit_bytes"], here.sysctl("tcp_rmem").split()[1])
    test.check("set memory: and nothing of it is done", kept == (str(116 * MIB), str(16 * MIB), 16 * MIB, "16384"), kept)
    done = run("sockmem", "set", "memory", '{"memory": {"max": "64Ki"}}')
    test.check("set memory: memory.max below what is in use needs force", done.returncode == 1 and "in use" in done.stderr, done)
    sockmem("set", "memory", "max")
    stood = (box.inspect()["backend"], stands("memory.high"), here.sysctl("tcp_rmem").split()[1])
    test.check("set memory: no limit adds nothing to memory.high", stood == ("none", str(100 * MIB), "131072"), stood)
    sockmem("set", "memory", "8Mi")
    test.check("set memory: which leaves the rest", stands("memory.low") == str(16 * MIB), stands("memory.low"))
    sockmem("release", "memory")
    test.check("release puts the files back", (stands("memory.high"), stands("memory.low")) == ("max", "0"), stands("memory.high"))
    box.stop()


def release(test, here):
    before = here.sysctls()
    box, peer = burst(here, "release", {TCPMEM: "8Mi"}, 8)
    other = Box(here, "runc", "other", {TCPMEM: "32Mi"}, own_netns=False).up()
    world.wait_for(lambda: locked_sockets(box), SECONDS, "squeezed socket")
    started = time.monotonic()
    text = sockmem("release", "release")
    took = time.monotonic() - started
    test.check("release: says so in a line", text == "release: released by the administrator: everything is as it was\n", text)
    test.check("release: within its second", took < 3, f"{took:.1f} s")
    test.check("release: the sysctls are byte-identical", here.sysctls() == before, f"{before} -> {here.sysctls()}")
    test.check("release: the sockets have the program's settings", locked_sockets(box) == [], locked_sockets(box))
    test.check("release: the container runs on, and the other is held", box.process.poll() is None and live() == ["other"], live())
    test.check("release: its record says why", "released by the administrator" in ask("events", "release")[-1]["text"], ask("events", "release")[-1])
    done = run("sockmem", "release", "release")
    test.check("release: a second time there is none", done.returncode == 3 and "no container" in done.stderr, done)
    time.sleep(1.5)
    test.check("release: nothing comes after it", here.sysctls() == before and locked_sockets(box) == [], here.sysctls())
    peer.kill()
    box.stop()
    test.check("release: poststop finds nothing to do", len(ended("release")) == 1, ended("release"))
    sockmem("release", "--all")
    test.check("release --all: nothing is held", live() == [] and not journals(), live())
    test.check("release --all: again is no failure", "No container is held" in sockmem("release", "--all"))
    test.check("release --all: the other's sysctls too", sysctls_of(other.pid) == list(before.values()), sysctls_of(other.pid))
    other.stop()
    stop_daemon()
    done = run("sockmem", "release", "--all")
    test.check("release --all: without an enforcer", done.returncode == 4 and "not running" in done.stderr, done)


def adopt_in_the_hosts_namespace(test, here):
    """As a service is that has no network namespace of its own."""
    host = [pathlib.Path(f"/proc/sys/net/ipv4/{key}").read_bytes() for key in world.NETNS_SYSCTLS]
    cgroup = world.CGROUP / "skm" / "service"
    cgroup.mkdir()
    process = here.start("sleep", "100")
    (cgroup / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
    text = sockmem("adopt", "--cgroup", cgroup, "--id", "on-the-host", "32Mi")
    test.check("adopt: what is skipped in the host's namespace is said", "on-the-host: limit 32.0 MiB" in text and "not applied: " in text, text)
    now = [pathlib.Path(f"/proc/sys/net/ipv4/{key}").read_bytes() for key in world.NETNS_SYSCTLS]
    test.check("adopt: and its sysctls are left alone", now == host, now)
    process.kill()
    process.communicate()
    world.wait_for(lambda: not live(), 5, "its end")
    cgroup.rmdir()


def adopt(test, here):
    """What no hook started: a process in a cgroup and a network namespace of its own."""
    before = here.sysctls()
    done = run("sockmem", "adopt", "--cgroup", "/skm/by-hand", "32Mi")
    test.check("adopt: nobody is there", done.returncode == 3 and "No such file" in done.stderr, done)
    with ByHand(here) as process:
        done = run("sockmem", "adopt", "--cgroup", "/skm/by-hand", "32Mi")
        test.check("adopt: without an enforcer", done.returncode == 4 and "sockmemd" in done.stderr, done)
        start_daemon()
        text = sockmem("adopt", "--cgroup", "/skm/by-hand", "32Mi")
        test.check("adopt: called as its cgroup", text == "by-hand: limit 32.0 MiB, backend soft\n" and live() == ["by-hand"], text)
        test.check("adopt: it is held", here.sysctl("tcp_rmem").split()[1] == "32768", here.sysctls())
        report = ask("inspect", "by-hand")
        test.check("adopt: by the administrator", report["policy"]["source"] == "administrator" and report["pid"] == process.process.pid, report)
        done = run("sockmem", "adopt", "--cgroup", str(process.cgroup), "--id", "again", "8Mi")
        test.check("adopt: not twice", done.returncode == 1 and "change its policy with set" in done.stderr, done)
        stop_daemon(signal.SIGKILL)
        second = here.start("ip", "netns", "exec", here.netns, "sleep", "100")
        world.wait_for(lambda: pathlib.Path(f"/proc/{second.pid}/comm").read_text(encoding="ascii").strip() == "sleep", SECONDS, "second")
        (process.cgroup / "cgroup.procs").write_text(str(second.pid), encoding="ascii")
        process.process.kill()
        process.process.communicate()
        start_daemon()
        test.check("adopt: the next enforcer holds it, though its first process has ended", live() == ["by-hand"], live())
        second.kill()
        second.communicate()
        world.wait_for(lambda: not live(), 5, "its end")
        test.check("adopt: it ends with its last process", "empty" in ask("events", "by-hand")[-1]["text"], ask("events", "by-hand")[-1])
        test.check("adopt: and all is as it was", here.sysctls() == before and not journals(), here.sysctls())
        done = run("sockmem", "adopt", "--cgroup", "/skm/by-hand", "32Mi")
        test.check("adopt: an empty cgroup", done.returncode == 3 and "no process" in done.stderr, done)
    adopt_in_the_hosts_namespace(test, here)
    for path, part in (("skm/by-hand", "no whole path"), ("/skm/../..", '".."'), ("/", "root cgroup"), ("/sys/fs/cgroup", "root cgroup")):
        done = run("sockmem", "adopt", "--cgroup", path, "32Mi")
        test.check(f"adopt: {path} is refused", done.returncode == 1 and part in done.stderr and done.stderr.count("\n") == 1, done)
    test.check("adopt: refusals leave nothing", live() == [] and not journals(), live())


def adopt_service(test, here):
    """A service of systemd, with a burst; started again it has another cgroup."""
    before = here.sysctls()
    unit = "skm-adopted.service"
    world.sh("systemd-run", "--unit", unit, "--property", f"NetworkNamespacePath=/run/netns/{here.netns}",
             world.SOCKLOAD, "serve", "--port", PORT, "--rate", "20M", "--ready-file", here.dir / "ready")  # fmt: skip
    try:
        world.wait_for((here.dir / "ready").exists, SECONDS, "service")
        start_daemon()
        shown = world.sh("systemctl", "show", "--property", "ControlGroup", "--value", unit).strip()
        text = sockmem("adopt", "--cgroup", shown, "8Mi")
        test.check("adopt: a service is called as its unit", text == f"{unit}: limit 8.0 MiB, backend soft\n", text)
        words = ["--to", world.CONTAINER4, "--port", PORT, "--connections", 50, "--duration", "4s", "--stay", "60s"]
        peer = here.start_peer("blast", *words)
        world.wait_for(lambda: ask("inspect", unit)["squeezed_sockets"] > 0, SECONDS, "squeezed socket")
        peak = ask("inspect", unit)["sock_peak_bytes"]
        # 28 MB in a guest beside two others, where the look comes late
        test.check("adopt: in a burst it is held", peak < 48 * MIB, peak)
        world.sh("systemctl", "daemon-reload")
        test.check("adopt: systemd reads its units anew", live() == [unit], live())
        peer.kill()
        world.sh("systemctl", "restart", unit)
        world.wait_for(lambda: not live(), SECONDS, "its end")
        test.check("adopt: a service that starts again is another", here.sysctls() == before, here.sysctls())
        sockmem("adopt", "--cgroup", f"{world.CGROUP}{shown}", "--id", "again", "8Mi")
        world.sh("systemctl", "stop", unit)
        world.wait_for(lambda: not live(), SECONDS, "its end")
        test.check("adopt: and ends as one", here.sysctls() == before and not journals(), here.sysctls())
    finally:
        world.sh("systemctl", "stop", unit, check=False)


PARTS = {
    "same-result": same_result,
    "node-rules": node_rules,
    "defaults": defaults,
    "sighup": sighup,
    "set": set_in_burst,
    "set-memory": set_memory,
    "release": release,
    "adopt": adopt,
}
if pathlib.Path("/run/systemd/system").is_dir():
    PARTS["adopt-service"] = adopt_service
