import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type express from 'express';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import { onTestFinished } from 'vitest';
import { createApp } from '../../../examples/downloads/app.js';
import { LicenceStore } from '../../../examples/downloads/licences.js';
import { Secrets } from '../../../examples/downloads/secrets.js';
import { listen } from '../../support/listen.js';

const SECRET = 'for-the-tests-only-0123456789abcdef';

/** The downloads example on a sandbox of its own. */
export interface Downloads {
  readonly origin: string;
  readonly sandbox: Sandbox;
  /** The file that the licences lie in. */
  readonly file: string;
  readonly keyApi: KeyApi;
  /** The first seeded code of a kind. */
  code(kind: string): string;
  /** The licences as another process would read them. */
  reopened(): Promise<LicenceStore>;
}

/** Opens it until the test is over. */
export async function openDownloads(version?: typeof express, host = '127.0.0.1') {
  const sandbox = createSandbox();
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
  onTestFinished(() => sandbox.close());
  const folder = await mkdtemp(join(tmpdir(), 'marketgate-downloads-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { clock } = sandbox;
  const keyApi = new KeyApi({ baseUrl, apiKey, clock, retries: 0 });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  onTestFinished(async () => void (await Promise.all([keyApi.close(), loginApi.close()])));
  const secrets = new Secrets(SECRET);
  const file = join(folder, 'licences.json');
  const licences = await LicenceStore.open({ file, secrets, clock });
  const mediaOrigin = new URL(baseUrl).origin;
  const app = createApp({
    ...{ keyApi, loginApi, licences, secret: SECRET, mediaOrigin, clock },
    ...(version && { express: version }),
  });
  const origin = (await listen(app)).replace('127.0.0.1', host);
  sandbox.redirectUrl = `${origin}/callback`;
  const opened: Downloads = {
    ...{ origin, sandbox, file, keyApi },
    code(kind) {
      const found = sandbox.codes.find((candidate) => candidate.kind === kind);
      if (found === undefined) throw new Error(`the sandbox has no code of kind ${kind}`);
      return found.code;
    },
    reopened: () => LicenceStore.open({ file, secrets, clock }),
  };
  return opened;
}
