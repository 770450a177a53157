import fs, {
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { newPath } from '../../support/new-path.js';
import { CALLBACK, infoBehind, it, start } from './support.js';

/** Replaces a function of node:fs until the test ends. */
function replaceFs<K extends 'writeFileSync' | 'renameSync'>(
  name: K,
  make: (original: (typeof fs)[K]) => (...args: Parameters<(typeof fs)[K]>) => void,
): void {
  const original = originals[name];
  const set = (value: unknown) => {
    Object.assign(fs, { [name]: value });
    syncBuiltinESMExports();
  };
  onTestFinished(() => set(original));
  set(make(original as (typeof fs)[K]));
}
const originals = { ...fs };

describe('snapshot and restore', () => {
  it('put data and switches back, also through JSON', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { sandbox } = running;
    const { data, faults, dialect } = sandbox;
    const code = running.code('supported');
    Object.assign(faults, { latency: 1, only: '/api/none' });
    const snapshot = JSON.parse(JSON.stringify(sandbox.snapshot()));
    data.refundPurchase(code);
    data.addPurchase({ item_id: 1042 });
    data.removeUser('3001');
    data.revokeApiKey('northlight');
    sandbox.redirectUrl = undefined;
    Object.assign(faults, { latency: 0, only: undefined, bom: true });
    dialect.nulls = false;
    expect((await running.validate(code)).status).toBe(404);

    sandbox.restore(snapshot);
    expect(sandbox.snapshot()).toEqual(snapshot);
    expect((await running.validate(code)).status).toBe(200);
    expect({ ...faults }).toMatchObject({ latency: 1, only: '/api/none', bom: false });
    const { redirectUrl } = sandbox;
    expect([dialect.nulls, data.purchases.length, redirectUrl]).toEqual([true, 12, CALLBACK]);
    // A snapshot is a copy: what comes later does not change it.
    data.refundPurchase(code);
    expect(snapshot.seed.purchases[0]).not.toHaveProperty('void');
  });

  it('restore the whole allowance of dialect.rateLimit', async () => {
    const running = await start();
    const { sandbox } = running;
    const before = sandbox.snapshot();
    const path = `/api/account/details?api_key=${running.apiKey}`;
    const statuses = [];
    for (let test = 0; test < 2; test++) {
      sandbox.dialect.rateLimit = 2;
      for (let i = 0; i < 3; i++) statuses.push((await running.get(path)).status);
      sandbox.restore(before);
    }
    expect(statuses).toEqual([200, 200, 429, 200, 200, 429]);
  });

  it.each([
    [null, /expected an object/],
    [{}, /expected an object/],
    [{ seed: { users: 5 }, switches: {} }, /seed\.users/],
    [{ seed: {}, switches: { 'faults.latancy': 1 } }, /faults\.latancy/],
  ])('%j is refused, and changes nothing', (snapshot, message) => {
    const sandbox = createSandbox();
    const before = sandbox.snapshot();
    expect(() => Reflect.apply(sandbox.restore, sandbox, [snapshot])).toThrow(message);
    expect(sandbox.snapshot()).toEqual(before);
  });
});

