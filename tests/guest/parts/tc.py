# SPDX-License-Identifier: Apache-2.0
"""A container, a neighbour and a peer on one bridge of the host; bulk goes from the peer into the container."""

import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import threading
import time

import world
from box import PATIENCE, Box, ask, journal_of, journals, run, start_daemon, stop_daemon

VERB = world.BUILD / "tests/unit/tc-verb"
BRIDGE = "skm-br"
PORT, ECHO = "7000", 5300
SLOW, FAST = 1250000, 12500000  # bytes/s: 10 and 100 Mbit/s
GBIT40, OVER_32_BITS = 5000000000, (1 << 32) + 12345
# under emulation, beside bulk, a packet that waits for nothing may still take this long
AT_ONCE_MS = 60
CLONE_NEWNET = 0x40000000
CONNECTIONS = 8


class Member:
    """A network namespace with a veth to the bridge; its host end is called as it is."""

    def __init__(self, name, number, mtu):
        self.name, self.four, self.six = name, f"10.78.0.{number}", f"fd78::{number}"
        world.sh("ip", "netns", "add", name)
        self.ip("link", "set", "lo", "up")
        world.sh("ip", "link", "add", name, "mtu", mtu, "type", "veth", "peer", "name", "eth0", "netns", name)
        world.sh("ip", "link", "set", name, "master", BRIDGE, "up")
        self.ip("addr", "add", f"{self.four}/24", "dev", "eth0")
        self.ip("addr", "add", f"{self.six}/64", "dev", "eth0", "nodad")
        self.ip("link", "set", "eth0", "mtu", mtu, "up")

    def ip(self, *words):
        return world.sh("ip", "-n", self.name, *words)

    def words(self, *words):
        return ["ip", "netns", "exec", self.name, *words]

    def received(self):
        """Bytes of IP that came in, of both families, behind whatever shapes them."""
        text = world.sh(*self.words("cat", "/proc/net/netstat", "/proc/net/snmp6"))
        names, values = [line.split() for line in text.splitlines() if line.startswith("IpExt:")]
        return int(values[names.index("InOctets")]) + int(re.search(r"Ip6InOctets\s+(\d+)", text)[1])


