"""Three machines that change, push, fetch, pull and resolve in any order have the same conversations in the end.

Steps may be cut short: the connection is lost before git does something or after it has, or the process is killed. What
was acknowledged before stays, but what was purged. A repository of the remote takes one conversation, then it is closed.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import continue_merge
from scopes.conversation.new_rename_delete import delete, delete_branch, rename_branch, rename_title
from scopes.conversation.rebase import continue_rebase
from scopes.errors import Inaccessible, NotFound, Refused
from scopes.history.messages import header_of
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.ids import BranchName, ConversationId
from scopes.merge.in_progress import list_conflicts_of, list_in_progress
from scopes.model.conversation import branch_id
from scopes.model.message import Author
from scopes.purge.accept import accept_purges
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.config import Setting
from scopes.store.graph import walk_newest_first
from scopes.store.objects import read_commit
from scopes.store.repository import Repository
from scopes.sync import git_transport
from scopes.sync.join import shared_tree
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.remotes import connection, fetch_from, machine, make_bare, push_to
from tests.support.store import FAST, assert_sound, git, open_store

NAMES = ("ann", "ben", "cid")
APPENDS = ("say", "say", "new", "amend", "amend", "retract")
SHARING = ("push", "push", "fetch", "pull", "pull", "rebase", "resolve")
PURGING = ("purge", "accept", "push purged")
CHANGING = ("branch", "same branch", "rename", "title", "no title", "tag", "same tag", "no tag", "drop", "delete")
FAULTS = st.sampled_from(
    [None] * 6 + [("lost before", 1), ("lost after", 1), ("lost after", 2), ("killed", 3), ("killed", 12)]
)
STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from((*APPENDS, *SHARING, *SHARING, *CHANGING, *PURGING)), FAULTS),
    min_size=4,
    max_size=16,
)
LIMIT = Setting("scopes.remoteconversations", "1", "flag")
SIDES = ("source", "target")
PERSON = Author("erin", "human")


class World:
    """A bare repository and three stores; every message has a text of its own.

    texts: those of messages that were acknowledged and not purged
    removed: roots and ids of branches that were deleted on a machine, and stay deleted there
    """

    def __init__(self, directory: str) -> None:
        self.bare = make_bare(f"{directory}/bare.git")
        self.directory = directory
        self.stores = {name: machine(f"{directory}/{name}", self.bare, name) for name in NAMES}
        self.written = 0
        self.has_purged = False
        self.texts: set[str] = set()
        self.removed: dict[str, set[tuple[str, str]]] = {name: set() for name in NAMES}

    def open(self, name: str) -> Repository:
        """Open the store of a machine."""
        return open_store(self.stores[name], {**FAST, LIMIT.key: LIMIT}, name)

    def list_repositories(self) -> list[str]:
        """Return the paths of the repositories of the remote."""
        return sorted(
            os.path.join(self.directory, each) for each in os.listdir(self.directory) if each.endswith(".git")
        )

    def step(self, name: str, action: str, fault: tuple[str, int] | None = None) -> None:
        """Do one thing on one machine, in a store that is opened for it, to its end or until something breaks."""
        self.written += 1
        before = branches_of(self.open(name))
        if fault is None or action not in SHARING:
            self.act(name, action)
        elif fault[0] == "killed":
            kill_at(fault[1], lambda: self.act(name, action))
        else:
            with losing(*fault), suppress(Inaccessible):
                self.act(name, action)
        if action not in {"push", "push purged", "fetch"}:
            self.removed[name] |= before - branches_of(self.open(name))

    def act(self, name: str, action: str) -> None:
        """Do one thing on one machine, if there is something to do it to."""
        store = self.open(name)
        conversations = sorted(list_roots(store).values())
        text = f"{name}-{self.written}"
        if action == "new" or (action == "say" and not conversations):
            history(store, f"main: {text}", author=name)
            self.texts.add(text)
        elif action == "fetch":
            fetch_from(store)
        elif action in {"pull", "rebase"}:
            pull(store, resolve_remote(store, None), Selection(), connection(), rebasing=action == "rebase")
        elif action in PURGING:
            self.purge(store, conversations[-1:], action, Places(f"{self.directory}/{name}-index"))
        elif conversations and action == "push":
            refused = {"refused"} if self.has_purged else set()
            assert {row.status for row in push_to(store).conversations} <= {"new", "updated", "unchanged", *refused}
        elif conversations and action == "resolve":
            resolve_all(store, self.written)
        elif conversations and action in APPENDS:
            self.say(store, conversations[-1], action, text)
        elif conversations:
            self.change(store, conversations[-1], action, text)

    def purge(self, store: Repository, conversations: list[ConversationId], action: str, places: Places) -> None:
        """Purge the oldest message of a conversation, whoever wrote it, or do what others did, unless a merge waits."""
        if action == "push purged":
            push_to(store, purged=True)
        elif action == "accept":
            with suppress(NotFound, Refused):  # nothing was purged elsewhere, or a merge waits
                accept_purges(store, places)
        for conversation in conversations if action == "purge" else ():
            tip = list_branch_tips(store, conversation)[BranchName("main")]
            commits = [each for each in walk_newest_first(store, [tip]) if each.kind == "plain"]
            if commits:
                with suppress(Refused):
                    purge(store, PurgeRequest(conversation=conversation, messages=(header_of(commits[-1]).id,)), places)
                    self.texts.discard(commits[-1].subject)
                    self.has_purged = True

    def say(self, store: Repository, conversation: ConversationId, action: str, text: str) -> None:
        """Append a message; it may amend or retract the last one of main, whoever wrote it."""
        tips = list_branch_tips(store, conversation)
        tip = read_commit(store, tips[BranchName("main")])
        if action == "say":
            names = [each for each in tips if "/" not in each]
            say(store, f"{conversation}/{names[self.written % len(names)]}", text, author=text.partition("-")[0])
            self.texts.add(text)
        elif tip.kind == "plain" and action == "amend":
            amend(store, conversation, header_of(tip).id, text, author=PERSON, branch="main")
        elif tip.kind == "plain":
            with suppress(Refused):  # it was retracted
                retract(store, conversation, header_of(tip).id, "", author=PERSON, branch="main")

    def change(self, store: Repository, conversation: ConversationId, action: str, text: str) -> None:
        """Change something of a conversation, if it is there to be changed."""
        metadata = read_metadata(store, conversation)
        tips = list_branch_tips(store, conversation)
        others = sorted(name for name in tips if name != "main" and "/" not in name)
        if action == "branch" or (action == "same branch" and "idea" not in tips):
            name = "idea" if action == "same branch" else f"of-{text}"
            branch(store, conversation, name=name, start="main", switch=False)
        elif action == "rename" and others:
            rename_branch(store, conversation, others[self.written % len(others)], f"to-{text}")
        elif action == "drop" and others and others[0] != read_active_branch(store, conversation):
            delete_branch(store, conversation, others[0], force=True)
        elif action == "delete" and self.written % 3 == 0:
            delete(store, conversation)
        elif action in {"title", "no title"}:
            rename_title(store, conversation, text if action == "title" else "")
        elif action in {"tag", "same tag"} and (action == "tag" or "v1" not in metadata.tags):
            tag(store, conversation, "v1" if action == "same tag" else f"t-{text}", "main")
        elif action == "no tag" and metadata.tags:
            delete_tag(store, conversation, max(metadata.tags))

    def meet(self) -> None:
        """Let everybody pull, resolve and push until nobody has anything new for the others."""
        for _ in range(3 if self.has_purged else 2):
            for name in NAMES:
                for action in ("resolve", "fetch", "accept", "pull", "resolve", "push purged", "push"):
                    self.step(name, action)
        for name in NAMES:
            self.step(name, "pull")


def resolve_all(store: Repository, number: int) -> None:
    """Resolve all that has stopped on conflicts, by taking a side, and finish it."""
    for conversation in list_roots(store).values():
        for _ in range(20):
            waiting = list_in_progress(store, conversation)
            if not waiting:
                break
            for conflict in list_conflicts_of(store, waiting[0]):
                if conflict.status == "open":
                    resolve_conflict(store, conversation, conflict.id, take=SIDES[number % 2], author=PERSON)
            (continue_rebase if waiting[0].kind == "rebase" else continue_merge)(store, conversation)


@contextmanager
def losing(when: str, call: int):
    """Lose the connection at a call of git, before it does anything or after it has done all of it."""
    original, left = git_transport.start_limited, [call]

    @contextmanager
    def start_limited(*words, **options):
        left[0] -= 1
        is_lost = left[0] == 0
        if is_lost and when != "lost after":
            raise Inaccessible("the connection was lost")
        with original(*words, **options) as finish:

            def wait():
                done = finish()
                if is_lost:
                    raise Inaccessible("the connection was lost")
                return done

            yield wait

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git_transport, "start_limited", start_limited)
        yield


def kill_at(call: int, act) -> None:
    """Do something in a child process that is killed at a change of a file, or when git is to be started."""
    child = os.fork()
    if child == 0:
        left = [call]

        def ends_here(original):
            def wrapped(*words, **options):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*words, **options)

            return wrapped

        try:
            for name in ("link", "rename", "unlink", "mkdir"):
                setattr(os, name, ends_here(getattr(os, name)))
            git_transport.start_limited = ends_here(git_transport.start_limited)
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def branches_of(store: Repository) -> set[tuple[str, str]]:
    """Return roots and ids of all branches."""
    return {(root, each) for root, tips in tips_of(store).items() for each in tips}


def tips_of(store: Repository) -> dict[str, dict[str, str]]:
    """Return the tips of all branches by root and by id of the branch, which are the same everywhere."""
    return {root: tips_by_id(store, name) for root, name in list_roots(store).items()}


def tips_by_id(store: Repository, conversation: ConversationId) -> dict[str, str]:
    """Return the tips of a conversation by the ids of the branches; those of conflicts stay on their machine."""
    entries = read_metadata(store, conversation).branches
    tips = {
        name: tip for name, tip in list_branch_tips(store, conversation).items() if not name.startswith("conflict-")
    }
    return {branch_id(name, entries.get(name)): tip for name, tip in tips.items()}


def metadata_of(store: Repository) -> dict[str, str]:
    """Return the metadata of all conversations as they go to other machines, by their roots."""
    commits = {root: store.find_ref(f"refs/scopes/meta/{name}") for root, name in list_roots(store).items()}
    return {root: shared_tree(store, commit) for root, commit in commits.items()}


def subjects_of(store: Repository) -> set[str]:
    """Return the texts of all messages."""
    tips = [tip for branches in tips_of(store).values() for tip in branches.values()]
    return {commit.subject for commit in walk_newest_first(store, tips)}


def assert_equal(world: World) -> None:
    """Check that all machines have the same, but for what each of them has deleted."""
    stores = {name: world.open(name) for name in NAMES}
    tips = {name: tips_of(store) for name, store in stores.items()}
    for root, key in set.union(*map(branches_of, stores.values())):
        having = {name: tips[name][root][key] for name in NAMES if key in tips[name].get(root, {})}
        assert len(set(having.values())) == 1, (root, key, having)
        for name in {*NAMES} - {*having}:  # it has deleted the branch, or the whole conversation before it was made
            gone = {each for each in world.removed[name] if each[0] == root}
            assert (root, key) in gone or (gone and root not in tips[name]), (root, key, having)
    metadata = [metadata_of(store) for store in stores.values()]
    for root in set.intersection(*map(set, metadata)):
        assert len({each[root] for each in metadata}) == 1, root


def play(steps: list[tuple[str, str, tuple[str, int] | None]]) -> None:
    """Do the steps, let everybody meet, and check that all have the same and that nothing is damaged."""
    directory = tempfile.mkdtemp()
    try:
        world = World(directory)
        for step in steps:
            world.step(*step)
        world.meet()
        assert_equal(world)
        for name in NAMES:
            store = world.open(name)
            assert_sound(store)
            if not any(world.removed.values()):
                assert world.texts <= subjects_of(store)
        for path in world.list_repositories():
            assert git(path, "fsck", "--strict", "--no-dangling") == ""
    finally:
        shutil.rmtree(directory)


@settings(max_examples=examples(2), deadline=None)
@given(STEPS)
def test_everybody_has_everything_in_the_end(steps):
    play(steps)


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@settings(max_examples=50, deadline=None)
@given(STEPS)
def test_everybody_has_everything_in_the_end_of_many_plans(steps):
    play(steps)


@pytest.mark.slow
@pytest.mark.parametrize("order", [NAMES, NAMES[::-1], (*NAMES[1:], NAMES[0])], ids="-".join)
def test_the_order_of_pushes_does_not_matter_for_branches_of_ones_own(tmp_path, order):
    world = World(str(tmp_path))
    world.step("ann", "new")
    world.step("ann", "push")
    for name in NAMES:
        world.step(name, "fetch")
        world.step(name, "branch")
    for name in order:
        world.step(name, "push")
    for name in NAMES:
        world.step(name, "fetch")
    found = [tips_of(open_store(store)) for store in world.stores.values()]
    assert found[0] == found[1] == found[2]
    assert len(next(iter(found[0].values()))) == 4


@pytest.mark.slow
def test_two_amendments_of_one_message_are_an_ordinary_conflict(tmp_path):
    world = World(str(tmp_path))
    for name, action in (("ann", "new"), ("ann", "push"), ("ben", "fetch"), ("ann", "amend"), ("ben", "amend")):
        world.step(name, action)
    world.step("ann", "push")
    ben = world.open("ben")
    pulled = pull(ben, resolve_remote(ben, None), Selection(), connection())
    assert [(each.state, each.conflicts) for each in pulled.branches] == [("conflict", 1)]
    assert pulled.exit_code == 3
    (waiting,) = list_in_progress(ben, "conv-001")
    assert [conflict.type for conflict in list_conflicts_of(ben, waiting)] == ["edit-edit"]
    world.meet()
    assert_equal(world)
    amended = [subjects_of(world.open(name)) for name in NAMES]
    assert all({"ann-4", "ben-5"} <= each for each in amended)
