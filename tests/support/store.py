"""Helpers to build stores at a low level: commits without a conversation, operations without a command.

`Process` runs Python source in a child process, for tests of damage (libgit2 caches what it has read) and of locks,
limits and crashes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from scopes import clock
from scopes.ids import Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.store.config import Setting
from scopes.store.objects import BLOB, COMMIT, TREE, Identity, Objects, TreeEntry, format_commit, format_tree
from scopes.store.repository import Caller, Repository, create_store, open_repository
from scopes.store.transactions import commit_operation, exclusive_write
from tests.support.fork_server import StartedProgram, needs_interpreter, run_program
from tests.support.snapshot import Snapshot, take_snapshot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAST = {"scopes.durability": Setting("scopes.durability", "fast", "flag")}
FULL = {"scopes.durability": Setting("scopes.durability", "full", "flag")}
IMPATIENT = FAST | {"scopes.lockTimeout": Setting("scopes.lockTimeout", "0", "flag")}
CAROL = Identity("carol", "carol@agents.scopes")
NOON = 1_767_268_800  # 2026-01-01T12:00:00Z
HEADS = "refs/heads/conv-001/"
MAIN = HEADS + "main"
_EMPTY: dict[str, Snapshot] = {}
PRELUDE = """
import os, sys, time
from scopes.errors import ScopesError
from scopes.store import refs
from scopes.store.transactions import append, commit_operation, exclusive_write
from tests.support.store import *
path = sys.argv[1]
"""


def make_store(path: object, overrides: Mapping[str, Setting] = FAST) -> Repository:
    """Create an empty store and open it; the first one of a process is copied."""
    if os.path.lexists(str(path)) or not os.path.isdir(os.path.dirname(str(path))):
        create_store(str(path))
    elif "store" in _EMPTY:
        _EMPTY["store"].write(str(path))
    else:
        create_store(str(path))
        _EMPTY["store"] = take_snapshot(str(path))
    return open_store(path, overrides)


def open_store(
    store: object, overrides: Mapping[str, Setting] = FAST, actor: str = "carol", command: str = "scopes test"
) -> Repository:
    """Open a store as a new process would; `store` is a path or an open store."""
    path = store.path if isinstance(store, Repository) else str(store)
    return open_repository(path, overrides, Caller(actor, command))


def with_settings(repository: Repository, **settings: str) -> Repository:
    """Open the store again with settings below scopes.merge: `rule_decision_disagreement` is `rule.decision-disagreement`."""
    given = {f"scopes.merge.{name.replace('_', '.', 1)}".lower(): value for name, value in settings.items()}
    overrides = {key.replace("_", "-"): Setting(key.replace("_", "-"), value, "flag") for key, value in given.items()}
    return open_store(repository.path, {**FAST, **overrides})


def overtake(repository: Repository, act: Callable[[Repository], object]) -> None:
    """Run an action of another process the first time this process waits for the exclusive lock."""
    original = repository.lock.exclusive

    def exclusive() -> AbstractContextManager[None]:
        repository.lock.exclusive = original
        act(open_store(repository, actor="somebody else"))
        return original()

    repository.lock.exclusive = exclusive


def remove_object(repository: Repository, oid: str) -> Callable[[], None]:
    """Remove a loose object, and return a function that restores it."""
    path = loose_path(repository, oid)
    os.rename(path, f"{path}.away")
    return lambda: os.rename(f"{path}.away", path)


def refs(repository: Repository) -> dict[str, str]:
    """Return every ref except the operation log, to compare the refs before and after an action."""
    return {name: value for name, value in repository.list_refs().items() if name != "refs/scopes/operations"}


def write_message(objects: Objects, text: str, *parents: str, time: int = NOON) -> Oid:
    """Write a commit that looks like a message's and says `text`."""
    blob = objects.write(BLOB, text.encode())
    tree = objects.write(TREE, format_tree([TreeEntry("message.json", blob, is_tree=False)]))
    trailers = [("Scopes-Message", text)]
    commit = format_commit(
        tree=tree, parents=map(Oid, parents), author=CAROL, time=time, subject=text, trailers=trailers
    )
    return objects.write(COMMIT, commit)


def write_chain(objects: Objects, *texts: str) -> list[Oid]:
    """Write messages one on top of the other, oldest first."""
    tips: list[Oid] = []
    for text in texts:
        tips.append(write_message(objects, text, *tips[-1:]))
    return tips


def operation(*changes: RefChange, kind: str = "test", time: str = "2026-01-01T12:00:00.000Z") -> Operation:
    """Make an operation of these changes."""
    name = OperationId(clock.new_id())
    return Operation(
        id=name, kind=kind, summary="of a test", command="scopes test", actor="carol", time=time, changes=changes
    )


def move(repository: Repository, *changes: tuple[str, str | None, str | None], time: str | None = None) -> Oid:
    """Move refs from old to new values as one operation; return its commit."""
    what = operation(*(RefChange(*change) for change in changes), **({} if time is None else {"time": time}))
    with exclusive_write(repository):
        return commit_operation(repository, what)


def make_branch(repository: Repository, *texts: str, ref: str = MAIN) -> list[Oid]:
    """Make a branch of these messages; return its commits, oldest first."""
    commits = write_chain(repository, *texts)
    move(repository, (ref, None, commits[-1]))
    return commits


