"""Programs on the files of an image: honest ones, hostile ones, and where they come from."""
import base64
import functools
import gzip
import hashlib
import json
import os
import subprocess
import tarfile

import pytest

import oci_images
import support
from hostile_layers import HOSTILE, layers_of
from oci_images import archive, directory, link, member
from support import sandbox_run


@pytest.fixture(name="base", scope="module")
def base_layer():
    return archive(oci_images.busybox_members())


@pytest.fixture(name="images")
def image_place(folder, any_caller):
    """A layout, and a cache of the test's own."""
    place = Images(folder, any_caller)
    if any_caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    return place


class Images:
    def __init__(self, folder, caller):
        self.folder, self.caller = folder, caller
        self.layout = oci_images.Layout(folder / "layout")
        self.env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder)}

    def run(self, *words, **kwargs):
        return sandbox_run(*words, caller=self.caller, env={**self.env, **kwargs.pop("env", {})}, **kwargs)

    def shell(self, ref, line, *options, **kwargs):
        done = self.run("exec", "--image", ref, *options, "--", "sh", "-c", line, **kwargs)
        return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_command_sees_the_image_and_nothing_of_the_host(images, base):
    ref = images.layout.add([base], Env=["PATH=/bin", "WORD=of the image"], WorkingDir="/app",
                            Cmd=["sh", "-c", "pwd; cat data; echo $WORD"])
    done = images.run("exec", "--image", ref)
    assert (done.returncode, done.stdout) == (0, b"/app\nfirst\nof the image\n"), done.stderr
    status, out, _ = images.shell(ref, "ls /usr /etc/alternatives /lib; id -u; cat /etc/passwd; ls /sbin/sh; "
                                       "echo own > /app/new; rm /app/data; ls /app; touch /etc/mine /opt/x && echo ok")
    assert status == 0 and out == "1000\napp:x:1000:1000::/app:/bin/sh\n/sbin/sh\nnew\nok\n"
    assert images.shell(ref, "cat data")[1] == "first\n"  # the next run has the image as it was
    assert images.shell(ref, "echo $WORD", "--env", "WORD=mine", "--workdir", "/")[1] == "mine\n"
    result = support.result_of("exec", "--image", ref, "--", "cat", "/etc/hosts", caller=images.caller, env=images.env)
    assert result["stdout"].startswith("127.0.0.1 localhost")


def test_layers_hide_replace_and_share(images, base):
    second = archive([member("app/data", b"second\n"), member("etc/.wh.passwd"), directory("opt"), member("opt/kept"),
                      link("var", "app"), directory("deep/" + "d" * 100), member("deep/" + "d" * 100 + "/" + "f" * 120)])
    third = archive([directory("opt"), member("opt/.wh..wh..opq"), member("opt/only", b"x"), member("opt/only", b"yy")])
    refs = [images.layout.add([base], "one"), images.layout.add([base, second], "two"),
            images.layout.add([base, second, third], "three")]
    line = "cat /app/data; ls /etc /opt; ls -d /deep/*/*; stat -c %F /var; wc -c < /opt/only"
    status, out, err = images.shell(refs[2], line)
    assert status == 0, err
    assert out.split("\n")[:8] == ["second", "/etc:", "hosts", "resolv.conf", "", "/opt:", "only",
                                   f"/deep/{'d' * 100}/{'f' * 120}"]
    assert out.endswith("symbolic link\n2\n")
    assert images.shell(refs[0], "cat /app/data; ls /etc")[1] == "first\nhosts\npasswd\nresolv.conf\n"
    used = sum(path.lstat().st_blocks * 512 / path.lstat().st_nlink
               for path in (images.folder / "cache").rglob("*") if path.is_file() and not path.is_symlink())
    assert used < 1.5 * os.path.getsize(oci_images.BUSYBOX)
    listed = json.loads(images.run("image", "list", "--json").stdout)["images"]
    assert sorted(one["name"] for one in listed) == sorted(refs[:1] + refs[2:])
    for ref in (refs[0], refs[2]):
        assert images.run("image", "rm", ref).returncode == 0
    assert not list((images.folder / "cache/image/root").iterdir()) + list((images.folder / "cache/image/layer").iterdir())
    assert images.run("image", "rm", refs[0]).returncode == 127


