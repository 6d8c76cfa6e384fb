"""Small messages of every format, made for these tests, and what they give in short."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sample:
    """Messages of one source in order, each with its topic (or none), and what they give."""

    name: str
    messages: tuple[tuple[str | None, bytes], ...]
    expected: str


def sample(name: str, *messages: object, expected: str) -> Sample:
    """A sample: messages are JSON values, texts, bytes, or pairs with a topic."""
    return Sample(name, tuple(_message(one) for one in messages), expected)


def _message(told: object) -> tuple[str | None, bytes]:
    topic, body = told if isinstance(told, tuple) else (None, told)
    if isinstance(body, bytes):
        return topic, body
    return topic, (body if isinstance(body, str) else json.dumps(body)).encode()


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def wire(fields: list[tuple[int, Any]]) -> bytes:
    """Fields of protocol buffers: integers, floats (32 bits), texts or fields."""
    found = b""
    for number, value in fields:
        match value:
            case int():
                found += _varint(number << 3) + _varint(value)
            case float():
                found += _varint(number << 3 | 5) + struct.pack("<f", value)
            case _:
                body = value.encode() if isinstance(value, str) else wire(value)
                found += _varint(number << 3 | 2) + _varint(len(body)) + body
    return found


def _datex(body: str, publication: str, namespace: str = "http://datex2.eu/schema/2/2_0") -> str:
    return (
        f'<d:d2LogicalModel xmlns:d="{namespace}" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f'<d:payloadPublication xsi:type="d:{publication}">'
        f"<d:publicationTime>2026-05-04T09:00:00Z</d:publicationTime>{body}"
        "</d:payloadPublication></d:d2LogicalModel>"
    )


_STREAM = {
    "@iot.id": 7,
    "name": "air temperature",
    "unitOfMeasurement": {"name": "degree Fahrenheit", "symbol": "degF", "definition": "[degF]"},
    "ObservedProperty": {"name": "Air Temperature", "definition": "http://x.org/p#AirTemperature"},
}
_CAP = """<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>{id}</identifier>
<sender>a@b.c</sender><sent>2026-05-04T09:00:00+02:00</sent><status>{status}</status>
<msgType>{kind}</msgType><scope>Public</scope>{references}<info><language>da</language>
<category>Met</category><event>Storm</event><urgency>Immediate</urgency>
<severity>Severe</severity><certainty>Likely</certainty><headline>Kraftig vind</headline>
<area><areaDesc>Aarhus</areaDesc><polygon>56.1,10.1 56.2,10.1 56.2,10.3 56.1,10.1</polygon></area>
</info><info><language>en-GB</language><category>Met</category><event>Strong wind</event>
<urgency>Immediate</urgency><severity>Severe</severity><certainty>Likely</certainty>
<onset>2026-05-04T10:00:00+02:00</onset><headline>Strong wind</headline>
<area><areaDesc>Aarhus</areaDesc><polygon>56.1,10.1 56.2,10.1 56.2,10.3 56.1,10.1</polygon></area>
</info></alert>"""


def _cap(**more: str) -> str:
    return _CAP.format(
        **{"id": "a1", "status": "Actual", "kind": "Alert", "references": "", **more}
    )


def _referring(to: str) -> str:
    return f"<references>a@b.c,{to},2026-05-04T09:00:00+02:00</references>"


def _measured(site: str, *values: str, more: str = "") -> str:
    reference = f'<d:measurementSiteReference id="{site}"/>{more}'
    return f"<d:siteMeasurements>{reference}{''.join(values)}</d:siteMeasurements>"


def _value(kind: str, inner: str, index: str = "1") -> str:
    basic = f'<d:basicData xsi:type="d:{kind}">{inner}</d:basicData>'
    within = f"<d:measuredValue>{basic}</d:measuredValue>"
    return f'<d:measuredValue index="{index}">{within}</d:measuredValue>'


def _characteristic(index: str, inner: str) -> str:
    name = "d:measurementSpecificCharacteristics"
    return f'<{name} index="{index}"><{name}>{inner}</{name}></{name}>'


_FLOW = "<d:vehicleFlow><d:vehicleFlowRate>120</d:vehicleFlowRate></d:vehicleFlow>"
_SPEED = "<d:averageVehicleSpeed><d:speed>61.5</d:speed></d:averageVehicleSpeed>"
_POINT = (
    "<d:pointCoordinates><d:latitude>56</d:latitude><d:longitude>10</d:longitude>"
    "</d:pointCoordinates>"
)
_SINCE = (
    "<d:validity><d:validityTimeSpecification><d:overallStartTime>2026-05-04T08:00:00Z"
    "</d:overallStartTime></d:validityTimeSpecification></d:validity>"
)


SAMPLES: Mapping[str, tuple[Sample, ...]] = {
    "ngsi-ld": (
        sample(
            "one bad attribute costs itself only",
            {
                "id": "urn:x:1",
                "type": "WeatherObserved",
                "dateObserved": "2026-05-04T09:00:00Z",
                "temperature": {"type": "Property", "value": 68, "unitCode": "FAH"},
                "windSpeed": {"type": "Property", "value": 5, "unitCode": "XYZ"},
                "relativeHumidity": {"value": None},
                "feels": {"value": 3},
            },
            expected="""
                refused unit /windSpeed/value
                climate urn:x:1 2026-05-04T09:00:00Z temperature_c=20 +feels
            """,
        ),
        sample(
            "a parking place without a number of those taken, in a notification",
            {
                "id": "urn:n:1",
                "type": "Notification",
                "notifiedAt": "2026-05-04T09:00:00Z",
                "data": [
                    {
                        "id": "p 1",
                        "type": "OffStreetParking",
                        "totalSpotNumber": 10,
                        "availableSpotNumber": 4,
                        "location": {"type": "Point", "coordinates": [10, 56]},
                    },
                    {"type": "OffStreetParking", "totalSpotNumber": 10},
                    {"id": "a"},
                    5,
                    {"id": "s", "type": "StreetLight", "power": 3},
                ],
            },
            expected="""
                place garage p_1-85051de8 "p_1-85051de8" 10,56 parking capacity=10
                parking p_1-85051de8 2026-05-04T09:00:00Z occupied=6 capacity=10
                refused no-id /data/1/id
                refused no-type /data/2
                refused value /data/3
                unknown StreetLight /data/4
            """,
        ),
    ),
    "sensorthings": (
        sample(
            "a Datastream tells what its Observations over MQTT are",
            ("v1.1/Datastreams(7)", _STREAM),
            (
                "v1.1/Datastreams(7)/Observations",
                {"phenomenonTime": "2026-05-04T09:00:00Z", "result": 50},
            ),
            (
                "v1.1/Datastreams(8)/Observations",
                {"phenomenonTime": "2026-05-04T09:00:00Z", "result": 50},
            ),
            expected="""
                climate 7 2026-05-04T09:00:00Z temperature_c=10
                unknown Observation
            """,
        ),
        sample(
            "a Thing with Datastreams is a place",
            {
                "value": [
                    {
                        "@iot.id": 3,
                        "name": "Mast",
                        "Locations": [
                            {
                                "location": {
                                    "type": "Feature",
                                    "geometry": {"type": "Point", "coordinates": [10, 56]},
                                }
                            }
                        ],
                        "Datastreams": [
                            {
                                **_STREAM,
                                "Observations": [
                                    {
                                        "phenomenonTime": "2026-05-04T08Z/2026-05-04T09Z",
                                        "result": 212.0,
                                    },
                                    {"phenomenonTime": "2026-05-04T09:00:00Z", "result": 50.18},
                                ],
                            }
                        ],
                    }
                ]
            },
            expected="""
                place weather_station 3 "Mast" 10,56 climate
                refused range /value/0/Datastreams/0/Observations/0/result
                climate 7 2026-05-04T09:00:00Z temperature_c=10.1
            """,
        ),
    ),
    "homeassistant": (
        sample(
            "a device announces its sensors at once, with abbreviations",
            (
                "ha/device/d1/config",
                {
                    "dev": {"ids": "d1"},
                    "~": "home/d1",
                    "stat_t": "~/state",
                    "cmps": {
                        "t": {
                            "p": "sensor",
                            "dev_cla": "temperature",
                            "unit_of_meas": "°F",
                            "uniq_id": "d1_t",
                            "val_tpl": "{{ value_json['t'] | float | round(1) }}",
                        },
                        "n": {
                            "p": "sensor",
                            "dev_cla": "sound_pressure",
                            "unit_of_meas": "dBA",
                            "val_tpl": "{{ value_json.n / 10 }}",
                        },
                        "b": {
                            "p": "sensor",
                            "dev_cla": "battery",
                            "unit_of_meas": "%",
                            "uniq_id": "b",
                            "val_tpl": "{{ value_json.b }}",
                        },
                        "x": {
                            "p": "sensor",
                            "dev_cla": "humidity",
                            "unit_of_meas": "%",
                            "uniq_id": "x",
                            "val_tpl": "{% for i in range(9) %}{% endfor %}",
                        },
                    },
                },
            ),
            ("home/d1/state", {"t": 68, "n": 651, "b": 90}),
            ("ha/device/d1/config", ""),
            ("home/d1/state", {"t": 68, "n": 651, "b": 90}),
            expected="""
                climate d1_t 2026-05-04T12:00:00Z temperature_c=20
                noise d1_n 2026-05-04T12:00:00Z level=65.1
                unknown battery
                refused template
                unknown device
            """,
        ),
        sample(
            "Tasmota's parts are sensors of their own",
            (
                "tele/k/SENSOR",
                {
                    "Time": "2026-05-04T09:00:00",
                    "AM2301": {"Temperature": 68, "Humidity": 40},
                    "BME280": {"Temperature": 50, "Pressure": 1000},
                    "TempUnit": "F",
                },
            ),
            ("zigbee2mqtt/hall/air", {"temperature": 20, "last_seen": 1777885200000, "battery": 9}),
            ("zigbee2mqtt/hall/air/availability", "online"),
            expected="""
                climate k.AM2301 2026-05-04T12:00:00Z temperature_c=20 humidity_pct=40
                climate k.BME280 2026-05-04T12:00:00Z temperature_c=10 pressure_hpa=1000
                climate hall_air-345050df 2026-05-04T09:00:00Z temperature_c=20 +battery
                unknown availability
            """,
        ),
    ),
    "sensor-community": (
        sample(
            "a noise sensor, a pressure in Pa and a broken value",
            [
                {
                    "sensor": {"id": 5, "sensor_type": {"name": "DNMS"}},
                    "timestamp": "2026-05-04 09:00:00",
                    "location": {"id": 1, "latitude": "56.0", "longitude": "10.0"},
                    "sensordatavalues": [
                        {"value_type": "noise_LAeq", "value": "61.25"},
                        {"value_type": "noise_LA_max", "value": "80"},
                    ],
                },
                {
                    "esp8266id": "9",
                    "sensordatavalues": [
                        {"value_type": "BME280_pressure", "value": "101325.00"},
                        {"value_type": "BME280_temperature", "value": "warm"},
                    ],
                },
            ],
            expected="""
                place noise_meter 1 "1" 10,56 noise
                noise 5 2026-05-04T09:00:00Z level=61.2 +noise_LA_max
                refused number /1/sensordatavalues/1/value
                climate 9 2026-05-04T12:00:00Z pressure_hpa=1013.2
            """,
        ),
    ),
    "opensensemap": (
        sample(
            "sensors of a box, one without a unit",
            {
                "_id": "b1",
                "name": "Box",
                "currentLocation": {"coordinates": [10, 56]},
                "sensors": [
                    {
                        "_id": "s1",
                        "title": "PM2.5",
                        "unit": "µg/m³",
                        "lastMeasurement": {
                            "value": "7.125",
                            "createdAt": "2026-05-04T09:00:00.000Z",
                        },
                    },
                    {
                        "_id": "s2",
                        "title": "PM10",
                        "lastMeasurement": {"value": "9", "createdAt": "2026-05-04T09:00:00.000Z"},
                    },
                    {"_id": "s3", "title": "Temperatur", "unit": "°C"},
                ],
            },
            expected="""
                place air_station b1 "Box" 10,56 air_quality,climate
                air_quality s1 2026-05-04T09:00:00Z pm25=7.1
                refused unit /sensors/1/unit
            """,
        ),
    ),
    "ttn": (
        sample(
            "nested decoders; what is in the soil is not the air",
            {
                "end_device_ids": {"device_id": "n1", "dev_eui": "70B3D57ED0000001"},
                "received_at": "2026-05-04T09:00:01Z",
                "uplink_message": {
                    "received_at": "2026-05-04T09:00:00Z",
                    "decoded_payload": {
                        "soil": {"temperature": 5},
                        "noise": {"laeq": 55.55},
                        "battery": 3.6,
                        "pm2_5": 4,
                    },
                },
            },
            expected="""
                noise n1 2026-05-04T09:00:00Z level=55.6 +battery,soil.temperature
                air_quality n1 2026-05-04T09:00:00Z pm25=4
            """,
        ),
    ),
    "chirpstack": (
        sample(
            "of two channels the first counts, the other is kept apart",
            {
                "time": "2026-05-04T09:00:00Z",
                "deviceInfo": {"devEui": "0a"},
                "fPort": 2,
                "object": {"temperature_1": 20, "temperature_2": 90},
            },
            expected="climate 0a 2026-05-04T09:00:00Z temperature_c=20 +temperature_2",
        ),
        sample(
            "an uplink with an object",
            (
                "application/a/device/0101/event/up",
                {
                    "time": "2026-05-04T09:00:00+00:00",
                    "deviceInfo": {"devEui": "0101010101010101"},
                    "fPort": 1,
                    "object": {"tempSensor": {"3": 21.5}, "Temperature": 21.5, "rain": None},
                },
            ),
            (
                "application/a/device/0101/event/join",
                {"deviceInfo": {"devEui": "01"}, "devAddr": "1"},
            ),
            expected="""
                climate 0101010101010101 2026-05-04T09:00:00Z temperature_c=21.5 +tempSensor.3
                unknown join
            """,
        ),
    ),
    "gbfs": (
        sample(
            "a station, its state and an alert there",
            {
                "last_updated": 1777885200,
                "version": "2.3",
                "data": {
                    "stations": [
                        {"station_id": "a", "name": "Havn", "lat": 56, "lon": 10, "capacity": 20},
                        {"station_id": "b", "lat": 156, "lon": 10},
                    ]
                },
            },
            {
                "last_updated": 1777885200,
                "data": {
                    "stations": [
                        {
                            "station_id": "a",
                            "num_bikes_available": 3,
                            "num_docks_available": 17,
                            "is_renting": True,
                        },
                        {
                            "station_id": "b",
                            "num_bikes_available": "three",
                            "last_reported": 1777885200,
                        },
                    ]
                },
            },
            {
                "last_updated": 1777885200,
                "data": {
                    "alerts": [
                        {
                            "alert_id": "x",
                            "station_ids": ["a"],
                            "summary": "Closed",
                            "times": [{"start": 1777885200, "end": 1777888800}],
                        },
                        {"alert_id": "y", "station_ids": ["a"], "times": [{"start": 1}]},
                    ]
                },
            },
            expected="""
                place bike_station a "Havn" 10,56 bikes capacity=20
                refused geometry /data/stations/1
                bikes a 2026-05-04T09:00:00Z available=3 docks=17 +is_renting
                refused number /data/stations/1/num_bikes_available
                ended x
                event y TransportationEvent 1 1970-01-01T00:00:01Z Point at a
            """,
        ),
    ),
    "gtfs-rt": (
        sample(
            "alerts, vehicles, and a damaged entity between sound ones",
            wire(
                [
                    (1, [(1, "2.0"), (3, 1777885200)]),
                    (2, [(1, "v1"), (4, [(2, [(1, 56.0), (2, 10.0)]), (5, 1777885200)])]),
                    (2, [(1, "bad"), (4, "\x0a\x05cut")]),
                    (2, [(1, "a1"), (5, [(5, [(2, "L1")]), (6, 6), (14, 4)])]),
                    (2, [(1, "a2"), (2, 1)]),
                    (2, [(1, "t1"), (3, [(1, [(1, "trip")])])]),
                ]
            ),
            expected="""
                unknown VehiclePosition entity v1
                refused protobuf entity bad
                refused no-geometry entity a1
                ended a2
                unknown TripUpdate entity t1
            """,
        ),
    ),
    "datex2": (
        sample(
            "a table, a status and what is measured, whatever the prefixes",
            _datex(
                '<d:parkingTable><d:parkingRecord id="g 1"><d:parkingNumberOfSpaces>10'
                "</d:parkingNumberOfSpaces><d:parkingLocation><d:pointCoordinates><d:latitude>56"
                "</d:latitude><d:longitude>10</d:longitude></d:pointCoordinates>"
                "</d:parkingLocation></d:parkingRecord></d:parkingTable>",
                "GenericPublication",
            ),
            _datex(
                '<d:parkingRecordStatus><d:parkingRecordReference id="g 1"/><d:parkingOccupancy>'
                "<d:parkingNumberOfVacantSpaces>4</d:parkingNumberOfVacantSpaces>"
                "</d:parkingOccupancy></d:parkingRecordStatus>",
                "GenericPublication",
            ),
            _datex(
                _measured(
                    "m1",
                    _value("TrafficFlow", _FLOW),
                    _value("TrafficSpeed", _SPEED),
                    more="<d:measurementTimeDefault>2026-05-04T09:00:00Z</d:measurementTimeDefault>",
                )
                + _measured("m2", _value("TrafficSpeed", _SPEED)),
                "MeasuredDataPublication",
            ),
            expected="""
                place garage g_1-136c8832 "g_1-136c8832" 10,56 parking capacity=10
                parking g_1-136c8832 2026-05-04T09:00:00Z occupied=6 capacity=10
                traffic m1 2026-05-04T09:00:00Z speed_kmh=61.5 vehicle_count=10
                refused missing /d2LogicalModel/payloadPublication[1]/siteMeasurements[2]
            """,
        ),
        sample(
            "of lanes flows are added and speeds averaged, lorries left out",
            _datex(
                '<d:measurementSiteTable><d:measurementSiteRecord id="m9">'
                + _characteristic("1", "<d:period>60</d:period>")
                + _characteristic(
                    "5",
                    "<d:period>60</d:period><d:specificVehicleCharacteristics><d:vehicleType>lorry"
                    "</d:vehicleType></d:specificVehicleCharacteristics>",
                )
                + f"<d:measurementSiteLocation>{_POINT}</d:measurementSiteLocation>"
                "</d:measurementSiteRecord></d:measurementSiteTable>",
                "MeasurementSiteTablePublication",
            ),
            _datex(
                _measured(
                    "m9",
                    _value("TrafficFlow", _FLOW),
                    _value("TrafficFlow", _FLOW),
                    _value("TrafficFlow", _FLOW, "5"),
                    _value("TrafficSpeed", _SPEED),
                    _value("TrafficSpeed", _SPEED.replace("61.5", "60")),
                    _value("TrafficSpeed", _SPEED.replace("61.5", "-1")),
                ),
                "MeasuredDataPublication",
            ),
            expected="""
                place road m9 "m9" 10,56 traffic
                traffic m9 2026-05-04T09:00:00Z speed_kmh=60.75 vehicle_count=4
            """,
        ),
        sample(
            "situations begin and end",
            _datex(
                '<d:situation id="s"><d:overallSeverity>high</d:overallSeverity>'
                f'<d:situationRecord xsi:type="d:Accident" id="r1">{_SINCE}{_POINT}'
                "</d:situationRecord>"
                '<d:situationRecord xsi:type="d:MaintenanceWorks" id="r2"><d:management>'
                "<d:lifeCycleManagement><d:end>true</d:end></d:lifeCycleManagement></d:management>"
                "</d:situationRecord></d:situation>",
                "SituationPublication",
            ),
            expected="""
                event r1 Accident 4 2026-05-04T08:00:00Z Point
                ended r2
            """,
        ),
    ),
    "apds": (
        sample(
            "a campus with a garage, a zone at the kerb, a single space, and what names people",
            {
                "meta": {"lastUpdatedTime": "2026-05-04T11:55:00Z"},
                "data": [
                    {
                        "id": "campus",
                        "version": 3,
                        "type": "campus",
                        "name": [{"language": "en", "string": "Harbour"}],
                        "responsibleParty": {"id": "org-1", "className": "Organisation"},
                    },
                    {
                        "id": {"id": "garage", "className": "Place", "version": 2},
                        "type": "parkingPlace",
                        "name": [
                            {"language": "da", "string": "Havnens P-hus"},
                            {"language": "en", "string": "Harbour Garage"},
                        ],
                        "indicativePlacePointLocation": [
                            {"pointCoordinates": {"epsgCode": "EPSG:4326", "x": 10.2, "y": 56.15}}
                        ],
                        "characteristics": [{"spacesTotal": 999, "coveredType": "covered"}],
                        "hierarchyElementReference": [
                            {
                                "supply": [
                                    {
                                        "supplyViewType": "spaceView",
                                        "supplyQuantity": 80,
                                        "supplyValidityEnd": "2026-05-01T00:00:00+02:00",
                                    },
                                    {
                                        "supplyViewType": "spaceView",
                                        "supplyQuantity": 120,
                                        "supplyValidityStart": "2026-05-01T00:00:00+02:00",
                                    },
                                ],
                                "demandTable": [
                                    {
                                        "timestamp": "2026-05-04T11:55:00Z",
                                        "demandType": [
                                            {
                                                "percentage": 12.5,
                                                "occupancyCalculation": "derived",
                                                "recordDateTime": "2026-05-04T13:50:00+02:00",
                                            },
                                            {
                                                "count": 17,
                                                "occupancyCalculation": "counted",
                                                "recordDateTime": "2026-05-04T11:55:00Z",
                                            },
                                            {
                                                "count": -3,
                                                "recordDateTime": "2026-05-04T11:56:00Z",
                                            },
                                            {"count": 4, "recordDateTime": "yesterday"},
                                        ],
                                    }
                                ],
                            }
                        ],
                    },
                    {
                        "id": "kerb",
                        "type": "identifiedArea",
                        "indicativeIdentifiedAreaPointLocation": [
                            {"type": "Point", "coordinates": [10.21, 56.16]}
                        ],
                        "characteristics": [{"spacesTotal": 30}],
                        "hierarchyElementReference": {
                            "demandTable": [
                                {
                                    "timestamp": "2026-05-04T11:50:00Z",
                                    "demandType": [
                                        {"count": 9, "recordDateTime": "2026-05-04T11:50:00Z"}
                                    ],
                                    "demandSpaceType": [
                                        {
                                            "spaceId": {"id": "kerb-1"},
                                            "detectionUpdateTime": "2026-05-04T11:51:00Z",
                                            "occupancyStartTime": "2026-05-04T11:00:00Z",
                                            "occupancyEndTime": "2026-05-04T11:51:00Z",
                                        },
                                        {
                                            "spaceId": {"id": "kerb-2"},
                                            "detectionUpdateTime": "2026-05-04T11:52:00Z",
                                            "occupancyEstimatedEndTime": "2026-05-04T13:00:00Z",
                                        },
                                    ],
                                }
                            ]
                        },
                    },
                    {"id": "lost", "type": "parkingPlace", "hierarchyElementReference": "kerb"},
                    {"className": "Session", "initiator": {"id": "AB12345"}},
                ],
            },
            expected="""
                place garage garage "Havnens P-hus" 10.2,56.15 parking capacity=120
                place garage kerb "kerb" 10.21,56.16 parking capacity=30
                unknown campus /data/0
                parking garage 2026-05-04T11:50:00Z occupied=15 capacity=120
                parking garage 2026-05-04T11:55:00Z occupied=17 capacity=120
                refused range /data/1/hierarchyElementReference/0/demandTable/0/demandType/2/count
                refused time /data/1/hierarchyElementReference/0/demandTable/0/demandType/3/recordDateTime
                parking kerb 2026-05-04T11:50:00Z occupied=9 capacity=30
                parking kerb-1 2026-05-04T11:51:00Z occupied=0 capacity=1
                unknown demandSpaceType /data/2/hierarchyElementReference/demandTable/0/demandSpaceType/1
                refused value /data/3/hierarchyElementReference
                unknown Session /data/4
            """,  # noqa: E501
        ),
        sample(
            "a place with a share and a count",
            {
                "meta": {},
                "data": [
                    {
                        "id": "p1",
                        "version": 1,
                        "type": "parkingPlace",
                        "name": [{"language": "en", "string": "North"}],
                        "indicativePlacePointLocation": [
                            {"type": "Point", "coordinates": [10, 56]}
                        ],
                        "hierarchyElementReference": {
                            "supply": [{"supplyViewType": "spaceView", "supplyQuantity": 50}],
                            "demandTable": [
                                {
                                    "timestamp": "2026-05-04T09:00:00Z",
                                    "demandType": [
                                        {"count": 20, "recordDateTime": "2026-05-04T08:59:00Z"},
                                        {
                                            "percentage": 25,
                                            "recordDateTime": "2026-05-04T09:00:00Z",
                                        },
                                        {
                                            "count": 1,
                                            "occupancyCalculation": "expected",
                                            "recordDateTime": "2026-05-05T09:00:00Z",
                                        },
                                    ],
                                    "demandSpaceType": [
                                        {
                                            "spaceId": {"id": "s9"},
                                            "detectionUpdateTime": "2026-05-04T09:00:00Z",
                                            "occupancyStartTime": "2026-05-04T08:00:00Z",
                                        }
                                    ],
                                }
                            ],
                        },
                    },
                    {"method": "anpr", "observedCredentialId": "AB12345"},
                ],
            },
            expected="""
                place garage p1 "North" 10,56 parking capacity=50
                parking p1 2026-05-04T08:59:00Z occupied=20 capacity=50
                parking p1 2026-05-04T09:00:00Z occupied=12 capacity=50
                unknown forecast /data/0/hierarchyElementReference/demandTable/0/demandType/2
                parking s9 2026-05-04T09:00:00Z occupied=1 capacity=1
                unknown anpr /data/1
            """,
        ),
    ),
    "wzdx": (
        sample(
            "a work zone, one that is over, and a device",
            {
                "type": "FeatureCollection",
                "features": [
                    {
                        "id": "w1",
                        "properties": {
                            "core_details": {"event_type": "work-zone", "road_names": ["A1"]},
                            "vehicle_impact": "all-lanes-closed",
                            "start_date": "2026-05-04T08:00:00Z",
                        },
                        "geometry": {"type": "LineString", "coordinates": [[10, 56], [10.1, 56]]},
                    },
                    {
                        "id": "w2",
                        "properties": {
                            "core_details": {"event_type": "work-zone"},
                            "end_date": "2026-05-04T11:00:00Z",
                        },
                        "geometry": None,
                    },
                    {"id": "d", "properties": {"core_details": {"device_type": "camera"}}},
                ],
            },
            expected="""
                event w1 RoadWorks 5 2026-05-04T08:00:00Z LineString "A1"
                ended w2
                unknown camera /features/2
            """,
        ),
    ),
    "cap": (
        sample(
            "an alert in two languages, its update, its end, and a test",
            _cap(),
            _cap(id="a2", kind="Update", references=_referring("a1")),
            _cap(id="a3", kind="Cancel", references=_referring("a2")),
            _cap(id="a4", status="Test"),
            '<!DOCTYPE alert [<!ENTITY a "b">]>' + _cap(),
            expected="""
                event a1 StrongWind 4 2026-05-04T08:00:00Z LineString "Strong wind"
                ended a1
                event a2 StrongWind 4 2026-05-04T08:00:00Z LineString "Strong wind"
                ended a2
                unknown alert (Test) /alert
                refused doctype
            """,
        ),
    ),
}
