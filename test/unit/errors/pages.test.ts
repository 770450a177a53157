import { readdirSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import express from 'express';
import { errorHandler, MarketgateError, type MarketgateErrorCode } from 'marketgate';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
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

describe.each(codes)('the page of %s', (code) => {
  const page = read(code);
  const { status, title, detail } = ERROR_CODES[code];
  const appThat = (error: Error, log: (line: string) => void = () => {}, path = '/') =>
    express()
      .get(path, (_req, _res, next) => next(error))
      .use(errorHandler({ log }));
  const app = appThat(new MarketgateError(code, 'x'));

  it('gives the status and the title; says what happened, why and what to do', () => {
    expect(page.startsWith(`# ${code}\n\nHTTP ${status}. ${title}.\n\n`)).toBe(true);
    expect(headingsOf(page)).toEqual(HEADINGS);
    expect(part(page, 'What to do')).toMatch(/\*\*Operator\.\*\* \S[\s\S]*\*\*Visitor\.\*\* \S/);
  });

  it('shows the log as it is', async () => {
    const shown = blockOf(part(page, 'In the log'), 'text');
    const [, path = '', message = ''] =
      /^(?:marketgate: GET (\S+) .*?: |MarketgateError: )(.*?)(?: \(npx marketgate .*\))?$/m.exec(
        shown,
      ) ?? [];
    const error = new MarketgateError(code, message);
    if (status >= 500) {
      const lines: string[] = [];
      await request(appThat(error, (line) => lines.push(line), path)).get(path);
      expect([shown]).toEqual(lines);
    } else {
      const [, seconds] = /retryAfter: (\d+)/.exec(shown) ?? [];
      const options = seconds === undefined ? {} : { retryAfter: Number(seconds) };
      const logged = new MarketgateError(code, message, options);
      logged.stack = `MarketgateError: ${logged.message}\n    at …`;
      expect(shown).toBe(inspect(logged));
    }
    // What does not vary in it is a text of the sources.
    const parts = message.replace(/"[^"]*"/g, '\n').split(/[^a-z_ -]/i);
    const fixed = parts.map((each) => each.trim().replace(/^(but|get) /, ''));
    for (const text of fixed.filter(({ length }) => length > 20)) expect(SOURCES).toContain(text);
  });

  it('shows the answer as it is', async () => {
    const answer = await request(app).get('/').expect(status);
    const shown = JSON.parse(blockOf(part(page, 'What the visitor gets'), 'json'));
    expect(shown).toEqual(answer.body);
    expect(shown).toMatchObject({ title, detail });
  });
});

describe.each(warnings)('the page of %s', (code) => {
  const page = read(code);

  it('says that it is a warning, what happened, why and what to do', () => {
    const start = `^# ${code}\n\nA warning, once in each process\\. .{15,}\\.\n\n`;
    expect(page).toMatch(new RegExp(start));
    expect(headingsOf(page)).toEqual(HEADINGS.slice(0, 4));
  });

  it('shows the log as Node writes it', async () => {
    const text = `${WARNINGS[code]} (npx marketgate explain ${code})`;
    const shown = blockOf(part(page, 'In the log'), 'text');
    expect(shown).toBe(`(node:1234) [${code}] MarketgateWarning: ${text}`);
  });
});

describe('marketgate explain', () => {
  it.each([
    ['402', /^purchase_required\n/],
    ['503', /^service_unavailable +503 .*\nstore_unavailable +503 /],
    ['refund', /^purchase_code_invalid +403 /],
    ['Purchase_Required', /^purchase_required\n/],
  ])(
    '%s: takes a status and a word too; the only page is printed, several are listed',
    async (what, expected) => {
      const { code, out } = await cli(['explain', what]);
      expect([code, out]).toEqual([0, expect.stringMatching(expected)]);
    },
  );

  it.each([...codes, ...warnings])('prints the page of %s as plain text', async (page) => {
    const { code, out } = await cli(['explain', page]);
    expect(code).toBe(0);
    expect(out).not.toMatch(/^#|^```|\*\*/m);
    const wordsOf = (text: string) => text.replace(/^```\w*|^#+|\*\*|`/gm, '').match(/\S+/g);
    expect(wordsOf(out)).toEqual(wordsOf(read(page)));
  });

  it('without a code lists them all, a line each', async () => {
    const { code, out } = await cli(['explain']);
    expect(code).toBe(0);
    const lines = out.split('\n').slice(0, codes.length + warnings.length);
    expect(lines.map((line) => line.split(' ', 1)[0])).toEqual([...codes, ...warnings]);
    expect(out).not.toMatch(/[`*]/);
    for (const line of lines) expect(line).toMatch(/^\w+ +(?:\d{3}|warning) +[A-Z].{20,}\.$/);
  });

  it.each(['toString', '../codes'])('knows no code %j', async (code) => {
    const ran = await cli(['explain', code]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 2, out: '' });
    expect(ran.err).toBe(
      'explain: there is no such code, status or word; "marketgate explain" lists all\n',
    );
  });
});
