"""The servers of the network lab, in a network namespace of its own.

Usage: network_world.py world|host DIRECTORY

`world` is everybody else: every server on every address, and an answer says which address was
reached.  `host` is the machine that sandbox-run runs on: a secret on its loopback, on its own
addresses and on an abstract socket.  DIRECTORY has the certificate and what HTTP serves.
Reads commands as lines and answers each with a line of JSON: "log" (what came in), "clear".
"""
import asyncio
import hashlib
import json
import os
import pathlib
import random
import socket
import ssl
import struct
import sys
import urllib.parse

import network_dns

HTTP, HTTPS, DNS, ECHO, SINK, SOURCE = 80, 443, 53, 7, 9, 19
RESET, SLOW, GREETER, SHORT, STALL = 6001, 6002, 6003, 6004, 6005
HOST_PORT, HOST_PORT2 = 8080, 8081
SECRET = b"the host's own\n"
ABSTRACT = "sandbox-run-lab"
CHUNK = 1 << 16

LOG = []
NEVER = asyncio.Event()  # kept here: a task that waits for what nobody holds is destroyed


def plain(address):
    return address.removeprefix("::ffff:")


def stream_bytes(seed, count):
    """What SOURCE sends; the same for the same numbers."""
    block = random.Random(seed).randbytes(CHUNK)
    for start in range(0, count, CHUNK):
        yield block[:min(CHUNK, count - start)]


# ---- HTTP ----------------------------------------------------------------------------------------


async def read_request(reader):
    """Method, target, headers and body; None at the end."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {key.strip().lower(): value.strip()
               for key, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return method, target, headers, body


def respond(directory, target, headers, body, here):
    """Status, type, further header lines and content."""
    path, _, query = target.partition("?")
    if path == "/":
        return 200, "text/plain", "", f"web {here} {headers.get('host', '')}\n".encode()
    if path == "/redirect":
        return 302, "text/plain", f"Location: {urllib.parse.unquote(query)}\r\n", b"elsewhere\n"
    if path == "/sum":
        return 200, "text/plain", "", hashlib.sha256(body).hexdigest().encode()
    file = directory / "files" / urllib.parse.unquote(path).strip("/")
    if file.is_dir():
        file = file / "index.html"
    if not file.is_file():
        return 404, "text/plain", "", b"nothing here\n"
    kinds = {".html": "text/html", ".json": "application/json"}
    return 200, kinds.get(file.suffix, "application/octet-stream"), "", file.read_bytes()


async def serve_http(directory, reader, writer):
    here = plain(writer.get_extra_info("sockname")[0])
    try:
        while True:
            method, target, headers, body = await read_request(reader)
            LOG.append(["http", here, headers.get("host", ""), target])
            status, kind, more, content = respond(directory, target, headers, body, here)
            writer.write(f"HTTP/1.1 {status} Lab\r\nContent-Type: {kind}\r\n{more}"
                         f"Content-Length: {len(content)}\r\n\r\n".encode())
            if method != "HEAD":
                writer.write(content)
            await writer.drain()
            if headers.get("connection", "").lower() == "close":
                break
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        pass
    writer.close()


# ---- plain TCP -----------------------------------------------------------------------------------


async def echo(reader, writer):
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    writer.close()


async def sink(reader, writer):
    """Takes everything, then says how much and its digest: the answer comes after a half-close."""
    digest, count = hashlib.sha256(), 0
    while data := await reader.read(CHUNK):
        digest.update(data)
        count += len(data)
    LOG.append(["sunk", count, digest.hexdigest()])
    writer.write(f"{count} {digest.hexdigest()}\n".encode())
    writer.close()


async def source(reader, writer):
    """"COUNT SEED\\n" asks for that many bytes; then the end."""
    count, seed = map(int, (await reader.readline()).split())
    for block in stream_bytes(seed, count):
        writer.write(block)
        await writer.drain()
    writer.close()


async def reset(reader, writer):
    """Takes a line and resets the connection."""
    await reader.readline()
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def slow(reader, writer):
    """A byte now and then."""
    for byte in b"slowly\n":
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)
    del reader
    writer.close()


async def greeter(reader, writer):
    """Speaks first."""
    writer.write(b"welcome\n")
    await echo(reader, writer)


async def short(reader, writer):
    """Takes a line, then ends its own half and listens on."""
    await reader.readline()
    writer.write(b"no more of me\n")
    writer.write_eof()
    LOG.append(["short", len(await reader.read(-1))])
    writer.close()


async def stall(reader, writer):
    """Accepts, and then neither reads nor writes."""
    writer.transport.pause_reading()
    await NEVER.wait()
    del reader


async def secret(reader, writer):
    LOG.append(["secret"])
    writer.write(SECRET)
    await echo(reader, writer)


def logged(serve, port):
    async def handle(reader, writer):
        name = writer.get_extra_info("sockname")
        peer = writer.get_extra_info("peername")
        LOG.append(["tcp", plain(name[0]), port, plain(peer[0])] if isinstance(name, tuple)
                   else ["unix"])
        try:
            await serve(reader, writer)
        except (ConnectionError, ValueError) as problem:
            LOG.append(["broke", port, type(problem).__name__])
            writer.close()

    return handle


# ---- UDP -----------------------------------------------------------------------------------------


def udp_socket(family, address, port):
    """Answers leave from the address that was asked: the kernel says which one it was."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, 8, 1)  # IP_PKTINFO
    sock.bind((address, port))
    sock.setblocking(False)
    return sock


