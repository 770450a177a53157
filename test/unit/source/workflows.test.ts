import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

interface Job {
  name: string;
  needs?: string | string[];
  permissions?: string | Record<string, string>;
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}

const folder = new URL('../../../.github/workflows/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const names = readdirSync(folder);
const jobs = names.flatMap((name) => {
  const workflow = parse(read(name)) as { jobs: Record<string, Job>; permissions?: string };
  return Object.entries(workflow.jobs).map(([id, job]) => ({
    ...{ permissions: workflow.permissions, ...job },
    name: `${name}: ${id}`,
  }));
});
const steps = jobs.flatMap(({ steps }) => steps);
const runsOf = (job?: Job): string[] => job?.steps.flatMap(({ run = [] }) => run) ?? [];

it('actions are those of one commit, which nobody can move as a tag can be moved', () => {
  const used = steps.flatMap(({ uses = [] }) => uses);
  expect(used.length).toBeGreaterThan(10);
  expect(used.filter((action) => !/^[\w./-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
});

it('a checkout keeps no credentials', () => {
  const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
  expect(checkouts.length).toBeGreaterThan(4);
  for (const checkout of checkouts)
    expect(checkout).toMatchObject({ with: { 'persist-credentials': false } });
});

it('a pull request gets no rights of the repository, and names nothing in a command', () => {
  for (const name of names)
    expect(read(name), name).not.toMatch(/pull_request_target|workflow_run/);
  for (const run of jobs.flatMap(runsOf)) expect(run).not.toMatch(/\$\{\{ *github\.(?!token)/);
});

it('a job writes only where it is listed, and what signs runs nothing of the repository', () => {
  const may = ({ permissions }: Job) =>
    typeof permissions === 'object' ? Object.values(permissions) : [permissions];
  const writing = jobs.filter((job) => !['read', 'read-all'].includes(may(job).join()));
  expect(writing.map(({ name, permissions }) => [name, permissions])).toEqual([
    ['codeql.yml: codeql', { contents: 'read', 'security-events': 'write' }],
    ['release.yml: publish', { 'id-token': 'write' }],
    ['site.yml: publish', { 'id-token': 'write', pages: 'write' }],
  ]);
  for (const { name, steps } of writing.filter(({ name }) => name.endsWith(': publish'))) {
    for (const { uses = '', run = '' } of steps) {
      expect(uses, name).not.toMatch(/^(actions\/(checkout|cache)@|\.)/);
      expect(run, name).not.toMatch(/\b(npx|node|sh|bash|npm (ci|i|install|run|test|exec|x))\b/);
    }
  }
});

it('a release is a commit of main, packed after all checks by a job that may not sign, published as that file', () => {
  const [tarball, publish] = ['tarball', 'publish'].map((id) =>
    jobs.find(({ name }) => name === `release.yml: ${id}`),
  );
  const runs = runsOf(tarball);
  expect(runs[0]).toBe('git merge-base --is-ancestor "$GITHUB_SHA" origin/main');
  expect(runs.slice(runs.indexOf('.ci/run') + 1)).toEqual(['npm pack --ignore-scripts']);
  expect(runs).toContain('node test/package/ready-to-publish.mjs');
  expect(publish?.needs).toBe('tarball');
  expect(runsOf(publish)).toEqual([
    'npm publish ./marketgate-*.tgz --ignore-scripts --provenance --access public',
  ]);
});
