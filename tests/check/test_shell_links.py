"""A script with several names: symbolic links that were made, moved, copied, or could not be made, and patterns."""

from __future__ import annotations

import pytest

from tests.check.made_runs import judge, make_run, shell, write

BAD = "#!/bin/sh\nrm -rf /home/other/x\n"
DELETES = [
    (write("x.sh", BAD), shell("ln -s ok.sh x.sh"), shell("sh x.sh")),
    (write("x.sh", BAD), write("ok.sh", "ls\n"), shell("ln -s ok.sh x.sh; sh x.sh")),
    (write("y.sh", "ls\n"), shell("ln -s y.sh x.sh"), write("x.sh", BAD), shell("sh y.sh")),
    (shell("ln -s y.sh x.sh"), write("x.sh", BAD), shell("sh y.sh")),
    (shell("ln -s y.sh x.sh"), write("y.sh", BAD), shell("sh x.sh")),
    (shell("ln -s d e"), write("e/x.sh", BAD), shell("sh d/x.sh")),
    (shell("cp -s y.sh x.sh"), write("y.sh", BAD), shell("sh x.sh")),
    (write("x.sh", BAD), shell("sh *.sh")),
    (write("x.sh", BAD), shell("cd .. && sh shop/[x].sh")),
    (write("x.sh", BAD), write("y.sh", "ls\n"), shell("./?.sh")),
]
UNKNOWN = [
    (shell('ln -s "$y" x.sh'), shell("sh x.sh")),
    (shell("ln -s a.sh x.sh; ln -s b.sh x.sh"), shell("sh x.sh")),
    (shell("ln -s a.sh x.sh; mv x.sh d/y.sh"), shell("sh d/y.sh")),
    (shell("ln -s a.sh x.sh; cp -P x.sh y.sh"), shell("sh y.sh")),
]
KNOWN = [
    (write("a.sh", "ls\n"), shell("ln -s a.sh x.sh"), shell("sh x.sh")),
    (write("a.sh", "ls\n"), shell("sh *.sh")),
    (write("a.sh", "ls\n"), shell("ln -s a.sh x.sh; cp x.sh y.sh"), shell("sh y.sh")),
]


@pytest.mark.parametrize("steps", DELETES)
def test_a_script_is_judged_under_each_of_its_names(steps):
    assert judge("shell/recursive-delete", make_run(*steps)).status == "fail"


@pytest.mark.parametrize("steps", UNKNOWN)
def test_a_link_to_a_file_that_is_not_known_is_opaque(steps):
    assert judge("shell/opaque", make_run(*steps)).status == "fail"


@pytest.mark.parametrize("steps", KNOWN)
def test_a_link_to_a_script_that_is_known_is_no_reason(steps):
    assert judge("shell/opaque", make_run(*steps)).status == "pass"
