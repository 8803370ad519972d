"""Run the git program for what libgit2 cannot do, without the configuration and hooks of the store.

Git runs programs that a repository's configuration and hooks name, and new versions add new keys. So git never reads
the store's configuration: it runs in a private directory in the store with a configuration written here. For packing
that has the objects, refs and reflogs of the store. For what comes from a remote it is a quarantine: new packs go
there, and the objects of the store are there to read (`info/alternates`). A quarantine is locked as long as its process
or a git that it started lives; `gc` and the next one remove those of dead processes.

Commits are signed as the user's git does, with its program and key (`git commit-tree -S`), and git checks signatures.
Whoever writes a commit calls `repository.caller.sign` with its bytes. The command line puts `Signer.sign` there; for
other callers, such as agents behind the MCP server, it changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from typing import Final

from scopes.child_process import kill_group
from scopes.errors import Inaccessible, Refused
from scopes.ids import Oid, is_oid
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
from scopes.regular_file import read_regular, sync
from scopes.sanitize import clean_line, cut
from scopes.store.config import BOOLEANS
from scopes.store.locks import is_file_locked
from scopes.store.objects import KINDS, Objects, ObjectsInMemory, pygit2, read_data, translated
from scopes.store.repository import HEAD, Prunes, Repository

PRIVATE_PREFIX: Final = "scopes-git-"
QUARANTINE_PREFIX: Final = "scopes-incoming-"
_DIRECTORIES = ("objects", "refs", "logs")
_PACKED_REFS = "packed-refs"
_PACKED_HEADER: Final = "# pack-refs with: peeled fully-peeled sorted \n"
_LOCK: Final = "lock"
_CONFIG = """\
[core]
	repositoryFormatVersion = 0
	bare = true
	logAllRefUpdates = always
	hooksPath = /dev/null
	attributesFile = /dev/null
	fsmonitor = false
	# By default git does not sync packed-refs, but removes the loose refs that it wrote there.
	fsync = all
	fsyncMethod = fsync
[gc]
	auto = 0
	writeCommitGraph = false
[maintenance]
	auto = false
"""
_COMMITTER: Final = ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_HEADER = b"gpgsig "
_SECONDS, _SECONDS_ON_TERMINAL = 30, 120  # until a program that asks nobody, or a person, has to have answered
_KEYS = r"^(commit\.gpgsign|gpg\..*|user\.(name|email|signingkey))$"
_TRUSTED_SCOPES = frozenset({"system", "global", "command"})
_COMMENT = re.compile(rb"(-----BEGIN PGP [A-Z]+-----\n)(?:[A-Za-z]+: [^\n]*\n)+\n")  # gpg does not sign it
_LAST_WORDS = "fatal: failed to write commit object"
_GIT_LINE: Final = 4096  # bytes
_STATES: Final = {"G": GOOD, "B": BAD, "X": EXPIRED, "Y": EXPIRED_KEY, "R": REVOKED_KEY, "E": UNKNOWN_KEY}
_FORMAT: Final = "%H%x00%G?%x00%GK%x00%GF%x00%GS"
_FIELDS: Final = 5
_AT_ONCE: Final = 200  # commits; git starts a program for each
_SSH: Final = b"-----BEGIN SSH SIGNATURE-----"


def find_git() -> str | None:
    """Return the path of the git program, or None.

    Only absolute directories of PATH are searched: the current one may be a project that somebody else wrote.
    """
    directories = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which("git", path=os.pathsep.join(directories))


def run_git(
    store: str,
    *arguments: str,
    settings: Sequence[str] = (),
    lock: int | None = None,
    reads: bool = False,
    stdin: str = "",
    actor: tuple[str, str] = ("scopes", "scopes@systems.scopes"),
) -> str:
    """Run git on a store and return its output; `settings` are `key=value` pairs for this run.

    `actor` are name and address for the reflogs. `lock` is the descriptor of the held lock. Git inherits it: if this
    process is killed, the store stays locked until git has ended.

    `reads` leaves the store as it is, which may be on a full or read-only disk; git may fail then, and the output
    includes what it reports on standard error.

    Raises:
        Inaccessible: the git program is not installed, or it failed.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it is needed for gc")
    options = [word for setting in settings for word in ("-c", setting)]
    with private_directory(store, in_store=not reads) as directory:
        done = subprocess.run(
            [program, "--no-pager", *options, *arguments],
            cwd=directory,
            env=git_environment(directory) | dict(zip(_COMMITTER, actor, strict=True)),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            pass_fds=() if lock is None else (lock,),
        )
    if reads:
        return done.stdout + done.stderr
    if done.returncode != 0:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Inaccessible(f"git {arguments[0]} failed: {last_line}", hint="check the disk's space; nothing was lost")
    return done.stdout


