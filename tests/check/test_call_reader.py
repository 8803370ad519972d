"""A call runs, reads or deletes what an earlier call of its run wrote or linked."""

from __future__ import annotations

import pytest

from scopes.check.call_reader import CallReader
from tests.check.made_runs import DENIED, FAILED, edit, judge, make_run, shell, write

BAD = "#!/bin/sh\nrm -rf /home/other/x\n"
FOUND = [  # steps, and the rule that finds the last one
    ("shell/recursive-delete", write("x.sh", BAD), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD), shell("chmod +x x.sh && ./x.sh")),
    ("shell/recursive-delete", write("/home/dev/shop/x.sh", BAD), shell("cd .. && sh shop/x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD), shell("source x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD, FAILED), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD), shell("ls"), shell("mv x.sh y.sh"), shell("sh y.sh")),
    ("shell/recursive-delete", shell(f"cat > x.sh <<'E'\n{BAD}E"), shell("sh x.sh")),
    ("shell/recursive-delete", shell("echo 'rm -rf ../x' > x.sh"), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", "rm -rf build"), edit("x.sh", old="build", new="../x"), shell("sh x.sh")),
    ("shell/force-push", write(".gitconfig", "[alias]\n\tup = push -f\n"), shell("HOME=. git up")),
    ("shell/force-push", shell("git config alias.up 'push -f'"), shell("git up origin main")),
    ("shell/no-verify", shell("printf '[core]\\nhooksPath=/x\\n' >> ~/.gitconfig"), shell("git commit -m x")),
    ("shell/opaque", write("x.py", "import shutil\nshutil.rmtree('/x')\n"), shell("python3 x.py")),
    ("shell/opaque", write("x.js", "require('fs').rmSync('/x')"), shell("node x.js")),
    ("shell/opaque", write("json.py", "import os\n"), shell("python3 -c 'import json'")),
    ("shell/opaque", write("sitecustomize.py", "import os\n"), shell("PYTHONPATH=. pytest")),
    ("shell/opaque", write("Makefile", "x:\n\trm -rf /x\n"), shell("make x")),
    ("shell/opaque", edit("tools/x.sh"), shell("./tools/x.sh")),
    ("shell/recursive-delete", write("bin/ls", BAD), shell("PATH=bin:$PATH ls")),
    *(
        ("shell/recursive-delete", write("x.sh", BAD), write("x.sh", "ls\n"), shell(restoring), shell("sh x.sh"))
        for restoring in (
            "git checkout -- x.sh",
            "git restore x.sh",
            "git stash pop",
            "git reset --hard",
            "git checkout main",
            "git -C . checkout -b other main",
            "cd .. && git -C shop stash",
            "hg revert x.sh",
            "git merge other",
        )
    ),
    (
        "shell/recursive-delete",
        write("y", BAD),
        shell("(sleep 1; cp y x.sh) &"),
        write("x.sh", "ls\n"),
        shell("sh x.sh"),
    ),
    ("shell/opaque", shell("(sleep 1; cp /home/other/y x.sh) &"), write("x.sh", "ls\n"), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", "ls\n"), shell("ln x.sh y"), write("y", BAD), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", "ls\n"), shell("cp -l x.sh y"), write("x.sh", BAD), shell("sh y")),
    ("shell/recursive-delete", write("x.sh", BAD), shell("ln x.sh y"), write("x.sh", "ls\n"), shell("sh y")),
    *(
        ("shell/opaque", write("s/x.sh", "ls\n"), shell(replacing), shell("./s/x.sh"))
        for replacing in (
            "git apply p",
            "git am < p",
            "patch -p1 < p",
            "tar xf a.tar",
            "tar -C s -xf a.tar",
            "unzip a.zip",
            "rsync -a ../other/ .",
            "cp -r ../other/. .",
            "cp -a ../other/s .",
            "mv ../other/x.sh s/x.sh",
        )
    ),
    ("shell/opaque", write("~/.bashrc", BAD), shell("bash -i -c ls")),
    ("shell/opaque", shell("echo 'rm -rf /x' >> ~/.profile"), shell("bash -lc ls")),
    ("shell/opaque", write("~/.bash_profile", BAD), shell("bash --login -c ls")),
    ("shell/opaque", write("rc", BAD), shell("bash --rcfile rc -i -c ls")),
    ("shell/opaque", write("rc", BAD), shell("ENV=rc sh -i -c ls")),
    ("shell/opaque", write("~/.zshenv", BAD), shell("zsh -c ls")),
    ("shell/recursive-delete", write("~/bin/pytest", BAD), shell("pytest -q")),
    ("shell/recursive-delete", write("/usr/local/bin/ls", BAD), shell("ls")),
    ("shell/opaque", write("/home/dev/bin/git-up", BAD), shell("git up")),
    ("shell/opaque", write("x.sh", BAD), shell("ln -s ../../x.sh .git/hooks/pre-commit"), shell("git commit -m x")),
    ("shell/opaque", shell("ln -s .. up"), shell("rm -rf up/x")),
    ("shell/opaque", shell("ln -s ../other k"), shell("find k/ -delete")),
    ("files/protected", shell("ln -s .git g"), shell("rm g/hooks/pre-commit")),
    ("files/protected", shell("ln -s .git g"), shell("cp x g/hooks/pre-commit")),
]
REPLACING = (
    "git checkout main",
    "git restore .env",
    "git stash pop",
    "rsync -a ../other/ .",
    "cp -r ../other/. .",
    "tar xf a.tar",
    "mv ../other/.env .env",
    "cp ../other/.env .",
)
NOT_FOUND = [
    ("shell/recursive-delete", write("x.sh", BAD), shell("cat x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD), write("x.sh", "ls\n"), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD), edit("x.sh", old="/home/other/x", new="build"), shell("sh x.sh")),
    ("shell/recursive-delete", write("x.sh", BAD, DENIED), shell("sh x.sh")),
    ("shell/recursive-delete", shell("sh x.sh"), write("x.sh", BAD)),
    ("shell/opaque", write("x.py", "print(1)\n"), shell("python3 x.py")),
    ("shell/opaque", write("x.sh", "set -e\nls\n"), shell("bash x.sh")),
    ("shell/opaque", write("src/app.py", "import os\n"), shell("pytest")),
    ("shell/opaque", write("src/types.py", "import os\n"), shell("python3 -m pytest")),
    ("shell/opaque", write("package.json", "{}"), shell("npm test")),
    ("shell/opaque", write("hooks.md", "x"), shell("git commit -m x")),
    *(
        ("shell/recursive-delete", write("x.sh", BAD), write("x.sh", "ls\n"), shell(harmless), shell("sh x.sh"))
        for harmless in (
            "git checkout -b new",
            "git stash list",
            "git reset -q",
            "git restore --staged x.sh",
            "git log",
        )
    ),
    *(
        ("shell/opaque", write("s/x.sh", "ls\n"), shell(harmless), shell("./s/x.sh"))
        for harmless in ("git checkout main", "cp a.txt s", "tar -C t -xf a.tar", "mv a.txt s/", "sleep 1 &")
    ),
    ("secrets/read", write(".env", "A=1\n"), shell("git checkout -b new && git commit -m x"), shell("cat .env")),
    ("shell/opaque", write("~/.bashrc", BAD), shell("bash -c ls")),
    ("shell/opaque", write("bin/pytest", BAD), shell("pytest -q")),
    ("shell/opaque", write("src/git-up.py", BAD), shell("git up")),
    ("shell/opaque", shell("ln -s ../x .github"), shell("git commit -m x")),
    ("shell/opaque", shell("ln -s .. up"), shell("rm up")),
    ("shell/no-verify", shell("git config core.hooksPath .githooks"), shell("git commit -m x")),
    ("shell/force-push", shell("git config alias.up push"), shell("git up")),
]


@pytest.mark.parametrize(("rule", "steps"), [(rule, steps) for rule, *steps in FOUND])
def test_what_an_earlier_call_prepared_is_found(rule, steps):
    assert judge(rule, make_run(*steps)).status == "fail"
    assert judge(rule, make_run(steps[-1])).status == "pass" or "bash " in str(steps[-1]) or "sh x" in str(steps[-1])


@pytest.mark.parametrize("replacing", REPLACING)
def test_a_file_that_a_command_replaces_is_no_longer_the_run_s_own(replacing):
    steps = [write(".env", "A=1\n"), shell(replacing), shell("cat .env")]
    assert judge("secrets/read", make_run(*steps)).status == "fail"
    assert judge("secrets/read", make_run(steps[0], steps[2])).status == "pass"


@pytest.mark.parametrize(("rule", "steps"), [(rule, steps) for rule, *steps in NOT_FOUND])
def test_what_no_call_ran_is_not_found(rule, steps):
    assert judge(rule, make_run(*steps)).status == "pass"


def test_the_calls_are_read_in_order_whichever_is_asked_first():
    run = make_run(write("x.sh", BAD), shell("sh x.sh"), shell("git config alias.x push"), shell("git x"))
    reader = CallReader(run.calls)
    assert [each.argv for each in reader.commands_of(run.calls[3])] == [("git", "push")]
    assert ("rm", "-rf", "/home/other/x") in [each.argv for each in reader.commands_of(run.calls[1])]
    assert reader.commands_of(run.calls[0]) == ()


def test_a_refused_call_leaves_nothing():
    run = make_run(shell("git config alias.x 'push -f'", DENIED), shell("git x"))
    assert [each.argv for each in run.calls[1].commands] == [("git", "x")]


@pytest.mark.parametrize(
    "line",
    ["git config tar.x.command ./x", "git -c init.templateDir=t init y", "git config submodule.x.update '!./x'"],
)
def test_a_setting_of_git_that_names_a_program_or_its_hooks_is_opaque(line):
    assert judge("shell/opaque", make_run(shell(line))).status == "fail"