def test_the_user_of_an_image_is_a_name_for_ours(images, base):
    tables = archive([member("etc/passwd", b"x\nroot:x:0:0::/root:/bin/sh\nnode:x:1234:56::/app:/bin/sh\nlost:x:7:7::/none:\n"),
                      member("etc/group", b"staff:x:50:\n")])
    ours = "1000 1000 sandbox /work"
    wanted = {"node": "1234 56 node /app", "1234:staff": "1234 50 node /app", "4242": "4242 4242 sandbox /work", "root": ours,
              "0:0": ours, "stranger": "1000 1000 stranger /work", "lost:99": "7 99 lost /work", "4294967295": ours, "a b": ours}
    for number, (user, line) in enumerate(wanted.items()):
        ref = images.layout.add([base, tables], f"user{number}", User=user)
        status, out, err = images.shell(ref, "echo $(id -u) $(id -g) $USER $HOME; touch /app/x /work/x; stat -c %u /app/x /work/x")
        assert (status, out.splitlines()) == (0, [line, *[line.split()[0]] * 2]), (user, out, err)
    assert json.loads(images.run("image", "show", ref, "--json").stdout)["user"] == "a b"


def test_a_read_only_image_cannot_be_changed(images, base):
    ref = images.layout.add([base], Env=["PATH=/bin"])
    given = images.folder / "given"
    given.mkdir()
    words = ("--read-only", "--volume", f"{given}:/app/deep:cow", "--volume", f"{given}:/var:cow")
    line = "for f in /app/x /opt/x /etc/hosts /etc/x /x; do touch $f; done; rm /app/data; cat /app/data; " \
           "touch /work/x /tmp/x /app/deep/x /var/x && echo written"
    status, out, err = images.shell(ref, line, *words)
    assert (status, out) == (0, "first\nwritten\n") and err.count("ead-only file system") == 6, err
    status, out, err = images.shell(ref, line, *words[1:])
    assert out == "written\n" and err.count("ead-only file system") == 1, (out, err)


@pytest.mark.container
def test_an_export_is_an_image_for_other_tools_and_the_same_twice(images, base):
    hidden = archive([member("app/.wh.data"), member("app/set", b"#!/bin/sh\n", mode=0o4711, uid=7), link("app/way", "/etc/shadow"),
                      member("app/.env", b"KEY=1"), member("app/nön", b"x", mtime=1700000000)])
    ref = images.layout.add([base, hidden], User="app", Env=["PATH=/bin", "A=ö"], WorkingDir="/app", Entrypoint=["sh", "-c"], Cmd=["ls -A"])
    images.run("image", "pull", ref)
    made = {}
    for number in (1, 2):
        images.run("image", "rm", ref)
        assert images.run("image", "pull", ref).returncode == 0
        for kind, name in (("oci", "dir"), ("oci-archive", "a.tar"), ("docker-archive", "d.tar")):
            target = f"{kind}:{images.folder}/{number}-{name}:app:1" if kind == "docker-archive" else f"{kind}:{images.folder}/{number}-{name}"
            done = images.run("image", "export", ref, target, "--json")
            assert done.returncode == 0, done.stderr
            made.setdefault(kind, []).append(json.loads(done.stdout)["id"])
            inspected = subprocess.run(["skopeo", "inspect", "--config", target], stdout=subprocess.PIPE, check=True).stdout
            config = json.loads(inspected)
            assert config["config"] == {"User": "app", "Env": ["PATH=/bin", "A=ö"], "WorkingDir": "/app",
                                        "Entrypoint": ["sh", "-c"], "Cmd": ["ls -A"]}
            assert config["created"] == "2023-11-14T22:13:20Z"
    assert all(one == two for one, two in made.values())
    for name in ("a.tar", "d.tar"):
        assert (images.folder / f"1-{name}").read_bytes() == (images.folder / f"2-{name}").read_bytes()
    for target in (f"oci:{images.folder}/1-dir", f"oci-archive:{images.folder}/1-a.tar", f"docker-archive:{images.folder}/1-d.tar"):
        done = images.run("exec", "--image", target)
        assert (done.returncode, done.stdout.decode()) == (0, ".env\nnön\nset\nway\n"), done.stderr
    [digest] = set(made["oci"])
    layer = json.loads((images.folder / "1-dir/blobs/sha256" / digest).read_text())["layers"][0]["digest"].partition(":")[2]
    with tarfile.open(images.folder / "1-dir/blobs/sha256" / layer) as packed:
        entries = packed.getmembers()
    assert {(entry.uid, entry.gid) for entry in entries} == {(0, 0)} and not any(entry.mode & 0o7000 for entry in entries)
    for target, words in {"oci:": b"no place", "plain.tar": b"no place", f"oci:{images.folder}/1-dir": b"not empty",
                          f"oci-archive:{images.folder}/none/a.tar": b"cannot write"}.items():
        done = images.run("image", "export", ref, target)
        assert done.returncode == 125 and words in done.stderr, done
    assert not list((images.folder / "cache/image/staging").iterdir()) and not list(images.folder.glob("*.tar.*"))


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_layer_reaches_nothing_outside(images, base, what):
    ref = images.layout.add([base, *layers_of(what)])
    before = sorted(os.listdir("/tmp")), sorted(os.listdir("/etc"))
    status, out, err = images.shell(ref, "ls -l / ; stat -c '%F %a' /root /cap 2>/dev/null; cat /stolen; echo there")
    if "there" not in out:
        assert status == 125 and "refused" in err, err
    for word in ("root:$", "root:*", "root:!"):
        assert word not in out
    cache = images.folder / "cache"
    assert {path.read_bytes() for path in cache.glob("image/layer/*/tree/app/data")} <= {b"first\n"}, "a layer writes to none below"
    for path in cache.rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & 0o6000 and (path.is_symlink() or path.is_file() or path.is_dir()), path
        if path.is_file() and not path.is_symlink():
            assert "security.capability" not in os.listxattr(path)
    assert (sorted(os.listdir("/tmp")), sorted(os.listdir("/etc")))[1] == before[1]
    assert not {"through", "above", "absolute"} & set(os.listdir("/tmp")) and not os.path.exists("/absolute")


