// What the console does in the browser: it stays up to date, switches act at once, forms do not reload the
// page, values can be copied. All HTML comes from the server; what changed is swapped in.

const PATH = '/sandbox/console';
const INTERVAL = 1000;
/** @type {(id: string) => HTMLElement} */
const byId = (id) => document.getElementById(id);
/** @type {(of: ParentNode, selector: string) => any[]} */
const all = (of, selector) => [...of.querySelectorAll(selector)];

/** @type {number} */
let toastTimer;
/** @type {(text: string, tone?: string) => void} */
function say(text, tone = 'good') {
  Object.assign(byId('said'), { textContent: text }).dataset.tone = tone;
  clearTimeout(toastTimer);
  if (text)
    toastTimer = setTimeout(() => say(''), (tone === 'bad' ? 8000 : 2000) + 50 * text.length);
}

// --- The page as the server sees it ---

/** The HTML of each part that stays up to date, as it was last served, by the part's id. */
const served = new Map(all(document, '[data-live]').map((part) => [part.id, part.innerHTML]));

/** @type {(part: HTMLElement) => any[]} */
const controlsOf = (part) => all(part, 'button, input, select');

/** What a control is recognised by in another rendering of its part. @type {(control: any) => string} */
const keyOf = ({ id, form, localName, name, value, dataset }) =>
  id || [form?.action, name, localName === 'button' && value, dataset.copy].join(' ');

/** Whether something was typed or chosen that was not sent yet. @type {(control: any) => boolean} */
const isChanged = ({ localName, type, value, defaultValue, selectedIndex, id }) =>
  localName === 'input'
    ? type !== 'checkbox' && value !== defaultValue
    : localName === 'select' && id === '' && selectedIndex > 0;

/**
 * Puts a fresh rendering in the place of a part; keeps what is being typed, and the focus.
 * @type {(part: HTMLElement, fresh: Element) => void}
 */
function swap(part, fresh) {
  const changed = controlsOf(part).filter(isChanged);
  const isOpen = all(part, 'details').map((each) => each.open);
  const focused = controlsOf(part).find((each) => each === document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  for (const [at, each] of all(part, 'details').entries()) each.open = isOpen[at];
  const again = (/** @type {any} */ old) =>
    controlsOf(part).find((each) => keyOf(each) === keyOf(old));
  for (const old of changed) Object.assign(again(old) ?? {}, { value: old.value });
  if (focused) (again(focused) ?? part.querySelector('h2'))?.focus({ preventScroll: true });
}

/**
 * Whether the value of a switch is being typed. A browser sends the change of a field when that is left, and not at all if
 * another has taken its place.
 * @type {(part: HTMLElement) => boolean}
 */
const isTyping = (part) => {
  const active = /** @type {any} */ (document.activeElement);
  return part.contains(active) && active.matches('[data-switch]') && isChanged(active);
};

/** Fetches the page again, and swaps in what has changed. */
async function refresh() {
  try {
    const answer = await fetch(PATH, { headers: { accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const fresh of all(page, '[data-live]')) {
      const part = byId(fresh.id);
      if (served.get(fresh.id) === fresh.innerHTML || isTyping(part)) continue;
      served.set(fresh.id, fresh.innerHTML);
      swap(part, fresh);
    }
    showLive('Live', 'good');
  } catch {
    showLive('Reconnecting', 'bad');
  }
}

/** @type {(text: string, tone: string) => void} */
function showLive(text, tone) {
  const live = byId('live');
  if (live.textContent !== text) Object.assign(live, { textContent: text }).dataset.tone = tone;
}

/** Stays up to date while somebody looks. */
async function keepLive() {
  if (!document.hidden) await refresh();
  setTimeout(keepLive, INTERVAL);
}
void keepLive();

// --- Buy ---

/** Where a shop's "Buy" leads, with the item to sell: /sandbox/console?item=1042#add-purchase */
if (location.hash === '#add-purchase') {
  const [select] = all(byId('add-purchase'), 'select');
  select.value = new URLSearchParams(location.search).get('item') ?? select.value;
  Object.assign(byId('add-purchase'), { open: true });
}

// --- Copy, change, switch ---

document.addEventListener('click', async ({ target }) => {
  const button = /** @type {any} */ (target).closest('[data-copy]');
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    say(button.ariaLabel.replace('Copy', 'Copied'));
  } catch {
    say('Browsers let a page copy over https and on this machine only, if you allow it.', 'bad');
  }
});

/**
 * Sends a change; says how it went, and shows what it changed.
 * @type {(path: string, body: any, headers: any, part: Element) => Promise<void>}
 */
async function send(path, body, headers, part) {
  try {
    const init = { method: 'POST', body, headers: { ...headers, accept: 'application/json' } };
    const answer = await fetch(path, init);
    const { message } = await answer.json();
    say(message, answer.ok ? 'good' : 'bad');
    // What is shown there is not what the server has: it is swapped in again.
    if (!answer.ok) served.delete(part?.id);
  } catch {
    say('The sandbox does not answer.', 'bad');
  }
  await refresh();
}

document.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const button = event.submitter;
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, button)));
  // A button named "reset" hides the method of the form.
  HTMLFormElement.prototype.reset.call(form);
  void send(form.action, body, {}, form.closest('[data-live]'));
});

document.addEventListener('change', ({ target }) => {
  const control = /** @type {any} */ (target);
  if (!control.matches('[data-switch]')) return;
  const { name, type, value, checked } = control;
  control.defaultValue = value;
  const body = JSON.stringify({ [name]: type === 'checkbox' ? checked : value || null });
  const headers = { 'content-type': 'application/json' };
  void send('/sandbox/api/set', body, headers, control.closest('[data-live]'));
});
