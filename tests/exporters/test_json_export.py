"""JSON exports: one document from which the history can be rebuilt, or one message per line."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.clock import new_id, now
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import new
from scopes.exporters.export import export
from scopes.history.messages import is_root, read_message_bytes
from scopes.history.names import list_branch_tips
from scopes.importers.import_sample import import_sample
from scopes.model.validation import RESERVED, check_message
from scopes.store.graph import walk_oldest_first
from tests.exporters.building import call, document, exported, join, message, point, put, result
from tests.support.examples import examples
from tests.support.history import history, say


def test_the_document_describes_the_conversation(repository):
    made = new(repository, title="Login", participants=("carol",))
    root = list_branch_tips(repository, "conv-001")["main"]
    head = document(repository)
    assert list(head) == ["scopes", "kind", "conversation", "messages"]
    assert (head["scopes"], head["kind"], head["messages"]) == (1, "export", [])
    conversation = head["conversation"]
    created = conversation.pop("created_at")
    assert conversation == {
        "id": "conv-001", "uuid": made.uuid, "title": "Login", "root": root, "participants": ["carol"],
        "branches": [{"name": "main", "tip": root, "fork": root, "status": "active", "created_at": created}],
    }  # fmt: skip


def test_a_message_is_its_stored_document_with_its_commit(repository):
    drawn = history(repository, "main: a b")
    stored = json.loads(read_message_bytes(repository, drawn.oids["b"]))
    place = {"oid": drawn.oids["b"], "parents": [drawn.ids["a"]], "parent_oids": [drawn.oids["a"]]}
    assert document(repository)["messages"][1] == {**stored, **place}
    assert document(repository)["messages"][0]["parents"] == []
    assert document(repository)["messages"][0]["parent_oids"] == [drawn.root]


def test_the_root_is_not_a_message(repository):
    drawn = history(repository, "main: a")
    assert document(repository)["conversation"]["root"] == drawn.root
    assert [each["kind"] for each in document(repository)["messages"]] == ["plain"]


def test_branches_have_fork_point_and_purpose(repository):
    drawn = history(repository, "main: a b")
    branch(repository, "conv-001", purpose="analysis", agent="reviewer", start=drawn.oids["a"], switch=False)
    appended = say(repository, "conv-001/analysis/reviewer", "c")
    all_rows = document(repository, all_branches=True)["conversation"]["branches"]
    assert [(row["name"], row["tip"]) for row in all_rows] == [
        ("main", drawn.oids["b"]),
        ("analysis/reviewer", appended.oid),
    ]
    row = all_rows[1]
    assert (row["parent"], row["fork"]) == ("main", drawn.oids["a"])
    assert (row["purpose"], row["agent"], row["status"]) == ("analysis", "reviewer", "active")


def test_only_exported_branches_are_listed(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    assert [row["name"] for row in document(repository, "conv-001/fix")["conversation"]["branches"]] == ["fix"]
    assert document(repository, "conv-001/main~1")["conversation"]["branches"][0]["tip"] == drawn.oids["a"]
    assert document(repository, drawn.ids["a"])["conversation"]["branches"] == []


def test_the_history_can_be_rebuilt(repository):
    """Every commit of every branch, with its parents."""
    drawn = history(repository, "main: a b", "fix@a: c d")
    merged = join(repository, drawn.oids["b"], drawn.oids["d"], message("m", "both"))
    point(repository, "main", merged)
    copied = message("e", "copied")
    put(repository, "main", merged, copied, message("f", "on the copy"))
    put(repository, "fix", drawn.oids["d"], copied)
    whole = document(repository, all_branches=True)
    places = [place for each in whole["messages"] for place in (each, *each.get("also_at", ()))]
    found = {place["oid"]: place["parent_oids"] for place in places}
    tips = list_branch_tips(repository, "conv-001").values()
    assert found == {c.oid: list(c.parents) for c in walk_oldest_first(repository, tips) if not is_root(c)}
    assert {row["tip"] for row in whole["conversation"]["branches"]} == set(tips)


def test_parents_come_before_children_and_ids_are_unique(repository):
    import_sample(repository)
    seen = set()
    for each in document(repository, all_branches=True)["messages"]:
        assert each["id"] not in seen
        assert seen >= set(each["parents"])
        seen.add(each["id"])


def test_a_message_with_two_commits_lists_both(repository):
    drawn = history(repository, "main: a b", "fix@a:")
    copied = message("c", "copied")
    first, second = put(repository, "main", drawn.oids["b"], copied), put(repository, "fix", drawn.oids["a"], copied)
    last = document(repository, all_branches=True)["messages"][-1]
    assert (last["oid"], last["parents"]) == (first, [drawn.ids["b"]])
    place = {"oid": second, "parents": [drawn.ids["a"]], "parent_oids": [drawn.oids["a"]]}
    assert last["also_at"] == [place]


def test_a_field_of_another_version_is_kept(repository):
    new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "main", root, message("b", "hi", extra={"mood": {"z": 1, "a": [0.5, None]}}))
    assert document(repository)["messages"][0]["mood"] == {"z": 1, "a": [0.5, None]}


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(),
    st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)),
)
def test_any_text_and_value_is_read_back(repository, text, value):
    if not repository.find_ref("refs/heads/conv-001/main"):
        new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "x", root, message("b", text, call("1", input=value), result("1", output=value)))
    appended = document(repository, "conv-001/x")["messages"][0]["parts"]
    assert [part for part in appended if part["type"] == "text"] == ([{"type": "text", "text": text}] if text else [])
    assert [part.get("input", part.get("output")) for part in appended if part["type"] != "text"] == [value, value]


def test_text_with_unpaired_surrogates_is_valid_json(repository):
    new(repository)
    say(repository, "conv-001", "half \ud800 and \udc80")
    assert document(repository)["messages"][0]["parts"][0]["text"] == "half \ud800 and \udc80"
    assert r"half \ud800 and \udc80" in exported(repository)


def test_each_message_is_one_line_and_one_piece(repository):
    """Memory is bounded by the largest message."""
    history(repository, "main: a b c")
    pieces = list(export(repository, "conv-001", format_name="json").pieces)
    assert [piece.count(b"\n") for piece in pieces] == [0, 1, 1, 1, 2]
    assert pieces[-1] == b"\n]}\n"


def json_lines(repository, where="conv-001", **options):
    """Return an export as parsed JSON."""
    return [json.loads(line) for line in exported(repository, where, "jsonl", **options).splitlines()]


def test_the_lines_are_the_messages_of_the_document(repository):
    import_sample(repository)
    assert json_lines(repository) == document(repository)["messages"]
    assert json_lines(repository, all_branches=True) == document(repository, all_branches=True)["messages"]


def test_a_conversation_without_messages_has_no_lines(repository):
    new(repository)
    assert exported(repository, format_name="jsonl") == ""


def test_only_a_newline_ends_a_line(repository):
    new(repository)
    text = "one\ntwo\u2028three\x85four\r"
    say(repository, "conv-001", text)
    whole = exported(repository, format_name="jsonl")
    assert (whole.count("\n"), json.loads(whole)["parts"][0]["text"]) == (1, text)


def test_the_lines_are_the_messages_of_the_log(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    logged = [entry.head.oid for entry in log(repository, "conv-001/fix", oldest_first=True).items]
    assert (
        [line["oid"] for line in json_lines(repository, "conv-001/fix")] == logged == [drawn.oids["a"], drawn.oids["c"]]
    )


def test_exported_lines_can_be_appended_as_new_messages(repository):
    """All fields survive except ids and commit fields."""
    import_sample(repository)
    new(repository)
    branch(repository, "conv-002", name="copy")
    for line in json_lines(repository):
        append(repository, "conv-002", check_message(line, message_id=new_id(), now=now()), branch="copy")
    own = {*RESERVED, "text"}
    given = [{k: v for k, v in line.items() if k not in own} for line in json_lines(repository)]
    assert [
        {k: v for k, v in line.items() if k not in own} for line in json_lines(repository, "conv-002/copy")
    ] == given


def test_a_message_cannot_forge_its_commit_fields(repository):
    new(repository)
    appended = say(repository, "conv-001", "x", oid="0" * 40, parents=["y"], parent_oids=["z"], also_at=[{}])
    (line,) = json_lines(repository)
    assert (line["oid"], line["parents"], "also_at" in line) == (appended.oid, [], False)
