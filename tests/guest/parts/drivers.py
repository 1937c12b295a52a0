# SPDX-License-Identifier: Apache-2.0
"""The systemd cgroup driver: where it puts a container, and what sockmem takes for the container's cgroup there."""

import json
import os

import world
from box import MIB, POLICY, TCPMEM, Box, ask, journals, kinds, live, run, stop_daemon
from parts import live as changes, memory
from parts.topology import LONG, blast, locked_of, place

HOOKS_DIR = "/usr/local/share/containers/oci/hooks.d"


def pid_is_below(pid, cgroup):
    """Whether a process is in the cgroup at a path below the mount, or below that."""
    where = next(line[3:] for line in open(f"/proc/{pid}/cgroup", encoding="ascii").read().splitlines() if line.startswith("0::"))
    return (str(world.CGROUP) + where + "/").startswith(cgroup + "/"), where


def start_in_scope(here, box):
    """`RUNTIME --systemd-cgroup run`, with the systemd form of cgroupsPath."""
    here.ids.append((box.runtime, box.name))
    box.pid_file.unlink(missing_ok=True)
    words = [box.runtime, "--systemd-cgroup", "run", "--bundle", box.folder, "--pid-file", box.pid_file, box.name]
    box.process = here.start(*words)
    world.wait_for(lambda: box.ready.exists() or box.process.poll() is not None, LONG, f"container {box.name}")
    if box.process.poll() is not None:
        raise RuntimeError(f"container {box.name} has failed: {box.process.communicate()[1].strip()}")
    box.pid = int(box.pid_file.read_text(encoding="ascii"))
    return box


def burst_is_held(test, here, label, pid, container):
    """A burst in the container's own namespace: what its sockets hold is seen, and they are squeezed."""
    into = ["nsenter", "-t", str(pid), "-n"]
    world.sh(*into, "ip", "link", "set", "lo", "up")
    peer = blast(here, into, "7000", "--duration", "60s")
    world.wait_for(lambda: ask("inspect", container)["sock_bytes"] > 4 * MIB, LONG, "bytes in its sockets")
    world.wait_for(lambda: ask("inspect", container)["squeezed_sockets"] > 0, LONG, "squeezed sockets")
    world.wait_for(lambda: locked_of(pid)[1] > 0, LONG, "locked socket")
    test.check(f"{label}: its burst is held", True)
    peer.kill()
    peer.wait()


def in_scope(test, here, runtime):
    """runc puts a container into SCOPE, crun into SCOPE/container; the hook hands over where its process is."""
    name = f"scope-{runtime}"
    box = place(here, runtime, name, {TCPMEM: "8Mi"}, "--rate", "5M", cgroup=f"machine.slice:skm:{name}", own_netns=False)
    start_in_scope(here, box)
    report = box.inspect()
    inside, where = pid_is_below(box.pid, report["cgroup"])
    test.check(f"{runtime}: the limited cgroup is the container's", inside and f"skm-{name}.scope" in report["cgroup"], (report["cgroup"], where))
    print(f"# {runtime}: process in {where}, limited: {report['cgroup']}", flush=True)
    test.check(f"{runtime}: its memory.max is seen at whichever level it stands", report["memory_max_bytes"] == 152 * MIB, report["memory_max_bytes"])
    burst_is_held(test, here, runtime, box.pid, name)
    box.stop()
    world.wait_for(lambda: not live() and not journals(), LONG, "end")
    test.check(f"{runtime}: its end is seen", kinds(name)[-1] == "ended", kinds(name))


def undelegated_inner(test, here, _):
    """The memory controller enabled at the scope alone: then the scope is the container's."""
    name = "inner-crun"
    box = place(here, "crun", name, {TCPMEM: "8Mi"}, "--rate", "5M", cgroup=f"machine.slice:skm:{name}", own_netns=False)
    # crun makes SCOPE/container before the hooks; take the controller away from it there
    scope = world.CGROUP / f"machine.slice/skm-{name}.scope"
    script = here.dir / "take-memory"
    script.write_text(f"#!/bin/sh\necho -memory > {scope}/cgroup.subtree_control\ncat > /dev/null\n", encoding="ascii")
    script.chmod(0o755)
    path = box.folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["hooks"]["createRuntime"].insert(0, {"path": str(script)})
    path.write_text(json.dumps(config), encoding="utf-8")
    start_in_scope(here, box)
    has = os.path.exists(f"{scope}/container/memory.current")
    test.check("crun: the inner cgroup has no memory controller", not has and (scope / "container").is_dir(), list(scope.iterdir()))
    test.check("crun: the scope is what is limited", box.inspect()["cgroup"] == str(scope), box.inspect()["cgroup"])
    burst_is_held(test, here, "crun, scope alone", box.pid, name)
    box.stop()


