"""Rules about git commands that overwrite, skip or throw away."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from scopes.check.globs import matches_path
from scopes.check.rules.base import Parameter, Rule, Settings
from scopes.check.rules.commands import ALLOW, SCRATCH, Flags, is_given, judge_commands, matches_any, read_flags
from scopes.check.run import Call, Run
from scopes.check.shell_command import Command
from scopes.check.shell_state import resolve
from scopes.check.workspace import path_in_workspaces
from scopes.lazy_patterns import compile_lazily

_PUSH_VALUED: Final = ("--repo", "--push-option", "--receive-pack", "--exec")
_DRY: Final = compile_lazily(r"-[a-mp-zA-Z]*n[a-zA-Z]*")
_FORCING: Final = compile_lazily(r"(?i)remote\..+\.(?:push=\+.*|mirror=(?:true|1|yes|on))")
_HOOK_DIRECTORY: Final = compile_lazily(r"(?i).*(?:hooks?|husky|lefthook)[^/]*/?(?:/_)?")  # such as .githooks
_NO_HOOKS: Final = compile_lazily(r"(?i)core\.hookspath\b")
_HOOK: Final = compile_lazily(r"(?:.*/)?(?:\.git/hooks(?:/.*)?|\.husky(?:/.*)?)")
_SKIPPING: Final[Mapping[str, frozenset[str]]] = {  # variables of hook managers, and the values that skip no hook
    "HUSKY": frozenset({"", "1", "2"}),
    "HUSKY_SKIP_HOOKS": frozenset({"", "0"}),
    "SKIP": frozenset({""}),
    "LEFTHOOK": frozenset({"", "1", "true"}),
    "LEFTHOOK_EXCLUDE": frozenset({""}),
    "OVERCOMMIT_DISABLE": frozenset({"", "0"}),
}
_HOOKED: Final = frozenset({"commit", "push", "merge", "rebase", "am", "cherry-pick", "revert"})


def _verb_of(command: Command) -> tuple[str, tuple[str | None, ...]]:
    if command.program != "git" or len(command.argv) < 2:
        return "", ()
    return command.argv[1] or "", command.argv[2:]


def _read_push(words: Sequence[str | None]) -> Flags | None:
    """Return the options of a push; None for a dry run."""
    flags = read_flags(words, "o", _PUSH_VALUED)
    dry = [word for word in words if word in {"-n", "--dry-run", "--no-dry-run"} or _DRY.fullmatch(word or "")]
    return None if dry and dry[-1] != "--no-dry-run" and flags.options & {"-n", "--dry-run"} else flags


def _decide_force_push(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    verb, words = _verb_of(command)
    if matches_any(settings.parameters["allow"], command):
        return None
    if verb == "config" and _configures_force(words):
        return "later pushes overwrite remote branches"
    flags = _read_push(words) if verb in {"push", "send-pack"} else None
    if flags is None:
        return None
    is_forced = verb == "push" and any(_FORCING.search(each) for each in _settings_of(command))
    return "a push overwrites a remote branch" if is_forced else _judge_push(flags, settings)


def _judge_push(flags: Flags, settings: Settings) -> str | None:
    refs = [word for word in flags.operands[1:] if word is not None]
    options = {each for each in flags.options if not each.startswith("--force-i")}
    plain = {each for each in options if not each.startswith("--force-w")}
    if "-f" in plain or is_given(plain, "--force", "--mirror") or any(ref.startswith("+") for ref in refs):
        return "a push overwrites a remote branch"
    if options != plain and not settings.parameters["lease"]:
        return "a push may overwrite a remote branch (--force-with-lease)"
    deletes = "-d" in options or is_given(options, "--delete", "--prune")
    deletes = deletes or any(ref.startswith(":") and ref != ":" for ref in refs)
    return "a push deletes a remote branch" if deletes and settings.parameters["deletions"] else None


def _settings_of(command: Command) -> list[str]:
    """Return the settings `KEY=VALUE` that apply to a git command: of `-c`, and of GIT_CONFIG variables."""
    given = [text for each in command.wrappers if each.startswith("git -c ") for text in each.split(" -c ")[1:]]
    variables = dict(command.environment)
    for name, key in variables.items():
        if name.startswith("GIT_CONFIG_KEY_"):
            given.append(f"{key}={variables.get(name.replace('_KEY_', '_VALUE_'))}")
        elif name == "GIT_CONFIG_PARAMETERS":
            given.append(key or "")
    return given


def _configures_force(words: Sequence[str | None]) -> bool:
    """Return True if `git config` makes later pushes overwrite branches."""
    known = [word for word in words if word is not None]
    pairs = [f"{key}={value}" for key, value in pairwise(known)]
    return not {"--unset", "--unset-all", "unset", "--get", "--get-all", "get"} & {*known} and any(
        map(_FORCING.fullmatch, pairs)
    )


def _decide_no_verify(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    verb, words = _verb_of(command)
    if matches_any(settings.parameters["allow"], command):
        return None
    if (verb == "config" and _turns_off_hooks(words)) or _removes_hooks(command):
        return "the hooks of git are turned off"
    how = _skips(verb, words, command) if verb in _HOOKED else None
    return None if how is None else f"git {verb} skips the hooks ({how})"


def _turns_off_hooks(words: Sequence[str | None]) -> bool:
    """Return True if `git config` sets core.hooksPath to what is no directory of hooks by its name."""
    position = next((n for n, word in enumerate(words) if (word or "").lower() == "core.hookspath"), None)
    if position is None or position + 1 >= len(words):
        return False
    value = words[position + 1]
    return value is None or not _HOOK_DIRECTORY.fullmatch(value)


def _removes_hooks(command: Command) -> bool:
    """Return True if a command deletes or disables hooks of a repository."""
    words = command.argv[1:]
    if command.program == "chmod":
        changed = words[1:] if words and re.fullmatch(r"[augo]*-[rw]*x[rwx]*|[0-7]*[0246]{3}", words[0] or "") else ()
    elif command.program in {"rm", "unlink"}:
        changed = words
    else:
        changed = words[:-1] if command.program == "mv" else ()
    return any(word is not None and _HOOK.fullmatch(word) and not word.endswith(".sample") for word in changed)


def _skips(verb: str, words: Sequence[str | None], command: Command) -> str | None:
    """Return how a git command skips the hooks; None if it does not."""
    valued = {"commit": "mFCct", "am": "SpC", "push": "o"}.get(verb, "msXxC")
    flags = read_flags(words, valued, ("--message", "--file", "--author", "--date", "--trailer"), "uS")
    short = "-n" in flags.options and verb in {"commit", "am"}
    if short or any(len(option) > 8 and "--no-verify".startswith(option) for option in flags.options):
        return "--no-verify"
    if any(_NO_HOOKS.search(each) for each in _settings_of(command)):
        return "core.hooksPath"
    return next((name for name, value in command.environment if value not in _SKIPPING.get(name, {value})), None)


def _is_reset(flags: Flags) -> bool:
    return is_given(flags.options, "--hard")


def _is_clean(flags: Flags) -> bool:
    return bool(flags.options & {"-f", "--force"}) and not flags.options & {"-n", "--dry-run"}


def _is_whole_tree(flags: Flags) -> bool:
    last = flags.operands[-1] if flags.operands else None
    return last is not None and (last in {".", ":/", "./", ":"} or "*" in last)


def _is_checkout(flags: Flags) -> bool:
    return "-f" in flags.options or is_given(flags.options, "--force") or _is_whole_tree(flags)


def _is_switch(flags: Flags) -> bool:
    return "-f" in flags.options or is_given(flags.options, "--force", "--discard-changes")


def _is_restore(flags: Flags) -> bool:
    staged = bool(flags.options & {"-S", "--staged"}) and not flags.options & {"-W", "--worktree"}
    return _is_whole_tree(flags) and not staged


def _is_branch(flags: Flags) -> bool:
    return "-D" in flags.options or bool(flags.options >= {"--delete", "--force"} or flags.options >= {"-d", "-f"})


def _is_reflog(flags: Flags) -> bool:
    return flags.operands[:1] in {("expire",), ("delete",)} and not flags.options & {"-n", "--dry-run"}


def _is_stash(flags: Flags) -> bool:
    return bool(flags.operands) and flags.operands[0] in {"drop", "clear"}


def _is_deletion(flags: Flags) -> bool:
    return bool(flags.options & {"-d", "--delete"})


def _is_read_tree(flags: Flags) -> bool:
    return "-u" in flags.options and "--reset" in flags.options


def _is_forced(flags: Flags) -> bool:
    return "-f" in flags.options or is_given(flags.options, "--force")


def _is_removal(flags: Flags) -> bool:
    return _is_forced(flags) and not flags.options & {"--cached", "-n", "--dry-run"}


def _is_worktree(flags: Flags) -> bool:
    return flags.operands[:1] == ("remove",) and _is_forced(flags)


def _is_overwriting(flags: Flags) -> bool:
    """Return True if a fetch overwrites a branch that is none of those that track a remote."""
    known = [word for word in flags.operands[1:] if word is not None]
    forced = known if _is_forced(flags) else [word for word in known if word.startswith("+")]
    targets = [word.partition(":")[2] for word in forced]
    return any(target and not re.match(r"(?:refs/)?(?:remotes|tags|prefetch|pull)/|.*/", target) for target in targets)


def _prunes_at_once(words: Sequence[str | None]) -> bool:
    """Return True if `git gc` deletes even what became unreachable a moment ago."""
    return bool({"--prune=now", "--prune=all"} & {*words})


def _always(_: Flags) -> bool:
    return True


_LOSSES: Final[Mapping[str, tuple[Callable[[Flags], bool], str]]] = {
    "reset": (_is_reset, "throws away uncommitted changes"),
    "clean": (_is_clean, "deletes files that are not in git"),
    "checkout": (_is_checkout, "throws away uncommitted changes"),
    "switch": (_is_switch, "throws away uncommitted changes"),
    "restore": (_is_restore, "throws away uncommitted changes"),
    "branch": (_is_branch, "deletes a branch that may not be merged"),
    "stash": (_is_stash, "deletes stashed changes"),
    "reflog": (_is_reflog, "deletes the reflog"),
    "read-tree": (_is_read_tree, "throws away uncommitted changes"),
    "checkout-index": (_is_forced, "throws away uncommitted changes"),
    "rm": (_is_removal, "deletes files with their changes"),
    "worktree": (_is_worktree, "throws away uncommitted changes"),
    "fetch": (_is_overwriting, "overwrites a branch"),
    "filter-branch": (_always, "rewrites the history"),
    "filter-repo": (_always, "rewrites the history"),
}
_LOSS_VALUED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "clean": ("e", ("--exclude",)),
    "restore": ("s", ("--source",)),
    "checkout": ("bB", ("--orphan",)),
    "switch": ("cC", ("--create", "--orphan")),
    "update-ref": ("m", ()),
}


def _decide_history_loss(command: Command, _: Call, run: Run, settings: Settings) -> str | None:
    verb, words = _verb_of(command)
    if verb == "update-ref":
        return _judge_update(words, command, run, settings)
    if verb not in {"gc", *_LOSSES} or matches_any(settings.parameters["allow"], command):
        return None
    if _is_scratch(command.directory, run.directory, settings.parameters):
        return None
    if verb == "gc":
        return "git gc deletes what no ref reaches" if _prunes_at_once(words) else None
    loses, what = _LOSSES[verb]
    words = tuple("." if word is not None and word == run.directory else word for word in words)
    return f"git {verb} {what}" if loses(read_flags(words, *_LOSS_VALUED.get(verb, ("", ())))) else None


def _judge_update(words: Sequence[str | None], command: Command, run: Run, settings: Settings) -> str | None:
    """Return what an update-ref loses: it deletes a ref, or moves a branch of another repository."""
    repository = resolve(command.directory, dict(command.environment).get("GIT_DIR") or ".")
    if matches_any(settings.parameters["allow"], command) or _is_scratch(
        repository, run.directory, settings.parameters
    ):
        return None
    flags = read_flags(words, *_LOSS_VALUED["update-ref"])
    if _is_deletion(flags):
        return "git update-ref deletes a ref"
    is_branch = bool(flags.operands) and (flags.operands[0] or "").startswith("refs/heads/")
    is_elsewhere = repository is not None and bool(run.workspaces)
    is_elsewhere = is_elsewhere and path_in_workspaces(repository or "", None, run.workspaces) is None
    return "git update-ref moves a branch of another repository" if is_branch and is_elsewhere else None


def _is_scratch(directory: str | None, workspace: str | None, parameters: Mapping[str, Any]) -> bool:
    if directory is None or (workspace and f"{directory}/".startswith(f"{workspace.rstrip('/')}/")):
        return False
    return any(matches_path(pattern, directory) for pattern in parameters["scratch"])


def _decide_push(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    verb, words = _verb_of(command)
    if verb != "push" or _read_push(words) is None or matches_any(settings.parameters["allow"], command):
        return None
    return "the agent pushed"


FORCE_PUSH = Rule(
    "shell/force-push",
    "error",
    "No push overwrites a remote branch",
    "Decided from the words of each `git push`: --force, -f, --force-with-lease, --mirror, and a refspec that begins "
    "with `+`. A dry run is no push. It cannot see what `remote.*.push` of the configuration adds, and pushes of other "
    "programs. `lease = true` accepts --force-with-lease, `deletions = true` reports deleted remote branches too, and "
    "`allow` accepts single commands.",
    judge_commands("shell/force-push", _decide_force_push, "push without force, or add the command to `allow`"),
    (
        ALLOW,
        Parameter("lease", False, "accept --force-with-lease"),
        Parameter("deletions", False, "report pushes that delete a remote branch"),
    ),
)
NO_VERIFY = Rule(
    "shell/no-verify",
    "error",
    "Hooks of git are not skipped",
    "Decided from --no-verify (`-n` of commit and am), `-c core.hooksPath=...`, `git config core.hooksPath /dev/null`, "
    "and the variables of hook managers: HUSKY=0, SKIP, LEFTHOOK=0, OVERCOMMIT_DISABLE. It cannot see hooks that were "
    "deleted or edited. `allow` accepts single commands.",
    judge_commands("shell/no-verify", _decide_no_verify, "let the hooks run, or add the command to `allow`"),
    (ALLOW,),
)
HISTORY_LOSS = Rule(
    "shell/history-loss",
    "error",
    "No git command throws away changes or history",
    "Decided from the words of git commands: reset --hard, clean -f, checkout -f, checkout and restore of the whole "
    "tree, switch --discard-changes, branch -D, stash drop and clear, reflog expire and delete, update-ref -d, "
    "gc --prune=now, filter-branch and filter-repo, a forced fetch into a branch, and update-ref of a branch of "
    "another repository. It cannot see whether there was anything to lose. In a directory that `scratch` "
    "matches, outside of the workspace, nothing is reported. `allow` accepts single commands.",
    judge_commands("shell/history-loss", _decide_history_loss, "commit or stash first, or add the command to `allow`"),
    (ALLOW, Parameter("scratch", SCRATCH, "directories outside of the workspace whose repositories may be lost")),
)
PUSH = Rule(
    "shell/push",
    "off",
    "The agent does not push",
    "Decided from `git push`, whatever its options; a dry run is no push. It cannot see what other programs "
    "push. `allow` accepts single commands, such as `git push origin agent/*`.",
    judge_commands("shell/push", _decide_push, "push yourself, or add the command to `allow`"),
    (ALLOW,),
    strict="warning",
    read_only="error",
)
RULES = (FORCE_PUSH, NO_VERIFY, HISTORY_LOSS, PUSH)
