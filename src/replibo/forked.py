"""The command ``replibo``: run in a child of a process that has imported all libraries, or in its own.

Jobs at the small scales are short, and importing the libraries took most of their time. Snakemake
therefore starts one server, which imports them once (`start`, called by the Snakefile). A job connects
to the server (`main`), sends its arguments, environment and standard streams, and waits. The server
forks a child that runs the command. Without a server the command runs in the job's own process, as
``python -m replibo`` always does.

- The job passes SIGTERM, Ctrl-C, suspension and continuation on to the child. It ends with the child's
  exit status, or by the signal that ended the child.
- When a job is killed, its connection closes, and the server kills the child. The server ends when
  Snakemake ends, and its children end with it.
- The address is an abstract Unix socket of Linux. It needs no file and is unknown on other machines.
- A child's memory includes the server's libraries. Runs at the paper's scale, whose memory is published,
  therefore have processes of their own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

from replibo import messages

VARIABLE = "REPLIBO_SERVER"
"""The environment variable with the server's address."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGTSTP, signal.SIGCONT)
LARGEST = 2**20
"""The most bytes of a request; a larger environment gets a plain process."""
STARTED = b"started"

# What jobs import, with what functions import when they are called.
PLOTTING = (
    "replibo.clean_matplotlib",
    *("replibo.workflow.outputs", "replibo.run.collect", "replibo.verdict_map"),
    *("replibo.verdict_tables", "replibo.results.runs", "replibo.results.tables"),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "fontTools.subset"),
    *("pandas.io.formats.style", "pyarrow.parquet", "scipy.stats", "tabulate"),
)
RUNNING = (
    *("replibo.run.block", "replibo.run.build", "replibo.run.finished", "replibo.run.progress"),
    *("scipy.optimize", "skopt", "torch"),
)


def main() -> int:
    """Run the command of ``sys.argv``; returns its exit status."""
    messages.open_streams()
    status = _by_server(sys.argv[1:]) if VARIABLE in os.environ else None
    if status is None:
        from replibo import cli

        return cli.main()
    return status


def _by_server(arguments: list[str]) -> int | None:
    """The command's exit status; None where it must be run in this process."""
    if _is_measured(arguments):
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        try:
            server.connect(f"\0{os.environ[VARIABLE]}")
            if not _is_of_this_user(server):
                return None
            request = json.dumps(_surroundings(arguments)).encode()
            socket.send_fds(server, [request], [0, 1, 2])
            if server.recv(len(STARTED)) != STARTED:
                return None
        except OSError:
            return None

        def forward(number: int, frame: object) -> None:
            server.send(bytes([number]))
            if number == signal.SIGTSTP:
                os.kill(os.getpid(), signal.SIGSTOP)

        for number in FORWARDED:
            signal.signal(number, forward)
        try:
            answer = server.recv(4)
        except ConnectionError:
            answer = b""
    if not answer:
        messages.tell("replibo: the process of this job was killed; the same command goes on")
        return 1
    status: int = struct.unpack("i", answer)[0]
    if status < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _is_measured(arguments: list[str]) -> bool:
    """Whether a command is a run whose memory is published."""
    if arguments[:1] != ["run"]:
        return False
    if "--scale" not in arguments:  # the paper's is the default
        return True
    return any(map(is_measured, arguments[arguments.index("--scale") + 1 :][:1]))


def is_measured(scale: str) -> bool:
    """Whether the memory of a scale's runs may be published: those of `replibo check` and `replibo bench`
    are not."""
    base, _, variant = scale.partition("@")
    return base == "paper" and not re.search(r"(^|_)(check$|bench_)", variant)


def _surroundings(arguments: list[str]) -> dict[str, Any]:
    """The request: the keywords of `_become`."""
    mask = os.umask(0o77)
    os.umask(mask)
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return {
        "arguments": arguments,
        "environment": environment,
        "folder": os.getcwd(),
        "mask": mask,
        "package": [sys.prefix, __file__],
    }


def _is_of_this_user(connection: socket.socket) -> bool:
    """Anybody on this machine can connect to the address."""
    _, user, _ = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    )
    return bool(user == os.getuid())


