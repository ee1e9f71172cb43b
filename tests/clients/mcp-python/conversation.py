"""The steps of tests/clients/mcp/conversation.mjs with the Python client of MCP.

Usage: conversation.py PROGRAM [OPTION...], or http://... TOKEN
"""
import asyncio
import json
import os
import sys

import httpx2

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

OVER_HTTP = sys.argv[1].startswith("http")


async def agree(context, params):
    return types.ElicitResult(action="accept", content={"apply": bool(params.message)})


async def talk(session):
    """What every client does with the server, and what came back."""
    async def call(tool, **arguments):
        return await session.call_tool(tool, arguments)

    seen = {"tools": [tool.name for tool in (await session.list_tools()).tools]}
    steps = []

    async def on_progress(*step):
        steps.append(step)

    ran = await session.call_tool("run_code", {"language": "python", "code": "print(6 * 7)"},
                                  progress_callback=on_progress)
    seen["stdout"] = ran.structured_content["stdout"]
    seen["blocks"] = [block.type for block in ran.content]
    failed = await call("run_code", language="python", code="1/0")
    data = failed.structured_content
    seen["failed"] = [data["exit_code"], failed.is_error, data["diagnosis"][:17]]
    refused = await call("run_code", language="python", code="1", timeout_seconds=10000)
    seen["refused"] = [refused.is_error, refused.content[0].text[:22]]
    session_id = (await call("create_session", language="python")).structured_content["session_id"]
    await call("run_cell", session_id=session_id, code="x = 20")
    seen["cell"] = (await call("run_cell", session_id=session_id, code="x + 1")).structured_content["display"]
    seen["closed"] = (await call("close_session", session_id=session_id)).structured_content
    seen["closed"].pop("changes_id", None)
    left = await call("run_command", command="echo new > made.txt")
    if OVER_HTTP:  # there is no project
        seen["made"] = [file["path"] for file in left.structured_content["files"]]
    else:
        changes_id = left.structured_content["changes_id"]
        diff = (await call("show_changes", changes_id=changes_id)).structured_content["diff"]
        seen["diff"] = [line for line in diff.split("\n") if line.startswith("+")]
        seen["applied"] = (await call("apply_changes", changes_id=changes_id)).structured_content["applied"]
    first = (await session.list_resources()).resources[0]
    seen["resource"] = (await session.read_resource(first.uri)).contents[0].text
    try:
        await call("no_such_tool")
        seen["unknown"] = "result"
    except Exception as error:  # the class has another name in each version
        seen["unknown"] = error.error.code
    seen["progress"] = bool(steps)
    return seen


def transport():
    if OVER_HTTP:
        bearer = httpx2.AsyncClient(headers={"Authorization": f"Bearer {sys.argv[2]}"})
        return streamable_http_client(sys.argv[1], http_client=bearer)
    return stdio_client(StdioServerParameters(command=sys.argv[1], args=["mcp", *sys.argv[2:]], env=dict(os.environ)))


async def main():
    async with transport() as (read, write, *_):
        async with ClientSession(read, write, elicitation_callback=agree) as session:
            hello = await session.initialize()
            print(json.dumps({**await talk(session), "version": hello.protocol_version}))


asyncio.run(main())
