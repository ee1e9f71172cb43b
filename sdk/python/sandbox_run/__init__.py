"""Run untrusted code: by the local sandbox-run, or by its HTTP service."""
from .aio import AsyncSandbox, AsyncSession
from .calls import Call
from .errors import (BinaryNotFound, Busy, Cancelled, ConnectionFailed, Denied, InternalError, InvalidRequest, NotFound,
                     SandboxError, TimedOut, Unauthorized, Unsupported)
from .executor import DockerSandboxExecutor, SandboxExecutor
from .requests import MountedFile, SandboxConfig
from .results import Event, ExecutionResult, ResourceStats, ResourceUsage, Result
from .sandbox import Sandbox, Session

__all__ = ["AsyncSandbox", "AsyncSession", "BinaryNotFound", "Busy", "Call", "Cancelled", "ConnectionFailed", "Denied",
           "DockerSandboxExecutor", "Event", "ExecutionResult", "InternalError", "InvalidRequest", "MountedFile",
           "NotFound", "ResourceStats", "ResourceUsage", "Result", "Sandbox", "SandboxConfig", "SandboxError",
           "SandboxExecutor", "Session", "TimedOut", "Unauthorized", "Unsupported"]