def ask_git(  # noqa: PLR0917 - what, where, how long
    words: Sequence[str],
    directory: str,
    environment: Mapping[str, str] | None,
    stdin: bytes = b"",
    seconds: float | None = None,
    codes: Container[int] = (0,),
) -> bytes | None:
    """Return what git prints; None if it is not installed, takes too long or ends with another exit code."""
    program = find_git()
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "--no-pager", *words],
            cwd=directory,
            env=environment,
            input=stdin,
            capture_output=True,
            check=False,
            start_new_session=True,
            timeout=seconds,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode in codes else None


def find_root_commit(git_directory: str) -> str | None:
    """Return the oldest root commit of a user's repository, by which it is known on every machine.

    None without commits, for a shallow clone, whose first commits are not here, and if git cannot read it.
    """
    try:
        head = read_regular(os.path.join(git_directory, "HEAD"), _GIT_LINE).decode("ascii")
        name = head.removeprefix("ref:").strip()
        if os.path.lexists(os.path.join(git_directory, "shallow")) or not (name.startswith("refs/") or is_oid(name)):
            return None
        with private_directory(git_directory, in_store=False) as directory:
            words = ("rev-list", "--max-parents=0", "--reverse", "--end-of-options", name)
            found = ask_git(words, directory, git_environment(directory), seconds=_SECONDS)
    except (OSError, ValueError, Inaccessible):
        return None
    return found.decode("ascii").split()[0] if found else None


