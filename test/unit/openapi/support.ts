import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { expect } from 'vitest';
import document from '../../../src/openapi.json' with { type: 'json' };
import type { Running } from '../sandbox/support.js';

export { document };

const escaped = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Record<string, unknown> }>>;
}

/** Finds what a document has against values, as a reader of it would. */
export function readerOf(document: object) {
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    allErrors: true,
  });
  // The namespace and the function share a name in its CommonJS build.
  (ajvFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'paths', 'components', 'example']);
  ajv.addSchema(document, 'openapi');
  const { paths } = document as { paths: Record<string, Record<string, Operation>> };

  const compiled = new Map<string, ValidateFunction>();

  /** What is wrong with a value, by the schema at a place of the document. */
  function complaints(pointer: readonly string[], value: unknown): string[] {
    const $ref = `openapi#/${pointer.map(escaped).join('/')}`;
    const validate = compiled.get($ref) ?? ajv.compile({ $ref });
    compiled.set($ref, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }

  /** What is wrong with an answer of the service, by path, method, status and content type. */
  function complaintsAbout(
    method: string,
    path: string,
    status: number,
    contentType: string,
    body: unknown,
  ): string[] {
    const operation = paths[path]?.[method];
    if (operation === undefined) return [`${method} ${path} is not documented`];
    const key = String(status) in operation.responses ? String(status) : 'default';
    const [type = ''] = contentType.split(';');
    const media = operation.responses[key]?.content?.[type];
    if (media === undefined) return [`${method} ${path} ${key} has no ${type}`];
    if (type !== 'application/json') return [];
    return complaints(['paths', path, method, 'responses', key, 'content', type, 'schema'], body);
  }
  return { complaints, complaintsAbout };
}

export const { complaintsAbout } = readerOf(document);

/** From now on, every answer of a documented endpoint of this sandbox must be as the document says. */
export function expectDocumented(running: Running): void {
  running.watch.onAnswer = (method, path, { status, headers, body }) => {
    const [endpoint = ''] = path.split('?');
    // A method that an endpoint does not take is not documented.
    if (!(endpoint in document.paths) || status === 405) return;
    const type = headers.get('content-type') ?? '';
    expect(complaintsAbout(method.toLowerCase(), endpoint, status, type, body)).toEqual([]);
  };
}
