"""Commands in patterns of expansions and in subscripts are seen, or the line is opaque; bash says which ones it runs."""

from __future__ import annotations

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_arithmetic import has_quoted_subscript, runs_in_subscript
from tests.check.bash_oracle import Bash

IN_PATTERNS = [
    "x=1; echo ${x#$(a 1)}",
    "x=1; echo ${x%%$(a 1)}",
    "x=1; echo ${x^$(a 1)}",
    "x=1; echo ${x,,$(a 1)}",
    'x=1; echo "${x#b$(a 1)c}"',
    'x=1; echo ${x#b"$(a 1)"c}',
    "x=1; echo ${x/$(a 1)/b}",
    "x=1; echo ${x:$(a 1)}",
]
IN_SUBSCRIPTS = [
    "let 'b[$(a)]=1'",
    "let 'c=1+b[$(a)]'",
    r'let "b[\$(a)]=1"',
    "((x='b[$(a)]'))",
    "((1+'b[c[0]+$(a)]'))",
    "[[ '1+b[$(a)]' -eq 1 ]]",
    "[ -v 'b[$(a)]' ]",
    "x='b[$(a)]'; echo $((x))",
]


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    return Bash(tmp_path_factory.mktemp("bash"), IN_PATTERNS + IN_SUBSCRIPTS)


@pytest.mark.parametrize("line", IN_PATTERNS)
def test_a_command_in_the_pattern_of_an_expansion_is_seen(bash, line):
    assert bash.commands(line) == bash.parsed(line) == [(".", "a", "1")]


@pytest.mark.parametrize("line", IN_SUBSCRIPTS)
def test_a_subscript_that_arithmetic_runs_is_opaque(bash, line):
    assert bash.commands(line) == [(".", "a")]
    assert any(
        "subscript" in (each.opaque or "") or "arithmetic" in (each.opaque or "") for each in parse_commands(line)
    )


@pytest.mark.parametrize(
    "line",
    [
        "let x=1 'y = x + 1' i++",
        "(( a[i] = a['j'] + 1 ))",
        "[[ $x == 'a[0]' ]] && echo $(date)",
        "X=\"it's ${a[0]} $(date) isn't\"",
        "echo 'a[$(b)]'",
    ],
)
def test_other_arithmetic_and_other_subscripts_are_not_opaque(line):
    assert not any(each.opaque for each in parse_commands(line))


@pytest.mark.parametrize("line", ["${a/x/}", "${a/x/y} --force", "${a//x/}${b/y/}"])
def test_a_program_that_an_expansion_computes_has_no_name(line):
    [command] = parse_commands(line)
    assert (command.program, command.opaque) == (None, "the program is computed by the shell")


def test_the_end_of_a_computed_path_is_its_name():
    assert [each.program for each in parse_commands("${HOME/x/y}/bin/make all")] == ["make"]


def test_a_long_text_is_searched_in_linear_time():
    text = "a[" * 200_000
    assert not runs_in_subscript(text + "]" * 200_000 + "$(b)")
    assert not has_quoted_subscript(f"'{text}' `")
