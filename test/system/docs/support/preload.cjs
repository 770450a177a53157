// Loaded ahead of a documented program, which is run as it stands. It names port 3000 and `express`; the
// test needs any port that is free, and tells which Express.
const { Server } = require('node:net');
const Module = require('node:module');

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => process.send?.({ port: this.address().port }));
  return typeof port === 'number' || typeof port === 'string'
    ? listen.call(this, 0, '127.0.0.1', ...rest.filter((each) => typeof each === 'function'))
    : listen.call(this, port, ...rest);
};

const { DOCS_EXPRESS } = process.env;
if (DOCS_EXPRESS) {
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...rest) {
    return resolve.call(this, request === 'express' ? DOCS_EXPRESS : request, ...rest);
  };
}

// For a program that waits until the clock says that something has expired.
if (process.env.DOCS_FAST_CLOCK) {
  const { now } = Date;
  const start = now();
  Date.now = () => start + 20 * (now() - start);
}
