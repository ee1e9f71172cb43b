"""Layers that try to leave their image, to outgrow the disk or to mislead what reads them: one row for each way.

A row is a list of members, or several of them: one for each layer."""
import tarfile

from oci_images import archive, directory, link, member


def extension(kind, text):
    """A header of GNU tar that names the next member: its name (L) or what it links to (K)."""
    return member("././@LongLink", text.encode() + b"\0", type=kind, size=len(text) + 1)


def hard_link(name, target, **fields):
    return member(name, type=tarfile.LNKTYPE, linkname=target, **fields)


def headers_inside():
    """A file whose content is an archive, for a size that is less than the header before it said."""
    return archive([member("../../tmp/through", b"x"), link("way", "/tmp"), member("way/through", b"x")])


def sparse(size):
    """The headers of a sparse file of this length."""
    return {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes", "GNU.sparse.realsize": str(size)}


def sparse_map(*parts):
    """Its offsets and lengths, and as much of content."""
    text = "".join(f"{number}\n" for number in (len(parts), *[number for part in parts for number in part])).encode()
    return text + bytes(-len(text) % 512) + b"x" * sum(length for _, length in parts)


HOSTILE = {
    "a name above": [member("../above", b"x")],
    "an absolute name": [member("/absolute", b"x")],
    "through a link": [link("way", "/tmp"), member("way/through", b"x")],
    "through a link above": [link("up", "../../.."), member("up/through", b"x")],
    "a hard link to outside": [member("stolen", type=tarfile.LNKTYPE, linkname="/etc/shadow")],
    "a hard link above": [member("stolen", type=tarfile.LNKTYPE, linkname="../../../etc/shadow")],
    "a device": [member("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3), member("disk", type=tarfile.BLKTYPE)],
    "a pipe": [member("pipe", type=tarfile.FIFOTYPE)],
    "set-id": [member("root", b"#!/bin/sh\n", mode=0o6755, uid=0)],
    "a capability": [member("cap", b"x", pax_headers={"SCHILY.xattr.security.capability": "\x01\x00\x00\x02"})],
    "a whiteout of all": [member(".wh.."), member(".wh..."), member(".wh.")],
    "names of ours": [link("dev", "/tmp"), link("proc", "/"), link("tmp", "/etc"), link("work", "/etc"), link(".cow", "/")],
    "a long name": [member("n" * 300, b"x")],
    "a deep name": [member("/".join(["d"] * 1500), b"x")],
    "a negative size": [member("size", b"x", pax_headers={"size": "-1"}), member("after", b"x")],
    "a size beyond all": [member("size", b"x", pax_headers={"size": "9" * 30}), member("after", b"x")],
    "a sparse file without an end": [member("holes", sparse_map((1 << 50, 0)), pax_headers=sparse(1 << 50))],
    "a sparse file with a negative hole": [member("holes", sparse_map((-512, 512)), pax_headers=sparse(512))],
    "a sparse file of many holes": [member("holes", sparse_map(*[(n << 20, 0) for n in range(20000)]), pax_headers=sparse(20000 << 20))],
    "a hard link to a link that leaves": [link("way", "/etc/shadow"), member("stolen", type=tarfile.LNKTYPE, linkname="way")],
    "a hard link through a link that leaves": [link("way", "/etc"), member("stolen", type=tarfile.LNKTYPE, linkname="way/shadow")],
    "a hard link to itself": [member("stolen", type=tarfile.LNKTYPE, linkname="stolen")],
    "a hard link to a directory": [directory("a"), member("stolen", type=tarfile.LNKTYPE, linkname="a")],
    "a file in place of a link that leaves": [link("tmpx", "/tmp/through"), member("tmpx", b"x")],
    "a directory in place of a link that leaves": [link("way", "/tmp"), directory("way"), member("way/through", b"x")],
    "whiteouts below links": [link("way", "/etc"), member("way/.wh.passwd"), link("up", ".."), member("up/.wh.etc")],
    "whiteouts that are full directories": [directory(".wh.app"), member(".wh.app/x"), directory("opt/.wh..wh..opq"), member("opt/x")],
    "a whiteout that is a link": [link(".wh.app", "/etc"), link("app/.wh..wh..opq", "/etc")],
    "the root as another thing": [link(".", "/etc"), link("./", "/tmp"), member("..", b"x"), member("", b"x")],
    "a closed directory": [member("closed", type=tarfile.DIRTYPE, mode=0), member("closed/x", b"x", mode=0), member("closed", type=tarfile.DIRTYPE, mode=0)],
    "names of control characters": [member("a\nb\x1b[2J", b"x"), link("l\n", "a\nb"), member("\udcff\udcfe", b"x")],
    "times and owners beyond all": [member("t", b"x", pax_headers={"mtime": "9" * 20, "uid": "-5", "gid": "9" * 20}), member("u", b"x", mtime=-1)],
    "a path for all that follow": [member("g", b"x", type=b"g", pax_headers={"path": "../../tmp/through"}), member("h", b"x")],
    "an unknown kind": [member("k", b"x", type=b"Z"), member("v", b"", type=b"V"), member("m", b"x", type=b"M")],
    "a path of its own": [member("p", b"x", pax_headers={"path": "../../tmp/through"}), member("q", b"x", pax_headers={"path": "/tmp/through"})],
    "a link path of its own": [hard_link("stolen", "x", pax_headers={"linkpath": "/etc/shadow"}), link("way", "x"),
                               member("w", b"x", type=tarfile.SYMTYPE, linkname="x", pax_headers={"linkpath": "/tmp", "path": "way"}),
                               member("way/through", b"x")],
    "a size of its own": [member("s", headers_inside(), pax_headers={"size": "0"}), member("after", b"x")],
    "a size of its own that eats the next": [member("s", b"x", pax_headers={"size": "1536"}), member("eaten", b"x"), member("after", b"x")],
    "long names of GNU tar": [extension(b"L", "../" * 100 + "tmp/through"), member("x", b"x"), extension(b"K", "/etc/shadow"), hard_link("stolen", "x"),
                              extension(b"L", "way"), extension(b"K", "/tmp"), link("x", "y"), member("way/through", b"x")],
    "a long name without an end": [extension(b"L", "d/" * 40000), member("x", b"x")],
    "a sparse file of old GNU tar": [member("holes", b"x" * 512, type=b"S", size=512), member("after", b"x")],
    "a directory listing of GNU tar": [directory("app"), member("app", b"Nnone\0R/etc/passwd\0T/tmp/through\0\0", type=b"D", size=34)],
    "a label and a volume": [member("../../tmp/through", type=b"V"), member("tmp/x", b"x", type=b"M", size=1)],
    "a link below and a file above it": [[link("way", "/tmp"), link("up", "../../..")], [member("way/through", b"x"), member("up/through", b"x")]],
    "a link in place of a directory below": [[directory("way"), member("way/x", b"x")], [link("way", "/tmp")], [member("way/through", b"x")]],
    "a hard link to a file of the layer below": [[hard_link("stolen", "app/data"), member("stolen", b"changed\n")]],
    "a hard link to a link of the layer below": [[link("way", "/etc/shadow")], [hard_link("stolen", "way")]],
    "a whiteout of what is above": [member("app/.wh..."), member("app/.wh.../x"), member("/.wh.etc/../.wh.app"), member("opt/../.wh..wh..opq")],
    "a whiteout by an absolute name": [member("/.wh.opt"), member("/tmp/../.wh.var")],
    "other words of aufs": [directory(".wh..wh.plnk"), member(".wh..wh.plnk/1.2", b"x"), directory(".wh..wh.orph"), member(".wh..wh.aufs"), member(".WH.etc", b"x")],
    "a name of 255 bytes": [member("n" * 255, b"x"), member("app/.wh." + "n" * 251), link("l" * 255, "n" * 255)],
    "a path of 5000 bytes": [member("p", b"x", pax_headers={"path": "/".join(["d" * 200] * 25)})],
    "a zero in a name": [member("p", b"x", pax_headers={"path": "app/a\0/../../tmp/through"}), member("q", b"x", pax_headers={"linkpath": "a\0b"})],
    "a link to a name without an end": [member("l", b"", type=tarfile.SYMTYPE, linkname="x", pax_headers={"linkpath": "x" * 5000})],
    "a header of extensions without an end": [member("h", b"x", pax_headers={f"SCHILY.xattr.user.{number}": "x" * 500 for number in range(2000)})],
    "a bomb of files": [member(f"many/f{number}") for number in range(3000)],
}


def layers_of(what):
    rows = HOSTILE[what]
    return [archive(members) for members in (rows if isinstance(rows[0], list) else [rows])]
