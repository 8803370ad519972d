"""`resume`: go on with a conversation in an agent, in its own session if that has everything, else in a new one.

A new session begins with a prompt that holds the recorded history, fenced as data. What is run is decided here and is
not run here: the result has the words of the command, and its directory.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple

from scopes.context.history_block import DEFAULT_MESSAGES, MEMORY, HistoryBlock, HistoryRequest, history
from scopes.errors import CannotImport, Corrupt, Invalid, NotFound, Refused, ScopesError
from scopes.handover.agent_programs import PROGRAMS, AgentProgram, find_agent_program, read_agent_program
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import read_body, read_root_of
from scopes.history.names import MAIN, Revision, find_directory, find_root_commit, resolve_latest
from scopes.history.sessions import find_successor, note_notes_branch
from scopes.history.sources import SOURCES, TRACKING, SourceRecord, find_source_record, source_key, with_last_path
from scopes.hosts.agents import find_program
from scopes.ids import BranchName, ConversationId, Oid
from scopes.importers.archive import StoredCopy
from scopes.importers.discovery import find_standard_folders
from scopes.importers.formats.base import read_session
from scopes.importers.formats.registry import DATABASES, FORMATS
from scopes.model.canonical_json import encode_component
from scopes.model.conversation import ACP, Root
from scopes.result import Note, Result, counted
from scopes.secret_scan.shown import without_secrets
from scopes.secrets.gates import clear_notes
from scopes.store.graph import walk_first_parents
from scopes.store.objects import read_commit
from scopes.store.repository import Repository
from scopes.tokens.count import TokenizerChoice

MAX_TOKENS = 20_000
_CONTROL = re.compile(r"[\x01-\x1f\x7f]")
_MAX_PROMPT_BYTES = 120_000  # Linux takes an argument of 128 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
    """What to go on with, and how.

    where: a conversation or branch; None for the newest of the project.
    agent: the name of another agent. new: begin a new session, even if its own is there.
    prompt: what to ask at once. directory: where to run the agent, instead of where the conversation was.
    """

    where: str | None = None
    agent: str | None = None
    new: bool = False
    prompt: str = ""
    directory: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption(Result):
    """How to go on with a conversation.

    Attributes:
        session: `own` or `new`.
        session_id: the id of the session that is opened; None for a new one.
        reason: why a new session is needed; None for the agent's own.
        directory: where to run the command; None if it is not recorded.
        command: the words of the command. Of a new session the last word is the prompt with the history.
        shell: the same as one line of a shell; the history is written by `scopes context` there.
        messages, tokens: the size of the history in the prompt; 0 for the agent's own session.
        total, left_out: how many messages there are, and how many of them are not in the prompt.
    """

    conversation: ConversationId
    branch: BranchName
    agent: str
    session: str
    session_id: str | None
    reason: str | None
    directory: str | None
    command: tuple[str, ...]
    shell: str
    messages: int = 0
    tokens: int = 0
    total: int = 0
    left_out: int = 0

    @property
    def answer(self) -> str:
        """The command as one line of a shell."""
        return self.shell

    @property
    def next_step(self) -> list[str]:
        """Why a new session is needed, and how to have one with all tool calls."""
        if self.session != "new":
            return []
        size = f"{counted(self.messages, 'message')}, {self.tokens} tokens"
        where, agent = shlex.quote(f"{self.conversation}/{self.branch}"), shlex.quote(self.agent)
        return [
            f"a new session with {size} of history: {self.reason}",
            f"with all tool calls, as a session of its own: scopes resume {where} --in {agent} --print",
        ]


@dataclass(frozen=True, slots=True)
class User:
    """The environment of the user: where agents keep their sessions, and which options select the store."""

    environ: Mapping[str, str]
    home: str
    store_options: tuple[str, ...] = ()


def resume(repository: Repository, request: ResumeRequest, choice: TokenizerChoice, user: User) -> Resumption:
    """Decide how to go on with a conversation.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved; or the project has none, and none is named.
        Invalid: the agent is not valid, or the history is larger than an argument can be.
        Refused: the agent is not known, or the directory is gone or belongs to somebody else.
    """
    request = replace(request, prompt=request.prompt.strip("\n"))
    wanted = None if request.agent is None else read_agent_program(request.agent)
    named = StoreHandle(repository).branch(request.where or resolve_latest(repository, anywhere=False))
    branch, notes = _follow_session(named, request.where or "")
    with naming(branch):
        found = _plan(branch, request, choice, user, wanted)
    return replace(found, notes=(*notes, *found.notes)) if notes else found


def _follow_session(branch: BranchHandle, where: str) -> tuple[BranchHandle, tuple[Note, ...]]:
    """Return the branch on which the session of the active branch goes on, if that was moved and none is named."""
    successor = None if "/" in where else find_successor(branch)
    if successor is None:
        return branch, ()
    text = f"{branch} was moved here: its session goes on from {successor}"
    hint = f"to go on from there all the same: {shlex.join(['scopes', 'resume', str(branch)])}"
    return branch.conversation.branch(successor), (Note(text, hint),)


@contextmanager
def naming(conversation: object) -> Iterator[None]:
    """Name the conversation in errors: it may be one that the user has not named."""
    try:
        yield
    except ScopesError as error:
        error.message = f"cannot resume {without_secrets(str(conversation))}: {error.message}"
        error.args = (error.message,)
        raise


def _plan(
    branch: BranchHandle, request: ResumeRequest, choice: TokenizerChoice, user: User, wanted: AgentProgram | None
) -> Resumption:
    """Decide between the agent's own session and a new one; raises as `resume`."""
    repository, conversation = branch.repository, branch.conversation.id
    root_commit = find_root_commit(repository, conversation)
    if root_commit is None:
        raise NotFound("its root is damaged", hint="see: scopes verify")
    root = read_root_of(repository, read_commit(repository, root_commit), branch.tip)
    session = find_session(branch, root, root_commit)
    agent = wanted or (session.agent if session is not None else find_agent_program(root.format))
    if agent is None:
        hint = _name_agent(shlex.quote(request.where or conversation), user.environ.get("PATH"))
        raise Refused("it was not recorded from an agent that can be started", hint=hint)
    recorded = (None if session is None else session.directory) or find_directory(repository, conversation)
    directory = check_directory(request.directory or recorded, given=request.directory is not None)
    is_elsewhere = directory is not None and recorded is not None and not _is_same(directory, recorded)
    reason = _why_new(branch, session, agent, request, user, is_elsewhere=is_elsewhere)
    own = None if session is None or reason is not None else agent.resume_words(session.id)
    if session is not None and own is not None:
        words = [*own, *agent.prompt_words(request.prompt)]
        return Resumption(
            conversation=conversation, branch=branch.name, agent=agent.name, session="own", session_id=session.id,
            reason=None, directory=directory, command=tuple(words),
            shell=shell_line(directory, " ".join(map(quote_word, words))),
            notes=tuple(note_notes_branch(repository, Revision(conversation, branch.name, branch.tip))),
        )  # fmt: skip
    return _begin_new(branch, agent, request, choice, (directory, reason or "its id is not valid", user))


