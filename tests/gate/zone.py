"""A name server in a hundred lines: answers from `names`, and keeps every question."""

import asyncio
import ipaddress
import struct
import threading

from names import ALIASES, TUNNELS, ZONE

A, CNAME, TXT, AAAA, HTTPS, OPT = 1, 5, 16, 28, 65, 41


def encode(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def decode(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1 : at + 1 + data[at]].decode("latin-1"))
        at += 1 + data[at]
    return ".".join(labels), at + 1


class Zone:
    """Answers messages. `tell(name, type)` hears of each question."""

    def __init__(self, tell):
        self.tell = tell
        self.turns, self.lock = {}, threading.Lock()

    def addresses(self, name):
        found = ZONE.get(name)
        if found and isinstance(found[0], list):
            with self.lock:
                turn = self.turns.get(name, 0)
                self.turns[name] = turn + 1
            return found[turn % len(found)], 0
        if found is None and name.endswith(TUNNELS):
            found = ["45.33.32.156"]
        return found, 60

    def answer(self, data):
        number, _, questions, _, _, _ = struct.unpack(">6H", data[:12])
        if questions != 1:
            return None
        name, end = decode(data, 12)
        kind, _ = struct.unpack(">2H", data[end : end + 4])
        name = name.lower()
        self.tell(name, kind)
        records, at = [], name
        while at in ALIASES:
            records.append(record(at, CNAME, 60, encode(ALIASES[at])))
            at = ALIASES[at]
        found, ttl = self.addresses(at)
        for text in found or []:
            address = ipaddress.ip_address(text)
            if kind == (A if address.version == 4 else AAAA):
                records.append(record(at, kind, ttl, address.packed))
        if found is not None and kind == TXT:
            records.append(record(at, TXT, ttl, b"\x05hello"))
        if found is not None and kind == HTTPS:
            records.append(record(at, HTTPS, ttl, b"\0\1\0\0\5\0\5ECHy!"))
        code = 0 if found is not None else 3
        head = struct.pack(">6H", number, 0x8180 | code, 1, len(records), 0, 0)
        return head + data[12 : end + 4] + b"".join(records)


def record(name, kind, ttl, data):
    return encode(name) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, zone):
        self.zone = zone

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        answer = self.zone.answer(data)
        if answer:
            self.transport.sendto(answer, address)


async def serve(zone, addresses):
    loop = asyncio.get_running_loop()

    async def stream(reader, writer):
        try:
            (length,) = struct.unpack(">H", await reader.readexactly(2))
            answer = zone.answer(await reader.readexactly(length))
            writer.write(struct.pack(">H", len(answer)) + answer)
            await writer.drain()
        finally:
            writer.close()

    for address in addresses:
        # One socket an address: an answer must come from where the question went.
        await loop.create_datagram_endpoint(lambda: Datagrams(zone), local_addr=(address, 53))
        await asyncio.start_server(stream, address, 53)