def git_environment(directory: str) -> dict[str, str]:
    """Return the environment in which git reads no other configuration than that in its private directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return environment | {
        "GIT_DIR": directory,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # a ref below refs/replace may make git read another object
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }


@contextmanager
def private_directory(store: str, *, in_store: bool = True) -> Iterator[str]:
    """Create a git directory that has the objects, refs and reflogs of a store, and not its configuration or hooks.

    It is in the store, so that the next gc finds it if this process is killed, or among the temporary files.
    """
    with translated("prepare a directory for git", store):
        if in_store:
            with suppress(FileExistsError):
                os.mkdir(os.path.join(store, "logs"), 0o700)
        from tempfile import mkdtemp

        path: str = mkdtemp(prefix=PRIVATE_PREFIX, dir=store if in_store else None)
    try:
        with translated("prepare a directory for git", store):
            _write(os.path.join(path, "config"), _CONFIG + "[protocol]\n\tallow = never\n")
            _write(os.path.join(path, "HEAD"), HEAD)
            for name in (*_DIRECTORIES, _PACKED_REFS):
                os.symlink(os.path.join(os.path.abspath(store), name), os.path.join(path, name))
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Quarantine:
    """One quarantine; `lock` is the descriptor that a git process inherits.

    `prunes` knows what was deleted from the store since it was opened, or earlier: what came may need it.
    """

    def __init__(self, path: str, lock: int, prunes: Prunes) -> None:
        self.path = path
        self.lock = lock
        self.prunes = prunes
        self.pack_directory = os.path.join(path, "objects", "pack")

    def set_known(self, known: Mapping[str, Oid]) -> None:
        """Replace the refs that git finds, so that what they reach is not sent again, nor a ref made with its value."""
        with translated("prepare a directory for git", self.path):
            _write_refs(self.path, known)

    def list_packs(self) -> list[str]:
        """Return the paths of the new packs, without their ending, sorted."""
        names = sorted(os.listdir(self.pack_directory))
        return [os.path.join(self.pack_directory, name[:-5]) for name in names if name.endswith(".pack")]

    def link_packs(self, store: str, *, durable: bool) -> int:
        """Add the new packs to the store and return their number; call it under the exclusive lock of the store.

        A reader finds a pack by its index, which comes last.

        Raises:
            Inaccessible: the disk failed; what was added is not used by any ref.
        """
        target = os.path.join(store, "objects", "pack")
        packs = self.list_packs()
        with translated("add packs to the store", store):
            for pack in packs:
                for ending in (".pack", ".idx"):
                    if durable:
                        sync(pack + ending)
                    with suppress(FileExistsError):  # the name is the hash of the content
                        os.link(pack + ending, os.path.join(target, os.path.basename(pack) + ending))
            if durable and packs:
                sync(target)
        return len(packs)


@contextmanager
def open_quarantine(store: str, known: Mapping[str, Oid], *, borrows: bool = True) -> Iterator[Quarantine]:
    """Make a quarantine in a store, and remove it at the end of the block.

    known: refs that git finds in it, so that what they reach is not sent again; their names begin with `refs/`
    borrows: whether the objects of the store can be read in it
    """
    from tempfile import mkdtemp

    prunes = Prunes(store)
    with translated("prepare a directory for git", store):
        path: str = mkdtemp(prefix=QUARANTINE_PREFIX, dir=store)
        lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with translated("prepare a directory for git", store):
            fcntl.flock(lock, fcntl.LOCK_EX)
            _fill(path, known, borrows=borrows)
        yield Quarantine(path, lock, prunes)
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _fill(path: str, known: Mapping[str, Oid], *, borrows: bool) -> None:
    for name in ("objects/info", "objects/pack", "refs"):
        os.makedirs(os.path.join(path, name), mode=0o700)
    if borrows:
        _write(os.path.join(path, "objects", "info", "alternates"), "../../objects\n")
    _write_refs(path, known)
    _write(os.path.join(path, "config"), _CONFIG)
    _write(os.path.join(path, "HEAD"), HEAD)


def _write_refs(path: str, known: Mapping[str, Oid]) -> None:
    lines = (f"{known[name]} {name}\n" for name in sorted(known))
    _write(os.path.join(path, _PACKED_REFS), _PACKED_HEADER + "".join(lines))


def list_abandoned(store: str) -> list[str]:
    """Return the names of the quarantines in a store whose processes have ended, sorted."""
    names = sorted(name for name in os.listdir(store) if name.startswith(QUARANTINE_PREFIX))
    return [name for name in names if not is_in_use(os.path.join(store, name))]


def is_in_use(path: str) -> bool:
    """Return True if somebody holds the lock of a quarantine; one that is being made has no lock yet."""
    return is_file_locked(os.path.join(path, _LOCK))


class ReceivedObjects(ObjectsInMemory):
    """Reads objects of a quarantine, which git has checked, else of the store; what is written stays in memory."""

    def __init__(self, repository: Repository, quarantine: Quarantine) -> None:
        super().__init__(repository)
        self._directory = quarantine.path
        with translated("read the new packs", quarantine.path):
            # not through libgit2's object database, which takes half as long again
            packs = pygit2.OdbBackendPack(os.path.join(quarantine.path, "objects"))
        self._read_packed, self._read_header = packs.read, packs.read_header
        self._new = {Oid(str(oid)): None for oid in packs}

    @property
    def new(self) -> AbstractSet[Oid]:
        """The ids of all objects that came from the remote, pack by pack; the store may have some of them, too."""
        return self._new.keys()

    def is_new(self, oid: Oid) -> bool:
        """Return True if an object came from the remote; the store may have it, too."""
        return oid in self._new

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        if oid not in self._new:
            return super().read(oid)
        with translated(f"read object {oid} from the remote", self._directory):
            code, data = self._read_packed(oid)
            return KINDS[code], data

    def read_header(self, oid: Oid) -> tuple[str, int]:
        """Return kind and size of a new object, which is not inflated for that, or raise Corrupt."""
        with translated(f"read object {oid} from the remote", self._directory):
            code, size = self._read_header(oid)
            return KINDS[code], size


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
        """Return the bytes of a commit with a signature, or as they are where git does not sign; or raise Refused."""
        if self._choice is False:
            return commit
        if self._settings is None:
            self._settings = read_signing_settings(self._directory)
        # a key without a value is true, as in git
        is_on = BOOLEANS.get(self._settings.get("commit.gpgsign", "no").lower(), False)
        if not (self._choice or is_on):
            return commit
        signature = _read_signature(self._commit_tree(commit, self._settings))
        if signature is None:
            raise _refusal("it made no signature")
        return add_signature(commit, signature)

    def _commit_tree(self, commit: bytes, settings: Mapping[str, str]) -> bytes:
        """Let git write the same commit with a signature into a repository of its own; return it."""
        head, _, message = commit.partition(b"\n\n")
        fields = [line.partition(" ")[::2] for line in head.decode("utf-8", "surrogateescape").split("\n")]
        tree = next(value for key, value in fields if key == "tree")
        parents = [value for key, value in fields if key == "parent"]
        words = ["commit-tree", "-F", "message", *(word for parent in parents for word in ("-p", parent))]
        key = settings.get("user.signingkey") or ""
        if not key and settings.get("gpg.format") != "ssh" and "user.email" in settings:
            key = f"{settings.get('user.name', '')} <{settings['user.email']}>"  # of the user, not of the author
        with scratch_repository() as directory:
            _write_loose(directory, Oid(tree), b"tree 0\0")
            for parent in parents:
                _write_loose(directory, Oid(parent), b"commit 0\0")
            with open(os.path.join(directory, "message"), "xb") as file:
                file.write(message)
            words[2] = file.name
            oid = self._run([*_options(settings), *words, f"-S{key}", tree], directory, _identities(fields))
            with open(os.path.join(directory, "objects", oid[:2], oid[2:]), "rb") as signed:
                return zlib.decompress(signed.read()).partition(b"\0")[2]

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
            lines = [line.strip().removeprefix("error: ") for line in errors.decode("utf-8", "replace").splitlines()]
            kept = [line for line in lines if line and line != _LAST_WORDS and not line.startswith("[GNUPG:]")]
            raise _refusal(cut(clean_line("; ".join(kept)), 300) or "it gave no reason")
        return output.decode("ascii", "replace").strip()


def read_signing_settings(directory: str) -> dict[str, str]:
    """Ask git for the settings about signatures that hold in a directory, by key in lower case.

    Only settings of the system, the user and the environment are used: a project may come from another person, and some
    of these settings are programs to run. There are none if git is not installed or cannot read them.
    """
    words = ("config", "--show-scope", "--null", "--get-regexp", _KEYS)
    output = ask_git(words, directory, None, seconds=10) or b""
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    found: dict[str, str] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, separator, value = entry.partition("\n")
        if scope in _TRUSTED_SCOPES:
            found[key] = value if separator else "true"
    return found


def _options(settings: Mapping[str, str]) -> list[str]:
    """Return the settings as options of git, which reads no configuration of the user by itself here."""
    return [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]


@contextmanager
def scratch_repository() -> Iterator[str]:
    """Create an empty git directory outside the store, for as long as the block runs."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="scopes-signatures-") as directory:
        _fill(directory, {}, borrows=False)
        yield directory