describe('a state file', () => {
  it('lets purchases, keys, users and switches outlive a restart', async () => {
    const state = newPath('state.json');
    const first = await start({ state });
    const { data, faults } = first.sandbox;
    const { purchase_code } = data.addPurchase({ item_id: 1046 });
    const key = data.rotateApiKey('northlight');
    data.removeUser('3005');
    faults.errorRate = 0.5;
    await first.sandbox.close();

    const second = await start({ state, dialect: { microseconds: true } });
    expect(second.apiKey).toBe(key);
    expect(second.sandbox.data.users).toHaveLength(4);
    expect(second.sandbox.faults.errorRate).toBe(0.5);
    // What the file says counts, not what a new sandbox would start with.
    expect(second.sandbox.dialect.microseconds).toBe(false);
    second.sandbox.faults.clear();
    expect((await second.validate(purchase_code)).status).toBe(200);
    expect(JSON.parse(readFileSync(state, 'utf8')).switches['faults.errorRate']).toBe(0);
    // Windows has no such mode.
    if (process.platform !== 'win32') expect(statSync(state).mode & 0o077).toBe(0);
  });

  it('that cannot be written any more is named, and what was to be written does not happen', async () => {
    const folder = newPath('folder');
    mkdirSync(folder);
    const { sandbox, apiKey, get, postJson } = await start({ state: join(folder, 'state.json') });
    sandbox.faults.times = 2;
    const before = sandbox.snapshot();
    rmSync(folder, { recursive: true });
    const { data, faults } = sandbox;
    const message = /^state: .*state\.json cannot be written \(ENOENT\), so nothing was changed$/;
    expect(() => data.addPurchase({ item_id: 1046 })).toThrow(message);
    expect(() => data.rotateApiKey('northlight')).toThrow(message);
    expect(() => {
      faults.latency = 3;
    }).toThrow(message);
    expect(() => sandbox.restore({ ...before, seed: { ...before.seed, users: [] } })).toThrow(
      message,
    );
    expect(sandbox.snapshot()).toEqual(before);
    const answer = await postJson('/sandbox/api/set', { nulls: true });
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ message: expect.stringMatching(message) });
    expect(sandbox.snapshot()).toEqual(before);
    mkdirSync(folder);
    faults.clear();
    expect((await get(`/api/account/details?api_key=${apiKey}`)).status).toBe(200);
  });

  it('is written once for all changes of a restore, a set or a clear, which happen as a whole', async () => {
    const state = newPath('state.json');
    const { sandbox, postJson } = await start({ state });
    const before = sandbox.snapshot();
    const other = createSandbox({ dialect: { nulls: true } });
    Object.assign(other.faults, { bom: true, latency: 1 });
    other.data.removeUser('3001');
    const after = other.snapshot();
    const patch = (changes: object) => postJson('/sandbox/api/set', changes);
    const diskFor = (writes: number) => {
      let left = writes;
      replaceFs('writeFileSync', (write) => (...args) => {
        if (left-- > 0) return write(...args);
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      });
    };
    const isSaved = () => {
      const saved = JSON.parse(readFileSync(state, 'utf8'));
      expect(saved).toEqual(JSON.parse(JSON.stringify(sandbox.snapshot())));
    };

    diskFor(0);
    const full = /cannot be written \(ENOSPC\), so nothing was changed$/;
    expect(() => sandbox.restore(after)).toThrow(full);
    expect((await patch({ bom: true, nulls: true })).status).toBe(500);
    expect(sandbox.snapshot()).toEqual(before);
    diskFor(1);
    sandbox.restore(after);
    expect(sandbox.snapshot()).toEqual(after);
    isSaved();
    expect(() => sandbox.faults.clear()).toThrow(full);
    expect((await patch({ bom: null, nulls: null })).status).toBe(500);
    expect(sandbox.snapshot()).toEqual(after);
    isSaved();
    diskFor(2);
    expect((await patch({ bom: null, nulls: null })).status).toBe(200);
    sandbox.faults.clear();
    expect(sandbox.snapshot()).toEqual({ ...before, seed: after.seed });
    isSaved();
  });

  it('of two sandboxes at once loses nothing of the first that writes', () => {
    const state = newPath('state.json');
    const [one, other] = [createSandbox({ state }), createSandbox({ state })];
    const { purchase_code } = one.data.addPurchase({ item_id: 1046 });
    expect(() => other.data.addPurchase({ item_id: 1046 })).toThrow(
      `state: ${state} was changed by another program, so nothing was changed here; give each sandbox a file of its own`,
    );
    expect(other.data.purchases).toHaveLength(12);
    one.faults.bom = true;
    const last = createSandbox({ state });
    expect(last.data.purchases.map((each) => each.purchase_code)).toContain(purchase_code);
    expect(last.faults.bom).toBe(true);
  });

  it('can be a link, and only its owner can read it, whatever was left there', () => {
    const [state, link] = [newPath('state.json'), newPath('link.json')];
    createSandbox({ state });
    symlinkSync(state, link);
    writeFileSync(`${state}.new`, 'of a process that was killed', { mode: 0o644 });
    createSandbox({ state: link }).faults.bom = true;
    expect(createSandbox({ state }).faults.bom).toBe(true);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    if (process.platform !== 'win32') expect(statSync(state).mode & 0o077).toBe(0);
  });

  it('is not written through a link that somebody puts in the place of its temporary file', () => {
    const [state, theirs] = [newPath('state.json'), newPath('theirs')];
    const sandbox = createSandbox({ state });
    writeFileSync(theirs, 'theirs');
    replaceFs('writeFileSync', (write) => (file, ...args) => {
      if (file === `${state}.new`) symlinkSync(theirs, `${state}.new`);
      write(file, ...args);
    });
    expect(() => sandbox.faults.clear()).not.toThrow();
    expect(() => sandbox.data.removeUser('3001')).toThrow('cannot be written (EEXIST)');
    expect(readFileSync(theirs, 'utf8')).toBe('theirs');
  });

  it('of data alone leaves the switches as they are', () => {
    const state = newPath('state.json');
    writeFileSync(state, '{"seed":{"users":[]}}');
    const sandbox = createSandbox({ state });
    expect([sandbox.data.users, sandbox.faults.latency]).toEqual([[], 0]);
  });

  it('that is empty is as good as none', () => {
    const state = newPath('state.json');
    writeFileSync(state, '');
    createSandbox({ state }).faults.bom = true;
    expect(createSandbox({ state }).faults.bom).toBe(true);
  });

  it('is written also while another program has it open, which on Windows forbids to replace it', () => {
    const state = newPath('state.json');
    replaceFs('renameSync', () => () => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    });
    createSandbox({ state }).faults.errorRate = 0.5;
    expect(JSON.parse(readFileSync(state, 'utf8')).switches['faults.errorRate']).toBe(0.5);
    expect(fs.existsSync(`${state}.new`)).toBe(false);
  });

  it('that cannot be read or written is named', () => {
    const state = newPath('state.json');
    writeFileSync(state, '{"seed":');
    expect(() => createSandbox({ state })).toThrow(`state: ${state} cannot be read as JSON`);
    writeFileSync(state, '{"seed":{"users":[{}]}}');
    expect(() => createSandbox({ state })).toThrow(`state: ${state}: seed.users[0].user_id`);
    writeFileSync(state, '[]');
    expect(() => createSandbox({ state })).toThrow(`state: ${state}: snapshot: expected an object`);
    const inside = join(state, 'x');
    expect(() => createSandbox({ state: inside })).toThrow(/cannot be written \(ENO(TDIR|ENT)\)/);
    expect(() => Reflect.apply(createSandbox, undefined, [{ state: 5 }])).toThrow('state');
  });
});

