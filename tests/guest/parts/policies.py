# SPDX-License-Identifier: Apache-2.0
"""Policies as people and channels write them (CASES.md, C12 to C14 and C16): each text has its one result in the kernel or its one line,
and what is refused changes nothing. The hook is run by hand, with the enforcer that it starts."""

import json

import world
from box import JOURNAL, MIB, PATIENCE, POLICY, TCPMEM, ByHand, ask, journals, live, run

MAX = 1024 * MIB

# C14: what each size comes to, in bytes, or what its line says. None: it asks for nothing.
SIZES = [
    ("64Mi", 64 * MIB),
    ("64M", 64_000_000),
    ("67108864", 64 * MIB),
    ("1.5Gi", 1536 * MIB),
    ("0.5Gi", 512 * MIB),
    ("65537Ki", 65537 * 1024),
    ("67108865", 67108865),
    ("10%", MAX // 10),
    ("12.5%", MAX // 8),
    ("max", None),
    ("64m", "write Mi"),
    ("64MB", "sizes have no B"),
    ("64K", "write Ki"),
    ("64mi", "not a size"),
    (" 64Mi", "no space"),
    ("64Mi ", "no space"),
    ("64 Mi", "no space"),
    ("-1", "negative"),
    ("0", 'write "max"'),
    ("0%", "above 0%"),
    ("101%", "at most 100%"),
    ("1e6", "exponents"),
    ("1Ei", "Ki Mi Gi Ti"),
    ("exe", "memory.min and memory.low alone"),
    ("9223372036854775808", "2^63-1"),
]

# C12: what is no policy, and what its line names
BROKEN = [
    ("", ["empty", 'write {"tcpmem": "64Mi"}']),
    (" ", ["nothing but spaces"]),
    ("null", ["$: null"]),
    ("[]", ["$: an array"]),
    ("{}", ["$: tcpmem or memory is missing"]),
    ("true", ["$: a boolean"]),
    ('{"tcpmem":"64Mi",}', ["at byte 17", "comma"]),
    ('{"tcpmem":"64Mi"}x', ["at byte 17", "text after the end"]),
    ('{"tcpmem":"64Mi"}{"tcpmem":"64Mi"}', ["at byte 17", "text after the end"]),
    ('{"tcpmem":["64Mi"]}', ["$.tcpmem: an array, wanted a size"]),
    ('{"tcpmem":null}', ["$.tcpmem: null, wanted a size"]),
    ('{"tcpmem":64.5}', ["$.tcpmem: 64.5", "without point"]),
    ('{"tcpmem":"64Mi","tcpmem":"1Gi"}', ["at byte 17", "$.tcpmem", "stands twice"]),
    ('{"tcpmem":{"limit":"64Mi","Mode":"soft"}}', ["$.tcpmem.Mode: unknown key", "did you mean mode?"]),
    ('{"tcpmem":"64Mi","memory":{"high":"1Gi","hihg":"2Gi"}}', ["$.memory.hihg: unknown key", "did you mean high?"]),
    ('{"tcpmem":"64Mi","onError":"ignore"}', ['$.onError: "ignore"', "fail, warn"]),
    ('{"tcpmem":"64Mi","pressure":{"window":"100ms"}}', ["$.pressure.window", "500ms to 10s"]),
    ('{"tcpmem":"64Mi","throttle":{"egress":"10Mbps"}}', ["$.throttle.egress", "write bit, kbit, Mbit or Gbit"]),
    ('{"memory":{"max":"2*exe"}}', ["$.memory.max", "memory.min and memory.low alone"]),
    # C13: what channels do to quotes
    ("{tcpmem:64Mi}", ["at byte 1", "double quotes", "may have taken them"]),
    ("{'tcpmem':'64Mi'}", ["at byte 1", "double quotes"]),
    ('{""tcpmem"":""64Mi""}', ["at byte 3", "the quotes are doubled"]),
    ('{\\"tcpmem\\":\\"64Mi\\"}', ["at byte 1", "escaped once too often"]),
    ('"{\\"tcpmem\\":\\"64Mi\\"}"', ["JSON inside a string"]),
    ("64Mi", ["a size alone", TCPMEM]),
]

# C16: beyond 32 bits of bytes a second, and far beyond
RATES = ["34359738360bit", "34359738368bit", "40Gbit", "400Gbit", "9223372036854775807bit"]

WHOLE = {
    "tcpmem": {"limit": "64Mi", "mode": "observe", "scope": "container"},
    "throttle": {"sysctl": True, "sockets": True, "tc": False, "reclaim": True, "protocols": ["tcp"], "floor": "10Mbit"},
    "pressure": {"some": "10%", "window": "1s"},
    "onError": "fail",
}


class Asker:
    """A container that asks again and again: one that was taken ends before the next, as a poststop alone is but a hint."""

    def __init__(self, here):
        self.here, self.bundle = here, here.dir / "asked"
        self.bundle.mkdir()
        (self.bundle / "config.json").write_text('{"ociVersion": "1.0.2"}', encoding="ascii")
        self.start()

    def start(self):
        self.process = ByHand(self.here, "asker")
        (self.process.cgroup / "memory.max").write_text(str(MAX), encoding="ascii")

    def ask(self, annotations):
        return self.process.hook("createRuntime", annotations=annotations, bundle=str(self.bundle))

    def end(self):
        self.process.close()
        world.wait_for(lambda: not live() and not journals(), PATIENCE, "end of the record")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.close()


def refusal(done, annotation, needles):
    """What is wrong with a refusal; empty where nothing is."""
    wrong = [] if done.returncode == 1 else [f"exit {done.returncode}"]
    if done.stderr.count("\n") != 1 or not all(" " <= c <= "~" for c in done.stderr.rstrip("\n")):
        wrong.append("not one plain line")
    wrong += [f"{needle!r} is missing" for needle in [annotation, *needles] if needle not in done.stderr]
    wrong += ["a live record"] if live() else []
    wrong += [f"journals {journals()}"] if journals() else []
    return "; ".join(wrong) + (f": {done.stderr!r}" if wrong else "")


def granted(asker, done, size):
    """What is wrong with a container that asked for a size; empty where nothing is."""
    if done.returncode != 0 or done.stderr:
        return f"exit {done.returncode}: {done.stderr!r}"
    found = [report["limit_bytes"] for report in ask("list")] if live() else []
    if found:
        asker.end()
        asker.start()
    return "" if found == ([] if size is None else [size]) else f"limits {found}"


def sizes(test, here, _):
    before = here.sysctls()
    with Asker(here) as asker:
        for text, result in SIZES:
            for annotation, value in ((TCPMEM, text), (POLICY, json.dumps({"tcpmem": text}))):
                done = asker.ask({annotation: value})
                wrong = refusal(done, annotation, [result]) if isinstance(result, str) else granted(asker, done, result)
                test.check(f"{annotation} {value!r}", not wrong, wrong)
                checked = run("sockmem", "check", "--kind", annotation.rsplit(".", 1)[1], "--", value)
                test.check(f"check of {value!r} agrees", (checked.returncode == 1) == isinstance(result, str), checked)
        test.check("sizes: the namespace is as before", here.sysctls() == before, here.sysctls())


def broken(test, here, _):
    before = here.sysctls()
    with Asker(here) as asker:
        done = asker.ask({"org.example": "{}"})
        test.check("absent is no policy", done.returncode == 0 and not done.stderr and not live(), done)
        for text, needles in BROKEN:
            wrong = refusal(asker.ask({POLICY: text}), POLICY, needles)
            test.check(f"{POLICY} {text!r}", not wrong, wrong)
        test.check("broken: the namespace is as before", here.sysctls() == before, here.sysctls())


def cut(test, here, _):
    text, wrong = json.dumps(WHOLE), []
    with Asker(here) as asker:
        commas = [at for at, c in enumerate(text) if c == ","]
        places = sorted({1, 2, 63, len(text) - 1, *commas, *(at + 1 for at in commas), *range(10, len(text), 23)})
        for at in places:
            found = refusal(asker.ask({POLICY: text[:at]}), POLICY, [f"ends after {at} bytes", "it looks cut", "io.sockmem.profile"])
            wrong += [f"{at}: {found}"] if found else []
        test.check(f"a policy cut at {len(places)} places says each time that it looks cut", not wrong, "; ".join(wrong))
        done = asker.ask({POLICY: text})
        test.check("uncut it is taken", not granted(asker, done, 64 * MIB), done)


def rates(test, here, _):
    with Asker(here) as asker:
        for rate in RATES:
            done = asker.ask({POLICY: json.dumps({"tcpmem": {"limit": "64Mi", "mode": "observe"}, "throttle": {"egress": rate}})})
            reports = ask("list") if live() else [{}]
            policy = reports[0].get("policy", {})
            test.check(f"{rate} reaches the enforcer whole", policy.get("throttle", {}).get("egress") == rate, f"{done} {policy}")
            journal = [json.loads(path.read_text(encoding="utf-8"))["policy"] for path in JOURNAL.glob("*")]
            test.check(f"{rate} stands in its journal", [one["throttle"]["egress"] for one in journal] == [rate], journal)
            if live():
                asker.end()
                asker.start()


PARTS = [("sizes", sizes, False), ("broken", broken, False), ("cut", cut, False), ("rates", rates, False)]
