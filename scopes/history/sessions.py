"""Sessions of agents in conversations: who records, how a turn ended, and the branches that a session goes on writing.

An import moves the branch of a session as long as it is where the last import left it, which a tracking ref says. After
a message of somebody else on it the new messages of the session go to a branch `import/...`. A branch of a sub-agent
was started by a tool call and forks at the root commit.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import (
    MessageHeader,
    count_messages,
    header_of,
    is_root,
    read_body,
)
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, Revision, find_root, list_branch_tips
from scopes.history.sources import TRACKING
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.model.canonical_json import encode_component
from scopes.model.conversation import ACP
from scopes.model.message import Message
from scopes.result import Note, plural
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.objects import Commit, Objects, read_commit
from scopes.store.repository import Repository

HOOKS: Final = "hooks"  # of agents and of git
WATCH: Final = "watch"
ACP_RECORDER: Final = "acp"


class SubAgent(NamedTuple):
    """The agent of a branch, and the message whose tool call spawned it; None if unknown."""

    agent: AgentName | None
    spawned_by: str | None


def is_spawned(message: Message) -> bool:
    """Return True if a message is the first one of a sub-agent."""
    return isinstance(message.extra.get("spawned_by"), dict)


def spawner_of(message: Message) -> str | None:
    """Return the id of the message whose tool call spawned the sub-agent that begins with this message."""
    spawned_by = message.extra.get("spawned_by")
    name = spawned_by.get("message") if isinstance(spawned_by, dict) else None
    return name if isinstance(name, str) else None


def find_sub_agent(objects: Objects, newest_first: Iterable[Commit]) -> SubAgent | None:
    """Return the sub-agent of a branch, given its commits; None if the first message is not a sub-agent's."""
    commits = list(newest_first)
    if not commits:
        return None
    first = read_body(objects, commits[-1])
    if not is_spawned(first):
        return None
    heads = map(header_of, commits)  # the first messages may be copies of other authors' messages
    agent = next((head.author for head in heads if head.author_kind == "agent"), None)
    return SubAgent(agent, spawner_of(first))


Ending: TypeAlias = Literal["interrupted", "cancelled", "unanswered"]
_ENDS: Final = frozenset({"answer", "tool-results", "prompt"})
_ANSWERS: Final = frozenset({"answer", "tool-results"})
_INTERRUPTED: Final = frozenset({"interrupted", "partial"})
_WORDS: Final = (b'"cancelled"', b'"interrupted"', b'"partial"')


def ending_of(message: Message) -> Ending | None:
    """Return how the turn of a message ended, if the message says it: by an interrupt, or by the user; else None."""
    status = message.status
    if "cancelled" in (status, message.stop_reason):
        return "cancelled"
    return "interrupted" if message.kind == "interrupt" or status in _INTERRUPTED else None


def may_have_ending(kind: str, body: bytes) -> bool:
    """Return False if neither `ending_of` nor `is_unanswered` finds anything in the last message of a turn.

    It is decided by its stored bytes: to decode each message takes long.
    """
    return b'"acp":' in body if kind == "prompt" else any(word in body for word in _WORDS)


def is_unanswered(prompt: Message, next_prompts: Iterable[Message]) -> bool:
    """Return True if a prompt behind `scopes acp` has no answer; its proxy was killed, or the agent is at it.

    next_prompts: the only messages that follow it, on any branch. One of the same run may have been sent while it was
    under way, and then the answer of both comes later.
    """
    run = _run_of(prompt)
    return prompt.kind == "prompt" and run is not None and all(_run_of(each) != run for each in next_prompts)


def _run_of(message: Message) -> str | None:
    found = message.extra.get(ACP)
    run = found.get("run") if isinstance(found, dict) else None
    return run if isinstance(run, str) else None


def is_live(repository: Repository, conversation: ConversationId, branch: BranchName | None) -> bool:
    """Return True if `scopes acp` has recorded on a branch, or on main, from which it may come; None: on any one."""
    with suppress(Corrupt, NotFound):
        branches = read_metadata(repository, conversation).branches
        return any(ACP in entry.extra for name, entry in branches.items() if branch is None or name in {branch, MAIN})
    return False


class Following:
    """What follows each message, in a walk in which it comes after all that follow it.

    tips: those of branches: nothing follows them. is_live: the conversation has sessions of `scopes acp`; in others,
    which are imported, an interrupt is a message of its own.
    """

    def __init__(self, tips: Iterable[Oid], *, is_live: bool) -> None:
        self._tips = frozenset(tips)
        self._is_live = is_live
        self._next: dict[Oid, tuple[MessageHeader, ...]] = {}

    def visit(self, head: MessageHeader) -> tuple[Oid, ...] | None:
        """Return the prompts that follow the last message of a turn; None for others, and if it ended as it should."""
        known, kind = self._next, head.kind
        if not self._is_live and not known and kind != "interrupt" and head.oid not in self._tips:
            return None  # nearly always
        following = known.pop(head.oid, ())
        for parent in head.parents if self._is_live or kind == "interrupt" else ():
            known[parent] = (*known[parent], head) if parent in known else (head,)
        if kind not in _ENDS or (not following and head.oid not in self._tips):
            return None
        return last_of_turn(kind, {each.oid: each.kind for each in following})


def last_of_turn(kind: str, following: Mapping[Oid, str]) -> tuple[Oid, ...] | None:
    """Return the prompts that follow the last message of a turn, of the kinds of all that follow; None for others."""
    if kind in _ANSWERS:
        return None if _ANSWERS.intersection(following.values()) else ()
    return tuple(following) if kind == "prompt" and set(following.values()) <= {"prompt"} else None


