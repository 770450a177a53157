// What the console does in the browser: it stays up to date, switches act at once, forms do not reload the
// page, values can be copied. All HTML comes from the server; what changed is swapped in.

const PATH = '/sandbox/console';
/** @type {(id: string) => HTMLElement} */
const byId = (id) => document.getElementById(id);
/** @type {(of: ParentNode, selector: string) => any[]} */
const all = (of, selector) => [...of.querySelectorAll(selector)];

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

// --- The page as the server sees it ---

/** The HTML of each part that stays up to date, as it was last served, by the part's id. */
const served = new Map(all(document, '[data-live]').map((part) => [part.id, part.innerHTML]));

/** What a control is recognised by in another rendering of its part. */
const keyOf = (/** @type {any} */ control) =>
  control.id ||
  [
    control.form?.getAttribute('action'),
    control.name,
    control.localName === 'button' ? control.value : '',
    control.dataset.copy,
  ].join(' ');

/** Whether something was typed or chosen that was not sent yet. */
const isChanged = (/** @type {any} */ control) =>
  control.localName === 'input'
    ? control.type !== 'checkbox' && control.value !== control.defaultValue
    : control.localName === 'select' &&
      control.matches('[data-keep] *') &&
      control.selectedIndex > 0;

/**
 * Puts a fresh rendering in the place of a part; keeps what is being typed, and the focus.
 * @type {(part: HTMLElement, fresh: Element) => void}
 */
function swap(part, fresh) {
  const before = all(part, 'button, input, select');
  const changed = before.filter(isChanged);
  const focused = before.find((each) => each === document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  const again = (/** @type {any} */ old) =>
    all(part, 'button, input, select').find((each) => keyOf(each) === keyOf(old));
  for (const old of changed) Object.assign(again(old) ?? {}, { value: old.value });
  if (focused) (again(focused) ?? part.querySelector('h2'))?.focus({ preventScroll: true });
}

let clockAt = performance.now();
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
        if (served.get(fresh.id) === fresh.innerHTML) continue;
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

/** @type {(text: string, tone: string) => void} */
function showLive(text, tone) {
  byId('live').textContent = text;
  byId('live').dataset.tone = tone;
}

const source = new EventSource(`${PATH}/events`);
source.addEventListener('open', () => {
  showLive('Live', 'good');
  void refresh();
});
source.addEventListener('changed', () => void refresh());
source.addEventListener('error', () => showLive('Reconnecting', 'bad'));

setInterval(() => {
  const [time] = all(document, 'time[data-now]');
  const now = new Date(Number(time.dataset.now) + performance.now() - clockAt);
  time.textContent = `${now.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}, 1000);

// --- Copy, change, switch ---

document.addEventListener('click', async ({ target }) => {
  const button = /** @type {Element} */ (target).closest('[data-copy]');
  if (!(button instanceof HTMLElement)) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    say(`Copied ${button.getAttribute('aria-label').replace(/^Copy( \.env)? ?/, '')}`);
  } catch {
    say('Browsers let a page copy over https and on this machine only, if you allow it.', 'bad');
  }
});

/**
 * Sends a change; says how it went, and shows what it changed.
 * @type {(path: string, init: RequestInit, done: string, part: Element) => Promise<void>}
 */
async function send(path, init, done, part) {
  try {
    const answer = await fetch(path, { ...init, redirect: 'manual' });
    if (answer.ok || answer.type === 'opaqueredirect') say(done);
    else {
      const { message } = await answer.json().catch(() => ({}));
      say(message ?? `The sandbox refused that (HTTP ${answer.status}).`, 'bad');
      // What is shown there is not what the server has: it is swapped in again.
      served.delete(part?.id);
    }
  } catch {
    say('The sandbox does not answer.', 'bad');
  }
  await refresh();
}

document.addEventListener('submit', (event) => {
  event.preventDefault();
  const { submitter } = event;
  const form = /** @type {HTMLFormElement} */ (event.target);
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
  form.reset();
  const name = submitter.getAttribute('aria-label') ?? submitter.textContent;
  const init = { method: 'POST', body, headers: { accept: 'application/json' } };
  void send(form.action, init, `${name}: done`, form.closest('[data-live]'));
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
  const [value, shown] = positionOf(control);
  control.defaultValue = control.value;
  const init = {
    method: 'PATCH',
    body: JSON.stringify({ [control.name]: value }),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
  };
  const name = control.name.split('.')[1];
  void send(`${PATH}/switches`, init, `${name}: ${shown}`, control.closest('[data-live]'));
});
