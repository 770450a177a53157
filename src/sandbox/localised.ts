import type { SandboxDialect } from './switches.js';

type Translation = Readonly<Record<'tr' | 'de', string>>;

/** The words of a localised deployment, by the English ones in lower case. */
const WORDS = new Map<string, Translation>([
  ['success', { tr: 'başarılı', de: 'erfolgreich' }],
  ['error', { tr: 'hata', de: 'Fehler' }],
  ['invalid request', { tr: 'Geçersiz istek', de: 'Ungültige Anfrage' }],
  ['no items found', { tr: 'Hiçbir öğe bulunamadı', de: 'Keine Artikel gefunden' }],
  ['item not found', { tr: 'Öğe bulunamadı', de: 'Artikel nicht gefunden' }],
  ['invalid purchase code', { tr: 'Geçersiz satın alma kodu', de: 'Ungültiger Kaufcode' }],
  ['regular', { tr: 'Normal', de: 'Standard' }],
  ['extended', { tr: 'Genişletilmiş', de: 'Erweitert' }],
  ['bad request', { tr: 'Hatalı istek', de: 'Fehlerhafte Anfrage' }],
  ['invalid', { tr: 'geçersiz', de: 'ungültig:' }],
  ['expired', { tr: 'süresi dolmuş', de: 'abgelaufen:' }],
]);

/** In place of any other message. */
export const ANY_OTHER_MSG: Translation = {
  tr: 'Gönderilen veriler geçerli değil.',
  de: 'Die gesendeten Daten sind nicht gültig.',
};

/** A text in the language of the dialect. `other` is for a text without a translation, which stays as it is by default. */
export function localised(
  text: string,
  { localised: to }: SandboxDialect,
  other?: Translation,
): string {
  if (to === false) return text;
  const translation = WORDS.get(text.toLowerCase()) ?? other;
  return translation?.[to === true ? 'tr' : to] ?? text;
}
