# SPDX-License-Identifier: Apache-2.0
"""Checks of tests/hook-blackbox: where the policy comes from, what else is told of a container, and what becomes of one that
cannot be held.
"""

import json
import os
import pathlib

from blackbox import check, equal, expect
from hook_run import HOOK, one_line, run, short, silent, state, write_program

TCPMEM, POLICY, PROFILE, FOR = "io.sockmem.tcpmem", "io.sockmem.policy", "io.sockmem.profile", "io.sockmem.policy.container."
MIB = 1 << 20
MARK = "not enforced"


def bundle(world, annotations=None, kernel_tcp=None, **more):
    """Writes a config.json into the run folder, which is the bundle of these states."""
    text = {"ociVersion": "1.0.2", "process": {"args": ["sh"]}, "root": {"path": "rootfs"}, **more}
    if annotations is not None:
        text["annotations"] = annotations
    if kernel_tcp is not None:
        text["linux"] = {"resources": {"memory": {"limit": 1 << 30, "kernelTCP": kernel_tcp}}}
    (world.run_dir / "config.json").write_text(json.dumps(text))


def node(world, text):
    (world.run_dir / "node.json").write_text(json.dumps(text))


def source(request):
    return request["policy"]["source"]


def limit(request):
    return request["policy"]["tcpmem"]["limit"]


# -- the bundle --------------------------------------------------------------------------------------------------------


@check
def annotations_that_the_state_lacks_are_taken_from_the_bundle(world):
    enforcer = world.enforcer("accept")
    bundle(world, {TCPMEM: "8Mi"})
    for annotations in (None, {}, {"org.example": "x"}):
        silent(run(world, state(world, annotations=annotations)))
    silent(run(world, short(world, "4Mi")))  # what the state has, counts
    equal([limit(request) for request in enforcer.requests], ["8Mi"] * 3 + ["4Mi"], "limits")
    bundle(world, {TCPMEM: "8m"})
    one_line(run(world, state(world)), TCPMEM, "8m", "Mi")
    bundle(world, {"io.sockmem.tcpmen": "8Mi"})
    one_line(run(world, state(world)), "config.json", "did you mean io.sockmem.tcpmem")


@check
def a_bundle_that_cannot_be_read_counts_where_nothing_else_speaks(world):
    enforcer = world.enforcer("accept")
    config = world.run_dir / "config.json"
    one_line(run(world, state(world)), "config.json", "No such file")
    silent(run(world, state(world, annotations={})))  # the state speaks: for nothing
    silent(run(world, short(world)))
    equal(len(enforcer.requests), 1, "requests")
    for text in (b"", b"{", b"[]", b'{"annotations":{"io.sockmem.tcpmem":5}}', b'{"linux":{"resources":{"memory":{"kernelTCP":"1"}}}}',
                 b"\xff", b"{" * 100, b'{"x":"' + b"x" * (5 << 20) + b'"}'):  # fmt: skip
        config.write_bytes(text)
        one_line(run(world, state(world)), "config.json")
        one_line(run(world, state(world, annotations={})), "config.json")
        silent(run(world, short(world)))
    config.unlink()
    os.mkfifo(config)
    one_line(run(world, state(world)), "regular file")
    config.unlink()
    config.symlink_to("/dev/zero")
    one_line(run(world, state(world)), "regular file")


@check
def a_size_of_v1_is_honoured(world):
    enforcer = world.enforcer("accept")
    bundle(world, kernel_tcp=64 * MIB)
    silent(run(world, state(world)))
    silent(run(world, state(world, annotations={"org.example": "x"})))
    equal([(source(r), limit(r), r["kernel_tcp_bytes"]) for r in enforcer.requests], [("kernelTCP", "64Mi", 0)] * 2, "requests")
    for none in (-1, 0, (1 << 63) - 4096):
        bundle(world, kernel_tcp=none)
        silent(run(world, state(world)))
    equal(len(enforcer.requests), 2, "requests")
    bundle(world, kernel_tcp=-2)
    one_line(run(world, state(world)), "config.json", "$.linux.resources.memory.kernelTCP", "-1 for no limit")


@check
def an_annotation_wins_over_the_size_of_v1_and_both_are_told(world):
    enforcer = world.enforcer("accept")
    bundle(world, {"org.example": "x"}, kernel_tcp=64 * MIB)
    for annotations in ({TCPMEM: "32Mi"}, {POLICY: '{"tcpmem":"32Mi"}'}, {PROFILE: "web"}):
        silent(run(world, state(world, annotations=annotations)))
    equal([r["kernel_tcp_bytes"] for r in enforcer.requests], [64 * MIB] * 3, "kernelTCP beside an annotation")
    equal([limit(r) for r in enforcer.requests[:2]], ["32Mi"] * 2, "limits")
    silent(run(world, short(world, "max")))  # lifted: nothing to do
    equal(len(enforcer.requests), 3, "requests")


