"""A small DNS server with a table of its own, over UDP and TCP.  It answers what a test wants to be
answered, hostile answers among them, and keeps a log of the questions."""
import asyncio
import ipaddress
import struct

A, CNAME, TXT, AAAA = 1, 5, 16, 28
TYPES = {"A": A, "CNAME": CNAME, "TXT": TXT, "AAAA": AAAA}
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5

WEB4, WEB6 = "93.184.216.34", "2606:2800:220:1::1"
WEB = {"A": [WEB4], "AAAA": [WEB6]}

# A list of lists is a turn for each question.
TABLE = {
    "example.org": WEB,
    "web.example.org": {**WEB, "TXT": ["v=lab1"]},
    "other.example.org": WEB,
    "deep.sub.example.org": WEB,
    "web.example.net": {**WEB, "TXT": ["v=lab2"]},
    "notexample.org": WEB,
    "registry.example.net": WEB,
    "alias.example.org": {"CNAME": ["web.example.net"], **WEB},
    "v4.example.org": {"A": [WEB4]},
    "v6.example.org": {"AAAA": [WEB6]},
    "loop.example.org": {"A": ["127.0.0.1"], "AAAA": ["::1"]},
    "zero.example.org": {"A": ["0.0.0.0"], "AAAA": ["::"]},
    "meta.example.org": {"A": ["169.254.169.254"]},
    "link.example.org": {"A": ["169.254.7.5"]},
    "priv.example.org": {"A": ["10.7.0.5"]},
    "home.example.org": {"A": ["192.168.77.5"]},
    "cgnat.example.org": {"A": ["100.64.7.5"]},
    "ula.example.org": {"AAAA": ["fd00:7::5"]},
    "mapped.example.org": {"AAAA": ["::ffff:10.7.0.5"]},
    "nat64.example.org": {"AAAA": ["64:ff9b::a07:5"]},
    "6to4.example.org": {"AAAA": ["2002:a07:5::1"]},
    "own.example.org": {"A": ["93.184.216.1"], "AAAA": ["2606:2800:220:1::2"]},
    "next-door.example.org": {"A": ["93.184.217.5"]},
    "mixed.example.org": {"A": ["10.7.0.5", WEB4]},
    "rebind.example.org": {"A": [[WEB4], ["10.7.0.5"]]},
    "rebind-late.example.org": {"A": [["10.7.0.5"], [WEB4]]},
    "many.example.org": {"A": [f"8.8.5.{n}" for n in range(1, 40)] + [WEB4]},
    "half-dead.example.org": {"A": ["8.8.5.1", WEB4]},
    "old-dead.example.org": {"A": ["8.8.5.1"], "AAAA": [WEB6]},
    "new-dead.example.org": {"A": [WEB4], "AAAA": ["2606:2800:220:2::5"]},
    "half-closed.example.org": {"A": ["8.8.6.1", WEB4]},
    "broken.example.org": SERVFAIL,
    "silent.example.org": None,
}


def name_bytes(name):
    labels = [label.encode("latin-1") for label in name.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def read_name(data, at):
    """The name in a question and where it ends; questions are not compressed."""
    labels = []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    return ".".join(labels), at + 1


def record(kind, value):
    if kind in (A, AAAA):
        data = ipaddress.ip_address(value).packed
    else:
        data = name_bytes(value) if kind == CNAME else bytes([len(value)]) + value.encode()
    return kind, data


class Zone:
    def __init__(self, log):
        self.log = log
        self.turns = {}

    def values(self, name, rows, kind_name):
        values = rows.get(kind_name, [])
        if values and isinstance(values[0], list):
            turn = self.turns.get((name, kind_name), 0)
            self.turns[name, kind_name] = turn + 1
            return values[turn % len(values)]
        return values

    def answers(self, name, kind):
        """The code of the answer and its records; None: no answer at all."""
        rows = TABLE.get(name, NXDOMAIN)
        if rows is None or isinstance(rows, int):
            return rows, []
        if "CNAME" in rows and kind != CNAME:
            target = rows["CNAME"][0]
            code, rest = self.answers(target, kind)
            return code, [record(CNAME, target), *rest]
        names = [word for word, number in TYPES.items() if number == kind]
        found = self.values(name, rows, names[0]) if names else []
        return NOERROR, [record(kind, value) for value in found]

    def answer(self, message, transport):
        number, _, _ = struct.unpack_from("!HHH", message)
        name, end = read_name(message, 12)
        kind, _ = struct.unpack_from("!HH", message, end)
        self.log.append(["dns", transport, name.lower(), kind])
        code, records = self.answers(name.lower(), kind)
        if code is None:
            return None
        owner, body = b"\xc0\x0c", b""
        for rtype, data in records:
            body += owner + struct.pack("!HHIH", rtype, 1, 0, len(data)) + data
            if rtype == CNAME:  # what follows belongs to its target
                owner = data
        header = struct.pack("!HHHHHH", number, 0x8180 | code, 1, len(records), 0, 0)
        return header + message[12:end + 4] + body


async def stream(zone, reader, writer):
    try:
        while True:
            length, = struct.unpack("!H", await reader.readexactly(2))
            answer = zone.answer(await reader.readexactly(length), "tcp")
            if answer:
                writer.write(struct.pack("!H", len(answer)) + answer)
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
