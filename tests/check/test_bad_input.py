"""What is wrong with policies, transcripts and reports is named, and nothing wrong ever passes."""

from __future__ import annotations

import itertools
import json
import os
import xml.etree.ElementTree as ET

import pytest

from scopes.render.reports import MAX_RESULTS
from tests.check.headless_runs import codex_stream, lines
from tests.check.sessions import run_check, write_session
from tests.check.test_github_actions import list_commands
from tests.support.examples import is_thorough

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")
MISTAKES = [
    ('fail_an = "error"\n', "1:1: a policy has no key 'fail_an'", "did you mean 'fail_on'?"),
    ('fail_on = "error"\n[rules."order/tests-pased"]\n', "2:9: there is no rule 'order/tests-pased'", "did you mean 'order/tests-passed'?"),
    ('[rules."run/empty"]\n  min_call = 1\n', "2:3: run/empty has no parameter 'min_call'", "did you mean 'min_calls'?"),
    ('[rules."run/empty"]\nlevel = "eror"\n', "2:1: level = 'eror' is not one of error, warning, note, off", ""),
    ('[[rule]]\nid = "a"\nexpekt = "some test"\n', "3:1: a rule has no key 'expekt'", "did you mean 'expect'?"),
    ('[[rule]]\nid = "a"\nexpect = "never runn(x)"\n', "3:1: a: ", "did you mean"),
    ('[[suppress]]\nrule = "run/empty"\nreason = "x"\nuntill = 2099-01-01\n', "4:1: a suppression has no key 'untill'", "did you mean 'until'?"),
    ('[[suppress]]\nrule = "order/tests-pass"\nreason = "x"\nuntil = 2099-01-01\n', "1:1: a suppression is of a rule that does not exist: 'order/tests-pass'", "did you mean 'order/tests-passed'?"),
    ('[rules."run/empty"]\nlevel = "warn"\n', "level = 'warn' is not one of", "did you mean 'warning'?"),
    ("# deep\ntests = " + "[" * 5000 + "]" * 5000, "2:1: tables or lists are nested too deeply", ""),
    ("fail_on = " + "[" * 400 + "]" * 400, "scopes-check.toml:1:1: ", ""),
    ("fail_on = \n", "1:11: Invalid value", ""),
    ("\n\n[rules\n", "3:7: Expected", ""),
    ('extends = "scopes-check.toml"\n', "1:1: a policy extends itself: scopes-check.toml -> scopes-check.toml", ""),
    ('preset = "strict"\ninclude = ["scopes-check.toml"]\n', "2:1: a policy has no key 'include'", "did you mean 'extends'?"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current directory with a session that is fine."""
    monkeypatch.chdir(tmp_path)
    write_session(tmp_path / "fine.jsonl", ("Bash", {"command": "pytest -q"}, 0), "Done.")
    return tmp_path


@pytest.mark.parametrize(("text", "message", "hint"), MISTAKES)
@pytest.mark.cases(16)
def test_a_mistake_in_a_policy_stops_the_check_with_2_and_names_its_place(folder, capsys, text, message, hint):
    """Also if it extends itself. Nothing is checked, and no report is written."""
    (folder / "scopes-check.toml").write_text(text)
    code, output = run_check(capsys, "fine.jsonl", "--report", "sarif=s.sarif")
    assert (code, message in output, hint in output) == (2, True, True), output
    assert output.startswith("error: scopes-check.toml:")
    assert not (folder / "s.sarif").exists()


@pytest.mark.parametrize("words", [("--rules", "p.toml"), ()])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "it is a named pipe"),
        (os.mkdir, "it is a directory"),
        (lambda path: os.symlink("gone", path), "there is no policy"),
    ],
)
def test_a_policy_that_is_no_file_is_a_mistake(folder, capsys, words, make, reason):
    """It is not waited for, and the defaults do not take its place."""
    make("p.toml" if words else "scopes-check.toml")
    code, output = run_check(capsys, "fine.jsonl", *words)
    assert (code, reason in output) == (2, True), output


def test_a_policy_that_is_named_and_missing_is_a_mistake(folder, capsys):
    code, output = run_check(capsys, "fine.jsonl", "--rules", "gone.toml")
    assert (code, "there is no policy gone.toml" in output) == (2, True)


def test_a_baseline_of_another_format_is_a_mistake(folder, capsys):
    code, output = run_check(capsys, "fine.jsonl", "--baseline", "fine.jsonl")
    assert (code, "fine.jsonl is not a report of scopes check" in output) == (2, True)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('[[rule]]\nid = "ours/x"\nexpect = "run(git psuh **) needs tool(Task) before"\n', "rule ours/x matched no event: run(git psuh **) needs tool(Task) before"),
        ('[[rule]]\nid = "ours/x"\nexpect = "last tool(Task) after last edit(scr/**)"\n', "rule ours/x matched no event: last tool(Task) after last edit(scr/**)"),
        ('[rules."order/tests-after-last-edit"]\npaths = ["scr/**"]\n', "`paths` of order/tests-after-last-edit matches no edited file: scr/**"),
        ('[[suppress]]\nrule = "shell/push"\nmatch = "git psuh"\nreason = "x"\nuntil = 2099-01-01\n', "the suppression of shell/push in line 1 covers no finding"),
    ],
)  # fmt: skip
def test_a_pattern_that_never_matches_is_noted(folder, capsys, text, note):
    edit = {"file_path": "/home/dev/shop/src/a.py", "old_string": "a", "new_string": "b"}
    write_session(folder / "edit.jsonl", ("Edit", edit, 0), ("Bash", {"command": "pytest"}, 0), session="s2")
    (folder / "scopes-check.toml").write_text(text)
    code, output = run_check(capsys, "edit.jsonl")
    assert (code, f"note: {note}\n" in output) == (0, True), output


@pytest.mark.parametrize(
    "form", ["never {}", "never {} until test", "never {} after tool(Task)", "at most 2 {}", "some {}"]
)
def test_a_rule_of_which_nothing_is_what_it_asks_for_or_a_finding_is_not_noted(folder, capsys, form):
    """That `never run(git push **)` matched nothing is good news."""
    rule = f'[[rule]]\nid = "ours/x"\nlevel = "note"\nexpect = "{form.format("run(git push **)")}"\n'
    (folder / "scopes-check.toml").write_text(f"tests = ['make test']\n{rule}")
    code, output = run_check(capsys, "fine.jsonl")
    assert (code, "matched no event" in output, "ours/x" in output) == (0, False, form == "some {}"), output


def test_paths_of_which_one_matches_are_not_noted(folder, capsys):
    edit = {"file_path": "/home/dev/shop/src/a.py", "old_string": "a", "new_string": "b"}
    write_session(folder / "edit.jsonl", ("Edit", edit, 0), session="s2")
    (folder / "scopes-check.toml").write_text('[rules."order/tests-after-last-edit"]\npaths = ["lib/**", "src/**"]\n')
    code, output = run_check(capsys, "edit.jsonl")
    assert (code, "matches no edited file" in output) == (1, False), output


@pytest.mark.parametrize("data", [b"", b"hello\n", b'{"a": 1}\n', b"\xff\xfe\x00", b"[" * 10_000, b"[]", b"null\n"])
@pytest.mark.parametrize("others", [[], ["fine.jsonl"]])
@pytest.mark.cases(16)
def test_a_file_of_an_unknown_format_is_a_missing_run_whatever_else_is_there(folder, capsys, data, others):
    (folder / "agent.jsonl").write_bytes(data)
    code, output = run_check(capsys, "agent.jsonl", *others, "--json")
    document = json.loads(output.splitlines()[0])
    assert (code, [run["name"] for run in document["runs"]]) == (1, ["agent.jsonl", *others])
    assert next((each["rule"], each["run"]) for each in document["findings"]) == ("run/missing", "agent.jsonl")


def test_two_runs_in_one_file_are_judged_each_by_itself(folder, capsys):
    """A job that appends to one file: the second run must not be judged by the tests of the first."""
    other = "019d0009-2222-7222-8222-222222222222"
    good = codex_stream(("patch",), ("run", "pytest -q", 0), ("text", "Done."))
    bad = codex_stream(("run", "pytest -q", 1), ("text", "Done.")).replace(
        "019d0001-2222-7222-8222-222222222222", other
    )
    for text, failing in ((good + bad, [False, True]), (bad + good, [True, False])):
        (folder / "agent.jsonl").write_text(text)
        code, output = run_check(capsys, "agent.jsonl", "--json")
        document = json.loads(output.splitlines()[0])
        assert (code, [run["calls"] for run in document["runs"]]) == (1, [2, 1] if failing[1] else [1, 2])
        for run, fails in zip(document["runs"], failing, strict=True):
            statuses = {each["rule"]: each["status"] for each in run["verdicts"]}
            assert (statuses["order/tests-passed"] == "fail") is fails


def test_a_second_run_that_was_cut_off_fails_next_to_one_that_ended(folder, capsys):
    thread = {"type": "thread.started", "thread_id": "019d0009-2222-7222-8222-222222222222"}
    answer = {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "I will look."}}
    (folder / "agent.jsonl").write_text(codex_stream(("text", "Done.")) + lines(thread, answer))
    code, output = run_check(capsys, "agent.jsonl", "--json")
    found = [each["rule"] for each in json.loads(output.splitlines()[0])["findings"]]
    assert (code, found.count("run/incomplete")) == (1, 1)


def test_an_empty_stream_that_is_named_and_lies_below_a_named_directory_is_one_run(folder, capsys):
    (folder / "t").mkdir()
    thread = {"type": "thread.started", "thread_id": "019d0009-2222-7222-8222-222222222222"}
    (folder / "t" / "run.jsonl").write_text(lines(thread))
    code, output = run_check(capsys, "t/run.jsonl", "t", "--json")
    document = json.loads(output.splitlines()[0])
    assert (code, [run["name"] for run in document["runs"]]) == (1, ["t/run.jsonl"])


HOSTILE = {
    "set-output": "pytest\n::set-output name=x::y",
    "carriage return": "pytest # a\r::set-output name=x::y",
    "brackets": "pytest # ##[add-mask]x",
    "ANSI": "pytest # \x1b[31mred\x1b]0;title\x07\x9b1m",
    "directions": "pytest # \u202egnp\u2066\u200b",
    "fence": "pytest # " + "`" * 200,
    "markup": "pytest # ]]></failure><script>alert(1)</script>&<a href='x'>",
    "surrogate": "pytest # \ud800 \x00 \ufffe",
}


HOSTILE_CASES = [  # an ordinary run has each text in each form, half of them in a job of GitHub
    (name, form, in_actions)
    for (row, name), (column, form), in_actions in itertools.product(
        enumerate(HOSTILE), enumerate(FORMATS), (False, True)
    )
    if is_thorough() or (row + column) % 2 == in_actions
]


@pytest.mark.parametrize(("name", "form", "in_actions"), HOSTILE_CASES)
@pytest.mark.cases(16)
def test_hostile_text_of_an_agent_is_harmless_in_every_report(folder, capsys, monkeypatch, name, form, in_actions):
    """It runs no command of a CI system, moves no cursor, ends no fence and no element, and the report stays readable."""
    text = HOSTILE[name]
    if in_actions:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    write_session(folder / "bad.jsonl", ("Bash", {"command": text}, 1), f"{text} passed", session="s2")
    assert run_check(capsys, "bad.jsonl", "--report", f"{form}=report")[0] == 1
    code, printed = run_check(capsys, "bad.jsonl", "--report", form)
    written = (folder / "report").read_text()
    assert code == 1
    for report in (written, printed):
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"} & set(report)
    if in_actions:
        found = [
            line for line in list_commands(printed) if not line.startswith(("::error ", "::warning ", "::notice "))
        ]
        assert found == []
    if form in {"json", "sarif", "gitlab"}:
        json.loads(written)
    elif form == "junit":
        assert sum(int(suite.get("failures")) for suite in ET.fromstring(written)) >= 1
    elif form == "github":
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in written.splitlines())
    elif form == "markdown" and text == HOSTILE["fence"]:
        assert "\n" + "`" * 201 in written.replace("\n  ", "\n")


def test_a_sarif_over_its_limits_keeps_the_most_severe_and_stays_valid(folder, capsys, monkeypatch):
    monkeypatch.setattr("scopes.render.reports.MAX_RESULTS", 20)
    steps = [("Bash", {"command": f"npm install a{number}"}, 0) for number in range(40)]
    write_session(folder / "many.jsonl", *steps, ("Bash", {"command": "git push --force"}, 0), session="s2")
    assert run_check(capsys, "many.jsonl", "--report", "sarif=s.sarif")[0] == 1
    (run,) = json.loads((folder / "s.sarif").read_text())["runs"]
    assert MAX_RESULTS == 5000
    assert len(run["results"]) == 20
    assert run["results"][0]["ruleId"] == "shell/force-push"
    assert "left out" in json.dumps(run["invocations"])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("path", ["gone/report", "folder", "x" * 300, "fine.jsonl/report"])
@pytest.mark.cases(16)
def test_a_report_that_cannot_be_written_is_exit_code_8_and_the_others_are_written(folder, capsys, form, path):
    (folder / "folder").mkdir()
    code, output = run_check(capsys, "fine.jsonl", "--report", f"{form}={path}", "--report", "junit=j.xml")
    assert (code, "a report was not written" in output) == (8, True), output
    assert (folder / "j.xml").stat().st_size
    assert sorted(os.listdir(folder)) == ["fine.jsonl", "folder", "j.xml"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/proc/report", "cannot write '/proc/report': its directory takes no new file"),
        ("gone/report", "directory 'gone' not found"),
        ("/dev/full", "'/dev/full' is not a regular file"),
    ],
)
def test_a_report_that_cannot_be_written_is_named_with_its_path_and_the_reason(folder, capsys, path, reason):
    code, output = run_check(capsys, "fine.jsonl", "--report", f"sarif={path}")
    assert (code, f"a report was not written: --report sarif={path}: {reason}" in output) == (8, True), output


@pytest.mark.parametrize("report", ["sarif", "text", "sarif=-", "github"])
def test_two_documents_on_standard_output_are_refused(folder, capsys, report):
    code, output = run_check(capsys, "fine.jsonl", "--json", "--report", report)
    form = report.removesuffix("=-")
    assert (code, f"--json and --report {form} would both write to standard output" in output) == (2, True)
    assert f"give the report a path: --report {form}=report.{form}" in output
    assert run_check(capsys, "fine.jsonl", "--json", "--report", "json")[0] == 0
    assert run_check(capsys, "fine.jsonl", "--json", "--report", f"{form}=report")[0] == 0


def test_an_empty_file_is_named_as_that_also_in_a_folder(folder, capsys):
    (folder / "logs").mkdir()
    (folder / "logs" / "agent.jsonl").touch()
    write_session(folder / "logs" / "fine.jsonl", "Done.")
    for target in ("logs/agent.jsonl", "logs"):
        code, output = run_check(capsys, target)
        assert (code, output.count("run/missing  the file is empty")) == (1, 1), output


def test_a_stream_alone_has_one_line_for_the_rules_that_it_makes_unknown(folder, capsys):
    (folder / "agent.jsonl").write_text(codex_stream(("run", "pytest -q", 0), ("text", "Done.")))
    code, output = run_check(capsys, "agent.jsonl")
    assert (code, output.count("the event stream may lack calls")) == (0, 1)
    code, output = run_check(capsys, "agent.jsonl", "--json")
    unknown = [
        each
        for run in json.loads(output.splitlines()[0])["runs"]
        for each in run["verdicts"]
        if each["status"] == "unknown"
    ]
    assert len(unknown) > 10


def test_the_summary_says_that_unknown_rules_made_the_check_fail(folder, capsys):
    write_session(folder / "idle.jsonl", "Done.", session="s2")
    code, output = run_check(capsys, "idle.jsonl", "--strict")
    assert (code, "(with --strict, unknown rules fail)" in output) == (1, True), output
    assert "unknown rules fail" not in run_check(capsys, "idle.jsonl")[1]


def test_a_file_of_an_unknown_format_below_a_folder_is_named(folder, capsys):
    for name, text in (("weird.jsonl", '{"a": 1}\n'), ("config.json", "{}"), ("README.md", "# x")):
        (folder / name).write_text(text)
    code, output = run_check(capsys, ".")
    assert (code, "note: not judged, the format is not known: config.json, weird.jsonl" in output) == (0, True), output


def test_a_missing_file_next_to_a_conversation_is_named(folder, capsys):
    code, output = run_check(capsys, "conv-008", "nope.jsonl")
    assert (code, "there is no file nope.jsonl" in output) == (2, True)


@pytest.mark.parametrize("name", ["fine.jsonl", "./folder/../fine.jsonl", "folder/s.jsonl", "p.toml", "b.json"])
def test_a_report_never_overwrites_a_file_that_the_check_reads(folder, capsys, name):
    (folder / "folder").mkdir()
    write_session(folder / "folder" / "s.jsonl", "Done.", session="s2")
    (folder / "p.toml").write_text('fail_on = "warning"\n')
    (folder / "b.json").write_text('{"kind": "check"}')
    before = (folder / name).read_bytes()
    words = ("fine.jsonl", "folder", "--rules", "p.toml", "--baseline", "b.json", "--report", f"json={name}")
    code, output = run_check(capsys, *words)
    assert (code, "would overwrite" in output) == (2, True), output
    assert (folder / name).read_bytes() == before
    assert run_check(capsys, *words[:-1], "json=folder/new.json")[0] == 0
