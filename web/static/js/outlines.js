// Lines that are the outlines of areas.

/** Whether a line of points ends where it begins, and goes around something on the way. */
export const isOutline = (points) => `${points[0]}` === `${points.at(-1)}` && new Set(points.map(String)).size > 2;
