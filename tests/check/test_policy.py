"""The policy file: what it sets, and mistakes with their line, column and the nearest known word."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from scopes.check.policy import parse_policy
from scopes.check.rules.registry import RULES
from scopes.errors import Invalid
from tests.check.sessions import run_check

KNOWN = {rule.id: rule.parameters for rule in RULES.values()}


def parse(text):
    return parse_policy(text, "scopes-check.toml", KNOWN)


def test_a_policy_sets_levels_parameters_and_test_commands():
    policy = parse(
        'fail_on = "warning"\ntests = ["make check"]\n[rules."order/tests-after-last-edit"]\nlevel = "note"\npaths = ["src/**"]\n'
    )
    assert (policy.fail_on, policy.tests) == ("warning", ("make check",))
    assert policy.levels == {"order/tests-after-last-edit": "note"}
    assert policy.parameters == {"order/tests-after-last-edit": {"paths": ["src/**"]}}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('fail_an = "error"\n', "scopes-check.toml:1:1: a policy has no key 'fail_an'", "did you mean 'fail_on'?"),
        (
            '\n[rules."order/tests-pased"]\n',
            "scopes-check.toml:2:9: there is no rule 'order/tests-pased'",
            "did you mean 'order/tests-passed'?",
        ),
        (
            '[rules."run/empty"]\nmin_call = 1\n',
            "scopes-check.toml:2:1: run/empty has no parameter 'min_call'",
            "did you mean 'min_calls'?",
        ),
        (
            '[rules."run/empty"]\nmin_calls = true\n',
            "scopes-check.toml:2:1: min_calls of run/empty must be like 0",
            None,
        ),
        (
            'fail_on = "fatal"\n',
            "scopes-check.toml:1:1: fail_on = 'fatal' is not one of error, warning, note, none",
            None,
        ),
        ("fail_on = \n", "scopes-check.toml: Invalid value (at line 1, column 11)", None),
    ],
)
def test_a_mistake_names_its_place_and_the_nearest_word(text, message, hint):
    with pytest.raises(Invalid) as caught:
        parse(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    "text", ['rule = "run/empty"\n', 'rule = "run/empty"\nreason = "x"\n', 'reason = "x"\nuntil = 2027-01-01\n']
)
def test_a_suppression_needs_a_rule_a_reason_and_a_last_day(text):
    with pytest.raises(Invalid):
        parse(f"[[suppress]]\n{text}")


def test_in_a_job_for_a_change_the_repository_is_opened_once(tmp_path, capsys, monkeypatch):
    """The policy comes from the commit that the change is based on; without it nothing is checked."""
    asked = []
    for base in (None, SimpleNamespace(revision="f" * 40, read=lambda _: b"fail_on = 'none'\n")):
        commit = SimpleNamespace(find_merge_base=lambda base=base: base)
        monkeypatch.setattr(
            "scopes.cli.check_runner.Commit", lambda *words, commit=commit: asked.append(words) or commit
        )
        monkeypatch.setenv("GITHUB_BASE_REF", "main")
        monkeypatch.chdir(tmp_path)
        code, output = run_check(capsys, "gone.jsonl")
        assert (code, "is not in this clone" in output) == ((2, True) if base is None else (0, False))
    assert asked == [(str(tmp_path), "origin/main")] * 2


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_BASE_REF", "main"),
        ("CHANGE_TARGET", "main"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "refs/remotes/origin/main"),
    ],
)
def test_a_policy_that_a_change_brings_does_not_apply_to_it(tmp_path, capsys, monkeypatch, variable, value):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=c", "-c", "user.email=c@x", *words], check=True)

    git("init", "-q", "-b", "main")
    (tmp_path / "scopes-check.toml").write_text("fail_on = 'error'\n")
    git("add", ".")
    git("commit", "-qm", "base")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)
    code, output = run_check(capsys, "gone.jsonl")
    assert (code, "scopes-check.toml here is another" in output) == (1, False)
    (tmp_path / "scopes-check.toml").write_text("fail_on = 'none'\n")
    code, output = run_check(capsys, "gone.jsonl")
    assert (code, "scopes-check.toml here is another" in output) == (1, True)


def test_the_policy_of_the_repository_applies_below_its_top(tmp_path, capsys, monkeypatch):
    (tmp_path / "repository" / "sub").mkdir(parents=True)
    (tmp_path / "scopes-check.toml").write_text("fail_on = 'nonsense'\n")  # outside of the repository
    (tmp_path / "repository" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "repository" / "sub")
    assert run_check(capsys, "gone.jsonl")[0] == 1
    (tmp_path / "repository" / "scopes-check.toml").write_text("fail_on = 'none'\n")
    assert run_check(capsys, "gone.jsonl")[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nfail_on = " + "9" * 5000, "scopes-check.toml:2:1: a number has too many digits"),
        (
            "fail_on = 0x" + "f" * 5000,
            "scopes-check.toml:1:1: fail_on = a number with too many digits is not one of error, warning, note, none",
        ),
        (
            '[rules."run/empty"]\nmin_calls = 0x' + "f" * 5000,
            "scopes-check.toml:2:1: min_calls of run/empty has too many digits",
        ),
        ("a = " + "[" * 5000, "scopes-check.toml:1:1: tables or lists are nested too deeply"),
    ],
)
def test_huge_numbers_and_deep_nesting_are_refused_in_plain_words(text, message):
    with pytest.raises(Invalid) as caught:
        parse(text)
    assert caught.value.message == message


@pytest.mark.parametrize("words", [(), ("--rules-from", "HEAD")])
def test_the_nearest_policy_applies_in_the_working_tree_and_in_a_commit(tmp_path, capsys, monkeypatch, words):
    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=c", "-c", "user.email=c@x", *arguments], check=True)

    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "scopes-check.toml").write_text("fail_on = 'error'\n")
    (tmp_path / "a" / "scopes-check.toml").write_text("fail_on = 'none'\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    for folder, code in ((inner, 0), (tmp_path / "a", 0), (tmp_path, 1)):
        monkeypatch.chdir(folder)
        assert run_check(capsys, "gone.jsonl", *words)[0] == code
