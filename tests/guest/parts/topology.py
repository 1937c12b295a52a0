# SPDX-License-Identifier: Apache-2.0
"""Containers in network namespaces and cgroups that are not theirs alone."""

import json
import os
import signal
import time

import world
from box import MIB, POLICY, TCPMEM, ByHand, Box, ask, close_all, cookie_of, daemons, ended, host_sysctls, is_connection, is_locked
from box import journal_of, journals, kinds, live, pids_of, qdiscs, rcvbuf, run, start_daemon, stop_daemon, take_socket

SKM = world.CGROUP / "skm"
# seconds for what an idle guest does in a few, beside other work on the machine
LONG = 60


def events(container, kind):
    return [event["text"] for event in ask("events", container) if event["kind"] == kind]


def place(here, runtime, name, annotations, *options, port="7000", cgroup=None, change=None, **bundle):
    """A Box on another port, in another cgroup, or with what change(config) makes of its config.json."""
    box = Box(here, runtime, name, annotations, *options, **bundle)
    path = box.folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    args = config["process"]["args"]
    args[args.index("--port") + 1] = port
    if cgroup:
        config["linux"]["cgroupsPath"] = cgroup
    if change:
        change(config)
    path.write_text(json.dumps(config), encoding="utf-8")
    return box


def policy(limit, throttle=None, **tcpmem):
    return {POLICY: json.dumps({"tcpmem": {"limit": limit, **tcpmem}, **({"throttle": throttle} if throttle else {})})}


def start_of(text):
    return int(text.split()[1])


def sockets_of(pid):
    """Duplicates of a process's TCP sockets; close them soon."""
    pidfd = os.pidfd_open(pid)
    try:
        numbers = [int(p.name) for p in world.pathlib.Path(f"/proc/{pid}/fd").iterdir() if os.readlink(p).startswith("socket:")]
        return [one for one in (take_socket(pidfd, number) for number in numbers) if one and is_connection(one)]
    finally:
        os.close(pidfd)


def locked_of(pid):
    """(how many connections a process has, how many of them have a locked receive buffer)"""
    sockets = sockets_of(pid)
    try:
        return len(sockets), sum(is_locked(one) for one in sockets)
    finally:
        close_all(sockets)


def blast(here, where, port, *words, connections=50):
    """Connections to a port of this machine's, from the network namespace that `where` is the way into."""
    ready = here.dir / f"dialled-{port}"
    ready.unlink(missing_ok=True)
    words = ["--to", "127.0.0.1", "--port", port, "--connections", connections, *words, "--ready-file", ready]
    process = here.start(*where, world.SOCKLOAD, "blast", *words)
    world.wait_for(ready.exists, LONG, f"connections to {port}")
    return process


# -- the host's network namespace ---------------------------------------------------------------------------------


