# SPDX-License-Identifier: Apache-2.0
"""Checks of tests/cli-blackbox: sockmem hooks add BUNDLE."""

import json
import os
import random
import stat

from blackbox import Done, build_folder, check, equal, expect

CLI = build_folder() / "cli/sockmem-test"
TCPMEM = "io.sockmem.tcpmem"


def hooks_add(world, *words, **options):
    return Done([CLI, "hooks", "add", *words], world.environment(LANG="C.UTF-8"), **options)


def write(world, text, name="bundle"):
    folder = world.run_dir / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(text if isinstance(text, str) else json.dumps(text))
    return folder


def refused(done, *parts):
    equal((done.status, done.stdout), (1, ""), f"status and stdout with stderr {done.stderr!r}")
    expect(done.stderr.startswith("sockmem: ") and done.stderr.count("\n") == 1, f"not one line: {done.stderr!r}")
    for part in parts:
        expect(part in done.stderr, f"{part!r} is not in {done.stderr!r}")


def done_well(done):
    equal((done.status, done.stderr), (0, ""), "status and stderr")
    return done.stdout


def without_ours(config):
    """The document as it would be had the hook never been added; raises where it is not there once."""
    hooks = config.get("hooks") or {}
    for stage in ("createRuntime", "poststop"):
        ours = [one for one in hooks[stage] if one["path"].endswith("/libexec/sockmem/sockmem-hook")]
        equal([(one["args"], one["timeout"]) for one in ours], [(["sockmem-hook", stage], 10)], f"hooks at {stage}")
        equal(hooks[stage].index(ours[0]), len(hooks[stage]) - 1, "its place")
        hooks[stage].remove(ours[0])
    return config


# -- documents of all shapes -------------------------------------------------------------------------------------------


def value(rng, depth=0):
    kinds = 6 if depth > 3 else 8
    return [
        lambda: None,
        lambda: rng.choice([True, False]),
        lambda: rng.choice([0, -1, 1 << 53, (1 << 53) + 1, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1]),
        lambda: rng.choice([0.5, 1e300, -2.5e-7]),
        lambda: rng.choice(["", "a", '"\\', "}]{[,:", "\n\t\x01", "é😀", "null", "\u2028"]),
        lambda: rng.choice([[], {}]),
        lambda: [value(rng, depth + 1) for _ in range(rng.randrange(4))],
        lambda: {rng.choice("abcdefgh") * rng.randrange(1, 4): value(rng, depth + 1) for _ in range(rng.randrange(4))},
    ][rng.randrange(kinds)]()


def config(rng):
    """Random, with or without the parts that are changed; in random order."""
    parts = {"a": value(rng), "b": value(rng), "ociVersion": "1.0.2"}
    hook = {"path": "/bin/true", "args": ["x", "]"], "env": ["A={"]}
    if rng.random() < 0.6:
        stages = {stage: [dict(hook) for _ in range(rng.randrange(3))] for stage in ("createRuntime", "poststop", "startContainer")}
        parts["hooks"] = {stage: stages[stage] for stage in rng.sample(sorted(stages), rng.randrange(4))}
    if rng.random() < 0.6:
        parts["annotations"] = {f"org.{number}": rng.choice(["", "x", '{"a":"b"}', "]"]) for number in range(rng.randrange(3))}
    memory = {"limit": (1 << 62) + 1, "swap": -1, "kernel": 5}
    memory = {key: memory[key] for key in rng.sample(sorted(memory), rng.randrange(4))}
    tcp = rng.choice([None, -1, 0, 1 << 26, (1 << 26) + 1, 1])
    if tcp is not None:
        memory = dict(rng.sample([*memory.items(), ("kernelTCP", tcp)], len(memory) + 1))
    parts["linux"] = {"resources": {"memory": memory, "x": value(rng)}, "y": value(rng)}
    return dict(rng.sample(sorted(parts.items()), len(parts)))


def spaced(rng, document):
    indent = rng.choice([None, None, 1, "\t"])
    separators = rng.choice([(",", ":"), (", ", ": "), (" , ", " : "), (",", ": ")])
    return rng.choice(["", " \n"]) + json.dumps(document, indent=indent, separators=separators, ensure_ascii=rng.random() < 0.5) + "\n"