def _name_agent(where: str, path: str | None) -> str:
    """Return how to name an agent that is installed, or which ones could be."""
    installed = (each.name for each in PROGRAMS.values() if find_program(each.program, path) is not None)
    found = next(installed, None)
    if found is None:
        return f"no agent that can be started is in PATH: install one of {', '.join(PROGRAMS)}"
    return f"name one: scopes resume {where} --in {shlex.quote(found)}"


def _why_new(
    branch: BranchHandle,
    session: AgentSession | None,
    agent: AgentProgram,
    request: ResumeRequest,
    user: User,
    *,
    is_elsewhere: bool,
) -> str | None:
    """Return why the agent's own session is not opened; None if it is.

    is_elsewhere: the agent is to run in another directory than the session began in.
    """
    if session is None:
        reason: str | None = f"{without_secrets(branch.name)} is not the record of a session"
    elif session.agent != agent:
        reason = f"the session belongs to {session.agent.name}"
    elif session.agent.resume_words(session.id) is None:
        reason = "the id of the session is not valid"
    elif not is_kept(session, user.environ, user.home):
        reason = f"{agent.name} no longer has the session"
    elif is_elsewhere and agent.by_directory:
        reason = f"{agent.name} finds the session in its own directory only"
    elif session.tip != branch.tip:
        reason = f"the session of {agent.name} does not end where {without_secrets(branch.name)} ends"
    else:
        reason = "--new was given" if request.new else None
    return reason