def host_netns(test, here, runtime):
    """Its sockets are limited, by their cgroup; nothing else in the namespace is touched."""
    before, queues = host_sysctls(), qdiscs(here)
    world.sh("ip", "link", "set", "lo", "up")
    ready = here.dir / "neighbour-ready"
    neighbour = here.start(world.SOCKLOAD, "serve", "--port", "7100", "--rate", "1M", "--ready-file", ready)
    world.wait_for(ready.exists, LONG, "neighbour")
    # twice what is read: they hold some, and not so much that the kernel finds the host's tcp_mem too small (60 sockets may fill
    # 170 MB, and then it prunes the container's queues too: nothing is left for sockmem to do)
    other = blast(here, [], "7100", "--rate", "2M", "--duration", "60s", connections=60)
    box = place(here, runtime, f"host-{runtime}", {TCPMEM: "16Mi"}, "--rate", "10M", netns=False, memory_max=None).up()
    skipped = box.inspect()["skipped"]
    test.check(f"{runtime}: a container in the host's namespace is held, and told what is left out", len(skipped) == 1
               and "throttle.sysctl" in skipped[0] and "host's network namespace" in skipped[0], skipped)  # fmt: skip
    test.check(f"{runtime}: the same is an event", any("host's network namespace" in t for t in events(box.name, "policy")), kinds(box.name))
    peer = blast(here, [], "7000", "--duration", "60s")
    world.wait_for(lambda: box.inspect()["squeezed_sockets"] >= 50, LONG, "squeezed sockets")
    world.wait_for(lambda: box.inspect()["sockets"] == 50, LONG, "count of its own sockets")
    report = box.inspect()
    in_use = world.sh("ss", "-tnH").count("\n")
    test.check(f"{runtime}: its sockets are counted, not the host's", report["sockets"] == 50 < 220 <= in_use, (report["sockets"], in_use))
    cap = report["decision"]["fair_cap_bytes"]
    test.check(f"{runtime}: the fair cap is theirs", 0.6 * 16 * MIB / 50 < cap <= 16 * MIB / 50, cap)
    world.wait_for(lambda: locked_of(box.pid) == (50, 50), LONG, "fifty locked sockets")
    world.wait_for(lambda: box.inspect()["sock_bytes"] < 20 * MIB, LONG, "sockets that hold little more than the limit")
    test.check(f"{runtime}: what they hold comes down to the limit while the peer goes on sending", peer.poll() is None, peer.poll())
    for name, process, count in (("the neighbour", neighbour, 60), ("its peer", other, 60), ("the container's peer", peer, 50)):
        found = locked_of(process.pid)
        test.check(f"{runtime}: no socket of {name} is touched", found == (count, 0), found)
    test.check(f"{runtime}: the host's sysctls are byte-identical", host_sysctls() == before, host_sysctls())
    test.check(f"{runtime}: so are all qdiscs", qdiscs(here) == queues, qdiscs(here))
    journal = journal_of(box.name)
    test.check(f"{runtime}: the journal has no sysctl of the host's", all(not v["baseline"] for v in journal["sysctls"].values()), journal["sysctls"])
    stop_daemon(signal.SIGKILL)
    start_daemon()
    test.check(f"{runtime}: after kill -9 it is held again", live() == [box.name], live())
    test.check(f"{runtime}: and the host's sysctls are still byte-identical", host_sysctls() == before, host_sysctls())
    peer.kill()
    for process in (other, neighbour):
        process.kill()
    world.wait_for(lambda: not journal_of(box.name)["sockets"], LONG, "giving back")
    box.stop()


# -- one network namespace for several ----------------------------------------------------------------------------


def shared_netns(test, here, runtime):
    before = here.sysctls()
    one = place(here, runtime, f"one-{runtime}", {TCPMEM: "32Mi"}, "--rate", "10M", memory_max=None).up()
    start = start_of(here.sysctl("tcp_rmem"))
    two = place(here, runtime, f"two-{runtime}", {TCPMEM: "16Mi"}, port="7001").up()
    test.check(f"{runtime}: both are held", sorted(live()) == sorted([one.name, two.name]), live())
    test.check(f"{runtime}: the smaller start stands", start_of(here.sysctl("tcp_rmem")) == 16384 < start == 32768, here.sysctl("tcp_rmem"))
    journaled = journal_of(two.name)["sysctls"]["tcp_rmem"]["baseline"]
    test.check(f"{runtime}: the second one's baseline is the namespace's, not ours", journaled == before["tcp_rmem"], journaled)
    peer = one.blast("--duration", "60s")
    world.wait_for(lambda: one.inspect()["decision"]["step"] != "none", LONG, "step")
    world.wait_for(lambda: events(two.name, "sysctl"), LONG, "sysctl event of the other")
    told = events(two.name, "sysctl")[-1]
    test.check(f"{runtime}: the quiet one is told for whom its windows are lowered", f"for container {one.name}" in told, told)
    world.wait_for(lambda: one.inspect()["sockets"] == 50 and two.inspect()["sockets"] == 0, LONG, "count of each one's sockets")
    test.check(f"{runtime}: each has its own sockets counted", True)
    test.check(f"{runtime}: only the busy one's step is above none", two.inspect()["decision"]["step"] == "none", two.inspect()["decision"])
    stop_daemon(signal.SIGKILL)
    os.kill(two.pid, signal.SIGKILL)
    two.wait()
    start_daemon()
    test.check(f"{runtime}: after kill -9 the living one is held, the dead one has its record", live() == [one.name] and len(ended(two.name)) == 1, live())
    test.check(f"{runtime}: the dead one's end does not restore under it", start_of(here.sysctl("tcp_rmem")) == 32768, here.sysctl("tcp_rmem"))
    peer.kill()
    again = place(here, runtime, f"again-{runtime}", {TCPMEM: "16Mi"}, port="7001").up()
    one.stop()
    world.wait_for(lambda: live() == [again.name], 5, "end of the first")
    test.check(f"{runtime}: the first one out restores nothing", start_of(here.sysctl("tcp_rmem")) == 16384, here.sysctl("tcp_rmem"))
    again.stop()
    test.check(f"{runtime}: the last one out restores all", here.sysctls() == before, f"{before} -> {here.sysctls()}")


