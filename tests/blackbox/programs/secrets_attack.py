"""Tries to be sent a key by another way than the one it is for, and to misuse the authority of its run.
argv: the port of the API, that of another server with TLS, and what to do.  One line of JSON for each."""
import glob
import json
import os
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

PORT, OTHER, WHAT = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
KEY = os.environ["API_KEY"]
HEADERS = {"Authorization": f"Bearer {KEY}"}
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
OWN = "/etc/ssl/certs/sandbox-run.pem"


def fetch(url, headers=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or HEADERS), timeout=60) as reply:
            return [reply.status, reply.read(4096).decode()]
    except urllib.error.HTTPError as problem:
        return [problem.code, ""]


def forged():
    """A certificate for another name by a key of our own, in the name of the run's authority: nobody trusts it."""
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=sandbox-run: this run only", "-addext", "subjectAltName=DNS:evil.example", "-keyout", "/tmp/k", "-out", "/tmp/c"]
    subprocess.run(words, check=True, capture_output=True)
    done = subprocess.run(["openssl", "verify", "-CAfile", OWN, "/tmp/c"], capture_output=True, text=True, check=False)
    return done.returncode


def constraints():
    """What the authority may sign for, as it says itself."""
    return subprocess.run(["openssl", "x509", "-in", OWN, "-noout", "-ext", "nameConstraints,basicConstraints"],
                          capture_output=True, text=True, check=True).stdout


def private_keys():
    """Files with a private key of the run's authority."""
    return [path for path in glob.glob("/etc/ssl/**", recursive=True) if os.path.isfile(path) and os.access(path, os.R_OK)
            and b"PRIVATE KEY" in open(path, "rb").read()]


def presented(name, port):
    """The subject names of what is presented for a name that is not the secret's."""
    context = ssl.create_default_context()
    with socket.create_connection(("127.0.0.1", port), 60) as raw, context.wrap_socket(raw, server_hostname=name) as stream:
        stream.sendall(f"GET /key HTTP/1.1\r\nHost: {name}\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n".encode())
        return stream.recv(100).decode()


CASES = {
    "itself": lambda: fetch(f"https://localhost:{PORT}/key"),
    "redirect": lambda: fetch(f"https://localhost:{PORT}/redirect?http://localhost:{OTHER}/key"),
    "other port": lambda: fetch(f"http://localhost:{OTHER}/key"),
    "address": lambda: fetch(f"https://127.0.0.1:{PORT}/key"),
    "second name": lambda: presented("second.example", PORT),
    "other header": lambda: fetch(f"https://localhost:{PORT}/echo", {"X-Note": KEY}),
    "forged": forged,
    "constraints": constraints,
    "private keys": private_keys,
}
for case in WHAT:
    try:
        print(json.dumps([case, CASES[case]()]), flush=True)
    except OSError as problem:
        print(json.dumps([case, str(problem)]), flush=True)
