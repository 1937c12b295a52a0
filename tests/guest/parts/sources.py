# SPDX-License-Identifier: Apache-2.0
"""Where a container's policy comes from, and what becomes of one that cannot be had."""

import json
import os
import pathlib
import pwd
import shutil
import signal
import time

import world
from box import HOOK_LOG, MIB, POLICY, SOCKMEMD, TCPMEM, ByHand, Box, ask, daemons, ended, journals, kinds, live, run, start_daemon
from box import stop_daemon
from parts.managers import podman

NODE_FILE = pathlib.Path("/etc/sockmem/sockmem.json")
HOOKS_DIR = "/usr/local/share/containers/oci/hooks.d"
ALWAYS = pathlib.Path("/usr/local/share/sockmem/sockmem-always.json")
PROFILE, FOR = "io.sockmem.profile", "io.sockmem.policy.container."
NOT_ENFORCED = "not enforced"
RUNTIMES = ("runc", "crun")
SHORT = ("--duration", "50ms")


def stages(*words, names=("createRuntime", "poststop")):
    """Hooks for a bundle, with these arguments."""
    return {name: [{"path": world.HOOK, "args": ["sockmem-hook", *words]}] for name in names}


def log_lines(container):
    """What the hook's own log says of a container."""
    try:
        return [line for line in HOOK_LOG.read_text(encoding="ascii").splitlines() if f"container {container}:" in line]
    except FileNotFoundError:
        return []


def short_run(here, runtime, name, annotations, *options, **bundle):
    """Starts a container that ends by itself and waits for its end; (status, stderr, the hook's log of it, its newest record)."""
    box = Box(here, runtime, name, annotations, *(options or SHORT), **bundle)
    status = box.start().wait(30)
    records = ended(name)
    return status, box.said[1], log_lines(name), records[0] if records else None


def csv(annotations):
    """podman reads --annotation as CSV."""
    return [word for key, text in annotations.items() for word in ("--annotation", '"' + f"{key}={text}".replace('"', '""') + '"')]


def podman_run(here, name, annotations, *words, runtime="crun", hooks_dir=HOOKS_DIR, options=SHORT):
    """The same under podman; its record is found by the long id, which the hook's log has too."""
    box = Box(here, runtime, f"rootfs-{name}", None, *options)
    id_file = here.dir / f"id-{name}"
    done = podman(
        "--runtime", runtime, "run", *words, "--cidfile", id_file, "--name", name, *csv(annotations), "--network", "none",
        "--memory", "152m", "--hooks-dir", hooks_dir, "--rootfs", box.folder / "rootfs", *box.args,
    )  # fmt: skip
    container = id_file.read_text(encoding="ascii") if id_file.exists() else name
    records = ended(container)
    podman("rm", "--force", "--time", "1", name)
    return done.returncode, done.stderr, log_lines(container), records[0] if records else None


def write_node(rules):
    NODE_FILE.parent.mkdir(exist_ok=True)
    NODE_FILE.write_text(json.dumps(rules), encoding="ascii")
    for pid in daemons():
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.3)


def got(record):
    """Source and limit of an ended container; None where there is no record."""
    return record and (record["policy"]["source"], record["limit_bytes"])


# -- C04: kernelTCP ------------------------------------------------------------------------------------------------------


