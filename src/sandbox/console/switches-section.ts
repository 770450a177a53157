import { type Html, html, trusted } from '../../html.js';
import type { Choice, Switch } from '../switches.js';
import type { BoardName, Boards } from './boards.js';
import { choiceOf, isToggle, valueText } from './switch-form.js';

const WORDS: Readonly<Record<BoardName, readonly [string, string]>> = {
  faults: ['Faults', 'What goes wrong, on the endpoints of both interfaces; pages are spared.'],
  dialect: ['Dialect', 'How deployments differ from the specification.'],
};

function input(id: string, name: string, entry: Switch, value: unknown): Html {
  const common = trusted(`id="${id}" name="${name}" data-switch`);
  if (isToggle(entry)) {
    return html`<input type="checkbox" role="switch" ${common}${value === true && trusted(' checked')}>`;
  }
  if (!entry.choices) {
    return html`<input type="number" min="0" step="any" inputmode="decimal" ${common} value="${value}" placeholder="${entry.unit}" aria-describedby="${id}-unit"><span class="unit muted small" id="${id}-unit">${entry.unit}</span>`;
  }
  const chosen = choiceOf(entry, value);
  // A program may have set what no form offers; that stays until something else is chosen.
  const own: Choice[] = chosen ? [] : [{ label: valueText(value), value }];
  return html`<select ${common}>${[...entry.choices, ...own].map(
    (choice) =>
      html`<option value="${valueText(choice.value)}"${choice.value === (chosen ?? own[0])?.value && trusted(' selected')}>${choice.label}</option>`,
  )}</select>`;
}

function row(board: BoardName, name: string, entry: Switch, value: unknown): Html {
  const id = `${board}-${name}`;
  const isOn = value !== entry.initial;
  return html`<li class="${isOn ? 'switch on' : 'switch'}">
<label for="${id}"><code>${name}</code><span class="muted small">${entry.about}</span></label>
<div class="control">${input(id, name, entry, value)}</div></li>`;
}

/** How many switches of a board are not where they start. */
export const countOn = ({ board, switches }: Boards[BoardName]): number =>
  Object.entries(switches).filter(([name, entry]) => Reflect.get(board, name) !== entry.initial)
    .length;

/** All switches of a board. They act at once where scripts run, and with "Apply" where not. */
export function switchesSection(name: BoardName, boards: Boards): Html {
  const { board, switches } = boards[name];
  const [title, text] = WORDS[name];
  const on = countOn(boards[name]);
  return html`<section class="card" id="${name}" data-live aria-labelledby="${name}-title">
<div class="bar"><h2 id="${name}-title" tabindex="-1">${title}</h2>${on > 0 && html`<span class="badge warn">${on} on</span>`}
<form method="post" action="/sandbox/console/${name}/reset"><button class="quiet" aria-label="Reset the ${name}">Reset</button></form></div>
<p class="muted small">${text}</p>
<form method="post" action="/sandbox/console/${name}" data-board="${name}">
<ul class="switches">${Object.entries(switches).map(([key, entry]) =>
    row(name, key, entry, Reflect.get(board, key)),
  )}</ul>
<div class="inline" data-no-script><button class="primary" aria-label="Apply the ${name}">Apply</button></div></form></section>`;
}
