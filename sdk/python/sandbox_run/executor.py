"""The interface of an executor: one line of shell with a configuration and files."""
from __future__ import annotations

from typing import Optional

from .requests import ExecuteConfig, Files
from .results import ExecutionResult
from .sandbox import Sandbox


class SandboxExecutor:
    """`execute` and `health_check`, by the sandbox-run of this machine, or with `base_url` by a service."""

    def __init__(self, base_url: Optional[str] = None, token: Optional[str] = None, binary: Optional[str] = None, *,
                 call_timeout: Optional[float] = None, docker_socket: Optional[str] = None) -> None:
        self.sandbox = Sandbox(base_url, token, binary, call_timeout=call_timeout, docker_socket=docker_socket)

    def execute(self, command: str, config: Optional[ExecuteConfig] = None,
                files: Optional[Files] = None) -> ExecutionResult:
        return self.sandbox.execute(command, config, files)

    def health_check(self) -> bool:
        return self.sandbox.health_check()

    def close(self) -> None:
        self.sandbox.close()


class DockerSandboxExecutor(SandboxExecutor):
    """The same.  With `socket_path` each sandbox is made in a container of the Docker daemon that listens there, and
    images are first looked for in that daemon; without it no daemon is needed."""

    def __init__(self, socket_path: Optional[str] = None, *, binary: Optional[str] = None,
                 call_timeout: Optional[float] = None) -> None:
        super().__init__(binary=binary, call_timeout=call_timeout, docker_socket=socket_path)
