// Where devices connect over MQTT, if they can here.
import { ask } from './api.js';

let asked = null;

/** `host:port` and whether over TLS; null where this city's broker takes no devices. */
export function devicesBroker() {
  return (asked ??= ask('/me/tokens').then(({ broker }) => broker && {
    address: `${broker.host ?? location.hostname}:${broker.port}`,
    tls: broker.tls,
  }).catch(() => (asked = null)));
}
