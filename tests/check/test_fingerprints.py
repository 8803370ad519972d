"""Fingerprints, and baselines made of them: what stays equal from run to run, and what does not."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.baseline import mark_known, read_baseline
from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import Event, Finding, Verdict
from scopes.check.fingerprints import with_fingerprints
from scopes.errors import Invalid
from scopes.render.document import result_line
from scopes.render.reports import write_sarif
from tests.check.made_runs import judge, make_run, shell
from tests.check.sessions import run_check

TEXTS = st.text("ab /.-x", max_size=6)
FINDINGS = st.lists(
    st.builds(
        partial(Finding, suppressed=None, known=False),
        rule=st.sampled_from(["shell/push", "ours/x"]),
        level=st.just("error"),
        message=TEXTS,
        match=st.none() | TEXTS,
        file=st.none() | TEXTS,
        events=st.lists(st.builds(Event, st.integers(1, 9), TEXTS, TEXTS), max_size=2).map(tuple),
    ),
    max_size=5,
).map(tuple)


def prints(*findings, directory="/home/dev/shop"):
    verdict = Verdict("ours/x", "error", "fail", findings=findings)
    return [each.fingerprint for each in with_fingerprints(make_run(directory=directory), verdict).findings]


def finding(match=None, **fields):
    return Finding(fields.pop("rule", "ours/x"), "error", fields.pop("message", "m"), match=match, **fields)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (finding("rm x", message="one"), finding("rm x", message="two")),
        (finding("rm x", events=(Event(1, "m1", "a"),)), finding("rm x", events=(Event(9, "m9", "b"),))),
        (finding("rm  x\n"), finding("rm x")),
        (finding("rm x"), finding("rm x", attempted=True, cure="c", wrapper="sudo")),
        (finding("rm x", file="a.py", file_line=3), finding("rm x", file="a.py", file_line=40)),
        (finding(events=(Event(1, "m", "a", "x.jsonl", 3),)), finding(events=(Event(2, "n", "a", "y.jsonl", 8),))),
    ],
)
def test_equal_breaches_have_equal_fingerprints(first, second):
    assert prints(first) == prints(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (finding("rm x"), finding("rm y")),
        (finding("rm x"), finding("rm x", rule="ours/y")),
        (finding("rm x", file="a.py"), finding("rm x", file="b.py")),
        (finding(events=(Event(1, "m", "a"),)), finding(events=(Event(1, "m", "b"),))),
        (finding("rm x"), finding("rm x", file="rm x")),
    ],
)
def test_different_breaches_have_different_fingerprints(first, second):
    assert prints(first) != prints(second)


def test_the_same_breach_twice_in_a_run_is_two():
    """A second push in the same run is a new finding to a baseline that knows one."""
    first, second = prints(finding("git push"), finding("git push"))
    assert first != second
    assert prints(finding("git push")) == [first]


def test_the_workspace_of_another_machine_makes_no_difference():
    here = prints(finding("rm /home/dev/shop/x", file="/home/dev/shop/a"))
    assert prints(finding("rm /ci/7/x", file="/ci/7/a"), directory="/ci/7") == here
    assert prints(finding("rm ./x", file="./a"), directory=None) == here
    assert prints(finding("rm /ci/8/x"), directory="/ci/7") != prints(finding("rm /ci/7/x"), directory="/ci/7")


def test_the_root_directory_as_workspace_does_not_eat_the_slashes():
    assert prints(finding("rm /a"), directory="/") == prints(finding("rm /a"), directory=None)


PUSH = "shell/force-push"


def prints_of(line, *, directory="/home/dev/shop", cwd="/home/dev/shop"):
    run = make_run(shell(line, **({} if cwd == directory else {"directory": cwd})), directory=directory)
    return [each.fingerprint for each in judge(PUSH, run).findings]


@pytest.mark.parametrize(
    ("line", "cwd"),
    [
        ("cd web && git push -f", "/home/dev/shop"),
        ("git push -f", "/home/dev/shop/web"),
        ("cd $X && git push -f", "/home/dev/shop"),
        ("cd /tmp && git push -f", "/home/dev/shop"),
    ],
)
def test_a_command_in_another_directory_is_another_breach(line, cwd):
    here = prints_of("git push -f")
    assert prints_of("cd . && git push -f") == here
    assert here != prints_of(line, cwd=cwd) == prints_of(line, cwd=cwd)


def test_a_command_with_another_value_of_a_variable_is_another_breach():
    assert prints_of("D=a; git push -f $D") != prints_of("D=b; git push -f $D")
    assert prints_of("D=a; git push -f $D") == prints_of("git push -f a")


@pytest.mark.parametrize("line", ["git push -f", "cd web && git push -f", "cd $X && git push -f"])
def test_a_transcript_without_a_directory_has_the_fingerprints_of_one_with_it(line):
    """An event stream of Codex does not state where it ran; its session file does."""
    assert prints_of(line, directory=None, cwd=None) == prints_of(line)


def test_text_that_is_no_utf_8_has_a_fingerprint():
    assert len(prints(finding("rm \udcff"))[0]) == 64


@given(FINDINGS)
def test_fingerprints_of_a_run_never_repeat(findings):
    assert len(set(prints(*findings))) == len(findings)


@given(FINDINGS, st.integers(0, 100))
def test_fingerprints_are_stable_when_the_run_is_renumbered(findings, offset):
    renumbered = tuple(
        each._replace(events=tuple(e._replace(number=e.number + offset, message="m", line=offset) for e in each.events))
        for each in findings
    )
    assert prints(*renumbered) == prints(*findings)


def report_of(findings):
    verdict = with_fingerprints(make_run(), Verdict("ours/x", "error", "fail", findings=findings))
    run = CheckedRun(name="run", conversation=None, title=None, calls=0, verdicts=(verdict,))
    return Checked(runs=(run,))


@given(FINDINGS)
def test_a_report_is_the_baseline_of_its_own_findings(findings):
    """With its own report as baseline a check is clean, and a baseline made of that report is the same."""
    checked = report_of(findings)
    known = frozenset(each.fingerprint for each in checked.runs[0].findings)
    for text in (result_line(checked), write_sarif(checked, "1.0")):
        assert read_baseline(text.encode(), "old") == known
    marked = mark_known(checked.runs[0].findings, known)
    assert not any(each.counts for each in marked)
    assert mark_known(marked, known) == marked
    assert mark_known(marked, frozenset()) == checked.runs[0].findings


@pytest.mark.parametrize(
    ("document", "fingerprints"),
    [
        ({"kind": "check"}, set()),
        ({"kind": "check", "findings": [{"fingerprint": "f"}, {"fingerprint": 3}, {}, "x"]}, {"f"}),
        ({"runs": []}, set()),
        ({"runs": [{"results": [{"partialFingerprints": {"scopes/v1": "f"}}]}]}, {"f"}),
        ({"runs": [{"results": [{"partialFingerprints": {"other/v1": "f"}}, {}, None]}, {}, None]}, set()),
        ({"runs": [{"results": [{"partialFingerprints": {"scopes/v1": 1}}, {"partialFingerprints": []}]}]}, set()),
        ({"runs": [{"results": None}]}, set()),
    ],
)
def test_a_baseline_is_read_from_both_reports_whatever_else_is_in_them(document, fingerprints):
    assert read_baseline(json.dumps(document).encode(), "old.json") == fingerprints


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"{}", b"null", b'"runs"', b'{"findings": []}', b'{"runs": {}}', b"\xff\xfe", b"[" * 100_000],
    ids=lambda data: data[:12],
)
def test_another_document_is_no_baseline(data):
    """An empty baseline would let nothing pass, and a wrong one would hide that it is wrong."""
    with pytest.raises(Invalid, match=r"old\.json is not a report of scopes check"):
        read_baseline(data, "old.json")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"runs": [' + b"9" * 5000 + b"]}", "a number has too many digits"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"\xff\xfe[", "it is not valid UTF-8"),
    ],
    ids=["number", "nested", "bytes"],
)
def test_the_reason_why_a_baseline_cannot_be_read_is_in_plain_words(data, reason):
    with pytest.raises(Invalid) as caught:
        read_baseline(data, "old.json")
    assert caught.value.message == f"old.json is not a report of scopes check: {reason}"


def test_a_missing_run_has_a_fingerprint_of_its_name_and_no_baseline_accepts_it(tmp_path, capsys, monkeypatch):
    """In JSON, SARIF and for GitLab, wherever the check runs: it was empty."""
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        words = (
            "gone.jsonl",
            "lost.jsonl",
            "--report",
            "json=r.json",
            "--report",
            "sarif=r.sarif",
            "--report",
            "gitlab=q.json",
        )
        assert run_check(capsys, *words)[0] == 1
        assert run_check(capsys, "gone.jsonl", "--baseline", "r.sarif")[0] == 1
        report, sarif, quality = (
            json.loads((tmp_path / name / file).read_text()) for file in ("r.json", "r.sarif", "q.json")
        )
        prints = [each["fingerprint"] for each in report["findings"]]
        assert [each["partialFingerprints"]["scopes/v1"] for each in sarif["runs"][0]["results"]] == prints
        assert len({each["fingerprint"] for each in quality}) == 2
        found.append(prints)
    assert found[0] == found[1]
    assert [len(each) for each in dict.fromkeys(found[0])] == [64, 64]
