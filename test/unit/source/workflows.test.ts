import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}
interface Job {
  needs?: string | string[];
  permissions?: Permissions;
  steps: Step[];
}
type Permissions = string | Record<string, string>;
interface Workflow {
  on: unknown;
  permissions?: Permissions;
  jobs: Record<string, Job>;
}

const folder = new URL('../../../.github/workflows/', import.meta.url);
const workflows = readdirSync(folder).map((name) => ({
  ...(parse(readFileSync(new URL(name, folder), 'utf8')) as Workflow),
  name,
}));
const jobs = workflows.flatMap(({ name, jobs, permissions }) =>
  Object.entries(jobs).map(([id, job]) => ({ permissions, ...job, name: `${name}: ${id}` })),
);
const steps = jobs.flatMap(({ name, steps }) => steps.map((step) => ({ ...step, name })));

/** Without a list of its own, a token can do whatever the repository allows. */
const mayWrite = (permissions: Permissions | undefined): boolean =>
  typeof permissions === 'object'
    ? Object.values(permissions).includes('write')
    : permissions !== 'read-all';

describe('the workflows', () => {
  it('use actions of one commit, which nobody can move as a tag can be moved', () => {
    const used = steps.flatMap(({ uses = [] }) => uses);
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter((action) => !/^[\w./-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });

  it('leave no credentials in the checkout', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.length).toBeGreaterThan(4);
    for (const { name, with: options } of checkouts) {
      expect(options, name).toMatchObject({ 'persist-credentials': false });
    }
  });

  it('give no permission to write to all of their jobs', () => {
    const generous = workflows.filter(({ name, permissions }) =>
      // Code scanning has one job.
      name === 'codeql.yml' ? false : mayWrite(permissions),
    );
    expect(generous.map(({ name }) => name)).toEqual([]);
  });

  it('run no code of a pull request with the rights of the repository', () => {
    for (const { name, on } of workflows) {
      const events = typeof on === 'object' ? Object.keys(on ?? {}) : [on];
      expect(events, name).not.toContain('pull_request_target');
      expect(events, name).not.toContain('workflow_run');
    }
  });

  it('put nothing that a stranger names (a branch, a title) into a command', () => {
    for (const { name, run = '' } of steps)
      expect(run, name).not.toMatch(/\$\{\{ *github\.(?!token)/);
  });

  it('that may sign for this repository run nothing of it and install nothing', () => {
    const signing = jobs.filter(
      ({ permissions }) => typeof permissions === 'object' && permissions['id-token'] === 'write',
    );
    expect(signing.map(({ name }) => name)).toEqual(['release.yml: publish', 'site.yml: publish']);
    for (const { name, steps } of signing) {
      for (const { uses = '', run = '' } of steps) {
        expect(uses, name).not.toMatch(/^(actions\/(checkout|cache)@|\.)/);
        expect(run, name).not.toMatch(/\b(npx|node|sh|bash|npm (ci|i|install|run|test|exec|x))\b/);
      }
    }
  });
});

describe('a release', () => {
  const { tarball, publish } = workflows.find(({ name }) => name === 'release.yml')?.jobs ?? {};
  const runs = tarball?.steps.flatMap(({ run = [] }) => run) ?? [];

  it('is of a commit of main, checked before anything of it runs', () => {
    const checkout = tarball?.steps.find(({ uses }) => uses?.startsWith('actions/checkout@'));
    // A shallow checkout has no main.
    expect(checkout?.with).toMatchObject({ 'fetch-depth': 0 });
    expect(runs[0]).toBe('git merge-base --is-ancestor "$GITHUB_SHA" origin/main');
  });

  it('is what has been tested: packed after all checks, without scripts, by a job that may sign nothing', () => {
    const checked = runs.indexOf('.ci/run');
    expect(checked).toBeGreaterThan(0);
    expect(runs.slice(checked + 1)).toEqual(['npm pack --ignore-scripts']);
    expect(tarball?.permissions).toBeUndefined();
    expect(runs).toContain('node test/package/ready-to-publish.mjs');
  });

  it('is published as a file, without scripts', () => {
    expect(publish?.needs).toBe('tarball');
    const commands = publish?.steps.flatMap(({ run = [] }) => run);
    expect(commands).toEqual([
      'npm publish ./marketgate-*.tgz --ignore-scripts --provenance --access public',
    ]);
  });
});
