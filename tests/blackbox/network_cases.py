"""What the network tests share: actions in short form, and what must become of them."""
import dataclasses

from network_lab import HOST4, HOST6, PORTS, WEB4, WEB6

OPEN = (WEB4, WEB6)
__all__ = ["HOST4", "HOST6", "OPEN", "PORTS", "WEB4", "WEB6", "Case", "action", "check", "listed",
           "is_refused", "reached"]


def action(text):
    """"tcp HOST PORT" and "udp HOST PORT" say hello and expect an echo; a URL is fetched."""
    if text.startswith("http"):
        return ["http", text]
    kind, host, port = text.split()
    return [{"tcp": "talk", "udp": "udp"}[kind], host, int(port)]


def listed(*hosts):
    return tuple(word for host in hosts for word in ("--allow-host", host))


def is_refused(outcome):
    """Failed, and was told so: a program that waits for nothing learns nothing."""
    return isinstance(outcome, str) and outcome.startswith("NOT ") and "waited" not in outcome


def is_served(outcome):
    return isinstance(outcome, str) and (outcome.startswith(("web ", "hello", "the host's own")))


def reached(lab):
    """Addresses of the world at which something arrived, but for its resolver."""
    return {entry[1] for entry in lab.log()
            if entry[0] in ("tcp", "udp") and entry[2] != PORTS["DNS"]}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    options: tuple
    good: tuple  # must succeed
    bad: tuple  # must be refused, and arrive nowhere
    at: tuple = OPEN  # all that may be reached
    on_host: int = 0  # connections that the host's own servers see

    def __str__(self):
        return self.name


def check(lab, case, caller):
    """All of a case in one run."""
    outcomes, result = lab.probe([action(text) for text in (*case.good, *case.bad)], *case.options,
                                 caller=caller)
    said = dict(zip((*case.good, *case.bad), outcomes))
    wrong = {text: said[text] for text in case.good if not is_served(said[text])}
    wrong |= {text: said[text] for text in case.bad if not is_refused(said[text])}
    assert not wrong, f"{wrong}; denials {result.get('denials')}"
    assert reached(lab) <= set(case.at)
    assert len(lab.log("secret", lab.host)) == case.on_host
    return result
