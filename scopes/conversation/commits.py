"""Commits of the project and the conversations that they are from.

`show --commits` lists the commits of a conversation, `log --commit REV` shows the turns that a commit is from, and
`diff --commit REV` compares its lines with the edits of the conversations. The links are found in `scopes.code_links`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final, NamedTuple

from scopes.clock import parse_time
from scopes.code_links.commit_facts import CommitFacts, resolve_commit
from scopes.code_links.commit_lines import lines_by_path
from scopes.code_links.commit_record import CommitRecord, is_commit_id
from scopes.code_links.edit_index import EditIndex
from scopes.code_links.edit_times import times_of
from scopes.code_links.line_hash import hash_line, hash_short
from scopes.code_links.link import CodeLink, CommitId, LinkRole
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, conversations_of, open_linker
from scopes.code_links.linked_turns import TurnFinder, with_own_turn
from scopes.code_links.project_commits import AddedLine, all_commits
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.code_links.recorded_links import RecordedCommits
from scopes.code_links.turns import TurnMessage, branches_of_messages, list_turn_messages, messages_of_turn
from scopes.conversation.log import CommitTurn, Log, LogEntry, TurnLink
from scopes.errors import Inaccessible, NotFound
from scopes.history.messages import header_of, is_root, read_body
from scopes.history.names import list_branch_tips, resolve_conversation
from scopes.history.sessions import spawner_of
from scopes.hosts.agents import import_hint
from scopes.ids import ConversationId, MessageId
from scopes.result import Column, Note, Result, Rows, plural, short_id
from scopes.store.graph import walk_newest_first
from scopes.store.projects import find_worktree
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRequest:
    """Which commit is asked for.

    revision: the commit, as git names it, in the project around `directory`
    index_directory: where the index of edits is
    conversation: only links with this conversation count; None for all
    on_progress: gets the conversations that are read into the index
    """

    revision: str
    directory: str
    index_directory: str
    conversation: str | None = None
    on_progress: Progress = lambda _done, _all: None


@contextmanager
def open_revision(
    repository: Repository, request: RevisionRequest
) -> Iterator[tuple[CommitLinker, LinkedCommit, tuple[CodeLink, ...]]]:
    """Find a commit of the project and its links that are more than candidates, the surest first.

    The project and the index are open until the block ends.

    Raises:
        NotFound: there is no such commit or conversation, or no conversation is linked to the commit.
        Inaccessible: git is not installed, or cannot read the project.
    """
    wanted = None if request.conversation is None else resolve_conversation(repository, request.conversation)
    with open_linker(repository, request.index_directory, request.directory, request.on_progress) as linker:
        commit = resolve_commit(linker.git, request.revision)
        linked = next(linker.link([commit]), None)
        if linked is None:
            raise Inaccessible(f"the commit {commit[:8]} cannot be read", hint="see: git fsck")
        yield linker, linked, _require_links(linked, wanted)


def _require_links(linked: LinkedCommit, wanted: ConversationId | None) -> tuple[CodeLink, ...]:
    """Return the links of a commit that are more than candidates; only those with a conversation if it is given.

    Raises:
        NotFound: there is none; the error says what is known instead.
    """
    links = best_links(linked.links)
    if wanted is not None:
        links = tuple(link for link in links if link.conversation == wanted)
    if links:
        return links
    name = _name_commit(linked.facts)
    if linked.unknown:
        record = linked.unknown[0]
        session = f"the session {record.session} of {record.tool}, which is not in the store"
        if record.session is None:
            session = f"a session of {record.tool}, which does not tell its commands which one it is"
        raise NotFound(f"{name} was made by {session}", hint=import_hint(record.tool or ""))
    other = conversations_of(link for link in linked.links if wanted is None or link.conversation != wanted)
    if wanted is not None and other:
        raise NotFound(f"{wanted} is not linked to {name}", hint=f"perhaps: {', '.join(other[:5])}")
    hint = f"perhaps: {', '.join(other[:5])}" if other else "if an agent wrote it, import its session: scopes import"
    raise NotFound(f"no session is known to have written {name}", hint=hint)


def _note_likely(links: Sequence[CodeLink]) -> tuple[Note, ...]:
    """Return a note for each conversation whose links with a commit are likely only, with the evidence."""
    best = {link.conversation: link for link in reversed(links)}  # the surest one comes first
    unsure = [best[name] for name in conversations_of(links) if best[name].level != "certain"]
    return tuple(
        Note(
            f"the link of the commit with {link.conversation} is only {link.level}: "
            + "; ".join(evidence.text for evidence in link.evidence)
        )
        for link in unsure
    )


def _name_commit(facts: CommitFacts) -> str:
    """Return a commit as errors and notes name it."""
    return f"commit {facts.commit[:8]} {facts.subject!a}"


MAX_COMMITS: Final = 5_000  # of the project, the newest since the conversation began
_BEFORE_SECONDS: Final = 3600


_TURN: Final = ("commit", "authored", "role", "level", "turn", "message", "evidence", "subject", "state")


def _in_turns(link: CodeLink) -> str:
    numbers = [str(each.number) for each in link.turns] or ([] if link.turn is None else [str(link.turn)])
    return f" in {plural(len(numbers), 'turn')} {', '.join(numbers)}" if numbers else ""


def _evidence(link: CodeLink) -> str:
    return "; ".join(each.text for each in link.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """A commit of the project and what links it to the conversation, the surest link first.

    authored: when it was first made, RFC 3339; None if that is not known
    is_gone: it was recorded in the project around the current directory, and no branch or tag of that has it
    replaced_by: the commit as which git made it again, by amending or rebasing it, if it is gone since
    """

    commit: CommitId
    subject: str
    authored: str | None
    links: tuple[CodeLink, ...]
    is_gone: bool = False
    replaced_by: CommitId | None = None

    @property
    def state(self) -> str:
        """Whether the project still has it."""
        if self.replaced_by is not None:
            return f"replaced by {self.replaced_by}"
        return "gone" if self.is_gone else "current"

    @property
    def short_state(self) -> str:
        """The same with the beginning of a commit."""
        return self.state if self.replaced_by is None else f"replaced by {short_id(self.replaced_by)}"

    @property
    def how(self) -> str:
        """What links it to the conversation, as a person reads it."""
        return "; ".join(f"{link.level} {link.role}{_in_turns(link)}: {_evidence(link)}" for link in self.links)

    @property
    def turns(self) -> Iterator[dict[str, object]]:
        """A row for each turn of each link, or for a link whose turn is not known; each has the whole evidence."""
        for link in self.links:
            known: list[tuple[int | None, str | None]] = [(each.number, each.message) for each in link.turns]
            for turn, message in known or [(link.turn, link.message)]:
                yield {
                    "commit": self.commit,
                    "authored": self.authored or "",
                    "role": link.role,
                    "level": link.level,
                    "turn": turn,
                    "message": message,
                    "evidence": _evidence(link),
                    "subject": self.subject,
                    "state": self.state,
                }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCommits(Result):
    """The commits of a conversation, oldest first."""

    rows_in = "commits"
    columns = (
        Column("commit", form="id", on="terminal"),
        Column("subject", on="terminal"),
        Column("authored", form="time", on="terminal"),
        Column("short_state", "State", "state", on="terminal"),
        Column("how", form="below", on="terminal"),
    )
    further = (Rows("turns", tuple(Column(name, on="pipe") for name in _TURN)),)
    empty = "No commit of this project is linked to the conversation."

    conversation: ConversationId
    commits: tuple[CommitRow, ...]

    @property
    def turns(self) -> list[dict[str, object]]:
        """A row for each turn of each link of each commit."""
        return [row for commit in self.commits for row in commit.turns]


def show_commits(
    repository: Repository,
    conversation: str,
    *,
    directory: str,
    index_directory: str,
    on_progress: Progress = lambda _done, _all: None,
) -> ConversationCommits:
    """Return the commits that a conversation made or wrote lines of, with the evidence; candidates are left out.

    Outside of a git repository these are the commits that were recorded when they were made.

    Raises:
        NotFound, Ambiguous: the conversation cannot be resolved.
        Inaccessible: git is not installed, or cannot read the project.
    """
    name = resolve_conversation(repository, conversation)
    try:
        with open_linker(repository, index_directory, directory, on_progress) as linker:
            return _search(repository, name, linker)
    except NotFound:
        recorded = RecordedCommits(repository)
        rows = tuple(_recorded_rows(recorded, name, recorded.commits_of(name).values()))
        note = Note(
            f"{directory} is not in a git repository: only recorded commits are shown", "see also: scopes -C DIR"
        )
        return ConversationCommits(conversation=name, commits=rows, notes=(note, *recorded.notes))


def _search(repository: Repository, name: ConversationId, linker: CommitLinker) -> ConversationCommits:
    recorded = linker.known.recorded.commits_of(name)
    limits = f"--max-count={MAX_COMMITS + 1}", f"--since={_first_time(repository, name)}"
    commits = _rev_list(linker.git, "--date-order", *limits, *all_commits())
    is_cut, commits = len(commits) > MAX_COMMITS, commits[:MAX_COMMITS]
    turns = TurnFinder(repository, linker.index)
    found = {
        each.facts.commit: CommitRow(
            commit=each.facts.commit, subject=each.facts.subject, authored=each.facts.authored, links=links
        )
        for each in linker.link(dict.fromkeys((*recorded, *commits)))
        if (links := turns.links_of(each, name))
    }
    missing = [record for commit, record in recorded.items() if commit not in found]
    of_others = _find_elsewhere(linker.git, missing, {recorded[each].root for each in found if each in recorded})
    missing = [record for record in missing if record not in of_others]
    made = "".join(f"{commit}\n" for commit in recorded if commit in found)
    unreachable = _rev_list(linker.git, "--stdin", "--not", *all_commits(), stdin=made.encode()) if made else []
    gone = found.keys() & recorded.keys() & set(unreachable)  # until git deletes them
    rows = [replace(row, is_gone=row.commit in gone) for row in found.values()]
    rows += _recorded_rows(linker.known.recorded, name, missing)
    replaced = linker.known.recorded.replacements_of(row.commit for row in rows)
    rows = [replace(row, replaced_by=replaced.get(row.commit)) if row.is_gone else row for row in rows]
    notes: tuple[Note, ...] = (Note(f"only the newest {MAX_COMMITS:,} commits were searched"),) if is_cut else ()
    if of_others:
        text = f"{len(of_others):,} {plural(len(of_others), 'commit')} of other repositories left out"
        notes += (Note(text, f"show them: scopes -C {quote(of_others[-1].root)} show {quote(name)} --commits"),)
    places = {commit: place for place, commit in enumerate(reversed(commits))}  # parents have lower ones
    ordered = tuple(sorted(rows, key=lambda row: (row.authored or "", places.get(row.commit, 0), row.commit)))
    return ConversationCommits(conversation=name, commits=ordered, notes=(*linker.notes, *notes))


def _rev_list(git: ProjectGit, *words: str, stdin: bytes = b"") -> list[CommitId]:
    """Return the commits of the project that `git rev-list` lists; none if it fails."""
    with suppress(ProjectGitFailed):
        lines = git.run("rev-list", *words, stdin=stdin).decode("ascii", "replace").split()
        return [CommitId(line) for line in lines if is_commit_id(line)]
    return []


def _find_elsewhere(git: ProjectGit, records: Iterable[CommitRecord], roots: Collection[str]) -> list[CommitRecord]:
    """Return the records of commits that were made in other repositories and never were in this one.

    A working tree that is no longer there was one of this project if other commits of it are here: `roots`.
    """
    places: dict[str, str | None] = {}
    for root in {record.root for record in records if record.root}:
        found = find_worktree(root) if os.path.isdir(root) else None
        places[root] = None if found is None else found.shared
    return [
        record
        for record in records
        if record.root
        and places[record.root] != git.repository.shared
        and (places[record.root] is not None or record.root not in roots)
    ]


def _first_time(repository: Repository, name: ConversationId) -> int:
    """Return when a conversation began, in seconds, with an hour to spare."""
    commits = walk_newest_first(repository, list_branch_tips(repository, name).values())
    times = (header_of(commit).time for commit in commits if not is_root(commit))
    return max(0, min((time for time in times if time), default=0) - _BEFORE_SECONDS)


def _recorded_rows(
    recorded: RecordedCommits, name: ConversationId, records: Iterable[CommitRecord]
) -> Iterator[CommitRow]:
    """Yield recorded commits that the project does not have: those of another project, or rewritten since."""
    for record in records:
        links = recorded.links_of_commit(record.commit).links
        own = tuple(with_own_turn(link) for link in best_links(links) if link.conversation == name)
        if own:
            yield CommitRow(commit=record.commit, subject=record.subject, authored=record.at, links=own, is_gone=True)


class CommitTurns(NamedTuple):
    """The messages of the turns in one conversation that a commit is from, with the links of their turns."""

    conversation: ConversationId
    messages: Mapping[MessageId, CommitTurn]
    notes: tuple[Note, ...] = ()


def find_commit_turns(repository: Repository, request: RevisionRequest) -> CommitTurns:
    """Return the turn that made a commit and those that wrote lines of it, in the conversation with the surest link.

    Raises:
        NotFound: there is no such commit or conversation, no conversation is linked to the commit, or its turn is not
            recorded yet.
        Inaccessible: git is not installed, or cannot read the project.
    """
    with open_revision(repository, request) as (linker, commit, found):
        first, *others = conversations_of(found)
        own = TurnFinder(repository, linker.index).links_of(commit, first)
        messages = list_turn_messages(repository, list_branch_tips(repository, first).values())
        turns = dict.fromkeys(turn.message for link in own for turn in link.turns)
        if not turns:
            raise NotFound(
                f"{_name_commit(commit.facts)} was made by {first}, in a turn that is not recorded yet",
                hint="import the session when the turn has ended: scopes import",
            )
        links: dict[MessageId, list[TurnLink]] = {}  # turns of two branches may have one number
        for link in own:
            for turn in link.turns:
                for message in messages_of_turn(messages, turn.message):
                    links.setdefault(message, []).append(TurnLink(link.role, link.level, turn.number))
        wanted = [name for message in turns for name in _messages_about(repository, messages, message)]
        branches = branches_of_messages(repository, first, wanted)
        described = {
            name: CommitTurn(
                first,
                branches.get(name),
                commit.facts.commit,
                tuple(dict.fromkeys(links.get(name, ()))),
                tuple(others),
            )
            for name in wanted
        }
        about = _note_turns(commit.facts, first, own)
        likely = _note_likely([link for link in found if link.conversation == first])
        notes = (*linker.notes, about, *likely)
        if others:
            hint = f"show it: scopes log {quote(others[0])} --commit {quote(request.revision)}"
            notes += (Note(f"also linked to the commit: {', '.join(others)}", hint),)
        return CommitTurns(first, described, notes)


def with_commit_turns(log: Log, found: Mapping[MessageId, CommitTurn]) -> Log:
    """Return a log whose entries say how their turns are linked with a commit."""
    entries = (
        replace(item, commit_turn=found.get(item.head.id)) if isinstance(item, LogEntry) else item for item in log.items
    )
    return replace(log, items=entries)


def _messages_about(repository: Repository, messages: Sequence[TurnMessage], message: MessageId) -> Iterator[MessageId]:
    """Yield the messages of the turn that a message is in, and of the one in which its sub-agent was started."""
    heads = {each.head.id: each.head for each in messages}
    seen: set[MessageId] = set()
    wanted: MessageId | None = message
    while wanted in heads and wanted not in seen:
        turn = messages_of_turn(messages, wanted)
        seen.update(turn)
        yield from turn
        spawner = spawner_of(read_body(repository, heads[turn[0]]))
        wanted = None if spawner is None else MessageId(spawner)


def _note_turns(facts: CommitFacts, conversation: ConversationId, links: Sequence[CodeLink]) -> Note:
    """Return a note that says which of the turns made a commit, and which wrote lines of it."""
    roles: Mapping[LinkRole, str] = {"made": "made in", "wrote": "lines written in"}
    found = []
    for role, words in roles.items():
        if turns := sorted({turn.number for link in links if link.role == role for turn in link.turns}):
            found.append(f"{words} {plural(len(turns), 'turn')} {', '.join(map(str, turns))}")
    text = f"{_name_commit(facts)}: {'; '.join(found) or 'no turn is known'}"
    return Note(text, f"the evidence: scopes show {quote(conversation)} --commits")


class OtherLine(NamedTuple):
    """A line of a commit that no edit accounts for; `number` is its place in the file."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccount:
    """The lines that a commit added to a file.

    added: all of them
    edited: those that an edit of the conversations has
    short: those that are too short to tell where they are from; some edit of the file has those with a letter or digit
    others: the rest
    """

    path: str
    added: int
    edited: int
    short: int
    others: tuple[OtherLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAccount(Result):
    """A commit and the lines in it, by file."""

    commit: CommitId
    subject: str
    conversations: tuple[ConversationId, ...]
    files: tuple[FileAccount, ...]

    @property
    def exit_code(self) -> int:
        """0 if the edits account for every line, otherwise 1."""
        return int(any(file.others for file in self.files))


def diff_commit(repository: Repository, request: RevisionRequest) -> CommitAccount:
    """Compare the lines that a commit added with those that the edits of its conversations added.

    Raises:
        NotFound: there is no such commit or conversation, or no conversation is linked to the commit.
        Inaccessible: git is not installed, or cannot read the project.
    """
    with open_revision(repository, request) as (linker, linked, links):
        names = conversations_of(links)
        return CommitAccount(
            commit=linked.facts.commit,
            subject=linked.facts.subject,
            conversations=names,
            files=tuple(
                _account(linker.index, linked, path, lines, names)
                for path, lines in lines_by_path(linked.added).items()
            ),
            notes=(*linker.notes, *_note_likely(links)),
        )


def _account(
    index: EditIndex, linked: LinkedCommit, path: str, lines: list[AddedLine], names: tuple[ConversationId, ...]
) -> FileAccount:
    hashes = {line.number: hash_line(line.text) for line in lines}
    shorts = {line.number: hash_short(line.text) for line in lines}
    authored = parse_time(linked.facts.authored or "") or 0
    wanted = [value for value in (*hashes.values(), *shorts.values()) if value is not None]
    added = linked.added
    base_names = () if added is None else (*added.names_of(path), *added.moved.get(path, ()))
    edits = times_of(authored / 10**9, linked.links).find_edits(index, wanted, *base_names)
    known = {value for value, found in edits.items() if any(edit.conversation in names for edit in found)}
    known_shorts = {
        value for found in edits.values() for edit in found if edit.conversation in names for value in edit.shorts
    }
    others = tuple(
        OtherLine(line.number, line.text)
        for line in lines
        if hashes[line.number] not in {None, *known} or shorts[line.number] not in {None, *known_shorts}
    )
    listed = {each.number for each in others}
    short = sum(value is None for number, value in hashes.items() if number not in listed)
    return FileAccount(path=path, added=len(lines), edited=len(lines) - short - len(others), short=short, others=others)