def find_ending(
    repository: Repository, commits: Mapping[Oid, Commit], commit: Commit, message: Message
) -> Ending | None:
    """Return how the turn of a message ended without a whole answer, among all commits of its conversation."""
    if message.kind == "prompt":
        following = {each.oid: str(each.kind) for each in commits.values() if commit.oid in each.parents}
        prompts = last_of_turn(message.kind, following)
        bodies = (read_body(repository, commits[oid]) for oid in prompts or ())
        if prompts is not None and is_unanswered(message, bodies):
            return "unanswered"
    return ending_of(message)


IMPORT_PREFIXES = ("import/", "import-")  # of branches that follow a source in place of one that the user moved
NOTES = BranchName("notes")  # where agents write beside a session


def is_followed(branch: BranchHandle, tip: Oid) -> bool:
    """Return True if the next import of a session goes on from `tip`, the tip of a branch."""
    tracked = branch.repository.list_refs(TRACKING)
    if branch.name.startswith(IMPORT_PREFIXES):
        return tip in tracked.values()
    return tip in _tracked_as(branch.name, tracked)


def note_followed(branch: BranchHandle, appended: Oid, verb: str = "append") -> tuple[Note, ...]:
    """Return a note if the commit that was appended to a branch has taken it from the session that wrote it.

    Of a conversation that was not imported nothing is looked up: appends are fast. `verb` is the command.
    """
    conversation = branch.conversation.id
    where = shlex.quote(f"{conversation}/{NOTES}")
    before = read_commit(branch.repository, appended).parents[0]
    if verb == "append":
        return note_taken(branch, before, f"scopes undo, and then: scopes append {where} --from HEAD ...")
    return note_taken(
        branch,
        before,
        f"scopes undo, scopes branch {shlex.quote(conversation)} {NOTES}, and then: scopes {verb} {where} ...",
    )


def note_taken(branch: BranchHandle, before: Oid, cure: str, *, is_planned: bool = False) -> tuple[Note, ...]:
    """Return a note if a change has taken a branch, which was at `before`, from the session that wrote it.

    cure: how to leave the branch to the session; is_planned: nothing was changed yet
    """
    root = (
        None
        if is_root(read_commit(branch.repository, before))
        else find_root(branch.repository, branch.conversation.id)
    )
    if root is None or root.format is None or not is_followed(branch, before):
        return ()
    was, go, since = ("is", "would go", "then") if is_planned else ("was", "go", "now")
    where = f"a branch {IMPORT_PREFIXES[0]}..."
    text = f"{branch} {was} the branch of a session, whose next messages {go} to {where} from {since} on"
    return (Note(text, f"to leave it to the session: {cure}"),)


def find_successor(branch: BranchHandle) -> BranchName | None:
    """Return the branch that has the new messages of a session since somebody else moved its branch.

    None if the branch was not moved, or has these messages too, such as after a merge.
    """
    repository, tips = branch.repository, list_branch_tips(branch.repository, branch.conversation.id)
    others = {name: tip for name, tip in tips.items() if name.startswith(IMPORT_PREFIXES) and name != branch.name}
    if not others or branch.name not in tips:
        return None
    tracked = repository.list_refs(TRACKING)
    own = branch.name
    if own.startswith(IMPORT_PREFIXES):
        if tips[own] in tracked.values():
            return None
        own = branch.entry.parent or MAIN
    followed = _tracked_as(own, tracked)
    found = [
        name for name, tip in others.items() if tip in followed and not is_ancestor(repository, tip, tips[branch.name])
    ]
    return max(found, key=lambda name: read_commit(repository, tips[name]).time, default=None)


def successor_notes(repository: Repository, revision: Revision, text: str) -> tuple[Note, ...]:
    """Return a note if the branch that a reader gets was moved, and its session goes on elsewhere.

    text: the name that was given for the revision; if it names more than a conversation there is no note
    """
    if revision.branch is None or "/" in text or "~" in text or "@{" in text:
        return ()
    branch = StoreHandle(repository).conversation(revision.conversation).branch(revision.branch)
    successor = find_successor(branch)
    if successor is None:
        return ()
    what = f"{branch} was moved here: the new messages of its session are on {successor}"
    switch = shlex.join(["scopes", "switch", branch.conversation.id, successor])
    return (Note(what, f"to go on there: {switch}"),)


def reader_notes(repository: Repository, revision: Revision, text: str) -> tuple[Note, ...]:
    """Return notes for a reader of a branch: where its session continues, and the branch with notes on it."""
    return (*successor_notes(repository, revision, text), *note_notes_branch(repository, revision))


def note_notes_branch(repository: Repository, revision: Revision) -> tuple[Note, ...]:
    """Return a note if the branch `notes` has messages that a branch, which is read to its tip, does not have."""
    if revision.branch is None or revision.branch == NOTES:
        return ()
    tips = list_branch_tips(repository, revision.conversation)
    if NOTES not in tips or tips.get(revision.branch) != revision.oid:
        return ()
    count = count_messages(list_new_commits(repository, tips[NOTES], revision.oid))
    if not count:
        return ()
    where = f"{revision.conversation}/{NOTES}"
    text = f"{where} has {count:,} {plural(count, 'message')} that {'is' if count == 1 else 'are'} not on this branch"
    return (Note(text, f"read them: scopes log {shlex.quote(where)}"),)


def _tracked_as(name: BranchName, tracked: Mapping[str, str]) -> set[str]:
    """Return where the last imports left the branches of sources that have a name here."""
    return {oid for ref, oid in tracked.items() if _flat(ref.rpartition("/")[2]) == _flat(encode_component(name))}


def _flat(name: str) -> str:
    """Return a name as a branch has it whose own name was taken, see `importers.branch_updates`."""
    return name.replace("/", "-").replace("%2F", "-")
