// Runs programs of the pages in one process, so that Express and the package are loaded once. A program begins with its
// own variables and an empty passport; the servers that it opened are closed when its test is over.
import { Server } from 'node:net';
import { inspect } from 'node:util';
import passport from 'passport';

/** The servers of the programs that run, the last program last. */
const running = [];
const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  running.at(-1)?.push(this);
  return listen.apply(this, args);
};

let count = 0;
process.on('message', async ({ file, env }) => {
  if (file === undefined) {
    for (const server of running.pop()) {
      server.close();
      server.closeAllConnections();
    }
    return;
  }
  running.push([]);
  process.env = env;
  passport.Authenticator.call(passport);
  try {
    // Each time anew, though it ran before with other variables.
    await import(`${file}?${count++}`);
  } catch (error) {
    process.send({ failed: inspect(error) });
  }
});