def _write_loose(directory: str, oid: Oid, content: bytes) -> None:
    """Write an object, with the header that says what it is, where git finds it under an id."""
    folder = os.path.join(directory, "objects", oid[:2])
    os.makedirs(folder, exist_ok=True)
    with suppress(FileExistsError), open(os.path.join(folder, oid[2:]), "xb") as file:
        file.write(zlib.compress(content, 1))


def _read_signature(commit: bytes) -> bytes | None:
    """Return the signature in the header of a commit; None if there is none."""
    text = commit.partition(b"\n\n")[0].partition(b"\n" + _HEADER)[2]
    lines = text.split(b"\n")
    following = next((at for at, line in enumerate(lines) if at and not line.startswith(b" ")), len(lines))
    return b"\n".join([lines[0], *(line[1:] for line in lines[1:following])]) or None


def add_signature(commit: bytes, signature: bytes) -> bytes:
    """Return the bytes of a commit with a signature as the last line of its header, as git puts it there."""
    end = commit.index(b"\n\n") + 1
    text = _COMMENT.sub(rb"\1\n", signature.replace(b"\r\n", b"\n"))
    return commit[:end] + _HEADER + b"\n ".join(text.strip(b"\n").split(b"\n")) + b"\n" + commit[end:]


def is_signed(commit: bytes) -> bool:
    """Return True if the header of a commit has what may be a signature."""
    return b"\n" + _HEADER in commit.partition(b"\n\n")[0]


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


def check_signatures(
    objects: Objects, commits: Iterable[Oid], directory: str, settings: Mapping[str, str] | None = None
) -> dict[Oid, Signature]:
    """Return git's verdicts about the signatures of commits; commits without a signature are left out."""
    signed = {oid: data for oid in commits if is_signed(data := read_data(objects, oid, "commit"))}
    if not signed:
        return {}
    known = read_signing_settings(directory) if settings is None else settings
    oids = list(signed)
    options = _options({key: value for key, value in known.items() if key.startswith("gpg.") and key != "gpg.format"})
    found: dict[Oid, Signature] = {}
    for start in range(0, len(oids), _AT_ONCE):
        found |= _check({oid: signed[oid] for oid in oids[start : start + _AT_ONCE]}, options)
    return found


def _check(signed: Mapping[Oid, bytes], options: list[str]) -> dict[Oid, Signature]:
    """Ask git about some commits in a repository that has only these; those without an answer are `not checked`."""
    found = dict.fromkeys(signed, Signature(UNCHECKED))
    with scratch_repository() as directory:
        for oid, data in signed.items():
            _write_loose(directory, oid, b"commit %d\0" % len(data) + data)
        words = [*options, "log", "--no-walk=unsorted", "--stdin", "-z", "--no-color", f"--format=tformat:{_FORMAT}"]
        names = "".join(f"{oid}\n" for oid in signed).encode()
        output = ask_git(words, directory, git_environment(directory), names, 20 * len(signed), range(256))
    fields = (output or b"").decode("utf-8", "replace").split("\0")
    for start in range(0, len(fields) - _FIELDS, _FIELDS):
        text, letter, key, fingerprint, signer = fields[start : start + _FIELDS]
        name = Oid(text.strip("\n"))
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
    who, name = (cut(clean_line(text), 200) or None for text in (signer, key))
    return Signature(state, None if state in {UNKNOWN_KEY, UNCHECKED} else who, name)
