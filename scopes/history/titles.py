"""What a conversation is called: its title, or else the beginning of its first prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import NO_TEXT, head_of, is_root
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository

TITLE, PROMPT = "title", "prompt"


class Heading(NamedTuple):
    """What a conversation is called; `source` is TITLE or PROMPT."""

    text: str
    source: str


def read_heading(repository: Repository, conversation: ConversationId) -> Heading | None:
    """Return the title of a conversation, or else its first prompt; None if it has neither or is damaged."""
    try:
        title = read_metadata(repository, conversation).title
        tips = list_branch_tips(repository, conversation)
        return heading_of(title, walk_main(repository, tips))
    except (Corrupt, NotFound):
        return None


def heading_of(title: str | None, newest_first: Iterable[Commit]) -> Heading | None:
    """Return the heading of a conversation with this title; its history is walked only without one."""
    if title is not None:
        return Heading(title, TITLE)
    prompt = first_prompt(newest_first)
    return None if prompt is None else Heading(prompt, PROMPT)


def walk_main(repository: Repository, tips: Mapping[BranchName, Oid]) -> Iterable[Commit]:
    """Yield the commits of the branch main, or else of the first branch, newest first."""
    tip = tips.get(MAIN) or next(iter(tips.values()), None)
    return () if tip is None else walk_newest_first(repository, [tip])


def first_prompt(newest_first: Iterable[Commit]) -> str | None:
    """Return the subject of the first prompt; None for an incomplete history or one without any.

    A prompt of a person is preferred, then one that a program gave to a sub-agent, then the first message of an agent.
    """
    subjects: dict[str, str] = {}
    commit: Commit | None = None
    for commit in newest_first:
        if commit.subject != NO_TEXT and not is_root(commit):
            head = head_of(commit)
            subjects[head.kind if head.author_kind == "injected" else head.author_kind] = commit.subject
    if commit is None or not is_root(commit):
        return None
    return next((subjects[kind] for kind in ("human", PROMPT, "agent") if kind in subjects), None)
