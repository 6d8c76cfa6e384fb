// Every page starts here.
import { city } from './city.js';
import './shown-to.js'; // Before the parts that ask only while they are seen.
import './account-data.js';
import './account-devices.js';
import './account-logins.js';
import './account-person.js';
import './announcer.js';
import './apps.js';
import { browserNotifications } from './browser-notifications.js';
import './connection.js';
import './dead-letters.js';
import './event-list.js';
import './garage-list.js';
import './kind-list.js';
import './log-in.js';
import './map.js';
import './menu.js';
import './my-consents.js';
import './my-context.js';
import './notice-list.js';
import './notice-wishes.js';
import './operator-accounts.js';
import './operator-audit.js';
import './operator-events.js';
import './operator-kinds.js';
import './operator-requests.js';
import './operator-sensors.js';
import './person-gate.js';
import './person-menu.js';
import './road-list.js';
import './system.js';
import './tabs.js';
import './test-person.js';
import './time-control.js';
import './traces.js';
import './weather.js';

city.start();
// Where the certificate is not trusted there is none; the account page says so.
if ('serviceWorker' in navigator) navigator.serviceWorker.register('/service-worker.js').catch(() => browserNotifications.refuse());
