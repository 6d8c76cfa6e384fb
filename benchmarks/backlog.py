"""A backlog that the pipeline works off: the incremental engine beside the solver.

    citywise bench backlog            # six minutes; a request whole, and one in two parts
    citywise bench backlog 400        # so many seconds of the city's time

One request without choices (congestion: knowledge, joins, aggregates, feedback) looks at the
last 60 s every 6 s, so that windows overlap by 90 %. A log of readings is written before the
pipeline starts; from the first commit to the last it is worked off as fast as it goes. Each
batch runs in any of Spark's workers: what an engine has to catch up with is part of the
time. CPU seconds are those of driver, Spark, workers and solvers, which other load on the
machine touches less. Baseline: the same pipeline with clingo for every window (`pipeline.engine`).
Each engine has two turns, of which the faster counts: other load disturbed it less. Answers
are compared by a SHA-256 over the announcements of all events.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import orjson
from sqlalchemy import Engine, func, select

from benchmarks.measured.processes import cpu_s
from citywise.backend.ingest import log
from citywise.backend.machine import REPOSITORY
from citywise.backend.settings import Pipeline, Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import CursorRow, OutboxRow, TraceRow

SECONDS = 600
ROADS = 500
"""Each is read every other second."""
WIDTH_S, STEP_S = 60, 6
LIMITS_KMH = (50, 60, 80)
_EVERY_S = 2
_START_MS = 1_407_196_800_000
_PATIENCE_S = 300.0

REQUEST = f"""
#prefix sosa : <http://www.w3.org/ns/sosa/>.
#prefix city : <https://w3id.org/citywise/city#>.
#prefix place : <https://w3id.org/citywise/place/>.
#prefix ev : <https://w3id.org/citywise/event#>.
#from stream <https://w3id.org/citywise/stream/traffic> [time {WIDTH_S}s step {STEP_S}s].
#from <roads.ttl>.
#input sosa_hasFeatureOfInterest/3.
#input city_averageSpeed/2.
#input city_vehicleCount/2.
#scale city_averageSpeed 10.
#feedback event/5.
#const slow = 300.     % km/h x 10, as a share of what is allowed there
#const often = 10.     % of thirty readings

(r1) reading(Road,T,Obs,Speed,Count) :- sosa_hasFeatureOfInterest(Obs,Road,T),
        city_averageSpeed(Obs,Speed), city_vehicleCount(Obs,Count).
(r2) slow(Road,T,Obs) :- reading(Road,T,Obs,Speed,Count), city_maxSpeed(Road,Most),
        Speed * 50 < slow * Most, Count > 5.

% Each road over the last minute.
(r3) road(Road) :- city_maxSpeed(Road,_).
(r4) number(Road,N) :- road(Road), N = #count{{ T : reading(Road,T,_,_,_) }}.
(r5) total(Road,N) :- road(Road), N = #sum{{ Speed,T : reading(Road,T,_,Speed,_) }}.
(r6) mean(Road,Sum/N) :- total(Road,Sum), number(Road,N), N > 0.
(r7) load(Road,N) :- road(Road), N = #sum{{ Count,T : reading(Road,T,_,_,Count) }}.
(r8) fastest(Road,S) :- road(Road), S = #max{{ Speed : reading(Road,_,_,Speed,_) }}.

% Slow again and again; from there it spreads to the roads before.
(r9) congested(Road) :- road(Road), often <= #count{{ T : slow(Road,T,_) }}.
@spreads@(r13) level(Road,1) :- congested(Road), not joined(Road).
(r14) level(Road,2) :- congested(Road), joined(Road), mean(Road,M), load(Road,N), N <= 2*M.
(r15) level(Road,3) :- congested(Road), joined(Road), mean(Road,M), load(Road,N), N > 2*M,
        fastest(Road,S), S < 2*M.
(r16) level(Road,4) :- congested(Road), joined(Road), mean(Road,M), load(Road,N), N > 2*M,
        fastest(Road,S), S >= 2*M.

