"""`scopes init`, `verify`, `gc`, `doctor`, `config`, `tokens`, `completion`, `help` and `version`.

Operations are imported where they run: each command needs only its own.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from scopes.cli.input import STANDARD_INPUT, has_piped_input, open_input
from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    CountedModel,
    Text,
    Texts,
    argument,
    known_model,
    option,
    read_size,
    refuse_dry_run,
    tokenizer_for,
)
from scopes.cli.table import TABLE
from scopes.errors import Inaccessible, Invalid, ScopesError
from scopes.result import Note, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.conversation.verify import Check, MoreChecks

_PATH_STARTS = ("/", "./", "../", "~")  # no conversation's name begins like this


def init(invocation: Invocation) -> int:
    """Create a store for this project.

    Inside a git repository it is created in its git directory: all worktrees share it, and every command below the
    project uses it. Outside of one, your user store is created.

    Examples:
      scopes init
      scopes init && scopes import
    """
    from scopes.conversation.store import init as run_init

    notes = tuple(_note_earlier_store(invocation))
    result = run_init(invocation.new_store_path, dry_run=invocation.dry_run)
    return invocation.show(replace(result, notes=(*result.notes, *notes)))


def verify(
    invocation: Invocation,
    file: Annotated[Text, argument("[FILE]", "Check that every byte of this transcript is in the store")] = None,
    mend: Annotated[bool, option("--repair", "Mend what can be mended without loss")] = False,
    signatures: Annotated[
        Text, option("--signatures [=all]", "Check the signatures instead; =all requires them")
    ] = None,
) -> int:
    """Check the whole store, or one transcript.

    Each defect is printed with the message that it affects. The exit code is 7 if data is damaged, 1 if a part of FILE
    is missing or a signature is not good.

    Examples:
      scopes verify
      scopes verify --repair --dry-run
      scopes verify run.jsonl
    """
    if [file is not None, mend, signatures is not None].count(True) > 1:
        raise Invalid("FILE, --repair and --signatures cannot be combined", hint="give one of them")
    if signatures not in {None, "", "all"}:
        raise Invalid(f"--signatures={signatures} is not possible", hint="--signatures, or --signatures=all")
    from scopes.conversation import verify as checks

    if mend:
        from scopes.store.verify import repair_unopened

        before = () if invocation.dry_run else repair_unopened(invocation.store_path)
        repository = invocation.repository()
        more = _more_checks()
        return invocation.show(checks.repair(repository, more, dry_run=invocation.dry_run, before=before))
    repository = invocation.repository()
    if signatures is not None:
        required = signatures == "all"
        return invocation.show(checks.verify_signatures(repository, invocation.cwd, required=required))
    if file is not None:
        from scopes.importers.formats.registry import FORMATS
        from scopes.importers.verify_source import verify_source

        return invocation.show(verify_source(repository, file, FORMATS))
    return invocation.show(checks.verify(repository, _more_checks()))


def gc(
    invocation: Invocation,
    expire: Annotated[Text, option("--expire WHEN", "Also trash and operations older than this")] = None,
) -> int:
    """Pack the store and delete what has expired.

    Everything that can be undone is kept, unless --expire is given: operations before that time can no longer be
    undone, and what they deleted is removed from disk two weeks later.

    Examples:
      scopes gc
      scopes gc --expire '90 days' --dry-run
    """
    from scopes.clock import now_nanoseconds, parse_date
    from scopes.conversation.store import gc as run_gc

    if invocation.dry_run:
        return invocation.show(run_gc(invocation.repository(), expire_before=expire, dry_run=True))
    if expire is not None:
        parse_date(expire, now_nanoseconds())  # before the question
        invocation.confirm(f"delete everything that was moved to the trash before {expire}?")
    caches = (invocation.index_directory, os.path.join(invocation.cache_directory, "contexts"))
    return invocation.show(run_gc(invocation.repository(), expire_before=expire, caches=caches))


def doctor(invocation: Invocation) -> int:
    """Check the installation and the store.

    Versions, git, permissions and the lock; which agents are here, with their hooks, MCP servers and skill files; and
    which encodings of tokens are exact. Changes nothing.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    from scopes.conversation.verify import doctor as run_doctor

    return invocation.show(run_doctor(invocation.repository_or_error(), _check_others(invocation)))


