"""The rule about publishing: commands that upload a package, a release or an image."""

from __future__ import annotations

from typing import Final

from scopes.check.calls import Call
from scopes.check.rules.base import Parameter, Rule, Settings
from scopes.check.rules.commands import ALLOW, judge_commands, matches_any, matches_verb
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.lazy_patterns import compile_lazily

_PUBLISHING: Final = [
    "npm publish **", "npm publ **", "npm pub **", "npm unpublish **", "npm dist-tag add **", "npm dist-tag rm **",
    "npm deprecate **", "npm owner add **", "npm owner rm **", "npm access public **", "npm access set **",
    "npm access grant **", "npm access restricted **", "pnpm publish **", "pnpm -r publish **",
    "pnpm recursive ** publish **", "yarn publish **", "yarn npm publish **", "yarn workspace * publish **",
    "yarn workspace * npm publish **", "yarn workspaces foreach ** publish **", "bun publish **", "lerna publish **",
    "lerna version **", "changeset publish **", "vsce publish **", "ovsx publish **", "jsr publish **",
    "deno publish **", "wrangler publish **", "twine upload **", "uv publish **", "poetry publish **",
    "flit publish **", "hatch publish **", "pdm publish **", "maturin publish **", "maturin upload **",
    "setup.py ** upload **", "python* setup.py ** upload **", "cargo publish **", "cargo yank **", "cargo owner -* **",
    "gem push **", "gem yank **", "mix hex.publish **", "pod trunk push **", "dotnet nuget push **", "nuget push **",
    "mvn ** deploy **", "mvnw ** deploy **", "mvn ** release:perform **", "gradle ** *publish* **",
    "gradlew ** *publish* **", "conan upload **", "luarocks upload **", "anaconda upload **", "gh release create **",
    "gh release new **", "gh release upload **", "gh release edit **", "gh release delete **",
    "gh release -* * create **", "gh release -* * upload **", "gh release -* * edit **", "gh release -* * delete **",
    "gh workflow run *release* **", "gh workflow run *publish* **", "glab release create **", "docker push **",
    "docker image push **", "docker manifest push **", "docker compose push **", "docker ** build ** --push **",
    "docker ** build ** --push=true **", "docker buildx b ** --push **", "docker buildx bake ** --push **",
    "docker ** build ** *type=registry* **", "docker ** build ** *push=true* **", "podman push **", "buildah push **",
    "nerdctl push **", "podman manifest push **", "skopeo copy ** docker://* **", "crane push **", "crane copy **",
    "oras push **", "ko publish **", "helm push **", "helm cm-push **", "goreleaser", "goreleaser -* **",
    "goreleaser release **", "semantic-release **", "release-it **", "np **",
]  # fmt: skip
_LOCAL: Final = ["gradle* ** *publishToMavenLocal **", "gradle* tasks **", "gradle* help **"]
_TAGGED: Final = frozenset({"--tag", "--otp", "--access", "--registry"})  # options of npm that take a value
_RELEASES: Final = compile_lazily(r"/?repos/[^/\s]+/[^/\s]+/releases(?:/.*)?")


def _decide_publish(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    if not matches_verb(settings.parameters["commands"], command) and not _releases_by_api(command):
        return None
    if _is_dry(command) or matches_any(_LOCAL, command):
        return None
    return None if matches_any(settings.parameters["allow"], command) else "publishes"


def _is_dry(command: Command) -> bool:
    words = command.argv
    given = any(word == "--dry-run" and words[n - 1] not in _TAGGED for n, word in enumerate(words))
    is_snapshot = command.program == "goreleaser" and "--snapshot" in words
    return given or is_snapshot or "--help" in words or words[1:] in {("--version",), ("-h",), ("-v",)}


def _releases_by_api(command: Command) -> bool:
    """Return True if `gh api` changes a release."""
    words = command.argv
    if words[1:2] != ("api",) or command.program != "gh":
        return False
    changes = any(word in {"POST", "PATCH", "DELETE", "PUT"} or word in {"-f", "-F", "--input"} for word in words)
    return changes and any(word is not None and _RELEASES.fullmatch(word) for word in words)


PUBLISH = Rule(
    "shell/publish",
    "error",
    "Nothing is published",
    "Decided from commands that upload a package, a release or an image: the patterns of `commands`, with any options "
    "in front of the verb. A --dry-run is none. It cannot see what scripts such as `npm run release` do; deployments "
    "are not in the list. `allow` accepts single commands.",
    judge_commands("shell/publish", _decide_publish, "publish from a job of its own, or add the command to `allow`"),
    (ALLOW, Parameter("commands", _PUBLISHING, "patterns of commands that publish")),
)
RULES = (PUBLISH,)