def kernel_tcp(test, here):
    """runc takes the key and ignores it; crun refuses it, so there it is moved into the annotation."""
    status, said, _, record = short_run(here, "runc", "tcp", None, kernel_tcp=24 * MIB)
    test.check("runc: kernelTCP is the limit", status == 0 and got(record) == ("kernelTCP", 24 * MIB), (status, said, record))
    test.check("runc: there is nothing beside it", record and record["kernel_tcp_bytes"] is None, record)
    size = world.SOCKLOAD.stat().st_size
    test.check("runc: the size of the program is known", record and record["program_bytes"] == size, record)
    _, _, _, record = short_run(here, "runc", "tcp-both", {TCPMEM: "32Mi"}, kernel_tcp=24 * MIB)
    test.check("runc: an annotation wins", got(record) == (TCPMEM, 32 * MIB), record)
    test.check("runc: and the difference is reported", record and record["kernel_tcp_bytes"] == 24 * MIB, record)
    shown = run("sockmem", "inspect", "tcp-both").stdout
    test.check("runc: inspect says so", "kernelTCP" in shown and "24.0 MiB" in shown, shown)
    for name, annotations, bytes_ in (("tcp-max", {TCPMEM: "max"}, 24 * MIB), ("tcp-none", None, -1)):
        status, said, _, record = short_run(here, "runc", name, annotations, kernel_tcp=bytes_)
        test.check(f"runc: {name}: it starts without a limit", status == 0 and record is None, (status, said, record))
    status, said, _, record = short_run(here, "crun", "tcp-crun", None, kernel_tcp=24 * MIB)
    test.check("crun refuses kernelTCP before any hook", status != 0 and "kernel TCP" in said and record is None, (status, said))
    box = Box(here, "crun", "tcp-moved", None, *SHORT, kernel_tcp=24 * MIB, hooks=False)
    done = run("sockmem", "hooks", "add", "--convert", box.folder)
    test.check("hooks add --convert moves it", done.returncode == 0 and "moved to the annotation" in done.stdout, done)
    status = box.start().wait(30)
    record = (ended(box.name) or [None])[0]
    test.check("crun: and then it is the limit", status == 0 and got(record) == (TCPMEM, 24 * MIB), (status, box.said, record))
    test.check("crun: the size of the program is known", record and record["program_bytes"] == size, record)
    again = run("sockmem", "hooks", "add", "--convert", box.folder)
    test.check("a second time there is nothing to do", again.returncode == 0 and again.stdout.count("there already") == 2, again)


# -- C06: the state ------------------------------------------------------------------------------------------------------


def states(test, here):
    before = here.sysctls()
    bundle = here.bundle("by-hand", ["/sockload"], {TCPMEM: "16Mi"})

    def attempt(process, text):
        done = process.hook("createRuntime", text=text)
        held = live()
        if held:
            run("sockmem", "release", "--all")
        return done, held, done.stderr.count("\n")

    with ByHand(here) as process:
        plain = json.loads(process.state(annotations={TCPMEM: "32Mi"}))
        bare = {key: value for key, value in plain.items() if key != "annotations"} | {"bundle": str(bundle)}
        good = {
            "pretty-printed": json.dumps(plain, indent=4),
            "with escaped slashes and space around it": "\n " + json.dumps(plain).replace("/", "\\/") + "\n\n",
            "with empty fields": json.dumps(plain | {"status": "", "ociVersion": "", "root": None}),
            "with an older bundle key": json.dumps({k: v for k, v in plain.items() if k != "bundle"} | {"bundlePath": "/nonexistent"}),
            "with an empty bundle beside the older key": json.dumps(plain | {"bundle": "", "bundlePath": "/nonexistent"}),
            "without annotations, which its bundle has": json.dumps(bare),
            "with annotations null": json.dumps(bare | {"annotations": None}),
            "with other annotations than its bundle": json.dumps(bare | {"annotations": {"org.example": "x"}}),
        }
        for label, text in good.items():
            done, held, lines = attempt(process, text)
            test.check(f"a state {label} is taken", done.returncode == 0 and held == ["by-hand"] and lines == 0, (done, held))
        bad = {
            "without an id": json.dumps({k: v for k, v in plain.items() if k != "id"}),
            "with an empty id": json.dumps(plain | {"id": ""}),
            "without a bundle": json.dumps({k: v for k, v in plain.items() if k != "bundle"}),
            "with pid -1": json.dumps(plain | {"pid": -1}),
            "with pid 0": json.dumps(plain | {"pid": 0}),
            "with pid 1": json.dumps(plain | {"pid": 1}),
            "cut": json.dumps(plain)[:-9],
            "with text behind it": json.dumps(plain) + "x",
            "without annotations, whose bundle is not there": json.dumps(bare | {"bundle": "/nonexistent"}),
            "that is empty": "",
        }
        for label, text in bad.items():
            done, held, lines = attempt(process, text)
            test.check(f"a state {label} is refused in one line", done.returncode == 1 and held == [] and lines == 1, (done, held))
        test.check("after all of them nothing is changed", here.sysctls() == before and not journals(), (here.sysctls(), journals()))


# -- C07: stages ---------------------------------------------------------------------------------------------------------


