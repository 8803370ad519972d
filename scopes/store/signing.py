"""Sign commits as the user's git does, with its program and key (`git commit-tree -S`), and let git check signatures.

Whoever writes a commit calls `repository.caller.sign` with its bytes. The command line puts `Signer.sign` there; for
other callers, such as agents behind the MCP server, it changes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from scopes.child_process import kill_group
from scopes.errors import Refused
from scopes.ids import Oid
from scopes.model.operation import (
    BAD,
    EXPIRED,
    EXPIRED_KEY,
    GOOD,
    REVOKED_KEY,
    UNCHECKED,
    UNKNOWN_KEY,
    UNTRUSTED,
    Signature,
)
from scopes.sanitize import clean_line, cut
from scopes.store.config import BOOLEANS
from scopes.store.git_program import find_git, git_environment
from scopes.store.objects import Objects, read_data

HEADER = b"gpgsig "
_SECONDS, _SECONDS_ON_TERMINAL = 30, 120  # until a program that asks nobody, or a person, has to have answered
_SECONDS_FOR_SETTINGS: Final = 10
_MAX_REASON = 300
_MAX_BYTES: Final = 1 << 16  # of a signature; those of gpgsm have certificates with them, which are some kilobytes
_KEYS = r"^(commit\.gpgsign|gpg\..*|user\.(name|email|signingkey))$"
_TRUSTED_SCOPES = frozenset({"system", "global", "command"})
_CONFIG: Final = "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n"
_SIGNATURE = re.compile(  # the last line of a header: base64, and no other text
    rb"\ngpgsig -----BEGIN ((?:SSH|PGP|SIGNED) (?:SIGNATURE|MESSAGE))-----\n(?: ?\n)?"
    rb"(?: [A-Za-z0-9+/=]{1,76}\n)+ -----END \1-----\Z"
)
_COMMENT = re.compile(rb"(-----BEGIN PGP [A-Z]+-----\n)(?:[A-Za-z]+: [^\n]*\n)+\n")  # gpg does not sign it
_LAST_WORDS = "fatal: failed to write commit object"
_STATES: Final = {"G": GOOD, "B": BAD, "X": EXPIRED, "Y": EXPIRED_KEY, "R": REVOKED_KEY, "E": UNKNOWN_KEY}
_FORMAT: Final = "%H%x00%G?%x00%GK%x00%GF%x00%GS"
_FIELDS: Final = 5
_AT_ONCE: Final = 200  # commits; git starts a program for each
_SECONDS_EACH: Final = 20
_MAX_NAME: Final = 200
_SSH: Final = b"-----BEGIN SSH SIGNATURE-----"


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
        self._settings: Mapping[str, str] | None = None

    def sign(self, commit: bytes) -> bytes:
        """Return the bytes of a commit with a signature, or as they are where the user's git does not sign.

        Raises:
            Refused: the signature cannot be made; the hint says what to do.
        """
        if self._choice is False:
            return commit
        if self._settings is None:
            self._settings = read_signing_settings(self._directory)
        # a key without a value is true, as in git
        is_on = BOOLEANS.get(self._settings.get("commit.gpgsign", "no").lower(), False)
        if not (self._choice or is_on):
            return commit
        signature = read_signature(self._commit_tree(commit, self._settings))
        if signature is None:
            raise _refusal("it made no signature")
        return add_signature(commit, signature)

    def _commit_tree(self, commit: bytes, settings: Mapping[str, str]) -> bytes:
        """Let git write the same commit with a signature into a repository of its own; return it.

        Git looks for the tree and the parents there, but only at what kind of object they are.
        """
        head, _, message = commit.partition(b"\n\n")
        fields = [line.partition(" ")[::2] for line in head.decode("utf-8", "surrogateescape").split("\n")]
        tree = next(value for key, value in fields if key == "tree")
        parents = [value for key, value in fields if key == "parent"]
        words = ["commit-tree", "-F", "message", *(word for parent in parents for word in ("-p", parent))]
        key = settings.get("user.signingkey") or ""
        if not key and settings.get("gpg.format") != "ssh" and "user.email" in settings:
            key = f"{settings.get('user.name', '')} <{settings['user.email']}>"  # of the user, not of the author
        with scratch_repository() as directory:
            write_loose(directory, Oid(tree), b"tree 0\0")
            for parent in parents:
                write_loose(directory, Oid(parent), b"commit 0\0")
            with open(os.path.join(directory, "message"), "xb") as file:
                file.write(message)
            words[2] = file.name
            oid = self._run([*list_options(settings), *words, f"-S{key}", tree], directory, _identities(fields))
            return read_loose(directory, Oid(oid))

    def _run(self, words: list[str], directory: str, identities: dict[str, str]) -> str:
        """Run git; without a terminal it runs in its own session, so that nobody is asked for a passphrase."""
        program = find_git()
        if program is None:
            raise _refusal("the git program is not installed")
        seconds = _SECONDS_ON_TERMINAL if self._terminal else _SECONDS
        with subprocess.Popen(
            [program, "--no-pager", *words],
            cwd=self._directory,
            env=git_environment(directory) | identities,
            stdin=None if self._terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=not self._terminal,
        ) as process:
            try:
                output, errors = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired as error:
                raise _refusal(f"it did not answer within {seconds} seconds") from error
            finally:
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        process.kill() if self._terminal else kill_group(process)
        if process.returncode != 0:
            raise _refusal(_reason(errors))
        return output.decode("ascii", "replace").strip()


def read_signing_settings(directory: str) -> dict[str, str]:
    """Ask git for the settings about signatures that hold in a directory, by key in lower case.

    Only settings of the system, the user and the environment are used: a project may come from another person, and some
    of these settings are programs to run. There are none if git is not installed or cannot read them.
    """
    program = find_git()
    if program is None:
        return {}
    try:
        done = subprocess.run(
            [program, "--no-pager", "config", "--show-scope", "--null", "--get-regexp", _KEYS],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS_FOR_SETTINGS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    fields = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    found: dict[str, str] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, separator, value = entry.partition("\n")
        if scope in _TRUSTED_SCOPES:
            found[key] = value if separator else "true"
    return found


def list_options(settings: Mapping[str, str]) -> list[str]:
    """Return the settings as options of git, which reads no configuration of the user by itself here."""
    return [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]


@contextmanager
def scratch_repository() -> Iterator[str]:
    """Create an empty git directory outside the store, for as long as the block runs."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="scopes-signatures-") as directory:
        for name in ("objects", "refs"):
            os.makedirs(os.path.join(directory, name))
        for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", _CONFIG)):
            with open(os.path.join(directory, name), "x", encoding="ascii") as file:
                file.write(text)
        yield directory