def config(
    invocation: Invocation,
    key: Annotated[Text, argument("[KEY]", "The setting, such as scopes.author (default: list all)")] = None,
    value: Annotated[Text, argument("[VALUE]", "Its new value")] = None,
    everything: Annotated[bool, option("-a, --all", "Also the defaults")] = False,
    level: Annotated[Text, option("--level LEVEL", "store or user (default: the store's)")] = None,
    unset: Annotated[bool, option("--unset", "Remove the setting")] = False,
    show_origin: Annotated[bool, option("--show-origin", "Print where each value comes from")] = False,
    of_user: Annotated[bool, option("--global", "As git: --level user", hidden=True)] = False,
    _get: Annotated[bool, option("--get", "As git: print the value", hidden=True)] = False,
    _list: Annotated[bool, option("-l, --list", "As git: list all", hidden=True)] = False,
) -> int:
    """Read or change settings.

    Settings are git configuration, which git config reads and writes too. One that names a program is read from your
    own configuration only.

    Examples:
      scopes config
      scopes config scopes.author Ann
      scopes config scopes.summarizer --unset
    """
    from scopes.conversation.store import get_setting, list_settings, set_setting
    from scopes.render.view import ViewOptions
    from scopes.store.config import is_read_from_store

    if key is None:
        if unset:
            raise Invalid("no setting to remove was given", hint="list them: scopes config")
        found = list_settings(invocation.config(), defaults=everything)
        return invocation.show(found, options=ViewOptions(show_origin=show_origin))
    if value is None and not unset:
        return invocation.show(get_setting(invocation.config(), key))
    if value is not None and unset:
        raise Invalid("--unset takes no value", hint="leave out one of them")
    repository = invocation.find_repository()
    by_default = "store" if repository is not None and is_read_from_store(key) else "user"
    where = "user" if of_user else level or by_default
    result = set_setting(repository, invocation.home, key, value, level=where, dry_run=invocation.dry_run)
    return invocation.show(replace(result, notes=(*result.notes, *_note_useless_setting(invocation, key))))


def tokens(
    invocation: Invocation,
    what: Annotated[Text, argument("[FILE|-|WHERE]", "A file, standard input, or what to count (default: @)")] = None,
    model: CountedModel = None,
    budget: Annotated[Text, option("--budget [=N]", "Divide a window of N tokens, or of the model")] = None,
    fetch: Annotated[Text, option("--fetch [=NAME]", "Get the data for exact counts")] = None,
) -> int:
    """Count tokens, or divide a context window.

    The argument is a file if there is one of that name. Else it is a conversation, branch or message, and all messages
    up to it are counted. A number with ~ is an estimate; scopes doctor says which encodings are exact.

    Examples:
      scopes tokens conv-001
      git diff | scopes tokens -
      scopes tokens --budget 200k
    """
    if budget is not None and fetch is not None:
        raise Invalid("--budget cannot be combined with --fetch", hint="leave out one of them")
    if fetch is not None:
        return _fetch_tokens(invocation, fetch or what)
    if budget is not None:
        return _divide_window(invocation, budget or what, model)
    from scopes.context.count import count_conversation, count_text

    choice = tokenizer_for(invocation, model)
    what = what or (STANDARD_INPUT if has_piped_input(invocation) else LATEST)
    if what == STANDARD_INPUT or os.path.lexists(what) or what.startswith(_PATH_STARTS):
        with open_input(invocation, what) as stream:
            return invocation.show(count_text(what, stream.read(), choice))
    return invocation.show(count_conversation(invocation.repository(), what, choice, invocation.cache_directory))


def completion(
    invocation: Invocation,
    shell: Annotated[
        Literal["bash", "zsh", "fish", "fzf", "fzf-fish"],
        argument("SHELL", "The shell; or fzf (for bash and zsh), or fzf-fish"),
    ],
) -> int:
    """Print a completion script.

    It completes commands, options, conversations and branches. fzf prints a function instead that chooses a
    conversation: scopes-fzf.

    Examples:
      eval "$(scopes completion bash)"        # in ~/.bashrc
      scopes completion fish | source         # in ~/.config/fish/config.fish
      eval "$(scopes completion fzf)"         # then: scopes-fzf --project .
    """
    from scopes.cli.completion_scripts import print_script

    return print_script(TABLE, [shell], invocation)


def help_(
    invocation: Invocation,
    command: Annotated[Texts, argument("[COMMAND]", "The command or group to explain")] = None,
    include_all: Annotated[bool, option("-a, --all", "Its whole manual; without COMMAND, all commands")] = False,
) -> None:
    """Explain a command.

    help -a lists all commands, the global options and the exit codes. Environment variables, files and settings are in
    the manual of config: help -a config.

    Examples:
      scopes help
      scopes help merge
      scopes help --all
      scopes help schemas conversation-list
    """
    from scopes.cli.help import explain

    explain(TABLE, command or [], invocation, include_all=include_all)


