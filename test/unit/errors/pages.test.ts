import { readdirSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import express from 'express';
import { errorHandler, MarketgateError, type MarketgateErrorCode } from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';
import { WARNINGS, type WarningCode } from '../../../src/diagnostics.js';
import { ERROR_CODES } from '../../../src/errors.js';
import { cli } from '../cli/support.js';

const FOLDER = new URL('../../../src/errors/pages/', import.meta.url);
const codes = Object.keys(ERROR_CODES) as MarketgateErrorCode[];
const warnings = Object.keys(WARNINGS) as WarningCode[];
const read = (code: string): string => readFileSync(new URL(`${code}.md`, FOLDER), 'utf8');

/** All sources, so that a page that shows a message of yesterday is found. */
const SRC = new URL('../../../src/', import.meta.url);
const SOURCES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(new URL(name, SRC), 'utf8'))
  .join('\n');

const HEADINGS = ['What happened', 'Why', 'What to do', 'In the log', 'What the visitor gets'];

/** Words that mean nothing to a visitor. */
const FOR_DEVELOPERS =
  /\b(?:operator|npx|api|api_?key|app_?id|app_?secret|auth_?key|access_?token|token|cache|redis|http|json|server|session|middleware|null|undefined|store|response|[a-z]+_[a-z_]+)\b/i;

const blockOf = (page: string, language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``).exec(page)?.[1] ?? '';

const headingsOf = (page: string) => [...page.matchAll(/^## (.*)$/gm)].map(([, text]) => text);

/** The part of a page below a heading. */
const part = (page: string, heading: string): string =>
  page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';

it('the pages are one for every code', () => {
  const pages = [...codes, ...warnings].map((code) => `${code}.md`);
  expect(readdirSync(FOLDER).sort()).toEqual(pages.sort());
});

it.each(codes)('the page of %s says what happened, why and what to do', async (code) => {
  const page = read(code);
  const { status, title, detail } = ERROR_CODES[code];
  expect(page.startsWith(`# ${code}\n\nHTTP ${status}. ${title}.\n\n`)).toBe(true);
  expect(headingsOf(page)).toEqual(HEADINGS);
  expect(part(page, 'What to do')).toMatch(/\*\*Operator\.\*\* \S[\s\S]*\*\*Visitor\.\*\* \S/);

  // The log and the answer that it shows are those of the package.
  const shown = blockOf(part(page, 'In the log'), 'text');
  const [, path = '/', message = ''] =
    /^(?:marketgate: GET (\S+) .*?: |MarketgateError: )(.*?)(?: \(npx marketgate .*\))?$/m.exec(
      shown,
    ) ?? [];
  const [, seconds] = /retryAfter: (\d+)/.exec(shown) ?? [];
  const error = new MarketgateError(code, message, seconds ? { retryAfter: Number(seconds) } : {});
  error.stack = `MarketgateError: ${error.message}\n    at …`;
  const log = vi.fn();
  const app = express()
    .get(path, (_req, _res, next) => next(error))
    .use(errorHandler({ log }));
  const answer = await request(app).get(path).expect(status);
  expect([shown]).toEqual(log.mock.calls[0] ?? [inspect(error)]);
  const json = JSON.parse(blockOf(part(page, 'What the visitor gets'), 'json'));
  expect(json).toMatchObject({ title, detail });
  expect(answer.body).toMatchObject(json);
  // A browser gets a page in words for visitors, with a way on.
  const { text: html } = await request(app).get(path).set('accept', 'text/html').expect(status);
  for (const words of [title, detail]) expect(html).toContain(words.replace(/'/g, '&#39;'));
  expect(html.replace(/<style>[\s\S]*<\/style>|<[^>]*>/g, ' ')).not.toMatch(FOR_DEVELOPERS);
  expect(html).toMatch(/<a href=|<form method="post"/);
  // What does not vary in the message is a text of the sources.
  const parts = message.replace(/"[^"]*"/g, '\n').split(/[^a-z_ -]/i);
  const fixed = parts.map((each) => each.trim().replace(/^(but|get) /, ''));
  for (const text of fixed.filter(({ length }) => length > 20)) expect(SOURCES).toContain(text);
});

it.each(warnings)('the page of the warning %s has its text as Node writes it', (code) => {
  const page = read(code);
  const start = `^# ${code}\n\nA warning, once in each process\\. .{15,}\\.\n\n`;
  expect(page).toMatch(new RegExp(start));
  expect(headingsOf(page)).toEqual(HEADINGS.slice(0, 4));
  const text = `${WARNINGS[code]} (npx marketgate explain ${code})`;
  const shown = blockOf(part(page, 'In the log'), 'text');
  expect(shown).toBe(`(node:1234) [${code}] MarketgateWarning: ${text}`);
});

it('a page or a message that names a guide does so by its title, and by its path for a reader in a terminal', () => {
  const texts = [SOURCES, ...[...codes, ...warnings].map(read)].join('\n');
  const mentions = texts.match(/\bguide\b[\s\S]{0,120}/g) ?? [];
  expect(mentions.length).toBeGreaterThan(5);
  for (const mention of mentions) {
    const [, title, path = ''] =
      /^guide\s"([^"]+)"\s\(`?node_modules\/marketgate\/(examples\/guides\/[\w-]+\.md)/.exec(
        mention,
      ) ?? [];
    const guide = path && readFileSync(new URL(`../${path}`, SRC), 'utf8');
    expect([mention, guide.split('\n', 1)]).toEqual([mention, [`# ${title}`]]);
  }
});

it('marketgate explain prints each page as plain text, and without a code a line for each', async () => {
  const pages = [...codes, ...warnings];
  for (const page of pages) {
    const { code, out } = await cli(['explain', page]);
    expect([page, code]).toEqual([page, 0]);
    expect(out).not.toMatch(/^#|^```|\*\*/m);
    const wordsOf = (text: string) => text.replace(/^```\w*|^#+|\*\*|`/gm, '').match(/\S+/g);
    expect(wordsOf(out)).toEqual(wordsOf(read(page)));
  }
  const lines = (await cli(['explain'])).out.split('\n').slice(0, pages.length);
  expect(lines.map((line) => line.split(' ', 1)[0])).toEqual(pages);
  for (const line of lines) expect(line).toMatch(/^\w+ +(?:\d{3}|warning) +[A-Z][^`*]{20,}\.$/);
});

it.each([
  ['402', /^purchase_required\n/],
  ['503', /^service_unavailable +503 .*\nstore_unavailable +503 /],
  ['refund', /^purchase_code_invalid +403 /],
  ['Purchase_Required', /^purchase_required\n/],
  ['purchase code invalid', /^purchase_code_invalid\n/],
  ['code invalid', /^purchase_code_invalid\n/],
  ['Login-failed', /^login_failed\n/],
  ['support expired', /^support_expired\n/],
  ['auth key', /^auth_key_rejected +401 /],
])('marketgate explain takes a status or words, and prints the only page: %s', async (...row) => {
  const { code, out } = await cli(['explain', ...row[0].split(' ')]);
  expect([code, out]).toEqual([0, expect.stringMatching(row[1])]);
});
