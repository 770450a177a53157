// Run by `npm publish` before anything is packed: the fields that only the owner of the package knows.
import { readFileSync } from 'node:fs';

const { repository, homepage, bugs } = JSON.parse(readFileSync('package.json', 'utf8'));
const missing = Object.entries({
  repository: repository?.url ?? repository,
  homepage,
  'bugs.url': bugs?.url,
  // SECURITY.md sends reports there.
  'bugs.email': bugs?.email,
})
  .filter(([, value]) => typeof value !== 'string' || value === '')
  .map(([name]) => name);

if (missing.length > 0) {
  console.error(
    `Not published: package.json has no ${missing.join(', no ')}. Users look there for the source, the documentation and where to report; add ${missing.length > 1 ? 'them' : 'it'} and run npm publish again.`,
  );
  process.exitCode = 1;
}
