"""Forms of images that few builders make: packed in parts, with other words in their documents, honest and hostile."""
import gzip
import json
import os
import subprocess

import pytest

import oci_images
import support
from oci_images import ARCHITECTURE, archive, member
from support import sandbox_run

CALLER = support.available_callers()[0]
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


@pytest.fixture(name="base", scope="module")
def base_layer():
    return archive(oci_images.busybox_members())


@pytest.fixture(name="images")
def image_place(folder):
    return Images(folder)


class Images:
    def __init__(self, folder):
        self.folder, self.layout = folder, oci_images.Layout(folder / "layout")
        self.env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder)}

    def run(self, *words):
        done = sandbox_run(*words, caller=CALLER, env=self.env)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def shell(self, ref, line, *options):
        return self.run("exec", "--image", ref, *options, "--", "/bin/sh", "-c", line)

    def refused(self, ref, says):
        """One sentence, and nothing of it is kept."""
        status, _, said = self.run("image", "pull", "--quiet", ref)
        assert status in (125, 127) and says in said and said.count("\n") == 1, (status, said)
        assert not list((self.folder / "cache/image/staging").iterdir())

    def change(self, tag, **fields):
        """The image with other fields in its configuration, under another name."""
        manifest = self.layout.read_manifest(tag)
        path = self.layout.folder / "blobs/sha256" / manifest["config"]["digest"].partition(":")[2]
        text = fields.pop("text", None) or json.dumps({**json.loads(path.read_text()), **fields})
        changed = {**manifest, "config": {**manifest["config"], **self.layout.blob(text.encode())}}
        return self.layout.name({"mediaType": MANIFEST, **self.layout.blob(json.dumps(changed).encode())}, os.urandom(4).hex())


def in_parts(data):
    """Several members of gzip, one of them empty."""
    return gzip.compress(data[:1000], 1) + gzip.compress(b"", 1) + gzip.compress(data[1000:], 1)


def zstd(*options):
    return lambda data: subprocess.run(["zstd", "-q", "-c", *options], input=data, stdout=subprocess.PIPE, check=True).stdout


def test_a_layer_may_be_packed_in_any_honest_way(images, base):
    """The type that the manifest gives is not what decides."""
    for name, pack in {"parts": in_parts, "plain": bytes, "zstd": zstd(), "frames": lambda data: zstd()(data[:999]) + zstd()(data[999:]),
                       "xz": lambda data: subprocess.run(["xz", "-0", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout}.items():
        status, out, said = images.shell(images.layout.add([base], name, pack=pack), "cat /app/data")
        assert (status, out) == (0, "first\n"), (name, said)


def test_a_layer_that_is_packed_to_mislead_is_refused(images, base):
    window = images.layout.add([base], "window", pack=zstd("--long=31", "--ultra", "-1"))
    images.refused(window, "a layer holds another archive than its diff id")  # 2 GiB of memory
    cut = images.layout.add([base], "cut", pack=lambda data: gzip.compress(data, 1)[:-20000])
    images.refused(cut, "a layer holds another archive than its diff id")
    images.refused(images.layout.add([base], "zip", pack=lambda data: b"PK\x03\x04" + data), "is no tar archive")
    images.refused(images.layout.add([b"x" * 5000], "text"), "refused")


def test_what_follows_the_end_of_an_archive_is_no_part_of_it(images, base):
    second = archive([member("second", b"x")])
    status, out, said = images.shell(images.layout.add([base + second], pack=bytes), "ls /; cat /app/data")
    assert status == 0 and "second" not in out and out.endswith("first\n"), (out, said)


@pytest.mark.parametrize("words, says", [
    ({"os": "windows"}, "no image of Linux"), ({"architecture": "\x1b[2Jx"}, "the image is for \\x1b[2Jx"),
    ({"config": {"Env": ["A=" + "x" * (2 << 20)]}}, "longer than"), ({"config": {"Env": ["x"] * 400000}}, "more than 20000 values"),
    ({"config": {"Cmd": "sh"}}, "a list of words is none"), ({"config": {"Cmd": [1]}}, "a word is no text"),
    ({"rootfs": []}, "diff id"), ({"rootfs": {"diff_ids": ["sha256:../../../../etc/passwd"]}}, "a digest is no SHA-256"),
    ({"text": '{"config": {"Cmd": ["a"]}, "config": {"Cmd": ["b"]}}'}, "duplicate object key"),
])
def test_a_configuration_that_is_none_is_refused(images, base, words, says):
    images.layout.add([base], "good")
    images.refused(images.change("good", **words), says)


def test_words_of_a_configuration_stay_words(images, base):
    """Directories above, names with newlines, variables that are none: the program runs, and nothing is obeyed."""
    images.layout.add([base], "good")
    ref = images.change("good", config={"User": "root\nevil:x:0:0", "WorkingDir": "/app/../../app", "Env": ["PATH=/bin", "=x", "", "ALONE", "A\n=1", "A=1", "A=2"],
                                        "Cmd": ["sh", "-c", "pwd; id -u; echo $A; cat data"], "Volumes": {"/etc": {}}, "Healthcheck": {"Test": ["CMD", "x"]}})
    status, out, said = images.run("exec", "--image", ref)
    assert (status, out) == (0, "/app\n1000\n2\nfirst\n"), said
    ref = images.change("good", config={"User": "\x1b[2J", "WorkingDir": "/\x1b[2J", "Env": ["A=\x1b[2J\x07"], "Cmd": ["\x1b]0;x\x07"]})
    assert images.run("image", "pull", ref)[0] == 0
    status, out, said = images.run("image", "show", ref)
    assert status == 0 and "\x1b" not in out and "\x07" not in out and out.count("\n") == 5, out
    ref = images.change("good", config={"Env": ["PATH=/bin", "BIG=" + "x" * 200000], "Cmd": ["sh", "-c", "echo ran"]})
    status, out, said = images.run("exec", "--image", ref)
    assert status in (125, 126) and not out and said.count("\n") <= 2, (status, said)


def test_of_an_index_the_image_for_this_machine_is_taken(images, base):
    """Of several variants the one that every machine runs; images of other systems are none of ours."""
    entries = {}
    for name in ("plain", "v3", "v4"):
        images.layout.add([base], name, Cmd=["sh", "-c", f"echo {name}"], Env=["PATH=/bin"])
        entries[name] = {**images.layout.manifests.pop(), "platform": {"architecture": ARCHITECTURE, "os": "linux"}}
        if name != "plain":
            entries[name]["platform"]["variant"] = name
    windows = {**entries["plain"], "platform": {"architecture": ARCHITECTURE, "os": "windows"}}
    proof = {**entries["plain"], "platform": {"architecture": "unknown", "os": "unknown"}}

    def index(tag, *manifests):
        text = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}).encode()
        return images.layout.name({"mediaType": INDEX, **images.layout.blob(text)}, tag)

    for tag, manifests, says in (("all", (entries["v3"], entries["v4"], entries["plain"], windows, proof), "plain\n"), ("one", (windows, entries["v3"]), "v3\n")):
        status, out, said = images.run("exec", "--image", index(tag, *manifests))
        assert (status, out) == (0, says), said
    images.refused(index("two", entries["v3"], entries["v4"]), "more than one image")
    images.refused(index("none", windows, proof), "there is no image")
    images.refused(index("empty"), "there is no image")
