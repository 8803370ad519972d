"""The reader of shell command lines: words, directories, wrappers, redirections and its limits."""

from __future__ import annotations

import subprocess
import sys
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.shell import parse_commands
from scopes.check.shell_command import Redirection
from tests.check.shell_lines import run_lines


def only(line, directory="/w"):
    (command,) = parse_commands(line, directory)
    return command


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        (r"a $'b\tc\x41\101'", ("a", "b\tcAA")),
        (r'a "b\"c\$d\e"', ("a", 'b"c$d\\e')),
        ("a b''c\"d\"e", ("a", "bcde")),
        ("a $x ${y} \"z$x\"", ("a", None, None, None)),
        ("a *.py ~/x {b,c}", ("a", "*.py", "~/x", "b", "c")),
        ("a $((1+2)) $(b)", ("a", None, None)),
        ("a b \\\n c", ("a", "b", "c")),
        ("a '' \"\"", ("a", "", "")),
        ("a > out b", ("a", "b")),
        ("a <<EOF b\nx\nEOF", ("a", "b")),
        ("a ü 'ß'", ("a", "ü", "ß")),
        ("a # b", ("a",)),
        ("a \\ b c\\ 'd'e", ("a", " b", "c de")),
        ("a 'd e'\\#", ("a", "d e#")),
    ],
)  # fmt: skip
def test_words_are_read_as_a_shell_reads_them(line, argv):
    assert parse_commands(line, "/w")[-1].argv == argv


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("x=1; a $x \"$x\" '$x'", ["a 1 1 $x"]),
        ("x='b c'; a $x \"$x\"", ["a b c b c"]),
        ("x=1 a $x", ["a ?"]),
        ("x=$(date); a $x", ["date", "a ?"]),
        ("x=$(echo b); a $x", ["echo b", "a b"]),
        ("x=$(cd b && pwd); a $x", ["cd b", "pwd", "a /w/b"]),
        ("export x=1; a $x", ["a 1"]),
        ("x=1; unset x; a $x", ["a ?"]),
        ("x=1; x+=2; a $x", ["a 12"]),
        ("x=1; (x=2); a $x", ["a 1"]),
        ("x=1; if b; then x=2; fi; a $x", ["b", "a ?"]),
        ("x=1; if b; then x=2; else x=2; fi; a $x", ["b", "a 2"]),
        ("case $y in b) x=1;; *) x=2;; esac; a $x", ["a ?"]),
        ("for x in b c; do a $x; done", ["a b", "a c"]),
        ("for x in $(b); do a $x; done", ["b", "a ?"]),
        ("while b; do x=1; done; a $x", ["b", "a ?"]),
        ("x=(b c); a \"${x[@]}\" ${x[0]}", ["a b c b"]),
        ("f() { a $1 $2; }; f b; f c d", ["a b", "a c d"]),
        ("f() { f; a; }; f", ["f", "a"]),
        ("f() { f() { a; }; f; }; f", ["a"]),  # the new body runs
        ("f() { f() { f; }; f; }; f", ["f"]),
        ("bash -c 'a $0 $1' b c", ["a b c"]),
        ("x=b; bash -c \"a $x\"", ["a b"]),
        ("read x; a $x", ["read x", "a ?"]),
        ("cd b && a $PWD", ["cd b", "a /w/b"]),
        ("echo b c | xargs a", ["echo b c", "a b c"]),
        ("find b -name c -exec a {} \\;", ["find b -name c -exec a {} ;", "a b/{}"]),
        ("[ -f x ] && [[ -d y ]] && a", ["a"]),
        ("a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("diff <(a) <(b)", ["a", "b", "diff ? ?"]),
        ("a `b`", ["b", "a ?"]),
        ("export -p; declare -p X; typeset -xp | a", ["export -p", "declare -p X", "typeset -xp", "a"]),
        ("export; readonly > b", ["export", "readonly"]),
        ("export X; declare -a y; local z; a", ["a"]),
        ("export X=$(b) Y; export $(c)", ["b", "c"]),
        ("d=$(export -p); sudo bash -c 'declare -p'", ["export -p", "declare -p"]),
        ("time -p a; ! b; coproc c", ["a", "b", "c"]),
        ("uv run pytest -q; npx jest; poetry run b", ["pytest -q", "jest", "b"]),
        ("env -i A=1 B=2 a; env -S 'b c' d", ["a", "b c d"]),
        ("git -C x -c a=b --no-pager log -3", ["git log -3"]),
        ("cat <<A; a\nb\nA\nc", ["cat", "a", "c"]),
        ("cat <<A | b; a c\nb\nA\nd", ["cat", "b", "a c", "d"]),
        ("x - <<'A' \"$h\" >r 2>&1\nb\nA", ["x - ?"]),
        ("command -v a", ["command -v a"]),
        ("su bob -c 'a b'", ["a b"]),
        ("b 2>&1 | c | d -8\necho y 2>&1 | e", ["b", "c", "d -8", "echo y", "e"]),
        ("b 2>&1 | c | d \\\n-8\nif x; then y z 2>&1 | e; fi", ["b", "c", "d -8", "x", "y z", "e"]),
        ("time A=1 b; time (A=1 c > d)", ["b", "c", "time"]),
        ("flock x -c 'a b'; flock x b", ["a b", "b"]),
    ],
)  # fmt: skip
def test_what_the_line_alone_decides_is_followed(line, lines):
    assert run_lines(line) == lines


