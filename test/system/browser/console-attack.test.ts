import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';
import { type Running, start } from '../../unit/sandbox/support.js';

const keyOf = (running: Running) => running.sandbox.data.workspaces[0]?.api_key;

// What runs in the page is text: these files are compiled for Node, which has no DOM.
const attempts = (target: string): string => `(async () => {
  const console_ = ${JSON.stringify(`${target}/sandbox/console`)};
  const send = (path, init) => fetch(console_ + path, init)
    .then((answer) => answer.type + ' ' + answer.status, () => 'blocked');
  const form = new URLSearchParams({ workspace: 'northlight' });
  return {
    form: await send('/rotate', { method: 'POST', body: form, mode: 'no-cors' }),
    cors: await send('/rotate', { method: 'POST', body: form }),
    patch: await send('/switches', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: '{"faults":{"hang":true}}',
    }),
    page: await send('', {}),
    events: await new Promise((resolve) => {
      const source = new EventSource(console_ + '/events');
      source.onopen = () => resolve('open');
      source.onerror = () => { source.close(); resolve('blocked'); };
    }),
  };
})()`;

describe.skipIf(chromiumIsMissing())('a website that attacks the console', () => {
  async function openPage(): Promise<Page> {
    // The attacker's page has no policy; where the sandbox's own page stands in for it, that one is put aside.
    const context = await newContext({ bypassCSP: true });
    return context.newPage();
  }

  it('from its own address: neither reads nor changes anything', async () => {
    const running = await start();
    const attacker = await listen((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end(`<form method="post" action="${running.baseUrl}/sandbox/console/rotate">
<button name="workspace" value="northlight">A prize for you</button></form>
<a target="_blank" rel="opener" href="${running.baseUrl}/sandbox/console">More</a>`);
    });
    const page = await openPage();
    // Another site, and another port of the same one.
    for (const host of ['evil.example', '127.0.0.1']) {
      await page.goto(attacker.replace('127.0.0.1', host));
      expect(await page.evaluate(attempts(running.baseUrl))).toEqual({
        // Sent, as browsers send such forms, and refused there: its answer is not shown to the page.
        form: 'blocked',
        cors: 'blocked',
        patch: 'blocked',
        page: 'blocked',
        events: 'blocked',
      });
      await page.getByRole('button').click();
      await page.getByText('Another site asked for this.').waitFor();
    }
    expect(keyOf(running)).toBe(running.apiKey);
    expect(running.sandbox.faults.hang).toBe(false);
  });

  it('under a name of its own that it points at this machine', async () => {
    const running = await start();
    const { port } = new URL(running.baseUrl);
    const origin = `http://evil.example:${port}`;
    const page = await openPage();
    // To the browser this page and the console are one origin.
    await page.goto(`${origin}/nothing`);
    expect(await page.evaluate(attempts(origin))).toEqual({
      form: 'basic 403',
      cors: 'basic 403',
      patch: 'basic 403',
      page: 'basic 403',
      events: 'blocked',
    });
    const shown = await page.goto(`${origin}/sandbox/console`);
    expect(shown?.status()).toBe(403);
    expect(await shown?.text()).not.toContain(running.apiKey);
    expect(keyOf(running)).toBe(running.apiKey);
    expect(running.sandbox.faults.hang).toBe(false);
  });

  it('a window that it opened is out of its reach', async () => {
    const running = await start();
    const page = await openPage();
    await page.goto(`http://evil.example:${new URL(running.baseUrl).port}/nothing`);
    const opened = page.context().waitForEvent('page');
    await page.evaluate(
      `window.theirs = open(${JSON.stringify(`${running.baseUrl}/sandbox/console`)})`,
    );
    const theirs = await opened;
    await theirs.getByRole('heading', { name: 'Console' }).waitFor();
    // Cross-Origin-Opener-Policy: to the opener the window looks closed.
    await expect.poll(() => page.evaluate('theirs.closed')).toBe(true);
    expect(await theirs.evaluate('window.opener')).toBeNull();
  });
});
