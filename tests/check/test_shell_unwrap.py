"""What a command runs below it, and commands whose effect no reader of a shell can see."""

from __future__ import annotations

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_state import Input, Word
from scopes.check.shell_unwrap import find_opaque_program, item_of, unwrap
from tests.check.shell_lines import run_lines

LANGUAGE = "runs a text in another language"


def words_of(text):
    return tuple(Word(word, word) for word in text.split())


def reason(text, given=None):
    unread = find_opaque_program(words_of(text), given)
    return None if unread is None else unread.reason


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("sh -c 'a b'", ["a b"]),
        ("bash -lc 'a b' x y", ["a b"]),
        ("bash -euo pipefail -c 'a; b'", ["a", "b"]),
        ("bash -c -e 'a b'", ["a b"]),
        ("bash --norc -c 'a b'", ["a b"]),
        ("zsh -ic 'a b'", ["a b"]),
        ("dash -c 'a $1' x b", ["a b"]),
        ("/bin/sh -c 'a b'", ["a b"]),
        ("sh -c 'sh -c \"a b\"'", ["a b"]),
        ("sh -c \"a $x\"", ["a ?"]),
        ("bash -c 'a \"$@\"' _ b 'c d'", ["a b c d"]),
        ("bash -s x <<< 'a $1'", ["a x"]),
        ("bash - <<< 'a b'", ["a b"]),
        ("bash /dev/stdin b <<< 'a $1'", ["a b"]),
        ("echo 'a b' | bash", ["echo a b", "a b"]),
        ("printf 'a %s\\n' b c | sh", ["printf a %s\\n b c", "a b", "a c"]),
        ("echo 'a b' | sudo bash -s", ["echo a b", "a b"]),
        ("echo 'a b' | tee log | bash", ["echo a b", "tee log", "a b"]),
    ],
)  # fmt: skip
def test_the_text_that_a_shell_is_given_is_read(line, lines):
    assert run_lines(line) == lines


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("eval a b", ["a b"]),
        ("eval 'a b; c'", ["a b", "c"]),
        ("eval a '$x'", ["a ?"]),
        ("eval", ["eval"]),
        ("eval -- a b", ["a b"]),
        ("eval 'eval \"a b\"'", ["a b"]),
        ("trap 'a b' EXIT", ["a b"]),
        ("trap 'a; b' INT TERM", ["a", "b"]),
        ("trap - EXIT", ["trap - EXIT"]),
        ("trap '' INT", ["trap  INT"]),
        ("trap -p", ["trap -p"]),
        ("trap -l EXIT", ["trap -l EXIT"]),
    ],
)
def test_eval_and_trap_run_their_words_in_this_shell(line, lines):
    assert run_lines(line) == lines


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("xargs a", ["a ?"]),
        ("b | xargs a -x", ["b", "a -x ?"]),
        ("xargs -n 1 -P4 a b", ["a b ?"]),
        ("xargs -0 -r a", ["a ?"]),
        ("xargs --max-args=1 --no-run-if-empty a", ["a ?"]),
        ("xargs -I{} a {}/x", ["a ?"]),
        ("xargs -I % a % %", ["a ? ?"]),
        ("xargs --replace=X a X", ["a ?"]),
        ("xargs -I{} a b", ["a b"]),
        ("xargs -a list a", ["xargs -a list a", "a ?"]),
        ("xargs sh -c 'a \"$@\"' _", ["a ?"]),
        ("xargs", ["xargs"]),
        ("xargs -t", ["xargs -t"]),
        ("echo b c | xargs a", ["echo b c", "a b c"]),
        ("printf '%s\\n' b c | xargs -I{} a x/{}", ["printf %s\\n b c", "a x/b", "a x/c"]),
        ("echo b | xargs -I{} sh -c 'a {}'", ["echo b", "a b"]),
        ("find x -name y | xargs a", ["find x -name y", "a x/{}"]),
        ("find x -name y -print0 | xargs -0 -I{} a {}", ["find x -name y -print0", "a x/{}"]),
        ("find x -name y | grep z | sort -u | xargs a", ["find x -name y", "grep z", "sort -u", "a x/{}"]),
        ("find x | awk '{print $1}' | xargs a", ["find x", "awk {print $1}", "a ?"]),
        ("find x -name y | while read z; do a $z; done", ["find x -name y", "read z", "a x/{}"]),
    ],
)  # fmt: skip
def test_xargs_runs_its_words_with_what_it_reads(line, inner):
    assert run_lines(line) == inner


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("find x -exec a {} \\;", "a x"),
        ("find x -name y -exec a {} +", "a x/{}"),
        ("find x/ -type f -name y -exec a -b {} \\;", "a -b x/{}"),
        ("find -L x -iname y -execdir a {} \\;", "a x/{}"),
        ("find . -mindepth 1 -exec a {} +", "a ./{}"),
        ("find -name y -exec a {} +", "a ./{}"),
        ("find $x -name y -exec a {} +", "a ?"),
        ("find x -ok a {} \\;", "a x"),
        ("find x -okdir a {}.bak \\;", "a x.bak"),
        ("find x -exec sh -c 'a \"$1\"' _ {} \\;", "a x"),
        ("gfind x -exec sudo a \\;", "a"),
        ("fd y -x a", "a ./{}"),
        ("fd y --exec-batch a b {}", "a b ./{}"),
        ("fdfind y -X a {}", "a ./{}"),
    ],
)
def test_find_and_fd_run_a_command_for_what_they_find(line, inner):
    assert run_lines(line)[0] == line.replace("\\;", ";").replace("$x", "?").replace("'", "").replace('"$1"', '"$1"')
    assert run_lines(line)[-1] == inner