def start(*, runs: bool) -> None:
    """Start the server of this process, and set the environment variable that its jobs inherit.

    Does nothing where the system is not a Linux that has what the server needs.

    Args:
        runs: whether there are runs among the jobs.
    """
    import subprocess

    try:
        os.close(os.pidfd_open(os.getpid()))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind("")  # Linux chooses a free abstract address
        listener.listen(4096)
    except (AttributeError, OSError):
        return
    with listener:
        descriptor = listener.fileno()
        names = [*PLOTTING, *(RUNNING if runs else ())]
        command = [sys.executable, "-m", "replibo.forked", str(descriptor), *names]
        # A session of its own: Ctrl-C reaches the jobs, and from them their children.
        _servers.append(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, pass_fds=[descriptor], start_new_session=True
            )
        )
        os.environ[VARIABLE] = listener.getsockname()[1:].decode()


_servers: list[Any] = []
"""They end when this process does, which closes their standard input."""


def _serve(descriptor: str, *names: str) -> None:
    """Answer the jobs until the standard input ends."""
    import ctypes
    import gc
    import importlib
    import selectors

    from replibo import cli
    from replibo.config import load
    from replibo.errors import RepliboError
    from replibo.threads import VARIABLES

    os.environ.update(dict.fromkeys(VARIABLES, "1"))  # read by the libraries when they are loaded
    for name in names:
        with suppress(ImportError):  # the job that needs it says so
            importlib.import_module(name)
    # A file of the config is parsed again only when its content has changed.
    with suppress(RepliboError, OSError):
        load.load(overlays=load.overlays_of_workflow())
    libc = ctypes.CDLL(None)
    gc.freeze()  # the collector would copy the pages that are shared
    listener = socket.socket(fileno=int(descriptor))
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    ready.register(0, selectors.EVENT_READ)
    children: dict[socket.socket, int] = {}  # by connection
    ends: dict[int, tuple[int, socket.socket]] = {}  # by descriptor of a child that runs
    server = os.getpid()

    def fork(connection: socket.socket) -> None:
        message, streams, _, _ = socket.recv_fds(connection, LARGEST, 3)
        request = json.loads(message) if len(streams) == 3 else {}
        if not _is_of_this_user(connection) or request.get("package") != [sys.prefix, __file__]:
            raise ConnectionRefusedError
        connection.send(STARTED)
        child = os.fork()
        if not child:
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the server
            if os.getppid() != server:
                os._exit(1)
            for inherited in (listener, *children, connection):
                inherited.close()
            _become(cli.main, streams, **request)
        for stream in streams:
            os.close(stream)
        children[connection] = child
        end = os.pidfd_open(child)
        ends[end] = child, connection
        ready.register(end, selectors.EVENT_READ)

    def forget(connection: socket.socket) -> None:
        ready.unregister(connection)
        children.pop(connection, None)
        connection.close()

    while True:
        for key, _ in ready.select():
            source: Any = key.fileobj
            if source == 0:  # Snakemake has ended
                return
            if source is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            elif source in ends:
                child, connection = ends.pop(source)
                ready.unregister(source)
                os.close(source)
                _, status = os.waitpid(child, 0)
                if connection in children:
                    with suppress(OSError):
                        connection.send(struct.pack("i", os.waitstatus_to_exitcode(status)))
                    forget(connection)
            elif source in children:
                try:
                    number = source.recv(1)[0]
                except (OSError, IndexError):  # the job has ended
                    number = signal.SIGKILL
                # The child's process group is the server's, which no terminal can stop.
                os.kill(children[source], signal.SIGSTOP if number == signal.SIGTSTP else number)
                if number == signal.SIGKILL:
                    forget(source)
            elif source.fileno() >= 0:
                try:
                    fork(source)
                except (OSError, ValueError):
                    forget(source)


def _become(
    command: Any,
    streams: list[int],
    *,
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    mask: int,
    package: object,
) -> None:
    """Run a command with what a job has handed over, and end this process with its status."""
    import traceback

    status = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(environment)
        os.umask(mask)
        os.chdir(folder)
        sys.argv = ["replibo", *arguments]
        status = command(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if status == 1 and end.code is not None and end.code != 1:
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)  # what the server registered for its end is not this process's


if __name__ == "__main__":
    _serve(*sys.argv[1:])
