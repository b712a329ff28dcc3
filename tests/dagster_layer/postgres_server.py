"""Debian's Postgres on loopback, in a folder of its own, run by an unprivileged user."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "dagster"  # of the user and of the database


def programs() -> Path | None:
    """Return the folder of the newest Postgres that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def postgres_server() -> Iterator[int]:
    """Give the port of a server with an empty database."""
    folder = programs()
    assert folder is not None
    home = Path(tempfile.mkdtemp(prefix="postgres-"))  # a socket's path must be short
    as_root = os.geteuid() == 0  # whom Postgres refuses
    if as_root:
        owner = pwd.getpwnam("postgres")
        os.chown(home, owner.pw_uid, owner.pw_gid)
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if as_root else {}

    def run(program: str, *arguments: object) -> None:
        done = subprocess.run(
            [str(folder / program), *map(str, arguments)],
            **user,
            cwd=home,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = home / "data"
    try:
        run("initdb", "-D", data, "-U", NAME, "--auth=trust", "-E", "UTF8", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {home} -F"
        run("pg_ctl", "start", "-w", "-D", data, "-o", options, "-l", home / "log")
        run("createdb", "-h", "127.0.0.1", "-p", port, "-U", NAME, NAME)
        yield port
    finally:
        if (data / "postmaster.pid").exists():
            run("pg_ctl", "stop", "-D", data, "-m", "immediate")
        shutil.rmtree(home)
