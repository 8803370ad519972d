"""The candidates of completion for the last word of a command line."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.cli.completion import complete
from scopes.cli.table import TABLE as PRODUCT
from tests.cli.running import scopes, with_options
from tests.cli.sample import TABLE
from tests.support.examples import examples

pytestmark = pytest.mark.usefixtures("sample_options")


@pytest.fixture
def words(store):
    """Complete with the sample table; return the words alone."""

    def words(*typed, environ=None, table=TABLE):
        return [word for word, _ in complete(table, list(typed), environ or {"SCOPES_STORE": store})]

    return words


def test_the_first_word_is_a_group_or_a_command(words):
    members = ["state", "raise", "answer", "many", "wait", "reply", "confirm", "read", "deaf"]
    assert words("") == ["completion", "help", "version", "conversations", *members, "conv", "ai"]
    assert words("con") == ["conversations", "confirm", "conv"]
    assert words("ai", "conv") == ["conversations", "conv"]


def test_after_a_group_its_commands_complete(words):
    assert words("conv", "s") == ["state"]
    assert words("ai", "conversations", "w") == ["wait"]
    assert words("conv", "operations", "", table=PRODUCT) == ["list", "show"]


def test_commands_come_with_their_summary(store):
    assert complete(TABLE, ["conv", "wai"], {}) == [("wait", "Wait for a signal")]


def test_a_dash_completes_to_command_and_global_options(words):
    assert words("conv", "state", "--")[:3] == ["--branch", "--kind", "--limit"]
    assert words("conv", "state", "--no-") == ["--no-pager", "--no-hints", "--no-input"]
    assert words("--j") == words("conv", "--j") == ["--json"]
    assert words("conv", "state", "-z") == ["-z"]


def test_conversations_complete_as_an_argument(words):
    assert words("conv", "state", "") == ["conv-001", "conv-002", "login-bug"]
    assert words("conv", "state", "l") == ["login-bug"]
    assert words("state", "--json", "-q", "l") == ["login-bug"]


def test_branches_complete_after_their_conversation(words):
    assert words("conv", "state", "conv-001", "--branch", "") == ["analysis/security", "main"]
    assert words("conv", "state", "conv-001", "-b", "m") == ["main"]
    assert words("conv", "state", "--branch", "m", "conv-001", "--branch", "a") == ["analysis/security"]


def test_branches_of_conflicts_complete_after_their_first_letter(words, store):
    heads = os.path.join(store, "refs", "heads", "conv-001")
    os.makedirs(os.path.join(heads, "conflict-resolution"))
    shutil.copy(os.path.join(heads, "main"), os.path.join(heads, "conflict-resolution", "fix-into-main"))
    for line in (("conv", "state", "conv-001", "--branch"), ("conv", "state")):
        prefix = "" if "--branch" in line else "conv-001/"
        assert f"{prefix}conflict-resolution/fix-into-main" not in words(*line, prefix)
        assert f"{prefix}conflict-resolution/fix-into-main" in words(*line, f"{prefix}c")


def test_branches_complete_after_a_unique_prefix_of_the_conversation(words):
    assert words("conv", "state", "log", "--branch", "") == ["main"]
    assert words("conv", "state", "conv-", "--branch", "") == []


def test_a_branch_completes_within_a_word(words):
    assert words("conv", "state", "conv-001/") == ["conv-001/analysis/security", "conv-001/main"]
    assert words("conv", "state", "conv-001/m") == ["conv-001/main"]


def test_a_value_after_an_equals_sign_completes_to_the_whole_word(words):
    assert words("conv", "state", "conv-001", "--branch=m") == ["--branch=main"]
    assert words("conv", "state", "c", "--kind=d") == ["--kind=decision"]
    assert words("--color=a") == ["--color=auto", "--color=always"]
    assert words("--json=") == words("--nothing=") == []


def test_choices_complete(words):
    assert words("conv", "state", "c", "--kind", "") == ["plain", "decision"]
    assert words("--color", "n") == words("conv", "state", "--color", "n") == ["never"]
    assert words("completion", "") == ["bash", "zsh", "fish", "fzf", "fzf-fish"]


def test_after_a_double_dash_no_options_complete(words):
    assert words("conv", "state", "--", "-") == []
    assert words("conv", "state", "--", "conv-002") == ["conv-002"]
    assert words("conv", "state", "--", "--kind", "x") == []


def test_help_completes_commands(words):
    assert words("help", "conv", "wa") == ["wait"]
    assert words("help", "wa") == ["wait"]
    assert words("help", "ver") == ["version"]


def test_text_and_files_are_left_to_the_shell(words):
    assert words("conv", "state", "c", "some") == []
    assert words("conv", "read", "") == words("--store", "") == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("conv state nowhere", 1),
        ("conv state conv-001 --branch nope", 1),
        ("conv state conv-001 --branch=nope", 1),
        ("conv state c --kind nope", 1),
        ("conv nope", 1),
        ("conv state --nope", 1),
        ("help nope", 1),
        ("conv state c some", 0),
        ("conv read some", 0),
        ("--store some", 0),
        ("--store=some", 0),
        ("bogus some", 0),
    ],
)
def test_the_exit_code_tells_the_shell_whether_a_file_name_is_possible(store, sample_options, line, code):
    """Where no id matched, the shell offered the files of the directory."""
    done = scopes(
        "__complete", "--", *line.split(" "), program=with_options(sample_options), env={"SCOPES_STORE": store}
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_an_unknown_word_completes_to_nothing(words):
    assert words("bogus", "") == words("conv", "bogus", "") == words("--bogus", "") == []


def test_completion_selects_the_store_like_a_command(words, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    elsewhere = {"SCOPES_STORE": str(tmp_path / "elsewhere")}
    assert words("conv", "state", "l", environ=elsewhere) == []
    assert words("--store", store, "conv", "state", "l", environ=elsewhere) == ["login-bug"]
    assert words("conv", "state", f"--store={store}", "l", environ=elsewhere) == ["login-bug"]
    assert words("-C", str(tmp_path), "conv", "state", "--store", "store.git", "l", environ=elsewhere) == ["login-bug"]


def test_each_line_is_a_word_and_its_description(store):
    done = scopes("__complete", "--", "conv", "wai")
    assert (done.returncode, done.stdout, done.stderr) == (0, "wait\tWait for a signal\n", "")


@pytest.mark.parametrize("name", ["a\x1b]0;x\x07", "b\nc", "d\u202e", "e\udcff", "f\u200bg"])
def test_names_with_control_characters_are_left_out(store, sample_options, name):
    """H-71."""
    branch = os.path.join(os.fsencode(store), b"refs/heads", os.fsencode(name), b"main")
    os.makedirs(branch)
    done = scopes("__complete", "--", "--store", store, "conv", "state", "", program=with_options(sample_options))
    assert done.stdout.split() == ["conv-001", "conversation", "conv-002", "conversation", "login-bug", "conversation"]


@pytest.mark.parametrize(
    "words", [(), ("--",), ("--", "-C", "/dev/null/nowhere", "conv", "state", ""), ("--", "\udcff", "\udcfe")]
)
def test_an_error_prints_nothing(words, sample_options):
    done = scopes("__complete", *words, program=with_options(sample_options))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_output_device_is_no_error():
    with open("/dev/full", "w") as full:
        done = scopes("__complete", "--", "", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")


TEXT = st.text(max_size=5).filter(lambda word: "\x00" not in word and word != "-C")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(
    typed=st.lists(
        st.sampled_from(["conv", "state", "--branch", "--kind", "--store", "--", "-", "", "c"]) | TEXT, min_size=1
    )
)
def test_every_candidate_starts_with_the_typed_word(sealed_world, typed):
    found = complete(TABLE, [*typed], {"HOME": str(sealed_world)})
    assert [word for word, _ in found if not word.startswith(typed[-1])] == []
