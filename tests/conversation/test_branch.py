"""`branch`: create a branch at any message, or list the branches."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon, branch, default_branch_name, list_branches, switch, tag
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import list_operations
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.model.conversation import PURPOSES
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def test_a_branch_starts_at_the_active_tip_and_becomes_active(repository):
    """S4-2."""
    drawn = history(repository, "main: a b", "fix: c")
    switch(repository, "conv-001", "fix")
    made = branch(repository, "conv-001", purpose="analysis", agent="carol")
    assert (made.tip, made.parent, made.active) == (drawn.oids["c"], "fix", True)
    assert read_active_branch(repository, drawn.conversation) == made.name
    assert texts(repository, "conv-001") == ["a", "b", "c"]


def test_a_branch_has_the_message_at_which_it_begins_unless_that_is_the_tip(repository):
    drawn = history(repository, "main: a b")
    assert branch(repository, "conv-001", start="main~1", name="before").start == drawn.ids["a"]
    assert branch(repository, "conv-001", start="main", name="now").start is None


@pytest.mark.parametrize(
    ("start", "word", "parent"),
    [
        ("main", "c", "main"), ("main~1", "b", "main"), ("conv-001/main~2", "a", "main"), ("fix", "d", "fix"),
        ("fi~1", "b", "fix"), ("v1", "a", "main"), ("a", "a", "main"), ("d", "d", "main"), ("conv-001", "c", "main"),
    ],
)  # fmt: skip
def test_a_branch_can_start_at_any_message(repository, start, word, parent):
    """S4-2: a branch, a revision, a tag, a message id, a commit id."""
    drawn = history(repository, "main: a b c", "fix@b: d")
    tag(repository, "conv-001", "v1", "main~2")
    made = branch(repository, "conv-001", name="new", start=drawn.ids.get(start, start))
    assert (made.tip, made.parent) == (drawn.oids[word], parent)
    assert list_branch_tips(repository, drawn.conversation)["new"] == drawn.oids[word]


def test_a_branch_can_start_at_the_root(repository):
    drawn = history(repository, "main: a")
    assert branch(repository, "conv-001", name="fresh", start="main~1").tip == drawn.root
    say(repository, "conv-001", "z")
    assert texts(repository, "conv-001/fresh") == ["z"]
    new(repository)
    assert branch(repository, "conv-002", name="also").active


def test_the_active_branch_is_kept_on_request(repository):
    """S4-2."""
    drawn = history(repository, "main: a")
    assert not branch(repository, "conv-001", name="fix", switch=False).active
    assert read_active_branch(repository, drawn.conversation) == "main"


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize(
    "spell", [str, str.upper, str.title, lambda text: text.replace("-", "_"), lambda text: f" {text} "]
)
def test_a_purpose_ignores_case_and_accepts_dash_or_underscore(repository, purpose, spell):
    """S4-3."""
    history(repository, "main: a")
    assert branch(repository, "conv-001", purpose=spell(purpose), agent="a").purpose == purpose


@pytest.mark.parametrize("purpose", ["", "debug", "analysis2", "alternative solution", "analys\u0131s"])
def test_an_unknown_purpose_is_refused_with_the_list_of_purposes(repository, purpose):
    """S4-3: exit 2."""
    history(repository, "main: a")
    with pytest.raises(Invalid, match="is not a valid branch purpose") as refusal:
        branch(repository, "conv-001", purpose=purpose, agent="a")
    assert refusal.value.exit_code == 2
    assert all(known in refusal.value.hint for known in PURPOSES)


def test_the_default_branch_name_is_purpose_and_agent_and_is_unique(repository):
    """S4-4."""
    history(repository, "main: a")
    made = [branch(repository, "conv-001", purpose="analysis", agent="Code Analyzer").name for _ in range(3)]
    assert made == ["analysis/code-analyzer", "analysis/code-analyzer-2", "analysis/code-analyzer-3"]
    assert branch(repository, "conv-001", purpose="Verification").name == "verification/agent"
    assert branch(repository, "conv-001", agent="carol").name == "branch/carol"
    assert branch(repository, "conv-001", agent="Zoë X").name == "branch/zoe-x"
    assert branch(repository, "conv-001").name == "branch/agent"
    assert branch(repository, "conv-001", start="main").name == "branch/agent-2"


@pytest.mark.parametrize(
    ("agent", "name"), [("日本", "agent"), ("Ünï", "uni"), ("a/b", "a-b"), ("x" * 60, "x" * 60), ("v1.2", "v1.2")]
)
def test_the_default_branch_name_uses_the_slug_of_the_agent(agent, name):
    assert default_branch_name([], "analysis", agent) == f"analysis/{name}"


@pytest.mark.parametrize("agent", ["con", "HEAD", "build.lock", "a..b", "x" * 200, "x" * 99 + ".y"])
def test_an_agent_whose_slug_is_not_a_valid_ref_still_gets_a_branch(repository, agent):
    """S4-4."""
    history(repository, "main: a")
    made = [branch(repository, "conv-001", purpose="alternative-solution", agent=agent).name for _ in range(2)]
    assert len(set(made)) == 2
    assert all(name.startswith("alternative-solution/") for name in made)


def test_purpose_and_agent_are_stored_with_the_branch(repository):
    """S4-4."""
    drawn = history(repository, "main: a")
    made = branch(repository, "conv-001", purpose="COLLABORATION", agent="Dave D.", name="x")
    entry = read_metadata(repository, drawn.conversation).branches[made.name]
    assert (entry.purpose, entry.agent, entry.parent, entry.fork) == (
        "collaboration",
        "Dave D.",
        "main",
        drawn.oids["a"],
    )
    assert entry.created.startswith("2026-01-01T")
    assert entry.status == "active"


def test_branching_writes_no_message_and_moves_no_other_branch(repository):
    """S4-6."""
    history(repository, "main: a b", "fix@a: c")
    before = refs(repository)
    made = branch(repository, "conv-001", name="new")
    added = {"refs/heads/conv-001/new": made.tip}
    moved = {name for name, value in refs(repository).items() if before.get(name) != value} - set(added)
    assert moved == {"refs/scopes/meta/conv-001", "refs/scopes/active/conv-001"}
    assert refs(repository)["refs/heads/conv-001/new"] in before.values()


def test_a_taken_branch_name_is_refused_and_nothing_changes(repository):
    drawn = history(repository, "main: a", "fix: b")
    before = refs(repository)
    with pytest.raises(Refused, match="branch 'fix' already exists in conv-001") as refusal:
        branch(repository, "conv-001", name="fix")
    assert refusal.value.hint == "choose another name"
    assert refs(repository) == before
    assert list_branch_tips(repository, drawn.conversation)["fix"] == drawn.oids["b"]


@pytest.mark.parametrize(
    ("first", "second"), [("fix", "fix/a"), ("fix/a", "fix"), ("fix/a", "fix/a/b"), ("fix", "Fix"), ("Ä", "ä")]
)
def test_branch_names_that_conflict_as_paths_are_refused(repository, first, second):
    """A-5: no file-system-shaped error."""
    history(repository, "main: a")
    branch(repository, "conv-001", name=first)
    before = refs(repository)
    with pytest.raises(Invalid, match="cannot exist together with") as refusal:
        branch(repository, "conv-001", name=second)
    assert "upper and lower case" in refusal.value.hint
    assert refs(repository) == before


@pytest.mark.parametrize("start", ["nope", "main~9", "conv-002/main", "v9", "zzzzzz"])
def test_an_unknown_start_is_refused(repository, start):
    history(repository, "main: a")
    with pytest.raises(NotFound) as refusal:
        branch(repository, "conv-001", name="new", start=start)
    assert refusal.value.hint


def test_an_ambiguous_start_is_refused(repository):
    """S4-55."""
    history(repository, "main: a", "fix-1:", "fix-2:")
    with pytest.raises(Ambiguous, match="fix-1, fix-2"):
        branch(repository, "conv-001", name="new", start="fix")


def test_an_empty_start_is_refused(repository):
    """An unset variable of a script must not mean the tip."""
    history(repository, "main: a")
    with pytest.raises(Invalid, match="the message is not named"):
        branch(repository, "conv-001", name="new", start="")


def test_a_blank_agent_name_is_refused(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="an author needs a name"):
        branch(repository, "conv-001", purpose="analysis", agent=" ")


def test_branching_is_one_operation(repository):
    history(repository, "main: a")
    made = branch(repository, "conv-001", name="fix")
    last = list_operations(repository).operations[0]
    assert (last.id, last.kind, last.summary) == (made.operation, "branch", "create conv-001/fix")


def test_git_lists_the_branch(repository):
    history(repository, "main: a b", "fix@a: c")
    assert git(repository, "log", "--format=%s", "conv-001/fix") == "c\na\nConversation begins\n"
    assert git(repository, "merge-base", "conv-001/main", "conv-001/fix") == git(
        repository, "rev-parse", "conv-001/main~1"
    )


def test_abandoned_branches_are_listed_only_on_request(repository):
    """S4-8."""
    history(repository, "main: a", "fix:", "old:")
    abandon(repository, "conv-001", "old")
    assert [b.name for b in list_branches(repository, "conv").branches] == ["main", "fix"]
    assert [b.name for b in list_branches(repository, "conv", include_hidden=True).branches] == ["main", "fix", "old"]
