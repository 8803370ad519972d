"""A script that was written, and then changed by a build, a formatter or a pattern, is not known any more."""

from __future__ import annotations

import pytest

from tests.check.made_runs import judge, make_run, shell, write

HARMLESS = write("d/s.sh", "ls\n")
CHANGES = [
    "gh pr checkout 5",
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
    "git commit -am x",
    "gh pr view 5",
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
    run = make_run(HARMLESS, shell("make"), HARMLESS, shell("sh d/s.sh"))
    assert judge("shell/opaque", run).status == "pass"


@pytest.mark.parametrize("line", ["make", 'cp /other "$d/.env"', "cp /other .e?v"])
def test_a_file_of_secrets_that_a_command_may_have_replaced_is_not_the_run_s_own(line):
    own = write(".env", "A=1\n")
    assert judge("secrets/read", make_run(own, shell("cat .env"))).status == "pass"
    assert judge("secrets/read", make_run(own, shell(line), shell("cat .env"))).status == "fail"
