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
  count++;
  sweep.services.add(sandbox.app);
  collect(sandbox);
  sweep.out(`sandbox ${count}`, () => {
    collect(sandbox);
    return { exit: 'sandbox.requests', text: JSON.stringify(sandbox.requests) };
  });
  return sandbox;
}

function collect({ data }: Sandbox): void {
  for (const { api_key } of data.workspaces) sweep.secret('api_key', api_key);
  for (const { app_secret } of data.apps) sweep.secret('app_secret', app_secret);
  for (const { purchase_code } of data.purchases) sweep.secret('purchase_code', purchase_code);
}
