// The embedded MQTT 3.1.1 broker: aedes on a loopback port, in memory; on the network, with TLS,
// and for browsers (WebSocket) for devices only. What it is to do comes as JSON from the environment;
// it ends when its standard input closes, so that no broker outlives the process that started it.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { Aedes } from 'aedes'
import { bound, Bucket, Retained } from './broker_bounds.mjs'
import { guard } from './broker_guard.mjs'
import { listenFor } from './broker_listening.mjs'
import { derived, mayRead, NOBODY, operator, refusal, Rights } from './broker_rights.mjs'

const orders = JSON.parse(process.env.CITYWISE_BROKER)
delete process.env.CITYWISE_BROKER
const { username, password, prefix, rightsFile } = orders
const known = new Rights(orders)
const LOOK_MS = 500
const CONNECT_BYTES = 16 * 1024
const BACKLOG_BYTES = 1024 * 1024
const MOST_SESSIONS = 5 // of one device
const RETAINED_OF_SOURCES = [20_000, 64 * 1024 * 1024] // topics and bytes, at topics that are not ours to know
const RETAINED_OF_TOKENS = [200_000, 256 * 1024 * 1024] // at ours: places and states

const same = (a, b) => a.length === b.length && timingSafeEqual(a, b)
const equal = (given, expected) => same(Buffer.from(given ?? ''), Buffer.from(expected))
const passwordOf = (role) => createHmac('sha256', password).update(role).digest('hex') // as Broker.of_process
const refused = (returnCode, message) => Object.assign(new Error(message), { returnCode })

// -- who it is ------------------------------------------------------------------------

let devices = new Map()

/** The rights of whoever has this name and password; null for nobody. */
async function identify (name, secret) {
  if (!username) return operator()
  if (name === username && equal(secret, password)) return operator()
  if (rightsFile) readRights() // who was let in just now need not come again
  for (const role of known.roles) {
    if (name === `citywise.${role}` && equal(secret, passwordOf(role))) return known.ofProcess(role)
  }
  const entry = devices.get(name)
  if (!entry || !secret || isOver(entry) || !same(...await derived(entry.hash, secret))) return null
  // It may have been taken back meanwhile.
  return devices.get(name) === entry ? { ...known.ofDevice(name, entry), token: name } : null
}

const isOver = (entry) => entry.expires_ms !== null && entry.expires_ms <= Date.now()

async function authenticate (client, name, secret, done) {
  try {
    const rights = await identify(name, secret)
    if (!rights) return done(null, false)
    if (!rights.token && client.conn.isForDevices) return done(refused(5, 'devices only'), false)
    if (rights.isOwn && !rights.isOwn(client.id)) return done(refused(2, 'the client id must be the user name'), false)
    client.rights = rights
    if (rights.token && !remember(client)) return done(refused(3, 'too many connections with one token'), false)
    done(null, true)
  } catch (error) {
    console.error(`broker: ${error.stack}`)
    done(refused(3, 'server unavailable'), false)
  }
}

/** Read nothing more of a client until it is answered who it is: what comes in a packet of its own
 * before that would be dealt with as if it had been let in. */
function prepare (client, _packet, done) {
  client.pause() // aedes resumes it after its answer
  done(null, true)
}

// -- what it may ----------------------------------------------------------------------

/** Of whoever it is: nobody, before it is known. `client` is null for the will of who is gone. */
const rightsOf = (client) => client?.rights ?? NOBODY

const ofSources = new Retained(...RETAINED_OF_SOURCES)
const ofTokens = new Retained(...RETAINED_OF_TOKENS)

/** Note what is retained, but what the city itself retains; a reason where it would be too much. */
function tooMany (client, { topic, retain, payload }) {
  if (!retain) return null
  if (rightsOf(client).isForeign?.(topic)) return ofSources.note(topic, payload.length)
  return rightsOf(client).token || !payload.length ? ofTokens.note(topic, payload.length) : null
}

const REFUSED = '$refused' // Nobody may read it.
const discreet = (text) => text.replace(/\b([ump])-[a-z2-7]{20}/g, '$1-…') // accounts, meetings, people in them
const toldAt = new Map()

/** MQTT 3.1.1 has no way to refuse a message: a device whose connection is closed sends it again for
 * ever. So it is acknowledged and goes nowhere, and the log says so, once a minute for each device. */
function drop (client, packet, why) {
  const { token } = client.rights
  count(token, packet.topic, why)
  if (Date.now() - (toldAt.get(token) ?? -Infinity) >= 60_000) {
    toldAt.set(token, Date.now())
    console.error(discreet(`broker: a message of ${token} to ${packet.topic.slice(0, 200)} is dropped: ${why}`))
  }
  Object.assign(packet, { topic: REFUSED, payload: Buffer.alloc(0), retain: false })
}

/** Tell the ingest of a message that is dropped: it counts and shows it as a dead letter. */
function count (token, topic, why) {
  const payload = JSON.stringify({ topic: discreet(topic.slice(0, 200)), why: discreet(why).slice(0, 300) })
  broker.publish({ topic: `${REFUSED}/${token}`, payload, qos: 0, retain: false }, () => {})
}

