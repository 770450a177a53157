/**
 * What the console adds where scripts run: requests as they come in, switches that act at once, forms that
 * do not reload the page, copy buttons. All HTML comes from the server; what changed is swapped in.
 */
export const CONSOLE_SCRIPT = `'use strict';
const PATH = '/sandbox/console';
const byId = (id) => document.getElementById(id);
const rows = byId('rows');
document.documentElement.classList.add('js');

// --- Words for what happened ---

let saidTimer;
function say(text, tone = 'good') {
  const said = byId('said');
  said.textContent = text;
  said.dataset.tone = tone;
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => { said.textContent = ''; }, tone === 'bad' ? 8000 : 3000);
}
function showLive(text, tone) {
  byId('live').textContent = text;
  byId('live').dataset.tone = tone;
}

// --- The page as the server sees it ---

const served = new Map();
for (const part of document.querySelectorAll('[data-live]')) served.set(part.id, part.innerHTML);

const keyOf = (control) => control.id || [
  control.getAttribute('href'), control.form?.getAttribute('action'), control.name,
  control.localName === 'button' ? control.value : '', control.dataset.copy,
].join(' ');

function swap(part, fresh) {
  const typed = [...part.querySelectorAll('[data-dirty]')].map((each) => [keyOf(each), each.value]);
  const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : undefined;
  part.replaceChildren(...fresh.childNodes);
  const controls = [...part.querySelectorAll('a, button, input, select')];
  for (const [key, value] of typed) {
    const control = controls.find((each) => keyOf(each) === key);
    if (control) { control.value = value; control.dataset.dirty = ''; }
  }
  if (focused === undefined) return;
  const again = controls.find((each) => keyOf(each) === focused) ?? part.querySelector('h2');
  again?.focus({ preventScroll: true });
}

let isPaused = false;
let refreshing = false;
let isStale = false;
const late = [];
async function refresh() {
  isStale = true;
  if (refreshing) return;
  refreshing = true;
  try {
    while (isStale) {
      isStale = false;
      const answer = await fetch(PATH, { headers: { accept: 'text/html' } });
      if (!answer.ok) break;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const fresh of page.querySelectorAll('[data-live]')) {
        const part = byId(fresh.id);
        if (!part || (part === rows && isPaused)) continue;
        if (part !== rows && served.get(part.id) === fresh.innerHTML) continue;
        served.set(part.id, fresh.innerHTML);
        swap(part, fresh);
      }
      clockAt = performance.now();
    }
  } catch {
    // The sandbox was stopped; the next connection looks again.
  } finally {
    refreshing = false;
    addRows(late.splice(0));
  }
}

// --- Requests as they come in ---

const template = document.createElement('template');
function addRows(list) {
  if (isPaused || list.length === 0) return;
  if (refreshing) { late.push(...list); return; }
  rows.querySelector('.empty')?.remove();
  for (const { number, html } of list) {
    template.innerHTML = html;
    const row = template.content.firstElementChild;
    const old = rows.querySelector('[data-number="' + number + '"]');
    if (old) old.replaceWith(row);
    else { row.classList.add('new'); rows.prepend(row); }
  }
  while (rows.rows.length > Number(rows.dataset.most)) rows.lastElementChild.remove();
}

let source;
let refreshTimer;
function connect() {
  if (source || document.hidden) return;
  source = new EventSource(PATH + '/events');
  source.addEventListener('open', () => { showLive('Live', 'good'); refresh(); });
  source.addEventListener('rows', (event) => addRows(JSON.parse(event.data)));
  source.addEventListener('behind', refresh);
  source.addEventListener('changed', () => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(refresh, 60);
  });
  source.addEventListener('error', () => {
    showLive('Reconnecting', 'bad');
    if (source?.readyState === EventSource.CLOSED) { disconnect(); setTimeout(connect, 2000); }
  });
}
function disconnect() {
  source?.close();
  source = undefined;
}
// A browser has six connections per host: a tab nobody looks at must not hold one.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { disconnect(); showLive('Paused', 'plain'); } else connect();
});
connect();

byId('pause').addEventListener('click', ({ currentTarget }) => {
  isPaused = !isPaused;
  currentTarget.setAttribute('aria-pressed', String(isPaused));
  if (!isPaused) refresh();
});
for (const button of document.querySelectorAll('button[data-view]')) {
  button.addEventListener('click', () => {
    rows.closest('table').dataset.view = button.dataset.view;
    for (const each of document.querySelectorAll('button[data-view]')) {
      each.setAttribute('aria-pressed', String(each === button));
    }
  });
}

// --- The clock goes on ---

let clockAt = performance.now();
setInterval(() => {
  const time = document.querySelector('time[data-now]');
  const now = new Date(Number(time.dataset.now) + performance.now() - clockAt);
  time.textContent = now.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
}, 1000);

// --- Copy, change, switch ---

function copyBySelection(text) {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error();
}
// The clipboard is there over https and on this machine, if the browser allows it.
const copy = (text) => navigator.clipboard
  ? navigator.clipboard.writeText(text).catch(() => copyBySelection(text))
  : copyBySelection(text);
document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (!button) return;
  try {
    await copy(button.dataset.copy);
    button.focus();
    button.classList.add('done');
    setTimeout(() => button.classList.remove('done'), 1500);
    say('Copied ' + button.getAttribute('aria-label').replace(/^Copy( \\.env)? ?/, ''));
  } catch {
    say('The browser did not let the console copy.', 'bad');
  }
});

async function send(path, init, done, part) {
  try {
    const answer = await fetch(PATH + path, init);
    const { message } = await answer.json().catch(() => ({}));
    if (answer.ok) say(done);
    else {
      say(message ?? 'The sandbox refused that (HTTP ' + answer.status + ').', 'bad');
      // What is shown there is not how it is: it is swapped in again.
      served.delete(part?.id);
    }
  } catch {
    say('The sandbox does not answer.', 'bad');
  }
  await refresh();
}

document.addEventListener('input', ({ target }) => {
  if (target.closest('form[data-keep]') || target.type === 'number') target.dataset.dirty = '';
});
document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, submitter));
  for (const each of form.elements) delete each.dataset.dirty;
  const name = submitter?.getAttribute('aria-label') ?? submitter?.textContent ?? 'It';
  const path = new URL(form.action).pathname.slice(PATH.length);
  send(path, { method: 'POST', body, headers: { accept: 'application/json' } }, name + ': done',
    form.closest('[data-live]'));
});
document.addEventListener('change', ({ target }) => {
  if (!target.matches('[data-switch]')) return;
  delete target.dataset.dirty;
  const value = target.type === 'checkbox' ? target.checked
    : target.localName === 'select' ? JSON.parse(target.value)
    : target.value === '' ? null : Number(target.value);
  const shown = target.type === 'checkbox' ? (value ? 'on' : 'off')
    : target.selectedOptions?.[0].textContent ?? (value ?? 'not set');
  const board = target.form.dataset.board;
  send('/switches', {
    method: 'PATCH',
    body: JSON.stringify({ [board]: { [target.name]: value } }),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
  }, target.name + ': ' + shown, target.closest('[data-live]'));
});
`;
