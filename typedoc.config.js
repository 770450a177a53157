// The site of `npm run docs`: README, guides, error pages, and API pages from the types. Its menu has the themes of the
// page of all guides, and the titles of the pages.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('.', import.meta.url));
// A copy of the pages, with what the menu needs at their head.
const COPY = join(ROOT, 'node_modules/.cache/marketgate-site');
const GUIDES = 'examples/guides';
const ERROR_PAGES = 'src/errors/pages';

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const titleOf = (text) => /^# (.+)$/m.exec(text)?.[1] ?? '';

/** The pages by theme, in the order of the page of all guides: "- Shops: [Redeem codes](redeem.md), …". */
function themes() {
  const lists = read(`${GUIDES}/index.md`).split(/^- /m).slice(1);
  const found = lists.map((list) => {
    const [, theme] = /^(\w+): /.exec(list) ?? [];
    const pages = [...list.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, page]) => join(GUIDES, page));
    return [theme === 'Programs' ? theme : `Guides: ${theme}`, pages];
  });
  const errors = readdirSync(join(ROOT, ERROR_PAGES)).map((name) => `${ERROR_PAGES}/${name}`);
  const isWarning = (page) => /^[A-Z]/.test(basename(page));
  return [
    ...found,
    ['Errors', errors.filter((page) => !isWarning(page))],
    ['Warnings', errors.filter(isWarning)],
    ['Start', [`${GUIDES}/index.md`, 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md']],
  ];
}

function copy(page, head) {
  const text = read(page);
  const target = join(COPY, page);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, `${head(text)}${text}`);
  return target;
}

rmSync(COPY, { recursive: true, force: true });
cpSync(join(ROOT, 'examples'), join(COPY, 'examples'), { recursive: true });
const groups = themes();
const projectDocuments = groups.flatMap(([group, pages]) =>
  pages.map((page) =>
    copy(
      page,
      (text) =>
        `---\ntitle: ${JSON.stringify(titleOf(text))}\ngroup: ${JSON.stringify(group)}\n---\n\n`,
    ),
  ),
);

/** @type {import('typedoc').TypeDocOptions} */
export default {
  name: 'marketgate',
  readme: copy('README.md', () => ''),
  entryPoints: [
    'src/index.ts',
    'src/stores/redis/index.ts',
    'src/stores/keyv.ts',
    'src/sandbox/index.ts',
    'src/testing/index.ts',
  ],
  projectDocuments: [...new Set(projectDocuments)],
  out: 'docs-api',
  tsconfig: 'test/check/tsconfig.api.json',
  skipErrorChecking: true,
  // Each page has its own title.
  headings: { readme: false, document: false },
  navigation: { includeGroups: true, includeCategories: false, includeFolders: false },
  groupOrder: [...new Set(groups.map(([group]) => group)), 'API', '*'],
  sort: ['documents-first', 'source-order'],
  excludePrivate: true,
  excludeInternal: true,
  disableSources: true,
  treatWarningsAsErrors: true,
  validation: {
    notExported: true,
    invalidLink: true,
    notDocumented: true,
    unusedMergeModuleWith: true,
  },
  intentionallyNotExported: [
    'ERROR_CODES',
    'Given',
    'Methods',
    'WithoutRequest',
    'WithRequest',
    'AnyInline',
    'Checked',
    'WithReq',
  ],
  requiredToBeDocumented: [
    ...['Enum', 'EnumMember', 'Variable', 'Function', 'Class', 'Interface'],
    ...['Property', 'Method', 'Accessor', 'TypeAlias'],
  ],
  highlightLanguages: [
    ...['ts', 'js', 'tsx', 'jsx', 'json', 'yaml', 'sh', 'bash', 'console'],
    ...['html', 'css', 'sql', 'dockerfile', 'php', 'python'],
  ],
};