function authorizePublish (client, packet, done) {
  const check = () => {
    const why = refusal(rightsOf(client), packet) ?? tooMany(client, packet)
    if (why && rightsOf(client).token) drop(client, packet, why)
    else if (why) return done(new Error(why))
    done(null)
  }
  const wait = client?.bucket?.take(packet.payload.length) ?? 0
  return wait > 0 ? setTimeout(check, wait) : check()
}

const broker = await Aedes.createBroker({
  id: 'citywise',
  queueLimit: 0,
  connectTimeout: 10_000,
  maxInflightInbound: 20,
  preConnect: prepare,
  authenticate,
  authorizePublish,
  authorizeSubscribe: (client, sub, done) => done(null, mayRead(rightsOf(client), sub.topic) ? sub : null),
  authorizeForward
})
broker.on('error', (error) => console.error(`broker: ${error.stack}`))

/** A session may hold a subscription that was refused, or was allowed once: ask again. */
function authorizeForward (client, packet) {
  if (rightsOf(client).token && client.conn.writableLength > BACKLOG_BYTES) client.conn.destroy()
  return mayRead(rightsOf(client), packet.topic) ? packet : null
}

// -- devices come and go --------------------------------------------------------------

const sessions = new Map()
const buckets = new Map()
let read = ''

/** Note a device's session; false if its token has too many, or too many connections. */
function remember (client) {
  const { id, clean, rights: { token, user, rate } } = client
  if (!sessions.has(token)) sessions.set(token, { lasting: new Set() })
  const { lasting } = sessions.get(token)
  const counted = `${rate.each} ${user}` // an account's phones together, and its sensors
  if (!buckets.has(counted)) buckets.set(counted, new Bucket(rate))
  const open = Object.values(broker.clients).filter((other) => rightsOf(other).token === token)
  const ids = new Set([...lasting, ...open.map((other) => other.id)])
  if (!ids.has(id) && ids.size >= MOST_SESSIONS) return false
  if (clean) lasting.delete(id)
  else lasting.add(id)
  client.bucket = buckets.get(counted)
  // Others do not wait for a device that does not read; how much waits for it is bounded.
  client.waitForDrain = (done) => setImmediate(done, null, client)
  return true
}

/** Read the rights file again if it has changed; one that cannot be read changes nothing. */
function readRights () {
  try {
    const { mtimeMs, size, ino } = statSync(rightsFile)
    const version = `${mtimeMs} ${size} ${ino}`
    if (version === read) return
    const { $sources: sources = {}, ...entries } = JSON.parse(readFileSync(rightsFile, 'utf8'))
    devices = new Map(Object.entries(entries))
    known.sources = sources
    read = version
  } catch (error) {
    if (error.code !== 'ENOENT') console.error(`broker: ${rightsFile}: ${error.message}`)
  }
}

/** Disconnect who has no token any more. */
function sweep () {
  if (rightsFile) readRights()
  for (const client of Object.values(broker.clients)) {
    const { token, role } = rightsOf(client)
    if (role) client.rights = known.ofProcess(role)
    if (!token) continue
    const entry = devices.get(token)
    if (entry && !isOver(entry)) {
      client.rights = { ...known.ofDevice(token, entry), token }
    } else {
      client.rights = NOBODY
      client.close()
    }
  }
  for (const token of sessions.keys()) {
    const entry = devices.get(token)
    if (!entry || isOver(entry)) forget(token).catch((error) => console.error(`broker: ${error.stack}`))
  }
}

/** Leave nothing of a device: sessions, what waits for it, its retained status. */
async function forget (token) {
  const { lasting } = sessions.get(token)
  sessions.delete(token)
  toldAt.delete(token)
  for (const id of lasting) {
    const client = { id }
    await broker.persistence.cleanSubscriptions(client)
    await broker.persistence.cleanIncoming(client)
    for await (const packet of broker.persistence.outgoingStream(client)) {
      await broker.persistence.outgoingClearMessageId(client, packet)
    }
  }
  broker.publish({ cmd: 'publish', topic: `${prefix}/status/${token}`, payload: Buffer.alloc(0), retain: true, qos: 0 })
}

// -- the network ----------------------------------------------------------------------

function take (connection, isForDevices) {
  connection.isForDevices = isForDevices
  guard(connection, () => {
    const client = broker.handle(connection)
    bound(connection, () => client.rights ? client.rights.largest ?? Infinity : username ? CONNECT_BYTES : Infinity)
  })
}

sweep()
setInterval(sweep, LOOK_MS)
const { ports, servers } = await listenFor(orders, take)
console.log(`listening ${JSON.stringify(ports)}`)

const stop = () => broker.close(() => { for (const each of servers) each.close(); process.exit(0) })
process.on('SIGTERM', stop)
process.on('SIGINT', () => {})
process.stdin.on('end', () => process.exit(0)).resume()
