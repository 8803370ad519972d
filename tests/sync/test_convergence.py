"""Three machines that append, branch, push, fetch and pull in any order have the same conversations in the end."""

from __future__ import annotations

import shutil
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.amend import amend
from scopes.conversation.branch import branch
from scopes.conversation.rename import rename_branch, rename_title
from scopes.conversation.tag import delete_tag, tag
from scopes.history.messages import header_of
from scopes.history.metadata import read_metadata
from scopes.history.revisions import list_branch_tips
from scopes.ids import BranchName, ConversationId
from scopes.model.conversation import branch_id
from scopes.model.message import Author
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.sync.join import shared_tree
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.remotes import connection, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store

NAMES = ("ann", "ben", "cid")
CHANGES = ("branch", "same branch", "rename", "title", "no title", "tag", "same tag", "no tag", "amend")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(("say", "say", "new", "push", "push", "fetch", "pull", *CHANGES)),
    ),
    min_size=4,
    max_size=16,
)


class World:
    """A bare repository and three stores; every message has a text of its own."""

    def __init__(self, directory: str) -> None:
        self.bare = make_bare(f"{directory}/bare.git")
        self.stores = {name: machine(f"{directory}/{name}", self.bare, name) for name in NAMES}
        self.written = 0
        self.texts: set[str] = set()

    def step(self, name: str, action: str) -> None:
        """Do one thing on one machine, in a store that is opened for it."""
        store = open_store(self.stores[name], actor=name)
        conversations = sorted(list_roots(store).values())
        self.written += 1
        text = f"{name}-{self.written}"
        if action == "new" or (action == "say" and not conversations):
            history(store, f"main: {text}", author=name)
            self.texts.add(text)
        elif action == "say":
            names = [each for each in list_branch_tips(store, conversations[-1]) if "/" not in each]
            say(store, f"{conversations[-1]}/{names[self.written % len(names)]}", text, author=name)
            self.texts.add(text)
        elif action in CHANGES and conversations:
            self.change(store, conversations[-1], action, text)
        elif action == "push" and conversations:
            assert {row.status for row in push_to(store).conversations} <= {"new", "updated", "unchanged"}
        elif action == "fetch":
            fetch_from(store)
        elif action == "pull":
            pull(store, resolve_remote(store, None), Selection(), connection())

    def change(self, store: Repository, conversation: ConversationId, action: str, text: str) -> None:
        """Change something of a conversation, if it is there to be changed."""
        metadata = read_metadata(store, conversation)
        tips = list_branch_tips(store, conversation)
        others = sorted(tips.keys() - {"main"})
        if action == "branch" or (action == "same branch" and "idea" not in tips):
            name = "idea" if action == "same branch" else f"of-{text}"
            branch(store, conversation, name=name, start="main", switch=False)
        elif action == "rename" and others:
            rename_branch(store, conversation, others[self.written % len(others)], f"to-{text}")
        elif action in {"title", "no title"}:
            rename_title(store, conversation, text if action == "title" else "")
        elif action in {"tag", "same tag"} and (action == "tag" or "v1" not in metadata.tags):
            tag(store, conversation, "v1" if action == "same tag" else f"t-{text}", "main")
        elif action == "no tag" and metadata.tags:
            delete_tag(store, conversation, max(metadata.tags))
        elif action == "amend":
            tip = read_commit(store, tips[BranchName("main")])
            if tip.kind == "plain" and tip.author.name == text.partition("-")[0]:  # else two may amend one message
                amend(store, conversation, header_of(tip).id, text, author=Author("carol", "human"), branch="main")

    def meet(self) -> None:
        """Let everybody pull and push until nobody has anything new for the others."""
        for _ in range(2):
            for name in NAMES:
                self.step(name, "pull")
                self.step(name, "push")
        for name in NAMES:
            self.step(name, "pull")


def tips_of(store: Repository) -> dict[str, dict[str, str]]:
    """Return the tips of all branches by root and by id of the branch, which are the same everywhere."""
    return {root: tips_by_id(store, name) for root, name in list_roots(store).items()}


def tips_by_id(store: Repository, conversation: ConversationId) -> dict[str, str]:
    """Return the tips of a conversation by the ids of the branches."""
    entries = read_metadata(store, conversation).branches
    return {branch_id(name, entries.get(name)): tip for name, tip in list_branch_tips(store, conversation).items()}


def metadata_of(store: Repository) -> dict[str, str]:
    """Return the metadata of all conversations as they go to other machines, by their roots."""
    commits = {root: store.find_ref(f"refs/scopes/meta/{name}") for root, name in list_roots(store).items()}
    return {root: shared_tree(store, commit) for root, commit in commits.items()}


def subjects_of(store: Repository) -> set[str]:
    """Return the texts of all messages."""
    tips = [tip for branches in tips_of(store).values() for tip in branches.values()]
    return {commit.subject for commit in walk_newest_first(store, tips)}


@settings(max_examples=examples(60))
@given(STEPS)
def test_everybody_has_everything_in_the_end(steps):
    directory = tempfile.mkdtemp()
    try:
        world = World(directory)
        for name, action in steps:
            world.step(name, action)
        world.meet()
        stores = [open_store(store) for store in world.stores.values()]
        first, second, third = map(tips_of, stores)
        assert first == second == third
        first, second, third = map(metadata_of, stores)
        assert first == second == third
        for store in stores:
            assert world.texts <= subjects_of(store)
            assert_sound(store)
        assert git(world.bare, "fsck", "--strict", "--no-dangling") == ""
    finally:
        shutil.rmtree(directory)


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
