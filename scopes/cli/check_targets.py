"""Find the runs that `scopes check` judges: read paths into a temporary store, or open stored conversations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from scopes.check.run import Run
from scopes.check.run_reader import read_empty_run
from scopes.cli.import_runner import CollectedSources, collect_sources, import_into
from scopes.cli.invocation import Invocation
from scopes.conversation.list import ALL, ListFilter, list_conversations
from scopes.errors import CannotImport, Inaccessible, Invalid, NotFound
from scopes.history.handles import Scope, resolve_scope
from scopes.history.names import conversation_ids
from scopes.importers.formats.base import UNKNOWN_FORMAT, Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions
from scopes.importers.results import Imported
from scopes.result import Note, plural
from scopes.store.repository import Repository, empty_store

_SUFFIXES = (".json", ".jsonl", ".log", ".zst")
_NAMES = ("conv-", "@")
_MAX_NAMES = 5
_EMPTY = "the file is empty"
_UTF_32 = "it is UTF-32: convert it to UTF-8"
# The first bytes of files that hold a transcript in another form, and what they are.
_PACKED = {
    b"\x1f\x8b": "it is packed with gzip: unpack it",
    b"BZh": "it is packed with bzip2: unpack it",
    b"\xfd7zXZ": "it is packed with xz: unpack it",
    b"PK\x03\x04": "it is a zip archive: unpack it",
    b"\xff\xfe\0\0": _UTF_32,
    b"\0\0\xfe\xff": _UTF_32,
    b"{\0\0\0": _UTF_32,
    b"[\0\0\0": _UTF_32,
    b"\0\0\0": _UTF_32,
    b"\xff\xfe": "it is UTF-16: convert it to UTF-8",
    b"\xfe\xff": "it is UTF-16: convert it to UTF-8",
}


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs to check: their store, names and scopes.

    missing: names and reasons of those that are not there or cannot be read
    empty: those of transcripts without a message, which are not in the store
    notes: files below a folder that were skipped because their format is not known, and what filters left out
    left_out: what filters left out, as the end of a sentence; empty if nothing was
    """

    repository: Repository
    scopes: Sequence[tuple[str | None, Scope]]
    missing: Sequence[tuple[str, str]] = ()
    empty: Sequence[Run] = ()
    notes: Sequence[Note] = ()
    left_out: str = ""


