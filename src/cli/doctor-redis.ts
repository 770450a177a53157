import type { Socket } from 'node:net';
import { addressOf, openConnection } from './connection.js';
import type { Report } from './finding.js';
import { inWords, noAnswer } from './probe.js';
import type { Settings } from './settings.js';

/** Redis is near, or it is of no use. */
const LONGEST = 3000;

/** Whether Redis answers PING: no client is needed for that, or need be installed. */
export async function checkRedis({ redisUrl, timeout }: Settings, report: Report): Promise<void> {
  if (redisUrl === undefined) {
    report('redis', 'skipped', 'not set up: fine for one process');
    return;
  }
  const url = URL.canParse(redisUrl) ? new URL(redisUrl) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') {
    report('redis', 'wrong', 'REDIS_URL must be a redis: or rediss: URL');
    return;
  }
  const problem = await problemOf(url, Math.min(timeout, LONGEST));
  if (problem === undefined) report('redis', 'ok', `${url.host} answers`);
  else report('redis', 'wrong', `${url.host}: ${problem}`);
}

async function problemOf(url: URL, timeout: number): Promise<string | undefined> {
  try {
    const address = addressOf(url, { 'redis:': 6379, 'rediss:': 6379 });
    const { socket, certificate } = await openConnection(address, timeout);
    if (certificate?.problem === undefined) return await askAll(socket, commands(url), timeout);
    socket.destroy();
    return `its certificate is not trusted (${certificate.problem})`;
  } catch (error) {
    return (error as Error).message;
  }
}

function commands({ username, password }: URL): string[][] {
  const [name, secret] = [decoded(username), decoded(password)];
  const auth = secret === '' ? [] : [['AUTH', ...(name === '' ? [] : [name]), secret]];
  return [...auth, ['PING']];
}

/** As in URLs; what is no encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A command in the protocol of Redis (RESP). */
const encoded = (words: readonly string[]): string =>
  [`*${words.length}`, ...words.flatMap((word) => [`$${Buffer.byteLength(word)}`, word]), ''].join(
    '\r\n',
  );

const REFUSALS: Readonly<Record<string, string>> = {
  NOAUTH: 'it wants a password',
  WRONGPASS: 'it refuses the user name or the password',
  ERR: 'it refuses the user name or the password',
  LOADING: 'it is loading its data; try again in a moment',
};

/** Sends the commands and waits for a reply to each. Gives what is wrong, in words. */
function askAll(
  socket: Socket,
  all: readonly string[][],
  timeout: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const end = (problem: string | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(problem);
    };
    const timer = setTimeout(
      () => end(`it accepts connections, but ${noAnswer(timeout)}`),
      timeout,
    );
    socket.once('error', (error) => end(inWords(error)));
    socket.once('close', () => end('it hung up: is this Redis?'));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const replies = text.split('\r\n').slice(0, -1);
      // Only the first word of a refusal: the rest could repeat what was sent.
      const refusal = replies.find((reply) => reply.startsWith('-'));
      const word = refusal?.slice(1).split(' ', 1)[0] ?? '';
      const isStrange = replies.some((reply) => !/^[+-]/.test(reply)) || text.length > 1024;
      if (isStrange) end('what it answers is not of Redis');
      else if (refusal !== undefined) end(REFUSALS[word] ?? `it answers ${word}`);
      else if (replies.length >= all.length) end(undefined);
    });
    socket.write(all.map(encoded).join(''));
  });
}
