"""The configuration of hosts: the entry comes and goes, and everything else stays."""

from __future__ import annotations

import json
import os
import stat
import tomllib

import pytest

from scopes.errors import Inaccessible, Invalid, Refused
from scopes.hosts.agents import UserDirectories
from scopes.hosts.mcp_servers import HOSTS, find_host, install, path_of, remove

COMMAND = ["/opt/bin/scopes", "mcp"]
CODEX = '# mine\nmodel = "o4" # the best\n\n[mcp_servers.other]\ncommand = "x"\n'


@pytest.fixture
def home(tmp_path):
    return str(tmp_path)


def place(home, **environ):
    return UserDirectories(home, home, environ)


def file_of(host, home):
    return path_of(find_host(host), place(home))


def write(host, home, text):
    os.makedirs(os.path.dirname(file_of(host, home)), exist_ok=True)
    with open(file_of(host, home), "w", encoding="utf-8") as file:
        file.write(text)


def read(host, home):
    with open(file_of(host, home), encoding="utf-8") as file:
        return file.read()


def set_up(host, home, **options):
    return install(host, COMMAND, place(home), **options)


@pytest.mark.parametrize("host", HOSTS)
def test_the_entry_starts_the_program(host, home):
    assert set_up(host, home).state == "added"
    parse = tomllib.loads if host == "codex" else json.loads
    document = parse(read(host, home))
    entry = document
    for key in (*HOSTS[host].keys, "scopes"):
        entry = entry[key]
    command = entry["command"]
    assert (command if isinstance(command, list) else [command, *entry["args"]]) == COMMAND


@pytest.mark.parametrize("host", HOSTS)
def test_the_entry_is_not_added_twice(host, home):
    set_up(host, home)
    before = read(host, home)
    assert set_up(host, home).state == "unchanged"
    assert read(host, home) == before


@pytest.mark.parametrize("host", HOSTS)
def test_another_command_replaces_the_entry(host, home):
    install(host, ["/old/scopes", "mcp"], place(home))
    assert set_up(host, home).state == "replaced"
    assert "/old/" not in read(host, home)


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_is_written_to_show_the_entry(host, home):
    shown = set_up(host, home, only_show=True)
    assert shown.state == "shown"
    assert "/opt/bin/scopes" in shown.text
    assert not os.path.exists(file_of(host, home))


def test_other_settings_in_json_stay_and_the_old_file_is_kept(home):
    old = '{"z": 1.50, "mcpServers": {"other": {"command": "x"}}, "a": [1]}'
    write("claude-code", home, old)
    done = set_up("claude-code", home)
    document = json.loads(read("claude-code", home))
    assert list(document) == ["z", "mcpServers", "a"]
    assert list(document["mcpServers"]) == ["other", "scopes"]
    with open(done.backup, encoding="utf-8") as file:
        assert file.read() == old
    remove("claude-code", place(home))
    assert json.loads(read("claude-code", home)) == json.loads(old)


def test_comments_in_toml_stay(home):
    write("codex", home, CODEX)
    set_up("codex", home)
    assert read("codex", home).startswith(CODEX)
    assert remove("codex", place(home)).state == "removed"
    assert read("codex", home) == CODEX


def test_a_table_after_the_entry_stays(home):
    set_up("codex", home)
    with open(file_of("codex", home), "a", encoding="utf-8") as file:
        file.write('\n[profiles.x]\nmodel = "[mcp_servers.scopes]"\n')
    remove("codex", place(home))
    assert tomllib.loads(read("codex", home)) == {"profiles": {"x": {"model": "[mcp_servers.scopes]"}}}


@pytest.mark.parametrize(
    ("host", "text", "problem"),
    [
        ("vscode", "{\n  // mine\n}", "is not plain JSON"),
        ("gemini", '{"a": 1, "a": 2}', "a key is repeated"),
        ("gemini", '\ufeff{"a": 1}', "begins with a byte order mark"),
        ("gemini", "[]", "is not a JSON object"),
        ("gemini", '{"mcpServers": []}', "is not an object"),
        ("codex", "= 1", "is not valid TOML"),
        ("codex", "mcp_servers = 1", "is not a table"),
        ("codex", 'mcp_servers = {scopes = {command = "/x/scopes mcp"}}', "cannot be changed safely"),
        ("codex", "mcp_servers = {other = {}}", "cannot be changed safely"),
    ],
)
def test_a_file_that_would_lose_something_is_refused(home, host, text, problem):
    write(host, home, text)
    with pytest.raises(Refused, match=problem):
        set_up(host, home)
    assert read(host, home) == text


