"""From the words of a caller to the JSON request of docs/request.md."""
from __future__ import annotations

import base64
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

Content = Union[str, bytes]
Files = Union[Mapping[str, Content], Sequence[Mapping[str, Any]]]
Inputs = Union[Mapping[str, Content], Sequence[Content]]

# The name of the argument, and the limit of the request that it sets.
LIMITS = {"timeout": "timeout", "cpu_time": "cpu-time", "memory": "memory", "cpus": "cpus", "pids": "pids",
          "disk": "disk", "max_output": "max-output"}
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


def inside_work(path: str, workdir: str) -> str:
    """The path of a file below /work; a relative one begins at the work directory."""
    full = os.path.normpath(os.path.join(workdir, path))
    if not full.startswith("/work/"):
        raise ValueError(f"'{path}' is not below /work; give it a relative path")
    return full[len("/work/"):]


def execute_request(command: str, config: Optional[Mapping[str, Any]], files: Optional[Files]) -> Dict[str, Any]:
    """The request of `execute`: a line of shell, with a configuration and files."""
    config = dict(config or {})
    workdir = str(config.get("workdir") or "/work")
    made = file_list(files)
    for file in made:
        file["path"] = inside_work(file["path"], workdir)
    limits = dict(EXECUTE_LIMITS)
    for key, limit in (("cpu_limit", "cpus"), ("memory_limit", "memory")):
        if config.get(key) is not None:
            limits[limit] = str(config[key])
    if config.get("timeout") is not None:
        limits["timeout"] = f"{config['timeout']}ms"
    request: Dict[str, Any] = {"args": ["sh", "-c", command], "limits": limits, "stdin": "",
                               "network": network_of(config.get("network"))}
    optional = {"files": made, "env": dict(config.get("env") or {}), "image": config.get("image"),
                "workdir": workdir if workdir != "/work" else None}
    request.update({key: value for key, value in optional.items() if value})
    return request


def network_of(value: Union[bool, str, None]) -> str:
    """True is the whole network; without a word there is only a loopback."""
    if isinstance(value, bool):
        return "full" if value else "none"
    return value or "localhost"
