"""What git runs by settings, variables, aliases and options: git itself is asked, with a program `mark` that leaves a file."""

from __future__ import annotations

import pytest

from tests.check.marked_runs import prepare, reads_of, runs_mark

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
]
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
def test_a_program_that_git_runs_is_found_or_the_line_is_opaque(prepared, tmp_path, line):
    if not runs_mark(prepared, line, tmp_path):
        pytest.skip("this git does not run it")
    programs, opaque = reads_of(line)
    assert "mark" in programs or opaque


@pytest.mark.parametrize("line", RUNS_NOTHING)
def test_a_line_in_which_git_runs_no_other_program_is_read_completely(prepared, tmp_path, line):
    assert not runs_mark(prepared, line, tmp_path)
    programs, opaque = reads_of(line)
    assert programs == {"git"}
    assert opaque == []


def test_most_lines_run_a_program_with_this_git(prepared, tmp_path):
    """The table would prove nothing if git refused its lines."""
    assert runs_mark(prepared, RUNS[0], tmp_path)
