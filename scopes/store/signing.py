"""Sign a commit as the user's git does: with its program, its key, and in the header where git looks for it.

Whoever writes a commit calls `repository.caller.sign` with its bytes. The command line puts `Signer.sign` there; for
other callers, such as agents behind the MCP server, it changes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

from scopes.child_process import kill_group
from scopes.errors import Refused
from scopes.sanitize import clean_line, cut
from scopes.store.signature_armor import is_armor, without_comments
from scopes.store.signing_settings import SigningSettings, find_program, read_signing_settings

HEADER = b"gpgsig "
_SECONDS, _SECONDS_ON_TERMINAL = 30, 120  # until a program that asks nobody, or a person, has to have answered
_MAX_REASON = 300
_LITERAL_KEYS = ("key::", "ssh-", "ecdsa-", "sk-")
_SIGNATURE = re.compile(  # the last line of a header
    rb"\ngpgsig -----BEGIN ([A-Z ]+)-----\n((?: [\x20-\x7e]*\n)*) -----END \1-----\Z"
)
_CREATED = b"\n[GNUPG:] SIG_CREATED "
_WITHOUT = "without a signature: SCOPES_SIGN_COMMITS=false"


class _Done(NamedTuple):
    code: int
    output: bytes
    errors: bytes


class Signer:
    """Signs the commits of one command; git's settings are read at the first commit.

    directory: the current directory, for conditional settings of git
    terminal: whether a person can be asked for a passphrase
    choice: True to sign, False not to sign, whatever git's settings are; None to follow them
    """

    def __init__(self, directory: str, *, terminal: bool, choice: bool | None = None) -> None:
        self._directory = directory
        self._terminal = terminal
        self._choice = choice
        self._settings: SigningSettings | None = None

    def sign(self, commit: bytes) -> bytes:
        """Return the bytes of a commit with a signature, or as they are where the user's git does not sign.

        Raises:
            Refused: the signature cannot be made; the hint says what to do.
            Invalid: git is told to make a kind of signature that does not exist.
        """
        if self._choice is False:
            return commit
        if self._settings is None:
            self._settings = read_signing_settings(self._directory)
        if not (self._choice or self._settings.is_on):
            return commit
        kind = self._settings.format
        make = self._sign_with_ssh if kind == "ssh" else self._sign_with_gpg
        return add_signature(commit, make(kind, commit))

    def _sign_with_gpg(self, kind: str, data: bytes) -> bytes:
        """Call gpg, or gpgsm, as git does."""
        settings = self._settings or SigningSettings({})
        key = settings.key or settings.identity
        if key is None:
            _fail("git has no key to sign with", "name one: git config --global user.signingKey KEYID")
        program = self._find(settings.program(kind))
        done = self._run([program, "--status-fd=2", "-bsau", key], data)
        if done.code != 0 or _CREATED not in b"\n" + done.errors:
            _fail(
                f"{os.path.basename(program)} did not sign: {_reason(done.errors)}",
                f"try it: echo test | {os.path.basename(program)} -bsau {key}",
            )
        return done.output

    def _sign_with_ssh(self, kind: str, data: bytes) -> bytes:
        """Call ssh-keygen as git does: a file with the key, and one with what is to be signed."""
        settings = self._settings or SigningSettings({})
        key = settings.key or self._default_ssh_key(settings)
        program = self._find(settings.program(kind))
        with tempfile.TemporaryDirectory(prefix="scopes-sign-") as directory:
            literal = key.startswith(_LITERAL_KEYS)
            path = os.path.join(directory, "key") if literal else os.path.expanduser(key)
            buffer = os.path.join(directory, "commit")
            if literal:
                _write(path, key.removeprefix("key::").encode("utf-8", "surrogateescape") + b"\n")
            _write(buffer, data)
            agent = ["-U"] if literal else []
            done = self._run([program, "-Y", "sign", "-n", "git", "-f", path, *agent, buffer], b"")
            signature = _read(f"{buffer}.sig")
        if done.code != 0 or not signature:
            shown = "the key in git's user.signingKey" if literal else key
            _fail(
                f"{os.path.basename(program)} did not sign with {shown}: {_reason(done.errors)}",
                "add the key to your agent: ssh-add, or see: git config --show-origin user.signingKey",
            )
        return signature

    def _default_ssh_key(self, settings: SigningSettings) -> str:
        """Return the first key that the program of `gpg.ssh.defaultKeyCommand` prints."""
        command = settings.values.get("gpg.ssh.defaultkeycommand")
        if not command:
            _fail("git has no key to sign with", "name one: git config --global user.signingKey ~/.ssh/KEY.pub")
        done = self._run(["/bin/sh", "-c", command], b"")
        key = done.output.decode("utf-8", "surrogateescape").partition("\n")[0].strip()
        if done.code != 0 or not key.startswith(_LITERAL_KEYS):
            _fail(f"gpg.ssh.defaultKeyCommand gave no key: {_reason(done.errors)}", f"try it: {command}")
        return key

    def _find(self, name: str) -> str:
        found = find_program(name)
        if found is None:
            _fail(f"git signs with {name}, which is not installed", "install it")
        return found

    def _run(self, words: Sequence[str], data: bytes) -> _Done:
        """Run a program; without a terminal it runs in its own session, so that it cannot ask for a passphrase."""
        seconds = _SECONDS_ON_TERMINAL if self._terminal else _SECONDS
        given = subprocess.DEVNULL if not data else subprocess.PIPE
        try:
            process = subprocess.Popen(
                words,
                stdin=None if self._terminal and not data else given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=not self._terminal,
            )
        except OSError as error:
            _fail(f"{words[0]} cannot be started: {error.strerror}", "install it")
        try:
            output, errors = process.communicate(data or None, seconds)
        except subprocess.TimeoutExpired:
            _fail(f"{os.path.basename(words[0])} did not answer within {seconds} seconds", "unlock the key before")
        finally:
            self._end(process)
        return _Done(process.returncode, output, errors)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process if it still runs."""
        if process.poll() is None:
            with suppress(ProcessLookupError):
                process.kill() if self._terminal else kill_group(process)
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def add_signature(commit: bytes, signature: bytes) -> bytes:
    """Return the bytes of a commit with a signature as the last line of its header, as git puts it there."""
    end = commit.index(b"\n\n") + 1
    lines = without_comments(signature.replace(b"\r\n", b"\n")).strip(b"\n").split(b"\n")
    return commit[:end] + HEADER + b"\n ".join(lines) + b"\n" + commit[end:]


def without_signature(commit: bytes) -> bytes:
    """Return the bytes of a commit as they were before `add_signature`; unchanged if that has not written them."""
    head, gap, body = commit.partition(b"\n\n")
    found = _SIGNATURE.search(head)
    if found is None or not is_armor(found[1], found[2].replace(b"\n ", b"\n")[1:]):
        return commit
    return head[: found.start()] + gap + body


def is_signed(commit: bytes) -> bool:
    """Return True if the header of a commit has what may be a signature."""
    return b"\n" + HEADER in commit.partition(b"\n\n")[0]


def _fail(problem: str, cure: str) -> NoReturn:
    raise Refused(f"nothing was written: {clean_line(problem)}", hint=f"{clean_line(cure)}; or {_WITHOUT}")


def _reason(errors: bytes) -> str:
    """Return the last line that a program wrote for people."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    kept = [line for line in lines if line and not line.startswith("[GNUPG:]")]
    return cut(clean_line(kept[-1]), _MAX_REASON) if kept else "it gave no reason"


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)


def _read(path: str) -> bytes:
    with suppress(FileNotFoundError), open(path, "rb") as file:
        return file.read()
    return b""
