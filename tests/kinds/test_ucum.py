"""The unit of a field is one of UCUM, or it is said what to write."""

from __future__ import annotations

import re

import pytest

from citywise.backend.kinds import builtin, files, ucum
from citywise.backend.kinds.ucum import NoUnitError
from citywise.backend.kinds.units import CODES_OF
from citywise.backend.machine import REPOSITORY
from citywise.reasoning import Finding

UNITS = """
    dB % Cel km/h ug/m3 {index} %{RH} hPa /min 1/min 10*3/ul kg.m/s2 J/(kg.K) [degF] cm[H2O]
    B[10.nV] [m/s2/Hz^(1/2)] kW.h W/m2 [in_i'Hg] '' KiBy [ppm] uS/cm dB{mW} m-1 10^-6
"""


@pytest.mark.parametrize("unit", UNITS.split())
def test_what_the_grammar_and_the_table_of_ucum_have_is_a_unit(unit: str) -> None:
    ucum.check(unit)


@pytest.mark.parametrize(
    ("unit", "part"),
    [
        ("furlong/x", "furlong"), ("m^2", "m^"), ("dB[mW]", "dB[mW]"), ("kmin", "kmin"),
        ("m//s", "/s"), ("m.", ""), ("", ""), ("(m", "(m"), ("m)", ")"), ("{", "{"),
        ("km h", "km h"), ("((((((((((((((((((((((((((((((((", ""),
    ],
)  # fmt: skip
def test_what_they_have_not_is_named(unit: str, part: str) -> None:
    with pytest.raises(NoUnitError) as raised:
        ucum.check(unit)
    assert raised.value.part == part


def test_every_unit_that_comes_along_or_is_converted_to_is_one() -> None:
    kinds = builtin()
    told = {about.unit for kind in kinds.described for about in kind.fields.values()}
    for path in [*(REPOSITORY / "docs").glob("*.md"), *(REPOSITORY / "examples").rglob("*.toml")]:
        told.update(re.findall(r'^unit = "([^"]+)"', path.read_text(encoding="utf-8"), re.M))
    for unit in {*told, *CODES_OF} - {None}:
        ucum.check(str(unit))


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("furlong/x", "`furlong` is none; what UCUM has no code for stands in braces, `{furlong}`"),
        ("°C", "write `Cel`"),
        ("kmh", "write `km/h`"),
        ("dB(A)", "write `dB`"),
        ("bit/ss", "`ss` is none"),
    ],
)
def test_the_check_of_a_kind_says_what_to_write_instead(unit: str, said: str) -> None:
    text = f"""kind = "noise"
places = ["noise_meter"]
[fields.level]
type = "decimal"
step = 0.1
unit = "{unit}"
"""
    findings: list[Finding] = []
    assert files.parse(text, "kind", findings) is None
    (found,) = findings
    assert (found.location.line, found.severity) == (6, "error")
    assert f'`fields.level.unit`: found "{unit}", expected a unit of UCUM' in found.message
    assert said in found.message
