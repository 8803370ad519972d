"""The policy file: what it sets, and mistakes with their line, column and the nearest known word."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from scopes.check.policy import parse_policy
from scopes.check.rules.registry import PARAMETERS
from scopes.cli.main import main
from scopes.cli.table import TABLE
from scopes.errors import Invalid
from tests.check.sessions import run_check, write_session

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time


def parse(text):
    return parse_policy(text, "scopes-check.toml", PARAMETERS)


def test_a_policy_sets_levels_parameters_and_test_commands():
    policy = parse(
        'fail_on = "warning"\ntests = ["make check"]\n[rules."order/tests-after-last-edit"]\nlevel = "note"\npaths = ["src/**"]\n'
    )
    assert (policy.fail_on, policy.tests) == ("warning", ("make check",))
    assert policy.levels == {"order/tests-after-last-edit": "note"}
    assert policy.parameters == {"order/tests-after-last-edit": {"paths": ["src/**"]}}


TOML = "a policy is a TOML file, see: man scopes-check"


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
        ("fail_on = \n", "scopes-check.toml:1:11: Invalid value", TOML),
        ("rules:\n  - run/empty: off\n", "scopes-check.toml:1:6: Expected '=' after a key in a key/value pair", TOML),
        (
            "[rules.run/empty]\n",
            "scopes-check.toml:1:11: Expected ']' at the end of a table declaration",
            'put the name of the rule in quotes: [rules."order/tests-passed"]',
        ),
        (
            "[rules.run.empty]\nlevel = 'off'\n",
            "scopes-check.toml:1:8: there is no rule 'run'",
            'did you mean [rules."run/empty"]?',
        ),
        (
            '[rules]\n"run/empty" = "off"\n',
            "scopes-check.toml:2:2: the settings of run/empty are not a table",
            'write [rules."run/empty"] on a line of its own, and level = "off" below it, for example',
        ),
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
            "scopes.cli.check_policy.CommittedFiles", lambda *words, commit=commit: asked.append(words) or commit
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


@pytest.fixture
def change(tmp_path, monkeypatch):
    """Return the directory of a repository in a job for a change, and a function that runs git in it."""

    def git(*words):
        subprocess.run(["git", "-C", project, "-c", "user.name=c", "-c", "user.email=c@x", *words], check=True)

    project = tmp_path / "project"
    project.mkdir()
    git("init", "-q", "-b", "main")
    git("commit", "-qm", "base", "--allow-empty")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    monkeypatch.chdir(project)
    return project, git


def test_a_baseline_that_a_change_brings_does_not_apply_to_it(change, tmp_path, capsys, monkeypatch):
    """An agent that can write the baseline would accept its own findings."""
    project, git = change
    run = write_session(tmp_path / "s.jsonl", ("Bash", {"command": "git push --force"}, 0), "Done.")
    assert run_check(capsys, run, "--report", "sarif=b.sarif")[0] == 1
    assert run_check(capsys, run, "--baseline", "b.sarif")[0] == 0
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    code, output = run_check(capsys, run, "--baseline", "b.sarif")
    assert (code, "b.sarif accepts nothing" in output) == (1, True)
    (tmp_path / "outside.sarif").write_bytes((project / "b.sarif").read_bytes())
    assert run_check(capsys, run, "--baseline", tmp_path / "outside.sarif")[0] == 0
    (project / "link.sarif").symlink_to(tmp_path / "outside.sarif")
    assert run_check(capsys, run, "--baseline", "link.sarif")[0] == 1
    git("add", "b.sarif")
    git("commit", "-qm", "accept")
    assert run_check(capsys, run, "--baseline", "b.sarif")[0] == 1
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    code, output = run_check(capsys, run, "--baseline", "b.sarif")
    assert (code, "here is another" in output) == (0, False)
    (project / "b.sarif").write_text('{"kind": "check"}')
    code, output = run_check(capsys, run, "--baseline", "b.sarif")
    assert (code, "b.sarif here is another" in output) == (0, True)


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("GITHUB_BASE_REF", "gone", "origin/gone"), ("CHANGE_TARGET", "gone", "origin/gone"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "1" * 40, "1" * 40),
    ],
)  # fmt: skip
def test_a_base_that_is_not_in_the_clone_is_named_and_the_job_has_an_annotation_and_a_summary(
    change, tmp_path, capsys, monkeypatch, variable, value, wanted
):
    run = write_session(tmp_path / "s.jsonl", "Done.")
    monkeypatch.setenv(variable, value)
    code, output = run_check(capsys, run, "--report", "sarif=s.sarif")
    assert (code, f"{wanted}, on which the change is based ({variable}), is not in this clone" in output) == (2, True)
    assert "::error" not in output
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    code, output = run_check(capsys, run)
    assert (code, f"::error title=scopes check::{wanted}, on which the change is based" in output) == (2, True)
    assert (tmp_path / "summary.md").read_text().startswith("## scopes check stopped\n\nNothing was judged.\n")
    code, output = run_check(capsys, run, "--json")
    assert (code, "::error" in output) == (2, False)


def test_the_rules_are_listed_also_without_the_base_of_the_change(change, capsys, monkeypatch):
    """Nothing is judged by them: the policy here is shown, and a note says so."""
    project, _ = change
    (project / "scopes-check.toml").write_text('[rules."budget/turns"]\nmax_turns = 7\n')
    monkeypatch.setenv("GITHUB_BASE_REF", "gone")
    for option in (["--list"], ["--list", "budget/turns"]):
        code, output = run_check(capsys, *option)
        assert (code, "note: this is the policy here: origin/gone, on which" in output) == (0, True), output
    assert "max_turns = 7" in output


def test_a_change_without_a_common_commit_with_its_base_is_not_judged(change, tmp_path, capsys, monkeypatch):
    _, git = change
    git("checkout", "-q", "--orphan", "other")
    git("commit", "-qm", "other", "--allow-empty")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    code, output = run_check(capsys, write_session(tmp_path / "s.jsonl", "Done."))
    assert (code, "the commit at which the change left origin/main (GITHUB_BASE_REF)" in output) == (2, True), output


@pytest.mark.parametrize("in_job", [False, True])
def test_a_baseline_that_does_not_exist_is_a_missing_file(change, tmp_path, capsys, monkeypatch, in_job):
    """Exit code 2 also where there is a store, in which a conversation could have this name."""
    run = write_session(tmp_path / "s.jsonl", "Done.")
    assert main(["import", str(run)], TABLE) == 0
    if in_job:
        monkeypatch.setenv("GITHUB_BASE_REF", "main")
    code, output = run_check(capsys, run, "--baseline", "nope.sarif")
    assert (code, "there is no file nope.sarif" in output) == (2, True)


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


@pytest.mark.parametrize("words", [(), ("--rules", "HEAD:")])
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


def test_outside_of_a_repository_only_the_policy_of_the_directory_itself_applies(tmp_path, capsys, monkeypatch):
    """That of a directory around it, such as /tmp, may be of another user."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "scopes-check.toml").write_text("fail_on = 'none'\n")
    for folder, code in ((tmp_path, 0), (tmp_path / "inner", 1)):
        monkeypatch.chdir(folder)
        assert run_check(capsys, "gone.jsonl")[0] == code
