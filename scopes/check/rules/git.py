"""Rules about git commands that overwrite, skip or throw away."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from scopes.check.calls import Call
from scopes.check.globs import matches_path
from scopes.check.rules.base import Parameter, Rule, Settings
from scopes.check.rules.commands import ALLOW, SCRATCH, Flags, is_given, judge_commands, matches_any, read_flags
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.check.shell_state import resolve
from scopes.check.workspace import path_in_workspaces
from scopes.lazy_patterns import compile_lazily

_PUSH_VALUED: Final = ("--repo", "--push-option", "--receive-pack", "--exec")
_WHOLE: Final = frozenset({".", ":/", "./", ":", ":/.", ":(top)", ":(top).", ":/:"})
_DRY: Final = compile_lazily(r"-[a-mp-zA-Z]*n[a-zA-Z]*")
_FORCING: Final = compile_lazily(r"(?i)remote\..+\.(?:push=\+.*|mirror=(?:true|1|yes|on))")
_HOOK_DIRECTORY: Final = compile_lazily(r"(?i).*(?:hooks?|husky|lefthook)[^/]*/?(?:/_)?")  # such as .githooks
_NO_HOOKS: Final = compile_lazily(r"(?i)core\.hookspath\b")
_OBJECT_ID: Final = compile_lazily(r"[0-9a-f]{7,64}")
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
    if verb == "remote" and words[:1] == ("add",) and {"--mirror", "--mirror=push"} & {*words}:
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
    """Return the settings `KEY=VALUE` that apply to a git command, without a directory of hooks that a file chooses."""
    given = []
    for key, value, is_from_file in command.settings:
        is_chosen = is_from_file and _NO_HOOKS.fullmatch(key) and _HOOK_DIRECTORY.fullmatch(value or "")
        given += [] if is_chosen else [f"{key}={value}"]
    return given


def _configures_force(words: Sequence[str | None]) -> bool:
    """Return True if `git config` makes later pushes overwrite branches."""
    known = [word for word in words if word is not None]
    pairs = [f"{key}={value}" for key, value in pairwise(known)]
    return not {"--unset", "--unset-all", "unset", "--get", "--get-all", "get"} & {*known} and any(
        map(_FORCING.fullmatch, pairs)
    )


def _decide_no_verify(command: Command, call: Call, run: Run, settings: Settings) -> str | None:
    verb, words = _verb_of(command)
    if matches_any(settings.parameters["allow"], command):
        return None
    if (verb == "config" and _turns_off_hooks(words)) or _removes_hooks(command):
        return "the hooks of git are turned off"
    if verb == "update-ref" and _moves_to_made_commit(words, call, run):
        return "git update-ref skips the hooks (commit-tree)"
    how = _skips(verb, words, command) if verb in _HOOKED else None
    return None if how is None else f"git {verb} skips the hooks ({how})"


def _moves_to_made_commit(words: Sequence[str | None], call: Call, run: Run) -> bool:
    """Return True if an update-ref moves HEAD or a branch to what `git commit-tree` may have printed in this run."""
    flags = read_flags(words, *_LOSS_VALUED["update-ref"])
    ref, value = (*flags.operands, "", "")[:2]
    is_branch = ref is None or ref == "HEAD" or ref.startswith("refs/heads/")
    is_id = value is None or _OBJECT_ID.fullmatch(value) is not None
    if _is_deletion(flags) or not ((is_branch and is_id) or "--stdin" in flags.options):
        return False
    earlier = (each for each in run.calls if each is call or (each.number < call.number and each.outcome != "denied"))
    return any(each.argv[:2] == ("git", "commit-tree") for other in earlier for each in other.commands)


def _turns_off_hooks(words: Sequence[str | None]) -> bool:
    """Return True if `git config` sets core.hooksPath to what is no directory of hooks by its name."""
    position = next((n for n, word in enumerate(words) if (word or "").lower() == "core.hookspath"), None)
    if position is None or position + 1 >= len(words):
        return False
    value = words[position + 1]
    return value is None or not _HOOK_DIRECTORY.fullmatch(value)


def _removes_hooks(command: Command) -> bool:
    """Return True if a command deletes, moves or disables hooks of a repository."""
    words = command.argv[1:]
    paths = [resolve(command.directory, each.path) or each.path for each in command.changes if each.kind == "delete"]
    if command.program == "chmod" and words and re.fullmatch(r"[augo]*-[rw]*x[rwx]*|[0-7]*[0246]{3}", words[0] or ""):
        paths += [resolve(command.directory, word) or word for word in words[1:] if word is not None]
    return any(_HOOK.fullmatch(path) and not path.endswith(".sample") for path in paths)


def _skips(verb: str, words: Sequence[str | None], command: Command) -> str | None:
    """Return how a git command skips the hooks; None if it does not."""
    valued = {"commit": "mFCct", "am": "SpC", "push": "o"}.get(verb, "msXxC")
    flags = read_flags(words, valued, ("--message", "--file", "--author", "--date", "--trailer"), "uS")
    short = "-n" in flags.options and verb in {"commit", "am"}
    if short or is_given(flags.options, "--no-verify"):
        return "--no-verify"
    if any(_NO_HOOKS.search(each) for each in _settings_of(command)):
        return "core.hooksPath"
    return next((name for name, value in command.environment if value not in _SKIPPING.get(name, {value})), None)


def _is_reset(flags: Flags) -> bool:
    return is_given(flags.options, "--hard", "--merge")


def _is_clean(flags: Flags) -> bool:
    return bool(flags.options & {"-f", "--force"}) and not flags.options & {"-n", "--dry-run"}


def _needs_no_force(command: Command) -> bool:
    values = [each.value for each in command.settings if each.key == "clean.requireforce"]
    return bool(values) and values[-1] in {None, "false", "0", "no", "off"}


def _is_whole_tree(flags: Flags) -> bool:
    return any(each is not None and (each in _WHOLE or "*" in each) for each in flags.operands)


def _is_checkout(flags: Flags) -> bool:
    return _is_forced(flags) or _is_whole_tree(flags)


def _is_switch(flags: Flags) -> bool:
    return _is_forced(flags) or is_given(flags.options, "--discard-changes")


def _is_branch_reset(flags: Flags) -> bool:
    """Return True if `checkout -B` or `switch -C` moves a branch that may be there to another commit."""
    return bool(flags.options & {"-B", "-C"}) or is_given(flags.options, "--force-create")


def _is_branch_moved(flags: Flags) -> bool:
    """Return True if `branch -f` moves a branch to another commit."""
    return _is_forced(flags) and bool(flags.operands) and not flags.options & _OTHER_BRANCH


def _is_submodule(flags: Flags) -> bool:
    return flags.operands[:1] == ("deinit",) and _is_forced(flags)


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


def _never(_: Flags) -> bool:
    return False


_OTHER_BRANCH: Final = frozenset(
    {"-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy", "-u", "--set-upstream-to", "--unset-upstream"}
)
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
    "submodule": (_is_submodule, "throws away changes of submodules"),
    "fetch": (_is_overwriting, "overwrites a branch"),
    "filter-branch": (_always, "rewrites the history"),
    "filter-repo": (_always, "rewrites the history"),
}
_BRANCH_RESETS: Final[Mapping[str, Callable[[Flags], bool]]] = {
    "checkout": _is_branch_reset,
    "switch": _is_branch_reset,
    "branch": _is_branch_moved,
}
_LOSS_VALUED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "clean": ("e", ("--exclude",)),
    "restore": ("s", ("--source",)),
    "checkout": ("bB", ("--orphan",)),
    "switch": ("cC", ("--create", "--orphan")),
    "update-ref": ("m", ()),
}
_RESTORING: Final = frozenset({"checkout", "restore", "show", "cat-file"})


def _decide_history_loss(command: Command, _: Call, run: Run, settings: Settings) -> str | None:
    verb, words = _verb_of(command)
    if verb == "update-ref":
        return _judge_update(words, command, run, settings)
    is_other = command.program not in {"tar", "gtar", "bsdtar", "patch"} and verb not in {"gc", "apply", *_RESTORING}
    if (is_other and verb not in _LOSSES) or matches_any(settings.parameters["allow"], command):
        return None
    if _is_scratch(command.directory, run.directory, settings.parameters):
        return None
    return _judge_loss(verb, words, command, run, settings)


def _judge_loss(verb: str, words: Sequence[str | None], command: Command, run: Run, settings: Settings) -> str | None:
    """Return what a command loses; None if it loses nothing."""
    if verb == "gc":
        return "git gc deletes what no ref reaches" if _prunes_at_once(words) else None
    if verb in _LOSSES:
        loses, what = _LOSSES[verb]
        named = tuple("." if _contains_workspace(word, command, run) else word for word in words)
        flags = read_flags(named, *_LOSS_VALUED.get(verb, ("", ())))
        is_unasked = verb == "clean" and not flags.options & {"-n", "--dry-run"} and _needs_no_force(command)
        if loses(flags) or is_unasked or (verb in _RESTORING and _answers_all(flags, command)):
            return f"git {verb} {what}"
        if _BRANCH_RESETS.get(verb, _never)(flags):
            return f"git {verb} moves a branch away from its commits"
    if _overwrites_all(command, run):
        return f"{command.program} overwrites the working tree with what git prints"
    restores = settings.parameters["files"] and _restores_file(verb, words, command)
    return f"{' '.join(filter(None, (command.program, verb)))} throws away changes of a file" if restores else None


def _contains_workspace(word: str | None, command: Command, run: Run) -> bool:
    """Return True if a path is the workspace, or a directory around it."""
    path = None if word is None or run.directory is None else resolve(command.directory, word)
    return path is not None and f"{run.directory}/".startswith(f"{path.rstrip('/')}/")


def _answers_all(flags: Flags, command: Command) -> bool:
    """Return True if the questions of `checkout -p` are answered by a text or a pipe."""
    is_fed = bool(command.input or command.piped_from or any(each.kind == "read" for each in command.redirections))
    staged = bool(flags.options & {"-S", "--staged"}) and not flags.options & {"-W", "--worktree"}
    return is_fed and not staged and ("-p" in flags.options or is_given(flags.options, "--patch"))


def _overwrites_all(command: Command, run: Run) -> bool:
    """Return True for `git archive HEAD | tar x` and `git diff | git apply -R` in the workspace."""
    source = command.piped_from or ()
    if source[:2] == ("git", "archive") and command.program != "git":
        words = command.argv[1:]
        flags = read_flags(words, "Cf", ("--directory", "--file"))
        is_unpacking = "-x" in flags.options or "x" in (words[0] or "" if words else "").partition("=")[0]
        place = next((after for word, after in pairwise(words) if word in {"-C", "--directory"}), ".")
        return is_unpacking and _contains_workspace(place, command, run)
    is_whole = source[:2] == ("git", "diff") and all((word or "x").startswith("-") for word in source[2:])
    return is_whole and _is_reversed(command)


def _is_reversed(command: Command) -> bool:
    """Return True for `git apply -R` and `patch -R`."""
    verb, words = _verb_of(command)
    flags = read_flags(words if verb == "apply" else command.argv[1:], "piodBFDrVY", ("--exclude", "--include"))
    is_idle = flags.options & {"--check", "--stat", "--numstat", "--summary", "--cached", "--dry-run"}
    is_meant = verb == "apply" or command.program == "patch"
    return is_meant and not is_idle and ("-R" in flags.options or is_given(flags.options, "--reverse"))


def _restores_file(verb: str, words: Sequence[str | None], command: Command) -> bool:
    """Return True if a command gives a file the content that it has in git, whatever was changed in it."""
    if _is_reversed(command):
        return True
    if verb in {"show", "cat-file"}:
        names = {(word or "").partition(":")[2].rsplit("/", 1)[-1] for word in words if ":" in (word or "")}
        written = [each.target for each in command.redirections if each.kind == "write"]
        return any(target is not None and target.rsplit("/", 1)[-1] in names for target in written)
    if verb not in {"checkout", "restore"}:
        return False
    flags = read_flags(words, *_LOSS_VALUED[verb])
    if verb == "restore":
        return not flags.options & {"-S", "--staged"} or bool(flags.options & {"-W", "--worktree"})
    if flags.options & {"-b", "-B", "--orphan", "-t", "--track", "--detach"}:
        return False
    return (
        "--" in words or len(flags.operands) > 1 or any(re.search(r"\.\w{1,5}$", each or "") for each in flags.operands)
    )


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
    "with `+`, also from `remote.*.push` and `remote.*.mirror` where the run sets them. A dry run is not a push. It "
    "cannot see what the configuration had before, and pushes of other programs. `lease = true` accepts "
    "--force-with-lease, `deletions = true` reports deleted remote branches too, and `allow` accepts single commands.",
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
    "Decided from --no-verify (`-n` of commit and am), `-c core.hooksPath=...`, `git config core.hooksPath "
    "/dev/null`, the variables of hook managers: HUSKY=0, SKIP, LEFTHOOK=0, OVERCOMMIT_DISABLE, files of settings "
    "that the run writes, hooks that it deletes, and `git update-ref` of HEAD or a branch to a commit that `git "
    "commit-tree` of the run may have made. It cannot see hooks that were edited: they are a matter of "
    "files/protected. `allow` accepts single commands.",
    judge_commands("shell/no-verify", _decide_no_verify, "let the hooks run, or add the command to `allow`"),
    (ALLOW,),
)
HISTORY_LOSS = Rule(
    "shell/history-loss",
    "error",
    "No git command throws away changes or history",
    "Decided from the words of git commands: reset --hard and --merge, clean -f, checkout -f, checkout and restore of "
    "the whole tree, also by `yes | git checkout -p`, `git archive HEAD | tar x` and `git diff | git apply -R`, switch "
    "--discard-changes, branch -D and -f, checkout -B, switch -C, submodule deinit -f, stash drop and clear, reflog "
    "expire and delete, update-ref -d, gc --prune=now, filter-branch and filter-repo, a forced fetch into a branch, "
    "and update-ref of a branch of another repository. It cannot see whether there was anything to lose, as in a "
    "branch of `checkout -B` that is new. To restore single files is usual work: `files = true` reports it too, with "
    "every `git apply -R` and `git show REV:FILE > FILE`. In a directory that `scratch` matches, outside of the "
    "workspace, nothing is reported. `allow` accepts single commands.",
    judge_commands("shell/history-loss", _decide_history_loss, "commit or stash first, or add the command to `allow`"),
    (
        ALLOW,
        Parameter("files", False, "report that single files are restored"),
        Parameter("scratch", SCRATCH, "directories outside of the workspace whose repositories may be lost"),
    ),
)
PUSH = Rule(
    "shell/push",
    "off",
    "The agent does not push",
    "Decided from `git push`, whatever its options; a dry run is not a push. It cannot see what other programs "
    "push. `allow` accepts single commands, such as `git push origin agent/*`.",
    judge_commands("shell/push", _decide_push, "push yourself, or add the command to `allow`"),
    (ALLOW,),
    strict="warning",
    read_only="error",
)
RULES = (FORCE_PUSH, NO_VERIFY, HISTORY_LOSS, PUSH)
