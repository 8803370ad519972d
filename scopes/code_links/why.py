"""`why`: from lines of a file through blame to the commit, the turn, the prompt and the proposal that it agreed to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from scopes.clock import format_seconds, now_nanoseconds
from scopes.code_links.amended_links import link_commits
from scopes.code_links.blame import BlamedLine, blame
from scopes.code_links.commit_facts import find_commit
from scopes.code_links.edit_index import EditIndex, open_edit_index
from scopes.code_links.edit_places import EditPlaces
from scopes.code_links.edit_times import AFTER_SECONDS
from scopes.code_links.edits import base_name_of
from scopes.code_links.foreign_notes import describe_claim
from scopes.code_links.known_links import FETCH_HINT, KnownLinks
from scopes.code_links.line_match import (
    WHY_LEVELS,
    CommitContext,
    LineMatch,
    context_of,
    follows_others,
    hash_neighbours,
    match_line,
)
from scopes.code_links.link import CodeLink, CommitId
from scopes.code_links.moved_files import find_moved, names_by_path
from scopes.code_links.project_commits import AddedLine, ProjectCommit, read_project_commits, read_seconds
from scopes.code_links.project_git import (
    ProjectGit,
    ProjectGitFailed,
    find_project_repository,
    open_project_git,
)
from scopes.code_links.recorded_links import RecordedCommits
from scopes.code_links.shallow_clone import note_boundary, read_boundary
from scopes.code_links.target import ProjectFile, Target, find_directory, find_file, follow_link, parse_target
from scopes.code_links.why_answers import AnswerWriter
from scopes.code_links.why_result import FoundLines, Why, WhyCommit, WhyLines
from scopes.code_links.working_lines import map_lines, split_lines
from scopes.errors import Inaccessible, Invalid, NotFound, ScopesError
from scopes.ids import ConversationId
from scopes.regular_file import UnusableFile, read_regular
from scopes.result import Note, plural
from scopes.store.projects import find_worktree
from scopes.store.repository import Repository

AROUND: Final = 10  # lines that are blamed with those in question: git finds moved blocks, not single lines
MAX_FILE: Final = 32 << 20  # bytes of a file in the working tree
_UNCOMMITTED_SECONDS: Final = 30 * 86400.0  # for which a file that was moved may lie there uncommitted
_IMPORT: Final = "import the sessions of your agents: scopes import"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRequest:
    """What is asked for.

    target: a file and perhaps lines of it, as `parse_target` reads them, relative to the current directory `cwd`
    revision: the commit in which the lines are; None for the working tree
    candidates: how many further turns to name
    """

    target: str
    cwd: str
    revision: str | None = None
    candidates: int = 0


def why(
    repository: Repository,
    index_directory: str,
    request: WhyRequest,
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Why:
    """Find the turns that wrote lines of a file; `on_progress` receives the conversations that are indexed first.

    Raises:
        NotFound: the directory is in no git repository, the file or the revision does not exist, or the store is empty.
        Invalid: the file has not so many lines.
        Inaccessible: git failed or is not installed.
    """
    with open_project_git(find_project_repository(find_directory(request.target, request.cwd))) as git:
        is_committed = partial(_is_committed, git, request)
        places = (is_committed,) if request.revision is not None else (partial(_is_working, request), is_committed)
        target = parse_target(request.target, *places)
        file = find_file(target.file, request.cwd)
        file = follow_link(file) if request.revision is None else file
        source = _read_source(git, file, request.revision)
        numbers = _list_lines(file, target, len(source.lines))
        with open_edit_index(index_directory, repository, on_progress) as index:
            if index.conversations == 0:
                raise NotFound("the store has no conversation", hint=_IMPORT)
            index.is_foreign, index.top = EditPlaces(git).is_foreign, git.repository.top
            known = KnownLinks(repository, git, RecordedCommits(repository, find_worktree(request.cwd)))
            explainer = _Explainer(git, file, source, index, known, boundary=read_boundary(git.repository))
            lines = explainer.explain(numbers)
            answers = AnswerWriter(repository, index, request.candidates)
            items = tuple(answers.with_branches([answers.write(file.path, each) for each in lines]))
            shallow = note_boundary((each.commit.id for each in items if each.commit), explainer.boundary)
            missing = _note_claims(known, items) or _note_unknown(index, file, items, explainer.names)
            notes = (*index.notes, *source.notes, *shallow, *missing)
            return Why(items=items, file=file.path, whole=target.lines is None, notes=notes)


@dataclass(frozen=True, slots=True)
class _Source:
    """The lines of the file in question.

    places: the line numbers in the revision by those that were asked for; lines that it lacks are not committed
    """

    revision: str | None
    lines: Sequence[str]
    places: Mapping[int, int]
    committed_at: float = 0.0
    notes: tuple[Note, ...] = ()


def _is_working(request: WhyRequest, name: str) -> bool:
    return os.path.lexists(os.path.join(request.cwd, name))


def _is_committed(git: ProjectGit, request: WhyRequest, name: str) -> bool:
    """Return True if there is a file with a name in the revision in question."""
    try:
        path = find_file(name, request.cwd).path
    except ScopesError:
        return False
    commit = find_commit(git, request.revision or "HEAD")
    return commit is not None and git.find("cat-file", "-e", "--end-of-options", f"{commit}:{path}") is not None


def _read_source(git: ProjectGit, file: ProjectFile, revision: str | None) -> _Source:
    """Read the file in a revision, or in the working tree and in HEAD."""
    commit = find_commit(git, revision or "HEAD")
    if commit is None and revision is not None:
        raise NotFound(f"there is no commit {revision} in {_name(file)}", hint="see: git log --oneline")
    committed = None if commit is None else _read_blob(git, commit, file.path)
    working = _read_working(file) if revision is None else None
    if committed is None and working is None:
        where = f"in {revision}" if revision is not None else "in HEAD, nor in the working tree"
        raise NotFound(f"there is no file {file.path} {where}", hint="see: git ls-files, or give another --rev")
    if working is None:
        lines = split_lines(committed or b"")
        return _Source(commit, lines, {number: number for number in range(1, len(lines) + 1)})
    lines = split_lines(working)
    if committed is None or commit is None:
        note = Note(f"{file.path} is not in HEAD: its lines are not committed yet")
        return _Source(None, lines, {}, notes=(note,))
    last = ("log", "-1", "--no-show-signature", "--format=%ct", commit, "--", f":(literal){file.path}")
    time = git.find(*last)  # of the file: a later commit of other files does not commit its changes
    return _Source(commit, lines, map_lines(lines, split_lines(committed)), read_seconds(time or ""))


def _name(file: ProjectFile) -> str:
    return file.repository.top or file.repository.shared


def _read_blob(git: ProjectGit, commit: str, path: str) -> bytes | None:
    try:
        return git.run("cat-file", "blob", f"{commit}:{path}")
    except ProjectGitFailed:
        return None


def _read_working(file: ProjectFile) -> bytes | None:
    """Return the file in the working tree; None if there is none.

    Raises:
        Inaccessible: it cannot be read, is not a regular file or is too large.
    """
    if file.working is None:
        return None
    try:
        return read_regular(file.working, MAX_FILE)
    except FileNotFoundError:
        return None
    except (UnusableFile, OSError) as error:
        raise Inaccessible(
            f"cannot read {file.path}: {error}", hint="with --rev HEAD the committed file is read"
        ) from error


def _list_lines(file: ProjectFile, target: Target, count: int) -> list[int]:
    """Return the numbers of the lines in question, in order."""
    if count == 0:
        raise Invalid(f"the file {file.path} has no lines", hint="ask for a file with lines, or give another --rev")
    ranges = target.lines or ((1, count),)
    missing = max(first for first, _ in ranges)
    if missing > count:
        raise Invalid(
            f"{file.path} has {count:,} {plural(count, 'line')}, not {missing:,}", hint="give a line that it has"
        )
    return sorted({number for first, last in ranges for number in range(first, min(last, count) + 1)})


@dataclass(slots=True)
class _Explainer:
    """Finds commits and edits for the lines of one file; every commit is read and linked once."""

    git: ProjectGit
    file: ProjectFile
    source: _Source
    index: EditIndex
    known: KnownLinks
    _contexts: dict[CommitId, tuple[tuple[CodeLink, ...], CommitContext]] = field(default_factory=dict)
    _added: dict[tuple[CommitId, str], dict[int, str]] = field(default_factory=dict)
    _moved: Mapping[str, frozenset[str]] | None = None
    names: set[str] = field(default_factory=set)  # under which edits of the lines were looked for
    boundary: frozenset[CommitId] = frozenset()  # the first commits of a shallow clone

    def explain(self, numbers: Sequence[int]) -> list[FoundLines]:
        """Return what is known of lines, adjacent ones with the same answer together."""
        blamed = self._blame(numbers)
        commits = self._read_commits({place: each for place, each in blamed.items() if self._may_be_linked(each)})
        found: list[tuple[FoundLines, bool]] = []
        own = {number: text for number, text in enumerate(self.source.lines, 1) if number not in self.source.places}
        for number in numbers:
            each = blamed.get(number)
            if each is None:
                lines = self._explain_uncommitted(number, own)
            else:
                lines = self._explain_committed(number, each, commits.get(each.commit))
            found.append((lines, follows_others(self.source.lines[number - 1], lines.match)))
        return _group(found)

    def _blame(self, numbers: Sequence[int]) -> dict[int, BlamedLine]:
        """Return the origins of the committed lines, by the numbers that were asked for."""
        places = {number: place for number in numbers if (place := self.source.places.get(number))}
        if not places or self.source.revision is None:
            return {}
        try:
            count = max(self.source.places.values())
            span = max(1, min(places.values()) - AROUND), min(count, max(places.values()) + AROUND)
            blamed = {each.number: each for each in blame(self.git, self.source.revision, self.file.path, span)}
        except ProjectGitFailed as error:
            raise Inaccessible(f"git blame failed: {error}", hint="see: git fsck") from error
        return {number: blamed[place] for number, place in places.items()}

    def _read_commits(self, blamed: Mapping[int, BlamedLine]) -> dict[CommitId, ProjectCommit]:
        wanted = dict.fromkeys(each.commit for each in blamed.values())
        if not wanted:
            return {}
        try:
            self.known.read_facts(wanted)
            return read_project_commits(self.git, wanted, {each.path for each in blamed.values()})
        except ProjectGitFailed as error:
            raise Inaccessible(f"git log failed: {error}", hint="see: git fsck") from error

    def _explain_uncommitted(self, number: int, own: Mapping[int, str]) -> FoundLines:
        """Find the edits of a line since the last commit."""
        now = now_nanoseconds() / 1e9
        context = CommitContext(
            now, since=self.source.committed_at, moved=self._find_moved(now, own), top=self.index.top
        )
        match = match_line(self.index, self.file.path, hash_neighbours(own, number), context)
        return FoundLines(number, number, match, author_time=now)

    def _find_moved(self, now: float, own: Mapping[int, str]) -> Mapping[str, frozenset[str]]:
        """Return the names under which a file was edited that is not committed, if it was moved since."""
        if self._moved is None:
            path = self.file.path
            created = set() if self.source.places else {path}
            added = [AddedLine(path, number, text) for number, text in own.items()] if created else []
            file = ProjectCommit(CommitId(""), "", now, now, "", added, created=created)
            self._moved = names_by_path(find_moved(self.index, file, _UNCOMMITTED_SECONDS))
        return self._moved

    def _explain_committed(self, number: int, line: BlamedLine, commit: ProjectCommit | None) -> FoundLines:
        """Find the edits of a line that a commit added; of an old commit no lines are known."""
        if commit is None:
            commit = ProjectCommit(line.commit, line.author, line.author_time, line.author_time, line.subject)
        links, context = self._link(commit) if self._may_be_linked(line) else ((), CommitContext(commit.author_time))
        hashes = hash_neighbours(self._lines_of(commit, line.path), line.origin)
        match = match_line(self.index, line.path, hashes, context)
        if line.commit in self.boundary and match.level == "certain":
            match = LineMatch("likely", match.matches)
        self.names |= {*commit.names_of(line.path), *commit.moved.get(line.path, ())}
        time = format_seconds(int(commit.author_time))
        shown = WhyCommit(commit.id, commit.subject, commit.author, time, line.path, line.origin)
        return FoundLines(number, number, match, shown, commit.author_time, links)

    def _may_be_linked(self, line: BlamedLine) -> bool:
        """Return False for a commit before the first message: the beginnings of projects are large to read."""
        return max(line.author_time, line.commit_time) + AFTER_SECONDS >= self.index.begin

    def _link(self, commit: ProjectCommit) -> tuple[tuple[CodeLink, ...], CommitContext]:
        if commit.id in self.boundary:  # it has all older lines, whoever wrote them
            return (), CommitContext(commit.author_time, since=0.0)
        if commit.id not in self._contexts:
            links = link_commits(self.index, self.git, self.known, [commit])[commit.id]
            self._contexts[commit.id] = links, context_of(commit, links, self.index.top)
        return self._contexts[commit.id]

    def _lines_of(self, commit: ProjectCommit, path: str) -> Mapping[int, str]:
        key = commit.id, path
        if key not in self._added:
            self._added[key] = {line.number: line.text for line in commit.added if line.path == path}
        return self._added[key]


def _group(found: Sequence[tuple[FoundLines, bool]]) -> list[FoundLines]:
    """Join adjacent lines of one commit with the same answer; `found` has with each line whether it follows others.

    Such a line joins those above it, or those below it if it is of their turn alone, but no answer that is less sure
    than its own. Every other line joins only lines with the same level and turn.
    """
    groups: list[FoundLines] = []
    waiting: list[FoundLines] = []  # lines that follow others, below the last group that may be of the next one
    for lines, follows in found:
        above = waiting[-1] if waiting else groups[-1] if groups else None
        if above is None or not _are_adjacent(above, lines):
            _append_waiting(groups, waiting)
            groups.append(lines)
        elif follows:
            waiting.append(lines)
            if len(waiting) == 1 and _turn_of(lines) == _turn_of(groups[-1]):
                _append_waiting(groups, waiting)
        else:
            of_next = _count_last(waiting, lines) if _turn_of(lines) != _turn_of(groups[-1]) else 0
            first = waiting[-of_next] if of_next else lines
            _append_waiting(groups, waiting[: len(waiting) - of_next])
            waiting.clear()
            if _key(groups[-1]) == _key(lines):
                _extend(groups, lines)
            else:
                groups.append(replace(lines, line=first.line, commit=first.commit))
    _append_waiting(groups, waiting)
    return groups


def _append_waiting(groups: list[FoundLines], waiting: list[FoundLines]) -> None:
    """Join lines that follow others to the group above, but for those whose own answer is surer."""
    for lines in waiting:
        if _is_covered(lines, groups[-1]):
            _extend(groups, lines)
        else:
            groups.append(lines)
    waiting.clear()


def _extend(groups: list[FoundLines], lines: FoundLines) -> None:
    groups[-1] = replace(groups[-1], last_line=lines.last_line)


def _is_covered(lines: FoundLines, group: FoundLines) -> bool:
    """Return True if the answer of a group is at least as sure as that of lines, and no other turn alone has them."""
    owners = {(each.edit.conversation, each.edit.turn) for each in lines.match.matches if each.has_short}
    is_of_others = owners and _turn_of(group) not in owners
    return not is_of_others and WHY_LEVELS.index(group.match.level) <= WHY_LEVELS.index(lines.match.level)


def _are_adjacent(above: FoundLines, lines: FoundLines) -> bool:
    return above.last_line + 1 == lines.line and _commit_of(above) == _commit_of(lines)


def _count_last(waiting: Sequence[FoundLines], below: FoundLines) -> int:
    """Return how many of the last waiting lines are of the turn of the lines below them."""
    of_below = (_turn_of(each) == _turn_of(below) and _is_covered(each, below) for each in reversed(waiting))
    return next((n for n, is_of_below in enumerate(of_below) if not is_of_below), len(waiting))


def _commit_of(lines: FoundLines) -> str | None:
    return lines.commit and lines.commit.id


def _turn_of(lines: FoundLines) -> tuple[ConversationId | None, int | None]:
    best = lines.match.matches[0].edit if lines.match.matches else None
    return best and best.conversation, best and best.turn


def _key(lines: FoundLines) -> tuple[str, ConversationId | None, int | None]:
    return lines.match.level, *_turn_of(lines)


def _note_claims(known: KnownLinks, items: Sequence[WhyLines]) -> tuple[Note, ...]:
    """Return a note for each session that notes name about lines without an answer, and that the store lacks."""
    commits = dict.fromkeys(each.commit.id for each in items if each.commit is not None and not each.answers)
    claims = dict.fromkeys(claim._replace(lines=0) for commit in commits for claim in known.unknown_claims_of(commit))
    named = (f"{claim.program} names {describe_claim(claim)}, which is not in the store" for claim in claims)
    return tuple(Note(text, FETCH_HINT) for text in named)


def _note_unknown(
    index: EditIndex, file: ProjectFile, items: Sequence[WhyLines], names: Iterable[str]
) -> tuple[Note, ...]:
    """Return a note if no conversation has edited a file of this name: perhaps its session was not imported.

    names: those that the file had before
    """
    name = base_name_of(file.path)
    if any(each.answers for each in items) or any(map(index.knows_file, (name, *names))):
        return ()
    return (Note(f"no conversation in the store has edited a file called {name}", _IMPORT),)
