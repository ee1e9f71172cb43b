"""The steps of tests/clients/mcp/roots.mjs with the Python client of MCP.

Usage: roots.py http://... TOKEN ROOT...
"""
import asyncio
import json
import sys

import httpx2

from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

ADDRESS, TOKEN, *URIS = sys.argv[1:]
ASKED = []


async def agree(context, params):
    return types.ElicitResult(action="accept", content={"apply": True})


async def list_roots(context):
    ASKED.append(1)
    return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in URIS])


async def talk(session):
    ran = await session.call_tool("run_command", {"command": "ls; echo new > made.txt"})
    seen = {"stdout": ran.structured_content["stdout"], "first": ran.content[0].text}
    listed = await session.call_tool("list_files", {})
    seen["files"] = listed.content[-1].text if listed.is_error else \
        [file["path"] for file in listed.structured_content["files"]]
    changes = ran.structured_content.get("changes_id")
    if changes:
        applied = await session.call_tool("apply_changes", {"changes_id": changes})
        seen["applied"] = applied.content[0].text if applied.is_error else applied.structured_content["applied"]
    return {**seen, "asked": len(ASKED)}


async def main():
    bearer = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"})
    async with streamable_http_client(ADDRESS, http_client=bearer) as (read, write, *_):
        async with ClientSession(read, write, elicitation_callback=agree, list_roots_callback=list_roots) as session:
            await session.initialize()
            print(json.dumps(await talk(session)))


asyncio.run(main())
