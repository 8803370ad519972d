"""Conversations with two branches that are made step by step, and their merge with or without kept digests."""

from __future__ import annotations

import shutil

from hypothesis import strategies as st

from scopes.conversation.append import retract
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.rebase import cherry_pick
from scopes.errors import ScopesError
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from tests.support.history import say
from tests.support.store import open_store

BRANCHES = "main", "alt"
COMMANDS = (
    "pytest -q", "go test ./...", "rm -f a.py", "rm old/b.py", "sed -i s/x/y/ a.py", "mv a.py c.py", "cd old", "ls",
)  # fmt: skip
QUESTION = "Which database?"
ids = st.sampled_from(["1", "2", "3"])
ops = st.one_of(
    st.tuples(st.just("call"), ids, st.sampled_from(COMMANDS)),
    st.tuples(st.just("result"), ids, st.sampled_from([0, 1])),
    st.tuples(st.just("run"), ids, st.sampled_from(COMMANDS)),
    st.tuples(st.just("prompt"), st.just(""), st.just("go on")),
    st.tuples(st.just("plan"), ids, st.sampled_from(["pending", "completed", "in_progress"])),
    st.tuples(st.just("answer"), ids, st.sampled_from(["SQLite", "Postgres"])),
    st.tuples(st.just("edit"), ids, st.sampled_from(["a.py", "old/b.py"])),
    st.tuples(st.just("decide"), st.just(""), st.sampled_from(["jwt", "cookies"])),
    st.tuples(st.just("retract"), st.just(""), st.just("")),
    st.tuples(st.just("merge"), st.just(""), st.just("")),
    st.tuples(st.just("pick"), st.just(""), st.just("")),
)
steps = st.tuples(st.sampled_from(BRANCHES), st.sampled_from(["claude", "codex"]), ops)


def draw(repository, drawn):
    """Make the conversation; a step that is refused is left out."""
    new(repository)
    say(repository, "conv-001", "make it work", author={"name": "carol", "kind": "human"}, kind="prompt")
    for step in drawn:
        act(repository, *step)


def act(repository, where, agent, step):
    name, call_id, value = step
    where = where if where in list_branch_tips(repository, "conv-001") else "main"
    place = f"conv-001/{where}"
    try:
        if name in MESSAGES:
            for fields in MESSAGES[name](f"call-{call_id}", value):
                author = {"name": "tool", "kind": "tool"} if fields.get("kind") == "tool-results" else agent
                say(repository, place, fields.pop("text", ""), author=author, **fields)
        elif name == "retract":
            target = list_branch_tips(repository, "conv-001")[where]
            retract(repository, "conv-001", target, "wrong", author=Author("carol", "human"), branch=where)
        elif name == "merge":
            merge(repository, "conv-001", "alt", target="main", options=MergeOptions(strategy="theirs"))
        elif name == "pick":
            cherry_pick(repository, "conv-001", [list_branch_tips(repository, "conv-001")["alt"]], branch="main")
    except (ScopesError, KeyError):  # nothing to retract, a conflict is open, or there is no other branch yet
        return


def call(call_id, name, given, **result):
    parts = [{"type": "tool_call", "call_id": call_id, "name": name, "input": given}]
    answer = {"type": "tool_result", "call_id": call_id, "output": "done", **result}
    return {"kind": "answer", "parts": parts}, {"kind": "tool-results", "parts": [answer]}


def plan(call_id, status):
    return call(call_id, "TodoWrite", {"todos": [{"content": "build it", "status": status}]})


def edit(call_id, path):
    made, result = call(call_id, "Edit", {"file_path": path, "old_string": "x", "new_string": call_id})
    return made, {**result, "files": [{"path": path, "op": "edit"}]}


MESSAGES = {
    "call": lambda call_id, command: call(call_id, "Bash", {"command": command})[:1],
    "result": lambda call_id, code: call(call_id, "Bash", {}, exit_code=code)[1:],
    "run": lambda call_id, command: call(call_id, "Bash", {"command": command}, exit_code=0),
    "prompt": lambda _, text: [{"text": text, "kind": "prompt"}],
    "plan": plan,
    "answer": lambda call_id, text: call(
        call_id, "AskUserQuestion", {"questions": []}, structured={"answers": {QUESTION: text}}
    ),
    "edit": edit,
    "decide": lambda _, word: [{"kind": "decision", "decision": {"topic": "auth", "decision": word}}],
}


def outcome(repository, directory, copy):
    """Merge in a copy of a store, in both directions, with what is kept in a directory (None: nothing)."""
    shutil.copytree(repository.path, copy)
    opened = open_store(copy)
    if directory is not None:
        opened.caller = opened.caller._replace(index_directory=directory)
    found = []
    for source, target in (BRANCHES, BRANCHES[::-1]):
        found.append(merged(opened, source, target, dry_run=True))
    found.append(merged(opened, "alt", "main"))
    shutil.rmtree(copy)
    return found


def merged(repository, source, target, **options):
    try:
        found = merge(repository, "conv-001", source, target=target, **options)
    except ScopesError as error:
        return str(error)
    return [getattr(found, name) for name in found.__dataclass_fields__ if name != "operation"], type(found)
