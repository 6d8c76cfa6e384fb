"""The `citywise` command: exit 0 fine, 1 input at fault, 2 usage, 3 internal (docs/reason.md)."""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from citywise.backend import settings as configuration
from citywise.backend.app_commands import app as app_commands
from citywise.backend.backup_commands import backup, restore
from citywise.backend.care_commands import doctor, reload, told, upgrade
from citywise.backend.errors import CitywiseError
from citywise.backend.limit_options import COUNT, LIMITS, bounded, limits, metered, say
from citywise.backend.machine import IS_CHECKOUT, REPOSITORY, STATE, MachineError
from citywise.backend.settings import Apps, Ingest, KindFiles, People, Settings, Web
from citywise.backend.system_option import GroupWithApps, LaterGroup, kind_folders, of_a_system
from citywise.reasoning import Limits, ReasoningError

if TYPE_CHECKING:
    from citywise.backend.pipeline.appreplay import Recording
    from citywise.backend.supervisor import System
    from citywise.reasoning import Choice, Operator, Recorded
    from citywise.reasoning.partition.plan import Form, PlanName


class Time(click.ParamType[datetime]):
    """ISO 8601 with a zone."""

    name = "ISO time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"`{value}` is not an ISO 8601 time, e.g. 2014-08-05T00:00:00Z", param, ctx)
        if time.tzinfo is None:
            self.fail(f"`{value}` has no time zone; write e.g. {value}Z", param, ctx)
        return time


class Speed(click.ParamType[float | None]):
    """Stream seconds per wall second, or `max`."""

    name = "speed"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        if value == "max":
            return None
        try:
            speed = float(str(value).removeprefix("×").removeprefix("x"))
        except ValueError:
            speed = 0
        if not 0 < speed <= 3600:
            self.fail(f"`{value}` is not a speed: give 1 to 3600, or `max`", param, ctx)
        return speed