def test_the_permissions_of_the_file_stay(home):
    """A configuration may hold keys that nobody else may read."""
    write("claude-code", home, "{}")
    os.chmod(file_of("claude-code", home), 0o640)
    done = set_up("claude-code", home)
    for path in (file_of("claude-code", home), done.backup):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


def test_a_symbolic_link_stays_a_link(home, tmp_path):
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    os.symlink(target, file_of("claude-code", home))
    set_up("claude-code", home)
    assert os.path.islink(file_of("claude-code", home))
    assert "scopes" in target.read_text()


def test_a_directory_in_the_way_is_an_error_with_its_cure(home):
    with open(os.path.join(home, ".gemini"), "w", encoding="utf-8"):
        pass
    with pytest.raises(Inaccessible, match="cannot read") as error:
        set_up("gemini", home)
    assert "--dry-run" in error.value.hint


def test_what_is_not_there_is_not_removed(home):
    assert remove("codex", place(home)).state == "absent"
    assert remove("gemini", place(home)).state == "absent"
    assert os.listdir(home) == []


def test_an_unknown_host_is_refused_with_the_known_ones(home):
    with pytest.raises(Invalid) as error:
        set_up("emacs", home)
    assert "claude-code, codex" in error.value.hint


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_left_to_do_in_the_host_is_shown_once(host, home):
    assert ("trusted" if host == "vscode" else "start them again") in set_up(host, home).advice
    assert set_up(host, home).advice is None
    assert remove(host, place(home)).advice is None


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "codex"])
def test_the_advice_about_a_file_with_comments_is_one_that_can_be_followed(host, home):
    write(host, home, "{ // mine\n}")
    with pytest.raises(Refused) as error:
        remove(host, place(home))
    keys = ".".join((*HOSTS[host].keys, "scopes"))
    assert error.value.hint == f"remove it yourself: {keys} in {file_of(host, home)}"


@pytest.mark.parametrize("linked", [".vscode", ".vscode/mcp.json"])
def test_a_link_out_of_the_project_is_refused(tmp_path, linked):
    """A project may come from somebody else; a link in a home directory is the user's."""
    (tmp_path / "project" / linked).parent.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside" / ("" if linked == ".vscode" else "x.json"), tmp_path / "project" / linked)
    directories = UserDirectories(str(tmp_path), str(tmp_path / "project"), {})
    for change in (lambda: install("vscode", COMMAND, directories), lambda: remove("vscode", directories)):
        with pytest.raises(Refused, match="is outside of the project"):
            change()
    assert list((tmp_path / "outside").iterdir()) == []


OTHER = ["/opt/bin/scopes", "--store", "/other.git", "mcp"]


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "codex"])
def test_what_the_user_added_to_the_entry_stays_at_a_second_installation(host, home):
    set_up(host, home)
    document = json.loads(read(host, home))
    entry = document
    for key in (*HOSTS[host].keys, "scopes"):
        entry = entry[key]
    entry |= {"env": {"SCOPES_AUTHOR": "me"}, "timeout": 60}
    write(host, home, json.dumps(document))
    assert set_up(host, home).state == "unchanged"
    assert install(host, OTHER, place(home)).state == "replaced"
    text = read(host, home)
    assert "/other.git" in text
    assert '"SCOPES_AUTHOR": "me"' in text
    assert '"timeout": 60' in text


def test_what_the_user_added_is_not_shown(home):
    """A variable in the entry may be a key that nobody should read over a shoulder."""
    set_up("gemini", home)
    document = json.loads(read("gemini", home))
    document["mcpServers"]["scopes"]["env"] = {"KEY": "secret"}
    write("gemini", home, json.dumps(document))
    assert "secret" not in install("gemini", OTHER, place(home), only_show=True).text
    assert "secret" not in install("gemini", OTHER, place(home)).text


@pytest.mark.parametrize(
    "added",
    [
        'env = {A = "1"} # mine\n',
        "startup_timeout_sec = 30\n# a comment\n",
        '\n[mcp_servers.scopes.env]\nA = "1"\n',
    ],
)
def test_what_the_user_added_to_the_table_of_codex_stays(home, added):
    write("codex", home, CODEX)
    set_up("codex", home)
    write("codex", home, read("codex", home) + added)
    assert set_up("codex", home).state == "unchanged"
    assert install("codex", OTHER, place(home)).state == "replaced"
    text = read("codex", home)
    assert added in text
    assert tomllib.loads(text)["mcp_servers"]["scopes"]["args"] == OTHER[1:]
    assert text.startswith(CODEX)


