import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../../src/redact.js';

describe('what a service says, in an error', () => {
  const SECRET = `k&y "é" (1)!~'*/€😀`;
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);

  it.each([
    ['the secret that was sent', SECRET, `<${SECRET}>`, '<[redacted]>'],
    ['it in another letter case', SECRET, `<${SECRET.toUpperCase()}>`, '<[redacted]>'],
    ['it with + for blanks', 'a b', 'no a+b', 'no [redacted]'],
    ['it trimmed, where it has a line break', 'my-key\n', 'no my-key!', 'no [redacted]!'],
    ['what looks like a code', '', 'see 4f0c1d9e-7a35-4b62-9c1f-0d8e5a7b3c21', 'see [redacted]'],
    ['what looks like a key', '', 'see a1a1a1a1a1a1a1a1', 'see [redacted]'],
    ['control characters', '', 'a\u001b[31m\r\nb', 'a [31m b'],
  ])('loses %s', (_what, secret, text, shown) => {
    expect(redact(text, [secret])).toBe(shown);
  });

  it.each([
    ['a query', encodeURIComponent(SECRET)],
    ['a query in a query', encodeURIComponent(encodeURIComponent(SECRET))],
    ['JSON', inJson('a "secret"')],
    ['PHP, which escapes a slash', 'a\\/b'],
    ['JSON, by number', '\\u006b'],
    ['HTML', 'k&amp;y'],
    ['HTML, by number', '&#039; &#x6b;'],
  ])('is withheld where it has escapes of %s', (_of, escaped) => {
    expect(redact(`no ${escaped}!`, [SECRET])).toBe('[redacted]');
  });

  it.each(['The purchase_code field is required.', '100 %', 'R & D; (x)'])(
    'is shown as it is where it has none: %s',
    (sentence) => {
      expect(redact(sentence, ['s3cr3t'])).toBe(sentence);
    },
  );

  it('is cut where it is long, in linear time', () => {
    expect(redact('x '.repeat(500), []).length).toBeLessThan(210);
    // Quadratic once: a megabyte of one letter held the process for minutes.
    expect(redact('a'.repeat(4_000_000), ['secret']).length).toBeLessThan(210);
  });

  it('never shows a secret, whatever surrounds it', () => {
    const around = fc.string({ maxLength: 30 });
    const secrets = fc.string({ minLength: 6, maxLength: 40 }).filter((s) => s.trim().length >= 6);
    fc.assert(
      fc.property(secrets, around, around, (secret, before, after) => {
        const shown = redact(`${before}${secret}${after}`, [secret]);
        return !shown.replaceAll('[redacted]', '').toLowerCase().includes(secret.toLowerCase());
      }),
    );
  });
});
