"""What a conversation is called: its title, or else the beginning of its first prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import (
    KIND_TRAILER,
    NO_TEXT,
    ROOT_KIND,
    author_kind_of,
    is_root,
    read_message,
    read_message_at,
)
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.sanitize import SUBJECT_LENGTH, mark_cut
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit, one_line
from scopes.store.repository import Repository

TITLE, PROMPT = "title", "prompt"
MAX_PROMPT = 500  # characters of a first prompt that is shown as far as a terminal is wide


class Heading(NamedTuple):
    """What a conversation is called; `source` is TITLE or PROMPT."""

    text: str
    source: str


def read_heading(repository: Repository, conversation: ConversationId) -> Heading | None:
    """Return the title of a conversation, or else its first prompt; None if it has neither or is damaged."""
    try:
        title = read_metadata(repository, conversation).title
        tips = list_branch_tips(repository, conversation)
        return heading_of(repository, title, walk_main(repository, tips))
    except (Corrupt, NotFound):
        return None


def heading_of(repository: Repository, title: str | None, newest_first: Iterable[Commit]) -> Heading | None:
    """Return the heading of a conversation with this title; its history is walked only without one."""
    if title is not None:
        return Heading(title, TITLE)
    prompt = first_prompt(repository, newest_first)
    return None if prompt is None else Heading(prompt, PROMPT)


def walk_main(
    repository: Repository, tips: Mapping[BranchName, Oid], known: Mapping[Oid, Commit] | None = None
) -> Iterable[Commit]:
    """Yield the commits of the branch main, or else of the first branch, newest first.

    `known` are commits that were read before; they are not read again.
    """
    tip = tips.get(MAIN) or next(iter(tips.values()), None)
    return () if tip is None else walk_newest_first(repository, [tip], known=known or {})


def first_prompt(repository: Repository, newest_first: Iterable[Commit]) -> str | None:
    """Return the subject of the first prompt, with an ellipsis if it is cut; None for a history without any.

    Its message is read only if the length of the subject does not show whether it is cut.
    """
    found = _find_first_prompt(newest_first)
    return None if found is None else mark_cut(found.subject, _text_if_unclear(repository, found))


def read_first_prompt(repository: Repository, conversation: ConversationId) -> str | None:
    """Return the text of the first prompt on one line, with an ellipsis after many characters.

    None for a conversation without any, or a damaged one.
    """
    try:
        found = _find_first_prompt(walk_main(repository, list_branch_tips(repository, conversation)))
        if found is None:
            return None
        line = one_line(read_message(repository, found.oid).text, MAX_PROMPT + 1)
    except (Corrupt, NotFound):
        return None
    if not line.startswith(found.subject):  # the subject is a tool call or a document
        return mark_cut(found.subject)
    return line if len(line) <= MAX_PROMPT else f"{line[:MAX_PROMPT]}…"


def _find_first_prompt(newest_first: Iterable[Commit]) -> Commit | None:
    """Return the commit of the first prompt; None for a history without any.

    A prompt of a person is preferred, then one that a program gave to a sub-agent, then the first message of an agent.
    """
    oldest: dict[tuple[str, str | None], tuple[int, Commit]] = {}  # by address of the author and kind of the message
    commit: Commit | None = None
    for number, commit in enumerate(newest_first):
        if commit.subject != NO_TEXT:
            oldest[commit.author.email, commit.trailers.get(KIND_TRAILER)] = number, commit
    if commit is None or not is_root(commit):
        return None
    prompts: dict[str | None, Commit] = {}
    for (email, kind), (_, commit) in sorted(oldest.items(), key=lambda item: item[1][0]):  # the oldest is the last
        if kind != ROOT_KIND:
            author_kind = author_kind_of(email)
            prompts[kind if author_kind == "injected" else author_kind] = commit
    return next((prompts[kind] for kind in ("human", PROMPT, "agent") if kind in prompts), None)


def _text_if_unclear(repository: Repository, commit: Commit) -> str:
    """Return the text of a message whose subject may have been cut after a blank; empty if it cannot be read."""
    if len(commit.subject) != SUBJECT_LENGTH - 1:
        return ""
    try:
        return read_message_at(repository, commit.tree).text
    except (Corrupt, NotFound):
        return ""
