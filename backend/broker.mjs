// The embedded MQTT 3.1.1 broker: aedes on a loopback port, in memory.
// Credentials come from the environment; it ends when its standard input closes,
// so that no broker outlives the process that started it.
import { createServer } from 'node:net'
import { timingSafeEqual } from 'node:crypto'
import { Aedes } from 'aedes'

const { BROKER_HOST = '127.0.0.1', BROKER_PORT = '0', BROKER_USERNAME, BROKER_PASSWORD } = process.env

const same = (given, expected) => {
  const [a, b] = [Buffer.from(String(given ?? '')), Buffer.from(String(expected ?? ''))]
  return a.length === b.length && timingSafeEqual(a, b)
}

const broker = await Aedes.createBroker({
  id: 'citywise',
  queueLimit: 0,
  authenticate: (_client, username, password, done) =>
    done(null, !BROKER_USERNAME || (same(username, BROKER_USERNAME) && same(password, BROKER_PASSWORD)))
})
// Small messages must not wait for the acknowledgement of those before them.
const server = createServer({ noDelay: true }, broker.handle)
server.on('error', (error) => {
  console.error(`broker: ${error.message}`)
  process.exit(1)
})
server.listen(Number(BROKER_PORT), BROKER_HOST, () => console.log(`listening ${server.address().port}`))

const stop = () => broker.close(() => server.close(() => process.exit(0)))
process.on('SIGTERM', stop)
process.on('SIGINT', () => {})
process.stdin.on('end', () => process.exit(0)).resume()
