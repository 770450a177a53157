import { randomOf } from './pictures.js';

const RATE = 11_025;
const NOTES = 14;
const NOTE_SECONDS = 0.26;
const TAIL_SECONDS = 0.9;
const SCALE = [0, 2, 4, 7, 9, 12, 14];
const ROOTS = [196, 220, 246.9, 261.6];

/** The header of a WAV file: PCM, one channel, 16 bits a sample. */
function header(bytes: number): Buffer {
  const head = Buffer.from('RIFF....WAVEfmt ....................data....', 'latin1');
  head.writeUInt32LE(36 + bytes, 4);
  head.writeUInt32LE(16, 16);
  head.writeUInt32LE(0x0001_0001, 20);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * 2, 28);
  head.writeUInt32LE(0x0010_0002, 32);
  head.writeUInt32LE(bytes, 40);
  return head;
}

/** A few plucked notes as a WAV file of some four seconds, always the same for the same item. */
export function previewAudio(itemId: number): Buffer {
  const random = randomOf(`audio ${itemId}`);
  const pick = (choices: number[]) => choices[Math.floor(random() * choices.length)] ?? 0;
  const root = pick(ROOTS);
  const mix = new Float32Array(Math.round((NOTES * NOTE_SECONDS + TAIL_SECONDS) * RATE));
  for (let note = 0; note < NOTES; note++) {
    const turn = 2 * Math.PI * root * 2 ** (pick(SCALE) / 12);
    const start = Math.round(note * NOTE_SECONDS * RATE);
    const end = Math.min(mix.length, start + 1.2 * RATE);
    for (let i = start; i < end; i++) {
      const t = (i - start) / RATE;
      const wave = Math.sin(turn * t) + 0.3 * Math.sin(2 * turn * t);
      mix[i] = (mix[i] ?? 0) + wave * Math.exp(-4 * t) * Math.min(1, t * 200) * 0.25;
    }
  }
  const samples = Int16Array.from(mix, (value) => Math.max(-1, Math.min(1, value)) * 32_000);
  const data = Buffer.from(samples.buffer);
  return Buffer.concat([header(data.length), data]);
}
