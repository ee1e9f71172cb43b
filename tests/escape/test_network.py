"""The network: threat 13.  There is none, and the host's loopback is another one."""
import socket

import pytest

import support
from harness import Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks

LOOPBACK = ("seccomp", "network-namespace", "landlock")

ATTACKS = [
    Attack("reaching the host's loopback", ("tcp", "127.0.0.1", "{port}"), LOOPBACK),
    Attack("reaching the host's loopback by version 6", ("tcp6", "::1", "{port6}"), LOOPBACK),
    Attack("reaching the host's loopback by a mapped address",
           ("tcp6", "::ffff:127.0.0.1", "{port}"), LOOPBACK),
    Attack("reaching an abstract socket of the host", ("abstract", "{abstract}"),
           ("network-namespace", "landlock")),
    Attack("seeing the host's network interfaces", ("interfaces",), ("network-namespace",)),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


def udp_receiver():
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.setblocking(False)
    return receiver


@callers
@pytest.mark.core
def test_no_datagram_reaches_the_host(scene, caller):
    with udp_receiver() as receiver:
        answer = run_attack(scene, "udp", "127.0.0.1", receiver.getsockname()[1], "hello",
                            caller=caller)
        assert answer.error, answer
        with pytest.raises(BlockingIOError):
            receiver.recv(16)


@root_only
def test_no_datagram_reaches_the_host_without_the_filter(scene):
    """Landlock knows nothing of datagrams: the namespace alone stops them."""
    with udp_receiver() as receiver:
        run_attack(scene, "udp", "127.0.0.1", receiver.getsockname()[1], "hello",
                   without=("seccomp",))
        with pytest.raises(BlockingIOError):
            receiver.recv(16)


@root_only
def test_a_datagram_reaches_the_host_without_the_layers(scene):
    with udp_receiver() as receiver:
        run_attack(scene, "udp", "127.0.0.1", receiver.getsockname()[1], "hello",
                   without=("seccomp", "network-namespace"))
        assert receiver.recv(16) == b"hello"


ELSEWHERE = [("tcp", address, 80) for address in ("169.254.169.254", "10.0.2.2", "192.168.0.1")]


@callers
def test_no_address_can_be_reached(scene, caller):
    attacks = [*ELSEWHERE, ("tcp", "0.0.0.0", 80)]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error == "ENETUNREACH")


@root_only
def test_no_address_can_be_reached_without_the_filter(scene):
    """Inside its own network namespace there is no route to anywhere."""
    answers = run_attacks(scene, ELSEWHERE, without=("seccomp", "landlock"))
    assert_each(ELSEWHERE, answers, lambda answer: answer.error == "ENETUNREACH")


@callers
def test_there_is_no_resolver(caller):
    """The one that is named does not exist, and nobody waits for it."""
    result = support.python("import socket, time\nbefore = time.monotonic()\n"
                            "try: socket.getaddrinfo('example.org', 80); print('resolved')\n"
                            "except OSError: print('not resolved')\n"
                            "print(time.monotonic() - before < 1)\n", caller=caller)
    assert result["stdout"] == "not resolved\nTrue\n"
