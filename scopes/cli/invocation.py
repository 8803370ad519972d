"""One run of a command: its options, streams, store and output.

Rendering, the store and its settings are loaded at first use, so that an Invocation exists before anything can fail.
"""

from __future__ import annotations

import os
import sys

from scopes.cli.command_line import ALL_FIELDS, before_separator
from scopes.cli.table import GLOBAL_OPTIONS
from scopes.errors import Inaccessible, Invalid, NotFound, Refused, ScopesError
from scopes.store.projects import (
    cache_directory,
    choose_store,
    find_here,
    find_project_store,
    index_directory,
    state_directory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from scopes.cli.table import Command
    from scopes.index.caches import CommitCache
    from scopes.render.output import Output
    from scopes.render.view import ViewOptions
    from scopes.result import Note, Result
    from scopes.secret_scan.clearance import Mode
    from scopes.store.config import Config, Setting
    from scopes.store.git_program import Signer
    from scopes.store.repository import Repository

PREFIX = "SCOPES_"
COLOR_VARIABLES = ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "CLICOLOR")


class Invocation:
    """The context of one command; `environ` leaves out empty SCOPES_ variables, because empty means unset."""

    def __init__(self, arguments: list[str], environ: Mapping[str, str]) -> None:
        self.arguments = arguments
        self.environ = {key: value for key, value in environ.items() if value or not key.startswith(PREFIX)}
        self.stdin = sys.stdin
        self.stdout = sys.stdout
        self.stderr = sys.stderr
        self.command = ""
        self.json = any(word.startswith("--json") for word in before_separator(arguments))
        self.color = "auto"
        self.color_given = False
        self.pager = True
        self.writes = False
        self.quiet = not {"-q", "--quiet"}.isdisjoint(before_separator(arguments))
        self.verbose = False
        words = before_separator(arguments)
        self.debug = "-vv" in words or words.count("-v") + words.count("--verbose") > 1
        self.yes = False
        self.interactive = _is_terminal(self.stdin)
        self.nul = False
        self.template: str | None = None
        self.form: str | None = None  # the value of --format that is no template
        self.fields: tuple[str, ...] = ()
        self.store: str | None = None
        self.actor: str | None = None  # of the operations and messages; None for the user
        self.dry_run = False
        self.secrets: Mode = "refuse"
        self.at_operation: str | None = None
        self.settings: tuple[str, ...] = ()
        self._repository: Repository | None = None
        self.committed: str | None = None  # since the last printed result, for the message of an interrupt or error
        self._signer: Signer | None = None
        self._notes: tuple[Note, ...] = ()

    def refuse_broken_text(self) -> None:
        """Refuse arguments that are not valid text in the locale's encoding (A-7).

        Raises:
            Invalid: an argument is not valid; the error names its position, counted from 1.
        """
        for position, argument in enumerate(self.arguments, start=1):
            try:
                argument.encode()
            except UnicodeEncodeError as error:
                raise Invalid(f"argument {position} is not valid UTF-8: {argument!a}") from error

    def begin(self, command: Command, spelling: str, options: Mapping[str, Any]) -> None:
        """Apply the global options to a run of a command, which is typed as `spelling`.

        `-C` changes the current directory, as in git.

        Raises:
            NotFound: the directory of `-C` does not exist.
            Inaccessible: it cannot be entered.
            Invalid: an option has an invalid value, or the command does not accept it.
        """
        self.command = spelling
        for option in GLOBAL_OPTIONS:
            value = options.get(option.key)
            if option.choices and value is not None and value not in option.choices:
                choices = ", ".join(option.choices)
                raise Invalid(f"{value!r} is not a valid value of {option.names[-1]}: use one of {choices}")
        for directory in options["directories"]:
            _change_directory(directory)
        self.settings = tuple(options["settings"])
        _check_settings(self.settings)
        self.store = options["store"]
        self.at_operation = options["at_operation"]
        self.color_given = options["color"] is not None
        self.color = options["color"] or "auto"
        self.json = options["json"] is not None
        self.quiet, self.verbose = bool(options["quiet"]), bool(options["verbose"])
        self.actor = options["actor"]
        self.dry_run = bool(options["dry_run"])
        self.secrets = options["secrets"] or "refuse"
        self.pager = command.pages and not options["no_pager"]
        self.writes = not command.pages
        self.yes = bool(options["yes"])
        self.interactive = self.interactive and not options["no_input"]
        self.nul = bool(options["nul"])
        self.template = options["template"]
        names = "" if options["json"] in {None, ALL_FIELDS} else options["json"]
        self.fields = tuple(name.strip() for name in names.split(",") if name.strip())
        if self.at_operation is not None and not command.reads_past:
            raise Invalid(f"--at cannot be combined with {spelling}", hint="only commands that read accept it")
        if self.dry_run and command.has_own_effects:
            raise Invalid(f"--dry-run cannot be combined with {spelling}", hint="it changes more than the store")
        if self.template in command.forms:
            self.form, self.template = self.template, None
        elif self.template is not None and command.forms and "{" not in self.template:
            raise Invalid(f"{self.template!a} is not a form of {spelling}", hint=f"forms: {', '.join(command.forms)}")

    @property
    def wants_data(self) -> bool:
        """Whether a program reads fields of the rows, as JSON or by a template."""
        return self.json or self.template is not None

    @property
    def cwd(self) -> str:
        """The current directory.

        Raises:
            Inaccessible: it was deleted.
        """
        try:
            return os.getcwd()
        except OSError as error:
            raise Inaccessible(
                "the current directory no longer exists", hint="change to another one, or use -C"
            ) from error

    @property
    def store_path(self) -> str:
        """The path of the selected store, which may not exist.

        Raises:
            Invalid: `--store` is empty.
        """
        if self.store == "":
            raise Invalid("--store is empty", hint="give the directory of a store, or leave out the option")
        return choose_store(self.environ, self.cwd, self.store)

    @property
    def new_store_path(self) -> str:
        """The path where `init` creates a store: the given one, else the project's, else the user's."""
        given = self.store or self.environ.get("SCOPES_STORE")
        return self.store_path if given else find_project_store(self.cwd) or self.store_path

    @property
    def cache_directory(self) -> str:
        """The cache directory of scopes."""
        return cache_directory(self.environ)

    @property
    def index_directory(self) -> str:
        """The directory of the index of the selected store."""
        return index_directory(self.cache_directory, self.store_path)

    @property
    def overrides(self) -> dict[str, Setting]:
        """Settings from the environment (`SCOPES_LOCK_TIMEOUT`: `scopes.lockTimeout`) and `-c`, by lower-case key."""
        from scopes.store import config  # with libgit2

        overrides: dict[str, Setting] = config.environment_settings(self.environ)
        for text in self.settings:
            key, equals, value = text.partition("=")
            overrides[key.lower()] = config.Setting(key, value if equals else "true", "flag")
        return overrides

    @property
    def state_directory(self) -> str:
        """The directory of logs and crash files."""
        return state_directory(self.environ)

    @property
    def home(self) -> str:
        """The user's home directory, even if HOME is unset."""
        return os.path.expanduser("~")

    def repository(self, *, create: bool = False) -> Repository:
        """Return the selected store; it is opened once, and created first if `create` is set and it does not exist.

        Raises:
            NotFound: it does not exist.
            Corrupt, TooNew, Inaccessible: it cannot be opened, or is gone, and shall not be made in the background.
        """
        if self._repository is None:
            path = self.store_path
            if create and not self.dry_run:
                from scopes.store.repository import create_store

                if self.is_background:
                    from scopes.live.lost_store import require_store_not_lost

                    require_store_not_lost(path, self.cache_directory, self.state_directory)
                create_store(path)
            from shlex import join

            from scopes.result import Note

            command = join(["scopes", *self.arguments])
            opened: Repository = self._open(path)
            actor = self.actor or opened.config.find_person() or "user"
            opened.caller = opened.caller._replace(
                actor=actor,
                command=command,
                full_branch_names=self.writes,
                find_project=lambda: find_here(self.cwd, path),
                sign=self._find_signer(opened.config),
                on_wait=lambda text: self.output().note(Note(text)),
                on_commit=self._set_committed,
                command_operations=[],
                index_directory=self.index_directory,
                open_commit_chunks=self._open_commit_chunks,
            )
            self._repository = opened
            if self.dry_run:
                opened.begin_dry_run()
            if self.at_operation is not None:
                from scopes.history.transaction import show_past

                note = show_past(opened, self.at_operation)
                if note is not None:
                    self.output().note(note)
            if self.verbose:
                self.output().say(f"using the store {path}")
        return self._repository

    def _open_commit_chunks(self) -> CommitCache:
        from scopes.index.caches import CommitCache

        return CommitCache(self.index_directory, self.store_path)

    def _find_signer(self, config: Config) -> Callable[[bytes], bytes]:
        """Return what signs commits as the user's git does; behind a server that agents talk to, nothing does."""
        from scopes.history.sessions import WATCH

        if self.actor == WATCH or self.command.split()[-1:] in (["mcp"], ["acp"]):
            return bytes
        from scopes.store.config import BOOLEANS

        choice = BOOLEANS.get((config.find("scopes.signCommits") or "").lower())

        def sign(commit: bytes) -> bytes:
            from scopes.store.git_program import Signer

            self._signer = self._signer or Signer(self.cwd, terminal=self.interactive, choice=choice)
            return self._signer.sign(commit)

        return sign

    def open_again(self, *, create: bool, actor: str | None = None) -> Repository:
        """Open the selected store once more, for another thread; raises as `repository` does.

        `actor` is whose its operations are, if it is another one than of this invocation.
        Operations name the command without what follows `--`: the arguments of another program may have secrets. Each
        is a step of `undo`: who opens the store again goes on for long, or acts beside the command.
        """
        other = Invocation(before_separator(self.arguments), self.environ)
        other.store, other.settings, other.command = self.store, self.settings, self.command
        other.actor = actor or self.actor
        opened = other.repository(create=create)
        opened.caller = opened.caller._replace(command_operations=None)
        return opened

    @property
    def is_store_named(self) -> bool:
        """Whether the user named the store, with `--store` or SCOPES_STORE: it has to exist then."""
        return bool(self.store or self.environ.get("SCOPES_STORE"))

    @property
    def is_background(self) -> bool:
        """Whether this is a recorder that nobody watches: a hook, `acp` or `import --watch`."""
        from scopes.history.sessions import ACP_RECORDER, HOOKS, WATCH

        return self.arguments[:2] == ["hooks", "run"] or self.actor in {ACP_RECORDER, HOOKS, WATCH}

    def _open(self, path: str) -> Repository:
        """Open the store; the error that there is none repeats the path that was given."""
        try:
            from scopes.store.repository import open_repository

            opened: Repository = open_repository(path, self.overrides)
        except NotFound as error:
            if self.store:
                from shlex import join

                command = join(["scopes", "--store", self.store])
                error.hint = f"create one: {command} import, or: {command} new"
            raise
        return opened

    def find_repository(self, *, create: bool = False) -> Repository | None:
        """Return the selected store; None if it does not exist and the user did not name it, or `create` is set.

        Raises:
            NotFound: a store that the user named does not exist, or the operation of --at.
            Inaccessible: it cannot be opened.
        """
        try:
            return self.repository()
        except NotFound:
            if self._repository is not None or (self.is_store_named and not create):
                raise
            return None

    def repository_or_error(self) -> Repository | ScopesError:
        """Return the selected store, or the error why it cannot be opened."""
        try:
            return self.repository()
        except ScopesError as error:
            return error

    def no_store_notes(self) -> tuple[Note, ...]:
        """Return the note for commands that found no store."""
        hint = "import the sessions of your agents: scopes import, or start a conversation: scopes new"
        from scopes.result import Note

        return (Note(f"there is no store at {self.store_path} yet", hint),)

    def config(self, *, optional: bool = False) -> Config:
        """Return the settings of the store, or of the user if there is no store.

        Raises:
            NotFound: a store that the user named does not exist. With `optional` only if --store names it: a text is
                counted without a store.
        """
        repository = self.find_repository(create=optional and not self.store)
        if repository is not None:
            return repository.config
        from scopes.store.config import Config, user_config

        return Config(user_config(), self.overrides, self.store_path)

    def _set_committed(self, text: str) -> None:
        self.committed = text

    def output(
        self,
        *,
        options: ViewOptions | None = None,
        configured: bool = True,
    ) -> Output:
        """Return the output; the settings of the store apply if it is open and `configured` is set."""
        from scopes.render.output import Output, OutputSettings

        config = self._repository.config if self._repository is not None and configured else None
        settings = OutputSettings(
            json=self.json,
            color=self.color if config is None else self._configured_color(config),
            pager=self.pager,
            nul=self.nul,
            template=self.template,
            fields=self.fields,
            quiet=self.quiet,
            verbose=self.verbose,
            hints=not self.quiet and (config is None or config.find_boolean("scopes.hints", default=True)),
        )
        if options is not None:
            settings = settings._replace(options=options)
        pager = None if config is None else config.find("scopes.pager") or config.find("core.pager")
        return Output(settings, self.environ, self.stdout, self.stderr, pager)

    def _configured_color(self, config: Config) -> str:
        """Return `--color`, or the setting unless a variable of the environment decides."""
        decided = self.color_given or any(map(self.environ.get, COLOR_VARIABLES))
        return self.color if decided else config.find_color()

    def show(self, result: Result, *, options: ViewOptions | None = None) -> int:
        """Show a result as the options ask for, with the notes that were added, and return its exit code."""
        output = self._begin_output(options)
        output.show(result)
        self.committed = None
        return result.exit_code

    def stream(self, results: Iterable[Result], *, options: ViewOptions | None = None) -> int:
        """Print results as they are produced, after the notes that were added, and return 0."""
        output = self._begin_output(options)
        output.stream(results)
        self.committed = None
        return 0

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Add notes about the arguments of the command; they are written with its result, none if it fails."""
        self._notes = (*self._notes, *notes)

    def _begin_output(self, options: ViewOptions | None) -> Output:
        """Return the output, after the notes that were added were written to it."""
        output = self.output(options=options)
        for note in (*self._notes, *([dry_run_note()] if self.dry_run else [])):
            output.note(note)
        self._notes = ()
        return output

    def ask_name(self) -> str | None:
        """Ask a person at a terminal for a name, and keep it in the user's settings; None if it is known or not asked.

        Raises:
            Invalid: the name is too long.
        """
        if self.yes or self.json or not (self.interactive and self.stdout.isatty()):
            return None
        if self.config(optional=True).find_person():
            return None
        self.stderr.write("Your name, for the messages that you write [user]: ")
        self.stderr.flush()
        answer = self.stdin.readline()
        if not answer:  # the end of the input
            return None
        from scopes.conversation.store import set_setting
        from scopes.ids import parse_agent_name

        name: str = parse_agent_name(answer.strip() or "user")
        set_setting(None, self.home, "scopes.author", name, level="user")
        if self._repository is not None:
            self._repository.caller = self._repository.caller._replace(actor=self.actor or name)
        return name

    def confirm(self, question: str) -> None:
        """Ask the user to confirm an action that cannot be undone.

        Raises:
            Refused: the answer is no, or input is not possible.
        """
        if self.yes:
            return
        if not self.interactive:
            raise Refused(f"confirmation needed: {question}", hint="repeat the command with --yes")
        self.stderr.write(f"{question} [y/N] ")
        self.stderr.flush()
        if self.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise Refused("not confirmed; nothing was changed")


def dry_run_note() -> Note:
    """Return the note that a dry run has changed nothing."""
    from scopes.result import Note

    return Note("dry run: nothing was changed")


def _check_settings(settings: Iterable[str]) -> None:
    """Raise Invalid if a value of `-c` is no setting of scopes."""
    for setting in settings:
        key = setting.partition("=")[0]
        if not key:
            raise Invalid(f"-c {setting!a} has no key", hint="for example: -c scopes.durability=fast")
        if not key.lower().startswith("scopes."):
            hint = "of git, that is for one run: GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=KEY GIT_CONFIG_VALUE_0=VALUE"
            raise Invalid(f"-c is for settings of scopes, and {key!a} is none", hint=hint)
        from scopes.store.config import check_key  # with libgit2

        check_key(key, known=True)


def _change_directory(directory: str) -> None:
    try:
        os.chdir(directory)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"directory {directory!r} not found", hint="check the path after -C") from error
    except OSError as error:
        raise Inaccessible(f"cannot change to {directory!r}: {error.strerror}") from error


def _is_terminal(stream: object) -> bool:
    return hasattr(stream, "isatty") and bool(stream.isatty())
