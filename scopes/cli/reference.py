"""What holds for every command: exit codes, environment, files. Printed by `scopes help --all` and in the manual."""

from __future__ import annotations

EXIT_CODES = (
    ("0", "Done."),
    ("1", "Refused, or false: nothing was changed; a comparison found differences; a check failed."),
    ("2", "Usage: the command line is malformed."),
    ("3", "Stopped on conflicts, which are kept until they are resolved."),
    ("4", "There is no such conversation, branch, message, operation or setting."),
    ("5", "Ambiguous: a prefix fits several things."),
    ("6", "Busy: somebody else holds the store; try again."),
    ("7", "Unreadable: corrupt, written by a newer version, or a source of an unknown format."),
    ("8", "Cannot read or write: disk, permission or owner."),
    ("9", "A budget is exhausted; the result is partial."),
    ("70", "A bug in scopes; the details are in a crash file whose path is printed."),
    ("130", "Interrupted by Ctrl-C."),
    ("141", "The reader of the output went away; silent."),
)

ENVIRONMENT = (
    ("SCOPES_STORE", "The store to use, unless --store names one."),
    ("SCOPES_NAME", "Sets scopes.name for this run; SCOPES_LOCK_TIMEOUT, for example, sets scopes.lockTimeout."),
    ("SCOPES_PAGER, GIT_PAGER, PAGER", "The pager, the first that is set; SCOPES_PAGER=cat for none."),
    ("NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, CLICOLOR", "Whether to color the output, unless --color says it."),
    ("COLUMNS", "The width to print for."),
    ("TIKTOKEN_CACHE_DIR", "Where tiktoken keeps its data, which exact token counts need."),
    ("XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME", "Where the files below are."),
)

FILES = (
    (".git/scopes", "The store of a project, made by scopes init."),
    ("~/.local/share/scopes/store.git", "The store of the user, where no other is meant."),
    ("~/.local/state/scopes", "Crash files."),
    ("~/.cache/scopes", "What may be deleted at any time: token data, contexts."),
    ("~/.gitconfig, ~/.config/git/config", "Settings of the user, keys scopes.*."),
)
