// A fault in what is done for one client ends that client's connection, and not the broker.
import { AsyncLocalStorage } from 'node:async_hooks'

const served = new AsyncLocalStorage()

/** Serve a connection; whatever is raised for it, now or later, closes it and is logged. */
export function guard (connection, serve) {
  const emit = connection.emit
  connection.emit = (...event) => during(connection, () => emit.apply(connection, event))
  during(connection, serve)
}

function during (connection, work) {
  try {
    return served.run(connection, work)
  } catch (error) {
    close(connection, error)
    return false
  }
}

function close (connection, error) {
  console.error(`broker: a connection is closed: ${error?.stack ?? error}`)
  connection.destroy()
}

// What is raised for nobody in particular leaves the broker in a state that nobody knows.
process.on('uncaughtException', (error) => {
  const connection = served.getStore()
  if (connection) return close(connection, error)
  console.error(`broker: ${error?.stack ?? error}`)
  process.exit(1)
})
