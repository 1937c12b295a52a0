# SPDX-License-Identifier: Apache-2.0
"""Two containers side by side, and ratios of interleaved pairs: a ratio is their median, and fails only where both quartiles are too low."""

import json
import statistics
import time

import world


def rate_of(sender):
    """Bytes a second that a sender of ours got across, once it has ended."""
    out, err = sender.communicate(timeout=60)
    result = world.last_json(out)
    if not result or not result.get("acked_bytes"):
        raise RuntimeError(f"no rate: {out} {err}")
    return result["acked_bytes"] / result["data_seconds"]


class Side:
    """A container that reads as fast as it can on port 7001 and at 20 MB/s on port 7000."""

    def __init__(self, name, tcpmem, delay_ms):
        self.name, self.tcpmem = name, tcpmem
        self.world = world.World(name, delay_ms=delay_ms)
        annotations = {"io.sockmem.tcpmem": str(tcpmem)} if tcpmem else None
        args = ["/sockload", "serve", "--port", "7000", "--rate", "20M"]
        folder = self.world.bundle(name, args, annotations, hooks=bool(tcpmem))
        self.runtime = self.world.run_container("runc", name, folder)
        world.wait_for(lambda: self.state() == "running", 20, f"running container {name}")
        # in the container's cgroup and namespaces, as a program of its own
        self.fast = self.world.start("runc", "exec", name, "/sockload", "serve", "--port", "7001", "--rate", "0")
        time.sleep(0.5)

    def state(self):
        text = world.sh("runc", "state", self.name, check=False)
        return json.loads(text)["status"] if text else None

    def stream(self):
        """Bytes a second that the peer gets across in one connection of 2 s, its start included."""
        words = ["--to", world.CONTAINER4, "--port", "7001", "--duration", "2s"]
        return rate_of(self.world.start_peer("stream", *words))

    def watch(self):
        """Samples its sockets. At 5 ms the sampler alone takes a fifth of a processor of an emulated guest, at 10 ms half of that."""
        words = ["watch", "--cgroup", self.world.cgroup_dir(self.name), "--interval", "10ms", "--nice", "-10"]
        return self.world.start(world.SOCKLOAD, *words, "--out", self.world.dir / "samples.jsonl")

    def report(self):
        return json.loads(world.sh("sockmem", "inspect", "--json", self.name))

    def close(self):
        world.sh("runc", "kill", self.name, "KILL", check=False)
        self.world.close()


def upper_quartile(ratios):
    return statistics.quantiles(ratios, n=4)[2]


def collect(pairs, one, floor):
    """So many ratios; where they are too low, as many again. one(i) gives none for a pair that tells nothing: at most as often again."""
    ratios, wanted, i = [], pairs, 0
    while len(ratios) < wanted and i < wanted + pairs:
        ratio = one(i)
        i += 1
        if ratio is not None:
            ratios.append(ratio)
        if len(ratios) == pairs == wanted and upper_quartile(ratios) < floor:
            print(f"# upper quartile {upper_quartile(ratios):.3f}: {pairs} more", flush=True)
            wanted += pairs
    if len(ratios) < wanted:
        raise RuntimeError(f"of {i} pairs only {len(ratios)} tell something: this guest is too slow")
    return ratios


def judge(test, name, ratios, floor):
    low, middle, high = statistics.quantiles(ratios, n=4)
    text = f"median {middle:.3f}, quartiles {low:.3f} to {high:.3f} of {len(ratios)} pairs"
    print(f"# {name}: {text}", flush=True)
    test.check(f"{name}: at least {floor} of the same without sockmem", high >= floor, text)