@check
def every_document_keeps_all_but_what_is_changed(world):
    seed = int(os.environ.get("SKM_SEED", "7"))
    rng = random.Random(seed)
    for number in range(150):
        before = config(rng)
        text = spaced(rng, before)
        folder, convert = write(world, text), rng.random() < 0.5
        try:
            done_well(hooks_add(world, folder, *(["--convert"] if convert else [])))
            new = (folder / "config.json").read_text()
            after = without_ours(json.loads(new))
            wanted = json.loads(text)
            memory, tcp = wanted["linux"]["resources"]["memory"], None
            if convert:
                tcp = memory.pop("kernelTCP", None)
            if tcp and tcp > 0:
                size = after["annotations"].pop(TCPMEM)
                equal(size, "64Mi" if tcp == 1 << 26 else str(tcp), "annotation")
            for made in ("hooks", "annotations"):
                for stage in [stage for stage, held in (after.get(made) or {}).items() if held == [] and stage not in (wanted.get(made) or {})]:
                    del after[made][stage]
                if made not in wanted and after.get(made) == {}:
                    del after[made]
            equal(json.dumps(after), json.dumps(wanted), "everything else, in its order")
            done_well(hooks_add(world, folder, *(["--convert"] if convert else [])))
            equal((folder / "config.json").read_text(), new, "the file after a second time")
        except AssertionError as fault:
            raise AssertionError(f"SKM_SEED={seed}, number {number}: {fault}\n{text}") from None


# -- the file ----------------------------------------------------------------------------------------------------------


@check
def the_file_keeps_its_owner_and_mode(world):
    folder = write(world, {"ociVersion": "1.0.2"})
    path = folder / "config.json"
    os.chown(path, 1234, 4321)
    path.chmod(0o640)
    (folder / ".config.json.sockmem-new").write_text("of a run that was killed")
    before = path.stat()
    out = done_well(hooks_add(world, folder))
    expect("hooks.createRuntime: added" in out and "hooks.poststop: added" in out, out)
    after = path.stat()
    equal((after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)), (1234, 4321, 0o640), "owner and mode")
    expect(after.st_ino != before.st_ino, "written in place")
    equal(os.listdir(folder), ["config.json"], "what is in the folder")
    out = done_well(hooks_add(world, folder))
    expect("hooks.createRuntime: there already" in out, out)
    equal(path.stat().st_ino, after.st_ino, "file that needed no change")


@check
def a_dry_run_prints_and_changes_nothing(world):
    folder = write(world, {"ociVersion": "1.0.2", "linux": {"resources": {"memory": {"kernelTCP": 5}}}})
    before = (folder / "config.json").read_bytes()
    printed = json.loads(done_well(hooks_add(world, "--dry-run", folder, "--convert")))
    equal(printed["annotations"], {TCPMEM: "5"}, "annotations")
    equal((folder / "config.json").read_bytes(), before, "the file")
    told = json.loads(done_well(hooks_add(world, "--dry-run", folder, "--convert", "--json")))
    equal((told["changed"], told["dry_run"], told["kernel_tcp"]), (True, True, {"bytes": 5, "outcome": "moved"}), "summary")
    equal((folder / "config.json").read_bytes(), before, "the file")


@check
def what_becomes_of_the_size_of_v1_is_told(world):
    def memory(tcp, **more):
        return write(world, {"linux": {"resources": {"memory": {"kernelTCP": tcp}}}, **more})

    def told(folder, *words):
        return done_well(hooks_add(world, folder, *words)), json.loads((folder / "config.json").read_text())

    out, _ = told(memory(1 << 26))
    expect("kernelTCP: 64Mi, left where it is; crun refuses it" in out, out)
    out, after = told(memory(1 << 26), "--convert")
    expect("kernelTCP: 64Mi, moved to the annotation io.sockmem.tcpmem" in out, out)
    equal((after["annotations"], after["linux"]["resources"]["memory"]), ({TCPMEM: "64Mi"}, {}), "what was moved")
    out, after = told(memory(1 << 26, annotations={TCPMEM: "32Mi"}), "--convert")
    expect("kernelTCP: 64Mi, removed; io.sockmem.tcpmem says otherwise and counts: 32Mi" in out, out)
    equal(after["annotations"], {TCPMEM: "32Mi"}, "annotations")
    out, _ = told(memory(1 << 26, annotations={TCPMEM: "64Mi"}), "--convert")
    expect("removed; io.sockmem.tcpmem says the same" in out, out)
    out, after = told(memory(-1), "--convert")
    expect("kernelTCP: no limit, removed" in out and "annotations" not in after, out)
    told_json = json.loads(done_well(hooks_add(world, memory(-1), "--json")))
    equal(told_json["kernel_tcp"], {"bytes": None, "outcome": "kept"}, "kernel_tcp")


