# SPDX-License-Identifier: Apache-2.0
"""A policy's memory.min, low, high and max: set, kept, given back; what they do under a neighbour's pressure and beside sockets."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import world
from box import MIB, POLICY, Box, ask, daemons, ended, journal_of, kinds, live, run, start_daemon, stop_daemon

FILES = ("memory.min", "memory.low", "memory.high", "memory.max")
NODE_FILE = pathlib.Path("/etc/sockmem/sockmem.json")
CHECK = 2.5  # the enforcer looks once a second


def prepare():
    """Tenants of this node may ask for protection."""
    NODE_FILE.parent.mkdir(exist_ok=True)
    NODE_FILE.write_text(json.dumps({"allow": ["tcpmem", "memory", "throttle", "onError"]}), encoding="ascii")
    stop_daemon()
    world.warm_up()
    start_daemon()


def policy(**keys):
    return {POLICY: json.dumps(keys)}


def read(cgroup, file):
    return (cgroup / file).read_text(encoding="ascii").strip()


def values(cgroup):
    return [read(cgroup, file) for file in FILES]


def write(cgroup, file, value):
    (cgroup / file).write_text(str(value), encoding="ascii")


def stat(cgroup, key):
    return int(re.search(rf"^{key} (\d+)$", (cgroup / "memory.stat").read_text(encoding="ascii"), re.M).group(1))


def in_cgroup(cgroup, *words):
    """Runs a command as one of the cgroup's own."""
    text = f"echo $$ > {cgroup}/cgroup.procs && exec \"$@\""
    return subprocess.run(["sh", "-c", text, "sh", *[str(w) for w in words]], check=True, stdout=subprocess.DEVNULL)


def texts(name, kind="memory"):
    return [event["text"] for event in ask("events", name) if event["kind"] == kind]


def is_number(text, wanted):
    return text == str(wanted)


# -- set and given back -----------------------------------------------------------------------------------------------


def applied(test, here):
    """Every value, under both runtimes, beside a limit on sockets; and without one."""
    for runtime in ("runc", "crun"):
        box = Box(here, runtime, f"applied-{runtime}", policy(
            tcpmem="32Mi", memory={"min": "8Mi", "low": "16Mi", "high": "100Mi", "max": "140Mi", "propagate": True}
        )).up()  # fmt: skip
        cgroup, above = here.cgroup_dir(box.name), here.cgroup_dir(box.name).parent
        wanted = [str(8 * MIB), str(16 * MIB), str(132 * MIB), str(140 * MIB)]
        test.check(f"{runtime}: min, low, high + limit, max stand", values(cgroup) == wanted, values(cgroup))
        test.check(f"{runtime}: low of the cgroup above is raised, min is not", values(above)[:2] == ["0", str(16 * MIB)], values(above))
        report = box.inspect()
        test.check(f"{runtime}: inspect has memory.max as it stands", report["memory_max_bytes"] == 140 * MIB, report)
        test.check(f"{runtime}: and what is skipped", any("memory.min" in text for text in report["skipped"]), report["skipped"])
        test.check(f"{runtime}: each write is an event", len(texts(box.name)) == report["memory_writes"] == 5, texts(box.name))
        status = box.stop()
        test.check(f"{runtime}: it ends well", status == 0 and not box.said[1], box.said)
        test.check(f"{runtime}: the cgroup above has its values back", values(above) == ["0", "0", "max", "max"], values(above))
    box = Box(here, "runc", "alone", policy(memory={"low": "16Mi", "max": "100%"})).up()
    report = box.inspect()
    test.check("a policy without a limit on sockets is held too", report["backend"] == "none" and report["limit_bytes"] is None, report)
    test.check("its percentage is of the runtime's memory.max", read(here.cgroup_dir("alone"), "memory.max") == str(152 * MIB), report)
    time.sleep(2)
    looks = box.inspect()["samples"] - report["samples"]
    test.check("it is looked at once a second, not more", looks <= 3, looks)
    box.stop()


