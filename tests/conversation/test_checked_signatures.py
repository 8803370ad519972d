"""`log`, `show` and `cat --show-signature`, and `verify --signatures`."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.show import cat, show
from scopes.conversation.verify import (
    verify,
    verify_signatures,
    with_signatures,
)
from scopes.history.messages import write_message_blob, write_message_commit
from scopes.ids import Oid
from scopes.model.message import Author, Message
from scopes.render.view import ViewOptions
from scopes.store.objects import COMMIT, read_data
from tests.cli.running import PRODUCT, scopes
from tests.render.rendering import seen_lines
from tests.render.with_options import WithOptions
from tests.support.history import history
from tests.support.signing_keys import configure, sign_with_ssh, with_signer
from tests.support.store import git, move


@pytest.fixture
def home(tmp_path, monkeypatch, repository):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(path))
    sign_with_ssh(path)
    with_signer(repository, path)
    return path


@pytest.fixture
def merged(repository, home):
    history(repository, "main: a b c", "fix@b: d e")
    return merge(repository, "conv-001", "fix", target="main").tip


def states(repository, home):
    done = with_signatures(repository, log(repository, "conv-001"), str(home))
    return [None if entry.signature is None else entry.signature.state for entry in done.items]


def test_a_log_has_the_signature_of_the_merge_and_none_of_other_messages(repository, home, merged):
    assert states(repository, home) == ["good", None, None, None, None, None]


def test_all_signatures_of_a_store_are_checked(repository, home, merged):
    done = verify_signatures(repository, str(home))
    assert [(row.oid, row.state, row.signer) for row in done.signatures] == [(merged, "good", "carol@example.com")]
    assert (done.exit_code, done.notes) == (0, ())


def test_the_author_and_the_id_of_a_signed_message_are_shown_with_its_signer(repository, home, merged):
    [row] = verify_signatures(repository, str(home)).signatures
    head = next(iter(log(repository, "conv-001").items)).head
    assert (row.author, row.message) == (head.author, head.id)
    done = scopes("--store", repository.path, "verify", "--signatures", table=PRODUCT)
    assert done.stdout.rstrip("\n").split("\t")[2::3] == ["carol@example.com", head.author]
    assert scopes("--store", repository.path, "cat", row.message, table=PRODUCT).returncode == 0


def test_a_signature_that_is_not_good_makes_the_command_fail(repository, home, merged):
    data = read_data(repository, Oid(merged), COMMIT)
    forged = repository.write(COMMIT, data.replace(b"Merge 2 messages", b"Merge 3 messages"))
    move(repository, ("refs/heads/conv-001/forged", None, forged))
    done = verify_signatures(repository, str(home))
    assert sorted(row.state for row in done.signatures) == ["bad", "good"]
    assert done.exit_code == 1


def test_without_a_list_of_trusted_keys_a_note_names_it(repository, home, merged):
    git(repository, "config", "--file", f"{home}/.gitconfig", "--unset", "gpg.ssh.allowedSignersFile")
    done = verify_signatures(repository, str(home))
    assert [row.state for row in done.signatures] == ["unknown key"]
    assert ("allowedSignersFile" in (done.notes[0].hint or ""), done.exit_code) == (True, 1)


def test_a_store_without_signatures_passes(repository, home):
    history(repository, "main: a b")
    done = verify_signatures(repository, str(home))
    assert (done.signatures, done.exit_code, done.commits > 1) == ((), 0, True)


def unsigned(repository, home, **options):
    done = verify_signatures(repository, str(home), **options)
    return [row.what for row in done.unsigned], done.exit_code


@pytest.fixture
def unsigned_merge(repository, home):
    """Merge without a signature, as a stranger does who has taken it away."""
    repository.caller = repository.caller._replace(sign=bytes)
    history(repository, "main: a b c", "fix@b: d e")
    return merge(repository, "conv-001", "fix", target="main").tip


def test_a_merge_without_a_signature_is_named_and_passes_unless_signatures_are_required(
    repository, home, unsigned_merge
):
    assert unsigned(repository, home) == (["merge"], 0)
    assert unsigned(repository, home, required=True) == (["merge"], 1)
    done = verify_signatures(repository, str(home))
    assert done.unsigned[0].oid == unsigned_merge
    assert done.notes[-1].text.endswith("where git does: 1 merge")
    assert "--signatures=all" in done.notes[-1].hint


def test_messages_that_scopes_does_not_sign_are_not_missed(repository, home):
    history(repository, "main: a b")
    assert unsigned(repository, home, required=True) == ([], 0)


def test_a_resolution_of_a_person_is_missed_and_other_notices_are_not(repository, home):
    repository.caller = repository.caller._replace(sign=bytes)
    made = history(repository, "main: a")
    tip = Oid(made.oids["a"])
    for number, extra in enumerate(({}, {"conflict": {"key": "x"}})):
        notice = Message(id="ab"[number] * 26, kind="notice", parts=(), author=Author("carol", "human"), extra=extra)
        tip = write_message_commit(repository, tip, notice, write_message_blob(repository, notice))
    move(repository, ("refs/heads/conv-001/decided", None, tip))
    assert unsigned(repository, home, required=True) == (["resolution"], 1)


def test_the_command_line_fails_if_a_required_signature_is_missing(repository, home, unsigned_merge):
    run = lambda *words: scopes("--store", repository.path, "verify", *words, table=PRODUCT)  # noqa: E731
    assert run("--signatures").returncode == 0
    done = run("--signatures=all")
    assert (done.returncode, f"{unsigned_merge}\tnot signed" in done.stdout) == (1, True)
    assert run("--signatures=some").returncode == 2


def test_a_store_with_signatures_is_sound(repository, home, merged):
    assert verify(repository).sound


def test_packed_signatures_are_good_too(repository, home, merged):
    git(repository, "repack", "-a", "-d", "-q")
    repository.close()
    assert states(repository, home)[0] == "good"


def test_the_command_line_signs_and_shows_it(repository, home, tmp_path):
    history(repository, "main: a b c", "fix@b: d e")
    run = lambda *words, **env: scopes("--store", repository.path, *words, table=PRODUCT, env=env)  # noqa: E731
    assert run("merge", "conv-001", "fix", "--target", "main").returncode == 0
    shown = run("show", "conv-001", "-n", "1", "--show-signature", "--json")
    assert json.loads(shown.stdout)["recent"][0]["signature"]["state"] == "good"
    checked = run("verify", "--signatures", "--json")
    assert (checked.returncode, len(json.loads(checked.stdout)["signatures"])) == (0, 1)


def test_the_command_line_does_not_merge_what_it_cannot_sign(repository, home):
    history(repository, "main: a b c", "fix@b: d e")
    configure(home, user_signingkey=f"{home}/none.pub")
    run = lambda *words, **env: scopes("--store", repository.path, *words, table=PRODUCT, env=env)  # noqa: E731
    failed = run("merge", "conv-001", "fix", "--target", "main")
    assert (failed.returncode, "nothing was written" in failed.stderr) == (1, True)
    assert run("merge", "conv-001", "fix", "--target", "main", SCOPES_SIGN_COMMITS="false").returncode == 0
    assert verify_signatures(repository, str(home)).signatures == ()


def test_show_has_the_signatures_of_the_recent_messages(repository, home, merged):
    seen = with_signatures(repository, show(repository, "conv-001", recent=2), str(home))
    assert [each.signature and each.signature.state for each in seen.recent] == [None, "good"]


def test_cat_has_the_signature_of_its_message_and_none_of_another_one(repository, home, merged):
    one, other = (cat(repository, name, conversation="conv-001") for name in ("main", "main~1"))
    assert with_signatures(repository, one, str(home)).signature.signer == "carol@example.com"
    assert with_signatures(repository, other, str(home)).signature is None


def test_a_forged_message_is_bad_in_show_and_cat(repository, home, merged):
    data = read_data(repository, Oid(merged), COMMIT)
    forged = repository.write(COMMIT, data.replace(b"Merge 2 messages", b"Merge 3 messages"))
    move(repository, ("refs/heads/conv-001/forged", None, forged))
    assert with_signatures(repository, cat(repository, "conv-001/forged"), str(home)).signature.state == "bad"
    seen = with_signatures(repository, show(repository, "conv-001/forged", recent=1), str(home))
    assert seen.recent[0].signature.state == "bad"


def test_the_command_line_shows_signatures_of_a_conversation_and_of_a_message(repository, merged):
    run = lambda *words: scopes("--store", repository.path, *words, "--show-signature", table=PRODUCT)  # noqa: E731
    assert "  Signed: good by carol@example.com" in run("show", "conv-001").stdout
    recent = json.loads(run("show", "conv-001", "--json").stdout)["recent"]
    assert [each.get("signature", {}).get("state") for each in recent] == [None, None, "good"]
    message = cat(repository, "conv-001/main").head.id
    assert json.loads(run("show", message, "--json").stdout)["signature"]["state"] == "good"
    assert "Signed: no\n" in run("show", "conv-001/main~1").stdout


def test_both_checks_at_once_are_refused(repository, home):
    done = scopes("--store", repository.path, "verify", "--signatures", "x", table=PRODUCT)
    assert (done.returncode, "cannot be combined" in done.stderr) == (2, True)


def test_one_line_of_a_log_has_the_signature_too(repository, home, merged):
    done = with_signatures(repository, log(repository, "conv-001"), str(home))
    lines = seen_lines(WithOptions(done, ViewOptions(oneline=True)))
    assert [number for number, line in enumerate(lines) if "[good by carol@" in line] == [0]


def test_a_decision_without_text_is_shown_with_what_was_decided(repository, home, merged):
    payload = {"decision": "sqlite", "topic": "db"}
    decided = Message(id="a" * 26, kind="decision", parts=(), author=Author("carol", "human"), payload=payload)
    tip = write_message_commit(repository, Oid(merged), decided, write_message_blob(repository, decided))
    move(repository, ("refs/heads/conv-001/decided", None, tip))
    rows = verify_signatures(repository, str(home), required=True)
    shown = [row.subject for row in (*rows.signatures, *rows.unsigned)]
    assert "decision: sqlite · topic: db" in shown
    assert "(no text)" not in shown


def test_the_note_of_a_check_that_requires_signatures_does_not_name_itself(repository, home, unsigned_merge):
    (note,) = verify_signatures(repository, str(home), required=True).notes
    assert "--signatures=all" not in note.hint


def test_a_list_of_trusted_keys_that_does_not_exist_is_named_in_a_note(repository, home, merged):
    configure(home, gpg_ssh_allowedSignersFile=f"{home}/none")
    note = verify_signatures(repository, str(home)).notes[0]
    assert note.text.endswith(f"there is no file {home}/none")
    assert "allowedSignersFile" in note.hint


def test_a_terminal_does_not_say_that_all_is_good_if_a_required_signature_is_missing(repository, home, merged):
    repository.caller = repository.caller._replace(sign=bytes)
    history(repository, "main: a b c", "fix@b: d e")
    merge(repository, "conv-002", "fix", target="main")
    for required, last in ((True, "those that are there are good: "), (False, "all good: ")):
        done = verify_signatures(repository, str(home), required=required)
        assert done.exit_code == required
        assert seen_lines(done, 300)[-1].startswith(f"{last}1 signature in ")
