"""What git runs by settings, variables, aliases and options: git itself is asked, with a program `mark` that leaves a file."""

from __future__ import annotations

import shutil

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_command import Setting
from tests.check.marked_runs import bash, prepare, reads_of, runs_mark

RUNS = [  # git runs `mark` for these
    "git -c alias.x='!mark' x",
    "git -c alias.x='!mark a' x b",
    "git -c alias.X='!mark' x",
    "git -c alias.y='!mark' -c alias.x=y x",
    "git -C . -c alias.x='!mark' x",
    "git -c alias.x='-c alias.y=!mark y' x",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!mark' git x",
    "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!mark'; git x",
    "A='!mark' git --config-env=alias.x=A x",
    "A='!mark' git --config-env alias.x=A x",
    "git config alias.x '!mark'; git x",
    "git config set alias.x '!mark'; git x",
    "git config --local alias.x '!mark' && git x",
    "git -c core.editor=mark commit --allow-empty",
    "GIT_EDITOR=mark git commit --allow-empty",
    "EDITOR=mark git commit --allow-empty",
    "TERM=xterm VISUAL=mark git commit --allow-empty",
    "export EDITOR=mark; git commit --allow-empty",
    "git -c core.editor='mark;:' commit --amend",
    "GIT_SEQUENCE_EDITOR=mark git rebase -i HEAD~1",
    "git -c sequence.editor=mark rebase -i HEAD~1",
    "git rebase -x mark HEAD~1",
    "git rebase --exec mark HEAD~1",
    "git rebase --exec=mark HEAD~1",
    "git rebase HEAD~1 --exec mark",
    "git rebase HEAD~1 -x mark",
    "git -c diff.external=mark diff HEAD~1",
    "GIT_EXTERNAL_DIFF=mark git diff HEAD~1",
    "git difftool -y -x mark HEAD~1",
    "git difftool -y --extcmd=mark HEAD~1",
    "git -c difftool.t.cmd=mark difftool -y -t t HEAD~1",
    "git -c core.sshCommand=mark ls-remote ssh://x/y",
    "GIT_SSH_COMMAND=mark git ls-remote ssh://x/y",
    "GIT_SSH=mark git ls-remote ssh://x/y",
    "git -c protocol.ext.allow=always ls-remote 'ext::mark'",
    "git ls-remote --upload-pack=mark .",
    "git fetch --upload-pack mark ../other.git",
    "git clone -u mark ../other.git n",
    "git clone --upload-pack=mark ../other.git n",
    "git push --receive-pack=mark ../other.git HEAD",
    "git push --exec=mark ../other.git HEAD",
    "git bisect start HEAD HEAD~1; git bisect run mark",
    "git filter-branch -f --msg-filter mark HEAD",
    "git filter-branch -f --tree-filter 'mark' HEAD",
    "git -c core.fsmonitor=mark status",
    "git -c credential.helper='!mark' credential fill <<< $'protocol=https\\nhost=x\\n'",
    "echo x > x.f; git -c filter.f.clean=mark add x.f",
    "git grep -Omark one",
    "git grep --open-files-in-pager=mark one",
    "git -c include.path=$HOME/included x",
    "GIT_CONFIG_PARAMETERS=\"'alias.x=!mark'\" git x",
    "GIT_CONFIG_PARAMETERS=\"'alias.x'='!mark a'\" git x",
    "GIT_CONFIG_PARAMETERS=\"'user.name=a' 'core.fsmonitor=mark'\" git status",
    "export GIT_CONFIG_PARAMETERS=\"'core.editor=mark'\"; git commit --allow-empty",
    "GIT_CONFIG_PARAMETERS=\"'alias.x=!mark'\" git -c color.ui=false x",
    "P=\"'alias.x=!mark'\"; GIT_CONFIG_PARAMETERS=$P git x",
    'GIT_CONFIG_PARAMETERS="$(echo "\'alias.x=!mark\'" | rev | rev)" git x',
    "GIT_CONFIG_GLOBAL=$HOME/included git x",
    "git -c alias.x='!git y' -c alias.y='!mark' x",
    "git -c core.editor=mark -c alias.x='commit --allow-empty' x",
    "git -c core.editor='git -c alias.z=!mark z' commit --allow-empty",
]
SETTINGS = [  # and the key that they set, or not
    ("git -c own.name=a", "own.name"),
    ("git -c OWN.Name=a", "own.name"),
    ("git -c own.name=a -c own.name=b", "own.name"),
    ("git -c 'own.name=a -c own.email=b'", "own.name"),
    ("git -c 'own.name=a -c core.hooksPath=/dev/null'", "core.hookspath"),
    ("git -c own.name='a=b c'", "own.name"),
    ("git -c own.flag", "--bool own.flag"),
    ("N=a git --config-env=own.name=N", "own.name"),
    ("N='a b' git --config-env own.name=N", "own.name"),
    ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=own.name GIT_CONFIG_VALUE_0='a b' git", "own.name"),
    ("GIT_CONFIG_PARAMETERS=\"'own.name=a b'\" git", "own.name"),
    ("GIT_CONFIG_PARAMETERS=\"'own.name'='a b'\" git", "own.name"),
    ("GIT_CONFIG_PARAMETERS=\"'own.name=a'\\\\''b'\" git", "own.name"),
    ("GIT_CONFIG_PARAMETERS=\"'own.name=a' 'own.email=b'\" git", "own.email"),
    ("GIT_CONFIG_PARAMETERS=\"'own.flag'\" git", "--bool own.flag"),
    ("GIT_CONFIG_PARAMETERS=\"'own.name=a'\" git -c own.name=b", "own.name"),
    ("GIT_CONFIG_PARAMETERS=\"'own.name=a'\" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=own.name GIT_CONFIG_VALUE_0=b git", "own.name"),
    ("printf '[own]\\nname = c d\\n' > g; GIT_CONFIG_GLOBAL=g git", "own.name"),
    ("printf '[own]\\nname = c\\n' > g; GIT_CONFIG_GLOBAL=g git -c own.name=e", "own.name"),
]  # fmt: skip
RUNS_NOTHING = [  # and it runs no other program for these, so nothing is reported
    "git status",
    "git -c color.ui=false log -1",
    "git -C . log --oneline",
    "git -c core.pager=cat log -1",
    "GIT_PAGER=cat git diff",
    "PAGER=less git log -1",
    "GIT_EDITOR=true git commit --amend --no-edit",
    "git -c core.editor=true commit --amend",
    "git --no-pager diff HEAD~1",
    "git rebase HEAD~1",
    "git config user.name mark",
    "git config --get alias.x",
    "git -c alias.x=status x",
    "git -c user.name=mark commit --allow-empty -m mark",
    "git log --grep=mark",
    "git clone ../other.git mark",
    "git checkout -b mark",
    "git add mark; git rm -q --cached mark",
    "GIT_AUTHOR_NAME=mark git commit --allow-empty -m x",
    "GIT_CONFIG_PARAMETERS=\"'user.name=mark'\" git log",
    "GIT_CONFIG_PARAMETERS=\"'core.pager=less' 'color.ui=auto'\" git log -1",
    "GIT_CONFIG_PARAMETERS= git status",
    "git -c core.editor='mark; x' -c core.editor= log -1",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A home directory with a repository of two commits, and one to fetch from."""
    home = prepare(
        tmp_path_factory.mktemp("git"),
        "git init -q . && printf '*.f filter=f\\n' > .gitattributes && echo one > a && git add . && git commit -qm 1"
        " && echo two >> a && cp a mark && git add . && git commit -qm 2 && git clone -q --bare . ../other.git",
    )
    (home / "included").write_text('[alias]\n\tx = "!mark"\n')
    return home


@pytest.mark.parametrize("line", RUNS)
@pytest.mark.cases(16)
def test_a_program_that_git_runs_is_found_or_the_line_is_opaque(prepared, tmp_path, line):
    if not runs_mark(prepared, line, tmp_path):
        pytest.skip("this git does not run it")
    programs, opaque = reads_of(line)
    assert "mark" in programs or opaque


@pytest.mark.parametrize("line", RUNS_NOTHING)
@pytest.mark.cases(16)
def test_a_line_in_which_git_runs_no_other_program_is_read_completely(prepared, tmp_path, line):
    assert not runs_mark(prepared, line, tmp_path)
    programs, opaque = reads_of(line)
    assert programs == {"git"}
    assert opaque == []


@pytest.mark.parametrize(("start", "key"), SETTINGS)
@pytest.mark.cases(16)
def test_a_setting_has_the_value_that_git_takes(prepared, tmp_path, start, key):
    """The settings of options travelled as a text, in which `-c` inside of a value began another one."""
    home = tmp_path / "home"
    shutil.copytree(prepared, home, symlinks=True)
    expected = bash(f"{start} config --get {key}", home).stdout.decode()
    command = parse_commands(f"{start} status", "/w")[-1]
    assert command.argv == ("git", "status")
    values = [value for name, value, _ in command.settings if name == key.split()[-1]]
    assert "".join(f"{value}\n" for value in values[-1:]) == expected


def test_a_setting_whose_value_is_not_known_has_no_value():
    for line in (
        "git -c core.abbrev=$x log",
        "git --config-env=core.abbrev=X log",
        "GIT_CONFIG_KEY_0=core.abbrev git log",
    ):
        assert parse_commands(line, "/w")[-1].settings == (Setting("core.abbrev", None),)


def test_programs_that_git_runs_have_its_settings():
    """Git hands on what `-c` sets."""
    commands = parse_commands("git -c core.abbrev=9 bisect run git -c a.b=c log", "/w")
    assert [each.settings for each in commands] == [
        (Setting("core.abbrev", "9"),),
        (Setting("core.abbrev", "9"), Setting("a.b", "c")),
    ]
    assert parse_commands("git -c a.b=c log; git log", "/w")[-1].settings == ()


def test_most_lines_run_a_program_with_this_git(prepared, tmp_path):
    """The table would prove nothing if git refused its lines."""
    assert runs_mark(prepared, RUNS[0], tmp_path)
