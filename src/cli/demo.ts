import { once } from 'node:events';
import { connect } from 'node:net';
import { styleText } from 'node:util';
import { startShop } from '../../examples/shop/start.js';
import { createSandbox } from '../sandbox/index.js';
import { CommandError, printable, type RunOptions, table } from './io.js';
import { urlFlag } from './running-sandbox.js';
import { printRequest, warnInProduction } from './sandbox.js';

/** Whether another server has the port on the other address of localhost: browsers would open that one. */
const isTaken = async (port: number): Promise<boolean> => {
  const socket = connect(port, '::1');
  const answered = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return answered.finally(() => socket.destroy());
};

/** `marketgate demo`: the shop of examples/shop next to a sandbox, on one clock with it. */
export async function demo(given: unknown, options: RunOptions): Promise<void> {
  const { io, untilStopped, self } = options;
  const port = Number(given ?? 3000);
  if (given === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new CommandError('--port must be a whole number from 0 to 65535; 0 is any that is free');
  // Called first, so that Ctrl+C also works during the start.
  const stopped = untilStopped();
  const print = printRequest(io);
  const sandbox = createSandbox({
    // Browsers load the pictures, not the shop.
    onRequest: (request) => request.interface !== 'media' && print(request),
  });
  const { clock, codes } = sandbox;
  // Before the shop starts, because express-session has a warning of its own there.
  warnInProduction(options);
  try {
    // The address that commands ask by default, if it is free.
    const marketplace = await sandbox.listen(4000).catch(() => sandbox.listen());
    const start = async (on: number) => {
      if (await isTaken(on)) throw Object.assign(new Error(), { code: 'EADDRINUSE' });
      return startShop(marketplace, { port: on, host: '127.0.0.1', clock });
    };
    const shop = await start(port).catch((error: NodeJS.ErrnoException) => {
      if (given === undefined && error.code === 'EADDRINUSE') return start(0);
      const problem = error.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${error.code})`;
      throw new CommandError(`Port ${port} ${problem}; choose another with --port, or 0 for any`);
    });
    sandbox.redirectUrl = `${shop.origin}/callback`;
    const { baseUrl } = marketplace;
    const url = urlFlag(baseUrl, options);
    const rows = codes.slice(0, 6).map((each) => {
      return [`  ${each.code}`, printable(each.item_name), each.description];
    });
    io.out(`${styleText('bold', 'The shop is at')}         ${styleText('cyan', shop.origin)}
${styleText('bold', 'Its marketplace is at')}  ${styleText('cyan', `${baseUrl}/sandbox/console`)}

${styleText('bold', 'Codes to redeem in the shop')}
${table(rows)}

${styleText('bold', 'A walk')}
  1. Open the shop, log in as anybody, and redeem the first code: the item is yours to download.
  2. Refund it on the console, or with ${self} sandbox refund ${codes[0]?.code}${url}
  3. Press "+ 10 minutes" there, because the shop has the same clock. The first visit to the download is still
     let in, and makes the shop ask again; the second is refused.
${styleText('dim', '\nWhat the shop asks of its marketplace is printed here. Ctrl+C ends it.')}`);
    try {
      await stopped;
    } finally {
      shop.server.closeAllConnections();
      await shop.close();
    }
  } finally {
    await sandbox.close();
  }
}
