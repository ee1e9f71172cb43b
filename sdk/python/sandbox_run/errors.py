"""What is raised when sandbox-run could not run a program.  A program that failed, or that was killed, is a result."""
from __future__ import annotations

from typing import Any, Mapping, Optional


class SandboxError(Exception):
    """`code` is stable and meant for programs; the text is one sentence for people."""

    def __init__(self, message: str, *, code: str = "system", stage: Optional[str] = None,
                 status: Optional[int] = None, remedy: Optional[str] = None,
                 retry_after: Optional[int] = None) -> None:
        super().__init__(message)
        self.code = code
        self.stage = stage
        self.status = status
        self.remedy = remedy
        self.retry_after = retry_after


class InvalidRequest(SandboxError):
    """The request is wrong: a field, a limit, a name."""


class NotFound(SandboxError):
    """A language, command, session or file is not there."""


class Denied(SandboxError):
    """The sandbox may not be given in this way."""


class Unauthorized(SandboxError):
    """The service does not know the token."""


class Unsupported(SandboxError):
    """This machine or this service cannot do it."""


class Busy(SandboxError):
    """Too much runs already; `retry_after` has the seconds to wait, when the service says so."""


class InternalError(SandboxError):
    """sandbox-run itself has failed."""


class BinaryNotFound(SandboxError):
    """There is no sandbox-run on this machine."""


class ConnectionFailed(SandboxError):
    """The service cannot be reached, or it went away; `sent` is False when it was never asked."""
    sent = True


class TimedOut(SandboxError):
    """`call_timeout` is over, and what ran was ended."""


class Cancelled(SandboxError):
    """The caller has cancelled the call, and what ran was ended."""


BY_CODE = {"invalid": InvalidRequest, "not_found": NotFound, "denied": Denied, "unauthorized": Unauthorized,
           "unsupported": Unsupported, "busy": Busy, "bug": InternalError, "system": InternalError,
           "no_memory": InternalError}
CODE_BY_STATUS = {400: "invalid", 401: "unauthorized", 403: "denied", 404: "not_found", 409: "busy", 413: "invalid",
                  415: "invalid", 422: "invalid", 429: "busy", 501: "unsupported", 503: "busy"}


def of_error(error: Mapping[str, Any], **more: Any) -> SandboxError:
    """The error object of a result, as an exception."""
    code = error.get("code") or "system"
    return BY_CODE.get(code, SandboxError)(str(error.get("message") or code), code=code, stage=error.get("stage"),
                                           **more)


def of_problem(status: int, problem: Mapping[str, Any], retry_after: Optional[str] = None) -> SandboxError:
    """A problem+json answer of the service, as an exception."""
    code = problem.get("code") or CODE_BY_STATUS.get(status, "system")
    text = problem.get("detail") or problem.get("title") or f"the service answered with status {status}"
    wait = int(retry_after) if retry_after and retry_after.isdigit() else None
    kind = Unauthorized if status == 401 else BY_CODE.get(code, SandboxError)
    return kind(str(text), code=code, stage=problem.get("stage"), status=status, remedy=problem.get("remedy"),
                retry_after=wait)