def test_an_image_whose_etc_leads_to_the_host_writes_nothing_there(images, base):
    victim = images.folder / "victim"
    victim.mkdir()
    victim.chmod(0o777)
    layer = archive([member(".wh.etc"), link("etc", str(victim))])
    status, _, err = images.shell(images.layout.add([base, layer]), "true")
    assert status == 125 and "/etc/hosts" in err
    assert not list(victim.iterdir())


def test_what_is_not_whole_is_refused_and_leaves_nothing(images, base):
    blobs = images.layout.folder / "blobs/sha256"
    cases = {"diff id": images.layout.add([base], "diff", diff_ids=["sha256:" + "0" * 64]),
             "is for": images.layout.add([base], "other", architecture="s390x"),
             "another archive": images.layout.add([base], "cut", pack=lambda data: b"\x1f\x8b\x08\x00" + b"x" * 50),
             "diff id for each layer": images.layout.add([base, base], "ids", diff_ids=["sha256:" + "0" * 64])}
    for words, ref in cases.items():
        done = images.run("image", "pull", ref)
        assert done.returncode == 125 and words in done.stderr.decode(), (words, done.stderr)
    good = images.layout.add([base], "good")
    for layer in [path for path in blobs.iterdir() if path.stat().st_size > 100000]:
        layer.write_bytes(layer.read_bytes()[:-1] + b"?")
    assert b"other bytes than its digest" in images.run("image", "pull", good).stderr
    (images.layout.folder / "index.json").write_text("[" * 100000)
    assert b"not as OCI images are" in images.run("image", "pull", good).stderr
    assert not [path for part in ("root", "staging", "name") for path in (images.folder / "cache/image" / part).iterdir()]
    done = images.run("exec", "--image", f"oci:{images.folder}/none", "--", "true")
    assert done.returncode == 127 and b"there is no" in done.stderr


def test_a_manifest_says_no_size_but_that_of_the_file(images, base):
    """The size bounds what a layer may grow to: a larger one would let a bomb through."""
    for number, size in enumerate((1 << 60, -1, 0, 2.5, "1", None)):
        done = images.run("image", "pull", images.layout.add([base], f"size{number}", sizes=[size]))
        assert done.returncode == 125 and b"the manifest says another number" in done.stderr, (size, done.stderr)


