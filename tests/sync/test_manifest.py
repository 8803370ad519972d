"""The manifest of a conversation is a function of what it was made of, and is read with every field checked."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import rename_title
from scopes.errors import Corrupt, SecretsFound, TooNew
from scopes.ids import ConversationId, parse_branch_name
from scopes.model.conversation import Manifest, ManifestBranch, branch_id, decode_manifest, encode_manifest, tips_of
from scopes.secrets.gates import gate_of
from scopes.store.objects import read_commit
from scopes.sync.clearance import clear_for_push
from scopes.sync.manifest import is_manifest, read_manifest, write_manifest
from scopes.sync.names import month_of, parse_remote_ref, project_digest
from scopes.sync.outgoing import plan_push
from tests.support.history import history, say
from tests.support.planted import KINDS, leaked_parts
from tests.support.store import NOON, write_message

TIPS = ("1" * 40, "2" * 40)
MANIFEST = Manifest(
    "Login", "0123456789ab", "2026-01-01T12:00:00.000Z", "2026-01-02T12:00:00Z",
    {"name:fix": ManifestBranch("fix", TIPS[0], 3), "name:main": ManifestBranch("main", TIPS[1], 2)},
)  # fmt: skip


def test_a_manifest_is_read_as_it_was_written():
    assert decode_manifest(encode_manifest(MANIFEST)) == MANIFEST
    assert decode_manifest(encode_manifest(MANIFEST._replace(title=None))).title is None
    described = MANIFEST._replace(title=None, prompt="fix the login", messages=4)
    assert decode_manifest(encode_manifest(described)) == described


def test_a_manifest_is_one_line_of_canonical_json():
    data = encode_manifest(MANIFEST._replace(title=None, branches={"name:fix": MANIFEST.branches["name:fix"]}))
    assert data == (
        b'{"branches":{"name:fix":{"count":3,"name":"fix","tip":"' + b"1" * 40 + b'"}},"created":'
        b'"2026-01-01T12:00:00.000Z","newest":"2026-01-02T12:00:00Z","project":"0123456789ab","v":1}\n'
    )


def test_a_newer_manifest_says_so_and_another_one_is_damaged():
    with pytest.raises(TooNew):
        decode_manifest(b'{"v":2}\n')
    with pytest.raises(Corrupt):
        decode_manifest(b'{"v":1}\n')


@pytest.mark.parametrize("field", [{"prompt": "x" * 201}, {"messages": -1}, {"messages": True}, {"messages": "3"}])
@pytest.mark.cases(4)
def test_a_prompt_that_is_too_long_and_a_count_that_is_none_are_damage(field):
    with pytest.raises(Corrupt):
        decode_manifest(encode_manifest(MANIFEST._replace(**field)))


def test_the_parents_are_the_manifest_before_and_the_tips_by_branch_id(repository):
    tips = [write_message(repository, text) for text in ("a", "b")]
    branches = {"name:b": ManifestBranch("b", tips[0], 1), "name:a": ManifestBranch("a", tips[1], 1)}
    manifest = MANIFEST._replace(branches={**branches, "name:c": ManifestBranch("c", tips[0], 1)})
    first = write_manifest(repository, manifest, None, None, NOON)
    second = write_manifest(repository, manifest, None, first, NOON)
    assert read_commit(repository, first).parents == (tips[1], tips[0]) == tips_of(manifest.branches)
    assert read_commit(repository, second).parents == (first, tips[1], tips[0])
    assert (read_manifest(repository, second).previous, read_manifest(repository, first).previous) == (first, None)
    assert is_manifest(read_commit(repository, first))


def test_a_message_is_not_a_manifest(repository):
    with pytest.raises(Corrupt, match="not the manifest"):
        read_manifest(repository, write_message(repository, "a"))


def test_a_manifest_counts_the_messages_of_every_branch(ours):
    say(ours, "conv-001/fix", "d")
    planned = plan_push(ours, "origin", "conv-001", ours)
    assert {branch.name: branch.messages for branch in planned.manifest.branches.values()} == {"main": 2, "fix": 3}
    assert (planned.new_messages, planned.is_new, planned.previous) == (4, True, None)


def test_two_plans_of_the_same_are_the_same_commit(ours):
    plans = [plan_push(ours, "origin", "conv-001", ours) for _ in range(2)]
    first, second = (plan.write(ours, clear_for_push(ours, ours, plan, gate_of(ours, "refuse"))) for plan in plans)
    assert first == second


def test_a_manifest_has_a_title_or_the_beginning_of_the_first_prompt_and_the_number_of_messages(repository):
    words = "please fix " + "the login page " * 10
    conversation = create_with(repository, words)
    planned = plan_push(repository, "origin", conversation, repository).manifest
    assert planned.prompt == words[:71].rstrip() + "…"
    assert (planned.title, planned.messages) == (None, 1)
    rename_title(repository, conversation, "Login")
    planned = plan_push(repository, "origin", conversation, repository).manifest
    assert (planned.title, planned.prompt) == ("Login", None)


def test_messages_that_branches_share_are_counted_once(ours):
    say(ours, "conv-001/fix", "d")
    assert plan_push(ours, "origin", "conv-001", ours).manifest.messages == 4


@pytest.mark.parametrize("before", ["", "word " * 10, "word " * 12])
@pytest.mark.cases(3)
def test_a_secret_in_the_first_prompt_is_masked_in_the_manifest_before_it_is_cut(repository, before):
    """Also if it may leave: a part of it would have no id that could be allowed."""
    secret = dict(KINDS)["github-token"]
    conversation = create_with(repository, f"{before}use {secret} to log in")
    planned = plan_push(repository, "origin", conversation, repository)
    assert planned.manifest.prompt is not None
    assert leaked_parts("github-token", secret, planned.manifest.prompt) == []
    with pytest.raises(SecretsFound) as caught:
        clear_for_push(repository, repository, planned, gate_of(repository, "refuse"))
    assert "the first prompt" not in caught.value.message
    assert clear_for_push(repository, repository, planned, gate_of(repository, "allow")).data == planned.encoded


def create_with(repository, text):
    """Create a conversation that begins with a message, and return its id."""
    conversation = ConversationId("conv-009")
    history(repository, "main:", conversation=conversation)
    say(repository, conversation, text)
    return conversation


def test_a_conversation_with_a_merge_is_counted_once(repository):
    history(repository, "main: a", "fix: b")
    say(repository, "conv-001/main", "c")
    merge(repository, "conv-001", source="fix", target="main")
    planned = plan_push(repository, "origin", "conv-001", repository)
    assert planned.manifest.branches["name:main"].messages == 4


def test_the_name_on_a_remote_is_a_function_of_the_root(repository):
    drawn = history(repository, "main: a")
    name = plan_push(repository, "origin", "conv-001", repository).name
    assert (
        name.ref
        == f"refs/scopes/v1/c/{project_digest(None)}/{month_of(read_commit(repository, drawn.root))}/{drawn.root}"
    )
    assert parse_remote_ref(name.ref) == name
    assert (project_digest(None), project_digest("/home/carol")) == ("140bedbf9c3f", project_digest("/home/carol"))


@pytest.mark.parametrize("name", ["main", "a/b", "é"])
def test_the_id_of_a_branch_is_its_name(name):
    assert branch_id(parse_branch_name(name), None) == f"name:{name}"
