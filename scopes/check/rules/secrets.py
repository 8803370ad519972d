"""Rules about secrets: those that a transcript contains, and reads of files and commands that give them away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from scopes.check.calls import Call
from scopes.check.findings import Event, Finding
from scopes.check.globs import matches_one, matches_path, matches_word
from scopes.check.rules.base import Parameter, Rule, Settings, event_of
from scopes.check.rules.commands import match_of, read_flags
from scopes.check.rules.file_reads import list_reads
from scopes.check.run import Run, RunPart
from scopes.check.shell_command import Command
from scopes.check.shell_scripts import AWKS
from scopes.context.secret_files import may_hold_secrets
from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import Secret, find_secrets

_SHOWN: Final = 4  # characters of a secret in a finding, at most a quarter of it
_ENVIRON: Final = compile_lazily(r"/proc/[^/]+/environ")
_AWK_ENVIRON: Final = compile_lazily(r"\bENVIRON\s*\[\s*\"(\w+)\"\s*\]|\bin\s+ENVIRON\b")
_REVEALING: Final = [
    "printenv", "printenv -0", "printenv --null",
    "env", "env -0", "env --null", "set", "compgen -v", "export", "export -p", "declare", "declare -p",
    "declare -x", "declare -px", "declare -xp", "typeset", "typeset -p", "typeset -x", "typeset -px", "typeset -xp",
    "readonly -p", "aws configure export-credentials **",
    "aws configure get *secret* **", "aws configure get *token* **", "aws sts get-session-token **",
    "aws secretsmanager get-secret-value **", "gh auth token **", "gh auth status ** --show-token **",
    "gh auth status ** -t **", "glab auth status ** --show-token **", "glab auth status ** -t **",
    "gcloud auth print-*-token **", "gcloud auth application-default print-access-token **",
    "gcloud secrets versions access **", "az account get-access-token **", "az keyvault secret show **",
    "security find-generic-password ** -w **", "security find-generic-password ** -g **",
    "security find-internet-password ** -w **", "security find-internet-password ** -g **",
    "security dump-keychain **", "secret-tool lookup **", "kubectl get secret* **", "kubectl describe secret* **",
    "kubectl get secrets/* **", "oc get secret* **", "kubectl config view ** --raw **", "vault kv get **",
    "vault read **", "op read **", "op item get **", "pass show **", "bw get password **", "heroku config **",
    "npm config get *_authToken **", "git credential fill **", "docker-credential-* get **", "doppler secrets **",
]  # fmt: skip
_MADE: Final = compile_lazily(
    r"(?:/private|/var)?/tmp/(?:[^/]+/)?[^/]*X{6,}/"
)  # a directory that mktemp made on this line
_STORE: Final = compile_lazily(r"store --file=/(?:[^/\s]+/)*[^/\s]*X{6,}/[^/\s]+$")
_PUBLIC: Final = compile_lazily(r".*\.pub|known_hosts(?:\.old)?|authorized_keys", re.IGNORECASE)
_SAMPLE_PASSWORD: Final = compile_lazily(r"(?:pass|passwd|password|secret|test)[0-9]{0,4}", re.IGNORECASE)
_SAMPLE_HOST: Final = compile_lazily(
    r"@(?:[\w-]{1,63}\.){0,9}(?:example(?:\.(?:com|org|net))?|invalid)(?![\w-]|\.\w)", re.IGNORECASE
)
_LOCAL_HOST: Final = compile_lazily(
    r"@(?:[\w-]{1,63}|127(?:\.\d{1,3}){3}|\[::1\]|host\.docker\.internal|[\w.-]{1,200}\.localhost)(?![\w-]|\.\w)",
    re.IGNORECASE,
)  # this machine, or a name without a domain, such as a service of a compose file
_STRIPE_LENGTH: Final = 24  # characters behind the prefix
_SECRET_NAME: Final = compile_lazily(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|PAT)S?$"
)
_GLOB: Final = compile_lazily(r"\.[^/]*[*?\[][^/]*")  # a part of a path that begins with a dot, with a pattern
_HIDDEN: Final = (
    ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".env", ".netrc", ".npmrc", ".pypirc", ".pgpass",
    ".git-credentials", ".vault-token", ".bash_history", ".zsh_history",
)  # fmt: skip
_SHOWING: Final = frozenset(
    {"cat", "tee", "head", "tail", "nl", "tac", "rev", "sort", "uniq", "fold", "fmt", "cut", "tr", "base64", "base32",
     "xxd", "od", "hexdump", "less", "more", "bat", "column", "sed", "awk", "grep"}
)  # fmt: skip
_PRINTERS: Final = frozenset({"echo", "printf", "printenv", "declare", "typeset"})
_ASSIGNED: Final = compile_lazily(r"\b(\w+)=[\"']?\$\([ ]*$")  # in front of a command whose output a variable gets
_VARIABLE: Final = compile_lazily(
    r"\$(?:\{(\w+)(?:\}|:[-=]|\^|,|@[QPEUuL]|:0?:?(?:[2-9]\d|1\d\d)\}|:0:(?:[2-9]\d|\d{3,}))|(\w+))"
)


def _judge_transcript(run: Run, settings: Settings) -> Iterable[Finding]:
    """Return one finding for each secret, at the first message that has it; its value goes into no finding."""
    allowed: Sequence[str] = settings.parameters["allow"]
    places: dict[str, list[tuple[RunPart, str]]] = {}
    for each, text in _walk_texts(run):
        for secret in find_secrets(text):
            value = text[secret.start : secret.end]
            if not _is_sample(secret, text) and not any(
                matches_word(pattern, value) or pattern == secret.kind for pattern in allowed
            ):
                places.setdefault(value, []).append((each, secret.kind))
    for value, found in places.items():
        messages = {each.message for each, _ in found}
        first, kind = found[0]
        what = first.part.type.replace("_", " ")
        shown = f"{kind} {value[: min(_SHOWN, len(value) // 4)]}..."
        count = f", in {len(messages)} messages" if len(messages) > 1 else ""
        yield Finding(
            rule=IN_TRANSCRIPT,
            level=settings.level,
            message=f"a {what} of {first.author} contains a possible secret: {shown}{count}",
            events=(Event(first.number, first.message, shown),),
            match=shown,
            cure=f'revoke it if it is real; otherwise add a pattern to `allow` of [rules."{IN_TRANSCRIPT}"]',
        )


def _is_sample(secret: Secret, text: str) -> bool:
    """Return True for what documentation shows: hosts of RFC 2606, `password123` for a local host, short Stripe keys.

    Reports redact these nevertheless.
    """
    value = text[secret.start : secret.end]
    if secret.kind == "url-password":
        if _SAMPLE_PASSWORD.fullmatch(value) is not None and _LOCAL_HOST.match(text, secret.end) is not None:
            return True
        return _SAMPLE_HOST.match(text, secret.end) is not None
    return secret.kind == "stripe-key" and len(value.rpartition("_")[2]) < _STRIPE_LENGTH


def _walk_texts(run: Run) -> Iterator[tuple[RunPart, str]]:
    """Yield the text of each part, with keys in front of values; results that only a stream has come last."""
    seen: set[int] = set()
    for each in run.parts:
        seen.add(id(each.part))
        yield each, "\n".join(_walk_values(each.part.fields))
    for call in run.calls:
        if call.result is not None and id(call.result) not in seen:
            yield (
                RunPart(call.number, call.message, call.agent, call.result),
                "\n".join(_walk_values(call.result.fields)),
            )


def _walk_values(value: object, key: str = "") -> Iterator[str]:
    """Yield `key: text` for each text in a JSON value; without recursion, because agents nest as deep as they like."""
    pending: list[tuple[str, Any]] = [(key, value)]
    while pending:
        name, each = pending.pop()
        if isinstance(each, str):
            yield f"{name}: {each}" if name else each
        elif isinstance(each, Mapping):
            pending += [(str(inner), content) for inner, content in reversed(list(each.items()))]
        elif isinstance(each, list | tuple):
            pending += [(name, content) for content in reversed(each)]


def _judge_read(run: Run, settings: Settings) -> Iterable[Finding]:
    """Return one finding for each file and each command that is read or run, with the number of times."""
    found: dict[tuple[str, str], list[tuple[Call, str | None]]] = {}
    for call in run.calls:
        for message, match, wrapper in _reads_of(call, settings):
            found.setdefault((message, match), []).append((call, wrapper))
    for (message, match), calls in found.items():
        call, wrapper = next((each for each in calls if not each[0].attempted), calls[0])
        yield Finding(
            rule=READ,
            level=settings.level,
            message=message + (f", {len(calls)} times" if len(calls) > 1 else ""),
            events=(event_of(call),),
            match=match,
            wrapper=wrapper,
            attempted=call.attempted,
            cure=f'keep it out of the agent\'s reach, or add a pattern to `allow` of [rules."{READ}"]',
        )


def _reads_of(call: Call, settings: Settings) -> Iterator[tuple[str, str, str | None]]:
    """Yield the message, the matched text and the wrapper of each read of a call."""
    allowed: Sequence[str] = settings.parameters["allow"]
    for edit in call.edits:
        is_read = edit.op == "read" and not _is_directory(call) and not call.reads_own(edit.path)
        if is_read and _is_secret_file(edit.path, allowed):
            yield f"reads {edit.path}, which may hold secrets", edit.path, None
    for command in call.commands:
        if matches_one(allowed, command):
            continue
        wrapper = " ".join(command.wrappers) or None
        for path in list_reads(command):
            if path not in command.own_files and not _MADE.match(path) and _is_secret_file(path, allowed):
                yield (
                    f"{command.program or 'the shell'} reads {path}, which may hold secrets",
                    match_of(command, call),
                    wrapper,
                )
        if (what := _revealed(command, call, settings.parameters["commands"])) is not None:
            yield what, match_of(command, call), wrapper


def _is_directory(call: Call) -> bool:
    """Return True if a read failed because the path is a directory."""
    output = "" if call.result is None else str(call.result.fields.get("output", ""))
    return call.outcome == "failed" and ("EISDIR" in output[:200] or "s a directory" in output[:200])


def _is_secret_file(written: str, allowed: Sequence[str]) -> bool:
    path = written.replace("\\", "/")
    path = _without_patterns(path)
    path = path if path.endswith("/") and may_hold_secrets(f"{path}any.example") else path.removesuffix("/")
    if _ENVIRON.fullmatch(path):
        return not any(matches_path(pattern, path) for pattern in allowed)
    if not may_hold_secrets(path) or _PUBLIC.fullmatch(path.rsplit("/", 1)[-1]):
        return False
    return not any(matches_path(pattern, path) for pattern in allowed)


def _without_patterns(path: str) -> str:
    """Return a path with a known name in the place of each hidden pattern that matches one: `.e*` is `.env`."""
    if not _GLOB.search(path):
        return path
    parts = [
        next((name for name in _HIDDEN if fnmatchcase(name, part)), part) if _GLOB.fullmatch(part) else part
        for part in path.split("/")
    ]
    return "/".join(parts)


def _revealed(command: Command, call: Call, patterns: Sequence[str]) -> str | None:
    """Return how a command prints secrets; None if it does not."""
    if matches_one(patterns, command) and not _has_no_helper(command):
        return None if _is_passed_on(command, call) else f"{' '.join(command.words[:3])} prints secrets"
    if command.program == "env" and _prints_environment(command):
        return None if _is_passed_on(command, call) else "env prints secrets"
    if named := _named(command):
        return f"prints {', '.join(dict.fromkeys(named))}"
    is_shown = command.program in _SHOWING and "$" in command.input
    is_printer = is_shown or command.program in {"echo", "printf"}
    if not is_printer or command.redirections or _is_piped(command, call):
        return None
    texts = [command.input] if is_shown else command.words[1:]
    names = (match[1] or match[2] for word in texts for match in _VARIABLE.finditer(word))
    named = [name for name in names if _SECRET_NAME.search(name)]
    return f"prints {', '.join(dict.fromkeys(named))}" if named else None


def _has_no_helper(command: Command) -> bool:
    """Return True if git has no helper to ask for passwords but one whose file mktemp made: `-c credential.helper=`."""
    helpers = [each.value for each in command.settings if each.key == "credential.helper"]
    if command.argv[:2] != ("git", "credential") or "" not in helpers:
        return False
    left = helpers[len(helpers) - helpers[::-1].index("") :]
    return all(each is not None and _STORE.match(each) and "X" * 6 in each for each in left)


def _named(command: Command) -> list[str]:
    """Return the variables for secrets that printenv or a program of awk names."""
    if command.program == "printenv":
        return [word for word in command.argv[1:] if word is not None and _SECRET_NAME.search(word)]
    if command.program not in AWKS:
        return []
    found = [match[1] or "ENVIRON" for word in command.words[1:] for match in _AWK_ENVIRON.finditer(word)]
    return [name for name in found if name == "ENVIRON" or _SECRET_NAME.search(name)]


def _prints_environment(command: Command) -> bool:
    """Return True if `env` runs no command: a command would have been unwrapped."""
    words = command.words[1:]
    operands = read_flags(words, "uCS", ("--unset", "--chdir", "--split-string")).operands
    is_question = {"--help", "--version", "-i", "-", "--ignore-environment"} & {*words}
    return not is_question and all(word is not None and "=" in word for word in operands)


def _is_passed_on(command: Command, call: Call) -> bool:
    """Return True if the output of a command becomes an argument or a variable only, and no command prints it."""
    text = call.shell or ""
    starts = [match.start() for match in re.finditer(re.escape(command.text), text)]
    if not starts or "<<" in text or not all(text[:start].rstrip(" ").endswith("$(") for start in starts):
        return False
    printers = [each for each in call.commands if each.program in _PRINTERS]
    if any(f"$({command.text}" in each.text.replace("$( ", "$(") for each in printers):
        return False
    names = {found[1] for start in starts if (found := _ASSIGNED.search(text[:start])) is not None}
    return not any(_prints(name, each, call) for name in names for each in printers)


def _prints(name: str, command: Command, call: Call) -> bool:
    """Return True if a command prints a variable, and no other program or file gets it."""
    if command.redirections or _is_piped(command, call):
        return False
    if command.program in {"echo", "printf"}:
        return re.search(rf"\$(?:{name}\b|\{{{name}\b)", command.text) is not None
    return name in command.words or len(command.words) == 1


def _is_piped(command: Command, call: Call) -> bool:
    """Return True if another program reads the output of a command."""
    return any(other.piped_from == command.argv for other in call.commands)


IN_TRANSCRIPT, READ = "secrets/in-transcript", "secrets/read"
RULES = (
    Rule(
        IN_TRANSCRIPT,
        "error",
        "The transcript contains no secret",
        "Decided from all parts of all messages, with inputs and outputs of tools and reasoning: keys and tokens of "
        "known services by their prefix, private keys, passwords in addresses, and values behind words such as "
        "`password =`. It cannot see secrets of other kinds: nothing is judged by how random it looks. Placeholders "
        "are left out, and so are passwords for hosts such as db.example.com. A finding has the kind and the first "
        "characters, never the value. `allow` are patterns of values, such as `sk_test_*`, or kinds, such as `jwt`.",
        _judge_transcript,
        (Parameter("allow", [], "patterns of values, or kinds, that are not secrets"),),
    ),
    Rule(
        READ,
        "warning",
        "No file with secrets is read",
        "Decided from the names of the files that read tools, and commands such as cat, grep, cp and source, name: "
        "`.env`, keys, credentials of tools; templates such as `.env.example` and public keys do not count. Also "
        "commands that print secrets: `printenv`, `env`, `gh auth token`, `echo $API_KEY`. A file whose whole text the "
        "run wrote is left out, and one in a directory that mktemp made. It cannot see what other programs read, nor "
        "what a file contains. `allow` are patterns of paths and of commands.",
        _judge_read,
        (
            Parameter("allow", [], "patterns of paths and of commands that may be read or run"),
            Parameter("commands", _REVEALING, "patterns of commands that print secrets"),
        ),
        strict="error",
    ),
)