@check
def what_cannot_be_changed_is_left_as_it_is(world):
    bad = {
        "": "empty",
        "{": "config.json: ends after 1 bytes",
        "[]": "wanted an object",
        '{"hooks":[]}': "$.hooks: an array",
        '{"hooks":{"createRuntime":[{"path":"/old/sockmem-hook"}]}}': "another sockmem-hook",
        '{"annotations":{"io.sockmem.tcpmem":"64m"}}': "write Mi",
        '{"annotations":{"io.sockmem.tcpmen":"64Mi"}}': "did you mean io.sockmem.tcpmem",
        '{"annotations":{"\x1b[2J":1,"io.sockmem.policy":7}}': "byte",
        '{"linux":{"resources":{"memory":{"kernelTCP":"64Mi"}}}}': "$.linux.resources.memory.kernelTCP",
    }
    for text, part in bad.items():
        folder = write(world, text)
        before = (folder / "config.json").stat()
        refused(hooks_add(world, folder, "--convert"), str(folder), part)
        after = (folder / "config.json").stat()
        equal((after.st_ino, after.st_mtime_ns, os.listdir(folder)), (before.st_ino, before.st_mtime_ns, ["config.json"]), text)
    folder = world.run_dir / "none"
    refused(hooks_add(world, folder), str(folder), "No such file")
    folder.mkdir()
    refused(hooks_add(world, folder), "config.json", "No such file")
    refused(hooks_add(world, write(world, "{}") / "config.json"), "is no folder; name the bundle")
    (folder / "config.json").symlink_to(world.run_dir / "bundle/config.json")
    refused(hooks_add(world, folder), "symbolic link")
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    refused(hooks_add(world, folder), "no regular file")
    refused(hooks_add(world, "/dev/null"), "is no folder")


@check
def who_may_not_write_is_refused_and_nothing_is_left(world):
    folder = write(world, {"ociVersion": "1.0.2"})
    world.run_dir.chmod(0o755)
    before = (folder / "config.json").read_bytes()

    def nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    refused(hooks_add(world, folder, preexec_fn=nobody), "Permission denied")
    os.chown(folder, 65534, 65534)  # who may replace the file but not give it to its owner
    refused(hooks_add(world, folder, preexec_fn=nobody), "Operation not permitted")
    equal(((folder / "config.json").read_bytes(), os.listdir(folder)), (before, ["config.json"]), "the folder")
    os.chown(folder / "config.json", 65534, 65534)
    done_well(hooks_add(world, folder, preexec_fn=nobody))  # the owner needs no root


@check
def the_words_of_hooks(world):
    environment = world.environment(LANG="C.UTF-8")
    for words in ((), ("add",), ("remove", "x"), ("add", "x", "y")):
        done = Done([CLI, "hooks", *words], environment)
        equal((done.status, done.stdout, done.stderr.count("\n")), (2, "", 1), f"{words}: {done.stderr!r}")
    for words in (("list", "--convert"), ("check", "64Mi", "--dry-run")):
        done = Done([CLI, *words], environment)
        equal((done.status, done.stdout, done.stderr.count("\n")), (2, "", 1), f"{words}: {done.stderr!r}")


@check
def doctor_says_which_annotations_containerd_passes(world):
    def doctor(*words):
        return Done([CLI, "doctor", *words], world.environment(LANG="C.UTF-8")).stdout

    expect("containerd" not in doctor(), "said of a node without it")
    equal(json.loads(doctor("--json"))["containerd"], [], "without it")
    table = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.%s]\n  pod_annotations = %s\n'
    (world.run_dir / "containerd.toml").write_text(table % ("runc", '["io.sockmem.*"]') + table % ("crun", '["io.sockmem.tcpmem"]'))
    text = doctor()
    expect("runtime runc: passes the annotations of pods" in text, text)
    expect("runtime crun: does not pass io.sockmem.policy, io.sockmem.profile" in text and 'add "io.sockmem.*"' in text, text)
    found = json.loads(doctor("--json"))["containerd"]
    equal([(one["runtime"], one["not_passed"] is None) for one in found], [("runc", True), ("crun", False)], "runtimes")
    (world.run_dir / "containerd.toml").write_text("version = 2\n")
    expect("lists no runtime: no annotation of a pod is passed" in doctor(), doctor())


@check
def a_container_that_is_not_enforced_is_told_by_its_hook(world):
    line = "2026-11-30T21:00:0%d Z container %s: not enforced, and made all the same (onError: warn): the enforcer is gone %d"
    lines = [line % (1, "abcdef", 1), line % (2, "abcdef", 2), line % (3, "other", 3), "2026-11-30T21:00:04Z stdin is empty", "cut contai"]
    (world.run_dir / "hook.log").write_text("\n".join(one.replace(" Z", "Z") for one in lines))
    environment = world.environment(LANG="C.UTF-8")

    def told(verb, name, status):
        done = Done([CLI, verb, name], environment)
        equal((done.status, done.stdout, done.stderr.count("\n")), (status, "", 1), f"{verb} {name}: {done.stderr!r}")
        return done.stderr

    for verb in ("inspect", "events"):
        text = told(verb, "abcd", 4)
        expect("not running" in text and "its hook said: 2026-11-30T21:00:02Z container abcdef: not enforced" in text, text)
        expect("its hook said" not in told(verb, "nobody", 4), "said of one that no hook spoke of")
    world.enforcer(lambda request: (2, "no container is called that"))
    for verb in ("inspect", "events"):
        text = told(verb, "abcdef", 3)
        expect("no container is called that; its hook said" in text and "gone 2" in text, text)