def test_a_value_of_several_lines_in_the_table_of_codex_is_replaced_whole(home):
    set_up("codex", home)
    text = read("codex", home).replace('args = ["mcp"]', 'args = [\n  "mcp", # the command\n]\ncwd = "/tmp"')
    write("codex", home, text)
    install("codex", OTHER, place(home))
    entry = tomllib.loads(read("codex", home))["mcp_servers"]["scopes"]
    assert entry == {"command": OTHER[0], "args": OTHER[1:], "cwd": "/tmp"}


def test_a_table_below_that_of_codex_is_removed_with_it(home):
    write("codex", home, CODEX)
    set_up("codex", home)
    write("codex", home, read("codex", home) + '\n[mcp_servers.scopes.env]\nA = "1"\n')
    assert remove("codex", place(home)).state == "removed"
    assert tomllib.loads(read("codex", home)) == tomllib.loads(CODEX)


def test_a_date_that_the_user_added_does_not_keep_the_entry_from_being_removed(home):
    set_up("codex", home)
    write("codex", home, read("codex", home) + "since = 2026-11-26\n")
    assert remove("codex", place(home)).state == "removed"


def test_a_server_of_somebody_else_with_our_name_is_replaced_whole(home):
    """Its address would be used instead of our command: Gemini CLI prefers `httpUrl`."""
    write("gemini", home, '{"mcpServers": {"scopes": {"httpUrl": "https://example.org/mcp"}}}')
    done = set_up("gemini", home, force=True)
    assert done.state == "replaced"
    assert "httpUrl" not in read("gemini", home)
    with open(done.backup, encoding="utf-8") as file:
        assert "httpUrl" in file.read()


@pytest.mark.parametrize("host", HOSTS)
def test_the_file_from_before_the_first_installation_is_kept(host, home):
    old = CODEX if host == "codex" else '{"z": 1}'
    write(host, home, old)
    backup = set_up(host, home).backup
    install(host, OTHER, place(home))
    with open(backup, encoding="utf-8") as file:
        assert file.read() == old


@pytest.mark.parametrize("end", ['[profiles.x]\nmodel = "m"\n', ""])
@pytest.mark.parametrize("change", ["install", "remove"])
def test_comments_behind_our_table_in_toml_stay(home, end, change):
    comments = "# IMPORTANT: prod key below\n\n# and more\n"
    write("codex", home, f'[mcp_servers.scopes]\ncommand = "/old/scopes"\n# of ours\nargs = ["mcp"]\n\n{comments}{end}')
    done = set_up("codex", home) if change == "install" else remove("codex", place(home))
    assert comments + end in read("codex", home)
    with open(done.backup, encoding="utf-8") as file:
        assert "# of ours" in file.read()


def test_a_comment_behind_a_value_of_ours_is_in_the_kept_file(home):
    text = '[mcp_servers.scopes]\ncommand = "/old/scopes" # mine\nargs = ["mcp"]\n'
    write("codex", home, text)
    with open(set_up("codex", home).backup, encoding="utf-8") as file:
        assert file.read() == text


def test_a_server_of_the_user_with_our_name_is_kept_also_if_hooks_of_ours_are_in_the_file(home):
    hooks = {"AfterAgent": [{"hooks": [{"command": "/opt/scopes hooks run gemini"}]}]}
    text = json.dumps({"hooks": hooks, "mcpServers": {"scopes": {"command": "/mine/server", "args": ["x"]}}})
    for change in (
        lambda: set_up("gemini", home, force=True),
        lambda: remove("gemini", place(home), force=True),
    ):
        write("gemini", home, text)
        with open(change().backup, encoding="utf-8") as file:
            assert file.read() == text


def test_what_the_user_added_to_the_entry_is_in_a_file_that_is_kept_by_a_removal(home):
    set_up("claude-code", home)
    document = json.loads(read("claude-code", home))
    document["mcpServers"]["scopes"]["env"] = {"A": 1.50}
    write("claude-code", home, json.dumps(document).replace("1.5", "1.50"))
    removed = remove("claude-code", place(home))
    assert '"A": 1.50' in removed.text
    with open(removed.backup, encoding="utf-8") as file:
        assert '"A": 1.50' in file.read()


@pytest.mark.parametrize("host", HOSTS)
def test_the_entry_is_shown_whatever_is_in_the_file(host, home):
    """The error about a file with comments sends the user to --print."""
    write(host, home, "{ // mine [ = \n}")
    assert "/opt/bin/scopes" in set_up(host, home, only_show=True).text
    with pytest.raises(Refused, match=r"not (plain JSON|valid TOML)"):
        set_up(host, home)
