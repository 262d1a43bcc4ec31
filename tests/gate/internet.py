"""The fake internet as a program, started in a network namespace of its own: `internet.py CERTIFICATE REPOSITORY HITS`.

Everything it is sent goes to the file HITS, a line of JSON each: questions, requests, and (`packet`) the destination of
each packet that came over the wire, whether anything listens there or not.
"""

import asyncio
import ipaddress
import json
import socket
import struct
import sys
import threading
from pathlib import Path

import web
import zone
from names import FORBIDDEN, PROXY, RESOLVERS

_lock = threading.Lock()


def main():
    certificate, repository, hits = sys.argv[1], Path(sys.argv[2]), open(sys.argv[3], "a")

    def tell(kind, **more):
        with _lock:
            hits.write(json.dumps({"kind": kind, **more}) + "\n")
            hits.flush()

    web.start(tell, repository, certificate)
    threading.Thread(target=watch, args=(tell,), daemon=True).start()
    asyncio.run(serve(tell))


async def serve(tell):
    await zone.serve(zone.Zone(lambda name, kind: tell("question", name=name, type=kind)), RESOLVERS)
    # Hosts that speak first, and one that says what it hears.
    for port, banner in {22: b"SSH-2.0-fake\r\n", 25: b"220 fake\r\n", 5432: b"", 7: b""}.items():
        await asyncio.start_server(lambda r, w, banner=banner: echo(r, w, banner), "::", port)
        await asyncio.start_server(lambda r, w, banner=banner: echo(r, w, banner), "0.0.0.0", port)
    await asyncio.start_server(lambda r, w: socks(r, w, tell), PROXY, 1080)
    print("ready", flush=True)
    await asyncio.Event().wait()


async def echo(reader, writer, banner):
    try:
        writer.write(banner)
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def socks(reader, writer, tell):
    """SOCKS5 with a password (RFC 1928, 1929)."""
    try:
        _, methods = await reader.readexactly(2)
        offered = await reader.readexactly(methods)
        who = None
        if 2 in offered:
            writer.write(b"\5\2")
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            (length,) = await reader.readexactly(1)
            who = f"{user.decode()}:{(await reader.readexactly(length)).decode()}"
            writer.write(b"\1\0")
        else:
            writer.write(b"\5\0")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            (length,) = await reader.readexactly(1)
            host = (await reader.readexactly(length)).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        tell("socks", who=who, host=host, port=port)
        far, near = await asyncio.open_connection(host, port)
        writer.write(b"\5\0\0\1\0\0\0\0\0\0")
        await asyncio.gather(pump(reader, near), pump(far, writer))
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


def watch(tell):
    """Every packet to where none may go; of others the first to each destination."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    seen = set()
    while True:
        data, (_, protocol, direction, *_) = raw.recvfrom(2048)
        if direction == socket.PACKET_OUTGOING:
            continue
        found = packet(protocol, data)
        if found and (found not in seen or found[0] in FORBIDDEN):
            seen.add(found)
            to, number, port = found
            tell("packet", to=to, protocol=number, port=port)


def packet(ethernet, data):
    if ethernet == 0x0800:
        size, number, to = (data[0] & 15) * 4, data[9], data[16:20]
    elif ethernet == 0x86DD:
        size, number, to = 40, data[6], data[24:40]
    else:
        return None
    if number == 58:
        return None  # neighbours looking for one another
    port = struct.unpack(">H", data[size + 2 : size + 4])[0] if number in (6, 17) else None
    return str(ipaddress.ip_address(to)), number, port


if __name__ == "__main__":
    main()
