// Who may do what at the embedded broker. Patterns are as in MQTT: `+` is one level, `#` the rest.
// docs/mqtt.md has the same as a table; nothing is allowed that is not listed.
import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'

const PLACES = 'places/#'
const READINGS = ['observations/#', 'events/#'] // what sensors and detectors tell
const OPEN_EVENTS = 'city/events/+/+' // what we tell of them; `events/#` is what detectors do
const OPEN = [OPEN_EVENTS, 'city/readings/+/+'] // what every device may hear
const CITY = [PLACES, ...READINGS]
const GIVEN = ['sensors', 'places'] // by admins only, and not part of `all`
const RETAINED = ['places', 'events', 'city', 'clock', 'status']
const RATES = { person: { burst: 200, each: 50 }, sensor: { burst: 5000, each: 1 }, reading: { burst: 4, each: 500 } } // milliseconds
const REFUSALS = '$refused/+' // what the broker drops, told to the ingest alone
const DEVICE_BYTES = 512 * 1024 // a route of 10,000 points takes half of it
const READING_BYTES = 4096

const PROCESSES = {
  ingest: { read: [...CITY, 'context/#', 'clock'], write: [], hears: REFUSALS },
  source: { read: ['status/ingest', 'control/source'], write: [...CITY, 'clock'] },
  web: { read: [], write: [...CITY, 'control/source'] },
  connectors: { read: [], write: CITY },
  notifier: { read: ['notices/+/+/seen', OPEN_EVENTS], write: ['notices/+/+', ...OPEN] }
}

export const NOBODY = { read: [], write: [] }

/** Whether everything that a topic or filter names is named by a pattern, too. */
export function covers (pattern, filter) {
  const [wide, narrow] = [pattern.split('/'), filter.split('/')]
  for (const [place, level] of wide.entries()) {
    if (level === '#') return true
    if (place >= narrow.length || narrow[place] === '#') return false
    if (level !== '+' && level !== narrow[place]) return false
  }
  return wide.length === narrow.length
}

/** Rights of whoever knows the settings' password: all but the broker's own topics. */
export const operator = () => ({ read: ['#'], write: ['#'], retains: () => true })

/** Who may do what, of our own processes and of devices; `apps` is what apps add to it. */
export class Rights {
  constructor ({ prefix, largest, apps }) {
    this.prefix = prefix
    this.largest = largest
    this.sensors = [...READINGS, ...apps.sensors]
    const web = { ...PROCESSES.web, write: [...PROCESSES.web.write, ...apps.web] }
    this.processes = { ...PROCESSES, web, ...apps.processes }
    this.roles = Object.keys(this.processes)
    this.sources = {} // topics of foreign systems, whole, by the name of the source that reads them
  }

  /** Topics of sources that a device may send at: of those that its scope names, or of all. */
  topicsOf (scope) {
    return Object.entries(this.sources).filter(([name]) => isFor(scope ?? {}, name)).flatMap(([, topics]) => topics)
  }

  /** Rights of a process of ours. */
  ofProcess (role) {
    const { read, write, hears } = this.processes[role] ?? NOBODY
    const isOwn = (id) => id === role || id.startsWith(`${role}-`)
    const statusOf = (topic) => isStatus(topic, this.prefix, isOwn)
    const foreign = role === 'connectors' ? Object.values(this.sources).flat() : []
    const found = rights(this.prefix, read, write, { isOwn, role })
    return { ...found, read: [...found.read, ...foreign], statusOf, hears }
  }

  /** Rights of a device; `entry` is its own in the rights file: a token's, or with `write`
   * somebody's who sends to the topics of an app. */
  ofDevice (name, entry) {
    const isOwn = (id) => id.length <= 64 && (id === name || /^[-_.:]/.test(id.slice(name.length))) && id.startsWith(name)
    const more = { user: entry.user, isOwn }
    if (entry.write) return rights(this.prefix, [], entry.write, { ...more, largest: READING_BYTES, rate: RATES.reading })
    return this.ofToken(name, entry, more)
  }

