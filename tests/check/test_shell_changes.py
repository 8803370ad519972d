"""Which files programs change: the programs are run, and each path that differs afterwards must be in the list."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from scopes.check.shell import parse_commands

LINES = [
    "cp a b", "cp a d", "cp a d/", "cp a c d", "cp -t d a c", "cp --target-directory=d a", "cp -r d e", "cp -S .bak a c",
    "mv a b", "mv a d", "mv a c d/", "mv -t d a", "mv d e", "ln a b", "ln -s a b", "ln -sf a c", "ln -sfn d l", "ln -s ../x d",
    "ln -s d/f", "install a b", "install -m 755 a b", "install -D a n/b", "install -t d a c", "echo x | tee a c", "tee -a a <<< x",
    "rm a", "rm -f a c", "rm -rf d", "rm -- a", "rmdir n/o", "unlink a", "truncate -s 0 a", "truncate -s0 a c", "shred -u a",
    "sed -i s/1/2/ a c", "sed -i.bak s/1/2/ a", "sed -ni s/1/2/ a", "sed -i -e s/1/2/ a", "sed -e s/1/2/ -i a", "sed --in-place s/1/2/ a",
    "sed -E -i 's/(1)/2/' d/f", "perl -pi -e s/1/2/ a", "perl -i -pe s/1/2/ a c", "perl -pi.bak -e s/1/2/ a",
    "dd if=a of=b", "find d -delete", "find d -name f -delete", "find d -name f -exec rm {} +", "find . -name a -exec rm -f {} \\;",
    "sort -o a c", "sort c -o b", "sort --output=b c", "touch b", "touch -d yesterday a", "tar xf t.tar -C n", "tar -C n -xf t.tar",
    "echo 'w' | ed -s a", "cd d; rm f", "cd d && cp ../a f", "(cd d; mv f g)", "sh -c 'rm a'", "xargs rm <<< 'a c'", "git mv a b",
    "git rm -qf a", "patch -o b a p", "patch a p", "ln -s d l; cp a l/g", "ln -s d l; rm l/f", "ln -s d l; ln -s l m; rm m/f",
    "ln -s d/f l; tee l <<< x", "tar xf t.tar", "tar -xf t.tar", "git apply p", "curl -so b file://$PWD/a", "cd n; curl -sO file://$OLDPWD/a", "mkdir b", "mkdir -pm 700 n/p", "install -d b n/p",
    "curl -s --output-dir n -o x file://$PWD/a", "cat a > b", "cat a >> c", "cp a b && chmod 600 b && rm c",
]  # fmt: skip
UNCHANGED = [  # and these change nothing
    "ls -l", "cat a", "sed s/1/2/ a", "sed -n 1p a", "perl -ne print a", "sort a", "find d -name f", "tar tf t.tar", "git status",
    "tar cf - a", "git apply --stat p", "git apply --check p", "curl -s file://$PWD/a",
    "git rm --cached -q a", "head -1 a",
]  # fmt: skip
PATCH = "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+9\n"
NEEDED = ("ed", "patch", "perl", "shred", "git", "bash")


def snapshot(directory):
    """Return what is at each path below a directory: its type, content and time."""
    found = {}
    for folder, names, files in os.walk(directory):
        if ".git" in names:
            names.remove(".git")
        for name in (*names, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            is_file = os.path.isfile(path) and not os.path.islink(path)
            content = Path(path).read_bytes() if is_file else os.readlink(path) if os.path.islink(path) else None
            found[os.path.relpath(path, directory)] = (
                status.st_mode >> 12,
                content,
                status.st_mtime_ns if is_file else 0,
            )
    return found


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A directory with files, directories, an archive and a patch."""
    if any(shutil.which(name) is None for name in NEEDED):
        pytest.skip("a program is missing")
    top = tmp_path_factory.mktemp("changes") / "w"
    (top / "d").mkdir(parents=True)
    (top / "n" / "o").mkdir(parents=True)
    for name in ("a", "c", "d/f"):
        (top / name).write_text("1\n")
        os.utime(top / name, (time.time() - 100,) * 2)
    (top / "p").write_text(PATCH)
    subprocess.run("tar cf t.tar a && git init -q . && git add .", shell=True, cwd=top, check=True)
    return top


def changed_by(prepared, directory, line):
    shutil.copytree(prepared, directory, symlinks=True)
    before = snapshot(directory)
    subprocess.run(["bash", "-c", line], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    after = snapshot(directory)
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def found_in(line, directory):
    """Return the paths that the reader finds, relative to the directory."""
    paths = set()
    for command in parse_commands(line, str(directory)):
        paths |= {each.path for each in command.changes}
        paths |= {f"{command.directory}/{each.target}" for each in command.redirections if each.kind != "read"}
    return {os.path.relpath(path, directory) for path in paths}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.cases(16)
def test_every_path_that_a_program_changes_is_found_itself_or_below_one_that_is(prepared, tmp_path, line):
    directory = tmp_path / "w"
    changed = changed_by(prepared, directory, line)
    found = found_in(line, directory)
    assert changed, "the line changes something"
    backups = {path for path in changed if path.endswith((".bak", "~", ".orig"))}
    missed = {
        path
        for path in changed - backups
        if path not in found and not any(path.startswith(f"{each}/") for each in found) and "{}" not in " ".join(found)
    }
    assert missed - {"n"} == set()


@pytest.mark.parametrize("line", UNCHANGED)
@pytest.mark.cases(16)
def test_nothing_is_found_in_a_line_that_changes_nothing(prepared, tmp_path, line):
    directory = tmp_path / "w"
    assert changed_by(prepared, directory, line) == set()
    assert found_in(line, directory) == set()
