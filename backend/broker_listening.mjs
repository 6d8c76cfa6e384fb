// Where the embedded broker is reached: at a loopback port by our own processes and by who is on
// this machine, from the network over TLS by devices, and by browsers over WebSocket.
import { readFileSync, statSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import { createWebSocketStream, WebSocketServer } from 'ws'

const MOST_CONNECTIONS = 10_000
const RENEW_MS = 60_000
const HANDSHAKE_MS = 10_000

/** Listen wherever the orders say; `take(connection, isForDevices)` is given every connection. The
 * ports that were taken, by what they are for, and the servers. */
export async function listenFor ({ host, port, secure, browsers }, take) {
  // Small messages must not wait for the acknowledgement of those before them.
  const servers = { own: createServer({ noDelay: true }, (connection) => take(connection, false)) }
  const ports = { own: await listening(servers.own, port, host) }
  if (secure) {
    servers.secure = forDevices(secure, take)
    ports.secure = await listening(servers.secure, secure.port, secure.host)
  }
  if (browsers) {
    servers.browsers = forBrowsers(browsers, take)
    ports.browsers = await listening(servers.browsers, browsers.port, browsers.host)
  }
  return { ports, servers: Object.values(servers) }
}

function forDevices (place, take) {
  const options = { ...certificate(place), noDelay: true, handshakeTimeout: HANDSHAKE_MS }
  const server = createSecureServer(options, (connection) => take(connection, true))
  return guarded(server, place)
}

/** MQTT over WebSocket, subprotocol `mqtt`; nothing else is served there. */
function forBrowsers (place, take) {
  const refuse = (_request, answer) => answer.writeHead(426, { Connection: 'close' }).end()
  const options = { noDelay: true, headersTimeout: HANDSHAKE_MS, requestTimeout: HANDSHAKE_MS }
  const server = place.certificate
    ? guarded(createHttpsServer({ ...options, ...certificate(place) }, refuse), place)
    : createHttpServer(options, refuse)
  server.maxConnections = MOST_CONNECTIONS
  const sockets = new WebSocketServer({
    server,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: place.largest,
    verifyClient: ({ req }) => offered(req).includes('mqtt'),
    handleProtocols: () => 'mqtt'
  })
  sockets.on('error', () => {}) // the server's own, which says it
  sockets.on('connection', (socket) => take(createWebSocketStream(socket), true))
  return server
}

const offered = (request) => (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())

const listening = (server, port, host) =>
  new Promise((resolve) => server.on('error', fail).listen(port, host, () => resolve(server.address().port)))

function fail (error) {
  console.error(`broker: ${error.message}`)
  process.exit(1)
}

const certificate = (place) => ({ cert: readFileSync(place.certificate), key: readFileSync(place.privateKey), minVersion: 'TLSv1.2' })

/** A certificate that has been renewed is used for whoever connects from then on. */
function guarded (server, place, changed = statSync(place.certificate).mtimeMs) {
  server.on('tlsClientError', () => {})
  server.maxConnections = MOST_CONNECTIONS
  setInterval(() => {
    try {
      const { mtimeMs } = statSync(place.certificate)
      if (mtimeMs === changed) return
      server.setSecureContext(certificate(place))
      changed = mtimeMs
    } catch (error) {
      console.error(`broker: ${place.certificate}: ${error.message}`)
    }
  }, RENEW_MS)
  return server
}