class Net:
    """All of it, and the processes in it; closes everything."""

    def __init__(self, mtu=1500):
        self.processes, self.members = [], []
        world.sh("ip", "link", "add", BRIDGE, "mtu", mtu, "type", "bridge")
        world.sh("ip", "link", "set", BRIDGE, "up")
        self.container, self.neighbour, self.peer = (Member(name, number, mtu) for number, name in enumerate(("skm-c", "skm-n", "skm-p"), 1))
        self.members = [self.container, self.neighbour, self.peer]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for process in self.processes:
            process.kill()
            process.communicate()
        for member in self.members:
            world.sh("ip", "netns", "del", member.name, check=False)
            world.sh("ip", "link", "del", member.name, check=False)
        world.sh("ip", "link", "del", BRIDGE, check=False)

    def start(self, member, *words):
        process = world.subprocess.Popen(
            member.words(*[str(w) for w in words]), stdout=world.subprocess.PIPE, stderr=world.subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process

    def verb(self, *words):
        """tc-verb on the container's namespace: what it printed, or its one line of stderr as a str."""
        done = run(VERB, f"/run/netns/{self.container.name}", *words)
        if done.returncode == 0:
            return json.loads(done.stdout) if done.stdout else {}
        return done.stderr.strip()

    def bulk(self, seconds, to=None, source=None, sink=None):
        """Connections that send 200 Mbit/s, more than any rate here, to a reader that keeps up: what an emulated guest can do besides."""
        sink, source = sink or self.container, source or self.peer
        self.start(sink, world.SOCKLOAD, "serve", "--port", PORT, "--rate", "0")
        words = ["blast", "--to", to or sink.four, "--port", PORT, "--connections", CONNECTIONS, "--duration", f"{seconds}s", "--rate", "25M"]
        process = self.start(source, world.SOCKLOAD, *words)
        before = sink.received()
        world.wait_for(lambda: sink.received() > before + 4000000, 15, "bulk")
        return process


def tc_text(*members):
    """All qdiscs, classes and filters of the host and of some namespaces, without counters."""
    text = ""
    for where in [[]] + [["-n", member.name] for member in members]:
        text += world.sh("tc", *where, "qdisc", "show")
        for link in re.findall(r"^\d+: ([^:@]+)", world.sh("ip", *where, "-o", "link"), re.M):
            text += world.sh("tc", *where, "class", "show", "dev", link, check=False)  # one may go meanwhile
            for parent in ([], ["ingress"], ["egress"]):
                text += world.sh("tc", *where, "filter", "show", "dev", link, *parent, check=False)
    return re.sub(r"direct_packets_stat \d+ ?", "", text)


# -- traffic that must not wait ---------------------------------------------------------------------------------------


class Ping:
    """ping in the background: (lost, longest round trip in ms)."""

    def __init__(self, net, source, to, count, *words, interval=0.05):
        self.process = net.start(source, "ping", "-q", "-i", interval, "-c", count, "-W", "5", *words, to)

    def result(self):
        text = self.process.communicate(timeout=90)[0]
        sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", text).groups()
        times = re.search(r"= [\d.]+/([\d.]+)/([\d.]+)/", text)
        self.average = float(times[1]) if times else float("inf")
        return int(sent) - int(received), self.average, float(times[2]) if times else float("inf")


def udp_socket(member):
    """Made by a thread that goes there: a socket stays where it was made."""
    made = []

    def make():
        with open(f"/run/netns/{member.name}", "rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) == 0:
                made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]


class Names:
    """Questions of 40 bytes and answers of 300 over UDP, as DNS has them: (unanswered, longest in ms)."""

    def __init__(self, net, count):
        self.server, self.client, self.count = udp_socket(net.container), udp_socket(net.peer), count
        self.server.bind((net.container.four, ECHO))
        self.client.connect((net.container.four, ECHO))
        self.server.settimeout(5)
        self.client.settimeout(5)
        self.unanswered, self.times = 0, []
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.answer, self.ask)]
        for thread in self.threads:
            thread.start()

    def answer(self):
        try:
            while True:
                question, who = self.server.recvfrom(2000)
                self.server.sendto(question + bytes(260), who)
        except OSError:
            pass

    def ask(self):
        for number in range(self.count):
            question = number.to_bytes(40, "big")
            began = time.monotonic()
            try:
                self.client.send(question)
                while self.client.recv(2000)[:40] != question:
                    pass
                self.times.append((time.monotonic() - began) * 1000)
            except OSError:
                self.unanswered += 1
            time.sleep(0.05)

    def result(self):
        self.threads[1].join(90)
        average = sum(self.times) / len(self.times) if self.times else float("inf")
        return self.unanswered, average, max(self.times, default=float("inf"))

    def close(self):
        self.server.close()
        self.client.close()


def judge_passing(test, label, result):
    lost, average, longest = result
    text = f"{lost} lost, {average:.1f} ms on average, {longest:.1f} at most"
    print(f"# {label}: {text}", flush=True)
    test.check(f"{label}: nothing is lost", lost == 0, text)
    test.check(f"{label}: at once", average < AT_ONCE_MS, text)


def first_second(net, rate, change, sink=None):
    """What comes through in the second from the end of change() on, as a share of the rate; and in the one after it."""
    sink = sink or net.container
    change()
    began, start = time.monotonic(), sink.received()
    time.sleep(max(0.0, began + 1 - time.monotonic()))
    middle, at = sink.received(), time.monotonic()
    time.sleep(1)
    end, over = sink.received(), time.monotonic()
    return (middle - start) / rate / (at - began), (end - middle) / rate / (over - at)


def judge_rate(test, label, shares):
    first, then = shares
    text = f"{first:.3f} of the rate in the first second, {then:.3f} afterwards"
    print(f"# {label}: {text}", flush=True)
    test.check(f"{label}: the first second is within 1.2 of the rate", first <= 1.2, text)
    test.check(f"{label}: and the rate is used", 0.6 <= then <= 1.05, text)


