import type { Response } from 'express';
import { sendAnswer } from '../answer.js';
import type { SandboxDialect } from '../dialect.js';

/** The documented `msg` of each endpoint (spec, "Errors"), with the HTTP status seen in the field. */
const ERRORS = {
  'account-details': [401, 'Invalid request'],
  'items-all': [404, 'No items found'],
  'items-item': [404, 'Item Not Found'],
  'purchases-validation': [404, 'Invalid purchase code'],
} as const;

type Language = 'tr' | 'de';

const WORDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  tr: {
    success: 'başarılı',
    error: 'hata',
    'invalid request': 'Geçersiz istek',
    'no items found': 'Hiçbir öğe bulunamadı',
    'item not found': 'Öğe bulunamadı',
    'invalid purchase code': 'Geçersiz satın alma kodu',
    'any other': 'Gönderilen veriler geçerli değil.',
    regular: 'Normal',
    extended: 'Genişletilmiş',
  },
  de: {
    success: 'erfolgreich',
    error: 'Fehler',
    'invalid request': 'Ungültige Anfrage',
    'no items found': 'Keine Artikel gefunden',
    'item not found': 'Artikel nicht gefunden',
    'invalid purchase code': 'Ungültiger Kaufcode',
    'any other': 'Die gesendeten Daten sind nicht gültig.',
    regular: 'Standard',
    extended: 'Erweitert',
  },
};

/** A word in the language of the dialect; `otherwise` where it has no translation. */
export function localised(
  text: string,
  { localised: language }: SandboxDialect,
  otherwise = text,
): string {
  if (language === false) return text;
  const words = WORDS[language === true ? 'tr' : language];
  return words[text.toLowerCase()] ?? words[otherwise] ?? otherwise;
}

export const amountOf = (value: number, { numericStrings }: SandboxDialect): number | string =>
  numericStrings ? value.toFixed(2) : value;

export const timeOf = (iso: string, { microseconds }: SandboxDialect): string =>
  microseconds ? new Date(iso).toISOString().replace('Z', '000Z') : iso;

/** Answers success: `{status: "success", …}`. */
export const sendSuccess = (res: Response, dialect: SandboxDialect, payload: object): void =>
  sendAnswer(res, 200, JSON.stringify({ status: localised('success', dialect), ...payload }));

/** Answers what is none of the documented errors: a missing parameter, bad JSON. */
export const sendRefusal = (
  res: Response,
  dialect: SandboxDialect,
  status: number,
  msg: string,
): void =>
  sendAnswer(
    res,
    status,
    JSON.stringify({
      status: localised('error', dialect),
      msg: localised(msg, dialect, 'any other'),
    }),
  );

/**
 * Answers the documented error of an endpoint. The specification shows no HTTP statuses; these are the
 * ones of the field notes, or 200 with `errorStatus: 'ok'`.
 */
export function sendError(
  res: Response,
  dialect: SandboxDialect,
  endpoint: keyof typeof ERRORS,
): void {
  const [status, documented] = ERRORS[endpoint];
  const isCapitalised = dialect.capitalisation && endpoint === 'items-all';
  const msg = isCapitalised ? 'No Items Found' : documented;
  sendRefusal(res, dialect, dialect.errorStatus === 'ok' ? 200 : status, msg);
}
