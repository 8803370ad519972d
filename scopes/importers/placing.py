"""Where the woven sessions of a run go: ids of new conversations, names of lines, moves of refs."""

from __future__ import annotations

from scopes.conversation.metadata import read_metadata
from scopes.conversation.new import next_conversation_id
from scopes.ids import ConversationId
from scopes.importers.bringing import Run
from scopes.importers.home import Home
from scopes.importers.landing import Landing, begin_landing, finish, land
from scopes.model.operation import RefChange
from scopes.result import Note
from scopes.store.repository import Objects


def number_conversations(run: Run) -> dict[ConversationId, Home]:
    """Give every conversation of the run its id; new ones get the next numbers, in the order of the sources."""
    found: dict[ConversationId, Home] = {}
    number = int(next_conversation_id(run.repository).removeprefix("conv-"))
    for home in run.homes:
        if home.conversation is None:
            home.conversation = ConversationId(f"conv-{number:03d}")
            number += 1
        found[home.conversation] = home
    return found


def place_conversations(
    run: Run, objects: Objects, title: str | None
) -> tuple[dict[ConversationId, Home], list[RefChange]]:
    """Collect the ref changes of all conversations; what was deleted stays so unless it is wanted again."""
    changes: list[RefChange] = []
    placed: dict[ConversationId, Home] = {}
    unnumbered = {home.root for home in run.homes if home.conversation is None}
    for conversation, home in number_conversations(run).items():
        fresh = home.root in unnumbered
        if fresh and not run.again and _was_here(run, home):
            hint = "bring it back with --again, or with: scopes undo"
            run.notes.append(Note(f"session {home.document.native_id} was deleted here and stays so", hint))
            continue
        landing = _land(run, conversation, home, fresh=fresh)
        known = read_metadata(run.repository, conversation).title
        if title is not None and known not in (None, title):
            hint = f"give it another title with: scopes conv rename {conversation} --title TEXT"
            run.notes.append(Note(f"{conversation} has a title already: {known}", hint))
        landing.title = title or next((woven.title for woven in home.woven if woven.title), None)
        changes += finish(run.repository, objects, landing)
        run.notes += landing.notes
        placed[conversation] = home
    return placed, [*changes, *run.records] if placed else []


def _was_here(run: Run, home: Home) -> bool:
    """Tell whether sources of a conversation that is not there have been brought into it before."""
    tracked = any(run.homes.tracked.get(woven.key) and not woven.moved for woven in home.woven)
    return tracked or bool(home.kept)


def _land(run: Run, conversation: ConversationId, home: Home, *, fresh: bool) -> Landing:
    landing = begin_landing(run.repository, home, conversation, fresh=fresh)
    for woven in home.woven:
        land(run.repository, landing, woven.key, woven.leaves, complete=woven.complete, moved=woven.moved)
    return landing
