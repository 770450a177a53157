import { isDeepStrictEqual } from 'node:util';
import { type Html, html, trusted } from '../../html.js';
import type { Board, BoardName, Boards } from '../boards.js';
import { type Parameters, stringParameter } from '../request.js';
import type { Choice, Switch } from '../switches.js';

const WORDS: Readonly<Record<BoardName, readonly [string, string]>> = {
  faults: ['Faults', 'What goes wrong, on the endpoints of both interfaces; pages are spared.'],
  dialect: ['Dialect', 'How deployments differ from the specification.'],
};

const isToggle = ({ choices }: Switch): boolean =>
  choices?.length === 2 && choices.every(({ value }) => typeof value === 'boolean');

/** A value as the `value` of an option: JSON, where `null` is "not set". */
const valueText = (value: unknown): string => JSON.stringify(value ?? null);

function control(id: string, name: string, entry: Switch, value: unknown): Html {
  const common = trusted(`id="${id}" name="${name}" data-switch`);
  if (isToggle(entry)) {
    return html`<input type="checkbox" role="switch" ${common}${value === true && trusted(' checked')}>`;
  }
  if (!entry.choices) {
    return html`<input type="number" min="0" step="any" inputmode="decimal" ${common} value="${value}" placeholder="${entry.unit}" aria-describedby="${id}-unit"><span class="unit muted small" id="${id}-unit">${entry.unit}</span>`;
  }
  const isChosen = (choice: Choice) => isDeepStrictEqual(choice.value, value);
  // A program can have set what no form offers; that stays until something else is chosen.
  const own = entry.choices.some(isChosen) ? [] : [{ label: valueText(value), value }];
  return html`<select ${common}>${[...entry.choices, ...own].map(
    (choice) =>
      html`<option value="${valueText(choice.value)}"${isChosen(choice) && trusted(' selected')}>${choice.label}</option>`,
  )}</select>`;
}

function row(board: BoardName, name: string, entry: Switch, value: unknown): Html {
  const id = `${board}-${name}`;
  return html`<li class="${value === entry.initial ? 'switch' : 'switch on'}">
<label for="${id}"><code>${name}</code><span class="muted small">${entry.about}</span></label>
<div class="control">${control(id, name, entry, value)}</div></li>`;
}

export const countOn = ({ settings, switches }: Board): number =>
  Object.keys(switches).filter((name) => Reflect.get(settings, name) !== switches[name]?.initial)
    .length;

/** All switches of a board. They act at once where scripts run, and with "Apply" where not. */
export function switchesSection(name: BoardName, boards: Boards): Html {
  const { settings, switches } = boards[name];
  const [title, text] = WORDS[name];
  const on = countOn(boards[name]);
  return html`<section class="card" id="${name}" data-live aria-labelledby="${name}-title">
<div class="bar"><h2 id="${name}-title" tabindex="-1">${title}</h2>${on > 0 && html`<span class="badge warn">${on} on</span>`}
<form method="post" action="/sandbox/console/${name}/reset"><button class="quiet" aria-label="Reset the ${name}">Reset</button></form></div>
<p class="muted small">${text}</p>
<form method="post" action="/sandbox/console/${name}" data-board="${name}">
<ul class="switches">${Object.entries(switches).map(([key, entry]) =>
    row(name, key, entry, Reflect.get(settings, key)),
  )}</ul>
<div class="inline" data-no-script><button class="primary" aria-label="Apply the ${name}">Apply</button></div></form></section>`;
}

function readControl(name: string, entry: Switch, text: string): unknown {
  if (isToggle(entry)) return text !== '';
  if (text.trim() === '') return undefined;
  if (!entry.choices) return Number(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError(`${name}: expected ${entry.expected}`);
  }
}

/** Reads a whole form of switches: a check box that was not sent is off. */
export const readSwitches = ({ switches }: Board, form: Parameters): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(switches).map(([name, entry]) => [
      name,
      readControl(name, entry, stringParameter(form, name)),
    ]),
  );