def other_stages(test, here):
    """Only createRuntime, prestart and poststop are of use; a container-side stage sees pids from inside."""
    for runtime in RUNTIMES:
        for stage in ("createContainer", "startContainer") if runtime == "runc" else ("startContainer",):
            name = f"{stage}-{runtime}".lower()
            box = Box(here, runtime, name, {TCPMEM: "32Mi"}, *SHORT, hooks=stages(names=(stage,)))
            inside = box.folder / "rootfs" / world.HOOK.lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(world.HOOK, inside)  # startContainer is run inside
            status = box.start().wait(30)
            test.check(f"{runtime}: a hook at {stage} fails the container", status != 0, box.said)
            test.check(f"{runtime}: {stage}: nothing was registered", ended(name) == [] and live() == [], live())
            if runtime == "runc":
                test.check(f"{runtime}: {stage}: the line says where to register it", "createRuntime and poststop" in box.said[1], box.said)
        name = f"poststart-{runtime}"
        short_run(here, runtime, name, {TCPMEM: "32Mi"}, hooks=stages("poststart", names=("poststart",)))
        lines = log_lines(name)
        test.check(f"{runtime}: at poststart it says so", len(lines) == 1 and "createRuntime and poststop" in lines[0], lines)
        test.check(f"{runtime}: poststart: nothing was registered", ended(name) == [], ended(name))
    both = here.dir / "both-hooks.d"
    both.mkdir()
    shutil.copy(f"{HOOKS_DIR}/sockmem.json", both / "sockmem.json")
    shutil.copy(ALWAYS, both / "sockmem-always.json")
    status, said, lines, record = podman_run(here, "twice", {TCPMEM: "32Mi"}, hooks_dir=both)
    test.check("podman: with both hooks files it is registered once", status == 0 and got(record) == (TCPMEM, 32 * MIB), (said, lines))
    found = kinds(record["id"]) if record else []
    test.check("podman: which its events say", found.count("registered") == 1 and len(ended(record["id"])) == 1, found)


# -- C09: again and again ------------------------------------------------------------------------------------------------


def again_under_podman(test, here):
    """The same id three times; `containers` has five times under runc and crun, also without poststop and by SIGKILL."""
    box = Box(here, "crun", "rootfs-again", None, *SHORT)
    container = podman(
        "create", "--name", "again", "--annotation", f"{TCPMEM}=32Mi", "--network", "none", "--rootfs", box.folder / "rootfs", *box.args
    ).stdout.strip()  # fmt: skip
    try:
        done = [podman("--hooks-dir", HOOKS_DIR, "start", "--attach", "again") for _ in range(3)]
    finally:
        podman("rm", "--force", "--time", "1", "again")
    test.check("podman: the same container starts three times", all(one.returncode == 0 for one in done), done)
    world.wait_for(lambda: not live(), 5, "end of the last one's record")
    test.check("podman: three ended records, none live", len(ended(container)) == 3, len(ended(container)))


# -- C12: values ---------------------------------------------------------------------------------------------------------

VALUES = {
    POLICY: ["", " ", "null", "[]", "{}", '{"tcpmem": "64M', '{"tcpmem": "64Mi",}', '{"tcpmem": "64Mi"} x', '{"tcpmem": ["64Mi"]}',
             '{"tcpmen": "64Mi"}', '{"tcpmem": "64Mi", "tcpmem": "1Mi"}', '{"tcpmem": {}}'],
    TCPMEM: ["", " ", "null", "[]", "{}", "64K", '"64Mi"', "64Mi ", "64m", "-1", "0", "1e6"],
    PROFILE: ["", " ", "null", "{}", "a b", "../x", "no-such-profile"],
    FOR + "web": ["", "{}", '{"tcpmem": "64m"}', '{"tcpmem": "64Mi"}'],  # the last: no CRI says how this one is called
}  # fmt: skip


def values(test, here):
    """Absent is no policy; each of these is an error that names the annotation, and nothing is applied."""
    before = here.sysctls()
    write_node({"profiles": {"web": {"tcpmem": "32Mi"}}})
    with ByHand(here) as process:
        for annotation, texts in VALUES.items():
            wrong = []
            for text in texts:
                done = process.hook("createRuntime", annotations={annotation: text})
                if done.returncode != 1 or done.stderr.count("\n") != 1 or annotation not in done.stderr:
                    wrong.append((text, done))
            test.check(f"every invalid value of {annotation} is refused with its name", not wrong and live() == [], wrong)
    for runtime, pairs in (("runc", ((TCPMEM, ""), (PROFILE, "no-such-profile"))), ("crun", ((POLICY, " "), (POLICY, "null")))):
        status, said, lines, record = short_run(here, runtime, f"absent-{runtime}", {"org.example": ""})
        test.check(f"{runtime}: absent is no policy", status == 0 and not lines and record is None, (status, said, lines))
        for number, (annotation, text) in enumerate(pairs):
            status, said, lines, record = short_run(here, runtime, f"v{number}-{runtime}", {annotation: text})
            good = status != 0 and len(lines) == 1 and annotation in lines[0] and record is None
            test.check(f"{runtime}: {annotation} {text!r} is refused with its name", good, (status, said, lines))
    status, said, lines, record = podman_run(here, "value", {POLICY: '{"tcpmem": "64Mi",}'})
    good = status != 0 and len(lines) == 1 and POLICY in said and record is None
    test.check("podman: a policy with a comma too many is refused, and the person reads why", good, (status, said, lines))
    left = (live(), journals(), here.sysctls() == before)
    test.check("after all of them nothing is held or changed", left == ([], [], True), left)


