# SPDX-License-Identifier: Apache-2.0
"""What the black-box tests of the hook and the CLI share: a run folder of their own, an enforcer that does as it is told,
and the lines `ok` and `not ok`.
"""

import array
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TOP = pathlib.Path(__file__).resolve().parents[1]
checks = []


def check(function):
    """Registers a check; its name with spaces is what is printed."""
    checks.append(function)
    return function


def build_folder():
    return pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SKM_BUILD", TOP / "build")).resolve()


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {got!r}, not {wanted!r}")


def run_checks():
    """Runs all, prints a line for each and the sum. Returns the exit status."""
    failed = 0
    for function in checks:
        name = function.__name__.replace("_", " ")
        try:
            with World() as world:
                function(world)
            print(f"ok {name}", flush=True)
        except Exception as fault:  # pylint: disable=broad-except
            failed += 1
            where = traceback.extract_tb(fault.__traceback__)
            line = next((f.lineno for f in reversed(where) if "blackbox.py" not in f.filename), 0)
            print(f"not ok {name}: line {line}: {fault}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed or not checks else 0


class Enforcer:
    """Listens at path and treats each request by its manner:

    accept, refuse, silent (reads and never answers), deaf (never accepts), close (hangs up), garbage, or a function
    from request to data. requests: what came, each with the number of its descriptors and what they lead to.
    """

    def __init__(self, path, manner, backlog=16):
        self.manner, self.requests, self.connections = manner, [], 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(str(path))
        self.socket.listen(backlog)
        self.open = []
        if manner != "deaf":
            self.thread = threading.Thread(target=self.serve, daemon=True)
            self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            if self.manner == "close":
                connection.close()
            else:
                self.treat(connection)

    def treat(self, connection):
        text, ancillary, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(16 * 4))
        fds = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        if text:
            request = json.loads(text)
            request["leads_to"] = [os.readlink(f"/proc/self/fd/{fd}") for fd in fds]
            self.requests.append(request)
        for fd in fds:
            os.close(fd)
        answer = self.answer(text)
        if answer:
            connection.send(answer)

    def answer(self, text):
        if self.manner == "silent" or not text:
            return None
        if self.manner == "garbage":
            return b"\xff{]"
        if self.manner == "version":
            return b'{"version":99,"ok":true}'
        if self.manner == "refuse":
            error = {"code": 16, "text": "the enforcer says no,\nbecause\033[31m"}
            return json.dumps({"version": 1, "ok": False, "error": error}).encode()
        answer = {"version": 1, "ok": True}
        if callable(self.manner):
            data = self.manner(json.loads(text))
            if isinstance(data, tuple):  # an errno and a text
                answer = {"version": 1, "ok": False, "error": {"code": data[0], "text": data[1]}}
            else:
                answer["data"] = data
        return json.dumps(answer).encode()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self.open:
            connection.close()


class World:
    """A run folder, a process that stands for a container, and whatever was started; all gone at the end."""

    def __enter__(self):
        self.run_dir = pathlib.Path(tempfile.mkdtemp(prefix="skm-blackbox-"))
        self.socket = self.run_dir / "sockmemd.sock"
        self.enforcers, self.pids = [], []
        self.container = subprocess.Popen(["sleep", "600"])
        return self

    def __exit__(self, *_):
        for enforcer in self.enforcers:
            enforcer.close()
        self.container.kill()
        self.container.wait()
        for pid in self.pids:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.run_dir)

    def enforcer(self, manner, **options):
        enforcer = Enforcer(self.socket, manner, **options)
        self.enforcers.append(enforcer)
        return enforcer

    def environment(self, **more):
        """All that a program under test gets: the places of this test."""
        return {"SKM_RUN_DIR": str(self.run_dir), "SKM_DAEMON": "/nonexistent/sockmemd", **more}


class Done:
    """How a command ended: its status, texts and seconds."""

    def __init__(self, words, environment, text=b"", **options):
        begin = time.monotonic()
        if "stdin" not in options:
            options["input"] = text
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        done = subprocess.run([str(w) for w in words], env=environment, timeout=30, check=False, **options)
        self.seconds = time.monotonic() - begin
        self.status = done.returncode
        self.stdout = (done.stdout or b"").decode(errors="surrogateescape")
        self.stderr = (done.stderr or b"").decode(errors="surrogateescape")
