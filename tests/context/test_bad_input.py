"""Invalid requests, files and caches end in a refusal or a note, never in a crash or a block."""

from __future__ import annotations

import os
import socket
from hashlib import sha1

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid
from scopes.tokens.count import ENCODINGS, RankFilePaths, choose_tokenizer
from tests.context.building import built, numbers, put, talk
from tests.support.history import history, say
from tests.tokens.conftest import INSTALLED, skip_without_rank_files

MODES = [{}, {"task": "session cookie"}, {"mode": "files"}]


@pytest.mark.parametrize("tokens", [-1, -(10**9)])
@pytest.mark.parametrize("options", MODES)
def test_a_negative_budget_is_refused(repository, exact, tmp_path, tokens, options):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="negative"):
        built(repository, exact, tmp_path, max_tokens=tokens, **options)


@pytest.mark.parametrize("tokens", range(12))
@pytest.mark.parametrize("options", MODES)
def test_a_tiny_budget_is_not_exceeded(repository, exact, tmp_path, tokens, options):
    """S1-5, from zero on."""
    new(repository)
    put(tmp_path, "a.py", "word")
    say(repository, "conv-001", "a session " * 50, files=[{"path": "a.py", "op": "edit"}])
    result = built(repository, exact, tmp_path, max_tokens=tokens, **options)
    assert exact.tokenizer.count(result.formatted_history) == result.tokens_used <= tokens


