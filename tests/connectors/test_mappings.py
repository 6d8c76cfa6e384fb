"""A mapping file connects a format that no connector is for (docs/connectors.md)."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from citywise.backend.connect_commands import connect
from citywise.backend.connectors import Desk, Message, Refused, connector
from citywise.backend.connectors.mapping import Mapping, MappingError
from citywise.backend.machine import REPOSITORY
from tests.conftest import PACK
from tests.connectors.telling import folded, printed, told

AT = "2026-05-04T12:00:00Z"


def mapped(tmp_path: Path, mapping: str, message: str | bytes, *more: str) -> list[str]:
    (file := tmp_path / "map.toml").write_text(mapping, encoding="utf-8")
    body = message if isinstance(message, bytes) else message.encode()
    (sent := tmp_path / "message").write_bytes(body)
    topic = f"{more[0]}={sent}" if more else str(sent)
    return [told(one) for one in printed(str(file), topic, "--at", AT)[0]]


def test_json_by_jsonpath_with_a_topic_and_fixed_and_other_values(tmp_path: Path) -> None:
    mapping = """
        connector = "spaces"
        format = "json"
        topic = "lot/{lot}/state"
        [[observation]]
        kind = "parking"
        each = "$.spaces[?@.type == 'car']"
        sensor = "$.id"
        time = { from = "$.header.at", whole = true, form = "epoch" }
        fields.occupied = { from = "$.state", values = { free = 0, taken = 1 }, absent = ["?"] }
        fields.capacity = { value = 1 }
        extra.lot = { topic = "lot" }
    """
    message = """{"header": {"at": 1777885200}, "spaces": [
        {"id": "a", "type": "car", "state": "taken"}, {"id": "b", "type": "bus", "state": "free"},
        {"id": "c", "type": "car", "state": "?"}, {"type": "car", "state": "free"},
        {"id": "e", "type": "car", "state": "broken"}]}"""
    assert mapped(tmp_path, mapping, message, "lot/7/state") == [
        "parking a 2026-05-04T09:00:00Z occupied=1 capacity=1 +lot",
        "refused missing /spaces/2",
        "refused no-id /spaces/3",
        "refused number /spaces/4/state",
        "refused missing /spaces/4",
    ]
    assert mapped(tmp_path, mapping, message, "other/7") == ["unknown other/7"]


def test_csv_with_decimal_commas_missing_values_a_zone_and_a_point(tmp_path: Path) -> None:
    mapping = """
        connector = "csv"
        format = "csv"
        delimiter = ";"
        encoding = "iso-8859-1"
        [[place]]
        id = "Name"
        sensors = ["climate"]
        where = { geometry = "WKT", crs = "EPSG:25832" }
        [[observation]]
        kind = "climate"
        sensor = "Name"
        time = { from = ["Dag", "Tid"], form = "%d/%m/%Y %H.%M", zone = "Europe/Copenhagen" }
        fields.temperature_c = { from = "T", unit = "[degF]", comma = true, absent = [-200] }
        fields.wind_kmh = { from = "V", unit = "m/s", comma = true }
    """
    message = (
        "Name;WKT;Dag;Tid;T;V\n"
        'Århus;"POINT (413824.9 5317088.8)";04/05/2026;11.00;68,0;1.000,5\n'
        "B;POINT (1 x);04/05/2026;25.00;-200;2\n\n"
        "C;;04/05/2026;11.00;-200,0;2,25\n"
    ).encode("iso-8859-1")
    assert mapped(tmp_path, mapping, message) == [
        'place weather_station x_rhus-0b13af0c "x_rhus-0b13af0c" 7.84473,48.0013 climate',
        "refused number line 3",
        "refused no-geometry line 5",
        "refused range line 2",
        "climate x_rhus-0b13af0c 2026-05-04T09:00:00Z temperature_c=20",
        "refused time line 3",
        "climate C 2026-05-04T09:00:00Z wind_kmh=8.1",
    ]


TABLE = """
    connector = "table"
    format = "csv"
    [[place]]
    id = "Name"
    name = "Title"
    sensors = ["noise"]
    where = { lon = "x", lat = "y" }
    [[observation]]
    kind = "noise"
    sensor = "Name"
    time = "At"
    fields.level = "Level"
    extra.battery = "Volt"