def _begin_new(
    branch: BranchHandle,
    agent: AgentProgram,
    request: ResumeRequest,
    choice: TokenizerChoice,
    rest: tuple[str | None, str, User],
) -> Resumption:
    """Return how to begin a new session, with the history in its first prompt."""
    directory, reason, user = rest
    wanted = HistoryRequest(where=str(branch), max_tokens=MAX_TOKENS, memory=MEMORY[0])
    block: HistoryBlock = history(branch.repository, wanted, choice)
    prompt = (block.text + request.prompt).rstrip("\n")  # as $(...) of a shell ends
    if len(prompt.encode("utf-8", "replace")) > _MAX_PROMPT_BYTES:
        raise Invalid(
            f"the history has more than {_MAX_PROMPT_BYTES} bytes, too many for an argument",
            hint=f"write it as a session: --in AGENT, or give less of it: scopes context {shlex.quote(str(branch))} "
            f"--for-prompt --max-tokens {MAX_TOKENS // 2}",
        )
    words = [agent.program, *agent.prompt_words(prompt)]
    return Resumption(
        conversation=branch.conversation.id, branch=branch.name, agent=agent.name, session="new", session_id=None,
        reason=reason, directory=directory, command=tuple(words),
        shell=shell_line(directory, _write_new(branch, agent, request, user)),
        messages=block.messages, tokens=block.tokens, total=block.total, left_out=block.left_out,
        notes=clear_notes(branch.repository, block.notes, "redact"),
    )  # fmt: skip


def _write_new(branch: BranchHandle, agent: AgentProgram, request: ResumeRequest, user: User) -> str:
    """Return the command of a new session as a shell reads it; `scopes context` writes the history into it."""
    size = ["-n", str(DEFAULT_MESSAGES), "--max-tokens", str(MAX_TOKENS)]
    words = ["context", str(branch), "--for-prompt", "--memory", MEMORY[0], "--secrets", "redact", *size]
    command = shlex.join(["scopes", *user.store_options, *words])
    asked = _print_escaped(f"\n{request.prompt}") if request.prompt else ""
    *options, last = agent.prompt_words("\0")
    before, _, _ = last.partition("\0")
    return f'{shlex.join([agent.program, *options])} {before}"$({command}){asked}"'


def quote_word(word: str) -> str:
    """Return a word as a shell reads it, on one line: what is printed has a line for each command."""
    return f'"{_print_escaped(word)}"' if _CONTROL.search(word) else shlex.quote(word)


def _print_escaped(text: str) -> str:
    """Return a command substitution, for double quotes, of any shell: line breaks are escapes in it."""
    escaped = text.replace("\\", r"\\").replace("\n", r"\n").replace("\t", r"\t")
    escaped = _CONTROL.sub(lambda found: rf"\0{ord(found[0]):03o}", escaped).replace("!", r"\0041")  # of bash's history
    return f"$(printf %b {shlex.quote(escaped)})"


def shell_line(directory: str | None, command: str) -> str:
    """Return a command as a line of a shell that runs it in a directory."""
    return command if directory is None else f"cd {shlex.quote(directory)} && {command}"


def _is_same(directory: str, other: str) -> bool:
    return os.path.realpath(directory) == os.path.realpath(other)


def check_directory(directory: str | None, *, given: bool) -> str | None:
    """Return the directory for an agent, which reads settings there that may name programs.

    Raises:
        Refused: it is gone, or another user could have written these settings.
    """
    if directory is None:
        return None
    hint = "run the agent elsewhere: --directory DIR"
    if given:
        directory = os.path.abspath(directory)
    elif not directory.isprintable() or not os.path.isabs(directory):
        return None
    try:
        found = os.stat(directory)
    except (OSError, ValueError):
        state = "does not exist" if given else "no longer exists"
        raise Refused(f"the directory {without_secrets(directory)} {state}", hint=hint) from None
    if not stat.S_ISDIR(found.st_mode):
        raise Refused(f"{without_secrets(directory)} is not a directory", hint=hint)
    if not given and found.st_uid not in {os.getuid(), 0}:
        raise Refused(
            f"the directory {without_secrets(directory)} belongs to another user",
            hint="if you trust it: --directory DIR",
        )
    return directory