def subjects(repository: Repository, ref: str = MAIN) -> list[str]:
    """Return the subjects of a branch's commits from `git log`, newest first."""
    return git(repository, "log", "--format=%s", ref).splitlines()


def git(store: Repository | str | os.PathLike[str], *words: str, stdin: bytes | None = None) -> str:
    """Run git on a store and return its output; bytes that are not UTF-8 become surrogates."""
    return git_bytes(store, *words, stdin=stdin).decode("utf-8", "surrogateescape")


def git_bytes(store: Repository | str | os.PathLike[str], *words: str, stdin: bytes | None = None) -> bytes:
    """Run git on a store and return its output; fail if git does."""
    path = store.path if isinstance(store, Repository) else os.fspath(store)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", f"--git-dir={path}", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    done = subprocess.run(command, env=environment, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def assert_sound(store: Repository | str) -> None:
    """Fail if git finds damage or a lock file was left."""
    assert git(store, "fsck", "--strict", "--full", "--no-dangling") == ""
    path = store if isinstance(store, str) else store.path
    locks = {os.path.join(top, name) for top, _, names in os.walk(path) for name in names if name.endswith(".lock")}
    assert locks <= {os.path.join(path, "scopes.lock")}


def loose_path(repository: Repository, oid: str) -> str:
    """Return the path of a loose object, made writable; the repository forgets what it has in memory."""
    repository.close()
    path = os.path.join(repository.path, "objects", oid[:2], oid[2:])
    os.chmod(path, 0o600)
    return path


def read_bytes(path: object) -> bytes:
    """Return the content of a file."""
    with open(str(path), "rb") as file:
        return file.read()


def write_bytes(path: object, data: bytes) -> None:
    """Write bytes to a file, whatever its mode."""
    if os.path.exists(str(path)):
        os.chmod(str(path), 0o600)
    os.makedirs(os.path.dirname(str(path)), exist_ok=True)
    with open(str(path), "wb") as file:
        file.write(data)


def files_of(path: str) -> dict[str, bytes]:
    """Return every file of a directory with its bytes."""
    found = {}
    for top, _, names in os.walk(path):
        for name in names:
            file = os.path.join(top, name)
            found[os.path.relpath(file, path)] = read_bytes(file) if os.path.isfile(file) else b""
    return found


def state_of(repository: Repository) -> dict[str, bytes]:
    """Return the content of every file except unreferenced objects and lock files, to prove that nothing changed."""
    return {
        name: data
        for name, data in files_of(repository.path).items()
        if not name.startswith(("objects/", "scopes.")) or name.startswith("objects/pack")
    }


class Process:
    """A child process that runs Python source with the names of this module and `path`.

    before: words that start the interpreter, such as a program that limits it; without them the process is forked.
    """

    def __init__(
        self, code: str, *arguments: object, env: Mapping[str, str] | None = None, before: Sequence[str] = ()
    ) -> None:
        environment = {**os.environ, "PYTHONPATH": ROOT, **(env or {})}
        words, pipe = [*map(str, arguments)], subprocess.PIPE
        self.popen: subprocess.Popen | StartedProgram
        if before or needs_interpreter(environment):
            command = [*before, sys.executable, "-c", PRELUDE + code, *words]
            self.popen = subprocess.Popen(
                command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd="/"
            )
        else:
            self.popen = StartedProgram(PRELUDE + code, words, environment, stderr=pipe, text=True, cwd="/")

    def read_line(self) -> str:
        """Wait for one line of output."""
        assert self.popen.stdout is not None
        return self.popen.stdout.readline().strip()

    def finish(self, timeout: float = 60) -> str:
        """Close its input, wait for exit code 0, and return its remaining output."""
        try:
            out, err = self.popen.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        assert self.popen.returncode == 0, (self.popen.returncode, out, err)
        assert not err, err
        return out.strip()

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.popen.kill()
        self.popen.communicate()


def run(code: str, *arguments: object, env: Mapping[str, str] | None = None, before: Sequence[str] = ()) -> str:
    """Run Python source in a child process and return its output; fail if it fails."""
    if before:
        return Process(code, *arguments, env=env, before=before).finish()
    environment = {**os.environ, "PYTHONPATH": ROOT, **(env or {})}
    done = run_program(PRELUDE + code, [*map(str, arguments)], environment, stdin=subprocess.DEVNULL, cwd="/")
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stdout, done.stderr)
    return done.stdout.strip()


def outcome(code: str) -> str:
    """Wrap Python source so that it prints an error's kind, exit code, message and hint instead of raising."""
    lines = "\n".join("    " + line for line in code.strip().splitlines())
    tail = (
        "\nexcept ScopesError as error:\n    print(error.kind, error.exit_code, error.message, error.hint, sep='|')\n"
    )
    return f"try:\n{lines}{tail}"


def walk_lines(text: str) -> Iterator[list[str]]:
    """Yield the words of every line."""
    for line in text.splitlines():
        yield line.split()


def list_conversations(store: object) -> list[str]:
    """Return the conversations of a store that have a branch, sorted by name, without opening it."""
    names = git(store, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split()
    return sorted({name.partition("/")[0] for name in names})