  ofToken (token, entry, more) {
    const may = (right) => entry.rights.includes(right) || (!GIVEN.includes(right) && entry.rights.includes('all'))
    const feeds = GIVEN.some(may)
    const notices = `notices/${entry.user}/${token}`
    const read = may('notices') ? [...OPEN, notices] : OPEN
    const write = feeds ? [`status/${token}`] : []
    if (may('notices')) write.push(`${notices}/seen`)
    if (may('context')) write.push(`context/${entry.user}`)
    if (may('sensors')) write.push(...this.sensors)
    if (may('places')) write.push(PLACES)
    const foreign = may('sensors') ? this.topicsOf(entry.scope) : []
    return rights(this.prefix, read, write, {
      foreign,
      ...more,
      scope: entry.scope,
      largest: feeds ? this.largest : DEVICE_BYTES,
      rate: feeds ? RATES.sensor : RATES.person
    })
  }
}

/** Whether a token for some of the city is for the topics of a source, too (`Scope.sends_to`). */
const isFor = ({ sources = [], kinds = [], sensors = [], places = [] }, name) =>
  sources.length ? fits(sources, name) : !(kinds.length || sensors.length || places.length)

function isStatus (topic, prefix, isOwn) {
  const start = `${prefix}/status/`
  const id = topic.slice(start.length)
  return topic.startsWith(start) && !id.includes('/') && isOwn(id)
}

function rights (prefix, read, write, { foreign = [], ...more }) {
  const under = (patterns) => patterns.map((pattern) => `${prefix}/${pattern}`)
  const retained = under(RETAINED)
  const isForeign = (topic) => foreign.some((filter) => covers(filter, topic))
  const retains = (topic) => isForeign(topic) || retained.some((kind) => topic === kind || topic.startsWith(`${kind}/`))
  return { read: under(read), write: [...under(write), ...foreign], retains, isForeign, prefix, ...more }
}

/** Whether a topic or filter may be read. */
export const mayRead = (rights, filter) =>
  (filter[0] !== '$' && rights.read.some((pattern) => covers(pattern, filter))) ||
  (rights.hears !== undefined && covers(rights.hears, filter))

const glob = (pattern) => new RegExp(`^${pattern.split('*').map((part) => part.replace(/[.]/g, '\\$&')).join('.*')}$`)
const fits = (patterns, name) => !patterns.length || patterns.some((pattern) => glob(pattern).test(name))

/** Why a message is outside what a token is for (`backend/people/scopes.py`), or null. A shared topic
 * is looked into: each of its observations must be of a sensor of the token's. */
export function outside ({ kinds = [], sensors = [], places = [], sources = [], remove = false }, levels, payload) {
  const [room, kind, name] = levels
  if (room === 'places') {
    if (!fits(places, name ?? '')) return `place ${name}`
    return payload.length || remove ? null : `removing place ${name}`
  }
  if (room === 'status' || !(kinds.length || sensors.length || sources.length)) return null
  if (sources.length && !(kinds.length || sensors.length)) return levels.join('/')
  if (room !== 'observations' || levels.length > 3) return levels.join('/')
  if (!fits(kinds, kind)) return `kind ${kind}`
  if (!sensors.length) return null
  if (name !== undefined) return fits(sensors, name) ? null : `sensor ${name}`
  return others(sensors, payload)
}

/** Which sensor of a message's observations is none of some patterns', or null. */
function others (sensors, payload) {
  try {
    const told = JSON.parse(payload.toString())
    const found = (Array.isArray(told) ? told : [told]).map((one) => String(one?.sensor))
    const other = found.find((name) => !fits(sensors, name))
    return other === undefined ? null : `sensor ${other.slice(0, 64)}`
  } catch {
    return 'what is no JSON'
  }
}

/** Why a message may not be sent, or null. */
export function refusal (rights, { topic, retain, payload = '' }) {
  const may = rights.statusOf?.(topic) || rights.write.some((pattern) => covers(pattern, topic))
  if (topic[0] === '$' || !may) {
    return `not allowed to publish at ${topic}`
  }
  const levels = topic.slice(rights.prefix?.length + 1).split('/')
  const other = rights.scope && !rights.statusOf?.(topic) && !rights.isForeign?.(topic) ? outside(rights.scope, levels, payload) : null
  if (other) return `its token is not for ${other}`
  return retain && !rights.retains(topic) ? `nothing is retained at ${topic}` : null
}

const derive = promisify(pbkdf2)

/** The key of a password with the salt of a hash in mosquitto's form, `$7$rounds$salt$key`. */
export async function derived (hash, password) {
  const [, , rounds, salt, key] = hash.split('$')
  const expected = Buffer.from(key, 'base64')
  const found = await derive(password, Buffer.from(salt, 'base64'), Number(rounds), expected.length, 'sha512')
  return [found, expected]
}
