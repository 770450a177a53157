import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { portOf, refusing } from '../../support/listen.js';
import { TestAuthority } from './certificates.js';
import { diagnose } from './support.js';

describe('doctor asks Redis', () => {
  const tcp = (serve: (socket: Socket) => void): Promise<number> => portOf(createServer(serve));

  const redis = async (url: string, ...flags: string[]) => {
    const diagnosis = await diagnose({ REDIS_URL: url }, ...flags);
    return { ...diagnosis, status: diagnosis.found.redis, detail: diagnosis.said.redis };
  };

  /** Answers each command as Redis does that has this password. */
  const lookalike = (password: string, onConnection = (_: Socket): unknown => undefined) =>
    tcp((socket) => {
      onConnection(socket);
      let isIn = password === '';
      socket.on('data', (chunk) => {
        for (const command of String(chunk).split(/(?=\*\d+\r\n)/)) {
          const words = command.split('\r\n').filter((each) => !/^[*$]/.test(each));
          const auth = words.indexOf('AUTH');
          if (auth >= 0) isIn = words[auth + 1] === 'ada' && words[auth + 2] === password;
          if (auth >= 0 && !isIn) socket.write(`-WRONGPASS bad ${words[auth + 2]}\r\n`);
          else if (words[0] === 'HELLO' && isIn) socket.write('%1\r\n+server\r\n+redis\r\n');
          else if (!isIn) socket.write('-NOAUTH Authentication required.\r\n');
          else socket.write(words[0] === 'PING' ? '+PONG\r\n' : '+OK\r\n');
        }
      });
    });
  const always = (answer: string) => (socket: Socket) =>
    void socket.on('data', () => socket.write(answer));

  it('that answers, with a password too', async () => {
    expect((await redis(`redis://127.0.0.1:${await lookalike('')}`)).status).toBe('ok');
    const port = await lookalike('p@ss');
    expect((await redis(`redis://ada:p%40ss@127.0.0.1:${port}/2`)).status).toBe('ok');
  });

  it('with node-redis 4, whose clients have no destroy(), and hangs up', async () => {
    const { createClient } = await import('redis');
    vi.doMock('redis', () => ({
      createClient(options: Parameters<typeof createClient>[0]) {
        const client = createClient(options);
        const disconnect = client.destroy.bind(client);
        return Object.assign(client, { destroy: undefined, disconnect: async () => disconnect() });
      },
    }));
    onTestFinished(() => vi.doUnmock('redis'));
    const sockets: Socket[] = [];
    const port = await lookalike('', (socket) => sockets.push(socket));
    expect(await redis(`redis://127.0.0.1:${port}`)).toMatchObject({
      status: 'ok',
      detail: `127.0.0.1:${port} answers`,
    });
    expect(sockets).toHaveLength(1);
    await expect.poll(() => sockets[0]?.readyState).not.toBe('open');
    const gone = await redis(await refusing().then((url) => url.replace('http:', 'redis:')));
    expect(gone.detail).toContain('the connection was refused');
  });

  it('that requires a password, or refuses it; which is not repeated', async () => {
    const port = await lookalike('hunter2');
    const none = await redis(`redis://127.0.0.1:${port}`);
    expect(none).toMatchObject({ status: 'wrong', code: 1 });
    expect(none.detail).toContain('it requires a password');
    const wrong = await redis(`redis://ada:hunter3@127.0.0.1:${port}`);
    expect(wrong.detail).toContain('it refuses the user name or the password');
    expect(wrong.out).not.toMatch(/hunter|ada/);
  });

  it.each([
    ['a closed port', 'the connection was refused', undefined],
    ['one that hangs', 'sends no answer within 200 ms', () => undefined],
    ['one that hangs up', 'its answer is not that of Redis', (socket: Socket) => void socket.end()],
    ['something else', 'its answer is not that of Redis', always('HTTP/1.1 400 Bad\r\n\r\n')],
    ['one that loads', 'it is loading its data', always('-LOADING wait\r\n')],
  ])('%s', async (_name, sentence, serve) => {
    const port = serve ? await tcp(serve) : new URL(await refusing()).port;
    const found = await redis(`redis://:hunter2@127.0.0.1:${port}`, '--timeout', '200');
    expect(found.status).toBe('wrong');
    expect(found.detail).toContain(sentence);
    expect(found.out).not.toContain('hunter2');
  });

  it.each([
    ...['localhost', 'http://localhost', 'redis:', 'redis://127.0.0.1:1/main'],
    ...['redis://:p%ss@127.0.0.1:1', 'redis://:p%ss@127.0.0.1:x'],
  ])('REDIS_URL %s, which is not repeated', async (url) => {
    const found = await redis(url);
    expect([found.status, found.code]).toEqual(['wrong', 1]);
    expect(found.detail).toBe(
      'REDIS_URL must be a redis: or rediss: URL as in redis://user:password@host:6379/0, with "%" in its user name or password written as "%25"',
    );
    expect(found.out).not.toContain('p%ss');
  });

  it('which has not that many databases', async () => {
    const port = await tcp(always('-ERR DB index is out of range\r\n'));
    expect((await redis(`redis://127.0.0.1:${port}/99`)).detail).toContain(
      'the user name, the password or the number of the database',
    );
  });

  it('over TLS with a certificate nobody knows: the password stays here', async () => {
    const heard: Buffer[] = [];
    const server = createTlsServer(new TestAuthority().selfSigned(), (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => heard.push(chunk));
    });
    server.on('tlsClientError', () => undefined);
    const found = await redis(`rediss://:hunter2@127.0.0.1:${await portOf(server)}`);
    expect(found.detail).toContain('its certificate is self-signed');
    expect(heard).toEqual([]);
  });
});
