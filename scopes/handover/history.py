"""Make a session of the history of a branch: what it holds, within the tokens that the agent's model has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scopes.clock import format_seconds, parse_time
from scopes.context.history_block import HistoryRequest
from scopes.context.history_block import history as write_block
from scopes.errors import Refused
from scopes.exporters.selection import select_messages, walk_current
from scopes.handover.native.fit import fit_turns
from scopes.handover.native.session import NativeSession, Writer, uuid_of
from scopes.handover.native.turns import Turn, list_turns
from scopes.history.handles import BranchHandle, read_first_prompt
from scopes.history.messages import message_id_of
from scopes.ids import MessageId
from scopes.memory.compaction_base import walk_compactions
from scopes.model.message import Message
from scopes.sanitize import cut
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import gate_of, redacting
from scopes.store.objects import read_commit
from scopes.tokens.count import TokenizerChoice

_SECOND = 1_000_000_000
_MARK_CHARACTERS = 16
_MAX_OPENING = 100  # characters of a first prompt that a list of sessions shows


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """How much of a history a session gets: all messages or those since the last compaction, within some tokens.

    directory: where the agent is to work.
    model: what the agent is set to.
    reasoning: quote it in the answers.
    """

    directory: str
    max_tokens: int
    model: str = ""
    full: bool = False
    reasoning: bool = False


@dataclass(frozen=True, slots=True)
class SessionHistory:
    """A session, and what became of the messages that it does not hold as they are.

    left_out: messages before a compaction, or beyond the tokens.
    compacted: those of them before the compaction.
    """

    session: NativeSession
    tip: MessageId
    tokens: int
    total: int
    left_out: int
    compacted: int
    flattened: Counter[str]
    dropped: Counter[str]


def make_session(
    branch: BranchHandle, writer: Writer, options: HistoryOptions, gate: Gate, choice: TokenizerChoice
) -> SessionHistory:
    """Return the session for an agent; its ids and times depend on the conversation and the agent alone.

    Raises:
        Refused: the branch has nothing to hand over.
        Invalid: the newest messages have more tokens than there is room.
    """
    tip = message_id_of(read_commit(branch.repository, branch.tip))
    messages, total, compacted = _read_messages(branch, gate, full=options.full)
    found = list_turns(messages, reasoning=options.reasoning)
    if not any(turn.role == "user" and turn.message for turn in found.turns) and len(found.turns) < 2:
        raise Refused(f"{branch} has no message to hand over", hint="see: scopes log")

    mark = uuid_of("mark", tip, writer.name).replace("-", "")[:_MARK_CHARACTERS]

    def write_earlier(message: MessageId, tokens: int) -> str:
        request = HistoryRequest(where=message, last=None, max_tokens=tokens, secrets=gate.mode, mark=mark)
        return write_block(branch.repository, request, choice).text.strip("\n")

    fitted = fit_turns(found.turns, options.max_tokens, choice.tokenizer.count, write_earlier)
    beyond = sum(turn.message is not None for turn in found.turns[: fitted.left_out])
    session = NativeSession(
        id=writer.name_session(uuid_of("hand-over", tip, writer.name)),
        created=_time_of(fitted.turns),
        directory=options.directory,
        title=branch.conversation.metadata.title or "",
        turns=fitted.turns,
        model=options.model,
        opening=_read_opening(branch),
    )
    return SessionHistory(
        session, tip, fitted.tokens, total, compacted + beyond, compacted, found.flattened, found.dropped
    )


def _read_opening(branch: BranchHandle) -> str:
    """Return the beginning of the first prompt without secrets; the prompt itself may not be handed over."""
    text = read_first_prompt(branch.repository, branch.conversation.id) or ""
    shown = gate_of(branch.repository, "redact").clear_name(text, "the first prompt")
    return shown if len(shown) <= _MAX_OPENING else f"{cut(shown, _MAX_OPENING - 1)}…"


def _read_messages(branch: BranchHandle, gate: Gate, *, full: bool) -> tuple[Sequence[Message], int, int]:
    """Return the messages from the last compaction on, or all, with amendments applied; how many there are, and before.

    Among the messages are marks of merged branches, which are not in the history and do not count.
    """
    repository = branch.repository
    selection = select_messages(repository, str(branch), all_branches=False)
    heads = list(selection.heads)
    newest = next(walk_compactions(repository, branch.tip, reversed(heads)), None)
    with redacting(repository, gate):
        messages = list(walk_current(repository, selection))
    if newest is None or full:
        return messages, len(heads), 0
    start = next((n for n, message in enumerate(messages) if message.id == newest[0].id), 0)
    before = next((n for n, head in enumerate(heads) if start and head.id == newest[0].id), 0)
    return messages[start:], len(heads), before


def _time_of(turns: Sequence[Turn]) -> str:
    """Return the time of the newest turn in whole seconds; 1970 if none has a time."""
    times = (parse_time(turn.time) for turn in reversed(turns) if turn.time is not None)
    newest = next((time for time in times if time is not None), len(turns) * _SECOND)
    return format_seconds(newest // _SECOND)
