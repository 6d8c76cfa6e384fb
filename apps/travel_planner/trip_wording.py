"""What proposals say of themselves: why there is one, and what it would change."""

from __future__ import annotations

from collections.abc import Mapping

LANGUAGES = ("en", "da")
_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "jam": "There is a traffic jam ahead: {about}, severity {level} of 5.",
        "accident": "There is an accident ahead: {about}, severity {level} of 5.",
        "obstruction": "The road is blocked ahead: {about}, severity {level} of 5.",
        "works": "There are road works ahead: {about}, severity {level} of 5.",
        "closure": "The road ahead is closed: {about}.",
        "weather": "There is bad weather on your route: {about}, severity {level} of 5.",
        "air": "The air on your route is poor: {about}, severity {level} of 5.",
        "crowd": "There are many people ahead: {about}, severity {level} of 5.",
        "other": "There is something ahead on your route: {about}, severity {level} of 5.",
        "traffic": "Conditions have changed: there is a better route now.",
        "off_route": "You have left your route. This is the best one from here.",
        "garage_full": "{about} is full.",
        "garage_filling": "{about} is nearly full.",
        "garage_closed": "{about} is closed.",
        "garage_unknown": "{about} has not reported its free places for a long time.",
        "trip_cancelled": "{about} is cancelled.",
        "change_missed": "Your change does not hold: {about} will have left.",
        "ride_missed": "You have missed {about}.",
        "drive_late": "The drive takes longer: {about} will have left.",
        "line_late": "{about} is late.",
        "travel": "A better route: {difference}",
        "parking": "Park at {name} instead: {difference}",
        "relaxed": "No route fits all your limits any more; this is the best one left.",
    },
    "da": {
        "jam": "Der er kø forude: {about}, alvor {level} af 5.",
        "accident": "Der er en ulykke forude: {about}, alvor {level} af 5.",
        "obstruction": "Vejen er spærret forude: {about}, alvor {level} af 5.",
        "works": "Der er vejarbejde forude: {about}, alvor {level} af 5.",
        "closure": "Vejen forude er lukket: {about}.",
        "weather": "Der er dårligt vejr på din rute: {about}, alvor {level} af 5.",
        "air": "Luften på din rute er dårlig: {about}, alvor {level} af 5.",
        "crowd": "Der er mange mennesker forude: {about}, alvor {level} af 5.",
        "other": "Der er noget forude på din rute: {about}, alvor {level} af 5.",
        "traffic": "Forholdene har ændret sig: der er en bedre rute nu.",
        "off_route": "Du har forladt din rute. Dette er den bedste herfra.",
        "garage_full": "{about} er fuldt.",
        "garage_filling": "{about} er næsten fuldt.",
        "garage_closed": "{about} er lukket.",
        "garage_unknown": "{about} har længe ikke meldt sine ledige pladser.",
        "trip_cancelled": "{about} er aflyst.",
        "change_missed": "Dit skift holder ikke: {about} er kørt.",
        "ride_missed": "Du har ikke nået {about}.",
        "drive_late": "Kørslen tager længere tid: {about} er kørt.",
        "line_late": "{about} er forsinket.",
        "travel": "En bedre rute: {difference}",
        "parking": "Parkér i stedet ved {name}: {difference}",
        "relaxed": "Ingen rute passer længere til alle dine grænser; dette er den bedste tilbage.",
    },
}
_KINDS: Mapping[str, str] = {
    "TrafficJam": "jam",
    "Accident": "accident",
    "Obstruction": "obstruction",
    "RoadWorks": "works",
    "RoadClosure": "closure",
    "CulturalEvent": "crowd",
    "SportsEvent": "crowd",
}
"""What the notices of the template `ahead` call the types of events that slow traffic down."""


def kind_of(event_type: str) -> str:
    """The kind of notice that tells of events of a type."""
    return _KINDS.get(event_type, "other")


def say(key: str, language: str, **values: object) -> str:
    """One sentence; in English where a language is not spoken."""
    return _TEXTS.get(language, _TEXTS["en"])[key].format(**values)
