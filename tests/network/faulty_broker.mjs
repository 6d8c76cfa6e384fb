// A broker whose handler fails in the way that the topic of a subscription names.
import { createServer } from 'node:net'
import { Aedes } from 'aedes'
import { guard } from '../../backend/broker_guard.mjs'

const fail = () => { throw new Error('a fault of the test') }
const WAYS = {
  'at once': fail,
  'in a tick': () => process.nextTick(fail),
  immediately: () => setImmediate(fail),
  'in a timer': () => setTimeout(fail, 1),
  'in a promise': () => { Promise.resolve().then(fail) },
  'after waiting': async () => { await new Promise((resolve) => setTimeout(resolve, 1)); fail() }
}

const broker = await Aedes.createBroker({
  authorizeSubscribe: (_client, sub, done) => sub.topic in WAYS ? WAYS[sub.topic]() : done(null, sub)
})
const server = createServer((connection) => guard(connection, () => broker.handle(connection)))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.on('end', () => process.exit(0)).resume()
