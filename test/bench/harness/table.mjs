import { median, middleHalf, short } from './numbers.mjs';

/**
 * One metric of a row as a table: each variant's median, and the median of its ratios to the limit,
 * each of two samples of the same round. With `base`, that variant's cost is taken off first: what is
 * compared is what was added to it.
 */
export function tableOf(metric, samples) {
  const of = (name) => samples.get(name).map((sample) => sample[metric.name]);
  const isThere = ([, [first]]) => first?.[metric.name] !== undefined;
  const lines = [
    `| ${metric.title} | median | spread | ${metric.base ? 'added | ' : ''}× limit | spread |`,
    `| --- | ---: | ---: | ${metric.base ? '---: | ' : ''}---: | ---: |`,
  ];
  for (const [name] of [...samples].filter(isThere)) {
    const values = of(name);
    const { ratio, spread } = ratioOf(metric, of, name);
    const added = metric.base ? [name === metric.base ? '' : short(addedBy(metric, of, name))] : [];
    const cells = [
      name,
      short(median(values)),
      middleHalf(values).map(short).join(' – '),
      ...added,
      ratio === undefined ? '' : ratio.toFixed(2),
      spread === undefined ? '' : spread.map((each) => each.toFixed(2)).join(' – '),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return lines.join('\n');
}

/**
 * A goal as a sentence, and whether it is reached: a ratio to the limit, or with `isAbsolute` a number as it
 * is, of a metric with `base` what was added.
 */
export function goalOf({ metric, variant, limit, most, what, isAbsolute = false }, samples) {
  const of = (name) => samples.get(name).map((sample) => sample[metric.name]);
  const compared = limit === undefined ? metric : { ...metric, limit, limits: undefined };
  const number = () => (metric.base ? addedBy(metric, of, variant) : median(of(variant)));
  const found = isAbsolute ? number() : ratioOf(compared, of, variant).ratio;
  const said = isAbsolute ? `${most} (${short(found)})` : `${most} × (${found.toFixed(2)})`;
  return `- ${found <= most ? 'reached' : '**not reached**'}: ${what} ≤ ${said}`;
}

const differences = (metric, of, name) => {
  const base = of(metric.base);
  return of(name).map((value, round) => value - base[round]);
};

const addedBy = (metric, of, name) => median(differences(metric, of, name));

function ratioOf(metric, of, name) {
  const limit = metric.limits?.[name] ?? metric.limit;
  if (limit === undefined || name === metric.base) return {};
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
