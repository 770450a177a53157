// Runs programs of the pages in one process, so that Express and the package are loaded once. A program begins with its
// own variables and an empty passport; the servers that it opened are closed when its test is over.
import Module from 'node:module';
import { Server } from 'node:net';
import { inspect } from 'node:util';
import passport from 'passport';

/** The programs that run, with their servers, the last one last. */
const running = [];

// Pages name port 3000; a test needs one that is free.
const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  const program = running.at(-1);
  program?.servers.push(this);
  this.once('listening', () => process.send({ id: program?.id, port: this.address().port }));
  if (typeof port === 'object') return listen.call(this, port, ...rest);
  return listen.call(this, 0, '127.0.0.1', ...rest.filter((each) => typeof each === 'function'));
};

const resolve = Module._resolveFilename;
Module._resolveFilename = function (name, ...rest) {
  const { DOCS_EXPRESS = name } = process.env;
  return resolve.call(this, name === 'express' ? DOCS_EXPRESS : name, ...rest);
};

let printed = '';
for (const stream of [process.stdout, process.stderr]) {
  const { write } = stream;
  stream.write = function (text, ...rest) {
    printed += text;
    return write.call(this, text, ...rest);
  };
}

process.on('message', async ({ id, file, env }) => {
  if (file === undefined) {
    for (const server of running.pop().servers) {
      server.close();
      server.closeAllConnections();
    }
    return;
  }
  running.push({ id, servers: [] });
  printed = '';
  process.env = env;
  passport.Authenticator.call(passport);
  try {
    // Each time anew, though it ran before with other variables.
    await import(`${file}?${id}`);
    process.send({ id, printed });
  } catch (error) {
    process.send({ id, failed: inspect(error) });
  }
});
