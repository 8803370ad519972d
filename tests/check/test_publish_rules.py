"""The rule about publishing: with options in front, in a dry run, below wrappers, and with a computed subcommand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.check.test_shell_rules import broken

PUBLISHING = st.sampled_from(
    [
        "npm publish", "npm unpublish x", "pnpm publish", "yarn npm publish", "bun publish", "lerna publish", "vsce publish",
        "twine upload dist/x.whl", "uv publish", "poetry publish", "flit publish", "hatch publish", "pdm publish", "cargo publish",
        "cargo yank x", "gem push x.gem", "mix hex.publish", "dotnet nuget push x", "gh release create v1", "docker push x",
        "docker image push x", "podman push x", "helm push x y", "goreleaser release", "maturin publish",
    ]
)  # fmt: skip
WRAPPERS = st.lists(st.sampled_from(["sudo", "env A=b", "timeout 5", "nice -n 3", "command", "nohup"]), max_size=3)


@given(PUBLISHING, WRAPPERS)
def test_wrappers_do_not_hide_that_a_command_publishes(line, wrappers):
    assert "publish" in broken(" ".join([*wrappers, line]))


@given(PUBLISHING, WRAPPERS)
def test_a_dry_run_publishes_nothing_below_wrappers_either(line, wrappers):
    assert "publish" not in broken(" ".join([*wrappers, line, "--dry-run"]))


@given(PUBLISHING)
def test_a_command_that_the_policy_allows_is_no_finding(line):
    assert "publish" not in broken(line, allow=[f"{line} **"])


@pytest.mark.parametrize("tag", ["--tag", "--otp", "--access", "--registry"])
def test_a_dry_run_that_is_the_value_of_an_option_is_none(tag):
    assert "publish" in broken(f"npm publish {tag} --dry-run")
    assert "publish" not in broken(f"npm publish {tag} x --dry-run")


@pytest.mark.parametrize(
    ("line", "publishes"),
    [
        ("gh api repos/a/b/releases -f tag_name=v1", True),
        ("gh api -X DELETE /repos/a/b/releases/3", True),
        ("gh api --method PATCH repos/a/b/releases/3 --input x", True),
        ("gh api repos/a/b/releases", False),
        ("gh api repos/a/b/releases/latest --jq .tag_name", False),
        ("gh api -X POST repos/a/b/issues -f title=x", False),
        ("gh api -X POST repos/a/releases", False),
        ("goreleaser release --snapshot", False),
        ("gradle publishToMavenLocal", False),
    ],
)
def test_a_release_by_the_api_is_published_and_one_that_is_only_read_is_not(line, publishes):
    assert ("publish" in broken(line)) is publishes


@pytest.mark.parametrize(
    "line", ["npm $v", "cargo $v", "docker image $v x", "gh release $v", "uv $v", "yarn npm $v", "podman image $v"]
)
def test_a_computed_subcommand_of_a_publisher_is_not_decided(line):
    assert "?" in broken(line)


@pytest.mark.parametrize(
    "line", ["npm install $v", "cargo build $v", "docker images $v", "gh issue $v", "uv pip $v", "twine check $v"]
)
def test_a_computed_word_after_another_subcommand_is_decided(line):
    assert "?" not in broken(line)