@pytest.mark.parametrize("tokens", [10**9, 10**15])
def test_a_huge_budget_is_accepted(repository, exact, tmp_path, tokens):
    new(repository)
    talk(repository, 5)
    assert numbers(built(repository, exact, tmp_path, max_tokens=tokens)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("blank", [" ", "\n", "\t", " \n", "\u3000", "\xa0"])
@pytest.mark.cases(1)
def test_a_turn_with_very_many_blanks_fits_the_budget(repository, exact, tmp_path, blank):
    """Tiktoken itself panics on this number of blanks."""
    new(repository)
    say(repository, "conv-001", "before" + blank * 600_000 + "after")
    result = built(repository, exact, tmp_path, max_tokens=900)
    assert exact.tokenizer.count(result.formatted_history) <= result.tokens_used <= 900


@pytest.mark.slow
def test_a_file_of_a_million_blanks_fits_the_budget(repository, exact, tmp_path):
    new(repository)
    put(tmp_path, "blank.txt", " " * 1_000_000)
    say(repository, "conv-001", "look", files=[{"path": "blank.txt", "op": "edit"}])
    result = built(repository, exact, tmp_path, max_tokens=2000)
    assert exact.tokenizer.count(result.formatted_history) <= 2000


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full", "/dev/tty", "/proc/self/environ", "/etc/passwd"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_device_or_system_file_is_never_read(repository, exact, tmp_path, path, linked):
    """S1-9: neither by its path nor through a link in the project."""
    new(repository)
    name = path
    if linked:
        name = "link"
        put(tmp_path, "beside", "")
        os.symlink(path, tmp_path / "project" / "link")
    say(repository, "conv-001", "look", files=[{"path": name, "op": "edit"}])
    result = built(repository, exact, tmp_path)
    assert [(file.path, file.reason) for file in result.files_skipped] == [(name, "outside the project")]


def test_a_socket_a_link_loop_and_invalid_paths_are_skipped(repository, exact, tmp_path, monkeypatch):
    """S1-9."""
    new(repository)
    put(tmp_path, "good.py", "word")
    project = tmp_path / "project"
    monkeypatch.chdir(project)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        os.symlink("loop", project / "loop")
        names = ("socket", "loop", "x" * 300, "good.py/inside", "", ".", "good.py")
        for name in filter(None, names):
            say(repository, "conv-001", "look", files=[{"path": name, "op": "edit"}])
        result = built(repository, exact, tmp_path)
    assert [file.path for file in result.files_embedded] == ["good.py"]
    assert {file.path for file in result.files_skipped} == {"socket", "loop", "x" * 300, "good.py/inside", "."}
    assert all(file.reason for file in result.files_skipped)


def test_a_huge_file_is_not_read(repository, exact, tmp_path):
    new(repository)
    with open(put(tmp_path, "huge", b""), "wb") as file:
        file.truncate(1 << 40)
    say(repository, "conv-001", "look", files=[{"path": "huge", "op": "edit"}])
    [skipped] = built(repository, exact, tmp_path).files_skipped
    assert skipped.reason.startswith("too large")


def test_a_link_inside_the_project_is_followed(repository, exact, tmp_path):
    new(repository)
    put(tmp_path, "real.py", "the content")
    os.symlink("real.py", tmp_path / "project" / "link.py")
    say(repository, "conv-001", "look", files=[{"path": "link.py", "op": "edit"}])
    assert "the content" in built(repository, exact, tmp_path).files_text


def wrong(tmp_path, encoding, data):
    """Write wrong rank files to every searched path except packages; return the search paths."""
    own, tiktoken = tmp_path / "own", tmp_path / "tiktoken"
    for path in (
        tiktoken / sha1(encoding.url.encode()).hexdigest(),
        own / "tokens" / f"{encoding.name}.tiktoken",
        own / "tokens" / f"{encoding.name}.decoded",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return RankFilePaths(str(own), str(tiktoken), ())


@pytest.mark.parametrize("data", [b"", b"IQ== 0\n", b"\0" * 100, b"not base64 at all\n"])
def test_wrong_rank_files_are_noted_and_tokens_are_estimated(tmp_path, data):
    """S1-17: a note says which method was used."""
    encoding = ENCODINGS["o200k_base"]
    choice = choose_tokenizer(wrong(tmp_path, encoding, data))
    assert (choice.tokenizer.method, choice.tokenizer.count("two words")) == ("estimate", 3)
    texts = [note.text for note in choice.notes]
    assert [text.endswith("is not o200k_base and was not used") for text in texts] == [True, True, False]
    assert texts[-1] == "tokens are estimated: there is no data of o200k_base here"


def test_a_valid_file_after_wrong_ones_is_used(tmp_path):
    """S1-17."""
    skip_without_rank_files()
    paths = wrong(tmp_path, ENCODINGS["o200k_base"], b"wrong")._replace(packages=INSTALLED)
    choice = choose_tokenizer(paths)
    assert (choice.tokenizer.method, choice.tokenizer.count("two words"), len(choice.notes)) == ("exact", 2, 2)


def test_a_conversation_without_messages_gives_its_title(repository, exact, tmp_path):
    """S1-19."""
    new(repository, title="The login of the shop")
    result = built(repository, exact, tmp_path)
    assert result.summary == "The login of the shop"
    assert result.notes[0].text == "conv-001 has no messages: only its title is used"


@pytest.mark.parametrize("tokens", [1, 250, 499])
def test_a_tight_budget_gives_only_the_newest_conversation(repository, exact, tmp_path, tokens):
    """S1-16."""
    for conversation in ("conv-001", "conv-002"):
        new(repository)
        talk(repository, 3, conversation=conversation, length=60, work_item="SHOP-1")
    result = built(repository, exact, tmp_path, where=None, work_item="SHOP-1", max_tokens=tokens)
    assert {message.conversation for message in result.messages} <= {"conv-002"}
    assert result.warnings[0] == "a budget of less than 500 tokens has room for the newest conversation only"


def test_the_result_has_counts_files_and_warnings(repository, exact, tmp_path):
    """S1-11."""
    new(repository)
    put(tmp_path, "a.py", "word")
    talk(repository, 30, length=900)
    say(repository, "conv-001", "x", files=[{"path": "a.py", "op": "edit"}, {"path": "gone.py", "op": "read"}])
    result = built(repository, exact, tmp_path, max_tokens=1500)
    assert result.turns_included + result.turns_excluded == 31
    assert (result.conversations_included, result.conversations_excluded) == (1, 0)
    assert [file.path for file in result.files_embedded] == ["a.py"]
    assert [(file.path, file.reason) for file in result.files_skipped] == [("gone.py", "missing")]
    assert f"{result.turns_excluded} older messages excluded" in result.warnings[0]
    assert result.tokens_used == exact.tokenizer.count(result.formatted_history)


def test_every_turn_has_its_author(repository, exact, tmp_path):
    """S1-22: any agent can continue a branch, and every turn keeps the name of its author."""
    new(repository)
    say(repository, "conv-001", "asked", author={"name": "carol", "kind": "human"})
    say(repository, "conv-001", "answered", author={"name": "bot", "kind": "agent"}, model="gpt-4o")
    say(repository, "conv-001", "went on", author={"name": "other", "kind": "agent"}, model="claude")
    result = built(repository, exact, tmp_path, where="conv-001/main")
    assert [(message.role, message.author) for message in result.messages] == [
        ("User", "carol"), ("Assistant", "bot"), ("Assistant", "other"),
    ]  # fmt: skip
    assert result.metadata["branch"] == "main"
