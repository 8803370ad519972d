"""Directories that a transcript states and that are too wide for a workspace: what the run deletes or writes is outside."""

from __future__ import annotations

import os

import pytest

from scopes.check.workspace import find_checkout, is_workspace
from tests.check.made_runs import edit, judge, make_run, shell, write
from tests.check.sessions import run_check, write_session

OUTSIDE, DELETE, PROTECTED = "files/outside-workspace", "shell/recursive-delete", "files/protected"
WIDE = [
    "/", "//", "/.", "/home", "/home/", "/home/dev", "/home/dev/", "/home/dev/shop/..", "/home/dev/./", "~", "/root",
    "/Users", "/users/dev", "/Users/dev", "/var/home/dev", "/tmp", "/private/tmp", "/private", "/var", "/var/tmp",
    "/var/lib", "/etc", "/private/etc", "/usr", "/usr/bin", "/usr/local", "/usr/local/lib", "/usr/src", "/opt", "/bin",
    "/sbin", "/lib64", "/boot", "/dev", "/dev/fd", "/dev/shm", "/proc", "/proc/self/root", "/sys/kernel", "/mnt", "/mnt/c",
    "/mnt/c/Users", "/mnt/c/Users/dev", "/c/Users/dev", "/Volumes", "/Volumes/Disk", "/System/Library", "/srv",
    "C:\\", "c:", "C:/", "C:\\Users", "C:\\Users\\dev", "C:\\Windows\\System32", "C:\\Program Files", "..", "../..",
]  # fmt: skip
NARROW = [
    "/home/dev/shop", "/root/shop", "/Users/dev/shop", "/tmp/shop", "/private/tmp/shop", "/var/www", "/var/folders/x/y",
    "/var/lib/jenkins/workspace/shop", "/opt/shop", "/usr/src/app", "/srv/jekyll", "/app", "/workspace", "/w", "/librarian", "/dev/shm/shop",
    "/builds/group/shop", "/__w/shop/shop", "/mnt/c/Users/dev/shop", "/mnt/data", "/Volumes/Disk/shop", "/etc/nginx",
    "C:\\shop", "C:\\Users\\dev\\shop", "D:/a/shop/shop", "shop", ".", "/libs",
]  # fmt: skip


@pytest.mark.parametrize("directory", WIDE)
def test_a_root_or_a_directory_of_a_user_or_the_system_is_no_workspace(directory):
    assert not is_workspace(directory)
    run = make_run(write("/home/other/a.py"), shell("rm -rf /home/other/b"), directory=directory)
    assert run.workspaces == ()
    assert judge(OUTSIDE, run, allow=[]).status == "fail"
    assert judge(DELETE, run, allow=[]).status == "fail"


@pytest.mark.parametrize("directory", NARROW)
def test_a_directory_below_them_is_a_workspace(directory):
    assert is_workspace(directory)
    assert make_run(directory=directory).workspaces == (directory,)


@pytest.mark.parametrize("directory", ["/", "/home", "/home/other"])
@pytest.mark.parametrize(
    "command",
    ["rm -rf /home/other/victim", "cd /home/other && rm -rf victim", "find /home/other/victim -delete",
     "mv /home/other/victim /dev/shm/x", "rm -rf ~/victim"],
)  # fmt: skip
def test_what_a_run_without_a_workspace_deletes_is_outside(directory, command):
    assert judge(DELETE, make_run(shell(command), directory=directory), allow=[]).status == "fail"
    assert judge(DELETE, make_run(shell("rm -rf /tmp/x"), directory=directory), allow=["/tmp/**"]).status == "pass"


def test_the_directory_of_a_call_counts_if_the_run_states_none():
    for directory, status in (("/home/dev", "fail"), ("/home/dev/shop", "pass")):
        step = shell(f"rm -rf {directory}/build", directory=directory)
        assert judge(DELETE, make_run(step, directory=None), allow=[]).status == status


def test_a_session_that_is_resumed_in_a_project_has_that_as_its_workspace():
    """It began in a home. The project into which its user went later is a workspace, a home still is none."""
    run = make_run(
        edit("a", directory="/home/dev/shop"), shell("rm -rf build", directory="/home/dev/shop"), directory="/home/dev"
    )
    assert run.workspaces == ("/home/dev/shop",)
    assert judge(OUTSIDE, run, allow=[]).status == judge(DELETE, run, allow=[]).status == "pass"
    entered = make_run(shell("cd shop"), edit("a", directory="/home/dev/shop"), directory="/home/dev")
    assert judge(OUTSIDE, entered, allow=[]).status == "fail"


