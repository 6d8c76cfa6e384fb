"""The commands of app authors: `citywise app`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from citywise.backend.limit_options import bounded
from citywise.backend.settings import Settings
from citywise.backend.system_option import kind_folders, of_a_system
from citywise.backend.times import parse_ms

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
def app() -> None:
    """Make, test and list apps (docs/tutorial-app.md)."""


@app.command()
@click.argument("name")
@click.option(
    "--template",
    "starter",
    help="What to begin with: area, near_me, near_route or reading [near_route].",
)
@click.option(
    "--python", "with_python", is_flag=True, help="Begin with Python: a page, a table, a test."
)
@click.option(
    "--dir",
    "folder",
    type=_FOLDER,
    default=Path(),
    help="Folder in which the app's folder is made [this one].",
)
def new(name: str, starter: str | None, folder: Path, *, with_python: bool) -> None:
    """Make the app NAME: a folder with an app that runs, to be changed."""
    from citywise.backend.packs.scaffold import WITH_PYTHON, create

    if with_python and starter:
        raise click.UsageError("--python begins with rules of its own; leave out --template")
    made = create(name, WITH_PYTHON if with_python else starter or "near_route", folder)
    trusted = f"citywise app trust --changes {made}, " if with_python else ""
    click.echo(f"{made}: a new app; next: {trusted}citywise check {made}, citywise app test {made}")


@app.command()
@click.argument("path")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--changes", is_flag=True, help="Also when it changes: for who writes the app.")
@click.option("--revoke", is_flag=True, help="Agree no longer.")
def trust(path: str, *, yes: bool, changes: bool, revoke: bool) -> None:
    """Agree to run the Python of the app in the folder PATH, as it is now.

    It is agreed to for the user who runs this command; a folder that changes has to be agreed to
    again. Apps of installed packages need no word: who installs them has agreed.
    """
    from citywise.backend.packs import agreed
    from citywise.backend.packs.library import find, package_of

    folder = find(path)
    if package_of(folder) is not None:
        raise agreed.NotAgreedError(f"{folder} is a Python package, which needs no word")
    if revoke:
        told = "trusted no longer" if agreed.revoke(folder) else "was not trusted"
        click.echo(f"{folder}: {told}")
        return
    for line in agreed.described(folder):
        click.echo(line)
    if not yes:
        click.confirm("Do you agree?", abort=True)
    agreed.agree(folder, changing=changes)
    until = "whatever it becomes" if changes else "until it changes"
    click.echo(f"{folder}: trusted, {until}")


@app.command()
@click.argument("path")
@click.argument("scenarios", nargs=-1)
@click.option("--update", is_flag=True, help="Write what came as what is expected.")
@kind_folders
@bounded
def test(path: str, scenarios: tuple[str, ...], update: bool, kinds: tuple[Path, ...]) -> None:
    """Run the scenarios of the app at PATH (or of that name), compare the notices, and ask for
    its pages in the menu.

    SCENARIOS are names or files; without them all are run. Ends with 1 if a notice is
    missing, unexpected or different, if something could not be evaluated, or if a page fails or
    lacks a text.
    """
    from citywise.backend.kinds.sources import of_option
    from citywise.backend.packs import scenario_run, scenario_text, trial
    from citywise.backend.packs.check import checked
    from citywise.backend.packs.library import find
    from citywise.backend.pipeline.recorded import concluded

    pack = checked(find(path), of_option(kinds))
    requests = [str(file) for file in pack.requests]
    conclude = partial(concluded, requests=requests, kinds=pack.kinds)
    chosen = scenario_run.chosen(pack, scenarios) if scenarios or pack.templates else []
    outcomes = [scenario_run.run(pack, scenario, conclude) for scenario in chosen]
    for outcome in outcomes:
        if update and not outcome.failures:
            scenario_run.update(outcome)
        click.echo("\n".join(scenario_text.report(pack, outcome, updated=update, kinds=kinds)))
    tried = trial.pages(pack.folder) if pack.manifest.python and not scenarios else []
    for page in tried:
        said = "; ".join(page.faults) or "shown"
        click.echo(f"{page.address} in {page.language}: {said}")
    is_wrong = any(o.failures if update else not o.is_as_expected for o in outcomes)
    if is_wrong or any(page.faults for page in tried):
        sys.exit(1)


@app.command()
@click.argument("path")
@click.argument("scenario")
@click.option("--at", help="Time, ISO 8601 with a zone [the end of the scenario].")
@click.option("--instance", required=True, help="Whose notice.")
@click.option("--notice", "kind", required=True, help="Kind of the notice.")
@click.option("--about", required=True, help="Id of the event or place.")
@kind_folders
@bounded
def why(
    path: str,
    scenario: str,
    at: str | None,
    instance: str,
    kind: str,
    about: str,
    kinds: tuple[Path, ...],
) -> None:
    """Explain why a notice was, or was not, open in SCENARIO of the app at PATH."""
    from citywise.backend.kinds.sources import of_option
    from citywise.backend.packs import scenario_run
    from citywise.backend.packs.check import checked
    from citywise.backend.packs.library import find
    from citywise.backend.packs.scenario_why import reasons
    from citywise.backend.pipeline.recorded import run_after

    try:
        at_ms = None if at is None else parse_ms(at)
    except ValueError:
        raise click.UsageError(f"--at {at}: write a time such as 2026-05-04T08:00:00Z") from None
    pack = checked(find(path), of_option(kinds))
    (chosen,) = scenario_run.chosen(pack, [scenario])
    requests = [str(file) for file in pack.requests]
    play = partial(run_after, requests=requests, kinds=pack.kinds)
    click.echo(reasons(pack, chosen, at_ms, instance, kind, about, play).tree, nl=False)


@app.command("list")
@click.argument("paths", nargs=-1, type=_FOLDER)
def list_apps(paths: tuple[Path, ...]) -> None:
    """List the apps in PATHS, or all that Citywise and installed packages bring."""
    from citywise.backend.packs.library import available, folders
    from citywise.backend.packs.listing import lines

    found = [folder for path in paths for folder in folders(path)] if paths else available()
    for folder in found:
        click.echo("\n".join(lines(folder)))


@app.command()
@click.argument("name")
@of_a_system
def remove(settings: Settings, name: str) -> None:
    """Remove all that the app NAME, which is gone, has left in the database of a stopped system:
    its tables, its instances and their notices, its templates and traces."""
    from citywise.backend.packs import removal
    from citywise.backend.people_commands import database
    from citywise.backend.supervisor import is_used

    if is_used(settings.data_dir):
        raise removal.RemovalError("the system is running; stop it, then remove the app")
    with database(settings) as engine:
        removed = removal.remove(engine, settings, name)
    dropped = ", ".join(removed.tables) or "none"
    click.echo(
        f"{name}: removed its tables ({dropped}), {removed.instances} instances and "
        f"{removed.notices} notices"
    )
