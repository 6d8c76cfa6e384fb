// The meeting's room on a Jitsi Meet server, within our page. It mutes and stops sharing when the
// meeting wants it; nobody is unmuted, or made to share, but by themselves.
import { h } from 'citywise/elements.js';
import { t } from 'citywise/strings.js';

const loaded = new Map(); // Of each server a promise of its API.

/** The constructor that a server's `external_api.js` defines. */
function apiOf(server) {
  if (!loaded.has(server)) {
    loaded.set(server, new Promise((resolve, reject) => {
      const script = h('script', { src: `${server}/external_api.js`, onload: () => resolve(window.JitsiMeetExternalAPI) });
      script.addEventListener('error', () => {
        loaded.delete(server);
        reject(new Error(t('meet.room.unreachable')));
      });
      document.head.append(script);
    }));
  }
  return loaded.get(server);
}

export class JitsiRoom {
  isSharing = false; // Whether one shows one's screen there, as it last said.
  #api;
  #isMuted = true; // As the room last said.
  #wanted = { audio: 'free', share: 'allowed' };
  #said; // Called with `{ muted }` or `{ presents }` as it is there now.

  /** Open the room `{ server, room, wanted }` in `parent`; throws where the server is away. */
  static async open({ server, room, wanted }, parent, name, said) {
    const Api = await apiOf(server);
    return new JitsiRoom(new Api(new URL(server).host, {
      roomName: room, parentNode: parent, userInfo: { displayName: name }, lang: document.documentElement.lang,
      configOverwrite: { prejoinConfig: { enabled: false }, startWithAudioMuted: true, startWithVideoMuted: true },
    }), wanted, said);
  }

  constructor(api, wanted, said) {
    this.#api = api;
    this.#said = said;
    api.addListener('audioMuteStatusChanged', ({ muted }) => this.#mutes(muted));
    api.addListener('screenSharingStatusChanged', ({ on }) => {
      this.isSharing = on;
      this.#said({ presents: on });
      this.#act();
    });
    this.want(wanted);
  }

  /** Bring the room to what the meeting wants now. */
  want(wanted) {
    this.#wanted = wanted;
    this.#act();
  }

  /** Mute or unmute, as the person has chosen on our page. */
  mute(isMuted) {
    if (this.#isMuted === isMuted) return;
    this.#isMuted = isMuted; // The room will say so, but perhaps after the next look.
    this.#api.executeCommand('toggleAudio');
  }

  /** Show one's screen there, or no longer; the browser asks which. */
  shareScreen(isShared) {
    if (isShared === this.isSharing || (isShared && this.#wanted.share !== 'allowed')) return;
    this.#api.executeCommand('toggleShareScreen');
  }

  close() {
    this.#api.dispose();
  }

  #mutes(isMuted) {
    this.#isMuted = isMuted;
    this.#said({ muted: isMuted }); // Whether that may be is said by the meeting.
  }

  #act() {
    if (this.#wanted.audio === 'muted') this.mute(true);
    if (this.#wanted.share !== 'stopped' || !this.isSharing) return;
    this.isSharing = false;
    this.#api.executeCommand('toggleShareScreen');
  }
}