def test_the_layers_of_an_image_have_one_bound_together(images, base):
    layers = [archive([member(f"big{number}", bytes(700 << 10))]) for number in range(4)]
    big = images.layout.add(layers, "big")
    done = images.run("image", "pull", "--max-size", "2m", big)
    assert done.returncode == 125 and b"more bytes than the 2m" in done.stderr and b"--max-size" in done.stderr, done.stderr
    done = images.run("image", "pull", "--max-size", "1m", images.layout.add([archive([directory(f"d{n}") for n in range(400)])], "many"))
    assert done.returncode == 125 and b"more files than fit into the 1m" in done.stderr, done.stderr
    assert b"2m" in images.run("image", "pull", "--max-size", "2m", big).stderr  # what is in the store counts as well
    assert images.run("image", "pull", "--max-size", "4m", big).returncode == 0
    assert b"give one as in 20g" in images.run("image", "pull", "--max-size", "x", big).stderr
    assert not list((images.folder / "cache/image/staging").iterdir())


def test_an_image_gets_no_layer_that_it_does_not_have(images, base):
    """Of a layer in the store it knows the digests, and brings other bytes or none."""
    secret = archive([member("app/secret", b"of another image\n")])
    assert images.run("image", "pull", images.layout.add([base, secret], "private")).returncode == 0
    manifest = images.layout.read_manifest("private")
    digest = manifest["layers"][1]["digest"].partition(":")[2]
    assert images.run("image", "pull", images.layout.add([base, secret], "again")).returncode == 0
    diff = "sha256:" + hashlib.sha256(secret).hexdigest()
    first = "sha256:" + hashlib.sha256(base).hexdigest()
    other = images.layout.add([base, archive([member("x", b"x")])], "other", diff_ids=[first, diff])
    done = images.run("image", "pull", other)
    assert done.returncode == 125 and b"another archive than its diff id" in done.stderr, done.stderr
    (images.layout.folder / "blobs/sha256" / digest).unlink()
    done = images.run("image", "pull", "oci:" + str(images.layout.folder) + ":private")
    assert done.returncode == 125 and b"is missing" in done.stderr, done.stderr


def deep(layout, levels):
    """An image below indexes."""
    layout.add([archive([directory("bin")])], "below")
    entry = layout.manifests.pop()
    for _ in range(levels):
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]}
        entry = {"mediaType": index["mediaType"], **layout.blob(json.dumps(index).encode())}
    return layout.name(entry, "deep")


def test_documents_of_any_size_and_depth_are_refused(images, base):
    good = images.layout.add([base], "good")
    manifest = images.layout.read_manifest("good")
    config = (images.layout.folder / "blobs/sha256" / manifest["config"]["digest"].partition(":")[2]).read_bytes()
    documents = {"a long one": config[:-1] + b', "more": "' + b"x" * (100 << 20) + b'"}',
                 "a deep one": config[:-1] + b', "more": ' + b"[" * 10000 + b"]" * 10000 + b"}",
                 "a number": b"1", "nothing": b"", "a word of many": config[:-1] + b', "config": {"Env": "x"}}',
                 "a zero": config.replace(b'"config": {', b'"config": {"Env": ["A=\\u0000"], ')}
    for what, document in documents.items():
        changed = {**manifest, "config": {**manifest["config"], **images.layout.blob(document)}}
        ref = images.layout.name({"mediaType": manifest["mediaType"], **images.layout.blob(json.dumps(changed).encode())},
                                 what.replace(" ", "-"))
        done = images.run("image", "pull", "--quiet", ref)
        assert done.returncode == 125 and done.stderr.count(b"\n") == 1, (what, done)
    for levels, status in {2: 0, 9: 125}.items():
        images.layout.manifests = []
        done = images.run("image", "pull", "--quiet", deep(images.layout, levels))
        assert done.returncode == status, done
    assert b"its indexes name one another" in done.stderr
    assert images.run("image", "pull", "--quiet", good).returncode == 127


