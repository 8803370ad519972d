"""A day that --since or --until names is one of the user's time zone, as for git; JSON stays in UTC."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.importers.formats.claude_code.logs import Log

FIRST = "2026-03-01T10:00:00Z"  # of the session: on Kiritimati that is midnight, the beginning of the next day


@pytest.fixture
def session(tmp_path):
    log = Log()
    log.user("the login fails")
    path = tmp_path / "session.jsonl"
    path.write_bytes(log.data())
    done = scopes("import", str(path), table=PRODUCT)
    assert done.returncode == 0, done.stderr


def count(command, *options):
    done = scopes(*command.split(), *options, table=PRODUCT)
    assert done.returncode in {0, 1}, done.stderr
    return len(done.stdout.splitlines())


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("command", ["list", "log conv-001", "search login"])
@pytest.mark.parametrize(
    ("zone", "day", "others"),
    [
        ("UTC", "2026-03-01", ("2026-02-28", "2026-03-02")),
        ("Pacific/Kiritimati", "2026-03-02", ("2026-03-01", "2026-03-03")),
    ],
)
def test_a_day_is_one_of_the_time_zone(monkeypatch, command, zone, day, others):
    monkeypatch.setenv("TZ", zone)
    assert count(command, "--since", day, "--until", day) == 1
    assert [count(command, "--since", other, "--until", other) for other in others] == [0, 0]
    assert count(command, "--since", FIRST, "--until", FIRST) == 1


@pytest.mark.usefixtures("session")
def test_the_date_of_a_query_is_one_of_the_time_zone_and_json_is_in_utc(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    assert count("search", "login after:2026-03-02") == 1
    assert count("search", "login after:2026-03-03") == 0
    (line,) = scopes("log", "conv-001", "--json", table=PRODUCT).stdout.splitlines()
    assert json.loads(line)["time"].startswith("2026-03-01T10:00:00")