def foreign_hand(test, here, _):
    """C19, for a namespace of two: someone else's value is left to both, and both are told."""
    boxes = [place(here, "crun", f"hand-{i}", {TCPMEM: "16Mi"}, "--rate", "5M", port=f"700{i}", memory_max=None).up() for i in range(2)]
    world.sh("ip", "netns", "exec", here.netns, "sysctl", "-qw", "net.ipv4.tcp_rmem=4096 100000 5000000")
    peer = boxes[0].blast("--duration", "60s")
    world.wait_for(lambda: boxes[0].inspect()["decision"]["step"] != "none", LONG, "step")
    world.wait_for(lambda: events("hand-1", "foreign-write"), LONG, "foreign write told to the other")
    test.check("a foreign write is told to each container of the namespace", len(events("hand-0", "foreign-write")) == 1, kinds("hand-0"))
    peer.kill()
    for box in boxes:
        box.stop()
    test.check("it stands after the last one's end", here.sysctl("tcp_rmem") == "4096\t100000\t5000000", here.sysctl("tcp_rmem"))


def podman(*words):
    return run("podman", "--cgroup-manager", "cgroupfs", *words)


def podman_run(runtime, name, box, port, limit, network):
    args = [port if word == "7000" else word for word in box.args]
    return podman("--runtime", runtime, "run", "--detach", "--name", name, "--annotation", f"{TCPMEM}={limit}", "--network", network,
                  "--hooks-dir", "/usr/local/share/containers/oci/hooks.d", "--rootfs", box.folder / "rootfs", *args)  # fmt: skip


def podman_shared(test, here, runtime):
    """podman run --network container:X"""
    names = [f"pod-a-{runtime}", f"pod-b-{runtime}"]
    ids = []
    try:
        for name, port, limit, network in zip(names, ("7000", "7001"), ("32Mi", "16Mi"), ("none", f"container:{names[0]}")):
            box = Box(here, runtime, name, None)
            done = podman_run(runtime, name, box, port, limit, network)
            test.check(f"podman with {runtime}: {name} starts", done.returncode == 0, done)
            ids.append(done.stdout.strip())
        test.check(f"podman with {runtime}: both are held", sorted(live()) == sorted(ids), live())
        pid = ask("inspect", ids[1])["pid"]
        rmem = world.sh("nsenter", "-t", pid, "-n", "cat", "/proc/sys/net/ipv4/tcp_rmem")
        test.check(f"podman with {runtime}: with the smaller start", start_of(rmem) == 16384, rmem)
        podman("stop", "--time", "1", names[1])
        world.wait_for(lambda: live() == ids[:1], LONG, "end of the second")
        rmem = world.sh("nsenter", "-t", ask("inspect", ids[0])["pid"], "-n", "cat", "/proc/sys/net/ipv4/tcp_rmem")
        test.check(f"podman with {runtime}: the other's end leaves the first its own", start_of(rmem) == 32768, rmem)
    finally:
        for name in reversed(names):
            podman("rm", "--force", "--time", "1", name)