def _note_earlier_store(invocation: Invocation) -> Iterator[Note]:
    """Yield a note about the store that was used here until now, if it has conversations of this project."""
    earlier, path = invocation.store_path, invocation.new_store_path
    if earlier == path or not os.path.exists(earlier):
        return
    from scopes.cli.options import choose_projects
    from scopes.conversation.list import ListFilter, list_conversations
    from scopes.store.repository import open_repository

    try:
        wanted = ListFilter(projects=choose_projects(invocation, ["."]))
        found = list_conversations(open_repository(earlier), invocation.index_directory, wanted=wanted)
    except ScopesError:
        return
    if found.conversations:
        count = len(found.conversations)
        text = f"until now the store was {earlier}, with {count:,} {plural(count, 'conversation')} of this project"
        yield Note(text, "get them from their sessions: scopes import")


def _more_checks() -> MoreChecks:
    """Return the checks of the refs of which `conversation` knows nothing."""
    from scopes.agents.damage import walk_agent_defects
    from scopes.code_links.record_fsck import walk_commit_record_defects
    from scopes.facts.damage import walk_fact_defects
    from scopes.purge.damage import walk_purge_defects
    from scopes.secrets.damage import walk_allowed_defects

    return (
        walk_agent_defects,
        walk_fact_defects,
        walk_commit_record_defects,
        walk_allowed_defects,
        walk_purge_defects,
    )


def _check_others(invocation: Invocation) -> Iterator[Check]:
    """Yield the checks of what is above the store."""
    from scopes.cli.commands.setup import hook_environment, user_directories
    from scopes.context.count import tokens_status
    from scopes.conversation.verify import Check
    from scopes.handover.skills import skills_status
    from scopes.hosts.mcp_status import mcp_status
    from scopes.server.doctor_checks import check_agents, check_hooks, check_installed
    from scopes.tokens.count import rank_file_paths

    yield from check_agents(invocation.state_directory, invocation.environ, invocation.home)
    yield from check_hooks(hook_environment(invocation), invocation.state_directory)
    yield from check_installed("mcp server", mcp_status(hook_environment(invocation)).servers)
    yield from check_installed("skill", skills_status(user_directories(invocation)).skills)
    encodings = tokens_status(rank_file_paths(invocation.environ)).encodings
    detail = ", ".join(f"{each.name} {'exact' if each.exact else 'estimated'}" for each in encodings)
    cure = None if all(each.exact for each in encodings) else "for exact counts: scopes tokens --fetch"
    yield Check("tokens", "ok", detail, cure)


def _note_useless_setting(invocation: Invocation, key: str) -> Iterator[Note]:
    """Yield notes about an alias that hides behind a command, and a setting of an agent that is not registered."""
    from scopes.agents.authors import note_unknown_agent
    from scopes.cli.command_line import split_words
    from scopes.store.config import ALIAS

    name = key.lower().removeprefix(ALIAS)
    if name != key.lower() and split_words(TABLE, [name]).unknown is None:
        yield Note(f"{name} is a command, so this alias is never used", "choose another name for the alias")
    repository = invocation.find_repository()
    if repository is not None:
        yield from note_unknown_agent(repository, key)


def _fetch_tokens(invocation: Invocation, name: str | None) -> int:
    """Download the data of an encoding."""
    from scopes.context.count import fetch_ranks
    from scopes.tokens.count import DEFAULT_ENCODING, rank_file_paths

    refuse_dry_run(invocation, "tokens --fetch")
    return invocation.show(fetch_ranks(rank_file_paths(invocation.environ), name or DEFAULT_ENCODING, _download))


def _download(address: str) -> bytes:
    """Download a file of at most 64 MiB; fail if the server sends nothing for 30 seconds.

    Raises:
        Inaccessible: the server cannot be reached or refuses the request.
    """
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(address, timeout=30) as response:  # noqa: S310  it comes from our own table
            data: bytes = response.read(64 << 20)
    except (urllib.error.URLError, OSError) as error:
        hint = "check the network, or: pip install 'scopes-ai[tokens]', which includes the data"
        raise Inaccessible(f"cannot download {address}: {getattr(error, 'reason', error)}", hint=hint) from error
    return data


def _divide_window(invocation: Invocation, size: str | None, model: str | None) -> int:
    """Divide a window of a size, or that of a model."""
    from scopes.context.budget import plan_configured

    row = known_model(invocation, model)
    window = read_size(size) if size else None if row is None else row.window
    if not window:
        text = "no window is given" if window is None else "a window has at least one token"
        raise Invalid(text, hint="for example: --budget 200k, or --budget --model gpt-4o")
    return invocation.show(plan_configured(invocation.config(optional=True), window, model=model))
