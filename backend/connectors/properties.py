"""What properties are called, in the formats that leave their names to people.

Names are compared without case, blanks and signs; a name that says that something else than the
air of a place was measured (a battery, water, soil) has no role.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ROLES = {
    "air_temperature": (
        "temperature", "temp", "airtemperature", "temperatur", "lufttemperatur", "temperaturec",
        "tempc", "ambienttemperature", "outdoortemperature", "temperatureair", "airtemp",
        "degc", "temperature0", "temperature1", "ta", "température",
        "temperatura", "temperatuur", "tc",
    ),
    "air_humidity": (
        "humidity", "relativehumidity", "rh", "hum", "airhumidity", "luftfeuchte",
        "relluftfeuchte", "luftfeuchtigkeit", "relativeluftfeuchte", "humiditypct",
        "relhumidity", "luftfugtighed", "humidity0", "humidity1",
        "relativehumidity0", "relativehumidity1", "relativeairhumidity",
    ),
    "air_pressure": (
        "pressure", "atmosphericpressure", "barometricpressure", "airpressure", "luftdruck",
        "barometer", "pressurehpa", "lufttryk", "barometricpressure0", "barometricpressure1",
        "barometer0", "barometer1",     ),
    "rain": (
        "rain", "rainfall", "precipitation", "rainmm", "niederschlag", "nedbør", "regen",
        "precipitationamount", "regenmenge", "niederschlagsmenge",
    ),
    "wind_speed": (
        "windspeed", "wind", "windkmh", "windgeschwindigkeit", "vindhastighed", "windspeedavg",
        "averagewindspeed",
    ),
    "sound_level": (
        "noise", "noiselevel", "soundlevel", "soundpressure", "laeq", "sound", "lautstärke",
        "soundpressurelevel", "sounddb", "noisedb", "schalldruck", "schalldruckpegel",
        "schallpegel", "lautstarke", "equivalentsoundlevel", "leq", "støjniveau", "noiseleq",
    ),
    "pm25": (
        "pm25", "pm2p5", "pm25ugm3", "particulatematter25", "pm25concentration", "feinstaubpm25",
        "mcpm25", "particulatematterpm25",
    ),
    "pm10": (
        "pm10", "pm100", "pm10ugm3", "particulatematter10", "pm10concentration", "feinstaubpm10",
        "mcpm10", "particulatematterpm10",
    ),
    "no2": ("no2", "nitrogendioxide", "no2concentration", "stickstoffdioxid"),
    "o3": ("o3", "ozone", "ozon", "o3concentration"),
    "so2": ("so2", "sulfurdioxide", "sulphurdioxide", "so2concentration", "schwefeldioxid"),
    "co": ("co", "carbonmonoxide", "coconcentration", "kohlenmonoxid"),
}  # fmt: skip
_BY_NAME = {name: role for role, names in _ROLES.items() for name in names}
_SIGNS = re.compile(r"[\W_]+")
_ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_CHANNEL = re.compile(r"[_ ]\d{1,2}$")
_SAYS_NOTHING = frozenset(
    ("air", "ambient", "average", "concentration", "current", "hourly", "mass", "mean", "measured",
     "measurement", "outdoor", "outside", "reading", "sensor", "value")
)  # fmt: skip
"""Words that leave a property what it is."""
_LONGEST = 200


@lru_cache(maxsize=2_000)
def role_of(name: str) -> str | None:
    """The role of a property of this name; None where nobody can tell.

    What stands in brackets, and the number of a channel (`temperature_2`), are no part of a name.
    """
    bare = _ASIDE.sub(" ", name[:_LONGEST]).strip().lower()
    for told in (bare, _CHANNEL.sub("", bare)):
        words = [word for word in re.split(r"[\s_]+", told) if word not in _SAYS_NOTHING]
        for found in (told, "".join(words)):
            if (role := _BY_NAME.get(_SIGNS.sub("", found))) is not None:
                return role
    return None
