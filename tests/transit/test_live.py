"""Real time: which run an update means, what it changes, and what is told of the rest."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.travel_planner.transit.decide import Transit, message_in, transit
from citywise.apps.travel_planner.transit.feed import read_feed
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.transit.timetable import Timetable
from tests.command import Folder
from tests.transit.networks import zipped
from tests.transit.oracle import Told, Update
from tests.transit.test_feed import BODY, small
from tests.transit.test_recorded import feed_of
from tests.transit.updates import written

MONDAY = {**BODY, "depart": "2024-03-25T09:00:00+01:00", "alternatives": 1000}
TEN = int(datetime.fromisoformat("2024-03-25T10:00:00+01:00").timestamp())


def asked(folder: Path, *changes: Update, time: int = TEN, **more: Any) -> dict[str, Any]:
    tables = small()
    tables["agency.txt"] = [["agency_id", "agency_timezone"], ["a", "Europe/Copenhagen"]]
    feed = zipped(folder / "feed.zip", tables)
    return transit({**MONDAY, **more}, [feed], None, [written(folder / "rt.pb", changes, time)])


def notes(answer: dict[str, Any], code: str) -> list[str]:
    return [note["message"] for note in answer["notes"] if note["code"] == code]


def late(seconds: int) -> Told:
    return Told(1, "s0", departure=(None, seconds))


def test_a_leg_has_its_live_and_its_planned_times(tmp_path: Path) -> None:
    answer = asked(tmp_path, Update("t1", "20240325", stops=(late(180),)))
    (leg,) = answer["routes"][0]["legs"]
    assert (leg["departs"][11:19], leg["arrives"][11:19]) == ("10:03:00", "10:08:00")
    assert [time[11:16] for time in leg["planned"].values()] == ["10:00", "10:05"]
    assert leg["realtime"] == "updated"


def test_a_cancelled_trip_is_not_ridden_that_day(tmp_path: Path) -> None:
    answer = asked(tmp_path, Update("t1", "20240325", "CANCELED"))
    assert answer["routes"] == []
    other = asked(tmp_path, Update("t1", "20240326", "CANCELED"))
    assert len(other["routes"]) == 1


@pytest.mark.parametrize(
    ("time", "arrival", "day"),
    [
        (TEN, None, "2024-03-25"),
        (TEN - 86_400 * 2, None, None),  # a Saturday, of which Monday is the nearest day
        (TEN + 3 * 3600, None, "2024-03-25"),
        (TEN, TEN + 86_400, None),
    ],
)
def test_without_a_date_the_nearest_run_is_meant(
    tmp_path: Path, time: int, arrival: int | None, day: str | None
) -> None:
    stop = Told(1, "s0", departure=(arrival, 60 if arrival is None else None))
    answer = asked(tmp_path, Update("t1", "", stops=(stop,)), time=time)
    is_late = answer["routes"][0]["departs"][11:16] == "10:01"
    assert is_late == (day == "2024-03-25" or time == TEN - 86_400 * 2)


def test_an_added_trip_runs_and_has_no_plan(tmp_path: Path) -> None:
    stops = (Told(None, "s0", departure=(TEN - 600, None)), Told(None, "s1", arrival=(TEN, None)))
    answer = asked(tmp_path, Update("extra", "", "ADDED", route="r9", stops=stops))
    (leg,) = answer["routes"][0]["legs"]
    assert (leg["trip"], leg["mode"], leg["planned"]["departs"]) == ("extra", "transit", None)


@pytest.mark.parametrize(
    ("update", "said"),
    [
        (Update("nobody", "20240325"), "trip 'nobody' is not in the timetable"),
        (Update("t1", "20240330"), "does not run on 2024-03-30"),
        (Update("t1", "soon"), "found the date 'soon'"),
        (Update("t1", "20240325", stops=(Told(7, ""),)), "has no call at stop '' (7)"),
        (Update("x", "", "ADDED", stops=(Told(None, "s0"), Told(None, "s1"))), "has no time"),
        (Update("x", "", "ADDED", stops=(Told(None, "moon"),)), "no feed has its stops"),
    ],
)
def test_what_cannot_be_applied_is_told_of(tmp_path: Path, update: Update, said: str) -> None:
    answer = asked(tmp_path, update)
    assert len(answer["routes"]) == 1
    assert said in " ".join(notes(answer, "realtime-fault"))


def test_old_data_are_said_to_be_old(tmp_path: Path) -> None:
    assert notes(asked(tmp_path, time=TEN - 7200), "realtime-age") != []
    assert notes(asked(tmp_path, time=TEN - 3600), "realtime-age") == []


def test_recorded_updates_fit_their_timetables(data_pack: Path) -> None:
    """Of BART's 91, 18 trips are not known, and one that is added has one stop."""
    for name, applied, faults in (("caltrain", 19, 0), ("bart", 72, 19)):
        timetable = Timetable([read_feed(feed_of(data_pack, name))])
        file = data_pack / "feeds" / "gtfs_rt" / f"{name}_trip_updates.pb"
        live = Transit(timetable, [message_in(file)]).live
        assert live is not None
        assert (live.applied, live.fault_count) == (applied, faults)
        unknown = [fault for fault in live.faults if "is not in the timetable" in fault]
        assert len(unknown) == max(0, faults - 1)


def test_an_alert_is_on_the_rides_that_it_is_about(data_pack: Path) -> None:
    timetable = Timetable([read_feed(feed_of(data_pack, "bart"))])
    alert = message_in(data_pack / "feeds" / "gtfs_rt" / "bart_alerts.pb")
    body = {"from": {"stop": "WCRK"}, "to": {"stop": "FRMT"}, "mode": "transit"}
    body["depart"] = "2019-03-05T17:00:00-08:00"
    answer = Transit(timetable, [alert]).answer(read(body), None)
    assert answer["alerts"][0]["effect"] == "SIGNIFICANT_DELAYS"
    assert answer["alerts"][0]["id"] in answer["routes"][0]["legs"][0]["alerts"]


def test_the_command_takes_real_time_beside_a_timetable(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    zipped(tmp_path / "feed.zip", small())
    folder.write("ask.json", json.dumps(BODY))
    folder.write("bad.pb", "no protobuf")
    written(tmp_path / "rt.pb", [Update("t1", "20240325", "CANCELED")])
    asking = ("decide", "travel", "ask.json")
    assert folder.run(*asking, "--gtfs-rt", "rt.pb").returncode == 2
    done = folder.run(*asking, "--gtfs", "feed.zip", "--gtfs-rt", "rt.pb")
    assert json.loads(done.stdout)["routes"] == []
    refused = folder.run(*asking, "--gtfs", "feed.zip", "--gtfs-rt", "bad.pb")
    assert (refused.returncode, "bad.pb: is no GTFS-Realtime" in refused.stderr) == (1, True)