# -- names -------------------------------------------------------------------------------------------------------------


@check
def the_order_of_sources(world):
    enforcer = world.enforcer("accept")
    policy = '{"tcpmem":"2Mi"}'
    named = {"io.kubernetes.cri.container-type": "container", "io.kubernetes.cri.container-name": "web"}
    everything = {FOR + "web": policy, FOR + "log": "{", POLICY: policy, PROFILE: "web", TCPMEM: "1Mi", **named}
    bundle(world, kernel_tcp=64 * MIB)
    node(world, {"defaults": {"tcpmem": "5Mi"}})
    wanted = [FOR.removesuffix(".") + ".NAME", POLICY, PROFILE, TCPMEM, "kernelTCP", "defaults"]
    for gone in (FOR + "web", POLICY, PROFILE, TCPMEM, None):
        silent(run(world, state(world, annotations=everything), "--node-defaults"))
        everything.pop(gone, None)
    bundle(world)
    silent(run(world, state(world, annotations=everything), "--node-defaults"))
    silent(run(world, state(world, annotations=everything)))  # without the option there are no defaults
    found = [source(request) for request in enforcer.requests]
    equal(len(set(found)), len(wanted), f"different sources in {found}")
    equal(found[1:4], wanted[1:4], "sources")
    equal(enforcer.requests[2]["policy"]["profile"], "web", "profile")


@check
def a_policy_for_one_container_needs_its_name(world):
    enforcer = world.enforcer("accept")
    own = {FOR + "web": '{"tcpmem":"2Mi"}', FOR + "log": "no JSON"}
    names = [
        {"io.kubernetes.cri.container-name": "web"},
        {"io.kubernetes.container.name": "web", "io.kubernetes.cri-o.ContainerType": "container"},
        {"io.kubernetes.cri-o.Metadata": '{"name":"web","attempt":0}'},
    ]
    for name in names:
        silent(run(world, state(world, annotations=own | name)))
    equal([limit(request) for request in enforcer.requests], ["2Mi"] * 3, "limits")
    silent(run(world, state(world, annotations=own | {"io.kubernetes.cri.container-name": "other"})))
    one_line(run(world, state(world, annotations=own | {"io.kubernetes.cri.container-name": "log"})), FOR + "log")
    one_line(run(world, state(world, annotations=own)), FOR, "containerd and CRI-O", POLICY)
    one_line(run(world, state(world, annotations={FOR: "{}"})), "names no container")
    bundle(world, own | names[0])  # the name may stand where the policy does not
    silent(run(world, state(world, annotations=own)))
    silent(run(world, state(world, annotations=names[0])))
    equal(len(enforcer.requests), 5, "requests")


@check
def a_profile_is_a_name(world):
    enforcer = world.enforcer("accept")
    for name in ("web", "Web-1.a_b", "w" * 63):
        silent(run(world, state(world, annotations={PROFILE: name})))
    equal([request["policy"]["profile"] for request in enforcer.requests], ["web", "Web-1.a_b", "w" * 63], "profiles")
    for name in ("", " ", "web ", "a/b", "../x", "-a", "w" * 64, '{"tcpmem":"1Mi"}', "a\nb", "\x1b[2J", "é"):
        one_line(run(world, state(world, annotations={PROFILE: name})), PROFILE, "web-1")
    equal(len(enforcer.requests), 3, "requests")


@check
def a_pods_own_container_is_left_alone(world):
    enforcer = world.enforcer("refuse")
    invalid = {TCPMEM: "1m", FOR + "web": "{"}  # a pod's annotations are its containers' to judge
    for kind in ({"io.kubernetes.cri.container-type": "sandbox"},
                 {"io.kubernetes.cri-o.ContainerType": "sandbox", "io.container.manager": "cri-o"}):  # fmt: skip
        silent(run(world, state(world, annotations=invalid | kind)))
        bundle(world, kind, kernel_tcp=64 * MIB)
        silent(run(world, state(world, annotations=invalid)))
        silent(run(world, state(world), "--node-defaults"))
    podmans = {"io.container.manager": "libpod"}
    bundle(world, podmans, kernel_tcp=64 * MIB, process={"args": ["/catatonit", "-P"]})
    silent(run(world, state(world, annotations=podmans), "--node-defaults"))
    equal(enforcer.connections, 0, "connections")
    bundle(world, podmans, kernel_tcp=64 * MIB)
    one_line(run(world, state(world, annotations=podmans)), "no")


# -- the program -------------------------------------------------------------------------------------------------------