it('acceptLogin gives the callback URL with an auth_key of that user and app', async ({
  running,
}) => {
  const { sandbox } = running;
  const url = sandbox.acceptLogin('3002');
  expect(url).toMatch(/^http:\/\/localhost:3999\/callback\?auth_key=[0-9a-f]{32}$/);
  expect(await infoBehind(running, url)).toMatchObject({ user_id: '3002' });

  const other = String(sandbox.data.apps[1]?.app_id);
  expect(() => sandbox.acceptLogin('3001', { appId: other })).toThrow(
    'sandbox.data.setRedirectUrl(appId, url)',
  );
  sandbox.data.setRedirectUrl(other, 'http://localhost:5/in');
  expect(sandbox.acceptLogin('3001', { appId: other })).toMatch(
    /^http:\/\/localhost:5\/in\?auth_key=/,
  );
  expect(sandbox.acceptLogin('3001', { state: 'a b' })).not.toContain('state');
  sandbox.dialect.echoState = true;
  expect(sandbox.acceptLogin('3001', { state: 'a b' })).toMatch(
    /\?auth_key=[0-9a-f]{32}&state=a%20b$/,
  );
  expect(() => sandbox.acceptLogin('9')).toThrow('user_id: there is none');
  const misspelt = { appID: other } as object;
  expect(() => sandbox.acceptLogin('3001', misspelt)).toThrow('there is no option "appID"');
  expect(() => sandbox.acceptLogin('3001', { appId: 'x' })).toThrow('app_id: there is none');
});
