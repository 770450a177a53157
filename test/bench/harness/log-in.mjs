// A subject: browsers that log in, in a process of their own.
import { Pool } from 'undici';

const read = async (answer, status) => {
  const text = await answer.body.text();
  if (answer.statusCode !== status) throw new Error(`HTTP ${answer.statusCode}: ${text}`);
  return text;
};

let last = 0;

export default async () => ({
  /** So many logins, ten at a time, each in a browser of its own. Resolves to the last answer. */
  async send({ url, amount }) {
    const pool = new Pool(url, { connections: 20 });
    let begun = 0;
    let answer;
    const browser = async () => {
      while (begun++ < amount) {
        const login = await pool.request({ method: 'GET', path: '/login' });
        await read(login, 302);
        const cookie = String(login.headers['set-cookie']).split(';')[0];
        const state = new URL(login.headers.location).searchParams.get('state') ?? '';
        const key = `bench-${last++}`;
        const path = `/callback?auth_key=${key}&code=${key}&state=${encodeURIComponent(state)}`;
        answer = await read(await pool.request({ method: 'GET', path, headers: { cookie } }), 200);
      }
    };
    await Promise.all(Array.from({ length: 10 }, browser));
    await pool.close();
    return answer;
  },
});