"""


@pytest.mark.parametrize(
    ("columns", "made", "lacking"),
    [
        ("Name,Title,x,y,At,Level,Volt", ["place", "noise"], {}),
        ("Name,Title,x,y,At,Level,volt", ["place", "noise"], {"Volt": "`Level`, `volt`"}),
        ("Name,title,x,y,At,level,Volt", ["place"], {"Title": "`title`", "Level": "`level`"}),
        ("Name,Title,x,y,Time,Level,Volt", ["place"], {"At": "`Time`"}),  # else it were of now
        ("Name,Title,lon,y,At,Level,Volt", ["noise"], {"x": "`lon`"}),
    ],
)
def test_a_column_that_is_not_there_is_refused_by_name_with_those_there_are(
    columns: str, made: list[str], lacking: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "map.toml").write_text(TABLE, encoding="utf-8")
    reader = connector(str(tmp_path / "map.toml"), Desk())
    row = "n1,One,10,56,2026-05-04T09:00:00Z,60,3"
    found = reader.read(Message(f"{columns}\n{row}\n{row}\n".encode(), at_ms=1_777_885_200_000))
    refused = [one for one in found if isinstance(one, Refused)]
    others = [told(one.to_json()) for one in found if not isinstance(one, Refused)]
    assert sorted({line.split(" ")[0] for line in others}) == sorted(made)
    assert [(one.reason, one.at) for one in refused] == [("column", "line 1")] * len(lacking)
    for column, there in lacking.items():
        assert any(f"no column `{column}`" in one.said and there in one.said for one in refused)


def test_a_table_whose_columns_are_not_told_apart_says_why(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(TABLE, encoding="utf-8")
    reader = connector(str(tmp_path / "map.toml"), Desk())
    found = list(reader.read(Message(b"Name;Title;x;y;At;Level;Volt\n")))
    assert {one.reason for one in found if isinstance(one, Refused)} == {"column"}
    assert all(isinstance(one, Refused) and "is `delimiter` right?" in one.said for one in found)


@pytest.mark.parametrize("text", ["", "\n\n", ",,\n"])
def test_an_empty_table_is_one_refusal_whatever_columns_it_should_have(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "map.toml").write_text(TABLE, encoding="utf-8")
    (one,) = connector(str(tmp_path / "map.toml"), Desk()).read(Message(text.encode()))
    assert isinstance(one, Refused)
    assert (one.reason, one.at) == ("column", "line 1")
    assert "expected a first line that names the columns, `Name`, `At`" in one.said


def test_xml_by_xpath_with_namespaces_and_events(tmp_path: Path) -> None:
    mapping = """
        connector = "xml"
        format = "xml"
        namespaces = { w = "http://x.org/works" }
        [[event]]
        each = "//w:work[@state='on']"
        id = "@id"
        type = { value = "RoadWorks" }
        level = { from = "w:class", values = { big = 4, small = 2 } }
        where = { lon = "w:at/@lon", lat = "w:at/@lat" }
        start = "w:from"
        end = "w:to"
        name = "w:name"
    """
    message = """<a:all xmlns:a="http://x.org/works">
        <a:work id="1" state="on"><a:class>big</a:class><a:at lon="10" lat="56"/>
            <a:from>2026-05-04T08:00:00Z</a:from><a:name>Ny bro</a:name></a:work>
        <a:work id="2" state="on"><a:class>small</a:class><a:at lon="10" lat="56"/>
            <a:to>2026-05-04T12:00:00Z</a:to></a:work>
        <a:work id="3" state="off"/>
        <a:work id="4" state="on"><a:class>odd</a:class><a:at lon="10" lat="56"/></a:work>
        </a:all>"""
    assert mapped(tmp_path, mapping, message) == [
        'event 1 RoadWorks 4 2026-05-04T08:00:00Z Point "Ny bro"',
        "ended 2",
        "refused number /all//work[3]/w:class",
    ]


NOISE = """connector = "a"
format = "{form}"
[[observation]]
kind = "{kind}"
sensor = {sensor}
fields.{field} = "l"
{more}"""


def _noise(**more: str) -> str:
    usual = {"form": "csv", "kind": "noise", "sensor": '"s"', "field": "level", "more": ""}
    return NOISE.format(**{**usual, **more})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = ", "is no TOML"),
        ("format = 'json'", "`connector` is missing"),
        ('connector = "a"\nformat = "json"\n', "write [[observation]], [[place]] or [[event]]"),
        (_noise(form="yaml"), "`format`"),
        (_noise(more="colour = 1"), "`observation.0.colour`: there is no such key"),
        (_noise(kind="noice"), "there is no kind `noice`"),
        (_noise(field="loud"), "`fields.loud`: `noise` has level"),
        (_noise(form="json", sensor='"$[id"'), "`$[id` is no JSONPath"),
        (_noise(form="xml", sensor='"//["'), "`//[` is no XPath"),
        (_noise(sensor='{ from = "a", value = 1 }'), "give one of `from`, `value` and `topic`"),
        (_noise(more='time = { from = "t", zone = "Mars/X" }'), "expected one like Europe/Cop"),
    ],
)
def test_a_mapping_file_that_is_at_fault_says_what_to_write(
    text: str, says: str, tmp_path: Path
) -> None:
    (file := tmp_path / "m.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MappingError) as fault:
        connector(str(file), Desk())
    assert says in str(fault.value)
    assert str(file) in str(fault.value)


def test_a_name_that_is_no_connector_and_no_file_is_wrong_usage(tmp_path: Path) -> None:
    (file := tmp_path / "m").write_text("{}", encoding="utf-8")
    assert CliRunner().invoke(connect, ["try", "nothing", str(file)]).exit_code == 2
    assert CliRunner().invoke(connect, ["try", "cap", str(tmp_path / "none")]).exit_code == 2
    assert CliRunner().invoke(connect, ["try", "cap", str(file), "--at", "noon"]).exit_code == 2


CITIES = {
    "ulm": ("city_feeds/ulm_parking_spots.json", "parking pbg-b-elade-w-1-054 2025-04-11T07:09:27"),
    "freiburg": ("city_feeds/freiburg_garages_utm32.geojson", 'place garage P5 "Zur Unterführung"'),
    "bietigheim": ("city_feeds/bietigheim_bissingen.csv", "parking Parkplatz_M_hlwiesenstr."),
    "air-2004": ("city_feeds/air_quality_2004_semicolon.csv", "air_quality roadside 2004-03-10T17"),
}


@pytest.mark.parametrize("name", CITIES)
def test_the_mappings_of_the_documentation_read_what_they_are_for(
    name: str, tmp_path: Path
) -> None:
    page = (REPOSITORY / "docs" / "connectors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(connector = .*?)```", page, re.DOTALL)
    (block,) = [
        one for one in blocks if Mapping.model_validate(tomllib.loads(one)).connector == name
    ]
    file, begins = CITIES[name]
    if not (PACK / "feeds").is_dir():
        pytest.skip(f"no data pack in {PACK}; CITYWISE_DATA names its folder")
    (tmp_path / "map.toml").write_text(block, encoding="utf-8")
    reader = connector(str(tmp_path / "map.toml"), Desk())
    found = [
        told(one.to_json()) for one in reader.read(Message((PACK / "feeds" / file).read_bytes()))
    ]
    assert folded(found)[0].startswith(begins)
    assert sum(line.startswith("refused") for line in found) <= 2


def test_reference_systems_outlive_the_greenlet_that_first_asked_for_them() -> None:
    """PROJ's state is its thread's: another's, that had ended, crashed the process."""
    program = """
from gevent import monkey
monkey.patch_all()
import gc, gevent
from citywise.backend.connectors import mapped
for _ in range(30):
    gevent.spawn(mapped._point, 565000, 6223000, "x", "EPSG:25832").get()
    gc.collect(0)
print("well")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