def write_loose(directory: str, oid: Oid, content: bytes) -> None:
    """Write an object, with the header that says what it is, where git finds it under an id."""
    folder = os.path.join(directory, "objects", oid[:2])
    os.makedirs(folder, exist_ok=True)
    with suppress(FileExistsError), open(os.path.join(folder, oid[2:]), "xb") as file:
        file.write(zlib.compress(content, 1))


def read_loose(directory: str, oid: Oid) -> bytes:
    """Return the content of an object that git wrote, without its header."""
    with open(os.path.join(directory, "objects", oid[:2], oid[2:]), "rb") as file:
        return zlib.decompress(file.read()).partition(b"\0")[2]


def read_signature(commit: bytes) -> bytes | None:
    """Return the signature in the header of a commit; None if there is none."""
    text = commit.partition(b"\n\n")[0].partition(b"\n" + HEADER)[2]
    lines = text.split(b"\n")
    following = next((at for at, line in enumerate(lines) if at and not line.startswith(b" ")), len(lines))
    return b"\n".join([lines[0], *(line[1:] for line in lines[1:following])]) or None


def add_signature(commit: bytes, signature: bytes) -> bytes:
    """Return the bytes of a commit with a signature as the last line of its header, as git puts it there."""
    end = commit.index(b"\n\n") + 1
    text = _COMMENT.sub(rb"\1\n", signature.replace(b"\r\n", b"\n"))
    return commit[:end] + HEADER + b"\n ".join(text.strip(b"\n").split(b"\n")) + b"\n" + commit[end:]


def without_signature(commit: bytes) -> bytes:
    """Return the bytes of a commit as they were before `add_signature`; unchanged if that has not written them."""
    head, gap, body = commit.partition(b"\n\n")
    found = _SIGNATURE.search(head)
    return commit if found is None or len(found[0]) > _MAX_BYTES else head[: found.start()] + gap + body


def is_signed(commit: bytes) -> bool:
    """Return True if the header of a commit has what may be a signature."""
    return b"\n" + HEADER in commit.partition(b"\n\n")[0]


