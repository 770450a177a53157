import type { AccessToken } from '../model/access-token.js';
import { assertNone, assertToken } from './token-assertions.js';
import { type AddTest, someToken, someUser } from './token-store-setup.js';

/** What a `user_id` can be made of, and how the test is called. The service promises nothing. */
const ODD = {
  'a colon': (id: string) => `a:${id}:b`,
  'slashes and dots': (id: string) => `../${id}/..\\x`,
  blanks: (id: string) => ` ${id}  x\t`,
  'line breaks': (id: string) => `${id}\r\nx`,
  'letters of other scripts': (id: string) => `ünï-名前-${id}-🔑`,
  'quotes and wildcards': (id: string) => `'"\`%_*?[${id}]{};--$`,
  '5,000 characters': (id: string) => id + 'x'.repeat(5000),
};

/** Pairs of ids that a careless key takes for one. */
const ALIKE = {
  'by capitals': (id: string) => [`${id}a`, `${id}A`],
  'by a blank at the end': (id: string) => [id, `${id} `],
  'after 5,000 characters': (id: string) => ['1', '2'].map((end) => id + 'x'.repeat(5000) + end),
  'in how é is written': (id: string) => [`${id}\u00e9`, `${id}e\u0301`],
  'by dashes': (id: string) => [`${id}ab`, `${id}a--b`],
  'by escaping': (id: string) => [`${id}/`, `${id}%2F`],
};

/** That any `user_id` will do, and that no two are mixed up. */
export function addUserIdTests(add: AddTest): void {
  for (const [what, make] of Object.entries(ODD)) {
    add(`takes a user id with ${what}`, async (setup) => {
      const id = make(someUser());
      const token = someToken(setup);
      await setup.store.set(id, token);
      assertToken(await setup.store.get(id), token, 'after set');
      await setup.store.delete(id);
      assertNone(await setup.store.get(id), 'after delete');
    });
  }

  add('takes __proto__ for a user id like any other', async (setup) => {
    const { store } = setup;
    const token = someToken(setup);
    try {
      await store.set('__proto__', token);
      assertToken(await store.get('__proto__'), token, 'after set');
      assertNone(await store.get(someUser()), 'another user');
    } finally {
      await store.delete('__proto__');
    }
    assertNone(await store.get('__proto__'), 'after delete');
  });

  for (const [what, make] of Object.entries(ALIKE)) {
    add(`keeps user ids apart that differ only ${what}`, async (setup) => {
      const kept: { id: string; token: AccessToken }[] = [];
      for (const id of make(someUser())) {
        assertNone(await setup.store.get(id), 'an id like the first');
        const token = someToken(setup);
        await setup.store.set(id, token);
        kept.push({ id, token });
      }
      for (const { id, token } of kept) {
        assertToken(await setup.store.get(id), token, 'when both are set');
      }
    });
  }
}
