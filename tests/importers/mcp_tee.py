"""An MCP client and server with a tee between them that logs each message: `python mcp_tee.py talk LOG`.

`python mcp_tee.py tee LOG COMMAND ...` puts the tee in front of another server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def serve() -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("garden")

    @server.tool()
    def scan(plant: str) -> dict[str, bool]:
        """Look at a plant."""
        return {"dry": plant == "A"}

    @server.tool()
    def water(plant: str) -> str:
        """Water a plant."""
        raise ValueError("no water")

    server.run("stdio")


async def talk(file: str) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=[__file__, "tee", file])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.list_tools()
        for tool, arguments in (("scan", {"plant": "A"}), ("water", {"plant": "A"}), ("nope", {"x": 1})):
            await session.call_tool(tool, arguments)


def tee(file: str, *command: str) -> None:
    server = subprocess.Popen(
        command or [sys.executable, __file__, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    lock = threading.Lock()
    with Path(file).open("a", buffering=1, encoding="utf-8") as log:

        def copy(source: Any, to: Any, direction: str) -> None:
            for line in iter(source.readline, b""):
                with lock:
                    log.write(json.dumps({"direction": direction, "message": json.loads(line)}) + "\n")
                to.write(line)
                to.flush()
            to.close()

        back = threading.Thread(target=copy, args=(server.stdout, sys.stdout.buffer, "to client"))
        back.start()
        copy(sys.stdin.buffer, server.stdin, "to server")
        server.wait()
        back.join()


if __name__ == "__main__":
    if sys.argv[1] == "talk":
        asyncio.run(talk(sys.argv[2]))
    elif sys.argv[1] == "tee":
        tee(*sys.argv[2:])
    else:
        serve()