@check
def the_size_of_the_program_is_told(world):
    enforcer = world.enforcer("accept")
    root = world.run_dir / "rootfs"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/server").write_bytes(b"x" * 12345)
    (root / "usr/bin/server").chmod(0o755)
    (root / "bin").symlink_to("usr/bin")
    (root / "out").symlink_to("/bin/sh")
    process = {"args": ["server", "-x"], "env": ["A=1", "PATH=/sbin:/bin"], "cwd": "/"}
    wanted = []
    for args, path, size in ((["server"], "rootfs", 12345), (["/usr/bin/server"], str(root), 12345), (["out"], "rootfs", 0),
                             (["/out"], "rootfs", 0), (["server"], "elsewhere", 0), ([], "rootfs", 0)):  # fmt: skip
        bundle(world, process=process | {"args": args}, root={"path": path})
        silent(run(world, short(world)))
        wanted.append(size)
    equal([request["program_bytes"] for request in enforcer.requests], wanted, "sizes")


# -- what cannot be held -----------------------------------------------------------------------------------------------


def warned(done, *parts):
    """It was said, and the container is made all the same."""
    return one_line(done, MARK, "web-1", *parts, status=0)


@check
def on_error_decides_what_cannot_be_enforced(world):
    world.enforcer("refuse")  # with EBUSY
    said = "the enforcer says no"
    policies = [('{"tcpmem":"1Mi"}', False), ('{"tcpmem":"1Mi","onError":"fail"}', False), ('{"tcpmem":"1Mi","onError":"warn"}', True)]
    for text, goes_on in policies:
        done = run(world, state(world, annotations={POLICY: text}))
        one_line(done, said, status=0 if goes_on else 1)
        equal(MARK in done.stderr, goes_on, f"marked for {text}")
    node(world, {"onError": "warn"})
    warned(run(world, short(world)), said)
    warned(run(world, state(world, annotations={POLICY: policies[0][0]})), said)
    one_line(run(world, state(world, annotations={POLICY: policies[1][0]})), said)
    node(world, {"onError": "fail"})
    warned(run(world, state(world, annotations={POLICY: policies[2][0]})), said)
    (world.run_dir / "node.json").write_text('{"onError": "warn"')  # a file that nobody can read says nothing
    one_line(run(world, short(world)), said)
    warned(run(world, state(world, annotations={POLICY: policies[2][0]})), said)
    node(world, {"onError": "warn", "allow": ["tcpmem.limit"]})  # then an annotation's onError is itself not allowed
    one_line(run(world, state(world, annotations={POLICY: policies[2][0]})), said)
    log = (world.run_dir / "hook.log").read_text().splitlines()
    equal(sum(MARK in line for line in log), 5, "marked lines in the log")


@check
def a_profiles_on_error_stands_in_the_node_file(world):
    environment = world.environment(SKM_DAEMON="/nonexistent/sockmemd")
    def annotated(name):
        return run(world, state(world, annotations={PROFILE: name}), environment=environment)

    one_line(annotated("web"), "/nonexistent/sockmemd")
    profiles = {"web": {"tcpmem": "1Mi", "onError": "warn"}, "db": {"tcpmem": "1Mi", "onError": "fail"}, "log": {"tcpmem": "1Mi"}}
    node(world, {"profiles": profiles})
    warned(annotated("web"))
    one_line(annotated("db"))
    one_line(annotated("log"))
    node(world, {"profiles": profiles, "onError": "warn"})
    one_line(annotated("db"))
    warned(annotated("log"))
    one_line(annotated("we"))  # not a profile of this node: not valid, whatever the node would do otherwise


@check
def what_is_invalid_fails_whatever_is_said(world):
    node(world, {"onError": "warn"})
    for annotations in ({TCPMEM: "1m"}, {POLICY: '{"tcpmem":"1m","onError":"warn"}'}, {PROFILE: "a b"}, {"io.sockmem.tcpm": "1Mi"}):
        done = one_line(run(world, state(world, annotations=annotations)), "io.sockmem.")  # no enforcer runs
        expect(MARK not in done, done)
        one_line(run(world, state(world, annotations=annotations), "--node-defaults"), "io.sockmem.")
    world.enforcer(lambda request: (22, "memory.min is not for annotations here"))  # EINVAL: the policy is at fault
    one_line(run(world, state(world, annotations={POLICY: '{"tcpmem":"1Mi","onError":"warn"}'})), "memory.min is not")
    one_line(run(world, short(world)), "memory.min is not")


@check
def an_enforcer_that_is_not_there_is_a_case_of_on_error(world):
    node(world, {"onError": "warn"})
    for path in ("/nonexistent/sockmemd", "/bin/false"):
        warned(run(world, short(world), environment=world.environment(SKM_DAEMON=path)), path)
    for manner in ("silent", "deaf", "close", "garbage", "version"):
        enforcer = world.enforcer(manner)
        done = run(world, short(world))
        warned(done)
        expect(done.seconds < 2.2, f"{manner}: {done.seconds:.2f} s")
        enforcer.close()
        world.enforcers.remove(enforcer)
        world.socket.unlink()


