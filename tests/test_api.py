"""The Python API: the operations of the command line as objects."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scopes
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

ROOT = Path(__file__).parent.parent
PROGRAM = (ROOT / "tests" / "typed_program.py").read_text() + "conversation.append(1)\n"


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


def test_a_store_is_opened_and_listed_without_heavy_libraries(tmp_path, store, talk):
    """What a verb needs is imported at its first call."""
    code = (
        "import sys, scopes\n"
        f"store = scopes.open_store({store.path!r})\n"
        "assert store.list().conversations[0].title == 'Login fails on Safari'\n"
        "assert [message.text for message in store.conversation('conv-001').log(limit=1)]\n"
        "heavy = ('pydantic', 'tiktoken', 'rich', 'typer', 'scopes.context', 'scopes.importers', 'scopes.exporters')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


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
    assert isinstance(store.message(talk.branch().revision.oid).message, scopes.Message)


def test_no_two_public_classes_of_the_object_model_share_a_name():
    """The classes of the API extend those of the same object below it, which are not exported."""
    handles = {
        name
        for owner in (scopes.Store, scopes.Conversation, scopes.Branch)
        for name in (base.__name__ for base in owner.__mro__)
    }
    assert {name for name in handles if name.endswith("Handle")} == {
        "StoreHandle",
        "ConversationHandle",
        "BranchHandle",
    }
    api, handles = importlib.import_module("scopes.api.store"), importlib.import_module("scopes.history.handles")
    shared = [name for name in vars(api) if isinstance(getattr(handles, name, None), type)]
    assert [name for name in shared if getattr(api, name) is not getattr(handles, name)] == []


def test_a_branch_leads_back_to_its_conversation(store, talk):
    assert store.branch("conv-001/main").conversation == talk
    assert {branch.conversation for branch in (talk.branch(), talk.active_branch, *talk.branches())} == {talk}
    assert all(type(branch) is scopes.Branch for branch in (store.branch("conv-001"), *talk.branches()))
    store.branch("conv-001").conversation.append("by way of the branch")
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
    assert [message.author for message in conversation.log()] == [scopes.Author("carol", "human")]


def test_a_branch_without_conflicts_is_merged(talk):
    talk.create_branch(purpose="analysis", agent="bob")
    talk.append("A token would do.", author="bob")
    talk.append("Let us try.", branch="main")
    assert isinstance(talk.merge("analysis/bob", target="main"), scopes.Merged)
    assert "A token would do." in texts(talk.log("main"))


def test_contradicting_decisions_are_a_result_and_no_exception(talk):
    talk.create_branch("alt")
    for branch, decision in (("main", "jwt"), ("alt", "sessions")):
        document = {"topic": "auth", "decision": decision}
        talk.append("decided", author=branch, kind="decision", branch=branch, decision=document)
    outcome = talk.merge("alt", target="main")
    assert isinstance(outcome, scopes.MergeConflicted)
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
    with pytest.raises(scopes.NotFound):
        store.conversation("nothing")
    with pytest.raises(scopes.Ambiguous):
        store.conversation("conv-0")
    with pytest.raises(scopes.Invalid):
        talk.append("x", kind="decision", decision={})
    with pytest.raises(scopes.ScopesError):
        scopes.open_store(tmp_path / "elsewhere.git")


def test_a_name_is_an_agent_and_an_author_is_anybody(talk):
    """As `--as` of the command line."""
    talk.append("a", author="bot")
    talk.append("b", author=scopes.Author("dave", "human"))
    assert [message.author for message in talk.log(limit=2)] == [("dave", "human"), ("bot", "agent")]
    with pytest.raises(scopes.Invalid, match="not a valid author kind"):
        talk.append("c", author=scopes.Author("dave", "robot"))


def test_the_default_author_is_a_person_in_a_context_too(store):
    conversation = store.new()
    conversation.append("Why does it fail?")
    assert "User (carol)" in conversation.context().formatted_history


@pytest.mark.parametrize("author", [None, "carol", scopes.Author("bot")])
def test_the_author_of_the_store_is_a_human_or_any_author(tmp_path, author):
    made = scopes.open_store(tmp_path / "store.git", create=True, author=author).author
    assert made == {None: ("user", "human"), "carol": ("carol", "human")}.get(author, ("bot", "agent"))


def test_an_unknown_field_of_a_message_is_rejected(talk):
    with pytest.raises(TypeError, match="no field 'foo'"):
        talk.append("x", foo=1)
    with pytest.raises(scopes.Invalid, match="a message of kind plain has no field 'decision'"):
        talk.append("x", decision={"topic": "a", "decision": "b"})
    talk.append("x", to="dave", files=[{"path": "a.py", "op": "read"}], reply_to=next(talk.log()).id)
    assert next(talk.log()).files[0].path == "a.py"


def contradict(conversation):
    """Decide one topic in two ways on main and alt."""
    conversation.create_branch("alt")
    for branch, decision in (("main", "jwt"), ("alt", "sessions")):
        document = {"topic": "auth", "decision": decision}
        conversation.append("decided", author=branch, kind="decision", branch=branch, decision=document)


def test_a_merge_with_conflicts_is_finished_by_the_program(talk):
    contradict(talk)
    stopped = talk.merge("alt", target="main")
    assert talk.active_branch.name == stopped.branch
    with pytest.raises(scopes.Conflicted):
        talk.continue_merge()
    assert talk.conflict(1).row.conflict.key == "decisions/auth"
    assert talk.resolve(1, take="source", reason="simpler").remaining == 0
    done = talk.continue_merge()
    assert isinstance(done, scopes.Merged)
    assert (done.source, done.target) == ("alt", "main")
    assert [row.decision for row in talk.decisions().decisions if row.current] == ["sessions"]


def test_a_merge_with_conflicts_is_aborted_by_the_program(talk):
    contradict(talk)
    talk.switch("main")
    talk.merge("alt")
    assert talk.abort_merge().active_branch == "main"
    assert talk.conflicts().conflicts == ()


@pytest.mark.parametrize(("side", "decision"), [("ours", "jwt"), ("theirs", "sessions")])
def test_a_conflict_is_resolved_in_the_words_of_git_and_the_merge_continued(talk, side, decision):
    """Only the command line knew these words, and only it could continue."""
    contradict(talk)
    talk.merge("alt", target="main")
    done = talk.resolve(1, take=side, continue_after=True)
    assert done.conflict.resolution.choice == {"ours": "target", "theirs": "source"}[side]
    assert isinstance(done.continued, scopes.Merged)
    assert [row.decision for row in talk.decisions().decisions if row.current] == [decision]


@pytest.mark.parametrize("step", ["abort", "skip", "continue"])
@pytest.mark.parametrize("verb", ["rebase", "cherry_pick"])
def test_a_replay_with_conflicts_is_continued_skipped_or_aborted(talk, verb, step):
    contradict(talk)
    stopped = talk.rebase("main", branch="alt") if verb == "rebase" else talk.cherry_pick("alt", branch="main")
    assert isinstance(stopped, scopes.ReplayConflicted)
    if step == "continue":
        talk.resolve(1, take="target")
    done = getattr(talk, f"{step}_{verb}")()
    assert isinstance(done, scopes.ReplayAborted if step == "abort" else scopes.ReplayOutcome)
    assert talk.active_branch.name == "alt"


def test_a_message_is_amended_retracted_and_rewound(talk):
    first, second = [message.id for message in talk.log()][::-1]
    talk.amend(first, "Why does the login fail on Safari?")
    talk.retract(second, "wrong")
    assert next(talk.log()).author == ("carol", "human")
    talk.rewind(count=2)
    assert [message.id for message in talk.log()] == [second, first]
    talk.rewind(to=first)
    assert texts(talk.log()) == ["Why does the login fail?"]


def test_tags_files_changes_and_exports_are_those_of_the_command_line(talk):
    talk.append("I look.", files=[{"path": "a.py", "op": "read"}])
    talk.tag("good", "main~1")
    assert [name for name, _ in talk.tags().tags] == ["good"]
    talk.delete_tag("good")
    assert talk.tags().tags == ()
    assert [row.path for row in talk.files().files] == ["a.py"]
    assert [change.cause for change in talk.changes(field="messages")][:1] == ["agent:carol"]
    assert b"The cookie is set twice." in b"".join(talk.export().pieces)


def test_the_settings_of_the_environment_apply(tmp_path, monkeypatch):
    """As for the command line; values that the program sets take precedence."""
    monkeypatch.setenv("SCOPES_AUTHOR", "erin")
    monkeypatch.setenv("SCOPES_TIGHT_BUDGET", "600")
    monkeypatch.setenv("SCOPES_LOCK_TIMEOUT", "")
    store = scopes.open_store(tmp_path / "store.git", create=True)
    assert store.author == ("erin", "human")
    assert store.repository.config.find_integer("scopes.tightBudget", 500) == 600
    assert store.repository.config.find("scopes.lockTimeout") is None
    again = scopes.open_store(tmp_path / "store.git", settings={"scopes.tightBudget": "700"})
    assert again.repository.config.find_integer("scopes.tightBudget", 500) == 700


def test_a_closed_store_holds_no_file_and_can_be_used_again(tmp_path):
    path = tmp_path / "store.git"
    with scopes.open_store(path, create=True) as store:
        store.import_file(ROOT / "tests" / "faults" / "transcript.jsonl")
        conversation = store.conversation("conv-001")
        before = texts(conversation.log())
    assert str(path) not in Path("/proc/self/maps").read_text()
    assert [fd for fd in os.listdir("/proc/self/fd") if str(path) in os.path.realpath(f"/proc/self/fd/{fd}")] == []
    assert texts(conversation.log()) == before
    conversation.append("more")


def test_what_is_loaded_lazily_is_what_a_type_checker_sees():
    tree = ast.parse((ROOT / "scopes" / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    lazy = {name: module for module, names in scopes._MODULES.items() for name in names.split()}
    assert seen == lazy
    assert sorted([*lazy, "__version__"]) == sorted(scopes.__all__)


@pytest.mark.parametrize("owner", [scopes.Store, scopes.Conversation, scopes.Branch])
def test_every_class_that_a_method_returns_is_exported(owner):
    """Inherited ones too; ids are texts, and the repository belongs to the layers below the API."""
    members = [value for name, value in inspect.getmembers(owner) if name[0] != "_"]
    methods = [getattr(value, "fget", value) for value in members if inspect.isfunction(getattr(value, "fget", value))]
    returned = {word for method in methods for word in re.findall(r"[A-Z]\w+", method.__annotations__["return"])}
    known = {"Iterator", "Sequence", "None", "BranchName", "Oid", "Repository"}
    assert returned - known <= set(scopes.__all__)


@pytest.mark.sweep
def test_a_typed_program_can_use_every_name(tmp_path):
    """Mypy checks the program itself in every run of continuous integration; this takes mypy another half minute."""
    program = PROGRAM + "".join(f"reveal_type(scopes.{name})\n" for name in scopes.__all__)
    (tmp_path / "program.py").write_text(program)
    cache = ROOT / ".mypy_cache" / "api"  # of its own: other options make mypy discard what it finds
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", cache, "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ | {"MYPYPATH": str(ROOT)}
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.partition(": ")[2] for line in errors] == [
        'error: Argument 1 to "append" of "Conversation" has incompatible type "int"; expected "str"  [arg-type]'
    ]
    assert 'Revealed type is "Any"' not in done.stdout


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_message_is_refused_unless_it_has_other_content(store, text):
    conversation = store.new("x")
    with pytest.raises(scopes.Refused, match="the message is empty"):
        conversation.append(text)
    assert conversation.append(text, kind="decision", decision={"topic": "a", "decision": "b"})


@pytest.mark.parametrize("owner", [scopes.Store, scopes.Conversation])
def test_every_method_has_an_example_that_it_takes(owner):
    """The examples name methods, and options that these have."""
    for name, method in vars(owner).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        (example,) = re.findall(r"^ *>>> (.*)$", method.__doc__, re.MULTILINE)
        receiver = {"Store": "store", "Conversation": "talk"}[owner.__name__]
        calls = [node for node in ast.walk(ast.parse(example)) if isinstance(node, ast.Call)]
        call = next(call for call in calls if ast.unparse(call.func) == f"{receiver}.{name}")
        inspect.signature(method).bind(None, *call.args, **{each.arg: each.value for each in call.keywords})
