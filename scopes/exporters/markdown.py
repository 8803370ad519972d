"""`markdown`: a transcript to read. What was thought and what tools did is folded; nothing is cut.

A message begins below a rule with a line that no text can imitate, since all HTML outside of code is ours: the author
in bold and the rest as `<sub>`, whose id is what links go to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scopes.conversation.show import BranchSummary
from scopes.exporters.json_text import utf8
from scopes.exporters.markdown_escape import code_span, plain, visible
from scopes.exporters.markdown_parts import write_document, write_files, write_part
from scopes.exporters.selection import BranchSlice, Selection
from scopes.history.amendments import Amendment, find_amendments
from scopes.history.messages import MessageHead, read_message
from scopes.ids import BranchName, MessageId, Oid
from scopes.model.message import Message
from scopes.store.repository import Repository

_SHORT_ID = 8
_NOT_IN_ID = re.compile(r"[^a-z0-9]")
_SPEAKERS = frozenset({"human", "agent"})
_CONTEXT = "<sub>the model's context begins here: what came before was compacted</sub>"


@dataclass(frozen=True, slots=True)
class _Transcript:
    """What one message's section says of others: which were shown, which revised, where branches begin."""

    shown: frozenset[MessageId]
    revisions: Mapping[MessageId, Amendment]
    begun: Mapping[Oid, list[BranchSummary]]
    numbers: Mapping[BranchName, int]


def write_markdown(repository: Repository, extent: Selection) -> Iterator[bytes]:
    """Write a heading, the messages oldest first and, where they are asked for, the other branches."""
    transcript = _survey(repository, extent)
    yield utf8(visible(_opening(extent)))
    for number, stretch in enumerate(extent.stretches):
        if number:
            yield utf8(visible(_branch_opening(extent, stretch, transcript, number)))
        for head in stretch.heads:
            yield utf8(visible(_section(head, read_message(repository, head.oid), transcript)))


def _survey(repository: Repository, extent: Selection) -> _Transcript:
    revisions: dict[MessageId, Amendment] = {}
    for stretch in extent.stretches:
        revisions |= find_amendments(repository, stretch.tip, stretch.heads)
    numbers = {s.branch.name: number for number, s in enumerate(extent.stretches) if s.branch is not None}
    begun: dict[Oid, list[BranchSummary]] = {}
    for branch in extent.view.branches:
        if branch.fork is not None and numbers.get(branch.name) != 0:
            begun.setdefault(branch.fork, []).append(branch)
    return _Transcript(frozenset(extent.ids.values()), revisions, begun, numbers)


def _opening(extent: Selection) -> str:
    """Say which conversation this is."""
    view, branch = extent.view, extent.stretches[0].branch
    facts = {
        "Conversation": f"{plain(view.id)} ({code_span(view.uuid)})",
        "Branch": plain(branch.name) if branch is not None else "",
        "Participants": ", ".join(map(plain, view.participants)),
        "Begun": plain(view.created_at or ""),
        "Imported from": plain(view.source or ""),
    }
    lines = [f"- {name}: {value}" for name, value in facts.items() if value]
    return "\n".join([f"# {plain(view.title or '') or plain(view.id)}", "", *lines, ""])


def _branch_opening(extent: Selection, stretch: BranchSlice, transcript: _Transcript, number: int) -> str:
    """Say where a further branch begins and what it is for."""
    branch = stretch.branch
    if branch is None:
        return ""
    start = extent.ids.get(branch.fork) if branch.fork is not None else None
    facts = [
        f"from {_link(start, transcript)}" if start is not None else "",
        plain(branch.purpose or ""),
        plain(branch.agent or ""),
        plain(branch.status),
        "" if stretch.heads else "no messages that are not above",
    ]
    said = " · ".join(filter(None, facts))
    return f'\n---\n\n## {plain(branch.name)} <sub id="b-{number}">{said}</sub>\n'


def _section(head: MessageHead, message: Message, transcript: _Transcript) -> str:
    """Write one message: a rule, who speaks, and everything it holds."""
    author = plain(message.author.name) or "unknown"
    facts = " · ".join(filter(None, _facts(head, message, transcript)))
    blocks = [f'**{author}** <sub id="{_anchor(head.id)}">{facts}</sub>']
    if message.kind == "compaction" or message.extra.get("context_root") is True:
        blocks.append(_CONTEXT)
    said = [write_part(part) for part in message.parts]
    if message.payload is not None:
        said.append(write_document(message.kind, message.payload))
    if message.files:
        said.append(write_files(message.files))
    blocks += list(filter(None, said)) or ["*(no text)*"]
    branches = [_branch_link(branch, transcript) for branch in transcript.begun.get(head.oid, ())]
    if branches:
        blocks.append(f"<sub>branches begin here: {', '.join(branches)}</sub>")
    return "\n---\n\n" + "\n\n".join(blocks) + "\n"


def _facts(head: MessageHead, message: Message, transcript: _Transcript) -> Iterator[str]:
    """Yield what is known of a message beside its author."""
    yield plain(message.time or "")
    yield "" if message.kind == "plain" else plain(message.kind)
    yield "" if message.author.kind in {*_SPEAKERS, message.kind} else plain(message.author.kind)
    yield plain(head.id[:_SHORT_ID])
    yield f"to {', '.join(map(plain, message.to))}" if message.to else ""
    spawned = message.extra.get("spawned_by")
    related = {
        "reply to": message.reply_to,
        "called by": spawned.get("message") if isinstance(spawned, dict) else None,
        "amends": message.amends,
        "retracts": message.retracts,
    }
    for relation, other in related.items():
        yield f"{relation} {_link(other, transcript)}" if isinstance(other, str) else ""
    yield plain(message.model or "")
    yield plain(message.status or "") if message.status != "ok" else ""
    revision = transcript.revisions.get(head.id)
    if revision is not None:
        word = "retracted" if revision.retracted else "amended"
        yield f"**{word} by {_link(revision.by.id, transcript)}**"


def _anchor(message: str) -> str:
    return f"m-{_NOT_IN_ID.sub('-', message[:_SHORT_ID])}"


def _link(message: str, transcript: _Transcript) -> str:
    """Name a message, as a link where it is in the transcript."""
    name = plain(message[:_SHORT_ID])
    return f"[{name}](#{_anchor(message)})" if message in transcript.shown else name


def _branch_link(branch: BranchSummary, transcript: _Transcript) -> str:
    number = transcript.numbers.get(branch.name)
    return plain(branch.name) if number is None else f"[{plain(branch.name)}](#b-{number})"
