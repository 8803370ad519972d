"""The settings of scopes: what each means, its default, and its values if there are only a few.

Help and completion read these tables, so this module imports nothing.
"""

SETTINGS = {
    "scopes.author": "the author of your messages when --as is not given (default: user)",
    "scopes.durability": "'full' (default): synced to disk before a command returns; 'fast': not",
    "scopes.lockTimeout": "seconds to wait for the store's lock (default 30)",
    "scopes.hints": "'false' turns hints off (default: true)",
    "scopes.color": "when to color the output: auto (default), always or never",
    "scopes.alias.<name>": "a command of your own: scopes <name> runs it (your own configuration only)",
    "scopes.pager": "the pager (a command: your own configuration only; default: less)",
    "scopes.editor": "the editor (a command: your own configuration only; default: VISUAL or EDITOR)",
    "scopes.merge.rule.<type>": "how to resolve conflicts of a type: first (the target's side), second, skip or fail",
    "scopes.merge.reuse": "a conflict that was resolved before: show (default) how, apply it again, or off",
    "scopes.model.<name>.window": "the context window, in tokens, of models whose names begin with <name>",
    "scopes.model.<name>.encoding": "the encoding that counts the tokens of such models: o200k_base or cl100k_base",
    "scopes.model.<name>.factor": "tokens of such a model for each token of the encoding, such as 1.2",
    "scopes.budgetWindow": "how 'budget' divides a window: content/response/overhead in percent (default 60/20/20)",
    "scopes.budgetContent": "how 'budget' divides the content: files/history/metadata in percent (default 50/30/20)",
    "scopes.contextSeconds": "seconds that a context is cached (default 600; 0: never)",
    "scopes.tightBudget": "tokens below which a context has only the newest conversation of a work item (default 500)",
    "scopes.maxTurns": "messages after which 'context' warns that a conversation is full (default: never)",
    "scopes.idleSeconds": "seconds after which 'context' warns that a conversation is idle (default: never)",
    "scopes.packThreshold": "loose objects that make a store pack itself (default 6000; your own configuration only)",
    "scopes.summarizer": "a program that writes the summaries (a command: your own configuration only)",
    "scopes.summarizerTimeout": "seconds that the summarizer may take (default 60)",
    "scopes.agent.<name>.command": "the program of an agent for 'facts run' (a command: your own configuration only)",
    "scopes.agent.<name>.delivery": "a program that gets the agent's messages (a command: your own configuration only)",
    "scopes.agent.<name>.timeout": "seconds that a program of an agent may take (default 60)",
    "scopes.check.hookFailure": "what 'check --hook' does if it fails: closed (default: deny the call) or open",
    "scopes.check.hookUnread": "what 'check --hook' does with a command that it cannot read: ask (default) or deny",
    "scopes.importWorkers": "processes that import many transcripts (default: one for each processor, up to 4)",
    "scopes.secrets.onImport": "'false': possible secrets in imports and appends are not reported (default: true)",
    "scopes.memoryEvery": "new messages after which 'memory update' adds an entry (default 4; 0: never)",
}
DEFAULTS = {
    "scopes.author": "user",
    "scopes.durability": "full",
    "scopes.lockTimeout": "30",
    "scopes.hints": "true",
    "scopes.color": "auto",
    "scopes.pager": "less",
    "scopes.merge.reuse": "show",
    "scopes.budgetWindow": "60/20/20",
    "scopes.budgetContent": "50/30/20",
    "scopes.contextSeconds": "600",
    "scopes.tightBudget": "500",
    "scopes.packThreshold": "6000",
    "scopes.summarizerTimeout": "60",
    "scopes.check.hookFailure": "closed",
    "scopes.check.hookUnread": "ask",
    "scopes.secrets.onImport": "true",
    "scopes.memoryEvery": "4",
}
CHOICES = {
    "scopes.durability": ("full", "fast"),
    "scopes.hints": ("true", "false"),
    "scopes.color": ("auto", "always", "never"),
    "scopes.merge.rule.<type>": ("first", "second", "skip", "fail"),
    "scopes.merge.reuse": ("show", "apply", "off"),
    "scopes.secrets.onImport": ("true", "false"),
    "scopes.check.hookFailure": ("closed", "open"),
    "scopes.check.hookUnread": ("ask", "deny"),
    "scopes.model.<name>.encoding": ("o200k_base", "cl100k_base"),
}
# Git's spellings of true and false.
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
