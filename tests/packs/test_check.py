"""What `check` finds in an app: each fault at its place, with what to write instead."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from citywise.backend.packs import ontology
from citywise.backend.packs.check import check_pack, checked
from citywise.backend.packs.manifest import PackError
from citywise.backend.packs.ontology import local_name
from citywise.backend.packs.parameters import ClassParameter
from citywise.reasoning import budget
from citywise.reasoning.limits import Limits
from tests.packs.folders import MANIFEST, AppFolder


def test_a_sound_app_has_no_findings(app: AppFolder) -> None:
    assert app.findings() == []
    assert checked(app.path).name == "jam_watch"


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            'title = "Jam watch"',
            'titel = "Jam watch"',
            "app.toml:3:1: error unknown-key: `titel`: no such key; did you mean `title`?",
        ),
        (
            'text = "',
            'hint = "',
            "no such key; there are title, text",
        ),
        (
            'title = "Jams on my way"',
            'title = "Jams on my way"\nhlep = "?"',
            (
                "app.toml:10:1: error unknown-key: `templates.jam_ahead.hlep`: no such key; "
                "did you mean `help`?"
            ),
        ),
        (
            'title = "Jam watch"\n',
            "",
            "app.toml:1:1: error missing-key: `title` is missing; add `title = …`",
        ),
        (
            "unit =",
            "units =",
            (
                "app.toml:13:1: error unknown-key: `templates.jam_ahead.parameters.radius.units`: "
                "no such key; did you mean `unit`?"
            ),
        ),
        (
            'type = "number"',
            'type = "numbr"',
            (
                "app.toml:12:1: error type: `templates.jam_ahead.parameters.radius.type`: "
                'found "numbr", '
                "expected one of number, choice, place, sensor, route, area, duration, "
                "time_of_day, time_span, user, class, text; did you mean `number`?"
            ),
        ),
        (
            'type = "number"\n',
            "",
            (
                "app.toml:11:2: error missing-key: `templates.jam_ahead.parameters.radius.type` is "
                "missing; give one of number, choice,"
            ),
        ),
        (
            "default = 300",
            'default = "300"',
            (
                "app.toml:17:1: error default: templates.jam_ahead.parameters.radius.default: "
                'found "300", expected a whole number from 50 to 1000 in steps of 50 (m); write it '
                "without quotes"
            ),
        ),
        ("default = 300", "default = 2000", "the nearest is 1000"),
        ("min = 50", "min = 5000", "app.toml:11:2: error value:"),
        (
            'streams = ["events"]',
            'streams = ["event"]',
            'app.toml:4:1: error value: `streams.0`: found "event", expected one of events, ',
        ),
        ("version = 1\n", "version = 0\n", "app.toml:8:1: error value:"),
        ('version = "1.0.0"', 'version = "1"', "app.toml:2:1: error value:"),
        (
            'name = "jam_watch"',
            'name = "jams"',
            (
                "app.toml:1:1: error name: `name` is `jams` but the folder is `jam_watch`; call "
                "both the same"
            ),
        ),
        (
            "title = ",
            "title ",
            "app.toml:3:7: error syntax: Expected '=' after a key in a key/value pair",
        ),
        ("min = 50", "min =", "14:6: error syntax: `min` has no value; write one behind the `=`"),
        (
            '"Jam watch"',
            "Jam watch",
            (
                "app.toml:3:9: error syntax: `title`: Jam watch is no value; put text in quotes: "
                '`title = "Jam watch"`'
            ),
        ),
        (
            "min = 50",
            'unit = "m"',
            "app.toml:14:11: error syntax: `unit` has a value already; keep one of the two",
        ),
        (
            "[notices",
            "[templates.jam_ahead]\n[notices",
            "error syntax: the table [templates.jam_ahead] stands twice; put the keys of both",
        ),
        (
            'name = "jam_watch"',
            'name = "Jam-Watch"',
            (
                'app.toml:1:1: error value: `name`: found "Jam-Watch", expected a name of '
                "lower-case letters, digits and `_`"
            ),
        ),
        (
            "min = 50",
            'min = "50"',
            (
                "app.toml:14:1: error value: `templates.jam_ahead.parameters.radius.min`: found "
                '"50", expected a number; write it without quotes'
            ),
        ),
        (
            'type = "number"',
            'type = "garage"',
            (
                '`templates.jam_ahead.parameters.radius.type`: found "garage"; write '
                '`type = "place"` and `kind = "garage"`'
            ),
        ),
        (
            "title",
            'requests = ["requests/x.casp"]\ntitle',
            "error file: `requests`: there is no file `requests/x.casp` in the app",
        ),
        (
            "title",
            'requests = ["../x.casp"]\ntitle',
            "3:1: error file: `requests`: `../x.casp` is outside of the app's folder; copy",
        ),
        (
            "title",
            'ontology = "../own.ttl"\ntitle',
            "3:1: error file: `ontology`: `../own.ttl` is outside of the app's folder; copy the",
        ),
        (
            "title",
            'ontology = "own.ttl"\ntitle',
            "own.ttl:1:1: error file: there is no file",
        ),
        (
            "parameters.radius]",
            "parameters.distance]",
            (
                "app.toml:11:2: error name: `distance` is a predicate of the framework; rename the "
                "parameter"
            ),
        ),
        (
            "{metres} m",
            "{meters} m",
            (
                "app.toml:22:1: error unknown-detail: `notices.jam_ahead.text` names the detail "
                "{meters}, which no rule gives; there are {about}, {metres}"
            ),
        ),
        (
            "[notices.jam_ahead]",
            '[notices.other]\ntitle = "Other"\n\n[notices.jam_ahead]',
            "app.toml:20:2: warning unused-notice: no rule concludes a notice of kind `other`",
        ),
        (
            "[notices.jam_ahead]",
            "[notices.jams_ahead]",
            (
                'templates/jam_ahead.casp:4:16: error notice-kind: "jam_ahead" is no kind of '
                "notice in app.toml; did you mean `jams_ahead`?"
            ),
        ),
    ],
)
def test_faults_of_the_manifest_stand_at_their_keys(
    app: AppFolder, old: str, new: str, finding: str
) -> None:
    text = MANIFEST.replace(old, new, 1)
    assert text != MANIFEST
    app.write("app.toml", text)
    assert any(finding in found for found in app.findings()), app.findings()


def test_what_the_apps_python_tells_needs_no_rule(app: AppFolder) -> None:
    own = '[notices.noon]\nby = "code"\ntitle = "Noon"\ntext = "{about} at {clock}"\n\n'
    app.write("app.toml", MANIFEST.replace("[notices.jam_ahead]", f"{own}[notices.jam_ahead]", 1))
    assert app.findings() == []


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            "near_route(",
            "near_rout(",
            (
                "4:56: error unknown-predicate: nothing supplies `near_rout/3`; did you mean "
                "`near_route`?"
            ),
        ),
        (
            "near_route(Me,Jam,R)",
            "roundabout(Me,Jam,R)",
            (
                "nothing supplies `roundabout/3`; no rule, parameter, knowledge base or stream "
                "does; see the list in docs/apps.md"
            ),
        ),
        (
            "near_route(Me,Jam,R)",
            "near_route(Me,Jam)",
            (
                "4:56: error arity: `near_route/2` has the wrong number of arguments; write "
                "`near_route(Me,X,Radius)`"
            ),
        ),
        (
            "radius(Me,R)",
            "radius(Me,R,_)",
            (
                "4:42: error arity: `radius/3` has the wrong number of arguments; write "
                "`radius(Me,Value)`"
            ),
        ),
        (
            "radius(Me,R), near_route(Me,Jam,R)",
            "near_route(Me,Jam,300)",
            (
                "1:1: warning unread-parameter: no rule reads the parameter `radius`; use it or "
                "remove it from app.toml"
            ),
        ),
        (
            "near_route(Me,Jam,R)",
            "near_route(Me,Jam,S)",
            (
                "error radius: `near_route`: the radius S must be a number, or the value of a "
                "parameter with unit m"
            ),
        ),
        (
            "ev_TrafficJam",
            "ev_TraficJam",
            (
                '5:22: error unknown-term: "ev_TraficJam": '
                "<https://w3id.org/citywise/event#TraficJam> is no term of the "
                "ontologies; did you mean `TrafficJam`?"
            ),
        ),
        (
            "ev_level(Jam",
            "ev_lvel(Jam",
            (
                "error unknown-property: <https://w3id.org/citywise/event#lvel> is no property of "
                "the ontologies; did you mean `level`?"
            ),
        ),
        (
            "ev_level(Jam",
            "ev_confirmed(Jam",
            (
                "error unknown-predicate: nothing supplies `ev_confirmed/2`: the framework does "
                "not tell <https://w3id.org/citywise/event#confirmed>"
            ),
        ),
        (
            "ahead(Me,Jam,M)",
            "near_me(Me,Jam,50), distance(Me,Jam,M), ctx_activity(Me,_)",
            "error unknown-predicate: nothing supplies `ctx_activity/2`",
        ),
        (
            "ahead(Me,Jam,M)",
            "place(Jam,_), ahead(Me,Jam,M)",
            'error stream: `place` needs the stream "places"; add it to `streams` in app.toml',
        ),
        (
            "ahead(Me,Jam,M)",
            'preference(Me,"quiet",M)',
            (
                'error permission: `preference` needs the permission "preferences"; add it to '
                "`permissions` in app.toml"
            ),
        ),
        (
            "ahead(Me,Jam,M)",
            'during(Me,"morning"), ahead(Me,Jam,M)',
            (
                'error unknown-parameter: "morning" is no parameter of type time_span here (there '
                "is: none); declare it in app.toml"
            ),
        ),
        (
            "radius(Me,R)",
            "radius(Me,r), radius(Me,R)",
            (
                "4:52: error bare-word: `radius` is never true of `r`: write a variable with a "
                'capital (`R`), or a text in quotes (`"r"`)'
            ),
        ),
        (
            "(r2)",
            "(r3) ahead(Me,X,1) :- near_route(Me,X,50).\n(r2)",
            "error supplied-predicate: `ahead/3` is told by the framework; a rule cannot conclude",
        ),
        (
            "(r2)",
            "(r3) radius(Me,X) :- near_route(Me,X,50).\n(r2)",
            "error supplied-predicate: `radius/2` is a parameter; a rule cannot conclude it",
        ),
        (
            'notice(Me,"jam_ahead",Jam,Level) :-',
            'notice(Me,"jam_ahead",Jam) :-',
            (
                "error arity: `notice/3` has the wrong number of arguments; write "
                "`notice(Me,Kind,About,Criticality)`"
            ),
        ),
        (
            'notice(Me,"jam_ahead",Jam,Level) :-',
            "notice(Me,jam_ahead,Jam,Level) :-",
            'error notice-kind: `notice`: the kind jam_ahead is no string; write "jam_ahead"',
        ),
        (
            'notice(Me,"jam_ahead",Jam,Level) :-',
            'notice(Me,"jam_ahead",Jam,7) :-',
            "4:32: error criticality: the criticality 7 is not from 1 to 5",
        ),
        (
            'notice(Me,"jam_ahead",Jam,Level) :-',
            'told(Me,"jam_ahead",Jam,Level) :-',
            "1:1: error no-notice: the template concludes no notice",
        ),
        (
            "(r1)",
            "#from stream <https://w3id.org/citywise/stream/traffic> [time 10m step 1m].\n(r1)",
            '4:1: error stream: the window needs the stream "traffic"; add it to `streams`',
        ),
        (
            "(r1)",
            "#from stream <https://w3id.org/citywise/stream/trafic> [time 10m step 1m].\n(r1)",
            "error stream: there is no stream <https://w3id.org/citywise/stream/trafic>; there are",
        ),
        ("(r1)", "#from <effects.ttl>.\n(r1)", "4:1: error knowledge: there is no file"),
        (
            "(r1)",
            "#show ahead/3.\n(r1)",
            "4:1: error directive: `#show ahead/3`: a template shows `notice/4`, `detail/5`, ",
        ),
        (
            "(r1)",
            "#feedback passed/2.\n(r1)",
            "4:1: error directive: `#feedback passed/2`: a template remembers what its rules",
        ),
        ("(r1)", "#show X : passed(X,_).\n(r1)", "error directive: a template shows no terms"),
        (
            "(r2)",
            '(r3) notice("alice.jams","jam_ahead",1,1) :- weekday(1).\n(r2)',
            '6:13: error instance: `notice` is about "alice.jams"; its first argument is the',
        ),
        ("Level) :-", "Level :-", "4:12: error bracket: `(` is not closed"),
        (
            "near_route(Me,Jam,R)",
            "near_route(Me,Jam,R), user(Other,_), Other != Me",
            "1:1: warning not-local: line 4 reads `user(Other,_)` of everybody",
        ),
    ],
)
def test_faults_of_the_rules_stand_at_their_atoms(
    app: AppFolder, old: str, new: str, finding: str
) -> None:
    app.rules(old, new)
    assert any(
        finding in found and found.startswith("templates/jam_ahead.casp:")
        for found in app.findings()
    ), app.findings()


def test_a_template_without_rules_is_found(app: AppFolder) -> None:
    (app.path / "templates" / "jam_ahead.casp").unlink()
    (found,) = app.findings()
    assert found == (
        "app.toml:7:2: error file: there is no file `templates/jam_ahead.casp`; write the "
        "template's rules there"
    )


def test_all_faults_are_found_at_once(app: AppFolder) -> None:
    app.manifest('title = "How near"', 'tilte = "How near"')
    app.manifest('version = "1.0.0"', 'version = "new"')
    codes = [re.search(r"error ([\w-]+)", found)[1] for found in app.findings()]
    assert codes == ["value", "missing-key", "unknown-key"]


def test_an_unknown_predicate_is_told_once(app: AppFolder) -> None:
    app.rules("near_route(Me,Jam,R)", "near_rout(Me,Jam,R), not near_rout(Me,Jam,1)")
    assert len([found for found in app.findings() if "near_rout/3" in found]) == 1


def test_a_choice_that_there_is_not_is_found_in_rules(app: AppFolder) -> None:
    app.manifest(
        "[notices",
        '[templates.jam_ahead.parameters.mood]\ntype = "choice"\nchoices = ["calm", "hasty"]\n'
        'title = "Mood"\n[notices',
    )
    app.rules("radius(Me,R)", 'mood(Me,"clam"), radius(Me,R)')
    (found,) = app.findings()
    assert found.endswith('unknown-choice: `mood` is never "clam"; did you mean `calm`?')


def test_an_app_may_bring_its_own_terms(app: AppFolder) -> None:
    app.manifest("streams =", 'ontology = "own.ttl"\nstreams =')
    app.write(
        "own.ttl",
        "@prefix own: <https://example.org/own#> .\n"
        "@prefix ev: <https://w3id.org/citywise/event#> .\n"
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "own:Parade a owl:Class ; rdfs:subClassOf ev:PublicEvent .\n",
    )
    app.rules("#prefix ev ", "#prefix own : <https://example.org/own#>.\n#prefix ev ")
    app.rules('"ev_TrafficJam"', '"own_Parade"')
    assert app.findings() == []
    above = map(local_name, app.template().above("https://example.org/own#Parade"))
    assert {"Parade", "PublicEvent", "CityEvent"} <= set(above)
    app.rules('"own_Parade"', '"own_Prade"')
    assert "did you mean `Parade`?" in app.findings()[0]


KIND = """
[templates.jam_ahead.parameters.kind]
type = "class"
of = "ev:CityEvent"
choices = ["ev:TrafficJam", "Fog"]
default = "TrafficJam"
title = "Kind"