def _identities(fields: list[tuple[str, str]]) -> dict[str, str]:
    """Return author and committer of a commit as git takes them from the environment."""
    found: dict[str, str] = {}
    for key, value in fields:
        if key in ("author", "committer"):
            who, _, time = value.rpartition("> ")
            name, _, email = who.partition(" <")
            start = f"GIT_{key.upper()}_"
            found |= {f"{start}NAME": name, f"{start}EMAIL": email, f"{start}DATE": f"@{time}"}
    return found


def _refusal(problem: str) -> Refused:
    hint = "see: git config --show-origin --get-regexp 'gpg|signingkey', and: ssh-add"
    return Refused(
        f"nothing was written: git did not sign: {clean_line(problem)}",
        hint=f"{hint}; or without a signature: SCOPES_SIGN_COMMITS=false",
    )


def _reason(errors: bytes) -> str:
    """Return what git and its program wrote for people, on one line."""
    lines = [line.strip().removeprefix("error: ") for line in errors.decode("utf-8", "replace").splitlines()]
    kept = [line for line in lines if line and line != _LAST_WORDS and not line.startswith("[GNUPG:]")]
    return cut(clean_line("; ".join(kept)), _MAX_REASON) or "it gave no reason"


def check_signatures(
    objects: Objects, commits: Iterable[Oid], directory: str, settings: Mapping[str, str] | None = None
) -> dict[Oid, Signature]:
    """Return git's verdicts about the signatures of commits; commits without a signature are left out.

    directory: the current directory, for conditional settings of git

    Raises:
        Corrupt, NotFound: a commit cannot be read.
    """
    signed = {oid: data for oid in commits if is_signed(data := read_data(objects, oid, "commit"))}
    if not signed:
        return {}
    known = read_signing_settings(directory) if settings is None else settings
    oids = list(signed)
    options = list_options(
        {key: value for key, value in known.items() if key.startswith("gpg.") and key != "gpg.format"}
    )
    found: dict[Oid, Signature] = {}
    for start in range(0, len(oids), _AT_ONCE):
        found |= _check({oid: signed[oid] for oid in oids[start : start + _AT_ONCE]}, options)
    return found


def _check(signed: Mapping[Oid, bytes], options: list[str]) -> dict[Oid, Signature]:
    """Ask git about some commits; those missing in its output get the state `not checked`."""
    output = _ask_git(signed, options)
    fields = output.decode("utf-8", "replace").split("\0")
    found = dict.fromkeys(signed, Signature(UNCHECKED))
    for start in range(0, len(fields) - _FIELDS, _FIELDS):
        oid, letter, key, fingerprint, signer = fields[start : start + _FIELDS]
        name = Oid(oid.strip("\n"))
        if name in found:
            found[name] = _signature(letter, key or fingerprint, signer, is_ssh=_SSH in signed[name])
    return found


def _signature(letter: str, key: str, signer: str, *, is_ssh: bool) -> Signature:
    """Return the signature for the letter that git prints as its verdict (%G?).

    For an ssh key that is not in the list of allowed signers git prints U (good, unknown validity), as for a gpg key in
    the keyring that is not trusted. If there is no list, it has no letter for ssh signatures.
    """
    state = _STATES.get(letter, UNCHECKED)
    if letter == "U" or (letter == "N" and is_ssh):
        state = UNKNOWN_KEY if is_ssh else UNTRUSTED
    who = None if state in {UNKNOWN_KEY, UNCHECKED} else _safe(signer)
    return Signature(state, who, _safe(key))


def _safe(text: str) -> str | None:
    return cut(clean_line(text), _MAX_NAME) or None


def _ask_git(signed: Mapping[Oid, bytes], options: list[str]) -> bytes:
    """Run git on a repository that has only these commits; return nothing if it fails or takes too long."""
    program = find_git()
    if program is None:
        return b""
    with scratch_repository() as directory:
        for oid, data in signed.items():
            write_loose(directory, oid, b"commit %d\0" % len(data) + data)
        words = ["log", "--no-walk=unsorted", "--stdin", "-z", "--no-color", f"--format=tformat:{_FORMAT}"]
        try:
            done = subprocess.run(
                [program, "--no-pager", *options, *words],
                cwd=directory,
                env=git_environment(directory),
                input="".join(f"{oid}\n" for oid in signed).encode(),
                capture_output=True,
                check=False,
                start_new_session=True,
                timeout=_SECONDS_EACH * len(signed),
            )
        except (OSError, subprocess.TimeoutExpired):
            return b""
    return done.stdout
