"""Says what its network namespace is and holds, then leaves what it can in it; the mark is argv[1], 16 bytes."""
import json
import os
import socket
import struct
import sys

IPV6_FLOWLABEL_MGR, GET, ANY, CREATE, LINGER_S = 32, 0, 255, 1, 60
SO_NETNS_COOKIE = 71
# Sockets of the kernel's by addresses and numbers that are never the same; counters of the whole machine.
NEVER_THE_SAME = {"netlink", "unix", "ptype", "softnet_stat", "sockstat"}
FOLDER = "/proc/self/net"


def read(name):
    try:
        with open(f"{FOLDER}/{name}", "rb") as file:
            data = file.read()
    except OSError as error:
        return error.errno
    if name == "protocols":  # its fourth column is the memory of all sockets of the machine
        data = b"\n".join(b" ".join(line.split()[:3] + line.split()[4:]) for line in data.splitlines())
    return data.hex()


def cookie():
    with socket.socket(socket.AF_UNIX) as any_socket:
        try:
            return struct.unpack("Q", any_socket.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))[0]
        except OSError:
            return None  # a kernel before 5.14


def leave_label(mark):
    """Outlives its socket by LINGER_S."""
    wanted = struct.pack("=16sIBBHHHI", mark, socket.htonl(0x12345), GET, ANY, CREATE, LINGER_S, LINGER_S, 0)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as label:
        label.setsockopt(socket.IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, wanted)


names = [name for name in sorted(os.listdir(FOLDER)) if name not in NEVER_THE_SAME]
answer = {"cookie": cookie(), "before": {name: read(name) for name in names}}
try:
    leave_label(sys.argv[1].encode())
    answer["left"] = read("ip6_flowlabel") != answer["before"]["ip6_flowlabel"]
except OSError:
    answer["left"] = False  # a host without IPv6
print(json.dumps(answer))
