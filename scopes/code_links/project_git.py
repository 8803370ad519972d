"""Run the git program on the repository of a project, which may be hostile: somebody else made it.

A repository can name programs in its configuration, attributes and hooks, and new versions of git add new ones. So git
never reads the project's configuration, and never its working tree: it runs in a private directory outside of the
project with a configuration written here, and reaches the project's objects and refs through links. Nothing is written
into the project. Git waits for ever at a named pipe that is in place of a ref or an object, so a repository with one is
refused. What else keeps git waiting, such as a file system that does not answer, ends at a limit of time.

Two settings are read as text and checked, because answers depend on them: the format of the object ids, and
`blame.ignoreRevsFile`.
"""

from __future__ import annotations

import io
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Final

from scopes.code_links.alternates import parse_alternates
from scopes.errors import Inaccessible, NotFound
from scopes.regular_file import UnusableFile, check_regular, check_tree, read_regular
from scopes.store.git_program import find_git, git_environment
from scopes.store.projects import find_worktree, read_git_settings

_CONFIG: Final = """\
[core]
	repositoryFormatVersion = {version}
	bare = true
	hooksPath = /dev/null
	attributesFile = /dev/null
	fsmonitor = false
	quotePath = false
[gc]
	auto = 0
[maintenance]
	auto = false
[protocol]
	allow = never
[log]
	showSignature = false
	mailmap = false
[extensions]
"""
_SHARED: Final = ("objects", "refs")
_FILES: Final = ("packed-refs", "shallow", "reftable")
_HEADS: Final = (
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_HEAD",
)
_GIT_LINE: Final = 4096
_MAX_ALTERNATES: Final = 1 << 16  # bytes
_BLOCK: Final = 1 << 16  # bytes
_SECONDS: Final = 120.0  # of one command without a limit of its own, or until it prints more
_MAX_STEPS: Final = 5  # from one directory of objects to another; git follows no more


@dataclass(frozen=True, slots=True)
class ProjectRepository:
    """The git repository of a project.

    top: the working tree; None for a bare repository
    git_directory: the directory with HEAD: that of the linked worktree, if it is one
    shared: the directory with objects and refs
    """

    top: str | None
    git_directory: str
    shared: str


class ProjectGitFailed(Exception):
    """Git ended with an error; the text is its last line."""


def find_project_repository(directory: str) -> ProjectRepository:
    """Return the repository around a directory, or the bare repository that it is.

    Raises:
        NotFound: there is none.
    """
    worktree = find_worktree(directory)
    if worktree is not None:
        return ProjectRepository(worktree.directory, worktree.git_directory, worktree.shared)
    path = os.path.realpath(directory)
    if os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects")):
        return ProjectRepository(None, path, path)
    raise NotFound(
        f"{directory} is not in a git repository", hint="change to a working tree of the project, or use: scopes -C DIR"
    )


