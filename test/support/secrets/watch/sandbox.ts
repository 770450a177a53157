import {
  createSandbox as create,
  type Sandbox,
  type SandboxOptions,
} from '../../../../src/sandbox/./index.js';
import { sweep } from './sweep.js';

// Stands in for the sandbox in every test (see vitest.config.ts); the odd path above is the real one.
export * from '../../../../src/sandbox/./index.js';

let count = 0;

/** The real sandbox: its secrets are in play from now on, and its record is one of the exits. */
export function createSandbox(options?: SandboxOptions): Sandbox {
  const sandbox = create(options);
  const { app, data } = sandbox;
  const collect = (): void => {
    for (const { api_key } of data.workspaces) sweep.secret('api_key', api_key);
    for (const { app_secret } of data.apps) sweep.secret('app_secret', app_secret);
    for (const { purchase_code } of data.purchases) sweep.secret('purchase_code', purchase_code);
  };
  collect();
  sweep.services.add(app);
  count++;
  sweep.out('sandbox.requests', `${count}`, () => {
    // Also those that were made meanwhile.
    collect();
    return JSON.stringify(sandbox.requests);
  });
  return sandbox;
}
