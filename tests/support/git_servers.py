"""Git servers on the loopback interface for tests: an HTTP server in front of git's own, `git daemon` and sshd.

The HTTP server wants a password, if it is given one, records what it was asked, and loses a connection if it is told to.
`Redirecting` sends everybody to another address. Both end with their block. `find_sshd` is None where there is no sshd; the tests that need it are
skipped then.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_KEX = "curve25519-sha256"  # what ssh takes by default is five times as much work
USER, PASSWORD = "carol", "correct-horse"


class _Handler(BaseHTTPRequestHandler):
    """Runs `git http-backend` for each request, as a web server does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer()

    def do_POST(self):
        self._answer()

    def log_message(self, *_):
        pass

    def _answer(self):
        self.server.requests.append((self.path, self.headers.get("Authorization")))
        if self.server.redirect is not None:
            self._reply(302, b"", Location=self.server.redirect + self.path)
        elif self.server.password is not None and not self._is_known():
            self._read_body()
            self._reply(401, b"who?", **{"WWW-Authenticate": 'Basic realm="talks"'})
        else:
            self._run_backend()

    def _is_known(self):
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        return given == base64.b64encode(f"{USER}:{self.server.password}".encode()).decode()

    def _read_body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _run_backend(self):
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.server.directory, "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": USER,
            "REMOTE_ADDR": "127.0.0.1", "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "HOME": self.server.directory,
        }  # fmt: skip
        lost = self.server.lost if self.server.lost_at == len(self.server.requests) else None
        if lost == "before":
            return self._lose(b"")
        body = self._read_body()
        if self.server.largest is not None and len(body) > self.server.largest:
            return self._reply(413, b"too large")
        self.server.on_request(self.path)
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        status = int(headers.pop("Status", "200").split()[0])
        if lost is not None:
            self._lose(content[: len(content) // 2] if lost == "within" else b"", status, len(content), headers)
            return None
        return self._reply(status, content, **headers)

    def _lose(self, content, status=None, size=0, headers=None):
        """Send a part of an answer, and close the connection."""
        if content:
            self._begin(status, size, headers)
            self.wfile.write(content)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _reply(self, status, content, **headers):
        self._begin(status, len(content), headers)
        self.wfile.write(content)

    def _begin(self, status, size, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(size))
        self.end_headers()


class GitHttpServer(ThreadingHTTPServer):
    """Serves the repositories below a directory; `requests` are paths with the Authorization header of each.

    At the request with the number `lost_at` the connection is lost: `before` anything is done, `after` it was done, or
    `within` the answer. `largest` is how many bytes a request may have, if there is a limit.
    """

    daemon_threads = True

    def __init__(self, directory: str, password: str | None = None, redirect: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.directory = directory
        self.password = password
        self.redirect = redirect
        self.largest: int | None = None
        self.requests: list[tuple[str, str | None]] = []
        self.on_request: Callable[[str], None] = lambda _path: None
        self.lost_at: int | None = None
        self.lost: str | None = None

    @property
    def address(self) -> str:
        """The address of the directory."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serve_http(directory: object, password: str | None = None, redirect: str | None = None) -> Iterator[GitHttpServer]:
    """Serve a directory until the end of the block."""
    server = GitHttpServer(str(directory), password, redirect)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_credential_helper(directory: object) -> str:
    """Write a git configuration with a credential helper that knows the password for every host, and logs the hosts.

    Return the path of the configuration; the hosts are in `asked` beside it.
    """
    os.makedirs(str(directory), exist_ok=True)
    helper, config = os.path.join(str(directory), "helper"), os.path.join(str(directory), "gitconfig")
    with open(helper, "w") as file:
        file.write(
            f'#!/bin/sh\n[ "$1" = get ] || exit 0\ncat >> "{directory}/asked"\n'
            f"echo username={USER}\necho password={PASSWORD}\n"
        )
    os.chmod(helper, 0o755)
    with open(config, "w") as file:
        file.write(f"[credential]\n\thelper = {helper}\n")
    return config


def find_sshd() -> str | None:
    """Return the path of sshd if it and the client are installed; it is not in the PATH of ordinary users."""
    program = shutil.which("sshd", path=os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/usr/local/sbin")))
    return program if program and shutil.which("ssh") and shutil.which("ssh-keygen") else None


class SshServer:
    """An sshd for the user of the tests; `command` is how git reaches it."""

    def __init__(self, port: int, command: str) -> None:
        self.port = port
        self.command = command

    def address(self, path: object) -> str:
        """Return the address of a repository."""
        return f"ssh://127.0.0.1:{self.port}{path}"


@contextmanager
def serve_ssh(directory: object) -> Iterator[SshServer]:
    """Run sshd with keys of its own until the end of the block."""
    program = find_sshd()
    assert program is not None
    directory = str(directory)
    os.makedirs(directory, mode=0o700)
    for name in ("host", "user"):
        key = os.path.join(directory, name)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, capture_output=True)
    port = _free_port()
    config = os.path.join(directory, "sshd_config")
    with open(config, "w") as file:
        file.write(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {directory}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {directory}/user.pub\nStrictModes no\nPasswordAuthentication no\n"
            f"AcceptEnv GIT_PROTOCOL\nPermitRootLogin yes\nKexAlgorithms {_KEX}\n"
        )
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    server = subprocess.Popen([program, "-D", "-e", "-f", config], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        options = f"-o UserKnownHostsFile={directory}/known -o StrictHostKeyChecking=no -o IdentitiesOnly=yes"
        yield SshServer(port, f"ssh -F /dev/null -i {directory}/user {options} -o BatchMode=yes -o LogLevel=ERROR")
    finally:
        server.kill()
        server.communicate()


@contextmanager
def serve_daemon(directory: object) -> Iterator[str]:
    """Run `git daemon`, which anybody may push to, until the end of the block; yield the address of a directory."""
    port = _free_port()
    words = ["git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={port}", f"--base-path={directory}"]
    server = subprocess.Popen(
        [*words, "--export-all", "--enable=receive-pack", "--informative-errors", str(directory)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        _wait_for(port, server)
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # git has started it as a process of its own
        server.communicate()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        assert server.poll() is None, server.communicate()[1].decode()
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server does not listen")


def write_sentinel(path: object, sentinel: object) -> str:
    """Write a program that leaves a file when it is run, and return its path."""
    with open(str(path), "w") as file:
        file.write(
            f"#!{sys.executable}\nopen({str(sentinel)!r}, 'a').write(' '.join(__import__('sys').argv) + '\\n')\n"
        )
    os.chmod(str(path), os.stat(str(path)).st_mode | stat.S_IXUSR)
    return str(path)
