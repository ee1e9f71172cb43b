"""What a run gives."""
from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from . import errors


class Result:
    """The result object of a run, with its fields as attributes; `raw` is the object itself.

    `display` holds what a cell has shown, as bundles of MIME types; a notebook shows the last of them.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: Dict[str, Any] = dict(raw)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "raw":
            raise AttributeError(name)
        try:
            return self.raw[name]
        except KeyError:
            raise AttributeError(f"the result has no field '{name}'") from None

    @property
    def stdout(self) -> str:
        return self.stdout_bytes_data.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self._bytes("stderr").decode("utf-8", "replace")

    @property
    def stdout_bytes_data(self) -> bytes:
        """The kept bytes of stdout; `stdout_bytes` counts all of them."""
        return self._bytes("stdout")

    @property
    def display(self) -> List[Dict[str, Any]]:
        return list(self.raw.get("display") or [])

    def _bytes(self, stream: str) -> bytes:
        parts = [self.raw.get(stream) or "", self.raw.get(f"{stream}_tail") or ""]
        if self.raw.get(f"{stream}_encoding") == "base64":
            return b"".join(base64.b64decode(part) for part in parts)
        return "".join(parts).encode("utf-8", "surrogatepass")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        return self.display[-1] if self.display else {"text/plain": self.stdout or repr(self)}

    def __repr__(self) -> str:
        return f"<Result {self.raw.get('outcome')} exit_code={self.raw.get('exit_code')}>"


@dataclass(frozen=True)
class Event:
    """One line of a stream: docs/events.md.  `data` has the bytes of stdout and stderr."""
    type: str
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def data(self) -> bytes:
        if "data_b64" in self.raw:
            return base64.b64decode(self.raw["data_b64"])
        return str(self.raw.get("data") or "").encode("utf-8", "surrogatepass")

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def result(self) -> Optional[Result]:
        return Result(self.raw["result"]) if self.type == "end" else None


@dataclass(frozen=True)
class ResourceUsage:
    """Figures of one command; `memory_usage_mb` is the last sample before its end."""
    cpu_usage_percent: float
    memory_usage_mb: float
    max_memory_mb: float


ResourceStats = ResourceUsage


@dataclass(frozen=True)
class ExecutionResult:
    """What `execute` gives; `duration` is in milliseconds."""
    exit_code: int
    stdout: str
    stderr: str
    duration: float
    resource_usage: Optional[ResourceUsage] = None


def checked(raw: Mapping[str, Any]) -> Result:
    """The result, unless it says that there was no run."""
    if raw.get("error"):
        raise errors.of_error(raw["error"])
    return Result(raw)
