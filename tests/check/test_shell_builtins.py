"""Builtins that change the shell: its directory, variables, exported variables, arguments and aliases."""

from __future__ import annotations

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_builtins import forget_changed
from scopes.check.shell_state import State, Word

DIRECTORIES = [
    "cd x; a; cd y; a",
    "cd x/y; a; cd ..; a; cd ../..; a",
    "cd ./x/../z/.; a",
    "cd x && cd - && a; cd -; a",
    "cd x; cd y; cd -; a; cd -; a",
    "cd -P x; a; cd -L ..; a; cd -- z; a",
    "cd /; a; cd /tmp; a",
    "cd ''; a",
    "cd \"x\"/'y'; a",
    "(cd x; a); a; { cd z; a; }; a",
    "(cd x && (cd y && a) && a) && a",
    "cd x | a; a",
    "cd x & wait; a",
    "b=$(cd x && a); a",
    "pushd x; a; popd; a",
    "pushd x; pushd y; a; popd; a; popd; a",
    "pushd x; cd y; a; popd; a",
    "for d in x z; do (cd $d && a); done; a",
    "for d in x y; do cd $d; a; done",
    "while a; do cd x; break; done",
    "if cd x; then a; fi",
    "if true; then cd x; else cd x; fi; a",
    "cd x & cd z; a; { cd ../x; a; } & wait",
    "f1() { cd x; }; f1; a",
    "f1() (cd x; a); f1; a",
    'f1() { cd "$1" && a; }; f1 x; f1 y',
    "cd x || exit 1; a",
    "cd x || { echo no; exit 1; }; a",
    "cd x || return; a",
    "env -C x a; a",
    "env --chdir=x a b",
    "bash -c 'cd x; a'; a",
    "eval 'cd x'; a",
    "sh <<< 'cd x; a'; a",
    "d=x; cd $d/y; a; cd $PWD/..; a",
    "true && cd x; a",
    "! cd x; a",
    "time cd x; a",
    "[ -d x ] && cd x; a",
    "command cd x; a; builtin cd y; a",
]
ASSIGNMENTS = [
    "x=1; ((y = 2)); a $x",
    "x=b; let y=2; a $x",
    "declare x=b; a $x; typeset y=c; a $y; readonly z=d; a $z",
    'declare -a x=(b c); a "${x[@]}"',
    'export x=b y=c; a $x $y; export "x=d e"; a $x',
    "export x; x=b; a $x",
    "x=b; export x=$x/c; a $x",
    "f1() { a; }; f1; unset -f f1; f1",
    "f1() { a; }; unset f1; f1; b",
    "f1() { a b; }; f1=c; unset f1; f1",
    "f1() { a b; }; f1() { a c; }; f1",
    "function f1 { a $1; }; f1 b; function f2() { a $2; }; f2 b c",
    "set -- b c; a $1; set -- d; a $1 $2",
    "f1() { set -- b; a $1; }; set -- c; f1 d; a $1",
    "f1() { a $1; }; set -- b; f1 c; a $1",
    "x=b; f1() { local x=c; a $x; }; f1",
]
REAL = [*DIRECTORIES, *ASSIGNMENTS]


@pytest.mark.parametrize("line", REAL)
def test_directories_and_variables_are_those_of_bash(bash, line):
    assert bash.commands(line), "bash runs nothing: the line has a mistake"
    assert bash.parsed(line) == bash.commands(line)


@pytest.mark.parametrize(
    ("line", "directory"),
    [
        ("cd; a", "~"),
        ("cd ~; a", "~"),
        ("cd ~/b/..; a", "~"),
        ("cd ~bob/c; a", "~bob/c"),
        ("cd $HOME; a", "~"),
        ("cd $x; a", None),
        ("cd $x; cd /b; a", "/b"),
        ("cd $x; cd b; a", None),
        ("cd $(b); a", None),
        ("cd $x; cd -; a", "/w"),
        ("popd; a", None),
        ("chdir b; a", "/w/b"),
        ("cd b || cd c; a", None),
        ("cd b || a", "/w"),
        ("if a; then cd b; fi; a", None),
        ("if a; then cd b; elif c; then cd b; else cd b; fi; a", "/w/b"),
        ("case $x in b) cd b;; c) cd c;; esac; a", None),
        ("while b; do cd c; done; a", None),
        ("cd //b///c; a", "/b/c"),
    ],
)
def test_a_directory_that_the_line_does_not_decide_is_unknown(line, directory):
    assert parse_commands(line, "/w")[-1].directory == directory


def test_without_a_directory_at_the_start_only_an_absolute_one_is_known():
    directories = [
        each.directory for each in parse_commands("a; cd b; a; cd /c; a; cd b; a; cd -; a") if each.program == "a"
    ]
    assert directories == [None, None, "/c", "/c/b", "/c"]