# -- C13: channels -------------------------------------------------------------------------------------------------------


def channels(test, here):
    """Values that were cut, split or quoted anew on their way, and the name that passes everywhere."""
    whole = '{"tcpmem": {"limit": "64Mi", "mode": "soft"}, "onError": "fail", "pressure": {"some": "10%"}}'
    write_node({"profiles": {"front-end": {"tcpmem": "48Mi"}}})
    status, _, lines, _ = short_run(here, "runc", "cut", {POLICY: whole[:63]})
    test.check("runc: a value cut at 63 bytes says that it looks cut", status != 0 and "looks cut" in lines[0], lines)
    status, _, lines, _ = short_run(here, "crun", "quoted", {POLICY: whole.replace('"', '""')})
    test.check("crun: doubled quotes are told", status != 0 and "doubled" in lines[0], lines)
    for runtime in RUNTIMES:
        status, said, _, record = short_run(here, runtime, f"profile-{runtime}", {PROFILE: "front-end"})
        test.check(f"{runtime}: a profile passes", status == 0 and got(record) == (PROFILE, 48 * MIB), (said, record))
        test.check(f"{runtime}: and its name is reported", record and record["policy"]["profile"] == "front-end", record)
    box = Box(here, "crun", "rootfs-split", None, *SHORT)
    done = podman("run", "--rm", "--annotation", f"{POLICY}={whole}", "--network", "none", "--hooks-dir", HOOKS_DIR, "--rootfs",
                  box.folder / "rootfs", *box.args)  # fmt: skip
    test.check("podman: JSON that it splits at commas does not start a container without its limit", done.returncode != 0, done)
    status, said, lines, record = podman_run(here, "profile", {PROFILE: "front-end"})
    test.check("podman: a profile passes", status == 0 and got(record) == (PROFILE, 48 * MIB), (said, lines, record))
    size = world.SOCKLOAD.stat().st_size
    test.check("podman: the size of the program is known", record and record["program_bytes"] == size, record)


# -- pods ----------------------------------------------------------------------------------------------------------------


def pods(test, here):
    """Annotations of a pod, on its sandbox and on its containers, as containerd and CRI-O give them."""
    pod = {POLICY: '{"tcpmem": "32Mi"}', FOR + "web": '{"tcpmem": "24Mi"}', FOR + "log": '{"tcpmem": "16Mi"}'}
    containerd = {"io.kubernetes.cri.container-type": "container"}
    crio = {"io.kubernetes.cri-o.ContainerType": "container", "io.container.manager": "cri-o"}
    for runtime, kind, key in (("runc", containerd, "io.kubernetes.cri.container-name"), ("crun", crio, "io.kubernetes.container.name")):
        for name, limit, source in (("web", 24, FOR.removesuffix(".")), ("other", 32, POLICY)):
            _, said, _, record = short_run(here, runtime, f"{name}-{runtime}", pod | kind | {key: name})
            test.check(f"{runtime}: container {name} of the pod has its own", got(record) == (source, limit * MIB), (said, record))
        sandbox = {annotation: "sandbox" if text == "container" else text for annotation, text in kind.items()}
        status, said, lines, record = short_run(here, runtime, f"sandbox-{runtime}", pod | {TCPMEM: "64m"} | sandbox)
        test.check(f"{runtime}: the sandbox is left alone", status == 0 and not lines and record is None, (said, lines, record))
    status, said, lines, record = short_run(here, "runc", "sandbox-tcp", sandbox, kernel_tcp=24 * MIB, hooks=stages("--node-defaults"))
    test.check("runc: so is one with kernelTCP", status == 0 and not lines and record is None, (said, lines, record))
    infra = Box(here, "crun", "infra", {"io.container.manager": "libpod"}, hooks=stages("--node-defaults"))
    path = infra.folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["process"]["args"] = ["/catatonit", "-P"]  # as podman 4.3.1 makes it
    path.write_text(json.dumps(config), encoding="utf-8")
    (infra.folder / "rootfs/sockload").rename(infra.folder / "rootfs/catatonit")
    write_node({"defaults": {"tcpmem": "32Mi"}})
    infra.start().wait(20)
    test.check("crun: so is podman's infra container", not log_lines("infra") and ended("infra") == [], (infra.said, log_lines("infra")))