def refused(test, here):
    """What cannot be, whole and before anything is written."""
    cases = {
        "memory.min above memory.max": (dict(memory={"min": "120Mi", "max": "100Mi"}), "is above memory.max"),
        "memory.max below what is in use": (dict(memory={"max": "64Ki"}), "below what is in use"),
        "a percentage without memory.max": (dict(memory={"low": "50%"}), "has no memory.max"),
    }
    for name, (keys, text) in cases.items():
        box = Box(here, "runc", "refused", policy(**keys), memory_max=None if "percentage" in name else 152 * MIB).start()
        status = box.wait()
        test.check(f"refused: {name}", status != 0 and text in box.said[1], box.said[1])
        test.check(f"refused: {name}: nothing is held", live() == [], live())
    box = Box(here, "runc", "warned", policy(memory={"low": "50%"}, onError="warn"), memory_max=None).up()
    test.check("with onError warn it starts all the same", live() == [] and read(here.cgroup_dir("warned"), "memory.low") == "0")
    box.stop()


class Group:
    """A cgroup that outlives its processes, with one that sleeps in the container's namespace."""

    def __init__(self, here, name):
        self.name, self.here = name, here
        self.cgroup = world.CGROUP / "skm" / name
        self.cgroup.parent.mkdir(exist_ok=True)
        write(self.cgroup.parent, "cgroup.subtree_control", "+memory")
        self.cgroup.mkdir()
        self.process = here.start("ip", "netns", "exec", here.netns, "sleep", "100")
        world.wait_for(lambda: pathlib.Path(f"/proc/{self.process.pid}/comm").read_text().strip() == "sleep", 10, "sleep")
        write(self.cgroup, "cgroup.procs", self.process.pid)

    def register(self, **keys):
        state = {"ociVersion": "1.0.2", "id": self.name, "status": "creating", "pid": self.process.pid, "bundle": "/nonexistent"}
        return run(world.HOOK, "createRuntime", input=json.dumps(state | {"annotations": policy(**keys)}))

    def end(self):
        self.process.kill()
        self.process.communicate()
        world.wait_for(lambda: not live(), 10, "end of its record")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()
        for _ in range(100):
            try:
                self.cgroup.rmdir()
                return
            except OSError:
                time.sleep(0.02)


ODD = (str(1 * MIB), str(2 * MIB), str(300 * MIB), str(400 * MIB))  # what stands before


def baselines(test, here):
    """Byte for byte back: at the end, after kill -9, and where the container ended while no enforcer ran."""
    keys = dict(memory={"min": "8Mi", "low": "16Mi", "high": "100Mi", "max": "140Mi", "propagate": True})
    for how in ("at its end", "after kill -9 and another enforcer", "where it ended without an enforcer"):
        with Group(here, "back") as group:
            above = group.cgroup.parent
            write(above, "memory.low", 3 * MIB)
            for file, value in zip(FILES, ODD):
                write(group.cgroup, file, value)
            before = values(group.cgroup), values(above)
            done = group.register(**keys)
            test.check(f"baselines {how}: registered", done.returncode == 0 and values(group.cgroup) != before[0], done)
            if how != "at its end":
                stop_daemon(signal.SIGKILL)
                test.check(f"baselines {how}: the values outlive the enforcer", values(group.cgroup)[3] == str(140 * MIB))
            if "without" in how:
                group.process.kill()
                group.process.communicate()
            if how != "at its end":
                start_daemon()
            if "another" in how:
                test.check(f"baselines {how}: it is adopted", live() == ["back"] and "adopted" in kinds("back"), kinds("back"))
                write(group.cgroup, "memory.max", "max")
                time.sleep(CHECK)
                test.check(f"baselines {how}: and looked after", values(group.cgroup)[3] == str(140 * MIB), values(group.cgroup))
            group.end()
            after = values(group.cgroup), values(above)
            test.check(f"baselines {how}: every value is back", after == before, f"{before} -> {after}")
            write(above, "memory.low", 0)


# -- what others write ------------------------------------------------------------------------------------------------


def writes_of(pid, seconds, action):
    """How often the enforcer wrote to files of the memory controller meanwhile, as strace saw it."""
    out = pathlib.Path("/tmp/strace.out")
    words = ["strace", "-f", "-y", "-e", "trace=write,pwrite64", "-o", out, "-p", pid]
    with subprocess.Popen([str(w) for w in words], stderr=subprocess.PIPE, text=True) as tracer:
        tracer.stderr.readline()  # "Process N attached"
        action()
        time.sleep(seconds)
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
    return sum(1 for line in out.read_text(errors="replace").splitlines() if re.search(r"/memory\.(min|low|high|max)>", line))