def split_targets(invocation: Invocation, targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the targets that are paths, and those that name stored conversations.

    A word that names neither is a path: the folder of an agent that did not run is missing, and that is a finding.

    Raises:
        Invalid: there are both.
        Ambiguous: a name fits several conversations.
    """
    names = [target for target in targets if not is_path(target) and _is_stored_run(invocation, target)]
    paths = [target for target in targets if target not in names]
    if paths and names:
        missing = [path for path in paths if path != "-" and not os.path.lexists(path)]
        if missing:
            raise Invalid(f"there is no file {', '.join(missing)}", hint="name existing files")
        raise Invalid("paths and stored conversations cannot be checked together", hint="use two commands")
    return paths, names


def _is_stored_run(invocation: Invocation, target: str) -> bool:
    """Return True if a target has the form of a conversation's name, or is the name of a stored one."""
    if not target or target.startswith(_NAMES):
        return True
    try:
        repository = invocation.find_repository()
        return repository is not None and bool(resolve_scope(repository, target))
    except NotFound:  # the conversation, or the store
        return False


@contextmanager
def open_runs(
    invocation: Invocation, paths: Sequence[str], names: Sequence[str], wanted: ListFilter = ALL
) -> Iterator[Runs]:
    """Open the runs of paths in a temporary store, or those of stored conversations; without either all stored ones.

    `wanted` narrows the transcripts below folders, or the stored conversations if none is named; what is named is
    always judged.

    Raises:
        Invalid: `wanted` narrows what was named.
        NotFound, Ambiguous: a conversation cannot be resolved, or there is no store.
    """
    is_narrowed = wanted.since is not None or bool(wanted.projects)
    if is_narrowed and (names or (paths and all(path == "-" or os.path.isfile(path) for path in paths))):
        raise Invalid(
            "--since and --project narrow folders and the stored conversations; these are named",
            hint="leave out the names, or the options",
        )
    if not paths:
        yield _open_stored(invocation, names, wanted)
        return
    with empty_store() as repository:
        reader = _Reader(invocation, repository, wanted)
        for path in paths:
            reader.read(path)
        found = [(None, resolve_scope(repository, name)) for name in conversation_ids(repository)]
        yield Runs(
            repository, found, reader.missing, tuple(reader.empty.values()), tuple(reader.notes()), reader.left_out()
        )


def _open_stored(invocation: Invocation, names: Sequence[str], wanted: ListFilter) -> Runs:
    repository = invocation.find_repository()
    if repository is None:
        what = f"file or conversation {', '.join(names)}" if names else "run to check"
        raise NotFound(
            f"there is no {what}, and no store with conversations yet",
            hint="give what the agent left: scopes check agent.jsonl ~/.codex/sessions\n"
            "standard input is read for -: codex exec --json ... | scopes check -\n"
            "or store the sessions of this machine first: scopes import",
        )
    rows = []
    if not names:
        listed = list_conversations(repository, invocation.index_directory, wanted=wanted, details=False)
        rows = sorted(row.id for row in listed.conversations)
    count = 0 if names else len(conversation_ids(repository)) - len(rows)
    options = [("--since", wanted.since is not None), ("--project", bool(wanted.projects))]
    given = " and ".join(option for option, is_given in options if is_given)
    text = _count_left_out([(count, "conversation", given)])
    scopes = [(name, resolve_scope(repository, name)) for name in names or rows]
    return Runs(
        repository,
        [(name if name.startswith(scope.conversation) else scope.conversation, scope) for name, scope in scopes],
        notes=tuple(_notes_on_left_out(text)),
        left_out=text,
    )


@dataclass(slots=True)
class _Reader:
    """Reads paths into a temporary store, and collects what is not a run.

    empty: the runs without a message by path: a file can be named and lie below a folder that is named
    older, elsewhere: the numbers of transcripts that --since and --project left out
    """

    invocation: Invocation
    repository: Repository
    wanted: ListFilter
    missing: list[tuple[str, str]] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)
    empty: dict[str, Run] = field(default_factory=dict)
    older: int = 0
    elsewhere: int = 0

    def read(self, path: str) -> None:
        """Read the transcripts of a file or of a folder; only those of a folder are narrowed."""
        if not is_path(path):
            self.missing.append((path, "there is no such file, folder or stored conversation"))
            return
        options = ImportOptions()
        if os.path.isdir(path):
            options = ImportOptions(since=self.wanted.since, projects=self.wanted.projects or None)
        collected: CollectedSources | None = None
        try:
            collected = collect_sources(self.invocation, [path])
            imported = import_into(self.invocation, self.repository, collected, options)
        except (CannotImport, Inaccessible, NotFound) as error:
            self._add_failed(path, collected, error)
            return
        self._add_skipped(collected, imported)
        self.older += imported.older_sources
        self.elsewhere += imported.other_sessions
        skipped = {each.path for each in imported.skipped if each.error is None}
        without_message = [each for each in collected.sources if each.path in skipped]
        for run in _read_empty(without_message, only_named=options != ImportOptions()):
            self.empty.setdefault(run.name, run)

    def _add_failed(
        self, path: str, collected: CollectedSources | None, error: CannotImport | Inaccessible | NotFound
    ) -> None:
        """Add a path of which nothing can be read: the empty files below a folder, and it itself for any other."""
        if path == "-" and collected is not None and not any(each.size for each in collected.sources):
            self.missing.append((path, "standard input is empty"))
            return
        sources = [] if collected is None or not os.path.isdir(path) else collected.sources
        empty = [each.path for each in sources if not each.size]
        self.missing += ((each, _EMPTY) for each in empty)
        unknown = [os.path.basename(each.path) for each in sources if each.size]
        if empty and unknown:
            names = ", ".join(unknown[:_MAX_NAMES])
            self.missing.append((path, f"no other transcript of a known format: {names}"))
        elif not empty:
            self.missing.append((path, _explain(path, _without_path(error.message, path))))

    def _add_skipped(self, collected: CollectedSources, imported: Imported) -> None:
        self.missing += ((each.path, _EMPTY) for each in collected.sources if not each.size)
        listed = {name for name, _ in self.missing}
        skipped = [each for each in imported.skipped if each.path not in listed]
        self.missing += ((each.path, _explain(each.path, each.reason)) for each in skipped if each.error is not None)
        self.unknown.update((each.path, None) for each in skipped if each.reason == UNKNOWN_FORMAT)

    def left_out(self) -> str:
        """Return what the filters left out, as the end of a sentence; empty if nothing was."""
        return _count_left_out([(self.older, "transcript", "--since"), (self.elsewhere, "transcript", "--project")])

    def notes(self) -> Iterator[Note]:
        """Yield what the user should know about transcripts that are not judged."""
        yield from _notes_on_unknown(list(self.unknown))
        yield from _notes_on_left_out(self.left_out())


