"""No secret reaches a remote: planted in every place that a push sends, of every kind and in every form."""

from __future__ import annotations

import typing

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.new_rename_delete import new, rename_title
from scopes.errors import Invalid
from scopes.history.messages import plain_message, read_below, write_commit_over, write_message_blob
from scopes.history.names import list_branch_tips
from scopes.history.transaction import RefTransaction
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.allow import allow, disallow
from scopes.secrets.gates import gate_of
from scopes.secrets.scan import scan
from scopes.store.objects import COMMIT, Identity, format_commit, read_commit, update_tree
from scopes.store.refs import branch_ref, meta_ref
from scopes.store.transactions import exclusive_write
from scopes.sync.outgoing import Outgoing, plan_push
from tests.secret_scan.test_clearance import calls_of
from tests.support.history import history, say
from tests.support.planted import FORMS, KINDS, leaked_parts
from tests.support.remotes import add, clone_to, push_to
from tests.support.store import git

TOKEN, KEY = KINDS[1][1], KINDS[10][1]
CALL = {"type": "tool_call", "name": "Bash", "call_id": "1"}


def in_message(store, conversation, secret):
    say(store, conversation, f"one\nuse {secret} please")


def in_tool_input(store, conversation, secret):
    parts = [{**CALL, "input": {"command": f"curl -H 'X: {secret}' https://h.io"}}]
    say(store, conversation, "", author={"name": "bot", "kind": "agent"}, parts=parts)


def in_tool_output(store, conversation, secret):
    parts = [{"type": "tool_result", "call_id": "1", "content": {"stdout": [f"KEY={secret}\n"]}}]
    say(store, conversation, "", author={"name": "bot", "kind": "agent"}, parts=parts)


def in_title(store, conversation, secret):
    rename_title(store, conversation, f"Login with {secret}")


def in_branch(store, conversation, secret):
    branch(store, conversation, name=f"fix/{secret}")


def in_tag(store, conversation, secret):
    tag(store, conversation, secret, "main")


def in_author(store, conversation, secret):
    say(store, conversation, "hello", author=secret)


def in_recipient(store, conversation, secret):
    say(store, conversation, "hello", to=[secret])


def in_decision(store, conversation, secret):
    say(store, conversation, "", kind="decision", decision={"topic": f"key {secret}", "decision": "keep it"})


def in_directory_of_a_file(store, conversation, secret):
    say(store, conversation, "", parts=[{"type": "file_ref", "path": f"/srv/{secret}/a.py", "op": "create"}])


PLACES = {
    each.__name__.removeprefix("in_").replace("_", " "): each
    for each in (
        in_message, in_tool_input, in_tool_output, in_title, in_branch, in_tag, in_author, in_recipient, in_decision,
        in_directory_of_a_file,
    )
}  # fmt: skip


def index_of(store):
    """Return the directory of the search index."""
    return f"{store.path}-index"


def scan_all(store):
    """Scan the whole store."""
    return scan(store, index_directory=index_of(store))


def everything_of(bare):
    """Return all objects and refs of a repository."""
    return git(bare, "cat-file", "--batch-all-objects", "--batch") + git(bare, "for-each-ref")


@pytest.fixture
def store(repository, bare):
    """A store that knows the remote."""
    add(repository, bare)
    return repository


@pytest.mark.parametrize("place", PLACES)
def test_no_kind_of_secret_leaves_from_any_place(store, bare, place):
    """A branch, a tag and a name cannot have some characters, so a few kinds cannot be there."""
    planted = {}
    for kind, secret in KINDS:
        conversation = new(store).id
        try:
            PLACES[place](store, conversation, secret)
        except Invalid:
            continue
        planted[conversation] = (kind, secret)
    assert len(planted) == len(KINDS) or (place in {"branch", "tag", "author", "recipient"} and len(planted) > 20)
    pushed = push_to(store, *planted)
    rows = {row.conversation: row for row in pushed.conversations}
    for conversation, (kind, secret) in planted.items():
        assert (rows[conversation].status, kind in rows[conversation].reason) == ("refused", True), kind
        assert leaked_parts(kind, secret, str(pushed)) == [], kind
    assert (pushed.exit_code, everything_of(bare)) == (1, "")


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_in_a_tool_input_leaves(store, bare, form):
    for _, secret in KINDS:
        in_tool_input(store, new(store).id, FORMS[form](secret))
    pushed = push_to(store)
    assert {row.status for row in pushed.conversations} == {"refused"}
    assert len(pushed.conversations) == len(KINDS)
    assert everything_of(bare) == ""


