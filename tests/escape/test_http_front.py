"""The fronts of the gateway, which read what clients send: what they are from outside, and what an attacker who has
taken one over can still do."""
import base64
import os
import signal
import struct

import engine
import gateway
import support

NO_CAPABILITY = "0" * 16
HELD_KIB = 8192
ATTEMPTS = {"read", "write", "exec", "exec-here", "trace", "signal", "internet", "local", "code", "namespace"}



class Frame:
    """As wire/front.h has them."""
    FRAME_MAX = 32768
    REQUEST, BODY, END, ADMIT, REPLY, DATA, DONE, MESSAGE, CLOSE = range(1, 10)
    WHOLE, MORE, BINARY = 1, 2, 4

    @staticmethod
    def of(kind, data=b"", flags=0, fields_len=0, zeros=0, times=1):
        """A word of the header X-Frames."""
        head = struct.pack("=BBHIQ", kind, flags, 0, fields_len, 0)
        return f"{times}:{base64.b64encode(head + data).decode()}:{zeros}"

    @staticmethod
    def request(path=b"/version", flags=WHOLE, headers=(), method=b"GET", kind=b"h", body=b"", **rest):
        """`kind` is that of the headers."""
        fields = b"m\0" + method + b"\0p\0" + path + b"\0hHost\0localhost\0"
        fields += b"".join(kind + name + b"\0" + value + b"\0" for name, value in headers)
        return Frame.of(Frame.REQUEST, fields + body, flags, len(fields), **rest)


def raw(data, zeros=0):
    return f"1:{base64.b64encode(data).decode()}:{zeros}"