def _count_left_out(counts: Sequence[tuple[int, str, str]]) -> str:
    return " and ".join(f"{option} left out {count:,} {plural(count, what)}" for count, what, option in counts if count)


def _notes_on_left_out(text: str) -> Iterator[Note]:
    if text:
        yield Note(f"not judged: {text}")


def _read_empty(sources: Sequence[Source], *, only_named: bool) -> Iterator[Run]:
    """Yield the runs of transcripts without a message; with `only_named` only those that the user gave by name."""
    for source in sources:
        with suppress(CannotImport, OSError):  # of no known format
            run = read_empty_run(source) if source.named or not only_named else None
            if run is not None:
                yield run


def _notes_on_unknown(paths: Sequence[str]) -> Iterator[Note]:
    """Yield a note that names the files whose format is not known: a run in them was not judged."""
    if paths:
        names = ", ".join(map(os.path.basename, paths[:_MAX_NAMES]))
        more = f" and {len(paths) - _MAX_NAMES} more" if len(paths) > _MAX_NAMES else ""
        yield Note(f"not judged, the format is not known: {names}{more}", "name such a file itself if it must be a run")


def _is_empty(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.getsize(path) == 0
    except (OSError, ValueError):
        return False


def _explain(path: str, reason: str) -> str:
    """Return why a path is not a run; for a file of an unknown format with a guess from its first bytes."""
    if os.path.isdir(path) or not reason.startswith(UNKNOWN_FORMAT):
        return reason
    if _is_empty(path):
        return _EMPTY
    beginning = b""
    with suppress(OSError, ValueError), open(path, "rb") as file:
        beginning = file.read(8)
    guess = next((text for first, text in _PACKED.items() if beginning.startswith(first)), None)
    if guess is None:
        known = ", ".join(each.name for each in FORMATS)
        if beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            guess = f"it begins like JSON; it may be cut off, or of an agent that scopes does not know (known: {known})"
        else:
            guess = f"it is not a transcript of {known}"
    return f"{UNKNOWN_FORMAT}: {guess}"


def _without_path(message: str, path: str) -> str:
    """Return an error without the path that it begins with, which the report shows already."""
    return message.removeprefix(f"{os.path.abspath(path)}: ").removeprefix(f"{path}: ")


def is_path(target: str) -> bool:
    """Return True if a target is a path, and no name of a stored conversation."""
    return target == "-" or os.path.exists(target) or target.endswith(_SUFFIXES) or target.startswith(("/", "./", "~"))