def rewritten(test, here):
    """C19: by a hand, by runc update; ten quick changes; stricter values."""
    box = Box(here, "runc", "others", policy(memory={"low": "16Mi", "high": "100Mi", "max": "140Mi"})).up()
    cgroup = here.cgroup_dir(box.name)
    wanted = values(cgroup)
    write(cgroup, "memory.high", "max")
    write(cgroup, "memory.low", 0)
    time.sleep(CHECK)
    test.check("a hand that rewrites memory.high and low: both are back", values(cgroup) == wanted, values(cgroup))
    test.check("and counted", box.inspect()["memory_reasserted"] == 2, box.inspect()["memory_reasserted"])
    done = run("runc", "update", "--memory", 150 * MIB, "--memory-swap", 150 * MIB, box.name)
    test.check("runc update is taken", done.returncode == 0 and values(cgroup)[3] == str(150 * MIB), f"{done} {values(cgroup)}")
    time.sleep(CHECK)
    test.check("runc update to a larger memory.max: ours is back", values(cgroup) == wanted, values(cgroup))

    def ten_changes():
        for i in range(10):
            write(cgroup, "memory.max", (200 + i) * MIB)
            time.sleep(0.5)

    time.sleep(3)
    before = box.inspect()
    seen = writes_of(daemons()[0], 1, ten_changes)
    reasserted = box.inspect()["memory_reasserted"] - before["memory_reasserted"]
    print(f"# ten changes in 5 s: {reasserted} put back, {seen} writes seen by strace", flush=True)
    test.check("ten quick changes cost a bounded number of writes", 1 <= reasserted <= 4 and seen == reasserted, f"{reasserted} {seen}")
    quiet = writes_of(daemons()[0], 3, lambda: None)
    world.wait_for(lambda: values(cgroup) == wanted, 12, "value of ours after the back-off")
    test.check("a value that stands costs no write", quiet <= 1, quiet)
    run("runc", "update", "--memory", 90 * MIB, "--memory-swap", 90 * MIB, box.name)
    world.wait_for(lambda: box.inspect()["memory_taken_over"] == 1, 20, "take-over")
    test.check("runc update to a smaller memory.max stays", values(cgroup)[3] == str(90 * MIB), values(cgroup))
    test.check("and is said", any("stricter" in text for text in texts(box.name)), texts(box.name))
    test.check("and shown", box.inspect()["memory_max_bytes"] == 90 * MIB, box.inspect()["memory_max_bytes"])
    box.stop()


