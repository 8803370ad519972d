"""Where branches of a line meet, either may hold: bash runs no command that the reader does not find or call unknown."""

from __future__ import annotations

import random

import pytest

from scopes.check.shell import parse_commands
from tests.check.bash_oracle import PROGRAMS, Bash
from tests.check.shell_lines import run_lines
from tests.support.examples import amount

CHANGES = (
    "f() { a 1; }", "f() { b 2; }", "f() { a 3; f() { c; }; }", "unset -f f", "set -- x", "set -- y z", "shift", "v=x", "v=y",
    "unset v", "export v=x", "cd x", "cd z", "cd nowhere", "cd -", "cd ..", "pushd x", "pushd z", "popd", "set -e", "set +e", "a() { b; }",
    "exec 0< /dev/null", ":", "false",
)  # fmt: skip
USES = ("f", "a $1", "b \"$v\"", "c", "d $@", "a", "b \"$(c $v)\"", "(e)", "eval 'f'", "e \"$#\"")  # fmt: skip


def draw_line(rng):
    """Return a line with branches: every condition is a command that succeeds or fails."""

    def simple():
        return rng.choice(CHANGES if rng.random() < 0.7 else USES)

    def several(depth):
        return "; ".join(statement(depth) for _ in range(rng.randint(1, 2)))

    def statement(depth):
        if depth == 0 or rng.random() < 0.3:
            return simple()
        condition, one, two = rng.choice([":", "false"]), several(depth - 1), several(depth - 1)
        shapes = (
            f"if {condition}; then {one}; else {two}; fi",
            f"if {condition}; then {one}; fi",
            f"{condition} || {simple()}",
            f"{condition} && {simple()}",
            f"case {rng.choice('pq')} in p) {one};; *) {two};; esac",
            f"case {rng.choice('pq')} in p) {one};; esac",
            f"for i in 1 2; do {one}; done",
            f"for i in; do {one}; done",
            f"i=0; while test $i -lt 2; do i=$((i + 1)); {one}; done",
            f"{{ {one}; }}",
            f"g() {{ {one}; }}; g",
        )
        return rng.choice(shapes)

    return "; ".join([several(2), rng.choice(USES), rng.choice(USES), *([several(1)] if rng.random() < 0.5 else [])])


REAL = [draw_line(random.Random(seed)) for seed in range(amount(4_000, 160))]


def may_be(found, ran):
    """Return True if a command that the reader found may be one that ran; None stands for what it does not know."""
    if found.opaque:
        return True
    words = found.argv
    unknown = next((number for number, word in enumerate(words) if word is None), len(words))
    return words[:unknown] == ran[1:][:unknown] and (unknown < len(words) or len(words) == len(ran) - 1)


def test_bash_runs_no_program_that_the_reader_does_not_find(bash):
    """A word that is not known may be several words or none, and whatever follows it is not compared."""
    missed = []
    for line in REAL:
        found = parse_commands(line, str(bash.workspace))
        missed += [(line, ran) for ran in bash.commands(line) if not any(may_be(each, ran) for each in found)]
    assert not missed, missed[:3]


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("if x; then f() { a; }; else f() { b; }; fi; f", ["x", "a", "b"]),
        ("case $x in p) f() { a; };; *) f() { :; };; esac; f", ["f", "a", ":"]),
        ("if x; then f() { a; }; fi; f", ["x", "a", "f"]),
        ("f() { a; }; if x; then unset -f f; fi; f", ["x", "f", "a"]),
        ("f() { a; }; x || f() { b; }; f", ["x", "a", "b"]),
        ("for i in 1; do f() { a; }; done; f", ["a"]),
        ("while x; do f() { a; }; done; f", ["x", "x", "f", "a"]),
        ("while x; do f; f() { a; }; done", ["x", "f", "x", "f", "a"]),
        ("for i in $x; do f; f() { a; }; done", ["f", "a"]),
        ("f() { a; }; if x; then f() { a; }; fi; f", ["x", "a", "a"]),
    ],
)
def test_every_body_that_a_function_may_have_is_read(line, runs):
    assert run_lines(line) == runs


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("if x; then set -- p; else set -- q; fi; a $1", "a ?"),
        ("if x; then set -- p; else set -- p; fi; a $1", "a p"),
        ("set -- p; x && shift; a $1", "a ?"),
        ("v=p; x && v=q; a $v", "a ?"),
        ("v=p; x && v=q && a $v", "a q"),
        ("v=p; x && v=q || a $v", "a ?"),
        ("v=p; x && v=q || exit; a $v", "a q"),
        ("v=p; x && y && v=q; a $v", "a ?"),
        ("x && v=q; v=r; a $v", "a r"),
        ("v=p; if x; then v=q; fi; a $v", "a ?"),
        ("v=p; (v=q); a $v", "a p"),
    ],
)
def test_an_argument_or_variable_that_differs_is_unknown(line, last):
    assert run_lines(line)[-1] == last


