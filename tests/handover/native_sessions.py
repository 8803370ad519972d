"""Sessions as they are written for each agent, and what the importer reads of them."""

from __future__ import annotations

from scopes.handover.registration import WrittenSource
from scopes.handover.session import NativeSession, dump, list_turns
from scopes.handover.writers import WRITERS
from scopes.ids import MessageId
from scopes.importers.formats.events import Draft, Ending, Session, Unparsed
from scopes.importers.formats.registry import FORMATS
from scopes.model.message import Author, Message, Part

UUID = "11111111-2222-4333-8444-555555555555"
HUMAN, AGENT, TOOL = Author("user", "human"), Author("claude-code"), Author("Bash", "tool")


def text(words):
    return Part("text", {"text": words})


def call(name, tool="Bash", **asked):
    return Part("tool_call", {"call_id": name, "name": tool, "input": asked})


def result(name, output="done", **fields):
    return Part("tool_result", {"call_id": name, "output": output, **fields})


def message(number, author, *parts, kind="plain", **fields):
    """Return a message; its time is that many seconds after ten o'clock."""
    time = f"2026-03-01T10:{number // 60:02d}:{number % 60:02d}.000Z"
    identity = MessageId(f"m{number:025d}".translate(str.maketrans("0189", "abcd")))
    return Message(id=identity, author=author, parts=parts, kind=kind, **{"time": time, **fields})


SHOP = (
    message(0, HUMAN, text("hide the prices")),
    message(
        1, AGENT, text("I will look."), call("toolu_01", command="cat a.py"), call("toolu_02", "Read", path="b.py"),
        model="claude-opus-4-6",
    ),
    message(2, TOOL, result("toolu_01", "PRICES = [1, 2]"), result("toolu_02", "no such file", is_error=True)),
    message(3, AGENT, text("done, in a.py"), model="claude-opus-4-6"),
)  # fmt: skip


def session_of(name, messages=SHOP, *, directory="/home/carol/shop", **options):
    """Return the session of an agent for messages."""
    turns = list_turns(messages, **options).turns
    identity = WRITERS[name].name_session(UUID)
    return NativeSession(identity, "2026-03-01T10:00:03Z", directory, "the shop", turns)


def write(name, session):
    """Return the document of a session, as the agent gets it."""
    writer = WRITERS[name]
    return writer.assemble([dump(record.value).encode() + b"\n" for record in writer.write(session)])


def read(name, session):
    """Return the session and the drafts that the importer reads of a document; each byte belongs to one event."""
    data = write(name, session)
    source = WrittenSource(WRITERS[name].path_of(session, "/home/carol/agent"), len(data), data)
    known = next(each for each in FORMATS if each.name == name)
    assert known.sniff(data)
    first, *events, last = known.walk_events(source)
    assert isinstance(first, Session)
    assert isinstance(last, Ending)
    assert not [event for event in events if isinstance(event, Unparsed)]
    assert sum(span.length for event in events for span in event.spans) == len(data)
    return first, [event for event in events if isinstance(event, Draft)]


def contents_of(drafts):
    """Return what drafts say: who, and a text, a call or a result; OpenCode has each result beside its call."""
    ranks = {"text": 0, "tool_call": 1, "tool_result": 2}
    return [
        (draft.author.kind, *_content_of(part))
        for draft in drafts
        for part in sorted(draft.parts, key=lambda part: ranks[part.type])
    ]


def _content_of(part):
    fields = part.fields
    if part.type == "tool_call":
        return "call", fields["call_id"], fields["name"], fields["input"]
    if part.type == "tool_result":
        return "result", fields["call_id"], fields["output"]
    return part.type, part.text
