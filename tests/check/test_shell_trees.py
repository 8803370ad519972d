"""A script that was written, and then changed by a command that does not name its new text, is not known any more."""

from __future__ import annotations

import pytest

from tests.check.made_runs import judge, make_run, shell, write

HARMLESS = write("d/s.sh", "ls\n")
CHANGES = [
    "git checkout HEAD~1",
    "git checkout -- d/s.sh",
    "git checkout -- d",
    "git checkout main -- .",
    "git restore d/s.sh",
    "git restore --source main d",
    "git restore ':(glob)**/*.sh'",
    "git stash",
    "git stash pop",
    "git reset --hard",
    "git merge other",
    "git pull",
    "git am p",
    "git apply p",
    "git cherry-pick other",
    "git revert HEAD",
    "git switch other",
    "git rebase main",
    "cd d && git checkout other",
    "git -C d checkout other",
    "gh pr checkout 5",
    "patch -p1 < p",
    "tar xf a.tar",
    "unzip a.zip -d d",
    "rsync -a /other/ d",
    "sed -i s/ls/rm/ d/*.sh",
    "find . -name '*.sh' -exec sed -i s/ls/rm/ {} +",
    "cp /other d/s.?h",
    'cp /other "$x/s.sh"',
    'echo "$y" > "$x/s.sh"',
    "make all",
    "npm run build",
    "go generate ./...",
    "shfmt -w d",
    "cd d; make",
]
KEPT = [
    "git checkout -b new",
    "git switch -c new",
    "git reset HEAD d/s.sh",
    "git restore --staged d/s.sh",
    "git restore other.sh",
    "git checkout -- other",
    "git stash list",
    "git apply --check p",
    "git commit -am x",
    "git -C /other checkout main",
    "cd /other && make",
    "make -n",
    "tar xf a.tar -C /other",
    "sed -i s/a/b/ d/*.py",
    'echo "$y" > "$x/other.sh"',
    "pytest",
]


@pytest.mark.parametrize("line", CHANGES)
def test_a_script_that_a_command_may_have_changed_is_not_known(line):
    assert judge("shell/opaque", make_run(HARMLESS, shell(line), shell("sh d/s.sh"))).status == "fail"
    assert judge("shell/opaque", make_run(HARMLESS, shell(f"{line}; sh d/s.sh"))).status == "fail"


@pytest.mark.parametrize("line", CHANGES)
def test_the_change_alone_is_no_reason(line):
    assert judge("shell/opaque", make_run(HARMLESS, shell(line))).status == "pass"


@pytest.mark.parametrize("line", KEPT)
def test_a_script_that_a_command_does_not_change_stays_known(line):
    assert judge("shell/opaque", make_run(HARMLESS, shell(line), shell("sh d/s.sh"))).status == "pass"


def test_a_script_is_known_again_when_it_is_written_again():
    run = make_run(HARMLESS, shell("git checkout other"), HARMLESS, shell("sh d/s.sh"))
    assert judge("shell/opaque", run).status == "pass"


@pytest.mark.parametrize("line", ["git checkout -- .env", "git restore .", "rsync -a /other/ .", "tar xf a.tar"])
def test_a_file_of_secrets_that_a_command_may_have_replaced_is_not_the_run_s_own(line):
    own = write(".env", "A=1\n")
    assert judge("secrets/read", make_run(own, shell("cat .env"))).status == "pass"
    assert judge("secrets/read", make_run(own, shell(line), shell("cat .env"))).status == "fail"
