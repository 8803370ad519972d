"""The conversations of remotes that are known from their manifests: list them, search their titles, fetch one.

Only fetching contacts a remote; `fetch --manifests` updates the list. If there is no list of a remote, only those
that were pushed or fetched are known. A conversation without a title there has the heading that it has here, or else
the beginning of its first prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import Final, NamedTuple

from scopes.clock import format_seconds
from scopes.conversation.list import list_conversations
from scopes.errors import NotFound
from scopes.history.handles import PROMPT, TITLE, Heading
from scopes.ids import ConversationId, Oid
from scopes.result import HIDDEN, Column, Note, Result, plural, shown
from scopes.store.repository import Repository
from scopes.sync.family import list_members
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest_list import ListedConversation, read_manifest_list
from scopes.sync.remotes import Remote, list_remotes, resolve_remote
from scopes.sync.seen_conversations import add_seen

_MAX_TITLE: Final = 300  # characters that are shown
_FETCH_THEM: Final = "of what is here the first prompt is shown and searched: scopes fetch"


class RemoteConversation(NamedTuple):
    """A conversation of a remote; `conversation` is its id here, None if it is not here.

    title: that of the remote, or else the heading that `list` shows, if it is here, or else the beginning of the first
        prompt; title_source: `title` or `prompt`
    messages: those of all branches, each once; of a conversation that an older version of scopes has pushed, those of
        its longest branch
    activity: when the newest of them was written
    """

    remote: str
    root: Oid
    conversation: ConversationId | None
    title: str | None
    branches: int
    messages: int
    activity: str
    title_source: str | None = None

    @property
    @shown
    def id(self) -> ConversationId | None:
        """The conversation, under the name that a list of what is here has for it."""
        return self.conversation

    @property
    @shown
    def last_activity(self) -> str:
        """The same for the activity."""
        return self.activity


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteConversationList(Result):
    """Conversations of remotes, by last activity, newest first.

    seen: when the list of each remote was fetched, by name; without a list: when it was last pushed to or fetched from
    more: how many the limit left out
    words: what was searched in titles; None for a list
    """

    kind = "remote-conversations"
    rows_in = "conversations"
    columns = (
        Column("root", form="id"),
        Column("conversation", "ID"),
        Column("title"),
        Column("messages", form="count"),
        Column("branches", form="count"),
        Column("activity", form="time"),
        Column("remote"),
    )

    conversations: tuple[RemoteConversation, ...]
    seen: Mapping[str, str]
    more: int = 0
    words: tuple[str, ...] | None = field(default=None, metadata=HIDDEN)

    @property
    def sentence(self) -> str:
        """How many the limit left out."""
        number = len(self.conversations)
        limit = f"{number} of {number + self.more:,} conversations; all: --all" if self.more else ""
        return self.remark or limit

    @property
    def remark(self) -> str:
        """That there is none."""
        nothing = "the remote has no conversation" if self.words is None else "no title has these words"
        return "" if self.conversations else nothing

    @property
    def next_step(self) -> str:
        """How to read one that is not here."""
        is_away = any(row.conversation is None for row in self.conversations)
        return "get one: scopes fetch ROOT" if is_away else ""

    @property
    def exit_code(self) -> int:
        """1 if a search found nothing."""
        return 1 if self.words is not None and not self.conversations else 0


def list_remote(
    repository: Repository, remotes: Sequence[Remote], directory: str, *, limit: int | None = None
) -> RemoteConversationList:
    """List the known conversations of remotes; `directory` is that of the index.

    Raises:
        NotFound: nothing is known about any of them.
    """
    made = _make_list(_Headings(repository, directory), _read(repository, remotes, directory), None, limit)
    count = len({row.root for row in made.conversations if row.title is None and row.conversation is None})
    if not count:
        return made
    return replace(made, notes=(*made.notes, Note(_count_nameless(count), _FETCH_THEM)))


def note_remotes(repository: Repository, directory: str, store: str | None = None) -> tuple[Note, ...]:
    """Return a note for each remote whose conversations are known; `store` is what the user gave to --store."""
    option = "" if store is None else f" --store {quote(store)}"
    lists = ((remote.name, read_manifest_list(directory, remote)) for remote in list_remotes(repository))
    return tuple(
        Note(
            f"{name} has {len(each.conversations):,} {plural(len(each.conversations), 'conversation')}",
            f"list them: scopes{option} fetch {quote(name)} --list",
        )
        for name, each in lists
        if each is not None and each.conversations
    )


def search_titles(
    repository: Repository, remote: str, words: Sequence[str], directory: str, *, limit: int | None = None
) -> RemoteConversationList:
    """List the conversations of a remote whose titles have all words; case does not matter.

    If a conversation has no title, its first prompt is searched: all of it if it is here, else its beginning.

    Raises:
        NotFound: there is no such remote, or nothing is known about it.
    """
    wanted = [word.casefold() for text in words for word in text.split()]
    known = _read(repository, list_members(repository, resolve_remote(repository, remote)), directory)
    headings = _Headings(repository, directory)
    nameless = {each.name.root for _, rows in known.values() for each in rows if headings.find(each) is None}
    found = {
        remote: (seen, [each for each in rows if _matches(headings.find(each), wanted)])
        for remote, (seen, rows) in known.items()
    }
    made = _make_list(headings, found, tuple(words), limit)
    if not nameless:
        return made
    count = len(nameless)
    text = f"{_count_nameless(count)}: no word is found in {'it' if count == 1 else 'them'}"
    return replace(made, notes=(*made.notes, Note(text, _FETCH_THEM)))


def _matches(heading: Heading | None, words: Iterable[str]) -> bool:
    title = "" if heading is None else heading.text.casefold()
    return all(word in title for word in words)


def _count_nameless(count: int) -> str:
    has, are = ("has", "is") if count == 1 else ("have", "are")
    return f"{count:,} {plural(count, 'conversation')} {has} neither title nor first prompt, and {are} not here"


class _Headings:
    """Headings of conversations of remotes; those here are only read when a conversation without a title is found."""

    def __init__(self, repository: Repository, directory: str) -> None:
        self._repository = repository
        self._directory = directory
        self.roots = list_roots(repository)

    def find(self, row: ListedConversation) -> Heading | None:
        """Return the title, or the heading that a conversation has here, or the first prompt; None without any."""
        if row.title:
            return Heading(row.title, TITLE)
        conversation = self.roots.get(row.name.root)
        here = None if conversation is None else self._here.get(conversation)
        return here or (Heading(row.prompt, PROMPT) if row.prompt else None)

    @cached_property
    def _here(self) -> Mapping[ConversationId, Heading]:
        rows = list_conversations(self._repository, self._directory).conversations
        return {row.id: Heading(row.heading, row.heading_source or TITLE) for row in rows if row.heading}


def _read(
    repository: Repository, remotes: Sequence[Remote], directory: str
) -> dict[str, tuple[int, list[ListedConversation]]]:
    """Return when the list of each remote was fetched, and its conversations; unknown remotes are left out."""
    lists = {
        remote.name: add_seen(repository, remote.name, read_manifest_list(directory, remote)) for remote in remotes
    }
    known = {name: (each.seen, list(each.conversations.values())) for name, each in lists.items() if each is not None}
    if not known:
        names = ", ".join(lists) or "any remote"
        raise NotFound(f"what {names} has is not known", hint="ask: scopes fetch --list")
    return known


def _make_list(
    headings: _Headings,
    known: Mapping[str, tuple[int, Sequence[ListedConversation]]],
    words: tuple[str, ...] | None,
    limit: int | None,
) -> RemoteConversationList:
    rows = [(remote, each) for remote, (_, listed) in known.items() for each in listed]
    rows.sort(key=lambda row: (-row[1].time, row[1].name.root, row[0]))
    shown = [_make_row(remote, each, headings) for remote, each in rows[:limit]]
    seen = {remote: format_seconds(time) for remote, (time, _) in known.items()}
    return RemoteConversationList(conversations=tuple(shown), seen=seen, more=len(rows) - len(shown), words=words)


def _make_row(remote: str, row: ListedConversation, headings: _Headings) -> RemoteConversation:
    heading = headings.find(row)
    return RemoteConversation(
        remote, row.name.root, headings.roots.get(row.name.root), heading and heading.text[:_MAX_TITLE],
        row.branches, row.messages, format_seconds(row.time), heading and heading.source,
    )  # fmt: skip