class StreamTime(click.ParamType[int | str]):
    """A time as a recording writes it: an integer, or ISO 8601 with a zone."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        text = str(value)
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        return Time().convert(text, param, ctx).isoformat()


class Hours(click.FloatRange):
    """A number of hours, at most a year."""

    def __init__(self) -> None:
        super().__init__(min=0, max=8784)


@click.group(
    cls=GroupWithApps,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="citywise")
def cli() -> None:
    """Citywise: smart-city applications by reasoning over live streams.

    Every command ends with 0 if all is fine, 1 if its input is at fault (stderr says where, and
    what to do), 2 if it is used wrongly, and 3 for a fault of ours.
    """


@cli.command()
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Replay recorded data (the Aarhus pack's layout) instead of simulating a city.",
)
@click.option(
    "--speed",
    type=Speed(),
    default="60",
    show_default=True,
    help="Stream seconds per second, 1 to 3600, or `max`.",
)
@click.option("--start", type=Time(), help="Where in the data to begin.")
@click.option("--until", type=Time(), help="Where in the data to end.")
@click.option("--lead-in", type=Hours(), help="Hours before --start to feed for state [24].")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Web port [a free one].")
@click.option("--for", "seconds", type=float, help="End so many seconds after it is ready.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the simulated city.")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep database and log in this folder [removed at the end].",
)
@click.option(
    "--app",
    "apps",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="Folder of an app, or of apps, to run too; repeatable.",
)
@click.option(
    "--gtfs",
    "feeds",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A timetable (GTFS archive) for the planner; repeatable.",
)
@kind_folders
@click.option(
    "--simulate",
    "simulated",
    multiple=True,
    metavar="KIND",
    help="Give the simulated city three sensors of this kind, too; repeatable.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say what the supervisor does.")
def demo(
    data: Path | None,
    speed: float | None,
    start: datetime | None,
    until: datetime | None,
    lead_in: float | None,
    port: int,
    seconds: float | None,
    seed: int,
    state: Path | None,
    apps: tuple[Path, ...],
    feeds: tuple[Path, ...],
    kinds: tuple[Path, ...],
    simulated: tuple[str, ...],
    verbose: bool,
) -> None:
    """Run the whole system on embedded defaults and print its address.

    It ends on Ctrl-C.

    For example:

    \b
        citywise demo --speed 60 --for 600
    """
    from citywise.backend.kinds.sources import of_option

    known = of_option(kinds)
    for name in simulated:
        if name not in known:
            raise click.UsageError(f"--simulate {name}: there is no such kind; {', '.join(known)}")
    play = {
        "data": str(data.resolve()) if data else None,
        "speed": speed,
        "start": start.isoformat() if start else None,
        "until": until.isoformat() if until else None,
        "lead_in_s": None if lead_in is None else lead_in * 3600,
        "seed": seed,
        "kinds": list(dict.fromkeys(simulated)),
    }
    folder = state or _temporary_folder()
    _go_on(play, folder)
    _check_source(play)
    settings = Settings(
        data_dir=folder,
        ingest=Ingest(clock="topic"),
        kinds=KindFiles(folders=tuple(str(path.resolve()) for path in kinds)),
        apps=Apps(folders=tuple(str(path.resolve()) for path in apps)),
        web=Web(port=port),
        people=People(demo_user=True),
    )
    _import(feeds, settings)
    # After a failed start the folder stays: its logs say why.
    _run(settings, play, seconds, verbose)
    if state is None:
        shutil.rmtree(folder, ignore_errors=True)


def _import(files: Sequence[Path], settings: Settings) -> None:
    """Take files beside the streets into a city, as `citywise city import` does."""
    from citywise.backend.city_commands import kind_of

    for file in files:
        if (kind := kind_of(file)) is None:
            raise click.UsageError(f"{file} is no timetable; expected a GTFS archive (.zip)")
        for line in kind.take(file, settings.city_dir):
            click.echo(line, err=True)


@cli.command()
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file; docs/configuration.md lists its keys. Needed without --host.",
)
@click.option(
    "--host",
    metavar="ADDRESS|NAME",
    help="Serve a network over HTTPS at this address or name of this machine.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Web port [web.port; 8443].")
@click.option("--for", "seconds", type=float, help="End so many seconds after it is ready.")
@click.option("-v", "--verbose", is_flag=True, help="Say what the supervisor does.")
def run(
    config: Path | None, host: str | None, port: int | None, seconds: float | None, verbose: bool
) -> None:
    """Run the system from a configuration (external broker, database, Spark master).

    With --host it serves phones and computers of a network (docs/deployment.md).

    For example:

    \b
        citywise run --config city.toml
    """
    from citywise.backend.kinds.sources import of_files
    from citywise.backend.pipeline.requests import check, find, possible

    if config is None and host is None:
        raise click.UsageError("give --config FILE, or --host ADDRESS to serve a network, or both")
    settings = configuration.load(config)
    kinds = of_files(settings)
    for path in possible(map(find, settings.pipeline.requests), kinds):
        check(path, kinds, settings.pipeline.limits.of_engine())
    if host is not None:
        _run_hosted(config, settings, host, port, seconds, verbose)
        return
    configured, read = settings, partial(configuration.load, config)
    if port is not None:
        settings = settings.model_copy(
            update={"web": settings.web.model_copy(update={"port": port})}
        )
    _run(settings, None, seconds, verbose, read=read, configured=configured)


def _run_hosted(
    config: Path | None,
    settings: Settings,
    host: str,
    port: int | None,
    seconds: float | None,
    verbose: bool,
) -> None:
    """Run, with a page beside it over plain HTTP that says how to trust the certificate."""
    from citywise.backend.network import qr_codes
    from citywise.backend.network.hosting import hosted
    from citywise.backend.network.welcome import welcome

    hosting = hosted(settings, host, port)
    web = hosting.settings.web
    with welcome(web.host, web.port, hosting.url, hosting.authority) as way_in:
        lines = [*hosting.lines(way_in.shown), qr_codes.in_terminal(way_in.shown)]
        _run(
            hosting.settings,
            None,
            seconds,
            verbose,
            lines,
            partial(configuration.load, config),
            settings,
        )


@cli.command()
@click.argument("app", required=False)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Recorded data (the Aarhus pack's layout).",
)
@click.option("--from", "start", type=Time(), required=True, help="First time to report.")
@click.option("--until", type=Time(), required=True, help="Last time to report.")
@click.option("--lead-in", type=Hours(), default=24, show_default=True, help="Hours fed for state.")
@click.option(
    "--users",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With APP: users and their instances, as in a scenario (docs/apps.md).",
)
@click.option(
    "--travellers",
    type=click.IntRange(1, 10_000),
    help="With APP: so many simulated travellers, each with an instance of every template.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the travellers.")
@click.option(
    "--against",
    metavar="GIT_REF|DIR",
    help="With APP: print how its notices differ from those of another version of it.",
)
@bounded
def replay(app: str | None, data: Path, start: datetime, until: datetime, **given: Any) -> None:
    """Print the events that recorded data give, or the notices of APP, as JSON Lines.

    APP is the folder or the name of an app. No broker is needed.

    For example:

    \b
        citywise replay --data DATA --from 2014-08-05T05:00:00Z --until 2014-08-05T06:00:00Z
    """
    from citywise.backend.pipeline.appreplay import Recording
    from citywise.backend.pipeline.recorded import announcements
    from citywise.reasoning.budget import seldom_collected

    if app is None:
        if any(given[name] is not None for name in ("users", "travellers", "against")):
            raise click.UsageError("--users, --travellers and --against are of an APP; name it")
        seldom_collected()
        for line in announcements(data, start, until, given["lead_in"]):
            click.echo(line)
        return
    _replay_app(app, Recording(data, start, until, given.pop("lead_in")), **given)


def _replay_app(
    name: str,
    recording: Recording,
    *,
    users: Path | None,
    travellers: int | None,
    seed: int,
    against: str | None,
) -> None:
    from citywise.backend.packs.library import find
    from citywise.backend.pipeline.against import earlier
    from citywise.backend.pipeline.appreplay import Replayed, compare

    if not users and not travellers:
        raise click.UsageError(
            "an app tells its users: give --users FILE (lines as in a scenario, docs/apps.md) "
            "or --travellers 200"
        )
    folder = find(name)
    after = Replayed(folder, recording, users, travellers or 0, seed)
    if against is None:
        for line in after.lines():
            click.echo(line)
        for text in after.summary():
            say(text)
        return
    with earlier(folder, against) as other:
        found = compare(Replayed(other, recording, users, travellers or 0, seed), after)
    for line in found.lines():
        click.echo(line)
    say(found.summary)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def recorded(command: Callable[..., None]) -> Callable[..., None]:
    """Add what a program over recorded streams is run with."""
    for add in reversed(
        (
            click.argument("program", type=_FILE),
            click.option(
                "--stream",
                "streams",
                type=click.Path(exists=True, path_type=Path, allow_dash=True),
                multiple=True,
                help="Recorded stream (docs/reason.md); repeatable; - is standard input.",
            ),
            click.option("--kb", "knowledge", type=_FILE, multiple=True, help="Knowledge base."),
            click.option("--from", "start", type=StreamTime(), help="Drop what is before."),
            click.option("--until", type=StreamTime(), help="End here [where the last item ends]."),
            click.option("--models", type=COUNT, help="So many answer sets at most [all]."),
            *LIMITS,
            click.option(
                "--model-limit",
                type=COUNT,
                default=100_000,
                show_default=True,
                help="Answer sets of one evaluation, where --models does not ask for fewer.",
            ),
        )
    ):
        command = add(command)
    return command


@cli.command()
@recorded
@click.option(
    "--engine",
    type=click.Choice(["auto", "incremental", "solver"]),
    default="auto",
    show_default=True,
    help="What evaluates the rules; auto takes what they allow and what is faster.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="N",
    help="Evaluate in N processes where the plan allows it and it is faster (docs/plan.md).",
)
@click.option(
    "--revise",
    metavar="HORIZON",
    help="Items may come so late, be corrected and withdrawn (1h; docs/revision.md).",
)
@click.option("--deltas", is_flag=True, help="Add what came and went since the result before.")
@click.option(
    "--emit",
    type=click.Choice(["results", "rstream", "istream", "dstream"]),
    default="results",
    show_default=True,
    help="Print results, or the answers as a stream that --stream of another program reads.",
)
@click.option("--emit-as", default="", metavar="IRI", help="IRI of the stream --emit prints.")
@metered
def reason(
    engine: str,
    parallel: int,
    revise: str | None,
    deltas: bool,
    emit: str,
    emit_as: str,
    **given: Any,
) -> None:
    """Evaluate PROGRAM (.casp, .lars, .rif, .rifps, .lp) over recordings; print JSON Lines.

    Ends with 1 if an item or an evaluation was at fault; the others are printed all the same.

    For example:

    \b
        citywise reason booked.casp --stream bookings.jsonl --from 0
    """
    from citywise.backend.reason import emitted, report, results
    from citywise.reasoning import RecordedError

    if emit_as and emit == "results":
        raise click.UsageError("--emit-as names the stream that --emit prints; give --emit too")
    if deltas and emit != "results":
        raise click.UsageError("--deltas is for results; --emit istream and dstream are deltas")
    if sum(str(path) == "-" for path in given["streams"]) > 1:
        raise click.UsageError("--stream -: standard input can be read once")
    run = _recorded(**given)
    run.parallel, run.engine, run.revise = parallel, cast("Choice", engine), revise
    try:
        revised = run.horizon is not None
    except RecordedError as error:
        raise click.UsageError(str(error)) from None
    if revised and given["start"] is None:
        raise click.UsageError("items that are revised need a time to begin with: give --from")
    if revised and given["models"] is not None:
        raise click.UsageError("--models gives any answer sets, which a revision may not")
    if emit == "results":
        fine = report(run, results(run, deltas=deltas), say)
    else:
        fine = report(run, emitted(run, cast("Operator", emit), emit_as), say)
    if not fine:
        sys.exit(1)


@cli.command()
@click.argument("program", type=_FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "dot"]),
    default="text",
    show_default=True,
    help="Text to read, JSON, or graphs for Graphviz (docs/plan.md).",
)
@click.option(
    "--plan",
    "name",
    type=click.Choice(["sound", "greedy", "whole"]),
    default="sound",
    show_default=True,
    help="Ours, the thesis' (which may be wrong), or the one that cuts nothing.",
)
@bounded
def plan(program: Path, form: Form, name: PlanName) -> None:
    """Show how PROGRAM is evaluated: in which parts side by side and why, or by which network.

    For example:

    \b
        citywise plan booked.casp --format json
    """
    from citywise.reasoning import read

    click.echo(read(program).plan(name, form), nl=False)


@cli.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--partitioned",
    is_flag=True,
    help="Demand what partitions need: no recursion through negation.",
)
@kind_folders
@bounded
def check(path: Path, partitioned: bool, kinds: tuple[Path, ...]) -> None:
    """Look for faults in a program, an app, a kind, or all in a folder; one line each.

    A line is FILE:LINE:COL: error|warning CODE: message. Ends with 1 if one is an error.

    For example:

    \b
        citywise check booked.casp
    """
    from citywise.backend.kinds import check_path as check_kinds
    from citywise.backend.kinds import is_kind_path
    from citywise.backend.kinds.sources import of_option
    from citywise.backend.packs.library import folders, of_template
    from citywise.reasoning.run.language import LANGUAGES

    found = check_kinds(path)
    if folders(path) or of_template(path) is not None:
        from citywise.backend.packs.check import check_path as check_app

        found += check_app(path, partitioned=partitioned, kinds=of_option(kinds))
    elif path.is_dir() and not any(file.suffix in LANGUAGES for file in path.rglob("*")):
        if not is_kind_path(path):
            known = ", ".join(LANGUAGES)
            raise click.UsageError(f"{path} holds no app, no kind and no program ({known})")
    elif not is_kind_path(path):  # The rules of apps need much more than the reasoner.
        from citywise.reasoning import check as check_program

        found += check_program(path, partitioned=partitioned)
    for finding in dict.fromkeys(found):
        click.echo(str(finding))
    if any(finding.severity == "error" for finding in found):
        sys.exit(1)


@cli.command()
@recorded
@click.option("--at", type=StreamTime(), help="Time of the evaluation, as the recording has it.")
@click.option("--atom", required=True, help="The ground atom in question; of RIF a triple, too.")
@click.option("--not", "absent", is_flag=True, help="Ask why it is not in the answer.")
@click.option(
    "--answer",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Which of several answer sets, as `reason` lists them.",
)
@click.option(
    "--evaluation",
    type=click.IntRange(1),
    help="Which of several evaluations at that time, in order [the last].",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A tree to read, or JSON (docs/explain.md).",
)
@metered
def explain(
    at: int | str | None,
    atom: str,
    absent: bool,
    answer: int,
    evaluation: int | None,
    form: str,
    **given: Any,
) -> None:
    """Explain why an atom is in the answer of PROGRAM at a time, or why it is not.

    The limits are on each evaluation, as for `reason`, and on the explanation.

    For example:

    \b
        citywise explain booked.casp --stream bookings.jsonl --at 3600 --atom 'noH(2)'
    """
    from citywise.reasoning import MisusedError, limited
    from citywise.reasoning.explain.tree import render

    run = _recorded(**given)
    try:
        about = run.explainer(at, answer, evaluation)
    except MisusedError as error:
        raise click.UsageError(str(error)) from None
    if evaluation is None and about.evaluations > 1:
        say(
            f"there are {about.evaluations} evaluations at that time, this is the last; "
            f"choose another with --evaluation 1 to {about.evaluations}"
        )
    assert run.limits is not None
    found = limited(lambda: about.explainer.explain(atom), run.limits, "the explanation")
    if found.holds == absent and found.question != "conflict":
        say(f"`{found.atom}` is {'' if found.holds else 'not '}in the answer")
    click.echo(json.dumps(found.to_json(), indent=2) if form == "json" else render(found), nl=False)


@cli.command()
@click.argument("document", type=_FILE)
@click.argument("conclusion", type=_FILE)
@click.option("--kb", "knowledge", type=_FILE, multiple=True, help="Knowledge base; repeatable.")
@limits
@metered
def entails(
    document: Path,
    conclusion: Path,
    knowledge: tuple[Path, ...],
    time_limit: float,
    memory_limit: int,
    atom_limit: int,
) -> None:
    """Tell whether DOCUMENT (.rif, .rifps) entails CONCLUSION: print yes, or no and end with 1.

    CONCLUSION is a condition (.rif, .rifps), with the prefixes of DOCUMENT, or an RDF graph
    (.ttl, .rdf, .nt); of a graph the triples that are missing are printed, one a line. There is
    no stream. For example:

    \b
        citywise entails streets.rifps expected.ttl --kb sensors.ttl
    """
    from citywise.reasoning.languages.rif.entails import answer

    found = answer(document, conclusion, knowledge, Limits(time_limit, memory_limit, atom_limit))
    for line in found.lines():
        click.echo(line)
    if not found.holds:
        sys.exit(1)


def _recorded(
    program: Path,
    streams: tuple[Path, ...],
    knowledge: tuple[Path, ...],
    start: int | str | None,
    until: int | str | None,
    models: int | None,
    **limits: float,
) -> Recorded:
    from citywise.reasoning import MisusedError, Recorded

    bounds = Limits(
        limits["time_limit"],
        int(limits["memory_limit"]),
        int(limits["atom_limit"]),
        int(limits["model_limit"]),
    )
    opened = [Path("/dev/stdin") if str(path) == "-" else path for path in streams]
    try:
        return Recorded(program, opened, knowledge, start, until, models or 0, bounds)
    except MisusedError as error:
        raise click.UsageError(str(error)) from None


@cli.command()
@click.argument("what")
@click.argument("request", type=_FILE)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Recorded data (the Aarhus pack's layout); without --gtfs they are needed.",
)
@click.option(
    "--gtfs",
    "feeds",
    type=_FILE,
    multiple=True,
    help="A timetable (GTFS archive) for journeys by public transport; may be repeated.",
)
@click.option(
    "--gtfs-rt",
    "realtime",
    type=_FILE,
    multiple=True,
    help="What is known of that day (GTFS-Realtime, .pb); may be repeated, later files win.",
)
@click.option(
    "--at",
    type=Time(),
    help="When it is asked [where the data end; without --data the first day of service].",
)
@bounded
def decide(
    what: str,
    request: Path,
    data: Path | None,
    feeds: tuple[Path, ...],
    realtime: tuple[Path, ...],
    at: datetime | None,
) -> None:
    """Answer one REQUEST (JSON) of an app, on the data as they were known at a time.

    WHAT is what is decided: travel or parking, or another app's decision.

    For example:

    \b
        citywise decide parking request.json --data DATA --at 2014-08-06T06:00:00Z
    """
    from citywise.backend.packs.parts import found
    from citywise.backend.times import to_ms

    known = {name: each for parts in found().values() for name, each in parts.decisions.items()}
    if what not in known:
        raise click.UsageError(f"nothing decides `{what}`; there are {', '.join(sorted(known))}")
    at_ms = None if at is None else to_ms(at)
    if realtime and not feeds:
        raise click.UsageError("--gtfs-rt tells of a timetable's trips; add --gtfs")
    if feeds:
        timed = {n: each for parts in found().values() for n, each in parts.timetables.items()}
        if what not in timed:
            raise click.UsageError(f"`{what}` is not decided by timetables; leave --gtfs out")
        answer = timed[what](request, data, feeds, realtime, at_ms)
    elif data is None:
        raise click.UsageError("Missing option '--data' (or --gtfs for public transport)")
    else:
        answer = known[what](request, data, at_ms)
    click.echo(json.dumps(answer, indent=2, ensure_ascii=False))


@cli.command()
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def bench(name: str | None, arguments: tuple[str, ...], as_json: bool) -> None:
    """Measure NAME, each figure beside a baseline of the same run (see benchmarks/).

    Some take ARGUMENTS, such as `stability REQUEST`. Without NAME, all names are listed.
    """
    if not IS_CHECKOUT:
        raise click.UsageError("benchmarks need a checkout of the source (docs/performance.md)")
    folder = REPOSITORY / "benchmarks"
    known = sorted(path.stem for path in folder.glob("*.py"))
    if name is None:
        click.echo("\n".join(known))
        return
    if name not in known:
        raise click.UsageError(f"no benchmark `{name}`; there are {', '.join(known)}")
    sys.path[:0] = [str(folder), str(REPOSITORY)]
    module = importlib.import_module(name)
    texts = [p for p in signature(module.run).parameters.values() if p.annotation == "str"]
    if len(arguments) > len(texts):
        raise click.UsageError(f"`bench {name}` takes {len(texts) or 'no'} arguments")
    results = module.run(*arguments)
    click.echo(json.dumps(results, indent=2) if as_json else module.report(results))


@cli.command("broker-rights")
@click.option(
    "--mosquitto",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Write mosquitto's files `passwords` and `acl` into this folder.",
)
@of_a_system
def write_broker_rights(settings: Settings, folder: Path) -> None:
    """Write who may do what at an external broker, as mosquitto reads it.

    Then let mosquitto read it again: kill -HUP (docs/deployment.md).
    """
    from citywise.backend.network.broker_rights import write_for_mosquitto
    from citywise.backend.people_commands import database

    with database(settings) as engine:
        for file in write_for_mosquitto(engine, settings, folder):
            click.echo(file)


def _temporary_folder() -> Path:
    """A new folder for a demo; what demos left that were killed is removed."""
    from citywise.backend.supervisor import is_used

    base = STATE
    base.mkdir(parents=True, exist_ok=True)
    for left in base.glob("demo-*"):
        if not is_used(left):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="demo-", dir=base))


def _go_on(play: dict[str, Any], folder: Path) -> None:
    """A folder that holds a city's past goes on from there: time does not go back in it."""
    from citywise.backend.ingest import log
    from citywise.backend.packs.live import NoClockError, last_clock
    from citywise.backend.times import from_ms, parse_ms

    path = folder / "log"
    if not path.is_dir() or not log.segments(path):
        return
    try:
        past = last_clock(path, log.durable_end(path), log.segments(path)[0]).complete_ms
    except NoClockError:
        return
    if play["start"] is None:
        play |= _left_off(play["until"], folder, past)
        say(f"{folder} goes on where it ended, at {from_ms(past):%Y-%m-%dT%H:%MZ}")
    elif parse_ms(play["start"]) - (play["lead_in_s"] or 0) * 1000 < past:
        raise click.UsageError(
            f"--state {folder} holds the city until {from_ms(past):%Y-%m-%dT%H:%MZ}, and time does "
            "not go back: leave out --start, give a later one with --lead-in 0, or another folder"
        )