def test_a_refusal_names_message_line_rule_and_id_and_says_what_to_do(store):
    drawn = history(store, "main: a")
    in_message(store, drawn.conversation, TOKEN)
    message = read_commit(store, list_branch_tips(store, drawn.conversation)["main"]).message_id
    found = scan_all(store).secrets[0]
    pushed = push_to(store)
    where = f"message {message}, line 2: github-token ({found.id[:8]})"
    assert pushed.conversations[0].reason == f"a possible secret would leave the store: {where}"
    assert "scopes secrets allow ID" in pushed.notes[0].hint
    assert "the same push with --secrets allow" in pushed.notes[0].hint


def test_the_other_conversations_are_pushed(store, bare):
    history(store, "main: a")
    in_message(store, new(store).id, TOKEN)
    history(store, "main: b")
    assert [row.status for row in push_to(store).conversations] == ["new", "refused", "new"]
    assert len(git(bare, "for-each-ref").splitlines()) == 2
    assert TOKEN not in everything_of(bare)


def test_a_secret_on_any_branch_and_below_the_tip_is_found(store, bare):
    history(store, "main: a b", "fix@a: c")
    in_message(store, "conv-001/fix", TOKEN)
    say(store, "conv-001/fix", "on top")
    assert push_to(store).conversations[0].status == "refused"
    assert everything_of(bare) == ""


def test_a_secret_that_comes_later_is_found_and_what_is_there_stays(store, bare):
    history(store, "main: a b")
    push_to(store)
    before = everything_of(bare)
    in_message(store, "conv-001", TOKEN)
    assert push_to(store).conversations[0].status == "refused"
    assert everything_of(bare) == before


def test_secrets_leave_once_if_they_are_let(store, bare, tmp_path):
    in_message(store, new(store).id, TOKEN)
    assert push_to(store, allow_secrets=True).conversations[0].status == "new"
    assert clone_to(tmp_path / "other", bare).fetched.conversations[0].status == "new"
    in_message(store, "conv-001", KEY)
    refused = push_to(store).conversations[0]
    assert ("stripe-key" in refused.reason, "github-token" in refused.reason) == (True, False)


def test_what_is_allowed_leaves_for_good_and_nothing_else(store, bare):
    in_message(store, new(store).id, TOKEN)
    in_message(store, "conv-001", KEY)
    found = {row.rule: row.id for row in scan_all(store).secrets}
    allow(store, found["github-token"], index_directory=index_of(store))
    assert "github-token" not in push_to(store).conversations[0].reason
    allow(store, found["stripe-key"], index_directory=index_of(store))
    assert push_to(store).conversations[0].status == "new"
    disallow(store, found["github-token"])
    in_message(store, "conv-001", TOKEN)
    assert push_to(store).conversations[0].status == "refused"


@pytest.mark.parametrize("words", [0, 30, 44, 51, 55, 59, 62])
def test_an_allowed_secret_leaves_where_the_subject_and_the_title_cut_it(store, words):
    """The part in the subject has another id, which nobody could allow."""
    text = "all these words are quite ordinary " * 3
    for _, secret in KINDS:
        conversation = new(store).id
        say(store, conversation, f"{text[:words]} {secret} now")
        rename_title(store, conversation, f"{text[:words]} {secret} now"[:72])
    rows = scan_all(store).secrets
    for name in {row.id for row in rows if row.message}:
        allow(store, name, index_directory=index_of(store))
    pushed = push_to(store)
    assert {row.reason for row in pushed.conversations} == {None}


