"""The rule about the hosts that an agent reaches: addresses in commands and in calls of fetch tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scopes.check.calls import Call
from scopes.check.findings import Finding
from scopes.check.globs import matches_word
from scopes.check.rules.base import Parameter, Rule, Settings, event_of
from scopes.check.rules.commands import match_of, read_flags
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.lazy_patterns import compile_lazily

_ID: Final = "net/host"
_CURE: Final = "add the host to `hosts`, or do without it"
_HOST: Final = compile_lazily(r"(?:[A-Za-z][\w+.-]*:)?//(?:[^/?#\s]*@)?(\[[^\]\s]*\]|[^/:?#\s]+)")
_BARE: Final = compile_lazily(r"([\w-]+(?:\.[\w-]+)+|localhost)(?::\d+)?(?:[/?#].*)?")
_REMOTE: Final = compile_lazily(r"(?:[\w.-]+@)?([\w.-]+|\[[^\]]*\]):.*")
_VALUED: Final = {  # options with values, of programs whose operands are addresses
    "curl": "AbcCdDeEFhHKmMoPQrtTuUwXyYzx",
    "wget": "aAeiBDIloOPQRtTUwX",
    "aria2c": "dioxsjk",
    "http": "apo", "https": "apo", "xh": "apo",
    "lynx": "", "w3m": "", "links": "", "ftp": "", "telnet": "l", "nc": "psiwxX", "ncat": "psiw",
}  # fmt: skip
_LOGINS: Final = {"ssh": "bcDeFIiJLlmOopQRSWw", "mosh": "p", "sftp": "BbcDFiJloPRSs", "scp": "cFiJloPS", "rsync": "efT"}
_GIT: Final = frozenset({"clone", "fetch", "pull", "push", "ls-remote"})


def hosts_of(command: Command) -> Iterator[str | None]:
    """Yield the hosts in the words of a command; None for an address that the shell computes."""
    program = command.program or ""
    if program in _VALUED:
        flags = read_flags(command.argv[1:], _VALUED[program], ("--output", "--header", "--data", "--request", "--url"))
        words = [*flags.operands, *(word for word in command.argv if word and word.startswith(("http:", "https:")))]
        yield from dict.fromkeys(_host_of(word) for word in words[: 1 if program in {"telnet", "nc", "ncat"} else None])
    elif program in _LOGINS:
        operands = read_flags(command.argv[1:], _LOGINS[program]).operands
        if program == "ssh" and {"-G", "-V"} & {*command.argv[1:]}:
            return
        if program in {"ssh", "mosh", "sftp"}:
            yield from (None if word is None else word.rpartition("@")[2].split(":")[0] for word in operands[:1])
        else:
            yield from (match[1] for word in operands if word and (match := _REMOTE.fullmatch(word)))
    elif program == "git" and len(command.argv) > 1 and command.argv[1] in _GIT:
        for word in command.argv[2:]:
            pattern = _HOST if word and "://" in word else _REMOTE
            if word and ("://" in word or "@" in word) and (match := pattern.match(word)):
                yield match[1]


def _host_of(word: str | None) -> str | None:
    if word is None:
        return None
    match = _HOST.match(word) or _BARE.fullmatch(word)
    return match[1] if match else ""


def host_of(address: str) -> str | None:
    """Return the host of an address such as `https://user@example.org/x`; None for other texts."""
    match = _HOST.match(address)
    return None if match is None else match[1]


def fetched_addresses(call: Call) -> Iterator[str]:
    """Yield the texts in the arguments of a tool that is no shell which should be addresses."""
    given = call.call.fields.get("input")
    for name in ("url", "uri", "urls"):
        value = given.get(name) if isinstance(given, dict) else None
        yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


def _judge(run: Run, settings: Settings) -> Iterable[Finding]:
    findings = []
    allowed: Sequence[str] = settings.parameters["hosts"]
    for call in run.calls:
        fetched = filter(None, map(host_of, fetched_addresses(call)))
        reached: list[tuple[str | None, str | None, str | None]] = [(host, host, None) for host in fetched]
        for command in call.commands:
            wrapper = " ".join(command.wrappers) or None
            reached += [(host, match_of(command, call), wrapper) for host in hosts_of(command) if host != ""]
        for host, match, wrapper in dict.fromkeys(reached):
            if host is not None and any(matches_word(pattern, host.lower()) for pattern in allowed):
                continue
            what = "a host that the command line does not name" if host is None else f"the host {host}"
            findings.append(
                Finding(
                    rule=_ID,
                    level=settings.level,
                    message=f"reaches {what}",
                    events=(event_of(call),),
                    match=match,
                    wrapper=wrapper,
                    attempted=call.attempted,
                    cure=_CURE,
                )
            )
    return findings


HOST = Rule(
    _ID,
    "off",
    "Only known hosts are reached",
    "Decided from the addresses in the words of curl, wget and other download programs, ssh, scp, rsync and git, and "
    "from the `url` of fetch tools. It cannot see what other programs, package managers and redirects reach. `hosts` "
    "are the hosts that are allowed: `*.example.org`.",
    _judge,
    (Parameter("hosts", ["localhost", "127.0.0.1", "[::1]", "::1"], "hosts that are allowed; `*` matches any text"),),
)
RULES = (HOST,)
