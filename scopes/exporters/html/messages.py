"""Write the messages of a page: who said what and when, what it refers to, and where merged branches begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scopes.clock import in_seconds
from scopes.exporters.html.parts import PartWriter
from scopes.exporters.html.template import EMPTY, Html, Template, join
from scopes.exporters.selection import BranchSlice, ExportSelection, Transcript
from scopes.history.messages import MessageHeader, latest, read_body
from scopes.merge.lanes import lane_changes
from scopes.model.message import Message
from scopes.store.repository import Repository

_SHORT_ID: Final = 8
_NOT_IN_ID: Final = re.compile(r"[^a-z0-9]")
_KINDS: Final = frozenset({"human", "agent", "tool", "system", "injected"})  # of authors, with a style of their own
_UNLABELED: Final = frozenset({"plain", "prompt", "answer", "tool-results"})  # kinds of message that show themselves


def message_anchor(message_id: str) -> str:
    """Return the name of a message's place in the page."""
    return f"m-{_NOT_IN_ID.sub('-', message_id)}"


def branch_anchor(number: int) -> str:
    """Return the name of the place of a branch in the page."""
    return f"b-{number}"


class MessageWriter:
    """Writes the messages of one export, in their order."""

    def __init__(self, template: Template, repository: Repository, transcript: Transcript) -> None:
        self._template = template
        self._repository = repository
        self._transcript = transcript
        self._parts = PartWriter(template)

    def write_slice(self, selection: ExportSelection, branch_slice: BranchSlice, number: int) -> Iterator[Html]:
        """Yield the heading of a further branch, and its messages."""
        yield self._heading(selection, branch_slice, number)
        lanes: tuple[int, ...] = ()
        for head in branch_slice.heads:
            before, lanes = lanes, branch_slice.lanes.lanes_of(head.oid)
            yield from self._marks(branch_slice, before, lanes)
            yield self._message(head, read_body(self._repository, head))
        yield from self._marks(branch_slice, lanes, ())

    def _heading(self, selection: ExportSelection, branch_slice: BranchSlice, number: int) -> Html:
        branch = branch_slice.branch
        if branch is None or len(selection.slices) == 1:
            return EMPTY
        fork = selection.ids.get(branch.fork) if branch.fork is not None else None
        facts = [
            join([Html("from "), self._link(fork)]) if fork is not None else EMPTY,
            *(
                self._text(fact)
                for fact in (branch.purpose, branch.agent, branch.status)
                if fact not in (None, "active")
            ),
            EMPTY if branch_slice.heads else self._text("no messages that are not above"),
        ]
        joined = join([fact for fact in facts if fact], " · ")
        return self._template.fill("branch", anchor=branch_anchor(number), name=branch.name, facts=joined)

    def _marks(self, branch_slice: BranchSlice, before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[Html]:
        """Yield where merged branches end, innermost first, and where others begin."""

        def read(head: MessageHeader) -> Message | None:
            return latest(read_body(self._repository, head), self._transcript.amendments)

        left, entered = lane_changes(before, after)
        for lane in left:
            mark = branch_slice.lanes.mark(lane, read)
            rows = [self._template.fill("digest_row", text=line) for line in mark.digest]
            digest = self._template.fill("digest", rows=join(rows)) if rows else EMPTY
            facts = "" if mark.into is None else f"back on {mark.into}"
            yield self._template.fill("mark", title=f"End of branch {mark.branch}", facts=facts, digest=digest)
        for lane in entered:
            mark = branch_slice.lanes.mark(lane)
            title = f"Parallel branch {mark.branch}"
            yield self._template.fill("mark", title=title, facts=mark.content(), digest=EMPTY)

    def _message(self, head: MessageHeader, message: Message) -> Html:
        body = [self._parts.write_content(message)]
        if message.kind == "compaction" or message.extra.get("context_root") is True:
            body.insert(0, self._template.fill("compacted"))
        numbers = self._transcript.branch_numbers
        forks = [row for row in self._transcript.forks.get(head.oid, ()) if row.name in numbers]
        if forks:
            links = [
                self._template.fill("link", anchor=branch_anchor(numbers[row.name]), text=row.name) for row in forks
            ]
            body.append(self._template.fill("forks", links=join(links, ", ")))
        return self._template.fill(
            "message",
            kind=message.author.kind if message.author.kind in _KINDS else "other",
            anchor=message_anchor(head.id),
            author=message.author.name or "unknown",
            facts=join([fact for fact in self._facts(head, message) if fact], " "),
            id=head.id[:_SHORT_ID],
            body=join(body, "\n"),
        )

    def _facts(self, head: MessageHeader, message: Message) -> Iterator[Html]:
        """Yield what stands after the author of a message, such as kind and model; what it lacks is empty."""
        if message.time is not None:
            text = in_seconds(message.time).replace("T", " ").removesuffix("Z")
            yield self._template.fill("message_time", exact=message.time, text=text)
        yield self._text("" if message.kind in {*_UNLABELED, message.author.kind} else message.kind)
        yield self._text(message.author.kind if message.author.kind not in {"human", "agent"} else "")
        yield self._text(f"to {', '.join(message.to)}" if message.to else "")
        spawned_by = message.extra.get("spawned_by")
        relations = {
            "reply to": message.reply_to,
            "called by": spawned_by.get("message") if isinstance(spawned_by, dict) else None,
            "amends": message.amends,
            "retracts": message.retracts,
        }
        for relation, other in relations.items():
            yield self._relation(relation, other) if isinstance(other, str) else EMPTY
        yield self._text(message.model or "")
        yield self._flag(message.status if message.status not in {None, "ok"} else None)
        amendment = self._transcript.amendments.get(head.id)
        if amendment is not None:
            yield self._flag("retracted" if amendment.retracted else "amended")
            yield self._relation("by", amendment.by.id)

    def _relation(self, words: str, other: str) -> Html:
        return join([self._text(words), self._link(other)], " ")

    def _flag(self, text: str | None) -> Html:
        return self._template.fill("message_flag", text=text) if text else EMPTY

    def _text(self, text: str | None) -> Html:
        return self._template.fill("message_fact", text=text) if text else EMPTY

    def _link(self, message_id: str) -> Html:
        """Return a short message id, as a link if the page has the message."""
        short = message_id[:_SHORT_ID]
        if message_id not in self._transcript.shown:
            return self._text(short)
        return self._template.fill("link", anchor=message_anchor(message_id), text=short)
