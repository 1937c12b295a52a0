# SPDX-License-Identifier: Apache-2.0
"""Counts checks and prints them as every suite of this project does: `ok NAME`, `not ok NAME: why`, `N passed, N failed`."""

import contextlib
import traceback


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, condition, why=""):
        """Prints and counts one check; returns whether it holds."""
        if condition:
            self.passed += 1
            print(f"ok {name}", flush=True)
        else:
            self.failed += 1
            print(f"not ok {name}: {' | '.join(str(why).splitlines())}", flush=True)
        return bool(condition)

    @contextlib.contextmanager
    def part(self, name):
        """A part of a suite: an exception in it is one failed check, and the suite goes on."""
        try:
            yield
        except Exception as error:  # a broken test is a failed test, whatever broke it
            self.check(name, False, f"{type(error).__name__}: {error}")
            traceback.print_exc()

    def finish(self):
        """Prints the sums; the suite's exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
