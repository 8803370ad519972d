"""Exit codes, environment variables, files and refs: the texts that `scopes help --all` and the manual page print."""

from __future__ import annotations

EXIT_CODES = (
    ("0", "Success."),
    ("1", "Refused, and nothing was changed; or a comparison found differences; or a check or an agent failed."),
    ("2", "Usage error: the command line is invalid."),
    ("3", "Stopped on conflicts, which are stored until they are resolved."),
    ("4", "Not found: a conversation, branch, message, operation, file or setting."),
    ("5", "Ambiguous: a prefix matches more than one name."),
    ("6", "Busy: another process has locked the store, or runs the agents of a conversation; try again."),
    ("7", "Unreadable: corrupt, written by a newer version, or of an unknown format."),
    ("8", "Cannot read or write: disk, permissions or owner; or the store, which was there, is gone."),
    ("9", "A limit was reached; the result is partial."),
    ("70", "A bug in scopes; the path of a crash file with details is printed."),
    ("130", "Interrupted by Ctrl-C."),
    ("141", "The reader of the output closed it; nothing is printed."),
)

ENVIRONMENT = (
    ("SCOPES_STORE", "The store to use, unless --store is given."),
    ("SCOPES_NAME", "Sets scopes.name for this run; SCOPES_LOCK_TIMEOUT, for example, sets scopes.lockTimeout."),
    ("SCOPES_CONVERSATION, SCOPES_MESSAGE, SCOPES_REVISION", "What the command of scopes bisect has to judge."),
    (
        "GITHUB_ACTIONS",
        "If true, text output has no workflow commands, and check writes annotations and a summary.",
    ),
    (
        "GITHUB_BASE_REF, CI_MERGE_REQUEST_DIFF_BASE_SHA, CHANGE_TARGET",
        "The base of the change; check reads the policy from it.",
    ),
    ("CLAUDE_PROJECT_DIR, GEMINI_PROJECT_DIR", "The directory of the project, for check --hook."),
    ("SCOPES_DEBUG", "Any value: as --debug."),
    ("SCOPES_PAGER, GIT_PAGER, PAGER", "The pager: the first one that is set; SCOPES_PAGER=cat disables it."),
    ("NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, CLICOLOR", "Whether to color the output, unless --color is given."),
    ("COLUMNS", "The width of the output."),
    ("TIKTOKEN_CACHE_DIR", "The directory of tiktoken's data, for exact token counts."),
    ("XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME", "The directories of the files below."),
)

FILES = (
    (".git/scopes", "The store of a project, created by scopes init."),
    ("~/.local/share/scopes/store.git", "The store of the user, if no other is selected."),
    ("~/.local/state/scopes", "Crash files."),
    ("~/.cache/scopes", "Caches that may be deleted at any time: search index, token data, contexts."),
    ("~/.gitconfig, ~/.config/git/config", "User settings: the keys scopes.*."),
)

REFS = (
    ("refs/heads/CONVERSATION/BRANCH", "The branches. message.json in a commit is the message, state/ its claims."),
    ("refs/scopes/meta/CONVERSATION", "Title, tags and branch entries."),
    ("refs/scopes/sources/KEY", "The bytes of an imported transcript."),
    ("refs/scopes/memory", "Memory entries, one JSON file each."),
    ("refs/scopes/agents", "Registered agents and their inboxes."),
    ("refs/scopes/facts, refs/scopes/proposed-facts", "Facts with decisions and cycles; proposed facts."),
    ("refs/scopes/operations", "The operation log, for undo."),
    ("refs/scopes/trash/...", "What was deleted, until gc --expire."),
)