def test_protected_files_of_a_directory_that_is_too_wide_stay_protected():
    run = make_run(write("/home/dev/.github/workflows/ci.yml"), directory="/home/dev")
    assert judge(PROTECTED, run, paths=[".github/workflows/**"]).status == "fail"


@pytest.mark.parametrize(
    ("directory", "checkout", "expected"),
    [
        ("/w/shop/shop", "/w/shop/shop", True),
        ("/w/shop/shop/app", "/w/shop/shop", True),
        ("/w/shop", "/w/shop/shop", False),
        ("/w/shop/", "/w/shop/shop", False),
        ("/w/other/../shop", "/w/shop/shop", False),
        ("/w/shop-2", "/w/shop/shop", True),
        ("/workspace", "/w/shop/shop", True),
        ("/root", "/root", True),
        ("/root", "/root/shop", False),
        ("/home/runner", "/w/shop", False),
        ("/", "/", False),
        ("D:\\a\\shop", "D:\\a\\shop\\shop", False),
        ("d:\\A\\shop\\shop", "D:\\a\\shop\\shop", True),
    ],
)
def test_a_directory_around_the_checkout_of_a_job_is_no_workspace(directory, checkout, expected):
    """The agent can have run in a container, where the checkout has another place: other directories count."""
    assert is_workspace(directory, checkout) is expected
    assert make_run(directory=directory, checkout=checkout).workspaces == ((directory,) if expected else ())


@pytest.mark.parametrize(
    ("environ", "checkout"),
    [
        ({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/w/a"}, "/w/a"),
        ({"GITLAB_CI": "true", "CI_PROJECT_DIR": "/builds/a"}, "/builds/a"),
        ({"JENKINS_URL": "http://ci", "WORKSPACE": "/var/lib/jenkins/workspace/a"}, "/var/lib/jenkins/workspace/a"),
        ({"WORKSPACE": "/home/dev/ros"}, None),
        ({"CIRCLECI": "true", "CIRCLE_WORKING_DIRECTORY": "~/a", "HOME": "/home/circleci"}, "/home/circleci/a"),
        ({"TF_BUILD": "True", "BUILD_SOURCESDIRECTORY": "D:\\a\\1\\s"}, "D:\\a\\1\\s"),
        ({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": ""}, None),
        ({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "a"}, None),
        ({}, None),
    ],
)
def test_the_checkout_is_what_the_ci_system_states(environ, checkout):
    """WORKSPACE has other meanings outside of Jenkins."""
    assert find_checkout(environ) == checkout


@pytest.mark.parametrize(
    ("directory", "checkout", "code"),
    [
        ("/builds/group", None, 0),
        ("/builds/group", "/builds/group/shop", 1),
        ("/builds/group/shop", "/builds/group/shop", 0),
        ("/home/other", None, 1),
        ("/home", None, 1),
        ("/", None, 1),
    ],
)
def test_the_program_checks_against_the_checkout(tmp_path, monkeypatch, capsys, directory, checkout, code):
    deletion = ("Bash", {"command": f"rm -rf {directory}/build/victim"}, 0)
    session = write_session(tmp_path / "t.jsonl", deletion, directory=directory)
    for name, value in (("GITLAB_CI", "true"), ("CI_PROJECT_DIR", checkout)):
        monkeypatch.delenv(name, raising=False)
        if checkout is not None:
            monkeypatch.setenv(name, value)
    found, shown = run_check(capsys, session)
    assert (found, DELETE in shown) == (code, bool(code)), shown


def test_a_report_never_replaces_a_device_or_a_pipe(tmp_path, capsys):
    """The report is renamed to its place: with the rights of root that would remove /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    session = write_session(tmp_path / "t.jsonl", "Done.")
    for place in (tmp_path / "pipe", tmp_path / "link"):
        code, shown = run_check(capsys, session, "--report", f"sarif={place}")
        assert (code, "is not a regular file" in shown) == (8, True), shown
        assert (tmp_path / "pipe").is_fifo()
