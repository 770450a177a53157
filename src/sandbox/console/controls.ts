import { type Html, html, trusted } from '../../html/html.js';
import { type Parameters, stringParameter } from '../parameters.js';
import type { Switch } from '../switches.js';

type Board = object;
type Switches = Readonly<Record<string, Switch>>;

const currentOf = (board: Board, name: string): unknown => Reflect.get(board, name);

const labelOf = (position: string | boolean): string =>
  typeof position === 'string' ? position : position ? 'on' : 'off';

/** A switch that is only ever on or off in a form, whatever else a program may set it to. */
const isCheckbox = ({ positions, initial }: Switch): boolean =>
  typeof initial === 'boolean' && (positions === undefined || positions.length === 2);

function control(board: Board, name: string, entry: Switch): Html {
  const value = currentOf(board, name);
  if (isCheckbox(entry)) {
    const checked = value !== false && trusted(' checked');
    return html`<label class="check"><input type="checkbox" name="${name}"${checked}> <code>${name}</code></label>`;
  }
  if (entry.positions) {
    return html`<label class="field"><code>${name}</code><select name="${name}">${entry.positions.map(
      (position) =>
        html`<option value="${JSON.stringify(position)}"${position === value && trusted(' selected')}>${labelOf(position)}</option>`,
    )}</select></label>`;
  }
  return html`<label class="field"><code>${name}</code><input name="${name}" inputmode="decimal" value="${value}"></label>`;
}

/** Form controls for every switch of a board. */
export function switchControls(board: Board, switches: Switches): Html[] {
  // Fields first, check boxes after them: mixed, the rows would not line up.
  const entries = Object.entries(switches);
  const render = (chosen: [string, Switch][]) =>
    chosen.map(([name, entry]) => control(board, name, entry));
  return [
    html`<div class="fields">${render(entries.filter(([, entry]) => !isCheckbox(entry)))}</div>`,
    html`<div class="fields">${render(entries.filter(([, entry]) => isCheckbox(entry)))}</div>`,
  ];
}

function readControl(board: Board, name: string, entry: Switch, text: string): unknown {
  if (isCheckbox(entry)) {
    if (text === '') return false;
    // A program may have set more than "on", such as a Retry-After; the form leaves that alone.
    const current = currentOf(board, name);
    return current === false ? true : current;
  }
  if (entry.positions) {
    return entry.positions.find((position) => JSON.stringify(position) === text);
  }
  if (text.trim() === '') return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? text.trim() : number;
}

/** Puts every switch of a board back to where it starts. */
export function resetControls(board: Board, switches: Switches): void {
  for (const name of Object.keys(switches)) Object.assign(board, { [name]: undefined });
}

/** Sets every switch of a board from a form; a value that a switch does not take throws a TypeError. */
export function applyControls(board: Board, switches: Switches, form: Parameters): void {
  for (const [name, entry] of Object.entries(switches)) {
    Object.assign(board, { [name]: readControl(board, name, entry, stringParameter(form, name)) });
  }
}
