"""Run untrusted code: by the local sandbox-run, or by its HTTP service."""
from .aio import AsyncSandbox, AsyncSession
from .errors import (BinaryNotFound, Busy, ConnectionFailed, Denied, InternalError, InvalidRequest, NotFound,
                     SandboxError, Unauthorized, Unsupported)
from .results import Event, ExecutionResult, ResourceUsage, Result
from .sandbox import Sandbox, Session

__all__ = ["AsyncSandbox", "AsyncSession", "BinaryNotFound", "Busy", "ConnectionFailed", "Denied", "Event",
           "ExecutionResult", "InternalError", "InvalidRequest", "NotFound", "ResourceUsage", "Result", "Sandbox",
           "SandboxError", "Session", "Unauthorized", "Unsupported"]
