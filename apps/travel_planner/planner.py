"""The planner of one city: journeys and parking, with what can be kept between requests."""

from __future__ import annotations

from typing import Any

from citywise.apps.travel_planner.answers import Json, way_of
from citywise.apps.travel_planner.ground import Measured, Weights, measure
from citywise.apps.travel_planner.parking import plan_parking
from citywise.apps.travel_planner.requests import ParkingRequest, Situation, TravelRequest
from citywise.apps.travel_planner.roads import City, Mode
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.roads.router import Router
from citywise.apps.travel_planner.roads.tariffs import Tariff
from citywise.apps.travel_planner.spotted import Errand
from citywise.apps.travel_planner.travel import Journey, plan_travel
from citywise.apps.travel_planner.wording import Words
from citywise.backend.app import Settings

_TRIAL_MS = 30 * 60_000
"""How long before one is to arrive a way is tried first."""


class Planner:
    """Plans in one city; for one thread at a time."""

    def __init__(
        self,
        city: City,
        router: Router | None = None,
        *,
        car_cost_per_km: float = 2.0,
        car_co2_g_per_km: float = 167.0,
        currency: str = "DKK",
    ) -> None:
        self.city = city
        self.router = router or Router(city.network)
        self.car_cost_per_km = car_cost_per_km
        self.car_co2_g_per_km = car_co2_g_per_km
        self.currency = currency
        self.weights = Weights(self.router)
        self._bounds = city.network.bounds

    def situation(self, conditions: Conditions) -> Situation:
        """When and where requests are made, to check them by (`requests.read`)."""
        return Situation(conditions.now_ms, self._bounds)

    def travel(
        self,
        request: TravelRequest,
        conditions: Conditions,
        language: str = "en",
        *,
        moving: bool = False,
    ) -> dict[str, Any]:
        """The answer to `POST /plans/travel`; raises `RequestError`.

        For who is `moving` and next to a street no walk to it is counted.
        """

        def planned(depart_ms: int | None) -> dict[str, Any]:
            return plan_travel(
                Journey(
                    request,
                    conditions,
                    conditions.costs(depart_ms),
                    self.weights,
                    self.car_cost_per_km,
                    Words(language, self.currency),
                    moving,
                    self.car_co2_g_per_km,
                    departs_ms=depart_ms,
                )
            )

        if request.arrive_ms is None:
            return planned(request.depart_ms)
        # How long it takes is not known before it is known when: what a first trial takes says
        # when to set out, and what is usual changes little from there.
        first = planned(max(conditions.now_ms, request.arrive_ms - _TRIAL_MS))
        lasts = round(first["routes"][0]["time_s"] * 1000) if first["routes"] else _TRIAL_MS
        return planned(max(conditions.now_ms, request.arrive_ms - lasts))

    def parking(
        self,
        request: ParkingRequest,
        conditions: Conditions,
        language: str = "en",
        *,
        moving: bool = False,
    ) -> dict[str, Any]:
        """The answer to `POST /plans/parking`; raises `RequestError`. `moving` as for `travel`."""
        return plan_parking(
            Errand(
                request,
                conditions,
                conditions.costs(request.arrive_ms),
                self.weights,
                self.car_cost_per_km,
                Words(language, self.currency),
                moving,
                self.car_co2_g_per_km,
            )
        )

    def way(self, found: Json) -> Path | None:
        """The way of a route, or of a garage's drive, of an answer; None if the network is
        another one now."""
        return way_of(found.get("way"), self.city.network)

    def measured(
        self,
        path: Path,
        mode: Mode,
        conditions: Conditions,
        depart_ms: int | None = None,
        *,
        access_m: float = 0.0,
    ) -> Measured:
        """What a way takes under other conditions than those it was planned for, with so many
        metres on foot to the street and from it (`access` of a route or a drive)."""
        costs = conditions.costs(depart_ms)
        return measure(path, mode, costs, self.car_cost_per_km, access_m)


def planner_of(settings: Settings, city: City) -> Planner:
    """The planner that settings ask for."""
    assumed = settings.city
    return Planner(
        city,
        car_cost_per_km=assumed.car_cost_per_km,
        car_co2_g_per_km=assumed.car_co2_g_per_km,
        currency=assumed.currency,
    )


def tariff_of(settings: Settings) -> Tariff:
    """What garages are taken to cost that do not say."""
    city = settings.city
    return Tariff(
        per_hour=city.parking_per_hour,
        day_most=city.parking_day_most,
        currency=city.currency,
        assumed=True,
    )
