"""An HTTP server on this machine, in a process of its own, that misbehaves as it is told."""

from __future__ import annotations

import functools
import gzip
import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from bench import Case, Child

Answer = Callable[[socket.socket], None]


def serve(case: Case, answers: Mapping[str, Answer]) -> str:
    """Answer each path with what is given for it, as long as the case lasts; the server's URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            threading.Thread(target=answer, args=listening.accept()[:1], daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # clients that hang up
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            path = request.split(b" ")[1].decode()
            answers.get(path, status(404))(connection)

    case.children.append(Child(case.folder, accept, None))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()
    return url


def body(content: bytes, length: int | str | None = None, **headers: str) -> Answer:
    """``content``, as long as it is or as ``length`` says."""
    said = {"Content-Length": len(content) if length is None else length, **headers}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in said.items()]
    head = f"HTTP/1.1 200 OK\r\n{''.join(lines)}Connection: close\r\n\r\n".encode()
    return lambda connection: connection.sendall(head + content)


def status(code: int, headers: str = "", content: bytes = b"") -> Answer:
    head = f"HTTP/1.1 {code} Told\r\n{headers}Content-Length: {len(content)}\r\n\r\n".encode()
    return lambda connection: connection.sendall(head + content)


def raw(content: bytes) -> Answer:
    return lambda connection: connection.sendall(content)


def stalled(content: bytes) -> Answer:
    """These bytes, and then silence."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(content)
        time.sleep(3600)

    return answer


def dripping(connection: socket.socket) -> None:
    """A byte now and then: always in time for the next, never whole."""
    body(b"", 20_000)(connection)
    while True:
        connection.sendall(b"6")
        time.sleep(0.02)


def endless(start: bytes, again: bytes) -> Answer:
    def answer(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(again)

    return answer


@functools.cache
def bomb() -> bytes:
    """100 KB that unpack into 100 MiB."""
    return gzip.compress(bytes(100 * 2**20), 1)


def reset(connection: socket.socket) -> None:
    """Hang up so that the client sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def redirect(to: str) -> Answer:
    return status(302, f"Location: {to}\r\n")


def misbehaving(rng: random.Random, content: bytes, damaged: bytes) -> Answer:
    """One way of not giving ``content``; ``damaged`` is not the file."""
    place = rng.randrange(len(content))
    whole = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
    ok = b"HTTP/1.1 200 OK\r\n"
    answers: list[Answer] = [
        body(content[:place], len(content)),  # cut
        body(content[:place]),
        body(damaged),
        body(damaged, Content_Encoding="gzip"),
        body(content + b"6,0.5\n"),
        body(b""),
        body(b"<!doctype html><title>Sign in</title>"),
        body(os.urandom(place)),
        body(content, rng.choice(["many", -1, 10**30, "", "1, 2", len(content) + 1, place])),
        body(bomb(), Content_Encoding="gzip"),
        body(content, Transfer_Encoding="chunked"),  # no chunks in it
        raw(ok + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n" + content),
        raw(ok + b"Transfer-Encoding: chunked\r\n\r\nno\r\n\r\n"),
        raw(whole[: rng.randrange(len(whole) - len(content))]),
        raw(rng.randbytes(300)),
        raw(b""),
        raw(b"HTTP/9.9 huh\r\n\r\n"),
        raw(ok + b"X: " + b"y" * 200_000 + b"\r\n\r\n"),
        raw(ok + b"X: y\r\n" * 5_000 + b"\r\n"),
        reset,
        dripping,
        stalled(b""),
        stalled(whole[: rng.randrange(len(whole))]),
        endless(ok + b"\r\n", bytes(2**16)),
        endless(ok, b"X: y\r\n"),
        endless(ok + b"Transfer-Encoding: chunked\r\n\r\n", b"4\r\nabcd\r\n"),
        redirect("/bad"),  # round and round
        redirect(rng.choice(["file:///etc/passwd", "ftp://a/b", "//", "http://[", "http://127.0.0.1:1/", ""])),
        status(rng.choice([204, 206, 300, 304, 400, 401, 403, 404, 418, 429, 451, 500, 503, 999])),
        status(rng.choice([404, 503]), content=content),
    ]  # fmt: skip
    return rng.choice(answers)