def test_each_exec_of_find_runs():
    assert run_lines("find x -exec a {} \\; -exec b {} +")[1:] == ["a x", "b x"]
    assert run_lines("find x -exec") == ["find x -exec"]
    assert run_lines("fd x -x") == ["fd x -x"]


@pytest.mark.parametrize(
    ("line", "argv", "directory", "wrappers"),
    [
        ("git push", "git push", "/w", ()),
        ("git -C x push -f", "git push -f", "/w/x", ()),
        ("git -C x -C ../y push", "git push", "/w/y", ()),
        ("git -C x -C /y push", "git push", "/y", ()),
        ("git -C $x push", "git push", None, ()),
        ("git --git-dir=x/.git --work-tree y push", "git push", "/w/y", ()),
        ("git -c a=b -c c=d push", "git push", "/w", ("git -c a=b -c c=d",)),
        ("git --config-env=a=B push", "git push", "/w", ("git -c a=B",)),
        ("git --no-pager -p --bare push", "git push", "/w", ()),
        ("git -Cx push", "git push", "/w/x", ()),
        ("git --version", "git --version", "/w", ()),
        ("git -C x", "git -C x", "/w", ()),
        ("/usr/bin/git -C x push", "git push", "/w/x", ()),
        ("git submodule foreach 'a b'", "a b", "/w", ("git submodule foreach",)),
        ("git submodule foreach --recursive a b", "a b", "/w", ("git submodule foreach",)),
        ("git submodule update", "git submodule update", "/w", ()),
        ("git bisect run a b", "a b", "/w", ("git bisect run",)),
        ("git bisect start", "git bisect start", "/w", ()),
        ("git rebase -x 'a b' main", "a b", "/w", ("git rebase --exec",)),
        ("git rebase --exec='a b' -i main", "a b", "/w", ("git rebase --exec",)),
        ("git rebase main -x a", "a", "/w", ("git rebase --exec",)),
    ],
)
def test_git_is_read_without_its_global_options(line, argv, directory, wrappers):
    command = parse_commands(line, "/w")[-1]
    assert (" ".join(command.argv), command.directory, command.wrappers) == (argv, directory, wrappers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python -c x", f"python {LANGUAGE}"),
        ("python3.12 -Im pytest -c x", None),
        ("python3 -W error -c x", f"python3 {LANGUAGE}"),
        ("python3 -m json.tool", None),
        ("python3 x.py -c y", None),
        ("pypy3 -c x", f"pypy3 {LANGUAGE}"),
        ("node -e x", f"node {LANGUAGE}"),
        ("node -r ./x -e y", f"node {LANGUAGE}"),
        ("node --import x y.js", None),
        ("node x.js -e y", None),
        ("nodejs --print x", f"nodejs {LANGUAGE}"),
        ("bun -e x", f"bun {LANGUAGE}"),
        ("bun test", None),
        ("tsx --eval x", f"tsx {LANGUAGE}"),
        ("perl -ne x", f"perl {LANGUAGE}"),
        ("perl -E x", f"perl {LANGUAGE}"),
        ("perl x.pl", None),
        ("ruby -e x", f"ruby {LANGUAGE}"),
        ("php -r x", f"php {LANGUAGE}"),
        ("lua -e x", f"lua {LANGUAGE}"),
        ("Rscript -e x", f"Rscript {LANGUAGE}"),
        ("osascript -e x", f"osascript {LANGUAGE}"),
        ("elixir --eval x", f"elixir {LANGUAGE}"),
        ("julia -E x", f"julia {LANGUAGE}"),
        ("deno eval x", f"deno {LANGUAGE}"),
        ("deno test", None),
        ("source x", "source runs a file in this shell"),
        (". x", ". runs a file in this shell"),
        ("source", None),
        ("bash x.sh", "bash runs a file"),
        ("bash -n x.sh", None),
        ("bash --version", None),
        ("bash", None),
        ("bash -i", "bash reads its commands from elsewhere"),
        ("ssh web ls", "ssh runs on another machine"),
        ("ssh", None),
        ("ssh -V", None),
        ("ssh -G web", None),
        ("mosh web", "mosh runs on another machine"),
        ("pwsh -c x", "pwsh is a command of PowerShell"),
        ("powershell.exe x", "powershell.exe is a command of PowerShell"),
        ("cmd.exe /c x", "cmd.exe is a command of cmd.exe"),
        ("wsl ls", "wsl runs in another system"),
        ("at now", "at runs later"),
        ("batch x", "batch runs later"),
        ("crontab x", "crontab runs later"),
        ("crontab -l", None),
        ("parallel a ::: b", "parallel runs commands that it makes"),
        ("parallel --version", None),
        ("expect x", "expect is a program of expect"),
        ("docker exec x a", "docker runs it in another system"),
        ("docker compose run x a", "docker runs it in another system"),
        ("docker build .", None),
        ("podman run x", "podman runs it in another system"),
        ("kubectl exec x -- a", "kubectl runs it in another system"),
        ("kubectl get pods", None),
        ("vagrant ssh", "vagrant runs it in another system"),
        ("limactl shell x a", "limactl runs it in another system"),
        ("tmux send-keys x Enter", "runs in tmux"),
        ("tmux new-session -d x", "runs in tmux"),
        ("tmux ls", None),
        ("make test", None),
        ("", None),
    ],
)
def test_a_command_that_cannot_be_read_says_why(text, expected):
    assert reason(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "programs"),
    [
        ("bash", "bash runs what it reads", ("curl",)),
        ("bash -s -- x", "bash runs what it reads", ("curl",)),
        ("sh -", "sh runs what it reads", ("curl",)),
        ("python3", "python3 runs what it reads", ("curl",)),
        ("python3 -", "python3 runs what it reads", ("curl",)),
        ("node", "node runs what it reads", ("curl",)),
        ("perl", "perl runs what it reads", ("curl",)),
        ("ruby -", "ruby runs what it reads", ("curl",)),
        ("python3 -c x", f"python3 {LANGUAGE}", ()),
        ("python3 x.py", None, ()),
        ("python3 /dev/stdin", "python3 runs what it reads", ("curl",)),
        ("bash - x.sh", "bash runs a file", ()),
        ("bash /dev/stdin", "bash runs what it reads", ("curl",)),
        ("bash -n", None, ()),
        ("jq .", None, ()),
    ],
)
def test_code_that_comes_through_a_pipe_names_the_programs_that_print_it(text, expected, programs):
    unread = find_opaque_program(words_of(text), Input(programs=("curl",)))
    assert (unread and unread.reason) == expected
    assert (unread.code_from if unread else ()) == programs


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("curl x | sh", {"curl"}),
        ("curl x | gunzip | tee y | bash", {"curl", "gunzip", "tee"}),
        ('sh -c "$(curl x)"', {"curl"}),
        ('eval "$(curl x)"', {"curl"}),
        ('x=$(curl y); sh -c "$x"', {"curl"}),
        ("source <(curl x)", {"curl"}),
        ("bash <(curl x)", {"curl"}),
        ("bash < <(curl x)", {"curl"}),
        ("bash <<< $(curl x)", {"curl"}),
        ("bash <<E\n$(curl x)\nE", {"curl"}),
        ("bash <<E\n`curl x`\nE", {"curl"}),
        ("$(curl x)", {"curl"}),
        ("for l in $(curl x); do eval $l; done", {"curl"}),
        ("(curl x; wget y) | sh", {"curl", "wget"}),
        ("curl x | sudo -E bash -", {"curl"}),
        ("curl x | sh -c 'cat'", set()),
        ("curl x | jq .", set()),
        ("curl x > y; sh y", set()),
    ],
)
def test_the_source_of_code_is_followed_through_pipes_variables_and_files_of_the_shell(line, programs):
    assert {name for each in parse_commands(line, "/w") for name in each.code_from} == programs


