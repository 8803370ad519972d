"""The hook judges a path by where the links of the disk lead it; bash is the oracle for what a redirection writes."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes.check.hook import Decision, judge_call, parse_input
from scopes.check.links import Links
from scopes.check.policy import Policy
from scopes.errors import Invalid
from tests.check.test_hook import hook_input

LINKS = {
    "g": ".git", "deep": "g/hooks", "abs": "{top}/.git", "round": "sub/../.git", "file": ".git/config", "dead": ".git/new",
    "flow": ".github", "out": "../outside", "home": "/etc", "loop": "loop", "src": "sub", "up": "..", "self": ".",
    "sub/back": "../.git", "settings.json": ".claude/settings.json", "proc": "/proc/self/cwd/.git", "log": "/dev/null",
}  # fmt: skip
PROTECTED = [
    "g/hooks/pre-commit", "deep/pre-commit", "abs/config", "round/config", "file", "dead", "flow/workflows/ci.yml",
    "sub/back/hooks/x", "self/g/config", "up/shop/.git/config", "up/shop/g/config", "settings.json", "src/back/config",
    "./g/../g/hooks/x", "self/self/self/g/x",
]  # fmt: skip
OUTSIDE = [
    "out/a.py",
    "out/new/a.py",
    "home/passwd",
    "up/a.py",
    "self/up/a.py",
    "src/../../a.py",
    "proc/hooks/pre-commit",
]
INSIDE = [
    "a.py",
    "src/a.py",
    "sub/a.py",
    "self/a.py",
    "new/dir/a.py",
    "loop/a.py",
    "up/shop/a.py",
    "log",
    "self/src/a.py",
]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A repository with links, outside of which nothing may be written; /tmp is no exception."""
    top = tmp_path / "shop"
    for name in (".git/hooks", ".github/workflows", ".claude", "sub", "../outside"):
        (top / name).mkdir(parents=True)
    for link, target in LINKS.items():
        (top / link).symlink_to(target.format(top=top))
    return top


def decide(top, path, *, tool="Write", cwd=None) -> Decision:
    """Return the decision about a call that writes a file: a tool, or a redirection of a shell."""
    given = {"file_path": path, "content": "x", "old_string": "a", "new_string": "b"}
    if tool == "Bash":
        given = {"command": f"echo x > {path}"}
    data = hook_input(tool=tool, given=given, cwd=str(cwd or top))
    rules = {"files/outside-workspace": {"allow": ["/dev/null"]}}
    return judge_call(parse_input("claude-code", data, {"CLAUDE_PROJECT_DIR": str(top)}), Policy(parameters=rules))


@pytest.mark.parametrize("tool", ["Write", "Edit", "Bash"])
@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.cases(16)
def test_a_link_that_leads_to_a_protected_file_does_not_hide_it(shop, path, tool):
    decision = decide(shop, path, tool=tool)
    assert (decision.action, "files/protected" in decision.reason) == ("deny", True), decision


@pytest.mark.parametrize("tool", ["Write", "Edit", "Bash"])
@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.cases(16)
def test_a_link_that_leads_out_of_the_workspace_does_not_hide_it(shop, path, tool):
    decision = decide(shop, path, tool=tool)
    assert (decision.action, "files/outside-workspace" in decision.reason) == ("deny", True), decision


@pytest.mark.parametrize("tool", ["Write", "Edit", "Bash"])
@pytest.mark.parametrize("path", INSIDE)
@pytest.mark.cases(16)
def test_links_inside_the_workspace_are_free(shop, path, tool):
    assert decide(shop, path, tool=tool) == Decision("pass")


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("echo x | tee g/hooks/pre-commit", "deny"),
        ("cp a deep/pre-commit", "deny"),
        ("rm g/hooks/pre-commit", "deny"),
        ("rm deep/pre-commit", "deny"),
        ("sed -i s/a/b/ file", "deny"),
        ("cd sub && echo x > back/config", "deny"),
        ("cd g && echo x > config", "deny"),
        ("cd g/hooks && echo x > pre-commit", "deny"),
        ("rm g", "pass"),
        ("rm -f deep file", "pass"),
        ("mv g h", "pass"),
        ("rm src/a.py", "pass"),
        ("cp a src/b", "pass"),
        ("cat < g/config", "pass"),
    ],
)
@pytest.mark.cases(16)
def test_programs_that_write_or_delete_through_a_link(shop, command, action):
    """The deletion of a link leaves what it refers to."""
    data = hook_input(given={"command": command}, cwd=str(shop))
    found = judge_call(parse_input("claude-code", data, {}), Policy(levels={"shell/opaque": "off"}))
    assert found.action == action, found


def test_a_workspace_that_is_itself_below_a_link_is_the_workspace(shop, tmp_path):
    (tmp_path / "alias").symlink_to("shop")
    for top in (shop, tmp_path / "alias"):
        for path, action in (("a.py", "pass"), (f"{shop}/a.py", None), ("g/config", "deny"), (".git/x", "deny")):
            assert decide(top, path).action == (action or ("pass" if top == shop else "deny"))
        assert decide(top, "a.py", cwd=top / "sub") == decide(top, "src/a.py") == Decision("pass")


@pytest.mark.parametrize("path", [*PROTECTED, *OUTSIDE[:5], *INSIDE[:5], "sub/../g/x", "src/../g/x", "out/../a"])
@pytest.mark.cases(16)
def test_links_are_followed_as_the_kernel_does(shop, path):
    """Without the last component, which need not exist: `cd -P` and `pwd -P` tell the directory."""
    folder = os.path.dirname(path) or "."
    done = subprocess.run(
        ["bash", "-c", f"cd -P {folder} && pwd -P"], cwd=shop, stdout=-1, stderr=-1, text=True, check=False
    )
    if done.returncode == 0:
        assert Links().follow(f"{shop}/{folder}") == done.stdout.rstrip("\n")
        assert (
            Links().follow(f"{shop}/{path}", follows_last=False) == f"{done.stdout.rstrip()}/{os.path.basename(path)}"
        )
    assert Links().follow(f"{shop}/{path}") == os.path.realpath(f"{shop}/{path}")


def test_following_is_bounded_and_opens_nothing(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for number in range(100):
        (tmp_path / f"l{number}").symlink_to(f"l{number + 1}")
    (tmp_path / "l100").write_text("")
    monkeypatch.setattr("builtins.open", lambda *_: pytest.fail("opened"))
    monkeypatch.setattr("os.open", lambda *_: pytest.fail("opened"))
    assert Links().follow(f"{tmp_path}/l0") == f"{tmp_path}/l0"  # more links than the kernel follows
    assert Links().follow(f"{tmp_path}/l70") == os.path.realpath(tmp_path / "l100")
    assert Links().follow(f"{tmp_path}/pipe/x/..") == f"{os.path.realpath(tmp_path)}/pipe"
    assert Links().follow("/dev/stdout") == "/dev/stdout"
    assert Links().follow("a/b") == "a/b"
    assert Links().follow("/a\0b/" + "c" * 5000) == "/a\0b/" + "c" * 5000
    assert Links().follow("/..//.") == "/"


def test_a_call_with_too_many_paths_is_not_judged(shop, monkeypatch):
    monkeypatch.setattr("scopes.check.links._MAX_LOOKUPS", 20)
    with pytest.raises(Invalid, match="too many paths"):
        decide(shop, " > ".join(f"d{n}/a" for n in range(40)), tool="Bash")