def test_an_allowed_key_of_several_lines_leaves_with_the_subject_that_has_it_on_one(store):
    body = "".join(f"{'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zC' * 2}\n" for _ in range(5))
    conversation = new(store).id
    say(store, conversation, f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}-----END OPENSSH PRIVATE KEY-----")
    assert "private-key" in push_to(store, conversation).conversations[0].reason
    for name in {row.id for row in scan_all(store).secrets if row.field.startswith("parts")}:
        allow(store, name, index_directory=index_of(store))
    assert push_to(store, conversation).conversations[0].reason is None


def test_a_title_with_the_beginning_of_a_secret_that_is_nowhere_else_does_not_leave(store, bare):
    history(store, "main: a")
    rename_title(store, "conv-001", f"{'the words of a prompt ' * 3}{TOKEN}"[:80])
    assert TOKEN[:12] in git(store, "show", "refs/scopes/meta/conv-001:title")
    assert "the title, line 1: github-token" in push_to(store).conversations[0].reason
    assert everything_of(bare) == ""


def commit_with(store, conversation, text, subject, author="carol"):
    """Put a message on main whose commit has another subject, as no scopes writes it, and return its id."""
    [tip] = list_branch_tips(store, conversation).values()
    message = plain_message("carol", text)
    made = read_commit(
        store, write_commit_over(store, (tip,), message, write_message_blob(store, message), None, time=5)
    )
    data = format_commit(
        tree=made.tree,
        parents=(tip,),
        author=Identity(author, "carol@humans.scopes"),
        time=5,
        subject=subject,
        trailers=[("Scopes-Message", message.id), ("Scopes-Kind", "plain")],
    )
    with exclusive_write(store):
        tx = RefTransaction(store)
        tx.move_ref(branch_ref(conversation, "main"), tip, store.write(COMMIT, data))
        tx.commit("test", "a commit")
    return message.id


@pytest.mark.parametrize("subject", [f"use {TOKEN}", f"{'w ' * 30}{TOKEN}"[:72]], ids=["whole", "cut"])
def test_a_subject_with_a_secret_that_the_message_lacks_does_not_leave(store, bare, subject):
    history(store, "main: a")
    commit_with(store, "conv-001", "nothing here", subject)
    assert "github-token" in push_to(store).conversations[0].reason
    assert everything_of(bare) == ""


def test_a_secret_in_the_head_of_a_commit_does_not_leave(store, bare):
    history(store, "main: a")
    commit_with(store, "conv-001", "b", "b", author=TOKEN)
    assert "github-token" in push_to(store).conversations[0].reason
    assert everything_of(bare) == ""


@pytest.mark.parametrize(
    "text",
    ["w " * 34 + "password=pages/user/settings/index.html", "w " * 31 + "sk-learn-pipeline-for-the-tests.ipynb is new"],
)
def test_a_subject_that_cuts_what_is_no_secret_leaves(store, text):
    """Its end could be the beginning of a secret, but the message has the whole of it."""
    say(store, new(store).id, text)
    assert push_to(store).conversations[0].reason is None


@pytest.mark.parametrize("below_is_there", [False, True])
def test_a_secret_in_a_state_that_no_message_has_does_not_leave(store, bare, below_is_there):
    drawn = history(store, "main: a")
    tip = drawn.oids["a"]
    if below_is_there:
        push_to(store)
    before = everything_of(bare)
    message = plain_message("carol", "b")
    state = update_tree(
        store, read_below(store, tip).state, {"decisions/auth=": f'{{"decision":"{TOKEN}"}}\n'.encode()}
    )
    commit = write_commit_over(store, (tip,), message, write_message_blob(store, message), state, time=5)
    with exclusive_write(store):
        tx = RefTransaction(store)
        tx.move_ref(branch_ref("conv-001", "main"), tip, commit)
        tx.commit("test", "a state")
    assert "github-token" in push_to(store).conversations[0].reason
    assert everything_of(bare) == before


