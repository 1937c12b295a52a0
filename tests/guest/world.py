# SPDX-License-Identifier: Apache-2.0
"""The small world of a guest test: a container's network namespace and a peer's, joined by a veth, a bundle, and the load.

Runs as root inside a guest of tests/vm/run. Everything made here is removed by World.close().
"""

import json
import os
import pathlib
import shutil
import subprocess
import time

BUILD = pathlib.Path(os.environ.get("SKM_BUILD", "/src/build/vm"))
SOCKLOAD = BUILD / "tests/load/sockload"
HOOK = "/usr/local/libexec/sockmem/sockmem-hook"
CGROUP = pathlib.Path("/sys/fs/cgroup")
CONTAINER4, PEER4, CONTAINER6, PEER6 = "10.77.0.1", "10.77.0.2", "fd77::1", "fd77::2"
NETNS_SYSCTLS = ("tcp_rmem", "tcp_wmem", "tcp_notsent_lowat")


def sh(*words, check=True, **options):
    """Runs a command and returns what it printed."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def on_v1():
    return (CGROUP / "memory/memory.limit_in_bytes").exists() or (CGROUP / "memory/tasks").exists()


def warm_up():
    """Reads the programs from the disk once: in a guest that has just booted that takes longer than the hook has for all its work."""
    for program in ("sockmemd", "sockmem", "runc", "crun"):
        sh(program, "--version")


def wait_for(condition, seconds, what):
    """Polls until condition() is true; raises with `what` when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"after {seconds} s still no {what}")
        time.sleep(0.02)


class World:
    """Two namespaces and a veth between them; delay_ms puts netem on the peer's side."""

    def __init__(self, name="skm", delay_ms=0):
        self.netns, self.peer = f"{name}-c", f"{name}-p"
        self.dir = pathlib.Path(f"/run/skm-test/{name}")
        self.processes = []
        self.ids = []
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir(parents=True)
        for ns in (self.netns, self.peer):
            sh("ip", "netns", "add", ns)
            sh("ip", "-n", ns, "link", "set", "lo", "up")
        sh("ip", "-n", self.netns, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.peer)
        for ns, four, six in ((self.netns, CONTAINER4, CONTAINER6), (self.peer, PEER4, PEER6)):
            sh("ip", "-n", ns, "addr", "add", f"{four}/24", "dev", "eth0")
            sh("ip", "-n", ns, "addr", "add", f"{six}/64", "dev", "eth0", "nodad")
            sh("ip", "-n", ns, "link", "set", "eth0", "up")
        if delay_ms:
            sh("modprobe", "sch_netem")
            sh("tc", "-n", self.peer, "qdisc", "add", "dev", "eth0", "root", "netem", "delay", f"{delay_ms}ms", "limit", "100000")

    def close(self):
        self.end_all()
        for ns in (self.netns, self.peer):
            sh("ip", "netns", "del", ns, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def end_all(self):
        """Ends the processes and containers that were started here."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for runtime, container in self.ids:
            sh(runtime, "delete", "--force", container, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def sysctl(self, key, ns=None):
        return sh("ip", "netns", "exec", ns or self.netns, "cat", f"/proc/sys/net/ipv4/{key}").strip()

    def sysctls(self, ns=None):
        return {key: self.sysctl(key, ns) for key in NETNS_SYSCTLS}

    def start_peer(self, *words):
        """A sockload verb in the peer's namespace; its JSON goes to a file of that name."""
        return self.start("ip", "netns", "exec", self.peer, SOCKLOAD, *words)

    def start(self, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options):
        process = subprocess.Popen([str(w) for w in words], stdout=stdout, stderr=stderr, text=True, **options)
        self.processes.append(process)
        return process

    def bundle(self, container, args, annotations=None, memory_max=None, kernel_tcp=None, hooks=True, own_netns=True, netns=True):
        """Writes a bundle whose only program is sockload; returns its folder."""
        folder = self.dir / f"bundle-{container}"
        rootfs = folder / "rootfs"
        for name in ("proc", "dev", "sys", "tmp"):
            (rootfs / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(SOCKLOAD, rootfs / "sockload")
        namespaces = [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]
        if netns:
            namespaces.append({"type": "network", "path": f"/run/netns/{self.netns}"} if own_netns else {"type": "network"})
        memory = {}
        if memory_max:
            memory["limit"] = memory_max
        if kernel_tcp:
            memory["kernelTCP"] = kernel_tcp
        config = {
            "ociVersion": "1.0.2",
            "process": {
                "terminal": False,
                "user": {"uid": 0, "gid": 0},
                "args": [str(a) for a in args],
                "env": ["PATH=/"],
                "cwd": "/",
                "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 20000, "soft": 20000}],
                "noNewPrivileges": True,
            },
            "root": {"path": "rootfs", "readonly": False},
            "hostname": "skm",
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            ],
            "linux": {
                "cgroupsPath": f"/skm/{container}",
                "namespaces": namespaces,
                "resources": {"memory": memory} if memory else {},
            },
        }
        if annotations:
            config["annotations"] = annotations
        if hooks is True:
            hooks = {stage: [{"path": HOOK, "args": ["sockmem-hook"]}] for stage in ("createRuntime", "poststop")}
        if hooks:
            config["hooks"] = hooks
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    def run_container(self, runtime, container, folder, *words, **options):
        """`RUNTIME run` in the background, with more words if wanted; its end is the container's end."""
        self.ids.append((runtime, container))
        return self.start(runtime, "run", "--bundle", folder, *words, container, **options)

    @staticmethod
    def cgroup_dir(container):
        return CGROUP / ("memory" if on_v1() else "") / "skm" / container

    def watch(self, container, out, seconds):
        words = [SOCKLOAD, "watch", "--cgroup", self.cgroup_dir(container), "--wait", "20s", "--duration", f"{seconds}s"]
        words += ["--interval", "5ms", "--nice", "-10", "--out", out]
        return self.start(*(words + ["--v1"] if on_v1() else words))


def last_json(text):
    """The last line that is a JSON object, or None."""
    for line in reversed(text.strip().splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    try:
        return json.loads(text)
    except ValueError:
        return None
