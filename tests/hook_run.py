# SPDX-License-Identifier: Apache-2.0
"""Runs the built hook as a runtime does, and judges what it says."""

import json
import time

from blackbox import Done, build_folder, equal, expect

BUILD = build_folder()
HOOK = BUILD / "plugin/hook/sockmem-hook-test"
INSTALLED = BUILD / "plugin/hook/sockmem-hook"


def state(world, status="creating", annotations=None, **more):
    """A state as runc writes it."""
    text = {"ociVersion": "1.0.2", "id": "web-1", "status": status, "pid": world.container.pid, "bundle": str(world.run_dir)}
    if annotations is not None:
        text["annotations"] = annotations
    text.update(more)
    return json.dumps({key: value for key, value in text.items() if value is not None}).encode()


def short(world, size="64Mi", **more):
    return state(world, annotations={"io.sockmem.tcpmem": size}, **more)


def run(world, stdin, *arguments, program=HOOK, environment=None, **options):
    done = Done([program, *arguments], environment or world.environment(), stdin, **options)
    expect(done.status >= 0, f"killed by signal {-done.status}")
    equal(done.stdout, "", "stdout")
    return done


def silent(done, status=0):
    equal((done.status, done.stderr), (status, ""), "status and stderr")


def one_line(done, *parts, status=1):
    """Asserts one line of plain text on stderr that holds all the parts, and gives it."""
    equal(done.status, status, f"status with stderr {done.stderr!r}")
    expect(done.stderr.endswith("\n") and done.stderr.count("\n") == 1, f"not one line: {done.stderr!r}")
    expect(all(" " <= c <= "~" for c in done.stderr[:-1]), f"not printable ASCII: {done.stderr!r}")
    for part in parts:
        expect(part in done.stderr, f"{part!r} is not in {done.stderr!r}")
    return done.stderr


def write_program(world, text, name="daemon"):
    path = world.run_dir / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def wait_for(path, seconds=5):
    deadline = time.monotonic() + seconds
    while not path.exists():
        expect(time.monotonic() < deadline, f"no {path.name} after {seconds} s")
        time.sleep(0.01)
    return path.read_text()