UPGRADE = [(b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"), (b"Sec-WebSocket-Version", b"13"),
           (b"Sec-WebSocket-Key", b"A" * 24)]
OPEN = Frame.request(b"/v1/executions", flags=0, method=b"POST", headers=[(b"Content-Type", b"application/json")])
LONG = Frame.request(b"/v1/executions", method=b"POST", headers=[(b"Content-Type", b"application/json")],
                     body=b'{"args": ["sleep", "100"]}')
# What a front that is in order never sends, after what it may have sent: the gateway ends the connection.
HOSTILE = {
    "no head": [raw(b"\1")],
    "no bytes": [raw(b"")],
    "half a head": [raw(struct.pack("=BBH", Frame.REQUEST, Frame.WHOLE, 0))],
    "longer than a frame": [Frame.request(zeros=Frame.FRAME_MAX)],
    "an unknown kind": [Frame.of(0)],
    "the last kind of all": [Frame.of(255)],
    "a kind of the gateway's": [Frame.of(Frame.REPLY)],
    "a body without a request": [Frame.of(Frame.BODY, b"{}")],
    "an end without a request": [Frame.of(Frame.END)],
    "a message without an upgrade": [Frame.of(Frame.MESSAGE, b"{}")],
    "fields longer than the frame": [Frame.of(Frame.REQUEST, b"m\0GET\0p\0/\0", Frame.WHOLE, fields_len=0xFFFFFFFF)],
    "fields that do not end": [Frame.of(Frame.REQUEST, b"m\0GET\0p\0/version", Frame.WHOLE, fields_len=16)],
    "no fields": [Frame.of(Frame.REQUEST, flags=Frame.WHOLE)],
    "no path": [Frame.of(Frame.REQUEST, b"m\0GET\0", Frame.WHOLE, fields_len=6)],
    "a request in a request": [OPEN, "?", Frame.request()],
    "a body after its end": [OPEN, "?", Frame.of(Frame.BODY, b"{", times=2), Frame.of(Frame.END, times=2)],
    "two requests at once": [LONG, Frame.request()],
    "a request behind a body that was refused": [OPEN, "?", Frame.of(Frame.BODY, zeros=32000, times=600), Frame.request()],
    "requests without reading replies": [Frame.request(b"/docs", times=4000)],
}
REFUSED_BUT_ANSWERED = {
    "a path that is none": Frame.request(path=b""),
    "a path of other bytes": Frame.request(path=b"\1../\xff\x7f"),
    "a method that is none": Frame.request(method=b"\n"),
    "a kind of field that is none": Frame.request(path=b"/nothing", headers=[(b"\xff", b"\xff")], kind=b"\xff"),
}


def send_frames(running, *words):
    """What the front got back, word by word."""
    return running.ask("GET", "/", X_Frames=" ".join(words)).body.decode().splitlines()


def memory_kib(pid):
    return int(status_of(pid)["VmRSS"].split()[0])


def test_frames_of_a_front_that_was_taken_over_harm_no_gateway(tmp_path):
    with gateway.Gateway(tmp_path / "g", hooks=True) as running:
        pid = running.process.pid
        assert send_frames(running, Frame.request(), "?") == ["5 200"], "the frames are right"
        running.run({"args": ["true"]})  # the first run opens what all have in common
        open_before, memory_before = len(os.listdir(f"/proc/{pid}/fd")), memory_kib(pid)
        for name, words in HOSTILE.items():
            answers = send_frames(running, *words, *["?"] * 40)
            assert answers[-1] == "end", (name, answers)
        for name, word in REFUSED_BUT_ANSWERED.items():
            answer = send_frames(running, word, "?")
            assert answer[0].split()[1] in ("400", "404", "405"), (name, answer)
        assert running.ask("GET", "/version").status == 200
        assert len(gateway.fronts(running)) == 2 and running.process.poll() is None
        assert engine.within(support.DEADLINE, lambda: len(os.listdir(f"/proc/{pid}/fd")) <= open_before)
        assert memory_kib(pid) - memory_before < HELD_KIB


def test_messages_of_a_front_that_was_taken_over_are_bounded(tmp_path):
    with gateway.Gateway(tmp_path / "g", hooks=True) as running:
        where = running.ask("POST", "/v1/executions", {"args": ["sh", "-c", "read a"]},
                            Prefer="respond-async").headers["Location"]
        upgrade = Frame.request(where.encode() + b"/socket", headers=UPGRADE)
        for words in ([Frame.of(Frame.MESSAGE, flags=Frame.MORE, zeros=32000, times=40)],
                      [Frame.of(Frame.REQUEST, b"m\0GET\0p\0/\0", Frame.WHOLE, fields_len=10)],
                      [Frame.of(Frame.MESSAGE, b"{"), Frame.of(Frame.CLOSE)]):
            answers = send_frames(running, upgrade, "?", *words, *["?"] * 40)
            assert answers[0] == "5 101" and answers[-1] == "end", answers
        assert running.ask("GET", where).json()["status"] == "running", "its run goes on"
        assert running.ask("DELETE", where).status == 202


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def attack(running, path):
    """The attempts of the front at TCP that succeeded: no token is needed to reach its parser."""
    said = dict(line.split() for line in running.ask("GET", "/", tcp=True, X_Attack=str(path)).body.decode().splitlines())
    assert set(said) == ATTEMPTS
    return {name for name, error in said.items() if error == "0"}


def test_a_front_that_was_taken_over_can_do_nothing(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of the gateway's user")
    secret.chmod(0o600)
    with gateway.Gateway(tmp_path / "g", hooks=True) as running:
        assert attack(running, secret) == set()
        pids = gateway.fronts(running)
        assert len(pids) == 2, "one for the unix socket, one for TCP"
        for pid in pids:
            status = status_of(pid)
            assert (status["Seccomp"], status["NoNewPrivs"], status["CapEff"]) == ("2", "1", NO_CAPABILITY)
            assert os.geteuid() or "0" not in status["Uid"].split()
    free = {"SANDBOX_RUN_TEST_WITHOUT": "front-confine"}
    with gateway.Gateway(tmp_path / "free", env=free, hooks=True) as running:
        assert attack(running, secret) >= ATTEMPTS - {"trace", "namespace"}, "without it, all of this works"


def test_a_front_that_ends_is_started_again(tmp_path):
    with gateway.Gateway(tmp_path / "g") as running:
        where = running.ask("POST", "/v1/executions", {"args": ["sh", "-c", "read a; echo $a"]},
                            Prefer="respond-async").headers["Location"]
        before = gateway.fronts(running)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        assert engine.within(support.DEADLINE, lambda: len(set(gateway.fronts(running)) - set(before)) == 2)
        assert running.ask("POST", where + "/stdin?close=1", b"again\n").status == 202, "runs go on"
        assert engine.within(support.DEADLINE, lambda: running.ask("GET", where).json()["status"] == "done")
        assert running.ask("GET", where).json()["result"]["stdout"] == "again\n"