def _left_off(until: str | None, folder: Path, past: int) -> dict[str, Any]:
    """How a source goes on that has sent everything up to `past` (Unix ms): its start stays
    what it was, and where it was to end earlier nothing is left to send."""
    from citywise.backend.city.source import SETTLE_MS
    from citywise.backend.supervisor import last_played
    from citywise.backend.times import iso, parse_ms

    end = past if until is None else parse_ms(until)
    if end + SETTLE_MS < past:
        until = iso(past - SETTLE_MS)
    began = last_played(folder) or {"start": iso(min(past, end)), "lead_in_s": 0}
    kept = {key: began[key] for key in ("start", "lead_in_s")}
    return {**kept, "since": iso(past), "until": until}


def _check_source(play: dict[str, Any]) -> None:
    """Find out now, not in a child's log, whether the source can begin."""
    from citywise.backend.process import city

    city(play)


def _run(
    settings: Settings,
    play: dict[str, Any] | None,
    seconds: float | None,
    verbose: bool,
    more: Sequence[str] = (),
    read: Callable[[], Settings] | None = None,
    configured: Settings | None = None,
) -> None:
    """Run a system until it is told to end; `more` is said when it is ready, and `read` reads its
    configuration anew, which is `configured` now.

    SIGUSR1, and without a terminal SIGHUP, are to read it; a terminal that goes ends us.
    """
    from citywise.backend.people_commands import invited
    from citywise.backend.supervisor import System

    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR, format="%(levelname)s: %(message)s"
    )
    logging.getLogger("alembic").setLevel(logging.WARNING)
    stopping: list[int] = []
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        is_to_read = number == signal.SIGUSR1 or (
            number == signal.SIGHUP and read is not None and not sys.stdin.isatty()
        )
        signal.signal(number, _noting(asked if is_to_read else stopping))
    system = System(settings, play, say=_say)
    system.configured_by(configured or settings)
    again = read or (lambda: settings)
    try:
        _say("Starting Citywise: broker, ingest, Spark, web …")
        system.start(lambda: bool(stopping))
        system.wait_ready(lambda: bool(stopping))
        if not stopping:
            click.echo(f"Citywise is ready at {settings.web.public_url or system.url}")
            for line in [*more, *invited(system.settings, system.url)]:
                click.echo(line)
            sys.stdout.flush()
        system.run(seconds, lambda: bool(stopping), lambda: _reload(system, again, asked))
    finally:
        _say("Stopping …")
        system.stop()