# -- onError -------------------------------------------------------------------------------------------------------------


def on_error(test, here):
    """What is valid but cannot be enforced: a limit below what memory.stat may lag behind, and no enforcer."""
    small = '{"tcpmem": "256Ki", "onError": "%s"}'
    for runtime in RUNTIMES:
        status, said, lines, record = short_run(here, runtime, f"warn-{runtime}", {POLICY: small % "warn"})
        test.check(f"{runtime}: warn: it is made all the same", status == 0 and record is None, (status, said))
        marked = len(lines) == 1 and NOT_ENFORCED in lines[0] and "memory.stat" in lines[0]
        test.check(f"{runtime}: warn: the line is marked, in the hook's log", marked, lines)
        test.check(f"{runtime}: warn: and on the terminal, once", said.count("sockmem-hook:") == 1 and NOT_ENFORCED in said, said)
    status, said, lines, _ = short_run(here, "runc", "fail", {POLICY: small % "fail"})
    test.check("runc: fail: it is not made", status != 0 and NOT_ENFORCED not in "".join(lines), (status, lines))
    status, said, lines, _ = podman_run(here, "warn", {POLICY: small % "warn"})
    test.check("podman: warn: it is made all the same, and that is kept", status == 0 and NOT_ENFORCED in "".join(lines), (said, lines))
    doctor = run("sockmem", "doctor").stdout
    test.check("doctor shows it", NOT_ENFORCED in doctor, doctor)
    stop_daemon()
    hidden = pathlib.Path(SOCKMEMD + ".hidden")
    pathlib.Path(SOCKMEMD).rename(hidden)
    try:
        without_enforcer(test, here)
    finally:
        hidden.rename(SOCKMEMD)


def without_enforcer(test, here):
    def attempt(runtime, label, annotations, *words):
        status, _, lines, _ = short_run(here, runtime, f"gone-{label}-{runtime}", annotations, hooks=stages(*words, names=("createRuntime",)))
        return status == 0, (lines + [""])[0]

    made, line = attempt("runc", "fail", {TCPMEM: "32Mi"})
    test.check("runc: no enforcer, nothing said: not made", not made and SOCKMEMD in line and NOT_ENFORCED not in line, line)
    made, line = attempt("crun", "warn", {POLICY: '{"tcpmem": "32Mi", "onError": "warn"}'})
    test.check("crun: no enforcer, warn: made, and said", made and SOCKMEMD in line and NOT_ENFORCED in line, line)
    made, line = attempt("runc", "bad", {POLICY: '{"tcpmem": "32m", "onError": "warn"}'})
    test.check("runc: no enforcer, an invalid policy: not made", not made and "write Mi" in line, line)
    write_node({"defaults": {"tcpmem": "32Mi"}})
    for runtime in RUNTIMES:
        made, line = attempt(runtime, "node", None, "--node-defaults")
        test.check(f"{runtime}: no enforcer, the node's defaults: made, and said", made and NOT_ENFORCED in line, line)
    NODE_FILE.unlink()


# -- the node's defaults -------------------------------------------------------------------------------------------------