% The event keeps the reading that opened it, and is confirmed by the last slow one.
(r17) since(Road,T) :- congested(Road), T = #min{{ U : slow(Road,U,_) }}.
(r18) until(Road,T) :- congested(Road), T = #max{{ U : slow(Road,U,_) }}.
(r19) stands(Road,Obs) :- prev_event("ev_Congestion",Road,_,Obs,_), congested(Road).
(r20) standing(Road) :- stands(Road,_).
(r21) opened(Road,Obs) :- stands(Road,Obs).
(r22) opened(Road,Obs) :- since(Road,T), slow(Road,T,Obs), not standing(Road).
(r23) event("ev_Congestion",Road,Level,Obs,Last) :- opened(Road,Obs), level(Road,Level),
        until(Road,T), slow(Road,T,Last).
#show event/5.
"""


SPREADS = """(r10) spreads(Road,Next) :- congested(Road), city_leadsTo(Road,Next), congested(Next).
(r11) joined(Road) :- spreads(Road,_).
(r12) joined(Road) :- spreads(_,Road).

% Where drivers come upon a jam: a second later the next road has half the speed.
(r24) brakes(Road,T,Next) :- reading(Road,T,_,Speed,_), city_leadsTo(Road,Next),
        reading(Next,T+1,_,After,_), 2 * After < Speed.
(r25) tail(Road,N) :- congested(Road), N = #count{ From,T : brakes(From,T,Road) }.
(r26) joined(Road) :- tail(Road,N), N > 40.
"""
BY_ITSELF = """(r10) joined(Road) :- congested(Road), load(Road,N), N > 500.
"""
"""In its place where the request is to divide by road."""


def run(seconds: str = str(SECONDS)) -> list[dict[str, Any]]:
    """Work off the same backlog with each engine, whole and in parts."""
    base = REPOSITORY / ".citywise"
    base.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=base))
    try:
        fill(folder / "log", int(seconds))
        return [row for n in (1, 2) for row in _compared(folder, n, int(seconds))]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def written(folder: Path, rules: str = SPREADS) -> Path:
    """The request's file, with the roads it knows beside it."""
    lines = ["@prefix city: <https://w3id.org/citywise/city#> ."]
    lines.append("@prefix place: <https://w3id.org/citywise/place/> .")
    for road in range(ROADS):
        further = ", ".join(f"place:{(road * k + 1) % ROADS}" for k in (3, 7, 11))
        most = LIMITS_KMH[road % 3]
        lines.append(f"place:{road} city:maxSpeed {most} ; city:leadsTo {further} .")
    (folder / "roads.ttl").write_text("\n".join(lines), encoding="utf-8")
    path = folder / "congestion.casp"
    path.write_text(REQUEST.replace("@spreads@", rules), encoding="utf-8")
    return path


def fill(folder: Path, seconds: int) -> None:
    """Write a log in which each road is slow for a minute of every ten."""
    chance = random.Random(1)
    writer = log.LogWriter(folder)
    for second in range(seconds):
        now = _START_MS + second * 1000
        rows = [
            [str(road), now + road, _values(road, second, chance)]
            for road in range(second % _EVERY_S, ROADS, _EVERY_S)
        ]
        writer.append([orjson.dumps({"k": "traffic", "r": now, "v": rows})])
        times = {"now": now + 999, "complete": now + 999}
        writer.append([orjson.dumps({"k": "clock", "r": now, **times})])
    writer.close()


def _values(road: int, second: int, chance: random.Random) -> dict[str, Any]:
    most = LIMITS_KMH[road % 3]
    slow = (second + 13 * road) % 600 < 60
    share = chance.uniform(0.1, 0.5) if slow else chance.uniform(0.7, 1.1)
    return {"speed_kmh": round(share * most), "vehicle_count": chance.randint(2, 40)}


EngineName = Literal["incremental", "solver"]


def _compared(folder: Path, parts: int, seconds: int) -> Iterator[dict[str, Any]]:
    request = written(folder, SPREADS if parts == 1 else BY_ITSELF)
    engines: Sequence[EngineName] = ("solver", "incremental")
    runs = [worked_off(folder, request, engine, parts, seconds) for engine in (*engines, *engines)]
    best = {run["engine"]: run for run in sorted(runs, key=lambda run: run["log_s_per_s"])}
    rows = [best[engine] for engine in engines]
    for row in rows:
        row["times_solver"] = round(row["log_s_per_s"] / rows[0]["log_s_per_s"], 2)
        row["times_solver_cpu"] = round(rows[0]["cpu_ms_per_log_s"] / row["cpu_ms_per_log_s"], 2)
        row["equal"] = len({run["answers"] for run in runs}) == 1
        yield row