def _noting(numbers: list[int]) -> Callable[[int, object], None]:
    """What notes a signal, and does nothing else in it."""
    return lambda number, _frame: numbers.append(number)


def _reload(system: System, read: Callable[[], Settings], asked: list[int]) -> None:
    """Read the configuration anew where that was asked for."""
    if not asked:
        return
    asked.clear()
    found = system.reload(read)
    for line in told(found):
        _say(line)


def _say(text: str) -> None:
    """Say what a running system does; where nobody hears it any more it goes on."""
    with suppress(OSError):
        click.echo(text, err=True)


cli.add_command(app_commands)
cli.add_command(backup)
cli.add_command(restore)
cli.add_command(doctor)
cli.add_command(reload)
cli.add_command(upgrade)
cli.add_command(
    LaterGroup(
        "city",
        "citywise.backend.city_commands",
        "Import a road network and its named places, or show what there is (docs/city.md).",
    )
)
cli.add_command(
    LaterGroup(
        "connect",
        "citywise.backend.connect_commands",
        "List connectors, and try what they make of messages (docs/connectors.md).",
    )
)
cli.add_command(
    LaterGroup(
        "log",
        "citywise.backend.log_commands",
        "Look whether the log is whole, or save what can be read of it (docs/delivery.md).",
    )
)
cli.add_command(
    LaterGroup(
        "user",
        "citywise.backend.people_commands",
        "Make, list, change and remove accounts, and give devices tokens (docs/deployment.md).",
    )
)


