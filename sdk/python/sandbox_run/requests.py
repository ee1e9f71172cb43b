"""From the words of a caller to the JSON request of docs/request.md."""
from __future__ import annotations

import base64
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from .errors import InvalidRequest

Content = Union[str, bytes]


class MountedFile(TypedDict, total=False):
    """A file that a command finds; `host_path` is one of this machine, in place of `content`."""
    path: str
    content: Content
    host_path: str
    mode: int


class SandboxConfig(TypedDict, total=False):
    """Of `execute`; `timeout` is in milliseconds, `network_mode` none, localhost, allow, full, or bridge as Docker says."""
    image: str
    timeout: float
    cpu_limit: str
    memory_limit: str
    workdir: str
    network_mode: Union[bool, str]
    network: Union[bool, str]
    read_only: bool
    env: Mapping[str, str]


Files = Union[Mapping[str, Content], Sequence[MountedFile], Sequence[Mapping[str, Any]]]
ExecuteConfig = Union[SandboxConfig, Mapping[str, Any]]
Inputs = Union[Mapping[str, Content], Sequence[Content]]

# The name of the argument, and the limit of the request that it sets.
LIMITS = {"timeout": "timeout", "cpu_time": "cpu-time", "memory": "memory", "cpus": "cpus", "pids": "pids",
          "disk": "disk", "max_output": "max-output"}
# Fields of the configuration of `execute`, as Python and as JSON spell them.
CONFIG = {"image": "image", "timeout": "timeout", "cpu_limit": "cpu_limit", "cpuLimit": "cpu_limit",
          "memory_limit": "memory_limit", "memoryLimit": "memory_limit", "workdir": "workdir", "network": "network_mode",
          "network_mode": "network_mode", "networkMode": "network_mode", "read_only": "read_only",
          "readOnly": "read_only", "env": "env"}
# Of `execute`: what holds when its configuration is silent.
EXECUTE_LIMITS = {"timeout": "300s", "cpus": "1", "memory": "2g", "disk": "1g", "pids": 100}


def encoded(content: Content) -> Dict[str, Any]:
    if isinstance(content, str):
        try:
            content.encode()
            return {"content": content}
        except UnicodeEncodeError:
            content = content.encode("utf-8", "surrogatepass")
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


def file_list(files: Optional[Files]) -> List[Dict[str, Any]]:
    if not files:
        return []
    if isinstance(files, Mapping):
        return [{"path": path, **encoded(content)} for path, content in files.items()]
    return [one_file(file) for file in files]


def input_list(inputs: Inputs) -> List[Dict[str, Any]]:
    """Of a comparison; an input without a name is called by its number, from 1."""
    named = inputs if isinstance(inputs, Mapping) else {str(i): one for i, one in enumerate(inputs, 1)}
    return [{"name": name, **encoded(content)} for name, content in named.items()]


def one_file(file: Mapping[str, Any]) -> Dict[str, Any]:
    content = file.get("content")
    if content is None:
        with open(file["host_path"], "rb") as source:
            content = source.read()
    made = {"path": str(file["path"]), **encoded(content)}
    if int(file.get("mode") or 0) & 0o111:
        made["executable"] = True
    return made


def request_of(code: Optional[str] = None, *, language: Optional[str] = None, command: Optional[Sequence[str]] = None,
               files: Optional[Files] = None, stdin: Optional[str] = None, limits: Optional[Mapping[str, Any]] = None,
               **fields: Any) -> Dict[str, Any]:
    """A request; what is not known here is a field of the request itself, such as deps or allow_hosts."""
    request: Dict[str, Any] = {}
    given = {LIMITS[name]: fields.pop(name) for name in list(fields) if name in LIMITS}
    values = {"code": code, "language": language, "stdin": stdin if stdin is not None else "",
              "args": list(command) if command is not None else None, "files": file_list(files) or None,
              "limits": {**(limits or {}), **given} or None, **fields}
    for name, value in values.items():
        if value is not None:
            request[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    return request


def place_of(path: str, workdir: str) -> str:
    """Where a file of `execute` lies; a relative path begins at the work directory.  What is in /work stays relative."""
    full = os.path.normpath(os.path.join(workdir, path))
    if full == workdir or full.startswith("//"):
        raise InvalidRequest(f"'{path}' is no path of a file; give one relative to the work directory", code="invalid")
    return full[len("/work/"):] if full.startswith("/work/") else full


def config_of(given: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields by their names here; one that is not known is refused, not ignored."""
    config: Dict[str, Any] = {}
    for name, value in given.items():
        if name not in CONFIG:
            raise InvalidRequest(f"'{name}' is no field of the configuration; it has {', '.join(sorted(set(CONFIG.values())))}",
                                 code="invalid")
        if value is not None:
            config[CONFIG[name]] = value
    return config


def execute_request(command: str, given: Optional[Mapping[str, Any]], files: Optional[Files]) -> Dict[str, Any]:
    """The request of `execute`: a line of shell, with a configuration and files."""
    config = config_of(given or {})
    workdir = os.path.normpath(str(config.get("workdir", "/work")))
    made = file_list(files)
    for file in made:
        file["path"] = place_of(file["path"], workdir)
    limits = {**EXECUTE_LIMITS, **{limit: str(config[key]) for key, limit in
                                   (("cpu_limit", "cpus"), ("memory_limit", "memory")) if key in config}}
    if "timeout" in config:
        limits["timeout"] = f"{config['timeout']}ms"
    request: Dict[str, Any] = {"args": ["sh", "-c", command], "limits": limits, "stdin": "",
                               "network": network_of(config.get("network_mode"))}
    optional = {"files": made, "env": dict(config.get("env", {})), "image": config.get("image"),
                "read_only": bool(config.get("read_only")), "workdir": workdir if workdir != "/work" else None}
    request.update({key: value for key, value in optional.items() if value})
    return request


def network_of(value: Union[bool, str, None]) -> str:
    """True is the whole network; without a word there is only a loopback."""
    if isinstance(value, bool):
        return "full" if value else "none"
    return "full" if value == "bridge" else value or "localhost"