def apply_or_raise(net, *words):
    answer = net.verb(*words)
    if isinstance(answer, str):
        raise RuntimeError(f"{' '.join(map(str, words))}: {answer}")
    return answer


def shaped(test, net, label, where):
    """Bulk at 10 Mbit/s, beside it all that must not wait; then other rates; then everything as before."""
    before = tc_text(*net.members)
    net.bulk(60)
    beside = Ping(net, net.neighbour, net.peer.four, 180)
    shares = first_second(net, SLOW, lambda: apply_or_raise(net, "apply", f"ingress={SLOW}"))
    judge_rate(test, f"{label}, 10 Mbit/s", shares)
    plan = net.verb("plan")
    test.check(f"{label}: it is shaped there", isinstance(plan, dict) and plan["where"] == where, plan)
    small, full = Ping(net, net.peer, net.container.four, 40), Ping(net, net.peer, net.container.four, 40, "-s", "1472")
    six, names = Ping(net, net.peer, net.container.six, 40, "-s", "1452"), Names(net, 40)
    judge_passing(test, f"{label}: ping", small.result())
    judge_passing(test, f"{label}: ping of 1472 bytes", full.result())
    judge_passing(test, f"{label}: ping of 1452 bytes of IPv6", six.result())
    judge_passing(test, f"{label}: names", names.result())
    names.close()
    judge_rate(test, f"{label}, from 10 to 40 Mbit/s", first_second(net, 4 * SLOW, lambda: apply_or_raise(net, "update", f"ingress={4 * SLOW}")))
    drops = net.verb("seen")["drops"]
    for rate in range(SLOW, 20 * SLOW, SLOW):
        apply_or_raise(net, "update", f"ingress={rate}")
    print(f"# {label}: {drops} dropped while it was shaped to 10 and 40 Mbit/s", flush=True)
    apply_or_raise(net, "remove")
    lost, _, _ = result = beside.result()
    test.check(f"{label}: a neighbour's ping loses nothing, from before to after", lost == 0, result)
    after = tc_text(*net.members)
    test.check(f"{label}: afterwards tc shows what it did before", after == before, f"{before} ---> {after}")
    start = net.container.received()
    time.sleep(1)
    freed = net.container.received() - start
    test.check(f"{label}: and bulk runs free", freed > 2 * SLOW, freed)


def host_side(test, net):
    shaped(test, net, "host side", "host")


FOREIGN = {
    "tbf": [("qdisc", "add", "dev", "skm-c", "root", "handle", "1:", "tbf", "rate", "2gbit", "burst", "1m", "latency", "50ms")],
    "htb": [
        ("qdisc", "add", "dev", "skm-c", "root", "handle", "1:", "htb", "default", "10"),
        ("class", "add", "dev", "skm-c", "parent", "1:", "classid", "1:10", "htb", "rate", "2gbit", "burst", "1m", "cburst", "1m"),
        ("filter", "add", "dev", "skm-c", "parent", "1:", "protocol", "ip", "prio", "3", "u32", "match", "ip", "dport", "9", "0xffff", "flowid", "1:10"),
    ],
}


def by_ifb(test, net):
    """Someone has a tbf on the host's side."""
    for words in FOREIGN["tbf"]:
        world.sh("tc", *words)
    shaped(test, net, "ifb", "ifb")
    links = world.sh("ip", "-n", net.container.name, "-br", "link")
    test.check("ifb: the device is gone", "ifb" not in links, links)


