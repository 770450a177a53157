/** Helpers that the templates use, as `app.locals`. */
export const format = {
  /** An amount as people write it; a currency that is none is written behind it. */
  money(amount: number | undefined, currency: string | undefined): string {
    if (amount === undefined) return '';
    const digits = Number.isInteger(amount) ? 0 : 2;
    try {
      return new Intl.NumberFormat('en', {
        style: 'currency',
        currency,
        minimumFractionDigits: digits,
      } as Intl.NumberFormatOptions).format(amount);
    } catch {
      return [amount.toFixed(digits), currency].filter(Boolean).join(' ');
    }
  },

  /** The day of a timestamp; nothing for what is no timestamp. */
  day(iso: string | undefined): string {
    const time = new Date(iso ?? Number.NaN);
    return Number.isNaN(time.getTime())
      ? ''
      : time.toLocaleDateString('en', { dateStyle: 'long', timeZone: 'UTC' });
  },

  /** An address that may stand in a link: a template escapes `javascript:` and keeps it just the same. */
  safeUrl(url: string | undefined): string | undefined {
    const isSafe =
      url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
    return isSafe ? url : undefined;
  },
};
