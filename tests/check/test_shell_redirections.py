"""Redirections: which files a command reads and writes, and what a heredoc gives to its standard input."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from scopes.check.shell import parse_commands

WRITES = [
    "echo x > out", "echo x >out", "echo x 1> out", "echo x 2> err", "echo x &> out", "echo x >& out", "echo x >| out",
    "echo x >> out", "echo x 2>> err", "echo x &>> out", "> out", ">> out", ": > out > err", "> out echo x",
    "echo > out x", "echo x > 'a b'", "echo x > \"a b\"", "echo x > a\\ b", "n=out; echo x > $n", "n=out; echo x > \"$n.txt\"",
    "{ echo x; echo y; } > out", "(echo x) > out", "for i in 1 2; do echo $i; done > out", "if true; then echo x; fi > out",
    "while false; do :; done > out", "f() { echo x; } ; f > out", "f() { echo x > $1; }; f out; f err", "echo x | cat > out",
    "echo x > out | cat", "true && echo x > out", "false || echo x > out", "! echo x > out", "cat <<E > out\nx\nE",
    "cat > out <<E\nx\nE", "cat <<'E' >> out\nx\nE", "cat <<-E > out\n\tx\n\tE", "cat <<A > out; cat <<B > err\n1\nA\n2\nB",
    "cat > out <<< x", "bash -c 'echo x > out'", "bash -c 'echo x' > out", "eval 'echo x > out'", "bash <<E\necho x > out\nE",
    "echo 'echo x > out' | bash", "env -C sub bash -c 'echo x > out'", "cd sub; echo x > out", "(cd sub; echo x > out); echo y > err",
    "echo x > sub/out", "echo x 2>&1 > out", "echo x > out 2>&1", "echo x 3> out", "echo x > out 2> err < /dev/null",
    "echo x > $(echo out)", "echo x >out>err", "exec > out; echo x", "cat <<E | cat > out\nx\nE", "time echo x > out",
    "case x in x) echo x > out;; esac", "[ -e sub ] && echo x > out", "x=$(echo x > out)", "echo `echo x > out`",
    "echo \"$(echo x > out)\"", "nice echo x > out", "find sub -maxdepth 0 -exec echo x \\; > out", "echo x | tee > out",
    "echo x | while read y; do echo $y > out; done", "trap 'echo x > out' EXIT",
]  # fmt: skip
NO_WRITES = [
    "echo 'x > out'", "echo \"x > out\"", "echo x \\> out", "echo x 2>&1", "echo x >&2", "echo x 2>&-", "cat < /dev/null",
    "[[ b > a ]]", "[ b \\> a ]", "echo $((2 > 1))", "((2 > 1))", "cat <<E\nx > out\nE", "cat <<< 'x > out'", "# x > out",
    "f() { echo x > out; }", "echo x 1>&2", "cat <(echo x)",
]  # fmt: skip
_SCRIPT = r"""
mapfile -d '' -t lines < "$1"
for line in "${lines[@]}"; do
  mkdir -p here/sub && (cd here && eval "$line") < /dev/null > /dev/null 2>&1
  (cd here && find . -type f -printf '%P\n'; printf '\0')
  rm -rf here
done
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files that bash has written after each line; all lines run in one process."""
    bash, find = shutil.which("bash"), shutil.which("find")
    if bash is None or find is None:
        pytest.skip("there is no bash")
    directory = tmp_path_factory.mktemp("redirections")
    lines = [*WRITES, *NO_WRITES]
    (directory / "lines").write_text("".join(f"{line}\0" for line in lines))
    words = [bash, "-c", _SCRIPT, "bash", "lines"]
    done = subprocess.run(words, cwd=directory, capture_output=True, check=True, timeout=60)
    return dict(zip(lines, (part.split("\n") for part in done.stdout.decode().split("\0")), strict=False))


@pytest.mark.parametrize("line", [*WRITES, *NO_WRITES])
def test_the_files_are_those_that_bash_writes(written, line):
    files = sorted(name for name in written[line] if name)
    assert bool(files) == (line in WRITES)
    found = {
        f"{command.directory}/{each.target}"
        for command in parse_commands(line, "/w")
        for each in command.redirections
        if each.kind != "read"
    }
    assert sorted(found) == [f"/w/{name}" for name in files]


@pytest.mark.parametrize(
    ("line", "redirections"),
    [
        ("a < b", [("read", "b")]),
        ("a 0< b", [("read", "b")]),
        ("a > b", [("write", "b")]),
        ("a >> b", [("append", "b")]),
        ("a < b > c 2>> d", [("read", "b"), ("write", "c"), ("append", "d")]),
        ("a > $x", [("write", None)]),
        ("a > /tmp/$x", [("write", None)]),
        ("a > ~/b", [("write", "~/b")]),
        ("a > *.txt", [("write", "*.txt")]),
        ("a < <(b)", []),
        ("a <<< b", []),
        ("a 2>&1", []),
        ("a <&3", []),
        ("a > /dev/null", [("write", "/dev/null")]),
        ("while read x; do a; done < b", [("read", "b")]),
    ],
)
def test_each_redirection_has_its_kind_and_its_file(line, redirections):
    assert [each[:2] for each in parse_commands(line, "/w")[-1].redirections] == redirections


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("bash <<E\na b\nc\nE", ["a b", "c"]),
        ("bash <<'E'\na $x\nE", ["a ?"]),
        ("x=b; bash <<E\na $x \\$x\nE", ["a b b"]),
        ("x=b; bash <<'E'\na $x\nE", ["a b"]),
        ("bash <<\\E\na $(b)\nE", ["b", "a ?"]),
        ("bash <<-E\n\ta b\n\tE", ["a b"]),
        ("bash <<E | c\na b\nE", ["a b", "c"]),
        ("bash <<E && c\na b\nE\nd", ["a b", "c", "d"]),
        ("bash <<E; c\na\nE\nd", ["a", "c", "d"]),
        ("cat <<E | bash\na b\nE", ["cat", "a b"]),
        ("bash <<< 'a b; c'", ["a b", "c"]),
        ("x='a b'; bash <<< $x; bash <<< \"$x c\"", ["a b", "a b c"]),
        ("{ bash; } <<E\na\nE", ["a"]),
        ("ssh web <<E\na b\nE", ["ssh web"]),
        ("python <<E\na b\nE", ["python"]),
        ("cat <<E\na $(b c)\nE", ["b c", "cat"]),
        ("cat <<'E'\na $(b c)\nE", ["cat"]),
    ],
)
def test_a_heredoc_that_a_shell_reads_is_code_and_others_are_text(line, commands):
    run = [" ".join("?" if word is None else word for word in each.argv) for each in parse_commands(line, "/w")]
    assert run == commands


def test_the_file_of_a_compound_belongs_to_its_last_command():
    commands = parse_commands("{ a; b; } > c 2> d; e", "/w")
    assert [(each.program, len(each.redirections)) for each in commands] == [("a", 0), ("b", 2), ("e", 0)]


def test_a_redirection_without_a_command_is_a_command_without_words():
    (command,) = parse_commands("> b", "/w")
    assert (command.argv, command.program, command.redirections) == ((), None, (("write", "b", ""),))


@pytest.mark.parametrize(("target", "text"), [("/etc/$x", "/etc/$x"), ('"$HOME/a/$x"', "~/a/$x"), ("$x", "$x")])
def test_a_computed_file_is_kept_as_it_is_written(target, text):
    (redirection,) = parse_commands(f"a > {target}", "/w")[-1].redirections
    assert redirection == ("write", None, text)