class ProjectGit:
    """Runs git on one repository; made by `open_project_git`, usable until its block ends."""

    def __init__(self, repository: ProjectRepository, program: str, directory: str) -> None:
        self.repository = repository
        self._program = program
        self._environment = git_environment(directory)
        self._directory = directory

    def link_logs(self) -> None:
        """Let git read the reflogs too, for revisions such as `main@{1}`.

        Raises:
            Inaccessible: one of them is a named pipe, a socket or a device, or cannot be looked at.
        """
        logs = os.path.join(self._directory, "logs")
        own = os.path.join(self.repository.git_directory, "logs", "HEAD")
        shared = os.path.join(self.repository.shared, "logs", "refs")
        with unusable_files(self.repository.shared):
            if os.path.lexists(own):
                check_regular(own)
            check_tree(shared)
        os.makedirs(logs, exist_ok=True)
        for name, path in (("HEAD", own), ("refs", shared)):
            with suppress(FileExistsError):
                os.symlink(path, os.path.join(logs, name))

    def run(self, *arguments: str, stdin: bytes = b"", seconds: float | None = None) -> bytes:
        """Run git and return what it printed.

        seconds: the longest that it may take, for a caller with a shorter limit than usual

        Raises:
            ProjectGitFailed: it ended with an error, or took longer than `seconds`.
            Inaccessible: it took longer than usual.
        """
        try:
            done = subprocess.run(
                self._command(arguments),
                cwd=self._directory,
                env=self._environment,
                input=stdin,
                capture_output=True,
                check=False,
                timeout=_SECONDS if seconds is None else seconds,
            )
        except subprocess.TimeoutExpired as error:
            if seconds is None:
                raise self._too_slow() from error
            raise ProjectGitFailed(f"git took longer than {seconds:.0f} seconds") from error
        if done.returncode != 0:
            raise ProjectGitFailed(_last_line(done.stderr))
        return done.stdout

    def find(self, *arguments: str) -> str | None:
        """Run git and return what it printed as one line; None if it ended with an error."""
        try:
            return self.run(*arguments).decode("utf-8", "replace").strip()
        except ProjectGitFailed:
            return None

    def walk_lines(self, *arguments: str, stdin: bytes = b"") -> Iterator[bytes]:
        """Run git and yield the lines that it prints, while it runs.

        Raises:
            ProjectGitFailed: it ended with an error.
            Inaccessible: it printed nothing for too long.
        """
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen(
                self._command(arguments),
                cwd=self._directory,
                env=self._environment,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            try:
                yield from () if process.stdout is None else self._read_lines(process.stdout.fileno())
                if process.wait(_SECONDS) != 0:
                    raise ProjectGitFailed(_read_end(errors))
            except subprocess.TimeoutExpired as error:
                raise self._too_slow() from error
            finally:
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()

    def _read_lines(self, descriptor: int) -> Iterator[bytes]:
        """Yield lines with their ends, until the end of a pipe."""
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        line: list[bytes] = []
        while True:
            if not waiting.poll(_SECONDS * 1000):
                raise self._too_slow()
            block = os.read(descriptor, _BLOCK)
            if not block:
                break
            for piece in io.BytesIO(block):
                line.append(piece)
                if piece.endswith(b"\n"):
                    yield b"".join(line)
                    line = []
        if line:
            yield b"".join(line)

    def _too_slow(self) -> Inaccessible:
        return Inaccessible(
            f"git did not answer for {_SECONDS:.0f} seconds in {self.repository.shared}",
            hint="see whether its file system answers, and whether `git fsck` ends there",
        )

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return [self._program, "--no-pager", *arguments]


@contextmanager
def open_project_git(repository: ProjectRepository) -> Iterator[ProjectGit]:
    """Prepare a private directory in which git reads a project's repository; it is removed at the end of the block.

    Raises:
        Inaccessible: git is not installed, the directory cannot be made, or the repository has a file that is none.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; `why` asks it who wrote a line")
    try:
        path = tempfile.mkdtemp(prefix="scopes-project-")
    except OSError as error:
        raise Inaccessible(f"cannot make a directory for git: {error.strerror}", hint="set TMPDIR") from error
    try:
        with unusable_files(repository.shared):
            check_repository(repository.shared)
            _fill(path, repository)
            yield ProjectGit(repository, program, path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def check_repository(shared: str) -> None:
    """Check that git can read the files of a repository without waiting for ever.

    Raises:
        UnusableFile: one is a named pipe, a socket or a device.
        OSError: one cannot be looked at.
    """
    for name in ("config", *_FILES):
        check_regular(os.path.join(shared, name), allow_directory=True)
    for name in ("refs", "reftable"):
        check_tree(os.path.join(shared, name))
    objects = [os.path.join(shared, "objects")]
    for _ in range(_MAX_STEPS):
        for directory in objects:
            check_tree(directory)
        objects = [path for directory in objects for path in _list_alternates(directory)]


def _list_alternates(objects: str) -> list[str]:
    """Return the further directories in which git looks for objects.

    Some versions of git drop `..` from the text of a path, others where it leads.
    """
    try:
        data = read_regular(os.path.join(objects, "info", "alternates"), _MAX_ALTERNATES)
    except FileNotFoundError:
        return []
    paths = [os.path.join(objects, os.fsdecode(path)) for path in parse_alternates(data)]
    return list(dict.fromkeys(each for path in paths for each in (path, os.path.normpath(path))))


@contextmanager
def unusable_files(directory: str) -> Iterator[None]:
    """Name the file of a repository that cannot be read; the directory if the error names none.

    Raises:
        Inaccessible: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        cure = (
            "git would wait for it for ever: delete it" if isinstance(error, UnusableFile) else "check its permissions"
        )
        raise Inaccessible(f"cannot read {error.filename or directory}: {error.strerror}", hint=cure) from error


def _fill(path: str, repository: ProjectRepository) -> None:
    """Write what git needs into the private directory."""
    extensions = _list_extensions(repository)
    with open(os.path.join(path, "config"), "x", encoding="ascii") as file:
        file.write(_CONFIG.format(version=1 if extensions else 0))
        file.writelines(f"\t{name} = {value}\n" for name, value in extensions.items())
    head = read_regular(os.path.join(repository.git_directory, "HEAD"), _GIT_LINE)
    with open(os.path.join(path, "HEAD"), "xb") as file:
        file.write(head)
    for name in _HEADS:  # of the working tree; git resolves them as revisions
        with suppress(OSError):  # one that is missing or no file is no revision
            data = read_regular(os.path.join(repository.git_directory, name), _GIT_LINE)
            with open(os.path.join(path, name), "xb") as file:
                file.write(data)
    for name in _SHARED:
        os.symlink(os.path.join(repository.shared, name), os.path.join(path, name))
    for name in _FILES:
        if os.path.lexists(os.path.join(repository.shared, name)):
            os.symlink(os.path.join(repository.shared, name), os.path.join(path, name))


def _list_extensions(repository: ProjectRepository) -> dict[str, str]:
    """Return the extensions of the repository that decide how its objects and refs are read."""
    known = {"objectformat": {"sha256"}, "refstorage": {"reftable"}}
    found = {name: read_setting(repository, "extensions", name) for name in known}
    return {name: value for name, value in found.items() if value is not None and value in known[name]}


def read_setting(repository: ProjectRepository, section: str, name: str) -> str | None:
    """Return a setting in the repository's own configuration file, without what that file includes; the last one."""
    found = [each for *place, each in read_git_settings(repository.shared) if place == [section, name.lower()]]
    return found[-1] if found else None


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return (lines or ["git printed no message"])[-1].removeprefix("fatal: ")


def _read_end(errors: IO[bytes]) -> str:
    errors.seek(0)
    return _last_line(errors.read(_GIT_LINE * 16))
