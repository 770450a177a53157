import { median, middleHalf, short } from './numbers.mjs';

/**
 * A row as a table: each variant's median by each metric, and the median of its ratios to the limit, each of two samples
 * of the same round. With `base`, that variant's cost is taken off first: what is compared is what was added to it.
 */
export function tableOf(metrics, samples) {
  const hasRatio = ({ limit, limits }) => (limit ?? limits) !== undefined;
  const titles = metrics.flatMap((metric) => [metric.title, ...(hasRatio(metric) ? ['×'] : [])]);
  const cellsOf = (name) =>
    metrics.flatMap((metric) => {
      const of = samplesOf(metric, samples);
      const { ratio, spread } = ratioOf(metric, of, name);
      const number = short(metric.base ? addedBy(metric, of, name) : median(of(name)));
      const range = spread?.map((each) => each.toFixed(2)).join('–');
      const isLimit = ratio === 1 && spread?.every((each) => each === 1);
      const text = ratio === undefined ? '' : isLimit ? '1' : `${ratio.toFixed(2)} (${range})`;
      return [number, ...(hasRatio(metric) ? [text] : [])];
    });
  const names = [...samples.keys()].filter((name) => !metrics.some(({ base }) => base === name));
  return [
    `| | ${titles.join(' | ')} |`,
    `| --- |${' ---: |'.repeat(titles.length)}`,
    ...names.map((name) => `| ${name} | ${cellsOf(name).join(' | ')} |`),
  ].join('\n');
}

/** A goal, and whether it is reached: a ratio to the limit, or with `isAbsolute` a number as it is. */
export function goalOf({ metric, variant, limit, most, what, isAbsolute = false }, samples) {
  const of = samplesOf(metric, samples);
  const compared = limit === undefined ? metric : { ...metric, limit, limits: undefined };
  const number = () => (metric.base ? addedBy(metric, of, variant) : median(of(variant)));
  const found = isAbsolute ? number() : ratioOf(compared, of, variant).ratio;
  const measured = isAbsolute ? short(found) : `${found.toFixed(2)} ×`;
  return { what, measured, goal: isAbsolute ? `${most}` : `${most} ×`, isReached: found <= most };
}

const samplesOf = (metric, samples) => (name) =>
  samples.get(name).map((sample) => sample[metric.name]);

const differences = (metric, of, name) => {
  const base = of(metric.base);
  return of(name).map((value, round) => value - base[round]);
};

const addedBy = (metric, of, name) => median(differences(metric, of, name));

function ratioOf(metric, of, name) {
  const limit = metric.limits?.[name] ?? metric.limit;
  if (limit === undefined) return {};
  if (metric.base === undefined) {
    const limits = of(limit);
    const ratios = of(name).map((value, round) => value / limits[round]);
    return { ratio: median(ratios), spread: middleHalf(ratios) };
  }
  // A difference of two samples can be near nothing: only its median is divided by.
  const whole = addedBy(metric, of, limit);
  const ratios = differences(metric, of, name).map((added) => added / whole);
  return { ratio: median(ratios), spread: middleHalf(ratios) };
}