[notices"""


def test_classes_of_a_parameter_are_those_of_the_ontologies(app: AppFolder) -> None:
    app.manifest("\n[notices", KIND)
    app.rules('rdf_type(Jam,"ev_TrafficJam")', "rdf_type(Jam,Kind), kind(Me,Kind)")
    assert app.findings() == []
    kind = app.template().parameters["kind"]
    assert isinstance(kind, ClassParameter)
    assert [local_name(iri) for iri in kind.choices] == ["TrafficJam", "Fog"]
    assert kind.default == kind.choices[0]
    app.manifest('choices = ["ev:TrafficJam", "Fog"]\n', "")
    every = app.template().parameters["kind"]
    assert isinstance(every, ClassParameter)
    assert {"CityEvent", "Accident"} <= {local_name(iri) for iri in every.choices}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "ev:CityEvent",
            "ev:CityEvnt",
            (
                "error unknown-class: `templates.jam_ahead.parameters.kind.of`: `ev:CityEvnt` is "
                "no class of the ontologies"
            ),
        ),
        (
            '"Fog"',
            '"Frog"',
            (
                "error unknown-class: `templates.jam_ahead.parameters.kind.choices`: `Frog` is not "
                "`ev:CityEvent` nor a class below it"
            ),
        ),
        ("ev:CityEvent", "ev:WeatherEvent", "`ev:TrafficJam` is not `ev:WeatherEvent` nor"),
    ],
)
def test_a_class_that_there_is_not_is_found(app: AppFolder, old: str, new: str, said: str) -> None:
    app.manifest("\n[notices", KIND.replace(old, new))
    assert any(said in found for found in app.findings()), app.findings()


SETTING = '\n[settings.least]\ntype = "number"\ntitle = "Least level"\ndefault = 2\n\n[notices'


def test_a_setting_holds_for_all_instances(app: AppFolder) -> None:
    app.manifest("\n[notices", SETTING)
    app.rules("ev_level(Jam,Level)", 'ev_level(Jam,Level), setting("least",L), Level >= L')
    assert app.findings() == []
    assert app.template().knowledge == ('setting("least",2)',)
    assert [str(s) for s in app.template().supplied] == ["setting/2"]
    app.rules('"least"', '"lest"')
    (found,) = app.findings()
    assert found.endswith('unknown-setting: there is no setting "lest"; did you mean `least`?')


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("default = 2\n", "", "`settings.least`: a setting needs a `default`, which is its value"),
        ('type = "number"', 'type = "area"', "`settings.least`: a setting cannot be of type area"),
        ("default = 2", "defalt = 2", "`settings.least.defalt`: no such key; did you mean"),
    ],
)
def test_a_setting_has_a_value(app: AppFolder, old: str, new: str, said: str) -> None:
    text = SETTING.replace(old, new)
    assert text != SETTING
    app.manifest("\n[notices", text if "area" not in text else text.replace("default = 2\n", ""))
    assert any(said in found for found in app.findings()), app.findings()


def test_a_knowledge_base_supplies_its_predicates(app: AppFolder) -> None:
    app.rules("(r1)", "#from <effects.ttl>.\n(r1)")
    app.rules("ev_level(Jam,Level)", 'ev_level(Jam,Level), ctx_affects("ev_TrafficJam",_)')
    app.rules("#prefix ev ", "#prefix ctx : <https://w3id.org/citywise/context#>.\n#prefix ev ")
    app.write(
        "templates/effects.ttl",
        "<https://w3id.org/citywise/event#TrafficJam>\n"
        "  <https://w3id.org/citywise/context#affects>\n"
        "  <https://w3id.org/citywise/context#DrivingCar> .\n",
    )
    assert app.findings() == []
    assert app.template().knowledge == ('ctx_affects("ev_TrafficJam","ctx_DrivingCar")',)
    assert [str(s) for s in app.template().supplied] == ["ctx_affects/2"]


PREFIXES = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n@prefix e: <http://e/> .\n"
CIRCLE = PREFIXES + "".join(f"e:c{n} rdfs:subClassOf e:c{(n + 1) % 500} .\n" for n in range(500))
LISTS = PREFIXES + "".join(f"e:a{n} e:p (1 2 3), [ e:q 'x' ] .\n" for n in range(20_000))


def test_knowledge_that_takes_too_long_to_read_is_a_finding(
    app: AppFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a start, such an app is left out, or its author is told."""
    monkeypatch.setattr(budget, "limits", lambda: Limits(seconds=0.3), raising=False)
    app.rules("(r1)", "#from <circle.ttl> [rdfs].\n(r1)")
    app.write("templates/circle.ttl", CIRCLE)
    found = "\n".join(app.findings())
    assert "jam_ahead.casp:1:1: error limit: reading " in found
    assert "circle.ttl, and what follows from it, was stopped: it took more than 0.3 s" in found
    with pytest.raises(PackError, match=r"circle\.ttl"):
        checked(app.path)


def test_an_ontology_that_takes_too_long_to_read_is_a_finding(
    app: AppFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "limits", lambda: Limits(seconds=0.3), raising=False)
    app.write("terms.ttl", LISTS)
    app.manifest('title = "Jam watch"', 'title = "Jam watch"\nontology = "terms.ttl"')
    (found,) = app.findings()
    assert "app.toml:4:1: error limit: reading " in found
    assert "terms.ttl was stopped: it took more than 0.3 s" in found


def test_an_ontology_that_takes_too_long_to_understand_is_a_finding(
    app: AppFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies above each of many classes is looked for in a loop of Python, which takes far
    longer than to read them."""
    monkeypatch.setattr(budget, "limits", lambda: Limits(seconds=1), raising=False)
    lines = "".join(
        f"<c{n}> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <c{n + 1}> ; "
        "a <http://www.w3.org/2002/07/owl#Class> .\n"
        for n in range(3000)
    )
    monkeypatch.setattr(ontology, "limited", lambda work, *_given: work(), raising=False)
    app.write("terms.ttl", lines)
    app.manifest('title = "Jam watch"', 'title = "Jam watch"\nontology = "terms.ttl"')
    (found,) = app.findings()
    assert found.startswith("app.toml:1:1: error limit: ")
    assert found.endswith("was stopped: it took more than 1 s (--time-limit)")
    with pytest.raises(PackError, match="was stopped"):
        checked(app.path)


def test_a_knowledge_base_that_is_too_large_to_travel_is_refused(app: AppFolder) -> None:
    app.rules("(r1)", "#from <big.lp>.\n(r1)")
    app.rules("ev_level(Jam,Level)", "ev_level(Jam,Level), big(_,_)")
    facts = (f'big({n},"{"x" * 1000}").\n' for n in range(1001))
    app.write("templates/big.lp", "".join(facts))
    (found,) = app.findings()
    assert "error knowledge-size: the knowledge bases <big.lp> give 1,0" in found
    assert "a template may have 1,000,000" in found


def test_translations_are_compared_with_the_texts(app: AppFolder) -> None:
    texts = {
        "title": "Køvagt",
        "templates.jam_ahead.title": "Køer på min vej",
        "templates.jam_ahead.parameters.radius.titel": "Hvor nær",
        "notices.jam_ahead.title": "Kø forude",
        "notices.jam_ahead.text": "{about} om {meter} m",
    }
    app.write("strings/da.json", json.dumps(texts, indent=1, ensure_ascii=False))
    assert app.findings() == [
        (
            "strings/da.json:1:1: warning untranslated: no translation of "
            "`templates.jam_ahead.parameters.radius.title`"
        ),
        (
            "strings/da.json:4:2: error unknown-string: "
            "`templates.jam_ahead.parameters.radius.titel` names no text of the app; "
            "did you mean `templates.jam_ahead.parameters.radius.title`?"
        ),
        (
            "strings/da.json:6:2: error unknown-detail: `notices.jam_ahead.text` names the detail "
            "{meter}, which no rule gives; there are {about}, {metres}"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"title": 5}', "1:1: error strings: `title` holds no text"),
        ("[]", "1:1: error strings: found no object"),
        ('{"title": }', "1:11: error strings: Expecting value"),
        (
            '{"title": "A", "title": "B"}',
            "1:1: error strings: the key `title` comes twice;",
        ),
    ],
)
def test_a_file_of_strings_is_one_object_of_texts(app: AppFolder, text: str, said: str) -> None:
    app.write("strings/da.json", text)
    (found,) = app.findings()
    assert found.startswith(f"strings/da.json:{said}")


def test_files_of_strings_are_called_after_languages(app: AppFolder) -> None:
    app.write("strings/dansk.json", "{}")
    app.write("strings/pt-BR.json", "{}")
    (found,) = app.findings()
    assert found.startswith("strings/dansk.json:1:1: error strings: `dansk` is no language")


def test_a_brace_that_encloses_no_name_is_found(app: AppFolder) -> None:
    app.manifest('"{about} in {metres} m"', '"{about in {metres} m"')
    app.write("strings/da.json", '{"notices.jam_ahead.title": "Kø} forude"}')
    found = [line for line in app.findings() if "error brace" in line]
    cure = "a brace stands alone; write {name} where the value of a detail belongs"
    assert found == [
        f"app.toml:22:1: error brace: `notices.jam_ahead.text`: {cure}",
        f"strings/da.json:1:2: error brace: `notices.jam_ahead.title`: {cure}",
    ]


def test_a_bracket_that_encloses_no_part_is_found(app: AppFolder) -> None:
    app.manifest('"{about} in {metres} m"', '"{about}[ in {metres} m"')
    app.write("strings/da.json", '{"notices.jam_ahead.text": "{about}[ om {meters} m]"}')
    found = [line for line in app.findings() if " error " in line]
    assert [line.split("`")[0] for line in found] == [
        "app.toml:22:1: error brace: ",
        "strings/da.json:1:2: error unknown-detail: ",
    ]
    assert "write […] around what is to be left out" in found[0]


def test_expectations_of_no_scenario_are_found(app: AppFolder) -> None:
    app.write("scenarios/first.jsonl", '{"t": "2026-05-04T06:00:00Z"}')
    app.write("scenarios/first.expected.jsonl", "")
    app.write("scenarios/frist.expected.jsonl", "")
    (found,) = app.findings()
    assert found.startswith("scenarios/frist.expected.jsonl:1:1: warning no-scenario: there is no")


def test_a_template_that_the_manifest_does_not_mention_is_found(app: AppFolder) -> None:
    app.write("templates/other.casp", "p.\n")
    (found,) = app.findings()
    assert "`app.toml` does not mention this template; add [templates.other]" in found


def test_requests_of_an_app_are_checked_too(app: AppFolder) -> None:
    app.manifest("streams =", 'requests = ["requests/x.casp"]\nstreams =')
    app.write("requests/x.casp", "p(X) :- q(Y).\n")
    assert any("requests/x.casp:1:" in found for found in app.findings())


def test_a_folder_without_a_manifest_is_no_app(tmp_path: Path) -> None:
    (found,) = check_pack(tmp_path)
    assert found.message == "No such file or directory; an app is a folder with a file app.toml"


def test_an_app_with_errors_is_not_handed_out_and_says_them_all(app: AppFolder) -> None:
    app.rules("near_route(", "near_rout(")
    with pytest.raises(PackError) as caught:
        checked(app.path)
    assert "is no sound app:" in str(caught.value)
    assert "did you mean `near_route`?" in str(caught.value)


def test_a_decimal_that_is_compared_without_a_scale_is_an_error(app: AppFolder) -> None:
    app.manifest('["events"]', '["events", "weather"]')
    prefix = "#prefix city : <https://w3id.org/citywise/city#>.\n"
    rule = 'notice(Me,"jam_ahead",P,3) :- radius(Me,R), near_route(Me,P,R), city_temperature(P,T)'
    app.rules("(r1)", f"{prefix}{rule}, T > 20.\n(r1)")
    found = [str(finding) for finding in check_pack(app.path)]
    assert any(" error scale: `city_temperature` has decimals" in line for line in found)
    app.rules(prefix, f"{prefix}#scale city_temperature 10.\n")
    assert not [line for line in map(str, check_pack(app.path)) if " error " in line]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("radius(Me,R), R*2147483 > 1", None),  # at most 1000
        (
            "radius(Me,R), R*2147484 > 1",
            "`R*2147484` fits 32 bits only while `R` is at most 999 (`R` goes from 50 to 1000)",
        ),
        ("city_averageSpeed(P,V), 100*V > 1", None),
        (
            "city_averageSpeed(P,V), 90000000*V > 1",
            "`90000000*V` fits 32 bits only while `V` is at most 23 (`V` goes from 0 to ",
        ),
        ("now(N), N+3600 > 1", None),
        ("now(N), N*1000 > 1", "(`N` goes from 0 to 2000000000)"),
        ("time_of_day(M), M*60000 > 1", None),
    ],
)
def test_numbers_are_taken_to_be_in_the_ranges_of_parameters_and_fields(
    app: AppFolder, body: str, said: str | None
) -> None:
    app.manifest('["events"]', '["events", "traffic"]')
    prefix = "#prefix city : <https://w3id.org/citywise/city#>.\n"
    app.rules("(r1)", f'{prefix}notice(Me,"jam_ahead",P,3) :- near_route(Me,P,50), {body}.\n(r1)')
    found = [str(finding) for finding in check_pack(app.path) if finding.code == "overflow"]
    assert len(found) == (0 if said is None else 1), found
    assert said is None or said in found[0]


def test_a_prefix_that_is_not_declared_is_named(app: AppFolder) -> None:
    app.rules("(r1)", 'notice(Me,"jam_ahead",A,3) :- ctx_activity(Me,A).\n(r1)')
    (found,) = [str(f) for f in check_pack(app.path) if f.code == "unknown-predicate"]
    assert "write `#prefix ctx : <https://w3id.org/citywise/context#>.`" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"x = {'[' * 5_000}{']' * 5_000}", "nests too deep"),
        (f"x = {'9' * 5_000}", "4300"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_a_finding(app: AppFolder, text: str, said: str) -> None:
    (app.path / "app.toml").write_text(text)
    assert said in "\n".join(map(str, check_pack(app.path)))


def test_the_version_of_a_template_fits_the_database(app: AppFolder) -> None:
    text = (app.path / "app.toml").read_text()
    (app.path / "app.toml").write_text(text.replace("version = 1\n", f"version = {10**20}\n"))
    (found,) = check_pack(app.path)
    assert "version" in found.message
    assert "2147483647" in found.message


def test_translations_that_nest_too_deep_are_a_finding(app: AppFolder) -> None:
    folder = app.path / "strings"
    folder.mkdir(exist_ok=True)
    (folder / "da.json").write_text('{"a":' * 5_000 + "1" + "}" * 5_000)
    assert any(found.severity == "error" for found in check_pack(app.path))


def test_what_there_is_once_joins_with_anything(app: AppFolder) -> None:
    """The time and the day are one fact each, no large relations."""
    once = "time_of_day(M), M < 600, weekday(D), D < 6, date(_,Month,_), Month < 6"
    app.rules("(r1)", f'(r3) notice(Me,"jam_ahead",Me,1) :- radius(Me,_), {once}.\n(r1)')
    assert [str(f) for f in check_pack(app.path) if f.code == "product"] == []


SWITCH = """
[templates.jam_ahead.switch]
title = "Jams"
values = { radius = 200 }
"""


def test_a_switch_has_the_values_of_its_template(app: AppFolder) -> None:
    app.write("app.toml", MANIFEST + SWITCH)
    (template,) = checked(app.path).templates
    assert template.switch is not None
    assert template.switch.values == {"radius": 200}


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("radius = 200", "radios = 200", "did you mean `radius`?"),
        ("radius = 200", 'radius = "wide"', 'found "wide", expected a whole number'),
        ("values =", 'asks = "garage"\nvalues =', "`templates.jam_ahead.switch.asks`"),
        ("default = 300\n", "", "gives no value to `radius`, which has no default"),
    ],
)
def test_a_switch_that_turns_nothing_on_is_refused(
    app: AppFolder, old: str, new: str, finding: str
) -> None:
    whole = MANIFEST + SWITCH.replace("values = { radius = 200 }\n", "")
    app.write("app.toml", whole if old.startswith("default") else MANIFEST + SWITCH)
    app.change("app.toml", old, new)
    assert any(finding in found for found in app.findings())