def node_defaults(test, here):
    write_node({"defaults": {"tcpmem": "40Mi"}, "ceilings": {"tcpmem": "64Mi"}})
    always = here.dir / "always-hooks.d"
    always.mkdir()
    shutil.copy(ALWAYS, always / "sockmem.json")
    for runtime, label, annotations, words, wanted in (
        ("runc", "nothing asked", None, ("--node-defaults",), ("defaults", 40 * MIB)),
        ("crun", "asked", {TCPMEM: "32Mi"}, ("--node-defaults",), (TCPMEM, 32 * MIB)),
        ("runc", "lifted, down to the ceiling", {TCPMEM: "max"}, ("--node-defaults",), (TCPMEM, 64 * MIB)),
        ("crun", "nothing asked, by the hook of annotations", None, (), None),
    ):  # fmt: skip
        status, said, lines, record = short_run(here, runtime, f"default-{len(here.ids)}", annotations, hooks=stages(*words))
        test.check(f"{runtime}: {label}: {wanted}", status == 0 and not lines and got(record) == wanted, (said, lines, got(record)))
    status, said, lines, record = podman_run(here, "default", {}, hooks_dir=always)
    test.check("podman: a container that asks for nothing has the default", status == 0 and got(record) == ("defaults", 40 * MIB), (said, lines))
    write_node({})
    status, said, lines, record = short_run(here, "runc", "none", None, hooks=stages("--node-defaults"))
    test.check("runc: a node without defaults gives none", status == 0 and not lines and record is None, (said, lines, record))


# -- rootless ------------------------------------------------------------------------------------------------------------


def as_tester(*words):
    """Runs a command as a user who is nobody special."""
    return run("setpriv", "--reuid", "tester", "--regid", "tester", "--init-groups", "env", "-i", "HOME=/home/tester",
               "PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin", "XDG_RUNTIME_DIR=/tmp/tester", *words, cwd="/home/tester")  # fmt: skip


def rootless_bundle(name, annotations, spec):
    """With sockload and the hook; what is in it belongs to tester."""
    folder = pathlib.Path(f"/home/tester/{name}")
    (folder / "rootfs").mkdir(parents=True)
    shutil.copy(world.SOCKLOAD, folder / "rootfs/sockload")
    config = dict(spec)
    config["process"] = spec["process"] | {"args": ["/sockload", "serve", "--port", "7000", *SHORT], "terminal": False}
    config |= {"annotations": annotations, "hooks": stages(names=("createRuntime",))}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    world.sh("chown", "-R", "tester:tester", folder)
    return folder


def rootless(test, _):
    try:
        pwd.getpwnam("tester")
    except KeyError:
        world.sh("useradd", "--create-home", "tester")
    as_tester("mkdir", "-p", "/tmp/tester")
    as_tester("runc", "spec", "--rootless", "--bundle", "/tmp/tester")
    spec = json.loads(pathlib.Path("/tmp/tester/config.json").read_text(encoding="utf-8"))
    refusal = ("rootless", "host's root", "run the container as root")
    for name, annotations in (("asks", {TCPMEM: "32Mi"}), ("warns", {POLICY: '{"tcpmem": "32Mi", "onError": "warn"}'}), ("not", {})):
        folder = rootless_bundle(name, annotations, spec)
        for runtime in RUNTIMES:
            done = as_tester(runtime, "--root", f"/tmp/tester/{runtime}", "run", "--bundle", folder, f"{name}-{runtime}")
            line = done.stderr[done.stderr.find("sockmem-hook:") :] if "sockmem-hook:" in done.stderr else ""
            if name == "asks":
                good = done.returncode != 0 and all(part in line for part in refusal) and done.stderr.count("sockmem-hook:") == 1
                test.check(f"{runtime}: a rootless container with a limit is refused in one line that says why", good, done)
            elif name == "warns":
                good = done.returncode == 0 and NOT_ENFORCED in line and "rootless" in line
                test.check(f"{runtime}: onError warn: it starts, and that is said", good, done)
            else:
                test.check(f"{runtime}: one without a limit starts in silence", done.returncode == 0 and not line, done)
    test.check("nothing of theirs is held", live() == [] and not journals(), live())
    if not shutil.which("newuidmap"):
        print("# rootless podman: no newuidmap here", flush=True)
        return
    words = ["podman", "--cgroup-manager", "cgroupfs", "--hooks-dir", HOOKS_DIR, "run", "--rm", "--network", "none"]
    rootfs = ["--rootfs", "/home/tester/not/rootfs", "/sockload", "serve", "--port", "7000", *SHORT]
    done = as_tester(*words, "--annotation", f"{TCPMEM}=32Mi", *rootfs)
    good = done.returncode != 0 and all(part in done.stderr for part in refusal)
    test.check("podman: a rootless container with a limit is refused in one line that says why", good, done)


PARTS = {
    "kernel-tcp": kernel_tcp,
    "states": states,
    "stages": other_stages,
    "again": again_under_podman,
    "values": values,
    "channels": channels,
    "pods": pods,
    "on-error": on_error,
    "node-defaults": node_defaults,
    "rootless": rootless,
}
