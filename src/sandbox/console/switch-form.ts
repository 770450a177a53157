import { isDeepStrictEqual } from 'node:util';
import { type Parameters, stringParameter } from '../parameters.js';
import type { Choice, Switch } from '../switches.js';
import type { Board } from './boards.js';

/** A switch that is only ever on or off. */
export const isToggle = ({ choices }: Switch): boolean =>
  choices?.length === 2 && choices.every(({ value }) => typeof value === 'boolean');

/** The choice that stands for a value, if a form offers it. */
export const choiceOf = ({ choices }: Switch, value: unknown): Choice | undefined =>
  choices?.find((choice) => isDeepStrictEqual(choice.value, value));

/** A value as the `value` of an option: JSON, where `null` is "not set". */
export const valueText = (value: unknown): string => JSON.stringify(value ?? null);

function readControl(name: string, entry: Switch, text: string): unknown {
  if (isToggle(entry)) return text !== '';
  if (text.trim() === '') return undefined;
  if (!entry.choices) return Number(text);
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    throw new TypeError(`${name}: expected ${entry.expected}`);
  }
}

/** Reads a whole form of switches: a check box that was not sent is off. */
export const readForm = ({ switches }: Board, form: Parameters): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(switches).map(([name, entry]) => [
      name,
      readControl(name, entry, stringParameter(form, name)),
    ]),
  );

/** Every switch of a board where it starts. */
export const initialForm = ({ switches }: Board): Record<string, unknown> =>
  Object.fromEntries(Object.keys(switches).map((name) => [name, undefined]));