def test_a_secret_in_a_file_that_no_scopes_puts_there_does_not_leave(store, bare):
    drawn = history(store, "main: a")
    tip = read_commit(store, drawn.oids["a"])
    tree = update_tree(store, tip.tree, {"notes.txt": TOKEN.encode()})
    data = format_commit(tree=tree, parents=(tip.oid,), author=tip.author, time=5, subject="(no text)")
    with exclusive_write(store):
        tx = RefTransaction(store)
        tx.move_ref(branch_ref("conv-001", "main"), tip.oid, store.write(COMMIT, data))
        tx.commit("test", "a file")
    assert "github-token" in push_to(store).conversations[0].reason
    assert everything_of(bare) == ""


def test_the_metadata_that_were_before_do_not_leave(store, bare):
    """A title that was changed stays in the history of the metadata, which is local."""
    history(store, "main: a")
    rename_title(store, "conv-001", f"Login with {TOKEN}")
    rename_title(store, "conv-001", "Login")
    assert push_to(store).conversations[0].status == "new"
    assert TOKEN not in everything_of(bare)
    assert TOKEN in git(store, "log", "-p", meta_ref("conv-001"))


def test_what_is_pushed_is_what_was_cleared(store):
    history(store, "main: a")
    outgoing = plan_push(store, "origin", "conv-001", store)
    other = replace_title(outgoing, TOKEN)
    cleared = gate_of(store, "refuse").clear(b"{}", "x")
    with pytest.raises(ValueError, match="was not cleared"):
        outgoing.write(store, cleared)
    with pytest.raises(ValueError, match="was not cleared"):
        other.write(store, cleared)


def replace_title(outgoing, title):
    return outgoing._replace(manifest=outgoing.manifest._replace(title=title))


def test_a_push_takes_nothing_but_what_was_cleared():
    """Mypy holds the callers to these types."""
    assert typing.get_type_hints(Outgoing.write)["cleared"] is Cleared
    assert calls_of("write_manifest") == {"scopes/sync/outgoing.py"}
    assert calls_of("clear_for_push") == {
        f"scopes/sync/{name}.py" for name in ("member_push", "bundles", "delete_on_remote")
    }


def test_ids_of_secrets_stay_in_the_store(store, bare):
    """Neither the key nor the allow-list is pushed."""
    in_message(store, new(store).id, TOKEN)
    found = scan_all(store).secrets[0].id
    allow(store, found, index_directory=index_of(store))
    push_to(store)
    assert found not in everything_of(bare)
    assert found in git(store, "ls-tree", "-r", "--name-only", "refs/scopes/secrets")


def test_of_a_gate_that_allows_nothing_is_read(store):
    in_message(store, new(store).id, TOKEN)
    gate = Gate("allow", lambda rule, value: pytest.fail(f"{rule} was looked for in {len(value)} characters"))
    from scopes.sync.clearance import clear_for_push

    assert clear_for_push(store, store, plan_push(store, "origin", "conv-001", store), gate).data


@pytest.mark.parametrize("place", [0, 1, 2, 6])
def test_a_secret_in_one_of_many_commits_is_named_with_its_message(store, bare, monkeypatch, place):
    """Commits are searched together, and one by one only if something may be in them."""
    monkeypatch.setattr("scopes.sync.clearance._AT_ONCE", 500)  # bytes: three messages
    history(store, "main: a")
    for number in range(7):
        if number == place:
            commit_with(store, "conv-001", f"c{number}", f"use {TOKEN}")
        else:
            commit_with(store, "conv-001", f"c{number}", f"c{number}")
    (row,) = push_to(store).conversations
    assert row.status == "refused"
    assert row.reason.count("github-token") == 1
    assert TOKEN not in row.reason


def test_of_a_conversation_without_secrets_no_text_is_looked_at_closely(store, bare, monkeypatch):
    """All of it is searched at once; only if that finds something, each text is."""
    looked = []
    monkeypatch.setattr(Gate, "inspect", lambda gate, data, place: looked.append(place))
    monkeypatch.setattr(Gate, "inspect_text", lambda gate, text, place: looked.append(place))
    monkeypatch.setattr(Gate, "inspect_name", lambda gate, text, place: looked.append(place))
    history(store, "main: a b c", "other@b: d")
    assert {row.status for row in push_to(store).conversations} == {"new"}
    assert looked == []
