"""OCI image layouts for tests: layers as lists of archive members, honest or hostile."""
import gzip
import hashlib
import io
import json
import platform
import tarfile

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def member(name, content=b"", **fields):
    """A member of an archive; `fields` are those of TarInfo: type, linkname, mode, ..."""
    info = tarfile.TarInfo(name)
    info.size = len(content) if fields.get("type", tarfile.REGTYPE) == tarfile.REGTYPE else 0
    info.mode = 0o755
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def directory(name):
    return member(name, type=tarfile.DIRTYPE)


def link(name, target):
    return member(name, type=tarfile.SYMTYPE, linkname=target)


def archive(members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


def tree_members(folder):
    """All of a directory of the host, for a layer."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(folder, arcname=".")
    return data.getvalue()


class Layout:
    """An image layout in a directory."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        self.manifests = []

    def blob(self, data):
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs" / "sha256" / digest).write_bytes(data)
        return {"digest": "sha256:" + digest, "size": len(data)}

    def add(self, layers, tag="latest", pack=gzip.compress, architecture=ARCHITECTURE, diff_ids=None, **config):
        """An image of layers, each the bytes of an archive."""
        sums = diff_ids or ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
        made = self.blob(json.dumps({"architecture": architecture, "os": "linux", "config": config,
                                     "rootfs": {"type": "layers", "diff_ids": sums}}).encode())
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **made},
                    "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **self.blob(pack(layer))}
                               for layer in layers]}
        entry = {"mediaType": manifest["mediaType"], **self.blob(json.dumps(manifest).encode()),
                 "annotations": {"org.opencontainers.image.ref.name": tag}}
        self.manifests.append(entry)
        (self.folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": self.manifests}))
        return f"oci:{self.folder}:{tag}"
