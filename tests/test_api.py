"""The Python API: the operations of the command line as objects."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scopes
from scopes.conversation.merge import MergeConflicted, Merged
from scopes.errors import Ambiguous, Invalid, NotFound
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

ROOT = Path(__file__).parent.parent


@pytest.fixture
def store(tmp_path):
    return scopes.open_store(
        tmp_path / "store.git", create=True, author="carol", settings={"scopes.durability": "fast"}
    )


@pytest.fixture
def talk(store):
    """A conversation of two messages."""
    conversation = store.new("Login fails on Safari")
    conversation.append("Why does the login fail?", author="carol")
    conversation.append("The cookie is set twice.", author="agent1", kind="answer")
    return conversation


def texts(messages):
    return [message.text for message in messages]


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch):
    """The README's Python block is run as it is printed there."""
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    transcript = ROOT / "tests" / "faults" / "transcript.jsonl"
    (tmp_path / "run.jsonl").write_bytes(transcript.read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})


def test_importing_scopes_loads_nothing_of_it():
    """The command line starts with the same import."""
    code = "import sys, scopes; print([m for m in sys.modules if m.startswith('scopes.') or m == 'pygit2'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_name_of_the_api_can_be_loaded_and_others_cannot():
    assert [name for name in scopes.__all__ if getattr(scopes, name, None) is None] == []
    assert dir(scopes) == sorted(scopes.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = scopes.nothing


def test_the_package_is_typed():
    assert (ROOT / "scopes" / "py.typed").exists()


def test_a_log_is_read_newest_first_or_oldest_first(talk):
    assert texts(talk.log()) == ["The cookie is set twice.", "Why does the login fail?"]
    assert texts(talk.log(oldest_first=True)) == ["Why does the login fail?", "The cookie is set twice."]
    assert texts(talk.log(limit=1)) == ["The cookie is set twice."]


def test_conversations_are_listed_and_found_by_prefix(store, talk):
    assert [(row.id, row.title) for row in store.list().conversations] == [("conv-001", "Login fails on Safari")]
    assert store.conversation("conv-0") == talk
    assert list(store.conversations()) == [talk]
    assert talk.title == "Login fails on Safari"
    assert [branch.name for branch in talk.branches()] == ["main"]
    assert talk.show().title == "Login fails on Safari"


def test_the_objects_of_the_api_are_the_core_objects(store, talk):
    """One object model: what the API returns is what the operations resolve names with."""
    assert isinstance(store, scopes.Store)
    assert isinstance(talk, scopes.Conversation)
    assert isinstance(talk.branch(), scopes.Branch)
    assert isinstance(talk.branch().revision, scopes.Revision)
    assert isinstance(store.read_message(talk.branch().revision), scopes.Message)


def test_no_two_public_classes_of_the_object_model_share_a_name():
    api, handles = importlib.import_module("scopes.api"), importlib.import_module("scopes.history.handles")
    shared = [name for name in vars(api) if isinstance(getattr(handles, name, None), type)]
    assert [name for name in shared if getattr(api, name) is not getattr(handles, name)] == []


def test_a_branch_leads_back_to_its_conversation(store, talk):
    assert store.branch("conv-001/main").conversation == talk
    assert [message.text for message in talk.branch().messages()] == texts(talk.log())


def test_the_settings_of_contexts_apply(tmp_path):
    """A context has the limits of the settings, as that of the command line."""
    settings = {"scopes.durability": "fast", "scopes.tightBudget": "600"}
    conversation = scopes.open_store(tmp_path / "store.git", create=True, settings=settings).new()
    conversation.append("hello")
    assert any("600" in warning for warning in conversation.context(max_tokens=500).warnings)


def test_the_default_author_is_that_of_the_store(store):
    conversation = store.new()
    conversation.append("hello")
    assert [message.author.name for message in conversation.log()] == ["carol"]


def test_a_branch_without_conflicts_is_merged(talk):
    talk.create_branch(purpose="analysis", agent="bob")
    talk.append("A token would do.", author="bob")
    talk.append("Let us try.", branch="main")
    assert isinstance(talk.merge("analysis/bob", target="main"), Merged)
    assert "A token would do." in texts(talk.log("main"))


def test_contradicting_decisions_are_a_result_and_no_exception(talk):
    talk.create_branch("alt")
    for branch, decision in (("main", "jwt"), ("alt", "sessions")):
        document = {"topic": "auth", "decision": decision}
        talk.append("decided", author=branch, kind="decision", branch=branch, decision=document)
    outcome = talk.merge("alt", target="main")
    assert isinstance(outcome, MergeConflicted)
    assert [row.conflict.key for row in talk.conflicts().conflicts] == ["decisions/auth"]


def test_two_branches_are_compared(talk):
    talk.create_branch("alt")
    talk.append("only here")
    difference = talk.diff("main", "alt")
    assert [head.subject for head in difference.only_right] == ["only here"]


def test_messages_are_found_by_words(store, talk):
    found = store.search("cookie")
    assert [hit.head.author for hit in found.items if hasattr(hit, "head")] == ["agent1"]


def test_a_context_does_not_exceed_max_tokens(talk):
    made = talk.context(max_tokens=500)
    assert "The cookie is set twice." in made.formatted_history
    assert made.tokens_used <= 500


def test_a_context_has_the_default_budget_of_the_command_line(talk):
    assert talk.context().max_tokens == 8000
    assert talk.context(task="login cookie").max_tokens == 4000
    assert talk.context(model="gpt-4o").max_tokens == 76_800  # 60 % of the window


def test_a_transcript_is_imported_once(store):
    path = ROOT / "tests" / "faults" / "transcript.jsonl"
    assert sum(row.new_messages for row in store.import_file(path).conversations) > 0
    assert sum(row.new_messages for row in store.import_file(path).conversations) == 0


def test_undo_reverts_an_operation(store, talk):
    talk.create_branch("alt")
    store.undo()
    assert [branch.name for branch in talk.branches()] == ["main"]


def test_undo_takes_back_an_append_and_redo_puts_it_back(store, talk):
    talk.append("oops")
    assert store.undo(dry_run=True).target.kind == "append"
    assert store.undo(conversation=talk.id).target.summary.endswith("'oops' (1 message)")
    assert store.redo().redo
    assert store.undo(any_actor=True).target.details["messages"]


def test_a_message_is_read_by_its_revision(store, talk):
    assert store.message("conv-001/main~1").message.text == "Why does the login fail?"


def test_errors_are_those_of_the_command_line(store, talk, tmp_path):
    store.new(id="conv-002")
    with pytest.raises(NotFound):
        store.conversation("nothing")
    with pytest.raises(Ambiguous):
        store.conversation("conv-0")
    with pytest.raises(Invalid):
        talk.append("x", kind="decision", decision={})
    with pytest.raises(scopes.ScopesError):
        scopes.open_store(tmp_path / "elsewhere.git")
