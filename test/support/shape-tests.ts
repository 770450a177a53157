import { describe, expect, it } from 'vitest';
import {
  COERCED,
  DROPPED,
  RECORDS,
  REFUSED,
  type RecordName,
  type ShapeRow,
  UNCHANGED,
  withPlace,
} from '../oracle/shape-rows.js';
import { hear } from './hear.js';

interface Drift {
  readonly kind: string;
  readonly path: string;
  readonly expected: string;
}

/** The record as a client gives it; an `Error` that names the path where it is refused. */
type ReadRecord = (sent: object) => Promise<object | Error>;

const show = (value: unknown): string => JSON.stringify(value) ?? 'absent';

/** What is read of a record: by the rows of the oracle. */
export function describeShape(name: RecordName, read: ReadRecord): void {
  const { record, needed, optional, objects } = RECORDS[name];
  const rows = (all: readonly ShapeRow[]) =>
    all
      .filter((row) => row.record === name)
      .map((row) => [row.path, show(row.sent), show(row.read), row] as const);

  describe(`a record of ${name}`, () => {
    it('as documented is read as it is, and is no drift', async () => {
      const drift = hear('drift');
      expect(await read(record)).toEqual(record);
      expect(drift).toEqual([]);
    });

    it.each(['', ...objects])('keeps fields that nobody knows, in "%s"', async (path) => {
      const more = withPlace(record, path === '' ? 'trace' : `${path}.trace`, { deep: [7] });
      expect(await read(more)).toEqual(more);
    });

    it.each(needed)('is refused with something odd in %s', async (path) => {
      const odd = withPlace(record, path, [{ odd: true }]);
      expect(String(await read(odd))).toContain(`.${path}`);
    });

    it.each([...optional, ...objects])('is read with something odd in %s', async (path) => {
      const drift = hear<Drift>('drift');
      const odd = withPlace(record, path, [{ odd: true }]);
      expect(await read(odd)).not.toBeInstanceOf(Error);
      expect(drift[0]).toMatchObject({ kind: 'dropped' });
      expect(drift[0]?.path).toContain(`.${path}`);
    });

    it.each(needed)('is refused without %s, and with null there', async (path) => {
      for (const nothing of [undefined, null]) {
        expect(await read(withPlace(record, path, nothing))).toBeInstanceOf(Error);
      }
    });

    it.each(optional)('is read without %s, and null there is absent', async (path) => {
      const without = withPlace(record, path, undefined);
      expect(await read(without)).toStrictEqual(without);
      expect(await read(withPlace(record, path, null))).toStrictEqual(without);
    });

    it.each(rows(COERCED))('%s: %s is read as %s, and reported', async (path, _s, _r, row) => {
      const drift = hear('drift');
      const sent = withPlace(record, path, row.sent);
      const before = structuredClone(sent);
      expect(await read(sent)).toStrictEqual(withPlace(record, path, row.read));
      expect(sent).toEqual(before);
      expect(JSON.stringify(drift)).toContain(`.${path}`);
      expect(drift[0]).toMatchObject({ kind: 'coerced', expected: expect.stringMatching(/^\w+$/) });
    });

    it.each(rows(UNCHANGED))('%s: %s is read as it is', async (path, _sent, _read, row) => {
      const sent = withPlace(record, path, row.sent);
      expect(await read(sent)).toStrictEqual(sent);
    });

    it.each(rows(DROPPED))('%s: %s is left out, and reported', async (path, _s, _r, row) => {
      const drift = hear<Drift>('drift');
      const sent = withPlace(record, path, row.sent);
      expect(await read(sent)).toStrictEqual(withPlace(record, path, row.read));
      const { names = path } = row as { names?: string };
      const about = drift.filter((each) => each.path.endsWith(`.${names}`));
      expect(about).toMatchObject([
        { kind: 'dropped', expected: expect.stringMatching(/^[\w ]+$/) },
      ]);
      expect(JSON.stringify(drift)).not.toContain('secret-key');
    });

    const refused = REFUSED.filter((row) => row.record === name);
    it.each(refused.map((row) => [row.path, show(row.sent), row] as const))(
      '%s: %s is refused, with its path',
      async (path, _sent, row) => {
        const sent = withPlace(record, path, row.sent);
        const drift = hear('drift');
        const error = String(await read(sent));
        expect(error).toContain(`.${path}: `);
        expect(drift).toEqual([]);
      },
    );
  });
}
