"""Commits are signed with the programs and keys of the user's git, so that git agrees; nothing is written if that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time

import pytest

from scopes.errors import Refused
from scopes.ids import Oid
from scopes.model.operation import BAD, GOOD, UNKNOWN_KEY, UNTRUSTED
from scopes.store.git_program import Signer, add_signature, check_signatures, is_signed, read_signing_settings
from scopes.store.objects import COMMIT, format_commit, parse_commit, read_commit, read_data
from scopes.sync.exact_commits import without_signature
from tests.support.signing_keys import allow, configure, make_ssh_key, run, sign_with_ssh, signer, verify_commit
from tests.support.store import CAROL, NOON, assert_sound, git, make_branch, make_store, write_message

PLAIN = format_commit(tree=Oid("1" * 40), parents=[Oid("2" * 40)], author=CAROL, time=NOON, subject="a decision")
GPG = shutil.which("gpg")


@pytest.fixture
def home(tmp_path, monkeypatch):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.fixture
def gpg_home(home, monkeypatch):
    """A key of gpg; the socket of its agent needs a short path."""
    if GPG is None:
        pytest.skip("gpg is not installed")
    with tempfile.TemporaryDirectory(prefix="gpg", dir="/tmp") as short:
        monkeypatch.setenv("GNUPGHOME", short)
        run(GPG, "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", "Carol <carol@example.com>", "ed25519")
        configure(home, commit_gpgsign="true", user_name="Carol", user_email="carol@example.com")
        yield home
        run("gpgconf", "--kill", "all")


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def signed_commit(store, sign):
    plain = write_message(store, "a decision")
    data = sign(read_data(store, plain, COMMIT))
    return store.write(COMMIT, data)


def test_git_agrees_with_a_signature_of_an_ssh_key(store, home):
    sign_with_ssh(home)
    oid = signed_commit(store, signer(home).sign)
    code, text = verify_commit(store.path, home, oid)
    assert (code, 'Good "git" signature for carol@example.com' in text) == (0, True)
    assert check_signatures(store, [oid], str(home))[oid][:2] == (GOOD, "carol@example.com")
    assert not is_signed(without_signature(read_data(store, oid, COMMIT)))
    assert_sound(store)


def test_git_agrees_with_a_signature_of_gpg(store, gpg_home):
    oid = signed_commit(store, signer(gpg_home).sign)
    assert verify_commit(store.path, gpg_home, oid)[0] == 0
    assert check_signatures(store, [oid], str(gpg_home))[oid][:2] == (GOOD, "Carol <carol@example.com>")


def test_a_comment_of_gpg_is_not_in_the_commit_and_the_signature_is_good(store, gpg_home):
    with open(os.path.join(os.environ["GNUPGHOME"], "gpg.conf"), "w", encoding="utf-8") as file:
        file.write('comment "made by me"\nemit-version\n')
    oid = signed_commit(store, signer(gpg_home).sign)
    data = read_data(store, oid, COMMIT)
    assert (b"made by me" in data, is_signed(without_signature(data))) == (False, False)
    assert verify_commit(store.path, gpg_home, oid)[0] == 0


def test_a_key_of_gpg_that_nobody_trusts_is_never_good(store, gpg_home):
    oid = signed_commit(store, signer(gpg_home).sign)
    trust = run(GPG, "--export-ownertrust").decode().replace(":6:", ":2:")
    subprocess.run([GPG, "--import-ownertrust"], input=trust.encode(), check=True, capture_output=True)
    assert check_signatures(store, [oid], str(gpg_home))[oid].state == UNTRUSTED


def test_a_key_of_gpg_that_is_not_there_is_unknown(store, gpg_home, monkeypatch, tmp_path):
    oid = signed_commit(store, signer(gpg_home).sign)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(other))
    found = check_signatures(store, [oid], str(gpg_home))[oid]
    assert (found.state, found.signer) == (UNKNOWN_KEY, None)


def test_without_gpgsign_the_bytes_stay_the_same(store, home):
    configure(home, gpg_format="ssh", user_signingkey=make_ssh_key(home))
    assert signer(home).sign(PLAIN) == PLAIN


def test_the_choice_of_scopes_counts_before_that_of_git(home):
    key = make_ssh_key(home)
    configure(home, commit_gpgsign="false", gpg_format="ssh", user_signingkey=key)
    assert is_signed(Signer(str(home), terminal=False, choice=True).sign(PLAIN))
    configure(home, commit_gpgsign="true")
    assert not is_signed(Signer(str(home), terminal=False, choice=False).sign(PLAIN))


def test_the_configuration_of_a_project_makes_nobody_sign_and_names_no_program(home, tmp_path):
    project = tmp_path / "project"
    run("git", "init", "-q", str(project))
    marker = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    for key, value in (("commit.gpgsign", "true"), ("gpg.program", program), ("user.signingkey", "k")):
        run("git", "-C", str(project), "config", key, str(value))
    assert signer(project).sign(PLAIN) == PLAIN
    assert not marker.exists()


def test_a_condition_of_the_users_configuration_is_obeyed(home, tmp_path):
    project = tmp_path / "work" / "project"
    project.parent.mkdir()
    run("git", "init", "-q", str(project))
    (home / "work.config").write_text("[commit]\n\tgpgsign\n")
    (home / ".gitconfig").write_text(f'[includeIf "gitdir:{tmp_path}/work/"]\n\tpath = {home}/work.config\n')
    assert read_signing_settings(str(project)) == {"commit.gpgsign": "true"}
    assert read_signing_settings(str(home)) == {}


def test_a_changed_commit_has_a_bad_signature(store, home):
    sign_with_ssh(home)
    data = read_data(store, signed_commit(store, signer(home).sign), COMMIT)
    forged = store.write(COMMIT, data.replace(b"a decision", b"my decision"))
    assert check_signatures(store, [forged], str(home))[forged].state == BAD
    assert verify_commit(store.path, home, forged)[0] != 0


def test_an_ssh_key_that_is_in_no_list_is_unknown(store, home):
    key = make_ssh_key(home)
    configure(home, commit_gpgsign="true", gpg_format="ssh", user_signingkey=key)
    oid = signed_commit(store, signer(home).sign)
    without_list = check_signatures(store, [oid], str(home))[oid]
    allow(home, make_ssh_key(home, "other"))
    with_list = check_signatures(store, [oid], str(home))[oid]
    assert (without_list.state, with_list.state) == (UNKNOWN_KEY, UNKNOWN_KEY)
    assert (without_list.signer, with_list.signer) == (None, None)


def test_the_name_of_a_key_cannot_move_the_cursor(store, home):
    key = make_ssh_key(home)
    configure(home, commit_gpgsign="true", gpg_format="ssh", user_signingkey=key)
    allow(home, key, '"carol\x1b[2Jgood"')
    oid = signed_commit(store, signer(home).sign)
    found = check_signatures(store, [oid], str(home))[oid]
    assert "\x1b" not in repr(found) + str(found.signer)


@pytest.mark.parametrize("text", ["nothing", "-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----"])
def test_what_is_no_signature_is_never_good(store, home, text):
    sign_with_ssh(home)
    oid = signed_commit(store, lambda data: add_signature(data, text.encode()))
    assert check_signatures(store, [oid], str(home))[oid].state != GOOD


def test_a_commit_without_a_signature_is_left_out(store, home):
    sign_with_ssh(home)
    assert check_signatures(store, make_branch(store, "a", "b"), str(home)) == {}


def test_a_text_that_looks_like_a_header_is_no_signature():
    assert not is_signed(b"tree x\nauthor a\n\ngpgsig text\n\ngpgsig more\n")


def test_the_parts_of_a_signed_commit_are_read_as_without_a_signature(store, home):
    sign_with_ssh(home)
    plain = write_message(store, "a decision")
    oid = store.write(COMMIT, signer(home).sign(read_data(store, plain, COMMIT)))
    data = read_data(store, oid, COMMIT)
    assert parse_commit(oid, data)._replace(oid=plain) == read_commit(store, plain)
    assert git(store, "log", "-1", "--format=%s", oid) == "a decision\n"


def fails(home, *words):
    before = time.monotonic()
    with pytest.raises(Refused) as error:
        signer(home).sign(PLAIN)
    assert error.value.message.startswith("nothing was written: ")
    assert time.monotonic() - before < 25
    for word in words:
        assert word in f"{error.value.message} {error.value.hint}"


def test_a_key_that_does_not_exist_is_named_with_the_cure(home):
    configure(home, commit_gpgsign="true", gpg_format="ssh", user_signingkey=f"{home}/none.pub")
    fails(home, "none.pub", "SCOPES_SIGN_COMMITS=false", "ssh-add")


def test_no_key_at_all_is_refused_with_the_cure(home):
    configure(home, commit_gpgsign="true", gpg_format="ssh")
    fails(home, "git did not sign", "signingkey")


def test_a_program_that_is_not_installed_is_named(home):
    configure(home, commit_gpgsign="true", user_signingkey="k", gpg_program="/nowhere/gpg")
    fails(home, "/nowhere/gpg", "SCOPES_SIGN")


def test_a_program_that_ends_well_without_a_signature_has_failed(home, tmp_path):
    program = tmp_path / "silent"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    configure(home, commit_gpgsign="true", user_signingkey="k", gpg_program=program)
    fails(home, "did not sign")


def test_a_passphrase_without_a_terminal_fails_and_does_not_hang(home, monkeypatch):
    key = make_ssh_key(home, passphrase="long enough")
    configure(home, commit_gpgsign="true", gpg_format="ssh", user_signingkey=key)
    for name in ("DISPLAY", "SSH_ASKPASS", "SSH_AUTH_SOCK", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    fails(home, "did not sign", "ssh-add")


def test_a_program_that_never_ends_is_killed(home, tmp_path, monkeypatch):
    monkeypatch.setattr("scopes.store.git_program._SECONDS", 0.2)
    program = tmp_path / "slow"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    program.chmod(0o755)
    configure(home, commit_gpgsign="true", user_signingkey="k", gpg_program=program)
    fails(home, "did not answer")
    pid = (tmp_path / "pid").read_text().strip() if (tmp_path / "pid").exists() else "0"
    deadline = time.monotonic() + 5
    while pid != "0" and os.path.exists(f"/proc/{pid}/exe") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}/exe")


def test_a_kind_of_signature_that_git_does_not_know_is_refused(home):
    configure(home, commit_gpgsign="true", gpg_format="wax")
    with pytest.raises(Refused, match="unable to parse"):
        signer(home).sign(PLAIN)


def test_a_key_of_an_agent_signs_without_a_file(store, home):
    """A key that is given as text needs ssh-agent, as in git."""
    key = make_ssh_key(home)
    started = run("ssh-agent", "-s").decode()
    words = dict(part.strip().split("=", 1) for part in started.split(";") if "=" in part)
    os.environ["SSH_AUTH_SOCK"] = words["SSH_AUTH_SOCK"]
    try:
        run("ssh-add", "-q", key.removesuffix(".pub"))
        with open(key, encoding="ascii") as file:
            text = file.read().strip()
        os.remove(key.removesuffix(".pub"))
        allow(home, key)
        configure(home, commit_gpgsign="true", gpg_format="ssh", user_signingkey=f"key::{text}")
        oid = signed_commit(store, signer(home).sign)
        assert verify_commit(store.path, home, oid)[0] == 0
    finally:
        del os.environ["SSH_AUTH_SOCK"]
        os.kill(int(words["SSH_AGENT_PID"]), 15)
