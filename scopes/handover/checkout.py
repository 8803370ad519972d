"""`resume --in`: write a conversation as a session of another agent, which goes on with it as with its own.

The session is registered as a source of the conversation: an import continues the conversation on a branch of its own
with what the agent adds. Nothing is run here but the import of an agent that has one.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from scopes.errors import Refused
from scopes.handover.agent_programs import session_words
from scopes.handover.llm import NAME as LLM
from scopes.handover.llm import add_thread, find_tip
from scopes.handover.opencode import import_with_program
from scopes.handover.registration import (
    DATABASE,
    FILE,
    KIND,
    Registered,
    WrittenSession,
    WrittenSource,
    added_messages,
    begins_with,
    choose_branch,
    digest_of_file,
    find_registered,
    prepared_session,
    read_segments,
    register,
)
from scopes.handover.resume import User, check_directory, shell_line
from scopes.handover.session import (
    HistoryOptions,
    NativeRecord,
    NativeSession,
    SessionHistory,
    Writer,
    dump,
    make_session,
)
from scopes.handover.writers import read_writer
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.names import find_directory
from scopes.history.transaction import Transaction
from scopes.hosts.agents import AGENTS, config_directory
from scopes.ids import BranchName, ConversationId, MessageId, OperationId
from scopes.importers.formats.base import Format
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.registry import FORMATS
from scopes.result import Note, Result, counted, plural
from scopes.secret_scan.clearance import Cleared, Gate, Mode
from scopes.secrets.gates import gate_of, redacted_notes
from scopes.store.operations import walk_operations
from scopes.store.repository import Prunes, Repository
from scopes.store.transactions import exclusive_write, unless_pruned
from scopes.tokens.count import TokenizerChoice

State: TypeAlias = Literal["written", "unchanged", "continued"]
_NO_FILE: AbstractContextManager[Callable[[], int]] = nullcontext(lambda: 0)
_WINDOW_PERCENT = 75  # the agent's own instructions and the answers need room, too


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutRequest:
    """What to write for which agent.

    directory: where the agent is to work, instead of where the conversation was.
    max_tokens: of the history; None: what the agent's usual models have room for.
    """

    where: str
    agent: str
    directory: str | None = None
    here: str = ""
    max_tokens: int | None = None
    full: bool = False
    reasoning: bool = False
    secrets: Mode = "refuse"


_STATES: Final[Mapping[str, str]] = {
    "written": "written",
    "unchanged": "there already",
    "continued": "there already, and the agent has gone on with it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOut(Result):
    """A session that was written for an agent.

    Attributes:
        branch: what was handed over.
        new_branch: where the messages of the agent go.
        state: `written`, `unchanged` if the session was there, `continued` if the agent has gone on with it.
        file: the session; None if the agent keeps it in a database.
        command: the words that go on with it. shell: the same as one line of a shell, with its directory.
        messages, tokens: the size of the history in it.
        total, left_out: how many messages the branch has, and how many are in the session shortened or not at all;
            before_compaction: those of them that are before the last compaction.
    """

    conversation: ConversationId
    branch: BranchName
    agent: str
    new_branch: BranchName
    state: State
    session_id: str
    file: str | None
    directory: str
    command: tuple[str, ...]
    shell: str
    messages: int
    tokens: int
    total: int
    left_out: int
    before_compaction: int
    operation: OperationId | None
    dry_run: bool = False

    @property
    def answer(self) -> str:
        """The command as one line of a shell; after a dry run also what would be written."""
        return f"{self.shell}\n{self._outcome}" if self.dry_run else self.shell

    @property
    def next_step(self) -> list[str]:
        """Where the session is, and where the messages of the agent go."""
        adds = f"what {self.agent} adds is imported as {self.conversation}/{self.new_branch}"
        return [adds] if self.dry_run else [self._outcome, adds]

    @property
    def _outcome(self) -> str:
        state = "would be written" if self.dry_run and self.state == "written" else _STATES.get(self.state, self.state)
        return f"{self.file or self.session_id}: {state} ({counted(self.messages, 'message')}, {self.tokens} tokens)"


@dataclass(frozen=True, slots=True)
class Plan:
    """A session that is ready to be written.

    owners: the messages of its records, by offset.
    prunes: what was purged since its messages were read.
    """

    branch: BranchHandle
    writer: Writer
    history: SessionHistory
    path: str
    content: Cleared
    owners: Mapping[int | str, MessageId]
    prunes: Prunes
    notes: tuple[Note, ...]

    @property
    def session(self) -> NativeSession:
        """The session."""
        return self.history.session


def plan_checkout(repository: Repository, request: CheckoutRequest, choice: TokenizerChoice, user: User) -> Plan:
    """Return the session for an agent, without writing anything.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved.
        Invalid: the agent is not known, or the newest messages have too many tokens.
        Refused: there is nothing to hand over, or the directory is gone or belongs to somebody else.
        SecretsFound: the session would have secrets, and they are refused.
    """
    writer = read_writer(request.agent)
    prunes = Prunes(repository.path)
    branch = StoreHandle(repository).branch(request.where)
    recorded = find_directory(repository, branch.conversation.id)
    found = check_directory(request.directory or recorded, given=request.directory is not None)
    limit = writer.window * _WINDOW_PERCENT // 100 if request.max_tokens is None else request.max_tokens
    options = HistoryOptions(
        directory=found or request.here, max_tokens=limit, full=request.full, reasoning=request.reasoning,
        model=writer.configured_model(config_directory(AGENTS[writer.name], user.environ, user.home)),
    )  # fmt: skip
    gate = gate_of(repository, request.secrets)
    history = make_session(branch, writer, options, gate, choice)
    records = writer.write(history.session)
    content, owners = _clear(writer, records, history.tip, gate)
    standard = _format_of(writer.name).standard_folders
    agent = AGENTS[writer.name] if standard is None else standard.agent
    path = writer.path_of(history.session, config_directory(agent, user.environ, user.home))
    notes = (*choice.notes, *_notes_of(history), *redacted_notes(gate.redacted))
    return Plan(branch, writer, history, path, content, owners, prunes, notes)


def checkout(plan: Plan, user: User, *, dry_run: bool = False) -> CheckedOut:
    """Write and register a session.

    Raises:
        Refused: the agent has a file there that scopes did not write, or its import fails.
        NotFound: the program with that import is not in PATH.
        Inaccessible: the file cannot be written.
        Busy: something was purged since this was planned: the session may have it.
    """
    branch, session, data = plan.branch, plan.session, plan.content.data
    chosen = _format_of(plan.writer.name)
    segments = read_segments(chosen, WrittenSource(plan.path, len(data), data), plan.owners)
    written = WrittenSession(chosen.name, session.id, plan.path, data, session.created)
    delivered = None if plan.writer.keeps_files else _deliver(plan, user, dry_run=dry_run)
    with exclusive_write(branch.repository):
        plan.prunes.require_none()
        registered = find_registered(branch, chosen.name, session.id)
        state, there = _compare(plan, registered) if delivered is None else (delivered, None)
        known, left_behind = _choose_known(plan, registered, state)
        name = choose_branch(branch, plan.writer.name) if known is None else known.branch
        operation = None
        if (state != "continued" or known is None) and not dry_run:
            transaction = register(branch, name, written, segments)
            has_file = plan.writer.keeps_files and state == "written"
            file = prepared_session(plan.path, plan.content, replaces=there is not None) if has_file else _NO_FILE
            with file as place:
                operation = _commit(plan, transaction)
                place()
    return _result(plan, name, state, operation, left_behind, dry_run=dry_run)


def _compare(plan: Plan, registered: Registered | None) -> tuple[State, str | None]:
    """Return what becomes of a file, and the digest of the one that is there.

    Raises:
        Refused: scopes did not write the file, or the agent has changed it since its registration was undone.
    """
    there, new = digest_of_file(plan.path), sha256(plan.content.data).hexdigest()
    if there == new:
        return "unchanged", there
    if there is None:
        return "written", None
    if registered is not None:
        is_ours = there == registered.digest and not registered.is_continued
        return ("written" if is_ours else "continued"), there
    if begins_with(plan.path, plan.content.data):
        return "continued", there  # the agent has gone on with it, and its registration was undone
    if _has_written(plan):
        text = f"{plan.path} is there, and the agent has changed it since its checkout was undone"
        raise Refused(text, hint=f"keep what it has: scopes import {shlex.quote(plan.path)}")
    raise Refused(f"{plan.path} is there, and scopes did not write it", hint="see what it is, and move it away")


def _has_written(plan: Plan) -> bool:
    """Return True if an earlier operation, maybe an undone one, wrote the file."""
    records = (record for _, record in walk_operations(plan.branch.repository) if record.kind == KIND)
    files = (record.details.get(FILE) for record in records)
    return any(isinstance(file, Mapping) and file.get("file") == plan.path for file in files)


def _choose_known(
    plan: Plan, registered: Registered | None, state: State
) -> tuple[Registered | None, tuple[Note, ...]]:
    """Return the registration that a session goes on with, and a note about messages that are not in it.

    The file of a session with which the agent had gone on may be gone: agents delete old ones. What it added stays on
    its branch, and a session that begins anew gets another one.
    """
    if registered is None or state == "continued":
        return registered, ()
    if not plan.writer.keeps_files or not registered.is_continued:
        return registered, ()
    added = added_messages(plan.branch, registered)
    if not added and not registered.is_imported:
        return registered, ()
    where = f"{plan.branch.conversation.id}/{registered.branch}"
    text = f"{plan.writer.name} had added {added} {plural(added, 'message')} on {where}: this session is without them"
    note = Note(text, f"to go on with them: scopes resume {shlex.quote(where)} --in {shlex.quote(plan.writer.name)}")
    return None, (note,) if added else ()


def _find_delivered(plan: Plan) -> State:
    """Return what the database of an agent has of a session; an import of OpenCode that is repeated changes nothing."""
    if plan.writer.name != LLM:
        return "written"
    path, _, thread = plan.path.rpartition(SEPARATOR)
    tip = find_tip(path, thread)
    if tip is None:
        return "written"
    return "unchanged" if f'"tip_message_hash":"{tip}"'.encode() in plan.content.data else "continued"


def _deliver(plan: Plan, user: User, *, dry_run: bool) -> State:
    """Put a session into the database of its agent, unless it is there; return what became of it.

    That is done before it is registered: if it fails, nothing is left, and repeated it changes nothing.
    """
    registered = find_registered(plan.branch, _format_of(plan.writer.name).name, plan.session.id)
    state = "continued" if registered is not None and registered.is_continued else _find_delivered(plan)
    if state != "written" or dry_run:
        return state
    if plan.writer.name == LLM:
        with unless_pruned(plan.branch.repository, plan.prunes):
            add_thread(plan.path.rpartition(SEPARATOR)[0], plan.content)
    else:
        plan.prunes.require_none()  # without the lock: the program may run a hook that writes to the store
        import_with_program(plan.content, plan.session.directory, user.environ)
    return state


def _commit(plan: Plan, transaction: Transaction) -> OperationId | None:
    if not transaction:
        return None
    if plan.writer.keeps_files:
        details = {FILE: {"file": plan.path, "sha256": sha256(plan.content.data).hexdigest()}}
    else:
        details = {DATABASE: {"agent": plan.writer.name, "session": plan.session.id}}
    summary = f"check out {plan.branch} to {plan.writer.name}"
    return transaction.commit(KIND, summary, details=details).id


def _result(
    plan: Plan,
    name: BranchName,
    state: State,
    operation: OperationId | None,
    left_behind: tuple[Note, ...],
    *,
    dry_run: bool,
) -> CheckedOut:
    words = session_words(plan.writer.name, plan.session.id)
    history = plan.history
    return CheckedOut(
        conversation=plan.branch.conversation.id,
        branch=plan.branch.name,
        agent=plan.writer.name,
        new_branch=name,
        state=state,
        session_id=plan.session.id,
        file=plan.path if plan.writer.keeps_files else None,
        directory=plan.session.directory,
        command=tuple(words),
        shell=shell_line(plan.session.directory, shlex.join(words)),
        messages=len({turn.message for turn in plan.session.turns if turn.message is not None}),
        tokens=history.tokens,
        total=history.total,
        left_out=history.left_out,
        before_compaction=history.compacted,
        operation=operation,
        dry_run=dry_run,
        notes=(*plan.notes, *left_behind),
    )


def _clear(
    writer: Writer, records: list[NativeRecord], tip: MessageId, gate: Gate
) -> tuple[Cleared, dict[int | str, MessageId]]:
    """Return the records as JSON lines that may leave, and the message of each by its offset.

    The last one is of the tip, whatever the session cannot hold of it. A record of no message is of the one before it.
    """
    owners: dict[int | str, MessageId] = {}
    lines: list[bytes] = []
    position = 0
    owner = next((record.message for record in records if record.message is not None), tip)
    last = max((n for n, record in enumerate(records) if record.message is not None), default=-1)
    final = records[last].message
    for record in records:
        owner = record.message or owner
        line = dump(record.value).encode() + b"\n"
        place = f"message {owner[:8]}"
        if gate.mode == "redact":
            line = gate.clear_line(line, place)
        else:
            gate.inspect(line, place)
        owners[record.native_id or position] = tip if record.message == final else owner
        lines.append(line)
        position += len(line)
    data = writer.assemble(lines)
    return (gate.clear(data, "the session") if gate.mode == "redact" else gate.clear_inspected(data)), owners


def _format_of(name: str) -> Format:
    return next(each for each in FORMATS if each.name == name)


def _notes_of(history: SessionHistory) -> tuple[Note, ...]:
    """Return notes about what the session holds in another form, and about what it does not hold."""
    notes = []
    if history.flattened:
        notes.append(Note(f"as text: {_counted(history.flattened)}"))
    if history.dropped:
        notes.append(Note(f"left out: {_counted(history.dropped)}"))
    beyond, of = history.left_out - history.compacted, f"of {history.total} {plural(history.total, 'message')}"
    if history.compacted:
        notes.append(Note(f"{history.compacted} {of} are before the last compaction, and left out"))
    if beyond:
        notes.append(Note(f"{beyond} {of} are beyond the tokens, and shortened"))
    return tuple(notes)


def _counted(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(found.items()))