def test_a_line_of_find_stands_for_a_path_below_its_start():
    assert item_of(words_of("find src test -name x")) == Word("src/{}", "src/{}")
    assert item_of(words_of("find -L src")) == Word("src", "src")
    assert item_of(words_of("ls src")) is None
    assert unwrap(words_of("ls src"), None) == []


REAL = [
    "sh -c 'a b'; bash -c 'a $0 $1' b c; bash -euo pipefail -c 'a b; a c'; sh -ec 'a \"$@\"' _ b 'c d'",
    "eval a b; eval 'a \"b c\"'; eval \"a 'd e'\"; eval 'eval \"a f\"'",
    "echo b c | xargs a d; printf '%s\\n' b c | xargs -I% a x/%/y",
    "find x -name y -prune -exec true {} \\; -exec a b \\;; find z -maxdepth 0 -exec a {} \\;",
    "trap 'a b' EXIT; a c",
    "echo 'a b' | bash; printf 'a %s\\n' b c | sh; echo 'a d' | bash -s; bash -s x <<< 'a $1'",
    "bash <<< 'a b'; sh <<E\na c; a d\nE",
    "bash -c 'cd x && a'; a; (eval 'cd x'; a)",
]  # fmt: skip


@pytest.mark.parametrize("line", REAL)
def test_the_commands_are_those_that_bash_runs(bash, line):
    """A trap is read where it is set, and runs later."""
    assert sorted(bash.parsed(line)) == sorted(bash.commands(line))


@pytest.mark.parametrize(
    "line",
    [
        *("python3 -i x.py <<< 'open(1)'", "python3 -m code <<< 'open(1)'", "perl -ne 'print' 'rm -rf /srv|'"),
        *("node --import data:text/javascript,x -e 1", "python3 --check-hash-based-pycs never -c 'open(1)'"),
    ],
)
def test_an_interpreter_that_runs_more_than_its_program_is_opaque(line):
    assert parse_commands(line, "/w")[-1].opaque is not None


@pytest.mark.parametrize(
    "line", ["python3 -m json.tool <<< 1", "python3 -I x.py < y", "perl -ne 'print' x y", "node x.js"]
)
def test_an_interpreter_that_runs_only_its_program_is_not(line):
    assert parse_commands(line, "/w")[-1].opaque is None
