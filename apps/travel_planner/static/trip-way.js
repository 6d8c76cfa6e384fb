// A way as a line one moves along: places by metres from its beginning, and back.
const DEGREE_M = 111_320;
const radians = (degrees) => (degrees * Math.PI) / 180;

/** Metres east and north of `from` to `to`, both [lon, lat]; for a city's distances. */
function offset([fromLon, fromLat], [toLon, toLat]) {
  return [(toLon - fromLon) * DEGREE_M * Math.cos(radians((fromLat + toLat) / 2)), (toLat - fromLat) * DEGREE_M];
}

/** Metres between two [lon, lat]. */
export const metresBetween = (from, to) => Math.hypot(...offset(from, to));

const between = ([fromLon, fromLat], [toLon, toLat], share) =>
  [fromLon + (toLon - fromLon) * share, fromLat + (toLat - fromLat) * share];

export class Way {
  #points;
  #at = [0]; // Metres from the beginning to each point.

  /** `coordinates`: at least two [lon, lat]. */
  constructor(coordinates) {
    this.#points = coordinates;
    coordinates.slice(1).forEach((point, index) => this.#at.push(this.#at[index] + metresBetween(coordinates[index], point)));
  }

  get length() {
    return this.#at.at(-1);
  }

  /** Where one is after `metres`, and whereto one looks, in degrees from north. */
  at(metres) {
    const [index, share] = this.#leg(metres);
    const [from, to] = [this.#points[index], this.#points[index + 1]];
    const [lon, lat] = between(from, to, share);
    const [east, north] = offset(from, to);
    return { lon, lat, heading: (Math.atan2(east, north) * 180 / Math.PI + 360) % 360 };
  }

  /** Metres from the beginning to where the way is nearest to a [lon, lat]. */
  nearest(spot) {
    return this.#foot(spot).metres;
  }

  /** Metres from the way to a [lon, lat]. */
  distance(spot) {
    return this.#foot(spot).away;
  }

  #foot(spot) {
    let best = { metres: 0, away: Infinity };
    for (let index = 0; index + 1 < this.#points.length; index += 1) {
      const leg = offset(this.#points[index], this.#points[index + 1]);
      const here = offset(this.#points[index], spot);
      const square = leg[0] ** 2 + leg[1] ** 2;
      const share = square ? Math.min(1, Math.max(0, (leg[0] * here[0] + leg[1] * here[1]) / square)) : 0;
      const away = Math.hypot(here[0] - leg[0] * share, here[1] - leg[1] * share);
      if (away < best.away) best = { metres: this.#at[index] + Math.sqrt(square) * share, away };
    }
    return best;
  }

  /** The way cut at `metres`: what lies behind, and what is left. */
  cut(metres) {
    const [index, share] = this.#leg(metres);
    const here = between(this.#points[index], this.#points[index + 1], share);
    return [[...this.#points.slice(0, index + 1), here], [here, ...this.#points.slice(index + 1)]];
  }

  #leg(metres) {
    const found = this.#at.findIndex((at) => at >= metres);
    const index = Math.max(0, (found < 0 ? this.#at.length - 1 : found) - 1);
    const length = this.#at[index + 1] - this.#at[index];
    return [index, length ? Math.min(1, Math.max(0, (metres - this.#at[index]) / length)) : 0];
  }
}

/** The points of a plan's way up to where one arrives; of a garage the drive to it, if any. */
export function pointsOf({ kind, plan }) {
  const line = kind === 'parking' ? plan.drive?.geometry : plan.geometry;
  return line?.coordinates ?? [];
}