def udp_serve(sock, port, answer):
    data, ancillary, _, sender = sock.recvmsg(CHUNK, 256)
    there, back = "?", []
    for level, kind, info in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, 8):
            there = socket.inet_ntop(socket.AF_INET, info[8:12])
            back = [(level, kind, struct.pack("=i4s4s", 0, info[8:12], bytes(4)))]
        elif (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO):
            there = socket.inet_ntop(socket.AF_INET6, info[:16])
            back = [(level, kind, info)]
    LOG.append(["udp", there, port, plain(sender[0]), data.decode("latin-1")])
    reply = answer(data)
    if reply is not None:
        sock.sendmsg([reply], back, 0, sender)


def listen_udp(port, answer):
    loop = asyncio.get_running_loop()
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        sock = udp_socket(family, address, port)
        loop.add_reader(sock, udp_serve, sock, port, answer)


# ---- what is where -------------------------------------------------------------------------------


async def listen_tcp(serve, port, **options):
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        await asyncio.start_server(logged(serve, port), address, port, family=family, limit=1 << 20,
                                   backlog=1024, **options)


async def be_world(directory):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "server.pem", directory / "server.key")
    zone = network_dns.Zone(LOG)

    async def http(reader, writer):
        await serve_http(directory, reader, writer)

    async def dns(reader, writer):
        await network_dns.stream(zone, reader, writer)

    await listen_tcp(http, HTTP)
    await listen_tcp(http, HTTPS, ssl=context)
    for port, serve in ((DNS, dns), (ECHO, echo), (SINK, sink), (SOURCE, source), (RESET, reset),
                        (SLOW, slow), (GREETER, greeter), (SHORT, short), (STALL, stall)):
        await listen_tcp(serve, port)
    listen_udp(DNS, lambda data: zone.answer(data, "udp"))
    listen_udp(ECHO, lambda data: data)
    listen_udp(SINK, lambda data: None)
    listen_udp(GREETER, lambda data: b"welcome " + data)


async def be_host(directory):
    del directory
    for port in (HOST_PORT, HOST_PORT2):
        await listen_tcp(secret, port)
        listen_udp(port, lambda data: SECRET)
    await asyncio.start_unix_server(logged(secret, 0), "\0" + ABSTRACT)


async def main(role, directory):
    await {"world": be_world, "host": be_host}[role](pathlib.Path(directory))
    print(json.dumps("ready"), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line == b"clear\n":
            LOG.clear()
        print(json.dumps(LOG), flush=True)
    os._exit(0)  # nobody listens any more; what is still open does not matter


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
