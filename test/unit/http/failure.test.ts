import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../../src/http/failure.js';

describe('redaction', () => {
  const SECRET = `k&y "é" (1)!~'*/€😀`;
  const bytes = Buffer.from(SECRET);
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);

  it.each([
    ['as it is', SECRET],
    ['in other letter case', SECRET.toUpperCase()],
    ['in base64', bytes.toString('base64').replace(/=+$/, '')],
    ['in base64url', bytes.toString('base64url')],
  ])('takes a secret out of a sentence: %s', (_name, form) => {
    expect(redact(`<${form}>`, [SECRET])).toBe('<[redacted]>');
  });

  it.each([
    ['of a query', encodeURIComponent(SECRET)],
    ['of a form', new URLSearchParams({ '': SECRET }).toString().slice(1)],
    ['of each byte', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['of JSON', inJson(SECRET)],
    ['of PHP, which escapes a slash', inJson(SECRET).replaceAll('/', '\\/')],
    [
      'of JSON, by number',
      SECRET.replace(/[^ -~]|'/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ],
    [
      'of HTML',
      SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#039;'),
    ],
    [
      'of HTML, by number',
      SECRET.replace(/[^a-z]/gu, (c) => `&#x${c.codePointAt(0)?.toString(16)};`),
    ],
    ['of JSON in JSON', inJson(inJson(SECRET))],
    ['of a query in a query', encodeURIComponent(encodeURIComponent(SECRET))],
    ['of a query, many times over', '%25252541'],
    ['that nobody knows', '&eacute;'],
  ])('shows nothing of a text with a secret, or more escapes, behind escapes %s', (_name, form) => {
    expect(redact(`no ${form}!`, [SECRET])).toBe('[redacted]');
  });

  it.each(['a%41&amp;+\\n/b', 'x'.repeat(5000), ''])('copes with the secret %j', (secret) => {
    expect(redact('The code may not be longer', [secret])).toBe('The code may not be longer');
    expect(redact(`no ${encodeURIComponent(secret)}`, [secret])).not.toContain('x');
  });

  it('ignores letter case, for services change it', () => {
    expect(redact('unknown SECRETKEY', ['secretkey'])).toBe('unknown [redacted]');
  });

  it('takes out what looks like a code or key although we did not send it', () => {
    expect(redact('see 4f0c1d9e-7a35-4b62-9c1f-0d8e5a7b3c21 and a1a1a1a1a1a1a1a1', [])).toBe(
      'see [redacted] and [redacted]',
    );
  });

  it('does not stumble over a very long sentence', () => {
    // Quadratic once: a megabyte of one letter held the process for minutes.
    expect(redact('a'.repeat(4_000_000), ['secret']).length).toBeLessThan(210);
  });

  it.each([
    'The purchase_code field is required.',
    'It can&#039;t be found',
    '/d%C3%BCkkan/3',
    '100 %',
  ])('leaves a sentence standing: %s', (sentence) => {
    expect(redact(sentence, ['s3cr3t'])).toBe(sentence);
  });

  it('cuts what is too long and drops control characters', () => {
    expect(redact(`a\u0000\u001b[31mb${'x '.repeat(500)}`, []).length).toBeLessThan(210);
    expect(redact('a\u001b[31m\r\nb', [])).toBe('a [31m b');
  });

  it('never lets a secret through, whatever surrounds it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6, maxLength: 40 }).filter((s) => s.trim().length >= 6),
        fc.string({ maxLength: 30 }),
        fc.string({ maxLength: 30 }),
        (secret, before, after) => {
          const clean = redact(`${before}${secret}${after}`, [secret]);
          return !clean.replaceAll('[redacted]', '').toLowerCase().includes(secret.toLowerCase());
        },
      ),
    );
  });
});
