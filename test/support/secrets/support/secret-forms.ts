/** One secret of each kind: words that stand for nothing else, so that finding one means a leak. */
export const SENTINEL = {
  apiKey: 'c41d7e90b3f8265a1f6e0d9c84b7a352e8f1096d3c5b7a24f9e0d1c2b3a49586',
  appSecret: 'q7/Zr+w9 K~x=2%v&t"e\\n.8#u',
  authKey: 'xk29-auth-7e4d0b1f9a63c852',
  accessToken: 'tk83-access-51f0c7d2e6b94a08',
  code: '3f9a2d71-6c0e-4b58-9d14-e7a8b05c2f36',
  cookieSecret: 'cs47-cookie-9d3e5f6a8b7c1024e0f1a2b3',
  cacheSecret: 'sh61-cache-4b8d2e0f7c95a316d0b7e2',
} as const;

/** A secret as programs repeat it: in a sentence, in a query, encoded, in capitals, behind many words. */
export const repetitionsOf = (secret: string): string[] => [
  `The value "${secret}" is wrong.`,
  JSON.stringify({ value: secret }),
  `GET /api/x?value=${encodeURIComponent(secret)}&y=1`,
  new URLSearchParams({ value: secret }).toString(),
  Buffer.from(`key:${secret}:x`).toString('base64'),
  Buffer.from(secret).toString('base64url'),
  Buffer.from(secret).toString('hex'),
  secret.toUpperCase(),
  `${'1a'.repeat(2035)} ${secret}`,
];

/** The shortest form that is looked for, and by how many first characters it is found. */
const START = 8;

/**
 * The forms of a secret that a reader of a log could turn back: as it is, percent-encoded (as a query
 * has it, or every byte), JSON-escaped, in hex, and the middle of its base64 for each of the three ways
 * in which the bytes before it can end. All are in small letters.
 */
function formsOf(secret: string): Iterable<string> {
  const bytes = Buffer.from(secret);
  const inQuery = encodeURIComponent(bytes.toString());
  const base64 = [0, 1, 2].flatMap((before) =>
    (['base64', 'base64url'] as const).map((encoding) =>
      Buffer.concat([Buffer.alloc(before), bytes])
        .toString(encoding)
        .slice(4, -4),
    ),
  );
  const forms = [
    ...[secret, inQuery, inQuery.replaceAll('%20', '+'), JSON.stringify(secret).slice(1, -1)],
    ...[bytes.toString('hex'), bytes.toString('hex').replace(/../g, '%$&'), ...base64],
  ];
  return new Set(forms.map((form) => form.toLowerCase()).filter((form) => form.length >= START));
}

/** Many secrets, looked for in one pass over a text, by the first characters of their forms. */
export class SecretIndex {
  readonly #forms = new Map<string, { readonly form: string; readonly secret: string }[]>();

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret);
  }

  add(secret: string): void {
    for (const form of formsOf(secret)) {
      const start = form.slice(0, START);
      this.#forms.set(start, [...(this.#forms.get(start) ?? []), { form, secret }]);
    }
  }

  /** Which of the secrets a text shows, in any of their forms and any letter case. */
  secretsIn(text: string): string[] {
    const small = text.toLowerCase();
    const found = new Set<string>();
    for (let i = 0; this.#forms.size > 0 && i + START <= small.length; i++) {
      for (const { form, secret } of this.#forms.get(small.slice(i, i + START)) ?? []) {
        if (small.startsWith(form, i)) found.add(secret);
      }
    }
    return [...found];
  }
}
