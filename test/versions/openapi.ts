import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Matrix, makeProject, run, type Table, titleOf } from './project.js';

const TSC = [
  ...['tsc', '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022'],
  ...['--module', 'nodenext', '--lib', 'es2022,dom,dom.iterable'],
];
const DOCUMENT = 'node_modules/marketgate/dist/openapi.json';

/** The specification shows no statuses, so errors are "default". */
const SKIPPED = ['--skip-rule', 'operation-4xx-response'];

/** Programs that read `marketgate/openapi.json`, and what each is run with: every command must end well. */
const READERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '@redocly/cli': [['redocly', 'lint', DOCUMENT, '--extends', 'recommended', ...SKIPPED]],
  '@stoplight/spectral-cli': [
    ['spectral', 'lint', DOCUMENT, '-r', 'spectral.yaml', '--fail-severity', 'warn'],
  ],
  '@apidevtools/swagger-parser': [['node', 'swagger-parser.mjs', DOCUMENT]],
  'openapi-typescript': [
    ['openapi-typescript', DOCUMENT, '-o', 'types.ts'],
    [...TSC, 'types.ts'],
  ],
  orval: [
    ['orval', '--input', DOCUMENT, '--output', 'orval.ts', '--client', 'fetch'],
    [...TSC, 'orval.ts'],
  ],
  oazapfts: [
    ['oazapfts', DOCUMENT, 'oazapfts.ts'],
    [...TSC, 'oazapfts.ts'],
  ],
  // A proxy that answers with an error where a request or an answer is not as documented.
  '@stoplight/prism-cli': [['node', 'prism.mjs', DOCUMENT]],
};

export async function openapiTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const [name, commands] of Object.entries(READERS)) {
    const packages = { [name]: '*', typescript: '^5', '@types/node': '^20' };
    const project = await makeProject(matrix, `openapi ${name.replace(/\W/g, '-')}`, packages);
    const programs = fileURLToPath(new URL('./openapi', import.meta.url));
    await cp(programs, project, { recursive: true });
    await writeFile(join(project, 'spectral.yaml'), 'extends: ["spectral:oas"]\n');
    const outcomes = [];
    for (const [program = '', ...args] of commands) {
      const path =
        program === 'node' ? process.execPath : join(project, 'node_modules/.bin', program);
      outcomes.push(await run(path, args, { cwd: project }));
    }
    rows.push([await titleOf(project, [name]), matrix.cell(name, outcomes)]);
  }
  return { title: 'Tools that read the OpenAPI document', head: ['with', 'result'], rows };
}
