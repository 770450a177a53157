// The front page: a client of the API like any other. The login cookie comes along by itself; this
// script cannot read it.
const $ = (id) => document.getElementById(id);

/** Asks the API. An answer that is not 2xx rejects with its problem (RFC 9457). */
async function ask(path, options = {}) {
  const response = await fetch(path, {
    ...options,
    headers: { accept: 'application/json', ...options.headers },
  });
  if (response.status === 204) return undefined;
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.detail ?? body.title), body);
  return body;
}

function link(text, href) {
  const a = document.createElement('a');
  a.textContent = text;
  a.href = href;
  a.className = 'button';
  return a;
}

async function showVisitor() {
  try {
    const { name } = await ask('/api/me');
    const button = document.createElement('button');
    button.className = 'button';
    button.textContent = 'Log out';
    button.addEventListener('click', async () => {
      await ask('/logout', { method: 'POST' });
      location.reload();
    });
    $('who').replaceChildren(`${name} `, button);
  } catch {
    $('who').replaceChildren(link('Log in', '/login'));
  }
}

async function showItems() {
  const { items } = await ask('/api/items');
  $('items').replaceChildren(
    ...items.map(({ id, name, category, thumbnail }) => {
      const li = document.createElement('li');
      const img = document.createElement('img');
      img.alt = '';
      img.width = 48;
      img.height = 48;
      if (thumbnail) img.src = thumbnail;
      li.append(img, ` ${name} (${id}), ${category}`);
      return li;
    }),
  );
}

/** Says what came of it. Who has to log in gets a link: a redirect would lose the code just typed. */
function say(text, problem) {
  const needsLogin = ['login_required', 'access_token_expired'].includes(problem?.code);
  $('answer').replaceChildren(`${text} `, ...(needsLogin ? [link('Log in', '/login')] : []));
}

$('download').addEventListener('submit', async (event) => {
  event.preventDefault();
  const id = encodeURIComponent($('item').value.trim());
  // Headers are ASCII; what is pasted often brings ligatures and invisible characters along.
  const code = $('code')
    .value.normalize('NFKC')
    .replace(/[^\x21-\x7e]/g, '');
  try {
    const { file, license_type } = await ask(`/api/downloads/${id}`, {
      headers: { 'x-purchase-code': code },
    });
    say(`${file}, licence: ${license_type}`);
  } catch (problem) {
    say(problem.message, problem);
  }
});

await Promise.all([showVisitor(), showItems().catch((problem) => say(problem.message, problem))]);
