import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../../src/http/failure.js';

describe('redaction', () => {
  it('takes out a secret in every form that it was sent in', () => {
    const secret = `k&y "é" (1)!~'*/€😀`;
    const bytes = Buffer.from(secret);
    const forms = [
      secret,
      secret.toUpperCase(),
      encodeURIComponent(secret),
      new URLSearchParams({ '': secret }).toString().slice(1),
      [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
      JSON.stringify(secret).slice(1, -1),
      secret.replace(/[^ -~]|'/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
      secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#039;'),
      secret.replace(/[^a-z]/gu, (c) => `&#x${c.codePointAt(0)?.toString(16).toUpperCase()};`),
      bytes.toString('base64'),
      bytes.toString('base64url'),
      // PHP escapes a slash, and quotes what was quoted.
      JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
      JSON.stringify(JSON.stringify(secret)).slice(3, -3),
      encodeURIComponent(encodeURIComponent(secret)),
    ];
    for (const form of forms) expect(redact(`<${form}>`, [secret])).toMatch(/^<\[redacted\]=*>$/);
  });

  it('takes out a secret that looks like an escape, and says nothing where there are too many layers', () => {
    const secret = 'a%41&amp;+\\n/b';
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      expect(redact(`no ${form}!`, [secret])).toBe('no [redacted]!');
    }
    expect(redact(`no %${'25'.repeat(20)}41 known`, ['s3cr3t'])).toBe('[redacted]');
  });

  it('does not stumble over a very long secret', () => {
    const secret = 'x7'.repeat(500_000);
    expect(redact('The code may not be longer', [secret])).toBe('The code may not be longer');
    expect(redact(`${secret} is too long`, [secret])).toBe('');
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

  it('leaves the sentence standing', () => {
    const sentence = 'The purchase_code field is required.';
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
