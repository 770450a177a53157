import type { Response } from 'express';
import { sendAnswer } from '../answer.js';
import { recordsOf } from '../data/default-items.js';
import type { SandboxDialect } from '../dialect.js';

/** The words of a localised deployment. */
const WORDS = recordsOf<'word' | 'tr' | 'de'>(`
word                  | tr                                 | de
success               | başarılı                           | erfolgreich
error                 | hata                               | Fehler
invalid request       | Geçersiz istek                     | Ungültige Anfrage
no items found        | Hiçbir öğe bulunamadı              | Keine Artikel gefunden
item not found        | Öğe bulunamadı                     | Artikel nicht gefunden
invalid purchase code | Geçersiz satın alma kodu           | Ungültiger Kaufcode
any other             | Gönderilen veriler geçerli değil.  | Die gesendeten Daten sind nicht gültig.
regular               | Normal                             | Standard
extended              | Genişletilmiş                      | Erweitert
`);

/** A word in the language of the dialect; `otherwise` where it has no translation. */
export function localised(
  text: string,
  { localised: language }: SandboxDialect,
  otherwise = text,
): string {
  if (language === false) return text;
  const find = (wanted: string) => WORDS.find(({ word }) => word === wanted.toLowerCase());
  return (find(text) ?? find(otherwise))?.[language === true ? 'tr' : language] ?? otherwise;
}

export const amountOf = (value: number, { numericStrings }: SandboxDialect): number | string =>
  numericStrings ? value.toFixed(2) : value;

export const timeOf = (iso: string, { microseconds }: SandboxDialect): string =>
  microseconds ? new Date(iso).toISOString().replace('Z', '000Z') : iso;

/** Answers `{status: "success", …}`. */
export const sendSuccess = (res: Response, dialect: SandboxDialect, payload: object): void =>
  sendAnswer(res, 200, JSON.stringify({ status: localised('success', dialect), ...payload }));

/** Answers `{status: "error", msg}`. */
export function sendRefusal(
  res: Response,
  dialect: SandboxDialect,
  status: number,
  msg: string,
): void {
  const refusal = {
    status: localised('error', dialect),
    msg: localised(msg, dialect, 'any other'),
  };
  res.locals.msg = refusal.msg;
  sendAnswer(res, status, JSON.stringify(refusal));
}