class AgentSession(NamedTuple):
    """A session of an agent.

    file: its transcript when it was imported last, empty if not on this machine; None if `scopes acp` recorded it.
    tip: where the record of it ends. The branch may have gone on since, or back.
    directory: where it ran, if that is known.
    """

    agent: AgentProgram
    id: str
    file: str | None
    tip: Oid | None
    directory: str | None = None


def find_session(branch: BranchHandle, root: Root, root_commit: Oid) -> AgentSession | None:
    """Return the session that a branch records; None if there is none, or its agent is not known.

    It is the session of `scopes acp` that wrote the branch last, else the imported one that the branch follows.
    """
    live = _find_live(branch)
    return live if live is not None else _find_imported(branch, root, root_commit)


def _find_live(branch: BranchHandle) -> AgentSession | None:
    entry = _mapping(branch.entry.extra.get(ACP))
    agent, session, directory = find_agent_program(_text(entry.get("agent"))), entry.get("session"), entry.get("cwd")
    if agent is None or not isinstance(session, str):
        return None
    newest = read_body(branch.repository, read_commit(branch.repository, branch.tip))
    tip = branch.tip if ACP in newest.extra else None
    return AgentSession(agent, session, None, tip, _text(directory))


def _find_imported(branch: BranchHandle, root: Root, root_commit: Oid) -> AgentSession | None:
    for key, tip in _walk_tracked(branch, root):
        record = find_source_record(branch.repository, key)
        agent = None if record is None else find_agent_program(record.format)
        if record is not None and agent is not None and root_commit in {record.root, *record.more_roots}:
            path, directory = with_last_path(branch.repository, record).path, _directory_of(branch, key, record)
            return AgentSession(agent, record.native_id, path, tip, directory)
    return None


def _directory_of(branch: BranchHandle, key: str, record: SourceRecord) -> str | None:
    """Return the directory that a session was written for, which may be another one than that of the conversation."""
    known = next((each for each in FORMATS if each.name == record.format), None)
    commit = branch.repository.find_ref(SOURCES + key)
    if record.handover is None or known is None or commit is None:
        return None
    with suppress(CannotImport, Corrupt, NotFound):
        session = read_session(known, StoredCopy(record.file_name, record.size, branch.repository, Oid(commit)))
        return None if session is None else session.cwd
    return None


def _walk_tracked(branch: BranchHandle, root: Root) -> Iterator[tuple[str, Oid]]:
    """Yield the keys of sources that have this branch, with where it was at the last import; the likely one first.

    The last ones are of sources that have it by another name: it is the `import/` branch of their new messages.
    """
    suffix = f"/{encode_component(branch.name)}"
    repository = branch.repository
    own = source_key(root.format, root.native_id, None) if root.format and root.native_id else None
    first = None if own is None else repository.find_ref(f"{TRACKING}{own}{suffix}")
    if own is not None and first is not None:
        yield own, Oid(first)
    tracked = repository.list_refs(TRACKING)
    for ref, oid in tracked.items():
        key = ref[len(TRACKING) :].removesuffix(suffix)
        if ref.endswith(suffix) and "/" not in key and key != own:
            yield key, Oid(oid)
    if branch.name != MAIN and branch.entry.fork is not None:
        keys = {oid: ref[len(TRACKING) :].partition("/")[0] for ref, oid in tracked.items()}
        for commit in takewhile(branch.entry.fork.__ne__, walk_first_parents(repository, branch.tip)):
            if commit in keys:
                yield keys[commit], commit


def is_kept(session: AgentSession, environ: Mapping[str, str], home: str) -> bool:
    """Return False if the agent no longer has a session: its file is gone, or was imported from elsewhere.

    Only agents with a file for each session in known folders can be asked; of others, such as those with a database,
    this is True.
    """
    known = next((each for each in FORMATS if each.name == session.agent.name), None)
    if session.file is None or known is None or known.standard_folders is None:
        return True
    if any(each.format == known.name for each in DATABASES):
        return True
    file = os.path.realpath(session.file)
    folders = [top for tops in find_standard_folders([known], environ, home).values() for top in tops]
    return os.path.isfile(file) and any(file.startswith(os.path.join(os.path.realpath(top), "")) for top in folders)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