def test_a_directory_is_an_image_as_it_is(images, base):
    rootfs = images.folder / "rootfs"
    rootfs.mkdir()
    subprocess.run(["tar", "-xf", "-", "-C", rootfs], input=base, check=True)
    if images.caller == support.Callers.USER and os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), rootfs], check=True)
    status, out, err = images.shell(str(rootfs), "cat /app/data; touch /app/new && echo done")
    assert (status, out) == (0, "first\ndone\n"), err
    assert not (rootfs / "app/new").exists()
    given = images.folder / "given"
    given.mkdir()
    (given / "file").write_text("given\n")
    words = ["--volume", f"{given}:/app/deep/x", "--volume", f"{given}/file:/etc/passwd", "--volume", f"{given}:/sbin/v:cow"]
    status, out, err = images.shell(str(rootfs), "cat /app/deep/x/file /etc/passwd; echo more >> /bin/v/file; cat /sbin/v/file; "
                                                 "ls /app", *words)
    assert (status, out) == (0, "given\ngiven\ngiven\nmore\ndata\ndeep\n"), err
    (rootfs / "way").symlink_to("/proc")
    (rootfs / "proc").mkdir()
    (rootfs / "out").symlink_to("../../../../tmp")
    for target, why in {"/way/x": b"is the sandbox's own", "/out/x": b"Not a directory"}.items():
        done = images.run("exec", "--image", rootfs, "--volume", f"{given}:{target}", "--", "true")
        assert done.returncode == 125 and why in done.stderr, done
    assert images.run("exec", "--image", "/", "--", "true").returncode == 125


def test_files_keep_their_times(images, base):
    ref = images.layout.add([base, archive([member("app/old", b"x", mtime=1000000000, mode=0o640)])])
    assert images.shell(ref, "stat -c '%Y %a' /app/old")[1] == "1000000000 644\n"


@pytest.mark.container
def test_a_bomb_is_refused(root, folder):
    """More than 40 times its size, and more than 256 MiB."""
    images = Images(folder, root)
    pack = functools.partial(gzip.compress, compresslevel=1)
    bomb = images.layout.add([archive([member("zeros", bytes(257 << 20))])], "bomb", pack=pack)
    done = images.run("image", "pull", bomb)
    assert done.returncode == 125 and b"nothing of the image is taken" in done.stderr
    assert not list((images.folder / "cache/image/staging").iterdir())


@pytest.mark.container
def test_a_registry_with_a_login_and_a_certificate_of_its_own(any_caller, base, folder):
    images = Images(folder, any_caller)
    with oci_images.Registry(folder / "registry", secure=True) as registry:
        registry.push(images.layout.add([base]), "app:1")
        name = f"{registry.address}/library/app:1"
        certificates = folder / ".config/containers/certs.d" / registry.address
        certificates.mkdir(parents=True)
        refused = images.run("image", "pull", name)
        assert refused.returncode == 127 and b"certificate" in refused.stderr, refused
        (certificates / "ca.crt").write_bytes((registry.folder / "ca.crt").read_bytes())
        refused = images.run("image", "pull", name)
        assert refused.returncode == 127 and b"cannot fetch" in refused.stderr, refused
        (folder / ".config/containers/auth.json").write_text(
            json.dumps({"auths": {registry.address: {"auth": base64.b64encode(b"app:secret").decode()}}}))
        (folder / ".config/containers/auth.json").chmod(0o600)
        if any_caller == support.Callers.USER and os.geteuid() == 0:
            subprocess.run(["chown", "-R", str(support.ORDINARY_UID), folder], check=True)
        status, out, err = images.shell(name, "cat /app/data; ls /work /conf")
        assert (status, out) == (1, "first\n/work:\n"), err


@pytest.fixture(name="registry")
def own_registry(folder):
    with oci_images.Registry(folder / "registry") as running:
        yield running


@pytest.mark.container
@pytest.mark.group("pulls")  # it looks at a directory of all pulls
def test_an_image_comes_from_a_registry_under_its_usual_name(root, base, registry, folder):
    images = Images(folder, root)
    ref = images.layout.add([base], Env=["PATH=/bin"])
    registry.push(ref, "node:20-alpine")
    images.env["CONTAINERS_REGISTRIES_CONF"] = registry.config
    status, out, err = images.shell("node:20-alpine", "cat /app/data")
    assert (status, out) == (0, "first\n"), err
    assert "fetching docker.io/library/node:20-alpine" in err
    assert images.shell("node:20-alpine", "cat /app/data")[2] == ""
    shown = json.loads(images.run("image", "show", "node:20-alpine", "--json").stdout)
    assert shown["env"] == ["PATH=/bin"]
    assert b"cannot fetch" in images.run("image", "pull", f"{registry.address}/none:1", "--plain-http").stderr
    saved = folder / "saved.tar"
    subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", ref, f"docker-archive:{saved}:app:1"], check=True)
    assert images.shell(f"docker-archive:{saved}", "cat /app/data")[1] == "first\n"
    assert not [name for name in os.listdir("/var/tmp") if name.startswith("sandbox-run-pull-")]
