# SPDX-License-Identifier: Apache-2.0
"""A container of a guest test, from its bundle to its end, and what a test asks sockmem about it."""

import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import world

RUN_DIR = pathlib.Path("/run/sockmem")
SOCKET, JOURNAL, ENDED, HOOK_LOG = RUN_DIR / "sockmemd.sock", RUN_DIR / "journal", RUN_DIR / "ended", RUN_DIR / "hook.log"
SOCKMEMD = "/usr/local/sbin/sockmemd"
TCPMEM, POLICY = "io.sockmem.tcpmem", "io.sockmem.policy"
PORT = "7000"
MIB = 1 << 20
# under emulation, beside a burst, a command may take this long
PATIENCE = 15

SO_COOKIE, SO_BUF_LOCK, RCVBUF_LOCKED = 57, 72, 2
PIDFD_GETFD = 438


# -- what sockmem says ------------------------------------------------------------------------------------------------


def run(*words, **options):
    """Runs a command; the finished process with its texts."""
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, timeout=60, **options)


def ask(*words):
    """`sockmem WORDS --json`, parsed; raises where it fails."""
    done = run("sockmem", *words, "--json")
    if done.returncode != 0:
        raise RuntimeError(f"sockmem {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def live():
    """Ids of the live records; none where no enforcer runs."""
    done = run("sockmem", "list", "--json")
    if done.returncode == 4:
        return []
    if done.returncode != 0:
        raise RuntimeError(f"sockmem list: exit {done.returncode}: {done.stderr.strip()}")
    return [report["id"] for report in json.loads(done.stdout)]


def ended(container):
    """The ended records of an id, the newest first."""
    return [report for report in ask("list", "--ended") if report["id"] == container]


def kinds(container):
    return [event["kind"] for event in ask("events", container)]


def journals():
    return sorted(path for path in JOURNAL.glob("*") if not path.name.startswith(".")) if JOURNAL.is_dir() else []


def journal_of(container):
    """The journal of a container, or None. A folder that is read while a file of it is replaced may show neither, so: some tries."""
    for _ in range(5):
        for path in journals():
            try:
                text = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if text["id"] == container:
                return text
        time.sleep(0.02)
    return None


# -- processes --------------------------------------------------------------------------------------------------------


def pids_of(name):
    """Processes that are called so (comm) and are no zombies."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        comm, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :]
        if comm == name[:15] and not rest.startswith("Z"):
            found.append(int(entry.name))
    return found


def daemons():
    return pids_of("sockmemd")


def open_files(pid):
    """Where the descriptors of a process lead."""
    found = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except OSError:
            continue
    return found


def stop_daemon(number=signal.SIGTERM):
    """Ends the enforcer, and waits for its worker too."""
    for pid in daemons():
        os.kill(pid, number)
    world.wait_for(lambda: not daemons() and not pids_of("sockmem-worker"), 5, "end of the enforcer and its worker")


def start_daemon(*words):
    """By hand, as the hook does it but with options; waits until it listens."""
    subprocess.Popen(
        [SOCKMEMD, "--on-demand", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    world.wait_for(lambda: run("sockmem", "list").returncode == 0, PATIENCE, "answer of the enforcer")


# -- containers -------------------------------------------------------------------------------------------------------


class Box:
    """One container. It serves on PORT until it is stopped, unless args say what else it does."""

    def __init__(self, here, runtime, name, annotations, *options, memory_max=152 * MIB, **bundle):
        self.here, self.runtime, self.name = here, runtime, name
        self.args = ["/sockload", "serve", "--port", PORT, "--ready-file", "/ready", *options]
        self.folder = here.bundle(name, self.args, annotations, memory_max, **bundle)
        self.ready, self.pid_file = self.folder / "rootfs/ready", self.folder / "pid"
        self.process = self.pid = self.said = None

    def start(self):
        """`RUNTIME run` with pipes, as a runtime's caller has them; does not wait."""
        self.ready.unlink(missing_ok=True)
        self.pid_file.unlink(missing_ok=True)
        self.process = self.here.run_container(self.runtime, self.name, self.folder, "--pid-file", self.pid_file)
        return self

    def up(self):
        """Starts it and waits until its program listens."""
        self.start()
        world.wait_for(lambda: self.ready.exists() or self.process.poll() is not None, 20, f"container {self.name}")
        if self.process.poll() is not None:
            raise RuntimeError(f"container {self.name} has failed: {self.process.communicate()[1].strip()}")
        self.pid = int(self.pid_file.read_text(encoding="ascii"))
        return self

    def wait(self, seconds=PATIENCE):
        """Until the runtime has ended and nobody holds its stdout and stderr; its exit status."""
        self.said = self.process.communicate(timeout=seconds)
        return self.process.returncode

    def stop(self, number=signal.SIGTERM):
        os.kill(self.pid, number)
        return self.wait()

    def inspect(self):
        return ask("inspect", self.name)

    def blast(self, *words, connections=50, to=world.CONTAINER4):
        """The peer's connections; here.dialled is there when all are made."""
        self.here.dialled = self.here.dir / "dialled"
        self.here.dialled.unlink(missing_ok=True)
        words = ["--to", to, "--port", PORT, "--connections", connections, *words, "--ready-file", self.here.dialled]
        return self.here.start_peer("blast", *words)

    def sockets(self):
        """Its sockets, duplicated by pidfd_getfd(2). They keep its connections open: close them soon."""
        pidfd = os.pidfd_open(self.pid)
        try:
            numbers = [int(p.name) for p in pathlib.Path(f"/proc/{self.pid}/fd").iterdir() if os.readlink(p).startswith("socket:")]
            return [one for one in (take_socket(pidfd, number) for number in numbers) if one]
        finally:
            os.close(pidfd)


def take_socket(pidfd, number):
    fd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, number, 0)
    return socket.socket(fileno=fd) if fd >= 0 else None