@check
def a_warning_is_seen_though_a_runtime_drops_it(world):
    """runc collects a hook's stderr and shows it only where the hook fails."""
    node(world, {"onError": "warn"})
    (world.run_dir / "state").write_bytes(short(world))
    # the pipe's reader drops what comes; the other process keeps its own stderr
    script = f"{HOOK} < {world.run_dir}/state 2>&1 >/dev/null | cat > {world.run_dir}/dropped; exit 0"
    runtime = write_program(world, f"#!/bin/bash\n{script}\n", "runtime")
    done = run(world, b"", program=runtime)
    warned(done)
    expect(MARK in (world.run_dir / "dropped").read_text(), "the hook's own stderr")


# -- the node's defaults -----------------------------------------------------------------------------------------------


@check
def the_nodes_defaults_are_asked_for_only_where_told(world):
    enforcer = world.enforcer("accept")
    bundle(world)
    for words in ((), ("--node-defaults",), ("createRuntime", "--node-defaults")):
        silent(run(world, state(world, annotations={}), *words))
    equal(enforcer.connections, 0, "connections without a node file")
    node(world, {"defaults": {"tcpmem": "5Mi"}})
    silent(run(world, state(world, annotations={})))
    equal(enforcer.connections, 0, "connections without the option")
    for words in (("--node-defaults",), ("--node-defaults", "createRuntime"), ("createRuntime", "--node-defaults")):
        silent(run(world, state(world, annotations={}), *words))
    equal([source(request) for request in enforcer.requests], ["defaults"] * 3, "sources")
    silent(run(world, state(world, "stopped", pid=None), "--node-defaults"))
    equal(enforcer.requests[-1]["verb"], "release", "the end")
    one_line(run(world, state(world), "--node-defaults", "createRuntime", "poststop"), "argument")


@check
def an_annotation_lifts_the_nodes_default(world):
    enforcer = world.enforcer("accept")
    silent(run(world, short(world, "max"), "--node-defaults"))
    equal(enforcer.connections, 0, "connections without a node file")
    node(world, {"defaults": {"tcpmem": "5Mi"}})
    silent(run(world, short(world, "max"), "--node-defaults"))  # its ceilings may cut it: the enforcer knows
    equal([(source(r), limit(r)) for r in enforcer.requests], [(TCPMEM, "max")], "requests")


@check
def a_container_that_asked_for_nothing_is_not_kept_from_starting(world):
    node(world, {"defaults": {"tcpmem": "5Mi"}})
    bundle(world)
    warned(run(world, state(world, annotations={}), "--node-defaults"), "/nonexistent/sockmemd")
    node(world, {"defaults": {"tcpmem": "5Mi", "onError": "fail"}})
    one_line(run(world, state(world, annotations={}), "--node-defaults"), "/nonexistent/sockmemd")
    node(world, {"defaults": {"tcpmem": "5Mi"}, "onError": "fail"})
    one_line(run(world, state(world, annotations={}), "--node-defaults"), "/nonexistent/sockmemd")
    (world.run_dir / "node.json").write_text("{")
    warned(run(world, state(world, annotations={}), "--node-defaults"), "/nonexistent/sockmemd")
    (world.run_dir / "config.json").write_text("{")
    warned(run(world, state(world, annotations={"org.example": "x"}), "--node-defaults"), "config.json")
    enforcer = world.enforcer(lambda request: (22, "these defaults make no sense here"))  # EINVAL
    node(world, {"defaults": {"tcpmem": "5Mi"}})
    bundle(world)
    warned(run(world, state(world, annotations={}), "--node-defaults"), "make no sense")
    enforcer.close()
    world.enforcers.remove(enforcer)
    world.socket.unlink()
    world.enforcer(lambda request: (61, "the node has no defaults"))  # ENODATA
    bundle(world)
    silent(run(world, state(world, annotations={}), "--node-defaults"))


# -- rootless ----------------------------------------------------------------------------------------------------------


@check
def who_is_not_the_hosts_root_is_told_so(world):
    enforcer = world.enforcer("accept")
    world.run_dir.chmod(0o755)
    for words in (["setpriv", "--reuid", "65534", "--clear-groups"], ["unshare", "--user", "--map-root-user"]):
        done = run(world, short(world), *words[1:], HOOK, program=words[0])
        one_line(done, "rootless", "run the container as root", "web-1")
        silent(run(world, state(world, annotations={}), *words[1:], HOOK, program=words[0]))  # nothing was asked for
    equal(enforcer.connections, 0, "connections")
    node(world, {"onError": "warn"})
    warned(run(world, short(world), "--user", "--map-root-user", HOOK, program="unshare"), "rootless")
    expect(pathlib.Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"], "this test is itself in a user namespace")