# -- pods ---------------------------------------------------------------------------------------------------------


def pod(test, here, runtime):
    """scope pod: the sockets of both containers are under one limit, and one of them squeezes."""
    before, path = here.sysctls(), f"/skm/pods/p-{runtime}"
    wanted = policy("16Mi", {"sysctl": False}, scope="pod")  # so that all of them grow, and are squeezed
    names = (f"pod-1-{runtime}", f"pod-2-{runtime}")
    one = place(here, runtime, names[0], wanted, "--rate", "5M", cgroup=f"{path}/one", memory_max=None).up()
    two = place(here, runtime, names[1], wanted, "--rate", "5M", port="7001", cgroup=f"{path}/two", memory_max=None).up()
    report = one.inspect()
    test.check(f"{runtime}: the pod's cgroup is what is looked at", report["cgroup"] == f"{world.CGROUP}{path}", report["cgroup"])
    peers = [one.blast("--duration", "60s")]
    peers.append(here.start_peer("blast", "--to", world.CONTAINER4, "--port", "7001", "--connections", "50", "--duration", "60s"))
    world.wait_for(lambda: max(box.inspect()["squeeze_runs"] for box in (one, two)) > 0, LONG, "squeezing")
    world.wait_for(lambda: {locked_of(box.pid) for box in (one, two)} == {(50, 50)}, LONG, "squeezed sockets of both")
    runs = [box.inspect()["squeeze_runs"] for box in (one, two)]
    test.check(f"{runtime}: one of them squeezes for both", min(runs) == 0 < max(runs), runs)
    held = [box.inspect()["sock_bytes"] for box in (one, two)]
    own = [sock_of(f"{path}/{name}") for name in ("one", "two")]
    test.check(f"{runtime}: each sees what the pod holds", min(held) > max(own), (held, own))
    leader, other = (one, two) if runs[0] else (two, one)
    peers[0 if leader is one else 1].kill()
    leader.stop(signal.SIGKILL)
    world.wait_for(lambda: live() == [other.name], LONG, "end of the one that squeezed")
    world.wait_for(lambda: journal_of(other.name)["sockets"], LONG, "hand-over of what it squeezed")
    test.check(f"{runtime}: what it squeezed is the other's to give back", True)
    for peer in peers:
        peer.kill()
    world.wait_for(lambda: not journal_of(other.name)["sockets"], LONG, "giving back")
    found = locked_of(other.pid)
    test.check(f"{runtime}: and is given back", found[1] == 0, found)
    other.stop()
    test.check(f"{runtime}: no sysctl was written, as the policy wants it", here.sysctls() == before, here.sysctls())
    world.sh("rmdir", f"{world.CGROUP}{path}", check=False)


def sock_of(path):
    text = world.pathlib.Path(f"{world.CGROUP}{path}/memory.stat").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("sock ")))


def no_pod(test, here, runtime):
    """What is above a container's cgroup is not a pod's by that alone."""
    name = f"nopod-{runtime}"
    box = place(here, runtime, name, policy("16Mi", scope="pod"), cgroup=f"/{name}").start()
    status = box.wait(20)
    test.check(f"{runtime}: the root is no pod", status != 0 and "the root" in box.said[1] or runtime == "crun" and status != 0, box.said)
    stranger = place(here, runtime, f"stranger-{runtime}", None, cgroup=f"/skm/slice/stranger-{runtime}", own_netns=False).up()
    box = place(here, runtime, name, policy("16Mi", scope="pod"), port="7001", cgroup=f"/skm/slice/{name}").start()
    status = box.wait(20)
    log = world.pathlib.Path("/run/sockmem/hook.log").read_text(encoding="ascii").splitlines()[-1]
    test.check(f"{runtime}: nor is one with a container of another namespace", status != 0 and "is no pod" in log and name in log, log)
    test.check(f"{runtime}: nothing is left of either", not live() and not journals(), live())
    stranger.stop()


