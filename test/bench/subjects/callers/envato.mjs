import { Agent } from 'node:http';
import { Client } from 'envato';

/** The neighbouring service's client. Its answer is the purchase itself, in no envelope. */
export default async ({ origin }) => {
  class Local extends Client {
    // Not its `sandbox` option, which writes a warning with every request.
    _getFullRequestUrl(path) {
      return `${origin}${path}`;
    }
  }
  const client = new Local({
    token: 'bench',
    concurrency: 50,
    http: { agent: new Agent({ keepAlive: true }) },
  });
  return (code) => client.private.getSale(code);
};
