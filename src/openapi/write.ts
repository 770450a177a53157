// Writes the document: `npm run openapi`, or with another path behind it. The build does the same.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { openApiDocument } from './document.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const [, , file = 'dist/openapi.json'] = process.argv;

mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(openApiDocument(version), null, 2)}\n`);
console.log(`wrote ${file}`);