# -- cgroups ------------------------------------------------------------------------------------------------------


class InCgroup(ByHand):
    """A process by hand in a cgroup of the test's making."""

    def move(self, cgroup):
        (cgroup / "cgroup.procs").write_text(str(self.process.pid), encoding="ascii")


def cgroups_without_memory(test, here, _):
    """Not delegated, and threaded: refused in one line that says where it is missing."""
    if not daemons():
        start_daemon()
    outer, inner = SKM / "bare", SKM / "bare/in"
    with InCgroup(here, "bare") as process:
        inner.mkdir(parents=True)
        try:
            process.move(inner)
            done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
            wanted = [f"{inner} has no memory controller", f"{outer} does not delegate it"]
            test.check("a cgroup without the controller is refused", done.returncode == 1 and all(w in done.stderr for w in wanted), done)
            test.check("in one line", done.stderr.count("\n") == 1, done.stderr)
            process.move(process.cgroup)
            (inner / "cgroup.type").write_text("threaded", encoding="ascii")
            process.move(outer)
            process.move(inner)
            done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
            test.check("so is a threaded one", done.returncode == 1 and f"{inner} is threaded" in done.stderr, done)
            test.check("nothing is held", not live() and not journals(), live())
            process.move(process.cgroup)
        finally:
            process.process.kill()
            process.process.wait()
            for cgroup in (inner, outer):
                world.wait_for(lambda cgroup=cgroup: not run("rmdir", cgroup).returncode, 5, f"removal of {cgroup}")


def cgroup_namespaces(test, here, runtime):
    """A container's private one is nothing to us; a path out of ours is."""

    def private(config):
        config["linux"]["namespaces"].append({"type": "cgroup"})

    box = place(here, runtime, f"private-{runtime}", {TCPMEM: "32Mi"}, change=private).up()
    inside = world.sh("nsenter", "-t", box.pid, "-C", "cat", f"/proc/{box.pid}/cgroup").strip()
    report = box.inspect()
    test.check(f"{runtime}: a private cgroup namespace hides its path inside", box.name not in inside, inside)
    test.check(f"{runtime}: and not from us", report["cgroup"].endswith(f"/skm/{box.name}"), report["cgroup"])
    box.stop()
    if runtime != "runc":
        return
    inner = SKM / "hooks"
    inner.mkdir(exist_ok=True)
    with ByHand(here, "escape") as process:
        mount = here.dir / "cgroup"
        mount.mkdir()
        inside = f"mount -t cgroup2 none {mount} && exec {world.HOOK} createRuntime"
        script = f"echo $$ > {inner}/cgroup.procs; exec unshare --cgroup --mount sh -c '{inside}'"
        done = run("sh", "-c", script, input=process.state(annotations={TCPMEM: "32Mi"}))
        test.check("a path that leads out of our cgroup namespace is refused", done.returncode == 1 and "leads out" in done.stderr, done)
        test.check("and nothing is held", not live(), live())
    inner.rmdir()


def unmapped_users(test, here, runtime):
    """C10: a user namespace with one user. The namespace belongs to it, and is the kernel's all the same."""

    def map_one_user(config):
        config["linux"]["namespaces"].append({"type": "user"})
        for which in ("uidMappings", "gidMappings"):
            config["linux"][which] = [{"containerID": 0, "hostID": 100000, "size": 1}]

    box = place(here, runtime, f"userns-{runtime}", {TCPMEM: "8Mi"}, "--rate", "5M", change=map_one_user, own_netns=False, memory_max=None)
    world.sh("chown", "-R", "100000:100000", box.folder)
    box.up()
    into = ["nsenter", "-t", str(box.pid), "-n"]
    rmem = world.sh(*into, "cat", "/proc/sys/net/ipv4/tcp_rmem")
    test.check(f"{runtime}: its sysctls are written", start_of(rmem) == 16384, rmem)
    test.check(f"{runtime}: nothing is skipped", box.inspect()["skipped"] == [], box.inspect()["skipped"])
    world.sh(*into, "ip", "link", "set", "lo", "up")
    peer = blast(here, into, "7000", "--duration", "60s")
    world.wait_for(lambda: locked_of(box.pid)[1] > 0, LONG, "squeezed sockets")
    test.check(f"{runtime}: its open sockets are squeezed", True)
    peer.kill()
    box.stop()


