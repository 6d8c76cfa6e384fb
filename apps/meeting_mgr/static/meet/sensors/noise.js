// How loud it is around the device. The sound is measured here and goes nowhere: what is told is
// one number a second.
import { calibration } from './calibration.js';

const EVERY_MS = 500;
const SAMPLES = 32_768; // At 48 kHz the last 0.7 s.
const RAW = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

/** The level of samples in dB below full scale; null where there is no sound at all: a microphone
 * that is switched off is silent, a room never is. */
export function level(samples) {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return sum === 0 ? null : 10 * Math.log10(sum / samples.length);
}

async function isThere() {
  if (!navigator.mediaDevices?.getUserMedia) return false;
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.some(({ kind }) => kind === 'audioinput');
}

async function start(tell, failed) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: RAW });
  const [track] = stream.getAudioTracks();
  track.addEventListener('ended', () => failed(new DOMException('The microphone was taken away', 'NotReadableError')));
  const context = new AudioContext();
  const analyser = new AnalyserNode(context, { fftSize: SAMPLES });
  new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(analyser);
  const samples = new Float32Array(SAMPLES);
  // Where a browser lets nothing run before the page is touched, the first touch starts it.
  const resume = () => context.resume();
  document.addEventListener('pointerdown', resume, { once: true });

  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    const relative = context.state === 'running' ? level(samples) : null;
    if (relative === null) return;
    calibration.heard(relative);
    tell({ noise_db: Math.round((relative + calibration.offset) * 10) / 10 });
  }, EVERY_MS);

  return () => {
    clearInterval(timer);
    document.removeEventListener('pointerdown', resume);
    track.stop();
    context.close();
  };
}

export const noise = { name: 'noise', isThere, start };
