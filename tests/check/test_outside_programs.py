"""What programs write outside of the workspace, by their arguments: the rule files/outside-workspace."""

from __future__ import annotations

import pytest

from scopes.check.policy import Policy
from tests.check.runs import edit, judge, run_of, shell, verdict_of
from tests.check.test_hook import decide

OUTSIDE = "files/outside-workspace"
WHERE = "outside the workspace /home/dev/shop"


def verdict(repository, *steps, policy=None):
    return verdict_of(judge(repository, run_of(repository, *steps, cwd="/home/dev/shop"), policy), OUTSIDE)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cp a /etc/app.conf", "/etc/app.conf"),
        ("cp -r src ../other", "/home/dev/other"),
        ("cp a b ~/bin/", "~/bin/a"),
        ("cp a /etc/$NAME", "/etc/$NAME"),
        ("sudo tee -a /etc/hosts <<< x", "/etc/hosts"),
        ("dd if=a of=/dev/sda", "/dev/sda"),
        ("mv a /opt/a", "/opt/a"),
        ("touch ~/.hushlogin", "~/.hushlogin"),
        ("sed -i s/a/b/ ../other/a.py", "/home/dev/other/a.py"),
        ("install -m 755 a /usr/local/bin/a", "/usr/local/bin/a"),
        ("install -d /opt/a", "/opt/a"),
        ("curl -so ~/.local/bin/a https://example.com/a", "~/.local/bin/a"),
        ("cd /opt && curl -O https://example.com/a", "/opt/a"),
        ("wget -O /usr/bin/a https://example.com/a", "/usr/bin/a"),
        ("wget -P /opt https://example.com/a", "/opt/a"),
        ("tar -C /opt -xf a.tar", "/opt"),
        ("unzip a.zip -d ~/a", "~/a"),
        ("mkdir -p /opt/a/b", "/opt/a/b"),
        ("ln -s $PWD/a ~/bin/a", "~/bin/a"),
        ("rsync -a src/ ../other/", "/home/dev/other"),
        ("git clone https://example.com/x.git ../x", "/home/dev/x"),
    ],
)
@pytest.mark.cases(16)
def test_what_a_program_writes_outside_is_a_finding(repository, command, path):
    assert verdict(repository, shell(command)) == ("fail", f"writes {path}, {WHERE}")


@pytest.mark.parametrize(
    "command",
    [
        "cp /etc/hosts .",
        "cp ~/a b",
        "cp a /tmp",
        "cp -r a /tmp/",
        "mv a /tmp/a && mv /tmp/a .",
        "tar -C /tmp -xf a.tar",
        "curl -o /dev/null https://example.com",
        "make 2>&1 | tee /dev/stderr | tee /dev/fd/3",
        "mkdir -p /home/dev/shop/build /home/dev",
        "cp a ~/shop/b",
        "touch ~/shop/b",
        "cp a $DEST/b $TMPDIR/../c",
        "cp a ~/$NAME",
        "ln -s ~/a b",
        "sed s/a/b/ /etc/hosts",
        "tar -C /opt -cf a.tar .",
        "ssh host 'cp a /etc/b'",
        "docker exec c cp a /etc/b",
    ],
)
@pytest.mark.cases(16)
def test_these_write_in_the_workspace_or_in_a_temporary_directory(repository, command):
    assert verdict(repository, shell(command)) == ("pass", "")


def test_the_home_directory_is_that_of_the_workspace(repository):
    assert verdict(repository, edit("~/shop/a.py"))[0] == "pass"
    assert verdict(repository, edit("~/shop2/a.py"))[0] == "fail"


def test_a_worktree_and_the_directory_that_is_made_for_it_are_inside(repository):
    line = "mkdir -p ../trees && git worktree add ../trees/fix && cp a ../trees/fix/a"
    assert verdict(repository, shell(line)) == ("pass", "")


def test_a_copy_is_one_finding(repository):
    checked = judge(repository, run_of(repository, shell("cp -r a /opt/x"), cwd="/home/dev/shop"))
    assert [each.message for each in checked.runs[0].findings if each.rule == OUTSIDE] == [f"writes /opt/x, {WHERE}"]


def test_a_directory_that_the_policy_allows_may_be_made_and_filled(repository):
    policy = Policy(parameters={OUTSIDE: {"allow": ["/opt/a/**"]}})
    step = shell("mkdir -p /opt/a && cp -r b /opt/a && tar -C /opt/a -xf c.tar")
    assert verdict(repository, step, policy=policy) == ("pass", "")


def test_the_hook_denies_it():
    decision = decide(given={"command": "cp a /etc/app.conf"})
    assert (decision.action, OUTSIDE in decision.reason) == ("deny", True)
