// Every page starts here.
import { city } from './city.js';
import './announcer.js';
import './apps.js';
import './connection.js';
import './event-list.js';
import './garage-list.js';
import './map.js';
import './menu.js';
import './my-context.js';
import './notice-list.js';
import './road-list.js';
import './system.js';
import './tabs.js';
import './time-control.js';
import './traces.js';
import './weather.js';

city.start();
if ('serviceWorker' in navigator) navigator.serviceWorker.register('/service-worker.js');