def worked_off(
    folder: Path, request: Path, engine: EngineName, parts: int, seconds: int
) -> dict[str, Any]:
    """The pipeline over the log of `seconds` in `folder`, from its first commit to its last."""
    place = Path(tempfile.mkdtemp(prefix=f"{engine}{parts}-", dir=folder))
    shutil.copytree(folder / "log", place / "log")
    pipeline = Pipeline(requests=(str(request),), partitions=parts, engine=engine)
    settings = Settings(data_dir=place, pipeline=pipeline)
    database = create_engine_for(settings.database_url)
    migrate(database)
    end = log.durable_end(settings.log_dir)
    try:
        with _pipeline(settings) as process:
            first = _wait(database, 0)
            began, spent = time.monotonic(), cpu_s(process.pid)
            _wait(database, end - 1)
            took, spent = time.monotonic() - began, cpu_s(process.pid) - spent
        return {
            "engine": engine,
            "parts": parts,
            **_rates(seconds * (end - first) / end, took, spent),
            **_answers(database),
        }
    finally:
        database.dispose()


def _rates(log_seconds: float, took: float, spent: float) -> dict[str, Any]:
    return {
        "seconds": round(took, 1),
        "log_s_per_s": round(log_seconds / took, 1),
        "items_per_s": round(log_seconds * ROADS / _EVERY_S / took),
        "cpu_ms_per_log_s": round(1000 * spent / log_seconds, 1),
    }


def _answers(database: Engine) -> dict[str, Any]:
    """What was answered, and what evaluations took in the workers."""
    with database.connect() as connection:
        traces = connection.execute(select(TraceRow.items, TraceRow.seconds, TraceRow.error)).all()
        told = connection.execute(
            select(OutboxRow.t_ms, OutboxRow.kind, OutboxRow.body).order_by(OutboxRow.id)
        ).all()
    texts = [json.dumps([t, kind, body], sort_keys=True) for t, kind, body in told]
    return {
        "windows": len(traces),
        "items": max((trace.items for trace in traces), default=0),
        "ms_a_window": round(1000 * sum(t.seconds for t in traces) / max(1, len(traces)), 1),
        "announcements": len(told),
        "answers": hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16],
        "error": next((trace.error for trace in traces if trace.error), None),
    }


@contextmanager
def _pipeline(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """The pipeline's process, alone."""
    orders = settings.data_dir / "orders.json"
    orders.write_text(json.dumps({"settings": settings.model_dump(mode="json"), "source": None}))
    metrics = settings.data_dir / "metrics"
    metrics.mkdir()
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(metrics)}
    with (settings.data_dir / "pipeline.log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "citywise.backend.process", "pipeline", str(orders)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=REPOSITORY,
            env=environment,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _wait(database: Engine, position: int) -> int:
    """Wait until the request has answered beyond a position; where it stands."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with database.connect() as connection:
            found = connection.scalar(select(func.min(CursorRow.position)))
        if found is not None and found > position:
            return int(found)
        time.sleep(0.02)
    raise SystemExit(f"the pipeline has not come beyond {position} in {_PATIENCE_S:g} s")


def report(rows: Sequence[dict[str, Any]]) -> str:
    """The results as a table."""
    lines = [
        f"window {WIDTH_S} s every {STEP_S} s, {ROADS // _EVERY_S} readings a second",
        (
            "engine       parts  windows  ms/window  log s/s  readings/s  CPU ms/log s  "
            "times solver  in CPU  equal"
        ),
    ]
    for row in rows:
        lines.append(
            f"{row['engine']:12} {row['parts']:5}  {row['windows']:7}  {row['ms_a_window']:9}  "
            f"{row['log_s_per_s']:7}  {row['items_per_s']:10}  {row['cpu_ms_per_log_s']:12}  "
            f"{row['times_solver']:12}  {row['times_solver_cpu']:6}  "
            f"{'yes' if row['equal'] else 'NO'}"
        )
        if row["error"]:
            lines.append(f"  {row['error']}")
    return "\n".join(lines)