def under_systemd(here, runtime, name, **keys):
    """A container in a scope of systemd's, up and serving; its own cgroup and, where the runtime nests one, the scope."""
    box = Box(here, runtime, name, policy(**keys))
    config = json.loads((box.folder / "config.json").read_text(encoding="utf-8"))
    config["linux"]["cgroupsPath"] = f"system.slice:skm:{name}"
    (box.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    box.process = here.start(runtime, "--systemd-cgroup", "run", "--bundle", box.folder, "--pid-file", box.pid_file, name)
    here.ids.append((runtime, name))
    world.wait_for(lambda: box.ready.exists() or box.process.poll() is not None, 20, f"container {name}")
    if box.process.poll() is not None:
        raise RuntimeError(f"container {name} has failed: {box.process.communicate()[1].strip()}")
    box.pid = int(box.pid_file.read_text(encoding="ascii"))
    path = re.search(r"^0::(.*)$", pathlib.Path(f"/proc/{box.pid}/cgroup").read_text(encoding="ascii"), re.M).group(1)
    cgroup = world.CGROUP / path.lstrip("/")
    levels = [cgroup] if cgroup.name.endswith(".scope") else [cgroup, cgroup.parent]
    return box, levels


def reload(test, here):
    """C19 under systemd, which has its own idea of a scope's values: daemon-reload and set-property."""
    for runtime in ("runc", "crun"):
        box, levels = under_systemd(here, runtime, f"unit-{runtime}", memory={"low": "16Mi", "high": "100Mi", "max": "140Mi"})
        wanted = ["0", str(16 * MIB), str(100 * MIB), str(140 * MIB)]
        found = [values(level) for level in levels]
        test.check(f"{runtime} under systemd: the values stand at {len(levels)} level(s)", found == [wanted] * len(levels), found)
        world.sh("systemctl", "daemon-reload")
        after = [values(level) for level in levels]
        print(f"# {runtime}: daemon-reload: {found} -> {after}", flush=True)
        time.sleep(CHECK)
        found = [values(level) for level in levels]
        test.check(f"{runtime} under systemd: daemon-reload: they stand again", found == [wanted] * len(levels), found)
        before = box.inspect()["memory_reasserted"]
        scope = levels[-1].name
        world.sh("systemctl", "set-property", "--runtime", scope, "MemoryLow=0", "MemoryHigh=infinity", "MemoryMax=infinity")
        world.wait_for(lambda: [values(level) for level in levels] == [wanted] * len(levels), 10, "values of ours")
        count = box.inspect()["memory_reasserted"] - before
        test.check(f"{runtime} under systemd: set-property: they are back, counted", count >= 3, count)
        status = box.stop()
        test.check(f"{runtime} under systemd: it ends well", status == 0, box.said)


# -- memory.high and sockets ------------------------------------------------------------------------------------------

LIMIT, HIGH = 64, 16  # MiB


def drain(here, name, keys, plain_high):
    """A reader at 20 MB/s whose sockets fill to the limit. Returns its rate, the peak of sock in MiB, and memory.high."""
    box = Box(
        here, "runc", name, policy(**keys) if keys else None, "--rate", "20M", "--duration", "7s", "--measure", "2.5:6", memory_max=400 * MIB
    ).up()
    cgroup = here.cgroup_dir(name)
    if plain_high:
        write(cgroup, "memory.high", plain_high)
    peer, peak = box.blast("--duration", "6s"), 0
    end = time.monotonic() + 7
    while box.process.poll() is None:
        if plain_high and time.monotonic() > end:
            write(cgroup, "memory.high", "max")  # a frozen program would take long to end
            break
        try:
            peak, high = max(peak, stat(cgroup, "sock")), read(cgroup, "memory.high")
        except (OSError, AttributeError):
            break  # it has ended
        time.sleep(0.05)
    box.wait()
    peer.kill()
    peer.communicate()
    rate = world.last_json(box.said[0])["window"]["rate"] / 1e6
    print(f"# {name}: reader {rate:.1f} MB/s, sock at most {peak / MIB:.0f} MiB, memory.high {high}", flush=True)
    return rate, peak / MIB, high


def sockets(test, here):
    """memory.high is written as high + limit; the same number without the limit freezes the reader that would drain."""
    limit = {"limit": f"{LIMIT}Mi", "mode": "soft"}
    rate, peak, high = drain(here, "knows", {"tcpmem": limit, "memory": {"high": f"{HIGH}Mi"}}, None)
    test.check("memory.high stands at high + limit, to the end", high == str((LIMIT + HIGH) * MIB), high)
    test.check("the sockets held more than memory.high alone allows", peak > 1.5 * HIGH, peak)
    test.check("the reader drains at its rate", rate > 17, rate)
    plain, peak, high = drain(here, "plain", None, HIGH * MIB)
    # 0 MB/s and 191 MiB on 6.1; 3.7 and 5.4 MB/s with 64 and 31 MiB on 7.3; in a busy guest late, 8.8 MB/s in all
    test.check("a plain memory.high of the same number freezes it", plain < 0.6 * rate, f"{plain} beside {rate}")
    test.check("though what sockets hold stays far above it", peak > 1.5 * HIGH, peak)


# -- lowering memory.max ----------------------------------------------------------------------------------------------


def lowered(test, here):
    """C18: memory.max below what is in use: refused; forced, by steps, which kill nothing where page cache can go."""
    with Group(here, "lower") as group:
        done = group.register(memory={"max": "200Mi"})
        test.check("lowered: registered", done.returncode == 0, done)
        with Disk() as disk:
            data = disk.file("data", 120 * MIB)
            in_cgroup(group.cgroup, "cat", data)
            used = int(read(group.cgroup, "memory.current"))
            new = json.dumps({"memory": {"max": "60Mi"}})
            done = run("sockmem", "set", "lower", new)
            told = done.returncode == 1 and "below what is in use" in done.stderr and values(group.cgroup)[3] == str(200 * MIB)
            test.check("lowered: below what is in use it is refused, with the figures", told, f"{done} {used}")
            began = time.monotonic()
            done = run("sockmem", "set", "--force", "lower", new)
            took = time.monotonic() - began
            test.check("lowered: forced it is taken, and nobody waits for it", done.returncode == 0 and took < 1, f"{done} {took:.1f} s")
            world.wait_for(lambda: values(group.cgroup)[3] == str(60 * MIB), 10, "lower memory.max")
            kills = int(re.search(r"oom_kill (\d+)", (group.cgroup / "memory.events").read_text()).group(1))
            left = int(read(group.cgroup, "memory.current")) <= 60 * MIB
            test.check("lowered: page cache went, nothing was killed", kills == 0 and group.process.poll() is None and left, kills)
            test.check("lowered: it counts as ours", group_reasserted(group) == 0)
        group.end()


def group_reasserted(group):
    return ask("inspect", group.name)["memory_reasserted"]


# -- protection -------------------------------------------------------------------------------------------------------


class Disk:
    """A filesystem whose page cache can be reclaimed: the guest's own root is in memory. Sparse files of it cost no reading."""

    def __init__(self):
        self.mount = pathlib.Path("/mnt/skm-disk")
        world.sh("modprobe", "brd", "rd_nr=1", f"rd_size={2 << 20}")
        world.sh("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,nodiscard", "/dev/ram0")
        self.mount.mkdir(exist_ok=True)
        world.sh("mount", "/dev/ram0", self.mount)

    def file(self, name, size):
        path = self.mount / name
        with open(path, "wb") as file:
            file.truncate(size)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        world.sh("umount", self.mount)
        world.sh("rmmod", "brd")


def meminfo(key):
    return int(re.search(rf"^{key}: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M).group(1)) * 1024


PROGRAM = 16 * MIB  # the size of the server's program file: memory.min; memory.low is twice that
DATA = 48 * MIB
FREE = 480 * MIB  # of the guest's memory that the test leaves to itself
STREAM = 900 * MIB  # what the neighbour reads


class Server:
    """A server in a tree of its own, top/mid/NAME, whose page cache is its program and its data."""

    def __init__(self, here, disk, name, keys, top_values=None):
        self.name, self.top = name, world.CGROUP / f"skm-{name}"
        self.box = Box(here, "runc", name, policy(**keys) if keys else None, memory_max=None, own_netns=False)
        config = json.loads((self.box.folder / "config.json").read_text(encoding="utf-8"))
        config["linux"]["cgroupsPath"] = f"/{self.top.name}/mid/{name}"
        (self.box.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        shutil.copytree(self.box.folder, disk.mount / name, symlinks=True)
        self.box.folder = disk.mount / name
        self.box.ready, self.box.pid_file = self.box.folder / "rootfs/ready", self.box.folder / "pid"
        program, data = self.box.folder / "rootfs/sockload", disk.file(f"{name}.data", DATA)
        world.sh("truncate", "-s", PROGRAM, program)
        self.box.up()
        for file, value in (top_values or {}).items():
            write(self.top, file, value)
        self.cgroup = self.top / "mid" / name
        world.sh("sync")
        drop_caches()
        self.files = program, data

    def load(self):
        in_cgroup(self.cgroup, "cat", *self.files)

    def look(self, has_policy):
        self.report = self.box.inspect() if has_policy else None
        self.shown = self.report["protection"] if has_policy else {"effective_min_bytes": 0, "effective_low_bytes": 0}

    def survives(self):
        left = stat(self.cgroup, "file")
        # what is protected is all that is charged: the program's own memory and the kernel's for it count too
        self.other = int(read(self.cgroup, "memory.current")) - left
        print(f"# {self.name}: {left / MIB:.0f} of {(PROGRAM + DATA) / MIB:.0f} MiB of page cache survive, {self.other / MIB:.1f} MiB beside it; "
              f"low counts {self.shown['effective_low_bytes'] / MIB:.0f}", flush=True)  # fmt: skip
        return left

    def close(self):
        self.box.stop()
        for path in (self.top / "mid", self.top):
            path.rmdir()


class Pressure:
    """Takes the memory that is too much, as huge pages; and a neighbour that reads a file larger than all that is left."""

    def __init__(self, disk):
        self.stream = disk.file("stream", STREAM)
        self.cgroup = world.CGROUP / "neighbour"
        self.cgroup.mkdir(exist_ok=True)
        pages = max(0, meminfo("MemFree") - FREE) // (2 * MIB)
        pathlib.Path("/proc/sys/vm/nr_hugepages").write_text(str(pages), encoding="ascii")

    def press(self):
        in_cgroup(self.cgroup, "cat", self.stream)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pathlib.Path("/proc/sys/vm/nr_hugepages").write_text("0", encoding="ascii")
        self.cgroup.rmdir()


def drop_caches():
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")


def check_protection(test, bare, cut, raised, by_hand):
    left = {server.name: server.survives() for server in (bare, cut, raised, by_hand)}
    # reclaim may take its last batch from what is protected: 30.4 of 32 MiB are left on 7.3
    protected = lambda server: 0.9 * 2 * PROGRAM <= left[server.name] + server.other <= 1.4 * 2 * PROGRAM  # noqa: E731
    test.check("protection: the pressure takes what is not protected", left["bare"] < PROGRAM, left)
    test.check("protection: the program's size was found", cut.report["program_bytes"] == PROGRAM, cut.report["program_bytes"])
    nothing = cut.shown["effective_low_bytes"] == cut.shown["effective_min_bytes"] == 0
    test.check("protection: an ancestor without any cuts it to nothing", nothing, cut.shown)
    test.check("protection: the topmost that does is named", cut.shown["cut_by"] == str(cut.top), cut.shown)
    test.check("protection: nor does more survive", left["cut"] < PROGRAM, left)
    test.check("protection: propagate makes low count", raised.shown["effective_low_bytes"] == 2 * PROGRAM, raised.shown)
    skipped = raised.shown["effective_min_bytes"] == 0 and any("memory.min" in text for text in raised.report["skipped"])
    test.check("protection: memory.min is the pod's affair", skipped, raised.report["skipped"])
    test.check("protection: what is shown survives", protected(raised), left)
    found = by_hand.shown["effective_min_bytes"] / PROGRAM, by_hand.shown["effective_low_bytes"] / (2 * PROGRAM)
    through = all(0.98 < share <= 1 for share in found) and not by_hand.shown["cut_by"]
    test.check("protection: the top level's own counts through a level that claims none", through, by_hand.shown)
    test.check("protection: and survives", protected(by_hand), left)


def protection(test, here):
    """The three levels of the kernel evaluation: memory.min the size of the server's program file, memory.low twice that."""
    exe, keys = {"min": "exe", "low": "2*exe"}, {}
    keys["bare"], keys["cut"], keys["by-hand"] = {}, {"memory": exe}, {"memory": exe}
    keys["raised"] = {"memory": exe | {"propagate": True}}
    by_hand = {"memory.min": PROGRAM, "memory.low": 2 * PROGRAM}
    with Disk() as disk:
        servers = {name: Server(here, disk, name, keys[name], by_hand if name == "by-hand" else None) for name in keys}
        with Pressure(disk) as pressure:
            for server in servers.values():
                server.load()
            for name, server in servers.items():
                server.look(bool(keys[name]))
            pressure.press()
            check_protection(test, servers["bare"], servers["cut"], servers["raised"], servers["by-hand"])
        for server in servers.values():
            server.close()


def shared(test, here):
    """Two containers below one cgroup: the sum above, and down again; a sibling that takes a share is named."""
    keys = dict(memory={"low": "32Mi", "propagate": True})
    first, second = (Box(here, runtime, f"shared-{runtime}", policy(**keys), own_netns=False) for runtime in ("runc", "crun"))
    above = here.cgroup_dir(first.name).parent
    first.up()
    test.check("shared: one needs 32 MiB above", read(above, "memory.low") == str(32 * MIB), values(above))
    second.up()
    test.check("shared: two need 64", read(above, "memory.low") == str(64 * MIB), values(above))
    write(above, "memory.low", 1 * MIB)
    time.sleep(CHECK)
    counted = first.inspect()["memory_reasserted"] + second.inspect()["memory_reasserted"]
    test.check("shared: one of them puts it back", read(above, "memory.low") == str(64 * MIB) and counted == 1, counted)
    first.stop()
    test.check("shared: the other's need stays", read(above, "memory.low") == str(32 * MIB), values(above))
    test.check("shared: the end of one has its record", len(ended(first.name)) == 1 and journal_of(second.name) is not None)
    second.stop()
    test.check("shared: then nothing", read(above, "memory.low") == "0", values(above))


PARTS = {
    "applied": applied,
    "refused": refused,
    "baselines": baselines,
    "rewritten": rewritten,
    "shared": shared,
    "sockets": sockets,
    "lowered": lowered,
    "protection": protection,
}
# where systemd runs: tests/vm/run --init systemd
PARTS_UNDER_SYSTEMD = {"reload": reload}