@pytest.mark.parametrize(
    ("line", "environment"),
    [
        ("A=1 a", {"A": "1"}),
        ("A=1 B='2 3' C= a", {"A": "1", "B": "2 3", "C": ""}),
        ("A=$x a", {"A": None}),
        ("A=(1 2) a", {"A": None}),
        ("A=1; a", {}),
        ("export A=1; a", {"A": "1"}),
        ("export A=1; A=2; a", {"A": "2"}),
        ("export A=1; A=$x; a", {"A": None}),
        ("A=1; export A; a", {"A": "1"}),
        ("export A; a", {}),
        ("export \"A=1\" 'B=2'; a", {"A": "1", "B": "2"}),
        ("export A=$(b); a", {"A": None}),
        ("export A=1 B=2; unset A; a", {"B": "2"}),
        ("export A=1; export -n A; a", {}),
        ("declare -x A=1; a", {"A": "1"}),
        ("typeset -gx A=1; a", {"A": "1"}),
        ("declare A=1; a", {}),
        ("B=2 export A=1; a", {"A": "1"}),
        ("builtin export A=1; a", {"A": "1"}),
        ("(export A=1); a", {}),
        ("env A=1 a", {"A": "1"}),
        ("env A=$x a", {"A": None}),
        ("A=1 env B=2 a", {"A": "1", "B": "2"}),
        ("sudo A=1 a", {"A": "1"}),
        ("time A=1 a", {"A": "1"}),
        ("export A=1; bash -c a", {"A": "1"}),
        ("A=1 bash -c 'B=2 a'", {"A": "1", "B": "2"}),
        ("f() { a; }; A=1 f", {"A": "1"}),
        ("export A=1; A=2 a", {"A": "2"}),
    ],
)
def test_each_command_has_the_variables_that_the_line_sets_for_it(line, environment):
    """`HUSKY=0; export HUSKY` turns hooks off as `HUSKY=0 git commit` does."""
    assert dict(parse_commands(line, "/w")[-1].environment) == environment


@pytest.mark.parametrize(
    "line",
    [
        "x=1; ((x++)); a $x",
        "x=1; ((++x)); a $x",
        "x=1; (( x += 2 )); a $x",
        "x=1; let x++; a $x",
        "x=1; let 'x = 2'; a $x",
        "x=1; x[0]=2; a $x",
        "x=1; read x; a $x",
        "x=1; read -r -p 'y? ' x; a $x",
        "x=1; mapfile -t x < list; a $x",
        "x=1; printf -v x '%s' 2; a $x",
        "x=1; getopts bc x; a $x",
        "x=1; for ((x=0; x<3; x++)); do b; done; a $x",
        "for ((x=0; x<3; x++)); do a $x; done",
        "x=0; while b; do a $x; x=2; done",
        "x=0; until b; do a $x; ((x++)); done",
        "x=0; while ((x++ < 3)); do a $x; done",
        "x=0; for y in $(b); do a $x; x=$y; done",
        "x=1; shift; a $1",
        "set -- b c; shift $x; a $1",
    ],
)
def test_what_a_builtin_or_an_earlier_round_of_a_loop_assigned_is_unknown(line):
    command = next(each for each in parse_commands(line, "/w") if each.program == "a")
    assert command.argv == ("a", None)


@pytest.mark.parametrize("number", ["2", "9" * 5000, "0" * 5000 + "2"])
@pytest.mark.parametrize("line", ["set -- b; shift {}; a -$1", "set -- b; a -${{{}}}"])
def test_an_argument_behind_the_last_one_is_empty_however_many_digits_its_number_has(line, number):
    assert parse_commands(line.format(number), "/w")[-1].argv == ("a", "-")


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("x=1; while b; do a $x; done", "1"),
        ("x=1; while b; do x=2; a $x; done", "2"),
        ("x=1; ((x == 2)); a $x", "1"),
        ("x=1; while b; do c --x=2; a $x; done", "1"),
        ("x=1; while b; do c $x=2; a $x; done", "1"),
        ("x=1; for ((y=0; y<3; y++)); do a $x; done", "1"),
        ("x=1; for y in $(b); do a $x; done", "1"),
    ],
)
def test_a_variable_that_a_loop_does_not_assign_stays_known(line, known):
    command = next(each for each in parse_commands(line, "/w") if each.program == "a")
    assert command.argv == ("a", known)


def test_forgetting_does_not_invent_variables():
    state = State("/w")
    forget_changed("x=1; y++", state)
    assert state.variables == {}
    state.assign("x", Word("1", "1"))
    forget_changed("x=2", state)
    assert state.variables == {"x": Word(None, "$x")}


@pytest.mark.parametrize(
    ("line", "opaque"),
    [
        ("alias gp='git push --force'; gp", "gp is an alias"),
        ("alias a=b c=d; c", "c is an alias"),
        ("alias gp='git push'; unalias gp; gp", None),
        ("alias a=b c=d; unalias a; c", "c is an alias"),
        ("alias a=b c=d; unalias -a; c", None),
        ("alias a; a", None),
        ("(alias a=b); a", None),
        ("if b; then alias a=c; fi; a", "a is an alias"),
    ],
)
def test_what_an_alias_runs_is_not_read(line, opaque):
    assert parse_commands(line, "/w")[-1].opaque == opaque
