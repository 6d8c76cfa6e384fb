// A plan for others and other programs: its address, its line as GPX, and its time for a calendar.
import { t } from 'citywise/strings.js';
import { plans } from './plans.js';
import { PARKING, toQuery } from './request.js';

const XML = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const xml = (text) => text.replace(/[&<>"]/g, (sign) => XML[sign]);
// RFC 5545: commas and the like are escaped, and a line has at most 75 bytes.
const ics = (text) => text.replace(/[\\;,]/g, (sign) => `\\${sign}`).replace(/\n/g, '\\n');
const stamp = (ms) => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '');

function folded(line) {
  const lines = [''];
  let bytes = 0;
  for (const sign of line) {
    const size = new TextEncoder().encode(sign).length;
    if (bytes + size > 74) {
      lines.push(' ');
      bytes = 1;
    }
    lines[lines.length - 1] += sign;
    bytes += size;
  }
  return lines.join('\r\n');
}

/** What somebody looks at, or else the best. */
export const chosen = () => plans.option(plans.marked) ?? plans.options.find((option) => option.chosen) ?? plans.options[0];

/** The address of the plan: where somebody is themselves stands in it as a place. */
export function address() {
  const { from, ...rest } = plans.request;
  const start = from?.isMe ? { lat: from.lat, lon: from.lon, name: t('plan.from') } : from;
  return location.origin + location.pathname + toQuery({ ...rest, from: start });
}

export const title = () => t('plan.share.title', { place: plans.request.to?.name ?? t('plan.destination') });

/** The way to drive or go as a track; null where there is no line. */
export function gpx(option) {
  const line = (plans.kind === PARKING ? option.drive?.geometry : option.geometry)?.coordinates;
  if (!line) return null;
  const points = line.map(([lon, lat]) => `<trkpt lat="${lat}" lon="${lon}"/>`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="Citywise" xmlns="http://www.topografix.com/GPX/1/1"><metadata><name>${xml(title())}</name></metadata><trk><name>${xml(title())}</name><trkseg>${points}</trkseg></trk></gpx>\n`;
}

/** The trip as an entry of a calendar (RFC 5545). */
export function calendar(option) {
  const begin = Date.parse(option.departs ?? plans.answer.now);
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Citywise//Plan//EN', 'BEGIN:VEVENT', `UID:${plans.answer.plan}-${option.id}@citywise`,
    `DTSTAMP:${stamp(Date.now())}`, `DTSTART:${stamp(begin)}`, `DTEND:${stamp(Date.parse(option.arrives))}`, `SUMMARY:${ics(title())}`,
    `LOCATION:${ics(option.name ?? plans.request.to?.name ?? '')}`, `URL:${address()}`, 'END:VEVENT', 'END:VCALENDAR'];
  return `${lines.map(folded).join('\r\n')}\r\n`;
}
