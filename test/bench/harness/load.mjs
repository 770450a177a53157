// A subject: the load generator, in a process of its own. Made on bare sockets and not with one of the
// known tools, which cost more than the server that is measured, on the same machine.
import { connect } from 'node:net';

const STATUS = Buffer.from('HTTP/1.1 200 ');

/** One keep-alive connection; an answer is complete after as many bytes as the head promises. */
class Connection {
  #socket;
  #answered;
  #head = Buffer.alloc(0);
  #left = 0;
  sentAt = 0;

  constructor(host, port, onAnswer, onFailure) {
    this.#answered = onAnswer;
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on('data', (chunk) => this.#read(chunk, onFailure));
    this.#socket.on('error', onFailure);
    this.#socket.on('end', () => onFailure(new Error('the connection was closed')));
  }

  send(bytes) {
    this.#socket.write(bytes);
  }

  close() {
    this.#socket.destroy();
  }

  #read(chunk, onFailure) {
    let rest = chunk;
    if (this.#left === 0) {
      this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [, length] = /content-length: (\d+)/i.exec(this.#head.latin1Slice(0, end)) ?? [];
      if (length === undefined || !this.#head.subarray(0, STATUS.length).equals(STATUS)) {
        onFailure(new Error(`not a 200 with a length: ${this.#head.latin1Slice(0, end)}`));
        return;
      }
      this.#left = Number(length);
      rest = this.#head.subarray(end + 4);
      this.#head = Buffer.alloc(0);
    }
    this.#left -= rest.length;
    if (this.#left <= 0) this.#answered(this);
  }
}

const requestsOf = (url, headers) => {
  const { hostname, port, pathname } = new URL(url);
  const requests = headers.map((each) => {
    const lines = Object.entries(each).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\n${lines.join('')}\r\n`);
  });
  return { hostname, port, requests };
};

export default async () => ({
  /**
   * Sends `amount` requests over some connections, one at a time on each, going round the headers that
   * are given. Any status but 200 fails.
   */
  send({ url, amount, headers = [{}], connections = 10 }) {
    const { hostname, port, requests } = requestsOf(url, headers);
    return new Promise((resolve, reject) => {
      let sent = 0;
      let answered = 0;
      const all = [];
      const end = (settle, value) => {
        for (const connection of all) connection.close();
        settle(value);
      };
      const next = (connection) => {
        if (sent < amount) connection.send(requests[sent++ % requests.length]);
      };
      const onAnswer = (connection) => {
        answered++;
        if (answered === amount) end(resolve, { answered });
        else next(connection);
      };
      const fail = (error) => end(reject, error);
      for (let i = 0; i < connections; i++)
        all.push(new Connection(hostname, port, onAnswer, fail));
      for (const connection of all) next(connection);
    });
  },

  /**
   * Sends a request every so often for some seconds, whether those before are answered or not. Resolves to when
   * each was sent and how long it waited, in milliseconds.
   */
  arrive({ url, headers, perSecond, seconds }) {
    const { hostname, port, requests } = requestsOf(url, headers);
    return new Promise((resolve, reject) => {
      const [all, idle, waits] = [[], [], []];
      const amount = perSecond * seconds;
      const begun = performance.now();
      let sent = 0;
      const end = (settle, value) => {
        clearInterval(timer);
        for (const connection of all) connection.close();
        settle(value);
      };
      const onAnswer = (connection) => {
        const at = connection.sentAt - begun;
        waits.push({ at, wait: performance.now() - connection.sentAt });
        idle.push(connection);
        if (waits.length === amount) end(resolve, waits);
      };
      const open = () => {
        all.push(new Connection(hostname, port, onAnswer, (error) => end(reject, error)));
        return all.at(-1);
      };
      for (let i = 0; i < 50; i++) idle.push(open());
      const sendDue = () => {
        const due = Math.min(amount, Math.floor(((performance.now() - begun) * perSecond) / 1000));
        while (sent < due) {
          const connection = idle.pop() ?? open();
          connection.sentAt = performance.now();
          connection.send(requests[sent++ % requests.length]);
        }
      };
      const timer = setInterval(sendDue, 1);
    });
  },
});