def podman(manager, *words):
    return run("podman", "--cgroup-manager", manager, *words)


def podman_start(manager, runtime, name, box, annotation, *words):
    return podman(
        manager, "--runtime", runtime, "run", "--detach", "--name", name, "--annotation", annotation, *words,
        "--hooks-dir", HOOKS_DIR, "--rootfs", box.folder / "rootfs", *box.args,
    )  # fmt: skip


def under_podman(test, here, runtime):
    """Both managers: the container's cgroup is taken, and conmon's left out."""
    for manager in ("systemd", "cgroupfs"):
        name, label = f"pm-{manager}-{runtime}", f"podman, {manager}, {runtime}"
        box = Box(here, runtime, name, None, "--rate", "5M")
        try:
            done = podman_start(manager, runtime, name, box, f"{TCPMEM}=8Mi", "--network", "none")
            container = done.stdout.strip()
            test.check(f"{label}: it starts and is held", done.returncode == 0 and live() == [container], done)
            report = ask("inspect", container)
            inside, where = pid_is_below(report["pid"], report["cgroup"])
            test.check(f"{label}: the limited cgroup is the container's", inside and container in report["cgroup"], (report["cgroup"], where))
            conmon = int(podman(manager, "inspect", "--format", "{{.State.ConmonPid}}", name).stdout)
            outside = not pid_is_below(conmon, report["cgroup"])[0]
            test.check(f"{label}: conmon is not in it", outside, pid_is_below(conmon, report["cgroup"]))
            burst_is_held(test, here, label, report["pid"], container)
        finally:
            podman(manager, "rm", "--force", "--time", "1", name)
        world.wait_for(lambda: not live() and not journals(), LONG, "end")


def podman_pod(test, here, runtime):
    """scope pod in a pod of podman's, where its infra container and conmon are in the pod's cgroup too; outside a pod it is refused.
    Without an infra container podman 4.3 makes no cgroup for a pod."""
    csv = '"io.sockmem.policy={""tcpmem"":{""limit"":""8Mi"",""scope"":""pod""}}"'
    names, ids = [f"pp-1-{runtime}", f"pp-2-{runtime}"], []
    pod = f"pp-{runtime}"
    try:
        done = podman("systemd", "pod", "create", "--network", "none", "--name", pod)
        test.check(f"{runtime}: podman makes a pod", done.returncode == 0, done)
        for name, port in zip(names, ("7000", "7001")):
            box = Box(here, runtime, name, None, "--rate", "5M")
            box.args[box.args.index("7000")] = port
            done = podman_start("systemd", runtime, name, box, csv, "--pod", pod)
            test.check(f"{runtime}: {name} starts", done.returncode == 0, done)
            ids.append(done.stdout.strip())
        reports = [ask("inspect", container) for container in ids]
        cgroups = {report["cgroup"] for report in reports}
        test.check(f"{runtime}: both are limited at the pod", len(cgroups) == 1 and "libpod_pod_" in next(iter(cgroups)), cgroups)
        test.check(f"{runtime}: its containers are below it", all(pid_is_below(report["pid"], report["cgroup"])[0] for report in reports), cgroups)
        burst_is_held(test, here, f"{runtime}: pod", reports[0]["pid"], ids[0])
        box = Box(here, runtime, f"alone-{runtime}", None)
        done = podman_start("systemd", runtime, f"alone-{runtime}", box, csv, "--network", "none")
        test.check(f"{runtime}: without a pod the slice of all is none", done.returncode != 0 and "scope pod" in done.stderr, done)
    finally:
        for name in [f"alone-{runtime}"] + names[::-1]:
            podman("systemd", "rm", "--force", "--time", "1", name)
        podman("systemd", "pod", "rm", "--force", pod)
    world.wait_for(lambda: not live() and not journals(), LONG, "end")


def rewritten_by_systemd(test, here, _):
    """C19: the part of tests/guest/memory that is systemd's alone."""
    memory.prepare()
    try:
        memory.reload(test, here)
    finally:
        memory.NODE_FILE.unlink()
        stop_daemon()


PARTS = [
    ("in-scope", in_scope, "runc"),
    ("in-scope-nested", in_scope, "crun"),
    ("undelegated-inner", undelegated_inner, None),
    ("podman-drivers", under_podman, "crun"),
    ("podman-pod", podman_pod, "crun"),
    # of other suites, what only systemd does
    ("reload", rewritten_by_systemd, None),
    ("adopt-service", lambda test, here, _: changes.adopt_service(test, here), None),
]