def is_connection(one):
    return one.type == socket.SOCK_STREAM and not one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


def cookie_of(one):
    return int.from_bytes(one.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), "little")


def rcvbuf(one):
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def is_locked(one):
    return bool(one.getsockopt(socket.SOL_SOCKET, SO_BUF_LOCK) & RCVBUF_LOCKED)


def close_all(sockets):
    for one in sockets:
        one.close()


def receive_buffers(ns):
    """SO_RCVBUF of the established connections to PORT in a namespace, as ss shows them."""
    text = world.sh("ip", "netns", "exec", ns, "ss", "-tnmH", "state", "established", "sport", "=", f":{PORT}")
    return [int(number) for number in re.findall(r"\brb(\d+)", text)]


def host_sysctls():
    return {key: pathlib.Path(f"/proc/sys/net/ipv4/{key}").read_bytes() for key in ("tcp_rmem", "tcp_wmem")}


def qdiscs(here):
    """Of the container's namespace, the peer's and the host."""
    where = [["-n", here.netns], ["-n", here.peer], []]
    return [world.sh("tc", *words, "qdisc", "show") for words in where]


class ByHand:
    """A process in a cgroup of its own and in the container's namespace, for a hook that is run by hand."""

    def __init__(self, here, name="by-hand"):
        self.name = name
        self.cgroup = world.CGROUP / "skm" / "by-hand"
        self.cgroup.parent.mkdir(exist_ok=True)
        (self.cgroup.parent / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
        self.cgroup.mkdir(exist_ok=True)
        self.process = here.start("ip", "netns", "exec", here.netns, "sleep", "100")
        world.wait_for(self.is_there, PATIENCE, "program in the namespace")
        (self.cgroup / "cgroup.procs").write_text(str(self.process.pid), encoding="ascii")

    def is_there(self):
        return pathlib.Path(f"/proc/{self.process.pid}/comm").read_text(encoding="ascii").strip() == "sleep"

    def state(self, status="creating", **more):
        text = {"ociVersion": "1.0.2", "id": self.name, "status": status, "pid": self.process.pid, "bundle": "/nonexistent"}
        return json.dumps(text | more)

    def hook(self, *words, text=None, **more):
        """Runs the hook with the state; adds .seconds."""
        began = time.monotonic()
        done = run(world.HOOK, *words, input=self.state(**more) if text is None else text)
        done.seconds = time.monotonic() - began
        return done

    def close(self):
        self.process.kill()
        self.process.communicate()
        for _ in range(200):
            try:
                self.cgroup.rmdir()
                return
            except OSError:
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