def foreign(test, net):
    """htb with a class and a filter, clsact and an ifb of others: on the host, in the container, beside ours."""
    for words in FOREIGN["htb"]:
        world.sh("tc", *words)
    world.sh("tc", "qdisc", "add", "dev", "skm-n", "clsact")
    world.sh("tc", "filter", "add", "dev", "skm-n", "ingress", "protocol", "all", "prio", "1", "u32", "match", "u32", "0", "0", "flowid", ":1")
    world.sh("tc", "qdisc", "add", "dev", "skm-p", "root", "handle", "736b:", "htb", "default", "10")
    net.container.ip("link", "add", "name", "skm-ifb0", "type", "ifb")
    before = tc_text(*net.members)
    theirs = tc_text(net.neighbour, net.peer)
    for step in (("apply", f"ingress={FAST}"), ("update", f"ingress={SLOW}"), ("apply", f"ingress={FAST}", "udp")):
        answer = net.verb(*step)
        test.check(f"foreign htb: {step[0]} goes by an ifb", isinstance(answer, dict) and answer["where"] == "ifb", answer)
        test.check(f"foreign htb, clsact: unchanged after {step[0]}", tc_text(net.neighbour, net.peer) == theirs, tc_text())
    apply_or_raise(net, "remove")
    test.check("foreign htb, clsact, ifb: unchanged after remove", tc_text(*net.members) == before, tc_text(*net.members))
    test.check("foreign ifb: still there", "skm-ifb0" in net.container.ip("-br", "link"))
    world.sh("tc", "-n", "skm-c", "qdisc", "add", "dev", "eth0", "clsact")
    before = tc_text(*net.members)
    answer = net.verb("apply", f"ingress={FAST}")
    named = isinstance(answer, str) and "skm-c has a root qdisc of someone else (htb 1:)" in answer and "eth0 has an ingress qdisc" in answer
    test.check("foreign htb outside and clsact inside: a skip that names both", named, answer)
    apply_or_raise(net, "remove")
    test.check("foreign htb outside and clsact inside: unchanged", tc_text(*net.members) == before, tc_text(*net.members))


def rates(test, net):
    """C16: what the kernel holds, read by tc."""
    for rate in (GBIT40, OVER_32_BITS, 1 << 32, (1 << 32) - 1, FAST, 12345678901):
        apply_or_raise(net, "apply", f"ingress={rate}")

        seen = net.verb("seen")
        test.check(f"{rate} bytes/s is held", seen["rate"] == rate, seen)
    apply_or_raise(net, "apply", f"ingress={GBIT40}")
    text = world.sh("tc", "class", "show", "dev", "skm-c")
    test.check("tc shows 40 Gbit/s", "rate 40Gbit ceil 40Gbit" in text, text)
    apply_or_raise(net, "remove")


def jumbo(test, net):
    """C15: full frames of 9000 bytes, and IPv6."""
    net.bulk(30, to=net.container.six)
    for rate in (SLOW, FAST):
        judge_rate(test, f"MTU 9000, IPv6, {rate * 8 // 1000000} Mbit/s", first_second(net, rate, lambda: apply_or_raise(net, "apply", f"ingress={rate}")))
    judge_passing(test, "MTU 9000: ping of 8972 bytes", Ping(net, net.peer, net.container.four, 40, "-s", "8972").result())
    apply_or_raise(net, "remove")


