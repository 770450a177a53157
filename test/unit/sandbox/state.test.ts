import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { newPath } from '../../support/new-path.js';
import { CALLBACK, it, start } from './support.js';

describe('snapshot and restore', () => {
  it('put data and switches back, also through JSON', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { sandbox } = running;
    const { data, faults, dialect } = sandbox;
    const code = running.code('supported');
    faults.at('/api/none').latency = 1;
    const snapshot = JSON.parse(JSON.stringify(sandbox.snapshot()));
    data.refundPurchase(code);
    data.addPurchase({ item_id: 1042 });
    data.addUser({ user_name: 'kim' });
    data.revokeApiKey('northlight');
    sandbox.redirectUrl = undefined;
    Object.assign(faults, { latency: 1, bom: true });
    faults.at('/api/none').latency = 0;
    dialect.nulls = false;
    expect((await running.validate(code)).status).toBe(404);

    sandbox.restore(snapshot);
    expect(sandbox.snapshot()).toEqual(snapshot);
    expect((await running.validate(code)).status).toBe(200);
    expect([faults.latency, faults.bom, faults.at('/api/none').latency]).toEqual([0, false, 1]);
    const { redirectUrl } = sandbox;
    expect([dialect.nulls, data.purchases.length, redirectUrl]).toEqual([true, 12, CALLBACK]);
    // A snapshot is a copy: what comes later does not change it.
    data.refundPurchase(code);
    expect(snapshot.seed.purchases[0]).not.toHaveProperty('void');
  });

  it.each([
    [null, /expected an object/],
    [{ seed: { users: [] }, switches: { 'faults.latancy': 1 } }, /faults\.latancy/],
  ])('%j is refused, and changes nothing', (snapshot, message) => {
    const sandbox = createSandbox();
    const before = sandbox.snapshot();
    expect(() => Reflect.apply(sandbox.restore, sandbox, [snapshot])).toThrow(message);
    expect(sandbox.snapshot()).toEqual(before);
  });
});

describe('a state file', () => {
  it('lets purchases, keys, users and switches outlive a restart, for its owner alone', async () => {
    const state = newPath('state.json');
    const first = await start({ state });
    const { data, faults } = first.sandbox;
    const { purchase_code } = data.addPurchase({ item_id: 1046 });
    const key = data.rotateApiKey('northlight');
    data.addUser({ user_name: 'kim' });
    faults.errorRate = 0.5;
    await first.sandbox.close();

    const second = await start({ state, dialect: { microseconds: true } });
    expect(second.apiKey).toBe(key);
    expect(second.sandbox.data.users).toHaveLength(6);
    expect(second.sandbox.faults.errorRate).toBe(0.5);
    // What the file says counts, not what a new sandbox would start with.
    expect(second.sandbox.dialect.microseconds).toBe(false);
    second.sandbox.faults.clear();
    expect((await second.validate(purchase_code)).status).toBe(200);
    expect(JSON.parse(readFileSync(state, 'utf8')).switches['faults.errorRate']).toBe(0);
    // Windows has no such mode.
    if (process.platform !== 'win32') expect(statSync(state).mode & 0o077).toBe(0);
  });

  it('has what faults that end after some requests have come to', async () => {
    const state = newPath('state.json');
    const running = await start({ state });
    Object.assign(running.sandbox.faults, { html: true, times: 2 });
    await running.validate('x');
    expect(createSandbox({ state }).faults).toMatchObject({ html: true, times: 1 });
    await running.validate('x');
    expect(createSandbox({ state }).faults).toMatchObject({ html: false, times: undefined });
  });

  it('that cannot be written is named, in code and by the API', async () => {
    const folder = newPath('folder');
    mkdirSync(folder);
    const { sandbox, postJson } = await start({ state: join(folder, 'state.json') });
    rmSync(folder, { recursive: true });
    const message = /^state: .*state\.json cannot be written \(ENOENT\)$/;
    expect(() => sandbox.data.addPurchase({ item_id: 1046 })).toThrow(message);
    const answer = await postJson('/sandbox/api/set', { nulls: true });
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(message)]);
    mkdirSync(folder);
    sandbox.faults.clear();
    expect(createSandbox({ state: join(folder, 'state.json') }).dialect.nulls).toBe(true);
  });

  it.each([
    ['{"seed":', ' cannot be read as JSON'],
    ['{"seed":{"users":[{}]}}', ': seed.users[0].user_id'],
    ['[]', ': snapshot: expected an object'],
  ])('that has %s is refused, and named', (text, problem) => {
    const state = newPath('state.json');
    writeFileSync(state, text);
    expect(() => createSandbox({ state })).toThrow(`state: ${state}${problem}`);
  });
});
