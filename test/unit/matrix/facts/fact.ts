import type { MarketgateErrorCode } from 'marketgate';
import {
  allPairs,
  type Factor,
  type Hides,
  pairsOf,
  type Row,
  shows,
  type Value,
} from '../all-pairs.js';

/** A record of the documented shape, as JSON. */
export type Documented = Readonly<Record<string, unknown>>;

/** What a fact changes about a documented record that the caller gets. */
export type Change = (documented: Documented) => Documented;

/**
 * One thing in which deployments differ from the specification, a switch and one of its values, and what a
 * caller of the client must see. Taken from the notes about deployments and from the contract, never from the
 * code: the code is what is tested.
 */
export interface Fact {
  readonly name: string;
  readonly value: Value;
  /** How the sandbox is told, where that is more than the value itself. */
  readonly setting?: Value;
  /** Every call fails with this: what else the service does cannot be seen. */
  readonly outage?: MarketgateErrorCode;
  /** What the service's *no* can no longer be told by. Without both it is not understood. */
  readonly hidesNoIn?: 'words' | 'status';
  /** Cases that end otherwise than specified. */
  readonly ends?: Readonly<Record<string, MarketgateErrorCode | 'negative'>>;
  /** What is other in a documented record, by its kind. */
  readonly changes?: Readonly<Record<string, Change>>;
  /** Whether it hides what other switches do, without being an outage. */
  readonly hides?: boolean;
}

/** A fact without `more` makes no difference to the caller. The first of a switch is its default. */
export const fact = (
  name: string,
  value: Value,
  more: Omit<Fact, 'name' | 'value'> = {},
): Fact => ({ name, value, ...more });

/** Values of a switch that make no difference to the caller. */
export const facts = (name: string, ...values: Value[]): Fact[] =>
  values.map((value) => fact(name, value));

/** The facts that hold in a setting: one for each switch, in the order in which they are written down. */
const factsOf = (facts: readonly Fact[], row: Row): Fact[] =>
  facts.filter(({ name, value }) => row[name] === value);

/** A record without some of its fields. */
export function without(record: Documented, ...names: string[]): Documented {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

/** The switches of some facts with all their values; the first one is where a switch stands by itself. */
function factorsOf(facts: readonly Fact[]): Factor[] {
  const names = [...new Set(facts.map(({ name }) => name))];
  return names.map((name) => ({
    name,
    values: facts.filter((fact) => fact.name === name).map(({ value }) => value),
  }));
}

/** Settings for tests: all as specified, and every pair of switches. */
export function settingsOf(facts: readonly Fact[]) {
  const factors = factorsOf(facts);
  const hides: Hides = (name, value) => {
    const found = facts.find((each) => each.name === name && each.value === value);
    return found?.outage !== undefined || found?.hides === true;
  };
  const initial = new Map(factors.map(({ name, values }) => [name, values[0] as Value]));
  const specified: Row = Object.fromEntries(initial);
  const named = (rows: Row[]): [string, Fact[]][] =>
    rows.map((row) => {
      const switched = Object.entries(row).filter(([name, value]) => value !== initial.get(name));
      const name = switched.map(([key, value]) => `${key}: ${value}`).join(', ');
      return [name || 'all as specified', factsOf(facts, row)];
    });
  const pairs = allPairs(factors, hides);
  return {
    specified: named([specified]),
    pairs: named(pairs),
    /** How many pairs there are, and how many of them some setting shows. */
    count: {
      pairs: pairsOf(factors).length,
      shown: pairsOf(factors).filter((pair) => pairs.some((row) => shows(row, pair, hides))).length,
    },
  };
}