@pytest.mark.parametrize(
    ("line", "directory"),
    [
        ("cd b; a", "/w/b"),
        ("cd /b/../c; a", "/c"),
        ("cd b; cd -; a", "/w"),
        ("cd; a", "~"),
        ("cd ~/b; a", "~/b"),
        ('cd "$HOME/b"; a', "~/b"),
        ("cd $x; a", None),
        ("(cd b); a", "/w"),
        ("(cd b; a)", "/w/b"),
        ("pushd b; pushd c; popd; a", "/w/b"),
        ("cd b || exit 1; a", "/w/b"),
        ("cd b || cd c; a", None),
        ("if x; then cd b; fi; a", None),
        ("git -C b -C c a", "/w/b/c"),
        ("env -C b a", "/w/b"),
        ("bash -c 'cd b'; a", "/w"),
        ("bash -c 'cd b; a'", "/w/b"),
        ("eval 'cd b'; a", "/w/b"),
        ("x=b; cd $x/c; a", "/w/b/c"),
        ("cd b | a", "/w"),
    ],
)
def test_each_command_has_its_directory(line, directory):
    assert parse_commands(line, "/w")[-1].directory == directory


def test_redirections_belong_to_the_command_that_has_them():
    assert only("export -p > b").redirections == (Redirection("write", "b"),)
    assert only("export X=1 > b").redirections == (Redirection("write", "b"),)
    assert only("a > b 2>> c < d 2>&1").redirections == (
        Redirection("write", "b"), Redirection("append", "c"), Redirection("read", "d"),
    )  # fmt: skip
    assert only("a &> $x").redirections == (Redirection("write", None, "$x"),)
    assert [each.redirections for each in parse_commands("{ a; b; } > c")] == [(), (Redirection("write", "c"),)]
    assert only("cat <<EOF > b\nx\nEOF").redirections == (Redirection("write", "b"),)
    assert only("> b").redirections == (Redirection("write", "b"),)
    assert only("sudo bash -c 'a' > b").redirections == (Redirection("write", "b"),)


def test_wrappers_are_named_outermost_first():
    command = only("A=1 sudo -u bob B=2 timeout 5 sh -c 'git -c C=3 push'")
    assert command.wrappers == ("sudo", "timeout", "sh -c", "git -c C=3")
    assert command.environment == (("A", "1"), ("B", "2"))


def test_a_computed_word_keeps_what_is_known_of_it():
    command = parse_commands('t=/tmp/x; a "$t/$(date)/$y" ${z:-b}')[-1]
    assert command.words == ("a", "/tmp/x/$(date)/$y", "${z:-b}")
    assert command.argv == ("a", None, None)


def test_a_program_below_a_computed_directory_is_known():
    assert only('"$VENV/bin/pytest" -q').program == "pytest"
    assert only("$VENV -q").program is None


def test_a_command_in_a_pipe_knows_what_it_reads():
    assert [each.piped_from for each in parse_commands("a b | c | d")] == [None, ("a", "b"), ("c",)]


def test_a_syntax_error_leaves_what_could_be_read():
    commands = parse_commands("rm -rf a; (b")
    assert commands[0].argv == ("rm", "-rf", "a")
    assert commands[-1].opaque == "it has a syntax error"


@given(st.text(st.sampled_from("ab $(){}[]<>|&;'\"`\\\n=#*~!@-/")) | st.text())
def test_any_text_is_read_without_an_error(line):
    parse_commands(line, "/w")


@pytest.mark.parametrize(
    "line",
    [
        "a; " * 60_000, "a && " * 60_000 + "b", "a | " * 30_000 + "b", "(" * 50_000, "$(" * 200 + "a" + ")" * 200,
        "<" * 50_000, "${" * 20_000, "a <<A <<B <<C " * 5_000, "eval " * 5_000 + "a", "sudo " * 5_000 + "a",
        "bash -c " * 5_000, "x=aaaaaaaa; " + "x=$x$x; " * 60 + "a $x", "f() { f; f; }; f", "`a`" * 20_000,
        "for i in 1 2 3 4 5 6 7 8 9; do " * 9 + "a; " + "done; " * 9, "cat <<'E'\n" + "x $y\n" * 300_000 + "E\n",
        "f0() { a; }; " + "".join(f"f{n}() {{ f{n - 1}; f{n - 1}; }}; " for n in range(1, 40)) + "f39",
        "printf '%s %s' " + "a " * 50_000 + "| sh", "find . " + "-exec a \\; " * 10_000, "a " * 200_000,
        "".join(f"v{n}=1; (a); " for n in range(3_000)), "if a; then b; " + "elif c; then d; " * 3_000 + "fi",
    ],
    ids=lambda line: line[:12],
)  # fmt: skip
@pytest.mark.cases(3)
def test_a_hostile_line_is_read_in_bounded_time(line):
    start = process_time()
    assert parse_commands(line, "/w")
    assert process_time() - start < 12


def test_a_line_that_is_not_read_to_its_end_is_opaque():
    assert parse_commands("a; " * 100_000)[-1].opaque == "it runs too many commands to read"
    assert parse_commands("a\n" + "#" * (1 << 20))[-1].opaque == "it is longer than 1048576 bytes"
    assert any(each.opaque == "it is nested too deeply" for each in parse_commands("(" * 60 + "a" + ")" * 60))


def test_only_a_check_loads_the_grammar():
    code = "import sys, scopes.cli.main, scopes.cli.table; assert 'tree_sitter' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_grammar_is_found_in_another_way_of_packaging_too():
    code = (
        "from types import SimpleNamespace; from scopes.check import shell, shell_grammar; "
        "shell_grammar.PathFinder = SimpleNamespace(find_spec=lambda *_: None); "
        "assert [each.text for each in shell.parse_commands('a | b', '/w')] == ['a', 'b']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