def egress(test, net):
    net.bulk(30, source=net.container, sink=net.peer)
    before = tc_text(*net.members)
    for rate in (SLOW, SLOW // 10):
        verb = "apply"
        judge_rate(test, f"egress, {rate * 8 // 1000} kbit/s", first_second(net, rate, lambda: apply_or_raise(net, verb, f"egress={rate}"), net.peer))
    result = Ping(net, net.container, net.peer.four, 40, "-s", "1472").result()
    judge_passing(test, "egress: ping of 1472 bytes", result)
    apply_or_raise(net, "remove")
    test.check("egress: afterwards tc shows what it did before", tc_text(*net.members) == before, tc_text(*net.members))


def links(test, net):
    """C17: an interface that comes late, one that gets another name, one that goes."""
    for words in FOREIGN["tbf"]:
        world.sh("tc", *words)
    apply_or_raise(net, "apply", f"ingress={FAST}")
    net.container.ip("link", "add", "late", "type", "veth", "peer", "name", "skm-late", "netns", os.getpid())
    net.container.ip("link", "set", "late", "up")
    world.sh("ip", "link", "set", "skm-late", "master", BRIDGE, "up")
    net.container.ip("addr", "add", "10.78.0.9/24", "dev", "late")
    test.check("a late link is planned for", net.verb("plan")["links"] == 2, net.verb("plan"))
    apply_or_raise(net, "apply", f"ingress={SLOW}")
    net.container.ip("link", "set", "eth0", "down")
    net.container.ip("link", "set", "eth0", "name", "renamed")
    net.container.ip("link", "set", "renamed", "up")
    net.bulk(20, to="10.78.0.9")
    judge_rate(test, "by a late link, another one renamed", first_second(net, SLOW, lambda: apply_or_raise(net, "update", f"ingress={SLOW}")))
    net.container.ip("link", "del", "late")
    apply_or_raise(net, "update", f"ingress={SLOW}")
    apply_or_raise(net, "remove")
    text = tc_text(net.container)
    test.check("nothing of ours is left on any of them", "clsact" not in text and "736b" not in text, text)
    net.container.ip("link", "del", "renamed")
    answer = net.verb("apply", f"ingress={SLOW}")
    test.check("without any link that is said", isinstance(answer, str) and "no link leads out" in answer, answer)


MODPROBE = pathlib.Path("/proc/sys/kernel/modprobe")


def macvlan(test, net):
    """No host side, and no ifb module."""
    net.container.ip("link", "del", "eth0")
    world.sh("ip", "link", "add", "link", BRIDGE, "name", "skm-mv", "type", "macvlan", "mode", "bridge")
    world.sh("ip", "link", "set", "skm-mv", "netns", net.container.name)
    net.container.ip("addr", "add", f"{net.container.four}/24", "dev", "skm-mv")
    net.container.ip("link", "set", "skm-mv", "up")
    before, helper = tc_text(*net.members), MODPROBE.read_text(encoding="ascii")
    run("modprobe", "-r", "ifb")
    MODPROBE.write_text("/bin/false", encoding="ascii")
    try:
        answer = net.verb("apply", f"ingress={SLOW}")
        named = isinstance(answer, str) and "skm-mv is no veth" in answer and "this kernel has no ifb device" in answer
        test.check("macvlan without ifb: a skip that names both", named, answer)
        test.check("macvlan without ifb: and leaves nothing", tc_text(*net.members) == before, tc_text(*net.members))
    finally:
        MODPROBE.write_text(helper, encoding="ascii")
    net.bulk(20)
    judge_rate(test, "macvlan", first_second(net, SLOW, lambda: apply_or_raise(net, "apply", f"ingress={SLOW}")))
    apply_or_raise(net, "remove")
    test.check("macvlan: afterwards tc shows what it did before", tc_text(*net.members) == before, tc_text(*net.members))


# -- through the enforcer ---------------------------------------------------------------------------------------------

LIMIT = "4Mi"
# nothing but tc, so that what happens is its doing; the floor is below what the container reads
POLICY = {
    "tcpmem": {"limit": LIMIT},
    "throttle": {"sysctl": False, "sockets": False, "reclaim": False, "tc": True, "floor": "1Mbit"},
}
READS = 4000000


class Inside(world.World):
    """What a container of the box needs of a world, in the container's namespace of a Net."""

    def __init__(self, net):  # pylint: disable=super-init-not-called
        self.netns, self.peer = net.container.name, net.peer.name
        self.dir = pathlib.Path("/run/skm-test/tc")
        self.dir.mkdir(parents=True, exist_ok=True)
        self.processes, self.ids = [], []

    def close(self):
        self.end_all()
        world.shutil.rmtree(self.dir, ignore_errors=True)


def shape_of(container):
    return container.inspect()["shape"]


def wait_shaped(container, what="shaping"):
    """Or says what the enforcer knew."""
    try:
        world.wait_for(lambda: shape_of(container)["where"] != "nowhere", 40, what)
    except RuntimeError as err:
        raise RuntimeError(f"{err}: {container.inspect()} {ask('events', container.name)}") from err


def in_burst(net, here, runtime):
    """A container that reads 4 MB/s while 20 connections send as fast as they can."""
    container = Box(here, runtime, f"tc-{runtime}", {"io.sockmem.policy": json.dumps(POLICY)}, "--rate", str(READS), memory_max=None).up()
    peer = container.blast("--duration", "40s", connections=20, to=net.container.four)
    wait_shaped(container)
    return container, peer


def judge_shaped(test, label, net, container, where):
    world.wait_for(lambda: (shape_of(container)["drain_bytes_per_sec"] or 0) >= READS * 0.5, PATIENCE, "drain as fast as it reads")
    shape = shape_of(container)
    test.check(f"{label}: shaped there", shape["where"] == where, shape)
    test.check(f"{label}: from the drain", READS * 0.5 <= shape["drain_bytes_per_sec"] <= READS * 1.5, shape)
    test.check(f"{label}: below it", shape["rate_bytes_per_sec"] <= shape["drain_bytes_per_sec"] * 0.95, shape)
    began, start, held = time.monotonic(), net.container.received(), container.inspect()["sock_bytes"]
    journal = journal_of(container.name)
    test.check(f"{label}: the journal knows it", journal["shape"]["shaped"] and len(journal["shape_links"]) == 1, journal)
    names = Names(net, 20)
    judge_passing(test, f"{label}: names", names.result())
    names.close()
    judge_passing(test, f"{label}: ping of 1472 bytes", Ping(net, net.peer, net.container.four, 20, "-s", "1472").result())
    # once they are, it is taken away and a sender that goes on fills them again
    world.wait_for(lambda: container.inspect()["decision"]["step"] != "shed", 30, "end of the last step: sockets below the limit")
    print(f"# {label}: from {held} bytes below the limit in {time.monotonic() - began:.1f} s, "
          f"{(net.container.received() - start) / (time.monotonic() - began) / 1e6:.1f} MB/s came in", flush=True)  # fmt: skip
    test.check(f"{label}: it brings the sockets below the limit", True)


def enforced(test, net, runtime, where):
    """From the hook to the end of the container, over the last step and a kill -9 of the enforcer."""
    label = f"{runtime}, {where}"
    before = tc_text(*net.members)
    stop_daemon()
    with Inside(net) as here:
        container, peer = in_burst(net, here, runtime)
        judge_shaped(test, label, net, container, where)
        wait_shaped(container, "shaping again")
        stop_daemon(signal.SIGKILL)
        test.check(f"{label}: a killed enforcer leaves it", "736b:" in tc_text(*net.members), tc_text(*net.members))
        peer.kill()
        start_daemon()
        world.wait_for(lambda: tc_text(*net.members) == before, PATIENCE, "tc as it was, after the next enforcer's start")
        world.wait_for(lambda: not journal_of(container.name)["shape"]["shaped"], PATIENCE, "journal that says so")
        test.check(f"{label}: the next one takes it away", True)
        container.blast("--duration", "40s", connections=20, to=net.container.four)
        wait_shaped(container, "shaping by the next enforcer")
        container.stop(signal.SIGKILL)
        world.wait_for(lambda: not journals() and tc_text(*net.members) == before, PATIENCE, "tc as it was, after the container's end")
        told = [event["kind"] for event in ask("events", container.name)]
        test.check(f"{label}: shaping and its end are told", {"shaped", "restored", "ended"} <= set(told), told)
    # what ended while nobody looked
    with Inside(net) as here:
        container, peer = in_burst(net, here, runtime)
        stop_daemon(signal.SIGKILL)
        os.kill(container.pid, signal.SIGKILL)
        peer.kill()
        container.wait()
        start_daemon()
        world.wait_for(lambda: not journals() and tc_text(*net.members) == before, PATIENCE, "tc as it was, of one that ended meanwhile")
        test.check(f"{label}: what is left of one that ended meanwhile is taken away", True)
    stop_daemon()


def enforced_on_host(test, net):
    enforced(test, net, "runc", "host-side")


def enforced_by_ifb(test, net):
    for words in FOREIGN["tbf"]:
        world.sh("tc", *words)
    enforced(test, net, "crun", "ifb")


# name, what it does, the MTU of its links
PARTS = [
    ("host-side", host_side, 1500),
    ("ifb", by_ifb, 1500),
    ("foreign", foreign, 1500),
    ("rates", rates, 1500),
    ("jumbo", jumbo, 9000),
    ("links", links, 1500),
    ("egress", egress, 1500),
    ("macvlan", macvlan, 1500),
    ("enforced-host-side", enforced_on_host, 1500),
    ("enforced-ifb", enforced_by_ifb, 1500),
]