def main() -> None:
    """Entry point; turns errors of ours into a message and an exit code."""
    # A shell's `<&-` and `>&-` close them, and Python has None then.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    given = sys.stdout
    try:
        cli(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (CitywiseError, ReasoningError) as error:
        click.echo(f"citywise: {error}", err=True)
        sys.exit(getattr(error, "exit_code", 1))
    except MachineError as error:
        click.echo(f"citywise: {error}", err=True)
        sys.exit(3)
    except SystemExit:
        # Who reads has enough, as `head` has: no fault, but click puts another stream in the place
        # of this one, and ends with 1.
        if sys.stdout is given:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        click.echo(f"citywise: {error}", err=True)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the last resort: exit code 3
        if missing := _not_installed(error):
            click.echo(f"citywise: {missing}", err=True)
        else:
            traceback.print_exc()
            click.echo("citywise: this is a fault of ours; please report it", err=True)
        sys.exit(3)


def _not_installed(error: Exception) -> str | None:
    """What to say where only a part of the packages is installed, such as the reasoner's."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    if name is None or name.partition(".")[0] == "citywise":
        return None
    cure = "pip install 'citywise[all]'"
    if name.partition(".")[0] == "psycopg":
        cure = "pip install 'psycopg[binary]'"
    elif IS_CHECKOUT:
        cure = "python3 scripts/prepare.py --tests"
    return f"this needs `{name}`, which is not installed; run `{cure}`"


if __name__ == "__main__":
    main()
