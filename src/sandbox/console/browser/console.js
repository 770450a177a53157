// What the console adds where scripts run: it stays up to date, switches act at once, forms do not reload
// the page, values can be copied. All HTML comes from the server; what changed is swapped in.

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLButtonElement} Control */

const PATH = '/sandbox/console';
/** @type {(id: string) => HTMLElement} */
const byId = (id) => document.getElementById(id);
/** @type {(of: ParentNode, selector: string) => HTMLElement[]} */
const all = (of, selector) =>
  [...of.querySelectorAll(selector)].map((each) => /** @type {any} */ (each));

document.documentElement.classList.add('js');

/** @type {number} */
let toastTimer;
/** @param {string} text */
function say(text, tone = 'good') {
  const toast = byId('said');
  toast.textContent = text;
  toast.dataset.tone = tone;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (toast.textContent = ''), tone === 'bad' ? 8000 : 3000);
}

/** @type {(text: string, tone: string) => void} */
function showLive(text, tone) {
  byId('live').textContent = text;
  byId('live').dataset.tone = tone;
}

// --- The page as the server sees it ---

/** The HTML of each part that stays up to date, as it was last served, by the part's id. */
const served = new Map(all(document, '[data-live]').map((part) => [part.id, part.innerHTML]));

/** What a control is recognised by in another rendering of its part. */
const keyOf = (/** @type {Control & HTMLAnchorElement} */ control) =>
  control.id ||
  [
    control.getAttribute('href'),
    control.form?.getAttribute('action'),
    control.name,
    control.localName === 'button' ? control.value : '',
    control.dataset.copy,
  ].join(' ');

/**
 * Puts a fresh rendering in the place of a part; keeps what is being typed, and the focus.
 * @type {(part: HTMLElement, fresh: Element) => void}
 */
function swap(part, fresh) {
  const controlsOf = () => /** @type {any[]} */ (all(part, 'a, button, input, select'));
  const before = controlsOf();
  const typed = before.filter((each) => 'dirty' in each.dataset);
  const focused = before.find((each) => each === document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  const controls = controlsOf();
  for (const old of typed) {
    const control = controls.find((each) => keyOf(each) === keyOf(old));
    if (control) Object.assign(control, { value: old.value }).dataset.dirty = '';
  }
  if (!focused) return;
  const again = controls.find((each) => keyOf(each) === keyOf(focused));
  (again ?? part.querySelector('h2'))?.focus({ preventScroll: true });
}

let clockAt = performance.now();
let isPaused = false;
let isRefreshing = false;
let isStale = false;
async function refresh() {
  isStale = true;
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    while (isStale) {
      isStale = false;
      const answer = await fetch(PATH, { headers: { accept: 'text/html' } });
      if (!answer.ok) break;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const fresh of all(page, '[data-live]')) {
        const isHeld = fresh.id === 'rows' && isPaused;
        if (isHeld || served.get(fresh.id) === fresh.innerHTML) continue;
        served.set(fresh.id, fresh.innerHTML);
        swap(byId(fresh.id), fresh);
      }
      clockAt = performance.now();
    }
  } catch {
    // The sandbox was stopped; the next connection fetches again.
  } finally {
    isRefreshing = false;
  }
}

/** @type {EventSource} */
let source;
function connect() {
  if (source || document.hidden) return;
  source = new EventSource(`${PATH}/events`);
  source.addEventListener('open', () => {
    showLive('Live', 'good');
    void refresh();
  });
  source.addEventListener('changed', () => void refresh());
  source.addEventListener('error', () => {
    showLive('Reconnecting', 'bad');
    if (source?.readyState !== EventSource.CLOSED) return;
    disconnect();
    setTimeout(connect, 2000);
  });
}
function disconnect() {
  source?.close();
  source = undefined;
}
// A browser has six connections per host: a tab that nobody looks at must not hold one.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return connect();
  disconnect();
  showLive('Paused', 'plain');
});
connect();

byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  void refresh();
});
const views = all(document, 'button[data-view]');
for (const button of views) {
  button.addEventListener('click', () => {
    byId('rows').closest('table').dataset.view = button.dataset.view;
    for (const each of views) each.setAttribute('aria-pressed', String(each === button));
  });
}

setInterval(() => {
  const [time] = all(document, 'time[data-now]');
  const now = new Date(Number(time.dataset.now) + performance.now() - clockAt);
  time.textContent = `${now.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}, 1000);

// --- Copy, change, switch ---

/** @param {string} text */
function copyBySelection(text) {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error();
}

document.addEventListener('click', async ({ target }) => {
  /** @type {HTMLElement} */
  const button = /** @type {Element} */ (target).closest('[data-copy]');
  if (!button) return;
  const text = button.dataset.copy;
  try {
    // The clipboard exists over https and on this machine, if the browser allows it.
    await navigator.clipboard?.writeText(text).catch(() => copyBySelection(text));
    if (!navigator.clipboard) copyBySelection(text);
    button.focus();
    button.classList.add('done');
    setTimeout(() => button.classList.remove('done'), 1500);
    say(`Copied ${button.getAttribute('aria-label').replace(/^Copy( \.env)? ?/, '')}`);
  } catch {
    say('The browser did not let the console copy.', 'bad');
  }
});

/**
 * Sends a change; says how it went, and shows what it changed.
 * @type {(path: string, init: RequestInit, done: string, part: Element) => Promise<void>}
 */
async function send(path, init, done, part) {
  try {
    const answer = await fetch(PATH + path, init);
    const { message } = await answer.json().catch(() => ({}));
    if (answer.ok) say(done);
    else {
      say(message ?? `The sandbox refused that (HTTP ${answer.status}).`, 'bad');
      // What is shown there is not what the server has: it is swapped in again.
      served.delete(part?.id);
    }
  } catch {
    say('The sandbox does not answer.', 'bad');
  }
  await refresh();
}

document.addEventListener('input', ({ target }) => {
  const control = /** @type {HTMLInputElement} */ (target);
  if (control.closest('form[data-keep]') || control.type === 'number') control.dataset.dirty = '';
});

document.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const { submitter } = event;
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
  for (const each of form.elements) delete (/** @type {HTMLElement} */ (each).dataset.dirty);
  const name = submitter?.getAttribute('aria-label') ?? submitter?.textContent ?? 'It';
  const path = new URL(form.action).pathname.slice(PATH.length);
  const init = { method: 'POST', body, headers: { accept: 'application/json' } };
  void send(path, init, `${name}: done`, form.closest('[data-live]'));
});

/** @type {(control: any) => [unknown, string]} */
function positionOf(control) {
  if (control.type === 'checkbox') return [control.checked, control.checked ? 'on' : 'off'];
  if (control.localName === 'select') {
    return [JSON.parse(control.value), control.selectedOptions[0].textContent];
  }
  const number = control.value === '' ? null : Number(control.value);
  return [number, String(number ?? 'not set')];
}

document.addEventListener('change', ({ target }) => {
  const control = /** @type {HTMLInputElement} */ (target);
  if (!control.matches('[data-switch]')) return;
  delete control.dataset.dirty;
  const [value, shown] = positionOf(control);
  const init = {
    method: 'PATCH',
    body: JSON.stringify({ [control.form.dataset.board]: { [control.name]: value } }),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
  };
  void send('/switches', init, `${control.name}: ${shown}`, control.closest('[data-live]'));
});