# -- processes ----------------------------------------------------------------------------------------------------


def moved(test, here, runtime):
    """C05: a manager moves the process after the hook. What its old sockets hold stays where it was charged."""
    # a reader this slow lets no window grow, so that a connection holds some 80 KB: enough of them to be seen
    box = place(here, runtime, f"moved-{runtime}", {TCPMEM: "64Mi"}, "--rate", "1M", memory_max=None).up()
    peer = box.blast("--idle", "4s", "--duration", "30s", connections=100)
    world.wait_for(here.dialled.exists, LONG, "connections")
    elsewhere = SKM / f"elsewhere-{runtime}"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "cgroup.procs").write_text(str(box.pid), encoding="ascii")
    world.wait_for(lambda: box.inspect()["outside_processes"] == 1, LONG, "flag of the process outside")
    told = [text for text in events(box.name, "trouble") if "outside its cgroup" in text]
    test.check(f"{runtime}: a process outside its cgroup is counted and told", len(told) == 1 and elsewhere.name in told[0], told)
    shown = run("sockmem", "inspect", box.name).stdout
    test.check(f"{runtime}: inspect says so", "outside its cgroup: 1" in shown, shown)
    world.wait_for(lambda: box.inspect()["sock_bytes"] > 4 * MIB, LONG, "bytes in its old sockets")
    other = sock_of(f"/skm/{elsewhere.name}")
    test.check(f"{runtime}: what its old sockets hold is counted where they were made", other < MIB, other)
    where = world.pathlib.Path(f"/proc/{box.pid}/cgroup").read_text(encoding="ascii").strip()
    test.check(f"{runtime}: sockmem moves no process", where.endswith(elsewhere.name), where)
    peer.kill()
    box.stop()
    elsewhere.rmdir()


def without_init(test, here, _):
    """A container whose init has ended while a child lives on is adopted after a crash."""
    before = here.sysctls()
    with ByHand(here, "headless") as process:
        done = process.hook("createRuntime", annotations={TCPMEM: "32Mi"})
        test.check("the container is held", done.returncode == 0 and live() == ["headless"], done)
        child = here.start("ip", "netns", "exec", here.netns, "sleep", "100")
        world.wait_for(lambda: pids_of("sleep").count(child.pid) == 1, LONG, "child")
        (process.cgroup / "cgroup.procs").write_text(str(child.pid), encoding="ascii")
        process.process.kill()
        process.process.wait()
        time.sleep(0.3)
        test.check("with its init gone it is held still", live() == ["headless"], live())
        stop_daemon(signal.SIGKILL)
        start_daemon()
        test.check("and adopted by the next enforcer", live() == ["headless"] and "adopted" in kinds("headless"), live())
        test.check("with its namespace as it was held", start_of(here.sysctl("tcp_rmem")) == 32768, here.sysctl("tcp_rmem"))
        child.kill()
        child.wait()
        world.wait_for(lambda: not live(), LONG, "end of the last process")
        test.check("its end gives back", here.sysctls() == before, here.sysctls())


# (name, part, the runtime it is done with unless all are wanted; None: it needs none)
PARTS = [
    ("host-netns", host_netns, "crun"),
    ("shared-netns", shared_netns, "runc"),
    ("foreign-hand", foreign_hand, None),
    ("podman-shared", podman_shared, "crun"),
    ("pod", pod, "crun"),
    ("no-pod", no_pod, "runc"),
    ("cgroups-without-memory", cgroups_without_memory, None),
    ("cgroup-namespaces", cgroup_namespaces, "runc"),
    ("unmapped-users", unmapped_users, "runc"),
    ("moved", moved, "crun"),
    ("without-init", without_init, None),
]
