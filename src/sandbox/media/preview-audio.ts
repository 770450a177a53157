import { randomOf } from './pictures.js';

const RATE = 11_025;
const NOTES = 14;
const NOTE_SECONDS = 0.26;
const TAIL_SECONDS = 0.9;
const SCALE = [0, 2, 4, 7, 9, 12, 14];
const ROOTS = [196, 220, 246.9, 261.6];

function header(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'ascii');
  head.writeUInt32LE(36 + bytes, 4);
  head.write('WAVEfmt ', 8, 'ascii');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20); // PCM
  head.writeUInt16LE(1, 22); // one channel
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'ascii');
  head.writeUInt32LE(bytes, 40);
  return head;
}

/** A few plucked notes as a WAV file of some four seconds, always the same for the same item. */
export function previewAudio(itemId: number): Buffer {
  const random = randomOf(`audio ${itemId}`);
  const pick = (choices: number[]) => choices[Math.floor(random() * choices.length)] ?? 0;
  const root = pick(ROOTS);
  const samples = Math.round((NOTES * NOTE_SECONDS + TAIL_SECONDS) * RATE);
  const mix = new Float32Array(samples);
  for (let note = 0; note < NOTES; note++) {
    const frequency = root * 2 ** (pick(SCALE) / 12);
    const start = Math.round(note * NOTE_SECONDS * RATE);
    for (let i = start; i < samples; i++) {
      const t = (i - start) / RATE;
      if (t > 1.2) break;
      const wave =
        Math.sin(2 * Math.PI * frequency * t) + 0.3 * Math.sin(4 * Math.PI * frequency * t);
      mix[i] = (mix[i] ?? 0) + wave * Math.exp(-4 * t) * Math.min(1, t * 200) * 0.25;
    }
  }
  const data = Buffer.alloc(samples * 2);
  mix.forEach((value, i) => {
    data.writeInt16LE(Math.round(Math.max(-1, Math.min(1, value)) * 32_000), i * 2);
  });
  return Buffer.concat([header(data.length), data]);
}
