// What the browser itself knows: whether the page is seen, the battery, the connection.
const fresh = { freshMs: Infinity }; // Told when it changes, and so until then.

/** A sensor that `read()`s now and whenever `target` dispatches one of `events`. */
function observed(name, find, events, read) {
  return {
    name,
    ...fresh,
    isThere: async () => Boolean(await find()),
    async start(tell) {
      const target = await find();
      const show = () => tell(read(target));
      for (const event of events) target.addEventListener(event, show);
      show();
      return () => events.forEach((event) => target.removeEventListener(event, show));
    },
  };
}

export const visible = observed('visible', async () => document, ['visibilitychange'],
  () => ({ visible: document.visibilityState === 'visible' }));

export const battery = observed('battery', async () => navigator.getBattery?.(), ['levelchange', 'chargingchange'],
  ({ level, charging }) => ({ battery_pct: charging ? 100 : Math.round(level * 100) }));

export const network = observed('network', async () => Number.isFinite(navigator.connection?.downlink) && navigator.connection, ['change'],
  ({ downlink }) => ({ network_mbps: downlink }));