CODE = [
    "export LD_PRELOAD=e.so",
    "export BASH_ENV=e.sh",
    "export GIT_EXTERNAL_DIFF='a 1'",
    "export GIT_SSH_COMMAND='a 1'",
    "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='a 1'",
    "exec < script",
]


@pytest.mark.parametrize("change", CODE)
@pytest.mark.parametrize(
    "shape",
    ["false || {}", "x && {}", "if x; then {}; fi", "case x in x) {};; esac", "while x; do {}; done",
     "if x; then :; else {}; fi", "{{ x || {}; }}", "f() {{ if x; then {}; fi; }}; f"],
)  # fmt: skip
def test_code_that_one_branch_hands_to_later_programs_is_found_or_opaque(change, shape):
    """A variable that programs run is exported, or the input is a script, in one branch only."""
    for program in ("git fetch", "git diff", "bash"):
        straight = parse_commands(f"{change}; {program}", "/w")
        branched = parse_commands(f"{shape.format(change)}; {program}", "/w")
        was_seen = any(each.opaque or each.program == "a" for each in straight)
        assert not was_seen or any(each.opaque or each.program == "a" for each in branched), program


@pytest.mark.parametrize("name", ["GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_CONFIG_KEY_0"])
@pytest.mark.parametrize(
    "form", ["{}=$x git log", "export {}=$(y); git log", "env {}=$x git log", "{}=`y` git -C z log"]
)
def test_a_variable_of_git_whose_program_the_shell_computes_is_opaque(name, form):
    last = parse_commands(form.format(name), "/w")[-1]
    assert last.opaque == f"the value of {name} is computed by the shell"


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("pushd x; if y; then popd; fi; popd; a", {None}),
        ("if y; then pushd x; else pushd z; fi; popd; a", {None, "/w"}),
        ("cd x; if y; then cd ../z; fi; cd -; a", {None}),
        ("if y; then cd x; else cd x; fi; a", {"/w/x", None}),
    ],
)
def test_a_directory_that_depends_on_a_branch_is_not_taken_for_known(line, places):
    assert {each.directory for each in parse_commands(line, "/w") if each.program == "a"} <= places


def test_errors_end_a_line_only_if_both_branches_say_so():
    """`set -e` that one branch takes back does not keep a failed `cd` from what follows."""
    kept = parse_commands("set -e; if x; then :; fi; cd y; a", "/w")[-1]
    undone = parse_commands("set -e; if x; then :; else set +e; fi; cd y; a", "/w")[-1]
    assert kept.directory == "/w/y"
    assert (undone.directory, undone.argv) in {(None, ("a",)), ("/w/y", ("a",))}


def test_the_programs_of_the_oracle_are_those_of_the_lines():
    assert {use.split()[0] for use in USES if use[0] in "abcde"} <= set(PROGRAMS) | {"eval"}


DEFAULTS = ("${v:-w}", "${v-w}", "${v:=w}", "${v=w}", '"${v:-w x}"', "${v:-$(echo w)}")
SETTINGS = (
    "",
    "v=p; ",
    "v=; ",
    "v=$(echo p); ",
    "export v=p; ",
    "unset v; ",
    "v=p; unset v; ",
    "v='p q'; ",
    "false && v=p; ",
)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("word", DEFAULTS)
@pytest.mark.cases(16)
def test_a_variable_with_a_default_is_what_the_line_set_or_unknown(setting, word, tmp_path):
    """The environment may have the variable too, so that its default is never taken for known."""
    line = f"{setting}a {word}"
    ran = Bash(tmp_path, [line]).commands(line)
    (found,) = [each for each in parse_commands(line, "/w") if each.program == "a"]
    assert may_be(found, ran[0])
    assert ("w" in found.argv) is False
